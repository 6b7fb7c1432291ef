//! `fencing.namespace` and `fencing.member`.

use super::{LeaseId, NumberMap};
use crate::pg::extension::{self, oids};
use crate::pg::outcome::throw;
use crate::pg::sequence;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use crate::pg::{entry, role};
use fencing_core::admission::{Rejection, not_authorized};
use fencing_core::lease::{ExpiryRule, Policy};
use fencing_core::time::Instant;
use fencing_core::{Code, Error, Token, name};
use pgrx::pg_sys::{Datum, Oid};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A namespace.
pub struct Namespace {
    /// Its number.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Its policy.
    pub policy: Policy,
    /// Whether a released lease's row disappears.
    pub ephemeral: bool,
    /// Whether what happens to its leases is announced.
    pub notify: bool,
}

/// A privilege on a namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as they are in SQL")]
pub enum Privilege {
    Hold,
    Observe,
    Administer,
}

impl Privilege {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Privilege::Hold => "hold",
            Privilege::Observe => "observe",
            Privilege::Administer => "administer",
        }
    }

    /// Reads what [`Privilege::as_str`] wrote.
    pub fn parse(text: &str) -> Option<Privilege> {
        [Privilege::Hold, Privilege::Observe, Privilege::Administer].into_iter().find(|p| p.as_str() == text)
    }
}

/// The columns of a policy, as SQL passes and stores them.
pub struct Columns {
    /// Policy in microseconds.
    pub policy: Policy,
    /// The enum value of `on_expiry`.
    pub on_expiry: Datum,
    /// `ephemeral`
    pub ephemeral: bool,
    /// `notify`
    pub notify: bool,
}

