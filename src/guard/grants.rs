//! EXECUTE on the trigger functions. They are nobody's to attach by hand, so a guard's own changes
//! are lent the right to; and the owner of a partitioned table keeps it for the row trigger, since
//! PostgreSQL asks for it whenever a partition gets its clone.

use crate::pg::catalog::{self, StoredTrigger};
use crate::pg::relation::{Kind, Relation, quote_identifier};
use crate::pg::{extension, role};
use pgrx::pg_sys::Oid;

const ROW: &str = "fencing.guard_row()";

/// What grants the current user the right to attach triggers to a table, and what takes it back after;
/// `None` if nobody is missing any. The owner keeps what partitions take.
pub fn lent(table: Option<&Relation>) -> Option<(String, String)> {
    let user = role::current_user();
    let missing = extension::not_executable_by(user);
    let (to_owner, owner) =
        (table.and_then(to_owner), table.filter(|t| t.kind() == Kind::Partitioned).map(Relation::owner));
    if missing.is_empty() {
        return to_owner;
    }
    extension::serialize_grants();
    let back: Vec<_> = missing.iter().copied().filter(|f| owner != Some(user) || *f != ROW).collect();
    let user = quote_identifier(&role::name(user));
    let grant = format!("GRANT EXECUTE ON FUNCTION {} TO {user}", missing.join(", "));
    let revoke = match back.as_slice() {
        [] => String::new(),
        back => format!("REVOKE EXECUTE ON FUNCTION {} FROM {user}", back.join(", ")),
    };
    Some((to_owner.map_or(grant.clone(), |(more, _)| format!("{grant};\n{more}")), revoke))
}

/// What gives the owner of a guarded, partitioned table the right that partitions take.
pub fn to_owner(table: &Relation) -> Option<(String, String)> {
    let owner = table.owner();
    if table.kind() != Kind::Partitioned || !extension::not_executable_by(owner).contains(&ROW) {
        return None;
    }
    extension::serialize_grants();
    let owner = quote_identifier(&role::name(owner));
    Some((format!("GRANT EXECUTE ON FUNCTION {ROW} TO {owner}"), String::new()))
}

/// What takes it back from an owner who has no other such table.
pub fn returned(table: &Relation, triggers: &[StoredTrigger]) -> Option<(String, String)> {
    let owner = table.owner();
    let another = |t: &StoredTrigger| {
        t.table != table.oid()
            && !t.is_clone
            && t.function == extension::oids().guard_row
            && owner == catalog::owner_of(t.table)
            && catalog::is_partitioned(t.table)
    };
    let superfluous = table.kind() == Kind::Partitioned && !triggers.iter().any(another) && has_grant(owner);
    superfluous.then(|| {
        extension::serialize_grants();
        let owner = quote_identifier(&role::name(owner));
        (String::new(), format!("REVOKE EXECUTE ON FUNCTION {ROW} FROM {owner}"))
    })
}

/// Superusers need none, and the functions' own owner keeps what it has.
fn has_grant(role: Oid) -> bool {
    role != extension::oids().owner && !role::is_superuser(role) && !extension::not_executable_by(role).contains(&ROW)
}
