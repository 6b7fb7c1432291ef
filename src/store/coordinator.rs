//! `fencing.coordinator`: coordinators elsewhere, whose tokens guards of this database compare.

use super::{clean_start, lineage};
use crate::epoch::unclean::{self, OnUncleanStart};
use crate::pg::backend::Backend;
use crate::pg::extension::{self, oids};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use crate::pg::{clock, mutant, role, server, text};
use fencing_core::lineage::{Lineage, describe, differences};
use fencing_core::remote::{Installed, Kind, Source};
use fencing_core::time::Instant;
use fencing_core::{Code, Error};
use pgrx::pg_sys::Datum;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A coordinator elsewhere.
pub struct Coordinator {
    /// Its name here.
    pub name: String,
    /// What kind of thing it is.
    pub kind: String,
    /// Which one it is, for people.
    pub identity: String,
    /// The epoch that was installed last.
    pub epoch: Option<Epoch>,
    /// What its row says.
    state: State,
    /// In what this server differs from the one that the epoch was installed on: a sentence, empty
    /// where it doesn't.
    pub differences: String,
}

/// An installed epoch.
pub struct Epoch {
    /// Its number.
    pub number: i64,
    /// Its identity, a uuid.
    pub identity: [u8; 16],
    /// When it was installed, by the server's own clock.
    pub installed_at: Instant,
}

/// The column `state`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Registered,
    Installed,
    Conflict,
    Dropped,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Registered => "registered",
            State::Installed => "installed",
            State::Conflict => "conflict",
            State::Dropped => "dropped",
        }
    }

    /// What can't be understood lets nothing pass.
    fn parse(text: &[u8]) -> State {
        let all = [State::Registered, State::Installed, State::Conflict, State::Dropped];
        all.into_iter().find(|state| state.as_str().as_bytes() == text).unwrap_or(State::Conflict)
    }
}

impl Coordinator {
    /// What stands here for it. Guards ask each time: the policy on unclean starts may have changed.
    pub fn source(&self) -> Source {
        match &self.epoch {
            Some(epoch) if !self.differences.is_empty() || closed_by_crash(epoch) => match self.state {
                State::Registered | State::Dropped => Source::NoEpoch,
                _ => Source::LineageChanged,
            },
            Some(epoch) => match self.state {
                State::Installed => Source::Open(epoch.number),
                State::Conflict => Source::Conflict(epoch.number),
                State::Registered | State::Dropped => Source::NoEpoch,
            },
            None => Source::NoEpoch,
        }
    }

    /// What was installed before.
    pub fn installed(&self) -> Option<Installed> {
        let source = self.source();
        self.epoch.as_ref().map(|e| Installed { epoch: e.number, identity: e.identity, source })
    }
}

/// Whether what an unclean start may have lost, since the epoch was installed, closes the destination.
fn closed_by_crash(epoch: &Epoch) -> bool {
    unclean::policy() == OnUncleanStart::Closed
        && clean_start::unclean_start().is_some_and(|start| start >= epoch.installed_at)
}

/// The first of the columns that say where the epoch was installed.
const LINEAGE: usize = 11;

/// Coordinators by name.
type ByName = BTreeMap<String, Rc<Coordinator>>;

/// Those that were read, as of one version of the configuration.
static CACHE: Backend<RefCell<(u64, ByName)>> = Backend::new(RefCell::new((0, ByName::new())));

fn find(table: &Table, name: &str) -> Option<Row> {
    table.find(oids().coordinator_pkey, &[(1, Key::Text(name.as_bytes()))], Read::Latest(&Latest::take()))
}

fn from_row(row: &Row) -> Coordinator {
    let text = |n| text::from_server(&row.text(n));
    let epoch = row.bigint_or_null(7).map(|number| Epoch {
        number,
        identity: row.raw(8).map_or([0; 16], uuid),
        installed_at: row.bigint_or_null(9).unwrap_or(0),
    });
    // Which server this will be is open until recovery has ended, which a session may outlive.
    let compared = epoch.is_some() && !server::in_recovery() && !mutant::without("remote_lineage");
    Coordinator {
        name: text(1),
        kind: text(2),
        identity: text(3),
        state: State::parse(&row.text(4)),
        differences: if compared { differing(&lineage::read(row, LINEAGE)) } else { String::new() },
        epoch,
    }
}

/// In what this server differs from a recorded one: a sentence, empty where it doesn't.
fn differing(recorded: &Lineage) -> String {
    let actual = server::lineage();
    describe(&differences(recorded, &actual), recorded, &actual)
}

/// The bytes of a uuid.
pub fn uuid(datum: Datum) -> [u8; 16] {
    // SAFETY: a uuid is 16 bytes, passed by reference.
    unsafe { *datum.cast_mut_ptr::<[u8; 16]>() }
}

