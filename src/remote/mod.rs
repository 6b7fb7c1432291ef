//! Remote destinations: tables of this database whose leases a coordinator elsewhere grants, such as
//! another database with this extension, etcd, Kubernetes or ZooKeeper.

mod check;
mod hold;
mod install;
mod purge;
mod register;
mod seal;
mod uses;

pub use check::{Question, Subject, check, require_open};
pub use register::{hold_coordinator, require_authority};

use crate::pg::entry::{BIGINT, INTERVAL, TEXT, UUID};
use crate::sql_function;

sql_function!(fencing_register_coordinator, [TEXT, TEXT, TEXT], register::register_coordinator);
sql_function!(fencing_drop_coordinator, [TEXT], register::drop_coordinator);
sql_function!(fencing_coordinators, [], register::coordinators);
sql_function!(fencing_install_epoch, [TEXT, BIGINT, UUID], install::install_epoch);
sql_function!(fencing_seal, [TEXT, TEXT, TEXT, BIGINT], seal::seal);
sql_function!(fencing_purge_fences, [TEXT, INTERVAL], purge::purge_fences);
