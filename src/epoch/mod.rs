//! Epochs: who issued the tokens, and when.

mod lineage;

use crate::pg::table::sequence;
use crate::pg::{clock, extension, role};
use crate::store::epoch::{NewEpoch, insert, last};
use fencing_core::{Code, Error, epoch};
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};
use std::ffi::CString;

static EPOCH_AUTHORITY: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);

/// Defines `fencing.epoch_authority`.
pub fn define_settings() {
    GucRegistry::define_string_guc(
        c"fencing.epoch_authority",
        c"Role whose members may create namespaces and open epochs, as superusers may.",
        c"",
        &EPOCH_AUTHORITY,
        GucContext::Sighup,
        GucFlags::default(),
    );
}

/// Refuses (42501) whoever is neither a superuser nor a member of `fencing.epoch_authority`.
pub fn require_authority(what: &str) -> Result<(), Error> {
    let user = role::outer_user();
    let authority = EPOCH_AUTHORITY.get().map(|name| name.to_string_lossy().into_owned());
    let member = authority.and_then(|name| role::by_name(&name)).is_some_and(|role| role::is_member(user, role));
    if member || role::is_superuser(user) {
        return Ok(());
    }
    Err(Error::new(Code::InsufficientPrivilege, format!("permission denied to {what}"))
        .detail("It takes a superuser, or a member of the role that fencing.epoch_authority names."))
}

/// The first sequence number is drawn at random below this, so that two clusters don't issue equal
/// tokens by accident.
const FIRST_SEQ_BELOW: i64 = 1 << 36;

/// Opens the first epoch, unless there has been one. Under the lock that serializes namespaces.
pub fn open_first() -> Result<(), Error> {
    if last().is_some() {
        return Ok(());
    }
    let now = clock::now();
    let number = epoch::next_epoch(now, None, false)?;
    // A sequence that was moved before, by an opening that was rolled back, may have issued tokens
    // that reached a client: it is never set back.
    if sequence::is_fresh(extension::oids().term_seq) {
        sequence::start_at(extension::oids().term_seq, 1 + (random_u64() >> 1) as i64 % FIRST_SEQ_BELOW);
    }
    // SAFETY: 16 bytes of palloc'ed memory, filled before use.
    let identity = unsafe {
        let uuid = pg_sys::palloc(16).cast::<u8>();
        let bytes = (u128::from(random_u64()) << 64 | u128::from(random_u64())).to_be_bytes();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), uuid, 16);
        // Version 4, variant 1.
        *uuid.add(6) = *uuid.add(6) & 0x0f | 0x40;
        *uuid.add(8) = *uuid.add(8) & 0x3f | 0x80;
        pg_sys::Datum::from(uuid)
    };
    insert(&NewEpoch {
        epoch: number,
        identity,
        opened_at: now,
        reason: "first namespace",
        opened_by: role::outer_user(),
        lineage: &lineage::actual(),
    });
    Ok(())
}

fn random_u64() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: room for as many bytes as asked for.
    if !unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) } {
        pgrx::error!("could not get random bytes");
    }
    u64::from_ne_bytes(bytes)
}
