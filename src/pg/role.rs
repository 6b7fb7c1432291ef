//! Roles: who asks.

use super::{mutant, raw};
use fencing_core::{Code, Error};
use pgrx::pg_sys::{self, Oid};

/// The role that the session acts as: of login or SET ROLE, whatever SECURITY DEFINER function it
/// is in. Where PostgreSQL runs a table owner's code for whoever maintains the table (index
/// expressions in REINDEX, ANALYZE and the like), it is the owner: its code must gain nothing by that.
pub fn outer_user() -> Oid {
    // SAFETY: reads statics of this backend.
    unsafe {
        if raw::InSecurityRestrictedOperation() && !mutant::without("restricted") {
            return raw::GetUserId();
        }
        raw::GetOuterUserId()
    }
}

/// The role whose right to call a function counts: the [`outer_user`]. A foreign key's action runs the
/// triggers of the table that refers as that table's owner, who must gain nothing by who changes the other
/// one: there it is the role whose privileges apply.
pub fn asking_user() -> Oid {
    if super::xact::in_foreign_key_action() && !mutant::without("foreign_key_rights") {
        return current_user();
    }
    outer_user()
}

/// The role whose privileges apply now.
pub fn current_user() -> Oid {
    // SAFETY: reads a static of this backend.
    unsafe { pg_sys::GetUserId() }
}

/// Whether `role` is a superuser.
pub fn is_superuser(role: Oid) -> bool {
    // SAFETY: a catalog look-up inside a transaction.
    unsafe { pg_sys::superuser_arg(role) }
}

/// Whether `member` is `role`, or has its privileges as a member; superusers have those of every role.
/// Who must SET ROLE first (NOINHERIT) or may not even that counts only once it has.
#[inline]
pub fn is_member(member: Oid, role: Oid) -> bool {
    // SAFETY: a catalog look-up inside a transaction.
    member == role || unsafe { raw::catch(|| raw::has_privs_of_role(member, role)) }
}

/// Whether there is such a role.
pub fn exists(role: Oid) -> bool {
    // SAFETY: a syscache look-up.
    unsafe {
        pg_sys::SearchSysCacheExists(
            pg_sys::SysCacheIdentifier::AUTHOID as i32,
            role.into(),
            0.into(),
            0.into(),
            0.into(),
        )
    }
}

/// 42704
pub fn missing(role: Oid) -> Error {
    Error::new(Code::UndefinedObject, format!("role with OID {} does not exist", role.to_u32()))
}

/// A role's name; a role that was dropped has none.
pub fn name_if_any(role: Oid) -> Option<String> {
    // SAFETY: a catalog look-up that gives null for an unknown role.
    let name = unsafe { pg_sys::GetUserNameFromId(role, true) };
    // SAFETY: NUL-terminated where it is not null.
    (!name.is_null()).then(|| super::text::from_server(unsafe { std::ffi::CStr::from_ptr(name) }.to_bytes()))
}

/// A role's name.
pub fn name(role: Oid) -> String {
    // SAFETY: a catalog look-up that raises for an unknown role.
    super::text::from_server(unsafe { std::ffi::CStr::from_ptr(pg_sys::GetUserNameFromId(role, false)) }.to_bytes())
}

/// The role of that name, if there is one.
pub fn by_name(name: &str) -> Option<Oid> {
    let name = super::text::to_server_cstr(name);
    // SAFETY: `name` is NUL-terminated; missing_ok.
    let oid = unsafe { pg_sys::get_role_oid(name, true) };
    (oid != Oid::INVALID).then_some(oid)
}

/// Runs `body` with the rights of `owner`. An error inside restores the caller's by itself: the
/// transaction's or the savepoint's abort does.
pub fn with_rights_of<T>(owner: Oid, body: impl FnOnce() -> T) -> T {
    let mut user = Oid::INVALID;
    let mut context = 0;
    // SAFETY: the documented way to act as another role within one backend call.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(owner, context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32);
    }
    let result = body();
    // SAFETY: as above.
    unsafe { pg_sys::SetUserIdAndSecContext(user, context) };
    result
}

/// Whether `role` may write a table in any way.
pub fn may_write(role: Oid, table: Oid) -> bool {
    let whole = pg_sys::ACL_INSERT | pg_sys::ACL_UPDATE | pg_sys::ACL_DELETE | pg_sys::ACL_TRUNCATE;
    let columns = pg_sys::ACL_INSERT | pg_sys::ACL_UPDATE;
    let ok = pg_sys::AclResult::ACLCHECK_OK;
    // SAFETY: catalog look-ups inside a transaction.
    unsafe {
        pg_sys::pg_class_aclcheck(table, role, whole as pg_sys::AclMode) == ok
            || pg_sys::pg_attribute_aclcheck_all(
                table,
                role,
                columns as pg_sys::AclMode,
                pg_sys::AclMaskHow::ACLMASK_ANY,
            ) == ok
    }
}
