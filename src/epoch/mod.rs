//! Epochs: who issued the tokens, and when.

pub mod gate;
pub mod history;
pub mod issue;
pub mod lineage;
mod steps;
mod transition;
pub mod unclean;

use crate::pg::backend::{Backend, BackendCell};
use crate::pg::entry::{BOOL, REGCLASS, TEXT};
use crate::pg::lock::{Mode, Tag};
use crate::pg::{clock, extension, report, role, sequence, server};
use crate::sql_function;
use crate::store::clean_start;
use crate::store::epoch::{NewEpoch, insert, last};
use fencing_core::{Code, Error, epoch};
use pgrx::pg_sys;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_void};

sql_function!(fencing_begin_epoch_transition, [TEXT], transition::begin);
sql_function!(fencing_unresolved, [], transition::unresolved);
sql_function!(fencing_open_epoch, [TEXT, BOOL, BOOL], transition::open);
sql_function!(fencing_install_local, [REGCLASS], steps::install_local);
sql_function!(fencing_note_proof, [REGCLASS, BOOL], steps::note_proof);
sql_function!(fencing_resume, [REGCLASS], steps::resume);
sql_function!(fencing_advance_epoch, [TEXT, BOOL, BOOL], transition::advance);
sql_function!(fencing_lineage, [], lineage::lineage);

static EPOCH_AUTHORITY: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
/// Whether the setting is defined: what the configuration has by then is nothing new.
static DEFINED: BackendCell<bool> = Backend::new(Cell::new(false));

/// Defines `fencing.epoch_authority`.
pub fn define_settings() {
    // SAFETY: the hook is guarded.
    unsafe {
        GucRegistry::define_string_guc_with_hooks(
            c"fencing.epoch_authority",
            c"Role whose members may create namespaces and open epochs, as superusers may.",
            c"It should exist: otherwise whoever may create roles could become it.",
            &EPOCH_AUTHORITY,
            GucContext::Sighup,
            GucFlags::default(),
            Some(check_authority),
            None,
            None,
        );
    }
    DEFINED.set(true);
    unclean::define_settings();
}

/// Warns of a role that does not exist, where that can be known: inside a transaction, as that of ALTER
/// SYSTEM. Never refuses it: the role may be made later. (Whoever looks at `pg_file_settings` has what is in
/// force checked again.)
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check_authority(
    new: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL's own: a NUL-terminated string, or none; and a look at this backend's state.
    let name = unsafe {
        let known = DEFINED.get() && pg_sys::IsTransactionState() && pg_sys::MyDatabaseId != pg_sys::InvalidOid;
        (known && !(*new).is_null()).then(|| CStr::from_ptr(*new).to_string_lossy().into_owned())
    };
    let is_new = |name: &String| !name.is_empty() && authority().as_ref() != Some(name);
    if let Some(name) = name.filter(|name| is_new(name) && role::by_name(name).is_none()) {
        report::warning(
            &Error::new(Code::Warning, format!("role \"{name}\" does not exist"))
                .detail("fencing.epoch_authority names it: whoever may create roles could become it.")
                .hint("Create the role."),
        );
    }
    true
}

/// `fencing.epoch_authority`
fn authority() -> Option<String> {
    EPOCH_AUTHORITY.get().map(|name| name.to_string_lossy().into_owned())
}

/// Whether the caller is a superuser or a member of `fencing.epoch_authority`.
pub fn is_authority() -> bool {
    let user = role::asking_user();
    let member = authority().and_then(|name| role::by_name(&name)).is_some_and(|role| role::is_member(user, role));
    member || role::is_superuser(user)
}

/// Refuses (42501) whoever is neither a superuser nor a member of `fencing.epoch_authority`.
pub fn require_authority(what: &str) -> Result<(), Error> {
    if is_authority() {
        return Ok(());
    }
    Err(Error::new(Code::InsufficientPrivilege, format!("permission denied to {what}"))
        .detail("It takes a superuser, or a member of the role that fencing.epoch_authority names."))
}

/// Opens the first epoch, unless there has been one; 55P03 with whoever is about to.
pub fn open_first(reason: &str) -> Result<(), Error> {
    if last().is_some() {
        return Ok(());
    }
    let first = Tag::first_epoch();
    gate::take(&first, Mode::Exclusive, || {
        Error::new(Code::LockNotAvailable, "the first epoch is being opened").hint(
            "An open transaction creates the first namespace, or opens the epoch. Repeat the call once it has ended.",
        )
    })?;
    gate::begin_step();
    if last().is_some() {
        first.unlock(Mode::Exclusive);
        return Ok(());
    }
    issue::hold_sequence()?;
    let now = clock::now();
    let number = epoch::next_epoch(now, None, None, false)?;
    // A sequence that was moved before, by an opening that was rolled back, may have issued tokens
    // that reached a client: it is never set back.
    if sequence::is_fresh(extension::oids().term_seq) {
        sequence::start_at(extension::oids().term_seq, issue::first(now, u64::from_ne_bytes(server::random()))?);
    }
    insert(&NewEpoch {
        epoch: number,
        identity: server::random_uuid(),
        opened_at: now,
        reason,
        opened_by: role::outer_user(),
        lineage: &server::lineage(),
    });
    clean_start::note();
    Ok(())
}
