//! The coordinator: namespaces, leases and tokens.

mod acquire;
mod announce;
mod batch;
mod binding;
mod blockers;
mod drop;
mod evict;
mod inspect;
mod namespaces;
mod report;
mod revoke;
mod terms;
mod tokens;
mod waiting;
mod withdraw;

use crate::pg::entry::{Arg, Args, BIGINT, BIGINTS, BOOL, INTERVAL, JSONB, REGROLE, TEXT, UUID};
use crate::pg::table::Written;
use crate::sql_function;
use crate::store::LeaseId;
use crate::store::namespace::{self, Namespace, Privilege};
use fencing_core::{Error, name};
use std::rc::Rc;
pub use waiting::patience;

sql_function!(
    fencing_create_namespace,
    [TEXT, INTERVAL, INTERVAL, Arg::Enum, INTERVAL, INTERVAL, BOOL, BOOL],
    namespaces::create
);
sql_function!(
    fencing_alter_namespace,
    [TEXT, INTERVAL, INTERVAL, Arg::Enum, INTERVAL, INTERVAL, BOOL, BOOL],
    namespaces::alter
);
sql_function!(fencing_drop_namespace, [TEXT], namespaces::drop);
sql_function!(fencing_grant_namespace, [TEXT, REGROLE, TEXT], namespaces::grant);
sql_function!(fencing_revoke_namespace, [TEXT, REGROLE, TEXT], withdraw::revoke_namespace);
sql_function!(fencing_acquire, [TEXT, TEXT, TEXT, INTERVAL, INTERVAL, UUID, TEXT, BOOL], acquire::acquire);
sql_function!(fencing_renew, [BIGINT, INTERVAL], terms::renew);
sql_function!(fencing_renew_all, [BIGINTS, INTERVAL], batch::renew_all);
sql_function!(fencing_release, [BIGINT], terms::release);
sql_function!(fencing_check_token, [BIGINT], terms::check_token);
sql_function!(fencing_inspect, [TEXT, TEXT], inspect::inspect);
sql_function!(fencing_revoke, [TEXT, TEXT, TEXT, INTERVAL], revoke::revoke);
sql_function!(fencing_request_handover, [TEXT, TEXT], revoke::request_handover);
sql_function!(fencing_blockers, [TEXT, TEXT], blockers::blockers);
sql_function!(fencing_evict, [TEXT, TEXT], evict::evict);
sql_function!(fencing_drop_lease, [TEXT, TEXT], drop::drop_lease);
sql_function!(fencing_purge_leases, [INTERVAL], drop::purge_leases);
sql_function!(fencing_report, [BIGINT, TEXT, JSONB], report::report);
sql_function!(fencing_epoch_of, [BIGINT], tokens::epoch_of);
sql_function!(fencing_seq_of, [BIGINT], tokens::seq_of);
sql_function!(fencing_make_token, [BIGINT, BIGINT], tokens::make_token);
sql_function!(fencing_format_token, [BIGINT], tokens::format_token);

/// Defines the settings.
pub fn define_settings() {
    acquire::define_settings();
    waiting::define_settings();
}

/// A text argument that must not be NULL.
fn required(args: &Args, n: usize, argument: &str) -> Result<String, Error> {
    args.string(n).ok_or_else(|| Error::null(argument))
}

/// The same, as bytes.
fn required_bytes(args: &Args, n: usize, argument: &str) -> Result<Vec<u8>, Error> {
    args.bytes(n).ok_or_else(|| Error::null(argument))
}

/// The token argument.
fn token(args: &Args) -> Result<i64, Error> {
    args.bigint(0).ok_or_else(|| Error::null("token"))
}

/// The lease that the first two arguments name, for a caller who has one of these privileges on its
/// namespace.
fn named_lease(args: &Args, any_of: &[Privilege]) -> Result<(Rc<Namespace>, LeaseId), Error> {
    let name = required(args, 0, "namespace")?;
    let key = required_bytes(args, 1, "key")?;
    name::check_key(&key)?;
    let namespace = namespace::require(&name)?;
    namespace::require_privilege(&namespace, any_of)?;
    Ok((namespace.clone(), LeaseId::new(namespace.id, &key)))
}

/// For rows that only whoever holds the lease's locks writes: nobody can be faster.
fn require_done(written: Written) -> Result<(), Error> {
    written.required("a row of the lease is locked")
}
