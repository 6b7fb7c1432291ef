//! From an open epoch to tables that are written to: each guarded table is blocked until its guard has
//! been looked at (installed), has been seen to reject the older epoch (proved), and is resumed.
//!
//! Each step is one transaction, and may be repeated: what is done is not done again.

use super::transition::{done, require_writable};
use super::{gate, require_authority};
use crate::guard::{self, Tree};
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::relation::{quote_literal, quoted_name};
use crate::pg::table::{Written, locked_by_hand};
use crate::pg::{catalog, extension, mutant};
use crate::store::epoch;
use crate::store::event::{self, Event};
use crate::store::installation::{self, Installation};
use crate::transaction;
use fencing_core::epoch::{Blocked, Coordinator};
use fencing_core::{Code, Error};
use pgrx::pg_sys::Oid;

/// Blocks every guarded table, and each below it.
pub fn block_all(epoch: i64) -> Result<(), Error> {
    unblock_all()?;
    let mut tables: Vec<_> = guard::trees().into_iter().flat_map(|tree| tree.tables).collect();
    tables.sort_unstable_by_key(|table| table.to_u32());
    tables.dedup();
    tables.iter().for_each(|table| installation::insert(*table, epoch));
    Ok(())
}

/// Blocks no table any more. Behind the shut gate.
pub fn unblock_all() -> Result<(), Error> {
    installation::all().iter().try_for_each(|row| done(installation::remove(row)))
}

/// `install_local(destination)`: looks at the guard.
pub fn install_local(args: &Args) -> Result<Answer<'static>, Error> {
    let step = Step::begin(args, "install_local")?;
    if step.next() == Some(Blocked::Install) {
        guard::require_whole(&step.tree)?;
        step.advance(Blocked::Install, Blocked::Prove, "epoch_installed")?;
    }
    Ok(Answer::Void)
}

/// `note_proof(destination, proved)`: before the proof, and after it where every table rejected what it
/// was to reject.
pub fn note_proof(args: &Args) -> Result<Answer<'static>, Error> {
    let step = Step::begin(args, "prove_epoch")?;
    let proved = args.bool(1).ok_or_else(|| Error::null("proved"))?;
    match step.next() {
        Some(Blocked::Install) => return Err(step.out_of_order("has not been installed", Blocked::Install)),
        Some(Blocked::Prove) if proved => {
            step.require_proof()?;
            step.advance(Blocked::Prove, Blocked::Resume, "epoch_proved")?;
        }
        _ => {}
    }
    Ok(Answer::Void)
}

/// `resume(destination)`: from its commit on the table is written to.
pub fn resume(args: &Args) -> Result<Answer<'static>, Error> {
    let step = Step::begin(args, "resume")?;
    match step.next() {
        Some(Blocked::Install) => return Err(step.out_of_order("has not been installed", Blocked::Install)),
        Some(Blocked::Prove) => return Err(step.out_of_order("has not been proved", Blocked::Prove)),
        Some(Blocked::Resume) => {
            // It may have been taken apart since it was proved.
            guard::require_whole(&step.tree)?;
            step.write(Blocked::Resume, installation::remove)?;
            step.record("epoch_resumed");
        }
        None => {}
    }
    Ok(Answer::Void)
}

/// A step for one guarded table with all below it.
struct Step {
    epoch: i64,
    tree: Tree,
    /// What is blocked of it.
    rows: Vec<Installation>,
}

impl Step {
    /// Behind the gate, which nobody shuts for another epoch until this transaction ends.
    fn begin(args: &Args, function: &str) -> Result<Step, Error> {
        require_writable(function)?;
        let relation = args.oid(0).ok_or_else(|| Error::null("destination"))?;
        require_authority("put a table into an epoch")?;
        enter_gate()?;
        let Some(Coordinator::Open(epoch)) = epoch::coordinator() else {
            return Err(Error::new(Code::NotInPrerequisiteState, "no epoch is open on this server").hint(
                "SELECT fencing.open_epoch('reason') opens the next one, after fencing.begin_epoch_transition('reason').",
            ));
        };
        let tree = guard::tree(relation)?;
        let rows = installation::all();
        // Of a table that was dropped nothing is left to be done.
        rows.iter().filter(|row| catalog::owner_of(row.relation) == Oid::INVALID).for_each(|row| {
            installation::remove(row);
        });
        let rows = rows.into_iter().filter(|row| tree.tables.contains(&row.relation));
        let rows = rows.filter_map(|row| settled(row).transpose()).collect::<Result<_, _>>()?;
        gate::begin_step();
        Ok(Step { epoch, tree, rows })
    }

