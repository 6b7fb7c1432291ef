//! `fencing.clean_start`: one row, in a table that PostgreSQL empties whenever the server starts without
//! having been shut down properly.

use crate::pg::backend::{Backend, BackendCell};
use crate::pg::extension::{configuration_version, oids};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Table};
use crate::pg::value::Value;
use crate::pg::{catalog, mutant, server, session};
use fencing_core::time::Instant;
use std::cell::Cell;

/// What the row says of a server that never started uncleanly: `-infinity`.
const NEVER: Instant = Instant::MIN;

/// What is known of the last unclean start. A backend outlives no start of the server.
#[derive(Clone, Copy)]
struct Known {
    version: u64,
    at: Instant,
    state: State,
}

/// What the table says of this very start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It was clean, or what came before it was taken care of.
    Clean,
    /// It was unclean, and nobody has taken care of that yet.
    Unclean,
    /// Nothing: the table is no unlogged one any more, and would outlive a crash.
    Logged,
}

static KNOWN: BackendCell<Option<Known>> = Backend::new(Cell::new(None));

/// When the server last started uncleanly, if it ever did.
pub fn unclean_start() -> Option<Instant> {
    let Known { at, .. } = known();
    (at != NEVER).then_some(at)
}

/// What is known of this start, perhaps from before somebody took care of it.
pub fn state() -> State {
    known().state
}

/// What is known of this start, read anew unless it was clean.
pub fn state_now() -> State {
    match known() {
        Known { state: State::Clean, .. } => State::Clean,
        Known { version, .. } => look(version).state,
    }
}

fn known() -> Known {
    // Known objects first: finding them anew may itself move the version on.
    let _ = oids();
    let version = configuration_version();
    match KNOWN.get() {
        Some(known) if known.version == version => known,
        _ => look(version),
    }
}

fn look(version: u64) -> Known {
    // There are no unlogged tables before recovery has ended, nor anything that depends on this one.
    if server::in_recovery() {
        return Known { version, at: NEVER, state: State::Clean };
    }
    let table = oids().clean_start;
    let row = Table::open(table, Access::Read).first(&Latest::take()).map(|row| row.bigint(1));
    let state = match row {
        _ if !catalog::is_unlogged(table) && !mutant::without("unlogged") => State::Logged,
        Some(_) => State::Clean,
        None => State::Unclean,
    };
    // Emptied, and nobody has noted it yet: at this very start.
    let known = Known { version, at: row.unwrap_or_else(session::server_start), state };
    KNOWN.set(Some(known));
    known
}

/// Notes, with this transaction, that what an unclean start may have lost can do no harm any more: an
/// epoch was opened since.
pub fn note() {
    if state_now() == State::Unclean {
        Table::open(oids().clean_start, Access::Write).insert(&[Value::Time(known().at)]);
    }
}

/// Notes the same at once, whatever becomes of this transaction.
pub fn note_at_once() {
    if state_now() == State::Unclean {
        Table::open(oids().clean_start, Access::Write).insert_at_once(&[Value::Time(known().at)]);
        KNOWN.set(None);
    }
}