/// The coordinator of that name, from memory where nothing has changed. One that was dropped is none.
///
/// Whoever acts on it has locked it, and heard of every change before.
pub fn by_name(name: &str) -> Option<Rc<Coordinator>> {
    any(name).filter(|coordinator| coordinator.state != State::Dropped)
}

/// The same, dropped or not.
pub fn any(name: &str) -> Option<Rc<Coordinator>> {
    // Known objects first: finding them anew may itself move the version on.
    let _ = oids();
    let version = extension::configuration_version();
    let cached = CACHE.with_borrow(|(at, known)| known.get(name).filter(|_| *at == version).cloned());
    cached.or_else(|| {
        // Before the look: recovery may end meanwhile.
        let settled = !server::in_recovery();
        let found = find(&Table::open(oids().coordinator, Access::Read), name)?;
        let coordinator = Rc::new(from_row(&found));
        if !settled {
            return Some(coordinator);
        }
        CACHE.with_borrow_mut(|(at, known)| {
            if *at != version {
                (*at, *known) = (version, ByName::new());
            }
            known.insert(name.to_owned(), coordinator.clone());
        });
        Some(coordinator)
    })
}

/// Every coordinator, by name.
pub fn all() -> Vec<Coordinator> {
    let rows = Table::open(oids().coordinator, Access::Read).all(oids().coordinator_pkey, &[], &Latest::take());
    rows.iter().map(from_row).filter(|coordinator| coordinator.state != State::Dropped).collect()
}

/// The coordinator of that name, or 42704.
pub fn require(name: &str) -> Result<Rc<Coordinator>, Error> {
    by_name(name).ok_or_else(|| missing(name))
}

/// 42704.
pub fn missing(name: &str) -> Error {
    Error::new(Code::UndefinedObject, format!("coordinator \"{name}\" does not exist"))
        .hint("Register it first: SELECT fencing.register_coordinator(name, kind, identity).")
}

/// Registers a coordinator; one that was dropped under that name keeps the number of its last epoch, so
/// that none of its tokens ever counts again. Under its exclusive lock.
pub fn register(name: &str, kind: Kind, identity: &str) -> Result<(), Error> {
    let table = Table::open(oids().coordinator, Access::Write);
    let identity = text::to_server(identity);
    let (now, by) = (clock::server(), role::outer_user());
    let state = State::Registered.as_str().as_bytes();
    let written = match find(&table, name) {
        Some(row) => table.update(
            &row,
            &[
                (2, Value::Text(kind.as_str().as_bytes())),
                (3, Value::Text(&identity)),
                (4, Value::Text(state)),
                (5, Value::Time(now)),
                (6, Value::Oid(by)),
            ],
        ),
        None => {
            let mut values = [Value::Null; LINEAGE + lineage::COLUMNS - 1];
            values[0] = Value::Text(name.as_bytes());
            values[1] = Value::Text(kind.as_str().as_bytes());
            values[2] = Value::Text(&identity);
            values[3] = Value::Text(state);
            values[4] = Value::Time(now);
            values[5] = Value::Oid(by);
            table.insert(&values);
            Written::Done
        }
    };
    changed(written, name)
}

/// Makes an epoch the coordinator's, on this server as it is now. Under its exclusive lock.
pub fn install(name: &str, epoch: i64, identity: Datum) -> Result<(), Error> {
    let here = server::lineage();
    let mut values = vec![
        (7, Value::BigInt(epoch)),
        (8, Value::Raw(identity)),
        (9, Value::Time(clock::server())),
        (10, Value::Oid(role::outer_user())),
    ];
    values.extend((LINEAGE..).zip(lineage::columns(&here)));
    set(name, State::Installed, &values)
}

/// The installed epoch has two identities. Under its exclusive lock.
pub fn conflict(name: &str) -> Result<(), Error> {
    set(name, State::Conflict, &[])
}

/// Forgets a coordinator, but for the number of its last epoch. Under its exclusive lock.
pub fn remove(name: &str) -> Result<(), Error> {
    set(name, State::Dropped, &[])
}

fn set(name: &str, state: State, more: &[(usize, Value)]) -> Result<(), Error> {
    let table = Table::open(oids().coordinator, Access::Write);
    let row = find(&table, name).ok_or_else(|| missing(name))?;
    let mut values = vec![(4, Value::Text(state.as_str().as_bytes()))];
    values.extend_from_slice(more);
    changed(table.update(&row, &values), name)
}

/// Tells every backend. Coordinators are changed under a lock that keeps every other change out.
fn changed(written: Written, name: &str) -> Result<(), Error> {
    extension::announce_change(oids().coordinator);
    match written {
        Written::Done => Ok(()),
        Written::Busy | Written::Changed => {
            Err(Error::new(Code::LockNotAvailable, format!("coordinator \"{name}\" is being changed"))
                .hint("Another transaction has locked its row. Try again once it has ended."))
        }
    }
}
