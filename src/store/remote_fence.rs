//! `fencing.remote_fence`, `remote_use` and `fence_floor`: the highest token accepted of each lease of a
//! coordinator elsewhere; when it was last used; and what stands for the ones that were forgotten.

use super::places::Places;
use super::token;
use crate::pg::backend::Backend;
use crate::pg::extension::oids;
use crate::pg::lock::Tag;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::text;
use crate::pg::value::{Key, Value};
use fencing_core::Token;
use fencing_core::hash::remote_hash;
use fencing_core::time::Instant;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;

/// A lease of a coordinator elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteId {
    /// The coordinator's name.
    pub coordinator: Rc<str>,
    /// Its own namespace.
    pub namespace: Rc<str>,
    /// Its key, in the server's encoding.
    pub key: Rc<[u8]>,
    /// The hash that names its lock; it also finds it in this backend's maps.
    pub hash: u64,
}

/// A map by lease, which hashes nothing anew.
pub type RemoteMap<V> = HashMap<RemoteId, V, BuildHasherDefault<super::LeaseHasher>>;

impl Hash for RemoteId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl RemoteId {
    /// The lease of that name.
    pub fn new(coordinator: &str, namespace: &str, key: &[u8]) -> RemoteId {
        let hash = remote_hash(coordinator, namespace, key);
        RemoteId { coordinator: coordinator.into(), namespace: namespace.into(), key: key.into(), hash }
    }

    /// `namespace/key`, for messages.
    pub fn describe(&self) -> String {
        format!("{}/{}", self.namespace, text::from_server(&self.key))
    }

    /// The lock of its fence.
    pub fn lock(&self) -> Tag {
        Tag::remote_fence(self.hash)
    }

    fn namespace_bytes(&self) -> Vec<u8> {
        text::to_server(&self.namespace)
    }
}

/// A fence.
pub struct Fence {
    row: Row,
    /// Highest accepted token.
    pub token: Token,
    /// The transaction that advanced it.
    pub advanced_by: u64,
    /// When it was advanced.
    pub advanced_at: Instant,
}

impl Fence {
    /// Whether somebody else's open transaction has advanced or removed it, without its lock.
    pub fn is_being_changed(&self) -> bool {
        self.row.busy
    }

    /// The lock that says who, shared with nobody until that has ended; none where several have locked
    /// the row by hand.
    pub fn changer(&self) -> Option<Tag> {
        self.row.changer()
    }

    /// Whether it was changed after it was read.
    pub fn is_outdated(&self) -> bool {
        self.row.outdated
    }
}

static PLACES: Backend<Places<RemoteId>> = Places::new();
static USES: Backend<Places<RemoteId>> = Places::new();

/// Whether a row is of that lease: both tables begin alike.
fn is_of<'a>(lease: &'a RemoteId, namespace: &'a [u8]) -> impl FnOnce(&Row) -> bool + 'a {
    move |row| {
        row.with_text(3, |key| *key == *lease.key)
            && row.with_text(1, |name| name == lease.coordinator.as_bytes())
            && row.with_text(2, |name| name == namespace)
    }
}

fn keys<'a>(lease: &'a RemoteId, namespace: &'a [u8]) -> [(i16, Key<'a>); 3] {
    [(1, Key::Text(lease.coordinator.as_bytes())), (2, Key::Text(namespace)), (3, Key::Text(&lease.key))]
}

fn find(table: &Table, lease: &RemoteId, read: Read) -> Option<Fence> {
    let namespace = lease.namespace_bytes();
    let keys = keys(lease, &namespace);
    let row = PLACES.find(table, lease, is_of(lease, &namespace), (oids().remote_fence_pkey, &keys), read)?;
    Some(Fence { token: token(row.bigint(4)), advanced_by: row.bigint(5) as u64, advanced_at: row.bigint(6), row })
}

/// The fence as of now.
pub fn read(lease: &RemoteId) -> Option<Fence> {
    loop {
        let fence = find(&Table::open(oids().remote_fence, Access::Read), lease, Read::Latest(&Latest::take()));
        // A version that was replaced after the snapshot: look again with a younger one.
        if !fence.as_ref().is_some_and(Fence::is_outdated) {
            return fence;
        }
    }
}

/// The lock of an open transaction that has stored the lease's first fence without keeping its lock.
pub fn inserter(lease: &RemoteId) -> Option<Tag> {
    let namespace = lease.namespace_bytes();
    let table = Table::open(oids().remote_fence, Access::Read);
    table.inserter(oids().remote_fence_pkey, &keys(lease, &namespace))
}

/// Raises the fence to `to`, or stores it. Under its exclusive lock, after [`read`].
pub fn advance(lease: &RemoteId, fence: Option<&Fence>, to: Token, xid: u64, now: Instant) -> Written {
    let Some(fence) = fence else {
        store(lease, to, xid, now, Table::insert);
        return Written::Done;
    };
    Table::open(oids().remote_fence, Access::Write).update(&fence.row, &raised(to, xid, now))
}