/// Namespaces in memory, as of one version of the configuration.
#[derive(Default)]
struct Cache {
    version: u64,
    by_name: HashMap<String, Rc<Namespace>>,
    by_id: NumberMap<i32, Rc<Namespace>>,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// What is in memory and still so.
fn cached(find: impl FnOnce(&Cache) -> Option<&Rc<Namespace>>) -> Option<Rc<Namespace>> {
    extension::catch_up();
    let version = extension::configuration_version();
    CACHE.with_borrow(|cache| find(cache).filter(|_| cache.version == version).cloned())
}

/// Reads the rule from its enum value.
pub fn expiry_rule(value: Datum) -> ExpiryRule {
    match entry::enum_label(value).as_str() {
        "accept_until_superseded" => ExpiryRule::AcceptUntilSuperseded,
        _ => ExpiryRule::Reject,
    }
}

fn columns(row: &Row) -> Columns {
    let span = |n| name::check_span("interval", row.interval(n)).unwrap_or(0);
    let on_expiry = row.raw(5).unwrap_or(Datum::from(0usize));
    let policy = Policy {
        ttl: span(3),
        max_ttl: span(4),
        on_expiry: expiry_rule(on_expiry),
        min_hold: span(6),
        cool_down: span(7),
    };
    Columns { policy, on_expiry, ephemeral: row.bool(8), notify: row.bool(9) }
}

fn find(name: &str) -> Option<Row> {
    let table = Table::open(oids().namespace, Access::Read);
    table.find(oids().namespace_name_key, &[(2, Key::Text(name.as_bytes()))], Read::Latest(&Latest::take()))
}

/// The namespace of that name, from memory where nothing has changed.
pub fn by_name(name: &str) -> Option<Rc<Namespace>> {
    cached(|cache| cache.by_name.get(name)).or_else(|| {
        let version = extension::configuration_version();
        let columns = find(name).map(|row| (row.int(1), columns(&row)));
        columns.map(|(id, columns)| remember(version, id, name, &columns))
    })
}

/// Keeps in memory what was read under that version.
fn remember(version: u64, id: i32, name: &str, columns: &Columns) -> Rc<Namespace> {
    let Columns { policy, ephemeral, notify, .. } = *columns;
    let namespace = Rc::new(Namespace { id, name: name.to_owned(), policy, ephemeral, notify });
    CACHE.with_borrow_mut(|cache| {
        if cache.version != version {
            *cache = Cache { version, ..Cache::default() };
        }
        cache.by_name.insert(name.to_owned(), namespace.clone());
        cache.by_id.insert(id, namespace.clone());
    });
    namespace
}

/// The namespace of that name, or 42704.
pub fn require(name: &str) -> Result<Rc<Namespace>, Error> {
    by_name(name).ok_or_else(|| missing(name))
}

/// 42704.
pub fn missing(name: &str) -> Error {
    Error::new(Code::UndefinedObject, format!("namespace \"{name}\" does not exist"))
        .hint("Create it first: SELECT fencing.create_namespace('name').")
}

/// The namespace of that number, from memory where nothing has changed.
pub fn by_id(id: i32) -> Option<Rc<Namespace>> {
    if let Some(namespace) = cached(|cache| cache.by_id.get(&id)) {
        return Some(namespace);
    }
    let table = Table::open(oids().namespace, Access::Read);
    let row = table.find(oids().namespace_pkey, &[(1, Key::Int(id))], Read::Latest(&Latest::take()))?;
    by_name(&String::from_utf8_lossy(&row.text(2)))
}

/// Every namespace.
pub fn all() -> Vec<Rc<Namespace>> {
    let rows = Table::open(oids().namespace, Access::Read).all(oids().namespace_pkey, &[], &Latest::take());
    rows.iter().filter_map(|row| by_name(&String::from_utf8_lossy(&row.text(2)))).collect()
}

/// Adds a namespace and gives its number.
pub fn insert(name: &str, columns: &Columns, now: Instant) -> i32 {
    let Some(id) = sequence::draw(oids().namespace_id_seq).and_then(|(id, _)| i32::try_from(id).ok()) else {
        throw(Error::new(Code::TermsExhausted, "namespace numbers are exhausted"))
    };
    Table::open(oids().namespace, Access::Write).insert(&[
        Value::Int(id),
        Value::Text(name.as_bytes()),
        Value::Span(columns.policy.ttl),
        Value::Span(columns.policy.max_ttl),
        Value::Raw(columns.on_expiry),
        Value::Span(columns.policy.min_hold),
        Value::Span(columns.policy.cool_down),
        Value::Bool(columns.ephemeral),
        Value::Bool(columns.notify),
        Value::Null,
        Value::Time(now),
    ]);
    extension::announce_change(oids().namespace);
    id
}

/// Changes a namespace's policy by what `change` makes of it. Under the lock of its administration.
pub fn alter(name: &str, change: impl FnOnce(Columns) -> Result<Columns, Error>) -> Result<(), Error> {
    let row = find(name).ok_or_else(|| missing(name))?;
    let columns = change(columns(&row))?;
    let written = Table::open(oids().namespace, Access::Write).update(
        &row,
        &[
            (3, Value::Span(columns.policy.ttl)),
            (4, Value::Span(columns.policy.max_ttl)),
            (5, Value::Raw(columns.on_expiry)),
            (6, Value::Span(columns.policy.min_hold)),
            (7, Value::Span(columns.policy.cool_down)),
            (8, Value::Bool(columns.ephemeral)),
            (9, Value::Bool(columns.notify)),
        ],
    );
    extension::announce_change(oids().namespace);
    expect_done(written, name)
}

/// Removes a namespace and its access list. Under the lock of its administration.
pub fn remove(namespace: &Namespace) -> Result<(), Error> {
    let members = Table::open(oids().member, Access::Write);
    for row in members.all(oids().member_pkey, &[(1, Key::Int(namespace.id))], &Latest::take()) {
        members.delete(&row);
    }
    let written = match find(&namespace.name) {
        Some(row) => Table::open(oids().namespace, Access::Write).delete(&row),
        None => Written::Done,
    };
    extension::announce_change(oids().namespace);
    expect_done(written, &namespace.name)
}

/// Namespaces are changed under a lock that excludes every other change.
fn expect_done(written: Written, name: &str) -> Result<(), Error> {
    match written {
        Written::Done => Ok(()),
        Written::Busy | Written::Changed => {
            Err(Error::new(Code::LockNotAvailable, format!("namespace \"{name}\" is being changed"))
                .hint("Another transaction has locked its row. Try again once it has ended."))
        }
    }
}

/// Gives `role` a privilege; nothing happens if it has it. Under the lock of the namespace's administration.
pub fn grant(namespace: i32, role: Oid, privilege: Privilege) {
    let table = Table::open(oids().member, Access::Write);
    let keys = [(1, Key::Int(namespace)), (2, Key::Oid(role)), (3, Key::Text(privilege.as_str().as_bytes()))];
    if table.find(oids().member_pkey, &keys, Read::Latest(&Latest::take())).is_none() {
        table.insert(&[Value::Int(namespace), Value::Oid(role), Value::Text(privilege.as_str().as_bytes())]);
    }
}

/// Takes a privilege from `role`, and tells every backend: whether it had it itself. Under the same lock.
pub fn withdraw(namespace: i32, role: Oid, privilege: Privilege) -> bool {
    let table = Table::open(oids().member, Access::Write);
    let keys = [(1, Key::Int(namespace)), (2, Key::Oid(role)), (3, Key::Text(privilege.as_str().as_bytes()))];
    let row = table.find(oids().member_pkey, &keys, Read::Latest(&Latest::take()));
    let withdrawn = row.is_some_and(|row| table.delete(&row) == Written::Done);
    extension::announce_change(oids().member);
    withdrawn
}

/// Whether `user` has one of these privileges: itself, or as a member of a role that has.
pub fn permits(namespace: &Namespace, user: Oid, any_of: &[Privilege]) -> bool {
    role::is_superuser(user) || {
        let table = Table::open(oids().member, Access::Read);
        table.all(oids().member_pkey, &[(1, Key::Int(namespace.id))], &Latest::take()).iter().any(|row| {
            let privilege = row.text(3);
            any_of.iter().any(|p| p.as_str().as_bytes() == privilege) && role::is_member(user, row.oid(2))
        })
    }
}

/// As [`permits`], or 42501.
pub fn require_privilege(namespace: &Namespace, any_of: &[Privilege]) -> Result<(), Error> {
    if permits(namespace, role::asking_user(), any_of) {
        return Ok(());
    }
    let needed: Vec<_> = any_of.iter().map(|p| p.as_str()).collect();
    Err(Error::new(Code::InsufficientPrivilege, format!("permission denied for namespace \"{}\"", namespace.name))
        .detail(format!("It needs the privilege {} on the namespace.", needed.join(" or ")))
        .hint("An administrator of the namespace can grant it: SELECT fencing.grant_namespace(name, role, privilege)."))
}

/// LF008 for a term that is named by its token alone. Its lease is named to those who may see it.
pub fn another_roles(lease: &LeaseId, token: Token) -> Error {
    let any = [Privilege::Hold, Privilege::Observe, Privilege::Administer];
    match by_id(lease.namespace).filter(|namespace| permits(namespace, role::asking_user(), &any)) {
        Some(namespace) => Rejection::NotAuthorized(token).error(&lease.describe(&namespace.name), None),
        None => not_authorized(token),
    }
}