    /// What is to be done next, if anything is.
    fn next(&self) -> Option<Blocked> {
        self.rows.iter().map(|row| row.blocked).min()
    }

    fn advance(&self, from: Blocked, to: Blocked, event: &str) -> Result<(), Error> {
        self.write(from, |row| installation::advance(row, to))?;
        self.record(event);
        Ok(())
    }

    /// Writes each row for which that is next; one that somebody else has written in between, if it still is.
    fn write(&self, next: Blocked, write: impl Fn(&Installation) -> Written) -> Result<(), Error> {
        for row in self.rows.iter().filter(|row| row.blocked == next) {
            let mut written = write(row);
            while written != Written::Done {
                let now = installation::read(row.relation).map_or(Ok(None), settled)?;
                written = now.filter(|row| row.blocked == next).map_or(Written::Done, |row| write(&row));
            }
        }
        Ok(())
    }

    /// Whoever says so must have seen it in this transaction: each table that has rows of its own has
    /// rejected the epoch before.
    fn require_proof(&self) -> Result<(), Error> {
        let tables: Vec<_> = self.tree.tables.iter().copied().filter(|t| !catalog::is_partitioned(*t)).collect();
        let unproved = transaction::with(|t| tables.into_iter().find(|table| !t.stale.was_rejected_by(*table)));
        match unproved.filter(|_| !mutant::without("proof_seen")) {
            Some(table) => Err(self.out_of_order("has not been proved", Blocked::Prove).detail(format!(
                "The guard of table {} has rejected nothing in this transaction.",
                quoted_name(table)
            ))),
            None => Ok(()),
        }
    }

    fn record(&self, kind: &str) {
        let (table, epoch) = (quoted_name(self.tree.root), self.epoch.to_string());
        let detail = [("table", table.as_str()), ("epoch", &epoch)];
        event::record(&Event { kind, lease: None, token: None, detail: &detail });
    }

    fn out_of_order(&self, what: &str, next: Blocked) -> Error {
        let table = quoted_name(self.tree.root);
        Error::new(Code::NotInPrerequisiteState, format!("table {table} {what} in epoch {}", self.epoch)).hint(format!(
            "SELECT {}({}) is next.",
            next.function(),
            quote_literal(&table)
        ))
    }
}

/// The row as it is once nobody else has it open, if there still is one then: a step that is under way is
/// waited for within bounds.
fn settled(mut row: Installation) -> Result<Option<Installation>, Error> {
    while !row.is_settled() {
        if row.is_being_changed() {
            let what = format!("another step of table {} is under way", quoted_name(row.relation));
            let changer = row.changer().ok_or_else(|| locked_by_hand(what.as_str()))?;
            gate::take(&changer, Mode::Shared, || {
                Error::new(Code::LockNotAvailable, what).hint(
                    "An open transaction installs, proves or resumes it, or has locked its row by hand. Repeat the call once that has ended, or end it: pg_terminate_backend, ROLLBACK PREPARED.",
                )
            })?;
            changer.unlock(Mode::Shared);
        }
        match installation::read(row.relation) {
            Some(now) => row = now,
            None => return Ok(None),
        }
    }
    Ok(Some(row))
}

/// Passes the gate within bounds, or 55P03.
fn enter_gate() -> Result<(), Error> {
    let under_way = || Error::new(Code::LockNotAvailable, "an epoch transition is under way").hint("Repeat the call.");
    gate::take(&Tag::gate(), Mode::Reference, under_way)?;
    extension::catch_up();
    Ok(())
}