/// The same at once and for good: also if this transaction is rolled back.
pub fn advance_at_once(lease: &RemoteId, fence: Option<&Fence>, to: Token, xid: u64, now: Instant) {
    match fence {
        // Its lock keeps that version the last one.
        Some(fence) => Table::open(oids().remote_fence, Access::Write).overwrite(&fence.row, &raised(to, xid, now)),
        None => store(lease, to, xid, now, Table::insert_at_once),
    }
}

fn raised(to: Token, xid: u64, now: Instant) -> [(usize, Value<'static>); 3] {
    [(4, Value::BigInt(to.to_bigint())), (5, Value::Xid8(xid)), (6, Value::Time(now))]
}

fn store<T>(lease: &RemoteId, to: Token, xid: u64, now: Instant, insert: impl Fn(&Table, &[Value]) -> T) {
    let namespace = lease.namespace_bytes();
    let (coordinator, key) = (Value::Text(lease.coordinator.as_bytes()), Value::Text(&lease.key));
    let [to, xid, at] = raised(to, xid, now).map(|(_, value)| value);
    insert(&Table::open(oids().remote_fence, Access::Write), &[coordinator, Value::Text(&namespace), key, to, xid, at]);
    insert(&Table::open(oids().remote_use, Access::Write), &[coordinator, Value::Text(&namespace), key, at]);
}

/// Writes the fence as it is, so that this transaction holds it by its row. As [`advance`].
pub fn touch(fence: &Fence) -> Written {
    Table::open(oids().remote_fence, Access::Write).update(&fence.row, &[])
}

fn find_use(table: &Table, lease: &RemoteId) -> Option<Row> {
    let namespace = lease.namespace_bytes();
    let keys = keys(lease, &namespace);
    let read = Latest::take();
    USES.find(table, lease, is_of(lease, &namespace), (oids().remote_use_pkey, &keys), Read::Latest(&read))
}

/// When the lease's fence was last used, as far as it is recorded.
pub fn last_use(lease: &RemoteId) -> Option<Instant> {
    find_use(&Table::open(oids().remote_use, Access::Read), lease).map(|row| row.bigint(4))
}

/// Records that it is used now, unless somebody else does.
pub fn record_use(lease: &RemoteId, now: Instant) {
    let table = Table::open(oids().remote_use, Access::Write);
    if let Some(row) = find_use(&table, lease) {
        table.update(&row, &[(4, Value::Time(now))]);
    }
}

/// What stands for the forgotten fences of a lease's namespace.
pub fn floor(lease: &RemoteId) -> Option<Token> {
    let namespace = lease.namespace_bytes();
    let table = Table::open(oids().fence_floor, Access::Read);
    find_floor(&table, &lease.coordinator, &namespace).map(|row| token(row.bigint(3)))
}

fn find_floor(table: &Table, coordinator: &str, namespace: &[u8]) -> Option<Row> {
    let keys = [(1, Key::Text(coordinator.as_bytes())), (2, Key::Text(namespace))];
    table.find(oids().fence_floor_pkey, &keys, Read::Latest(&Latest::take()))
}

/// Raises the floor of a namespace. Under the lock of the coordinator's floors.
pub fn raise_floor(coordinator: &str, namespace: &str, to: Token) -> Written {
    let table = Table::open(oids().fence_floor, Access::Write);
    let namespace = text::to_server(namespace);
    let value = Value::BigInt(to.to_bigint());
    match find_floor(&table, coordinator, &namespace) {
        Some(row) if row.bigint(3) >= to.to_bigint() => Written::Done,
        Some(row) => table.update(&row, &[(3, value)]),
        None => {
            table.insert(&[Value::Text(coordinator.as_bytes()), Value::Text(&namespace), value]);
            Written::Done
        }
    }
}

/// Visits every lease of a coordinator that has a fence here; `visit` may write.
pub fn each(coordinator: &str, mut visit: impl FnMut(RemoteId)) {
    let table = Table::open(oids().remote_fence, Access::Read);
    let keys = [(1, Key::Text(coordinator.as_bytes()))];
    table.each(oids().remote_fence_pkey, &keys, &Latest::take(), |row| {
        visit(RemoteId::new(coordinator, &text::from_server(&row.text(2)), &row.text(3)));
    });
}

/// Removes a fence. Under its exclusive lock, or its coordinator's.
pub fn forget(lease: &RemoteId, fence: &Fence) -> Written {
    let uses = Table::open(oids().remote_use, Access::Write);
    if let Some(row) = find_use(&uses, lease) {
        uses.delete(&row);
    }
    Table::open(oids().remote_fence, Access::Write).delete(&fence.row)
}

/// Removes the floors of a coordinator. Under its exclusive lock.
pub fn forget_floors(coordinator: &str) {
    let table = Table::open(oids().fence_floor, Access::Write);
    let keys = [(1, Key::Text(coordinator.as_bytes()))];
    for row in table.all(oids().fence_floor_pkey, &keys, &Latest::take()) {
        table.delete(&row);
    }
}
