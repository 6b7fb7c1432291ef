//! The coordinator: namespaces, leases and tokens.

mod acquire;
mod announce;
mod batch;
mod inspect;
mod namespaces;
mod terms;
mod tokens;

pub use acquire::define_settings;

use crate::pg::entry::{Arg, Args, BIGINT, BIGINTS, BOOL, INTERVAL, REGROLE, TEXT, UUID};
use crate::sql_function;
use fencing_core::Error;

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
sql_function!(fencing_acquire, [TEXT, TEXT, TEXT, INTERVAL, INTERVAL, UUID, TEXT, BOOL], acquire::acquire);
sql_function!(fencing_renew, [BIGINT, INTERVAL], terms::renew);
sql_function!(fencing_renew_all, [BIGINTS, INTERVAL], batch::renew_all);
sql_function!(fencing_release, [BIGINT], terms::release);
sql_function!(fencing_check_token, [BIGINT], terms::check_token);
sql_function!(fencing_inspect, [TEXT, TEXT], inspect::inspect);
sql_function!(fencing_epoch_of, [BIGINT], tokens::epoch_of);
sql_function!(fencing_seq_of, [BIGINT], tokens::seq_of);
sql_function!(fencing_make_token, [BIGINT, BIGINT], tokens::make_token);
sql_function!(fencing_format_token, [BIGINT], tokens::format_token);

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
