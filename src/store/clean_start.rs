//! `fencing.clean_start`: one row, in a table that PostgreSQL empties whenever the server starts without
//! having been shut down properly.

use crate::pg::backend::{Backend, BackendCell};
use crate::pg::extension::oids;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Table};
use crate::pg::value::Value;
use crate::pg::{lock, session};
use fencing_core::time::Instant;
use pgrx::pg_sys::Oid;
use std::cell::Cell;

/// What the row says of a server that never started uncleanly: `-infinity`.
const NEVER: Instant = Instant::MIN;

/// What is known of the last unclean start. A backend outlives no start of the server.
#[derive(Clone, Copy)]
struct Known {
    /// The table that was read.
    table: Oid,
    at: Instant,
    /// Whether the row is there.
    noted: bool,
}

static KNOWN: BackendCell<Option<Known>> = Backend::new(Cell::new(None));

/// When the server last started uncleanly, if it ever did.
pub fn unclean_start() -> Option<Instant> {
    let Known { at, .. } = known();
    (at != NEVER).then_some(at)
}

fn known() -> Known {
    let table = oids().clean_start;
    if let Some(known) = KNOWN.get().filter(|known| known.table == table) {
        return known;
    }
    let row = recorded();
    // Emptied, and nobody has noted it yet: at this very start.
    let known = Known { table, at: row.unwrap_or_else(session::server_start), noted: row.is_some() };
    KNOWN.set(Some(known));
    known
}

fn recorded() -> Option<Instant> {
    Table::open(oids().clean_start, Access::Read).first(&Latest::take()).map(|row| row.bigint(1))
}

/// Notes an unclean start, so that the next one, if it is clean, is none. Waits for nobody: whoever
/// holds the lock notes the same.
pub fn note() {
    let known = known();
    if known.noted {
        return;
    }
    if recorded().is_some() {
        KNOWN.set(Some(Known { noted: true, ..known }));
    } else if lock::try_serialize(known.table) && recorded().is_none() {
        Table::open(known.table, Access::Write).insert(&[Value::Time(known.at)]);
    }
}
