//! `fencing`: leases whose stale holders can't write.
//!
//! | folder        | what it does                                                       |
//! |---------------|--------------------------------------------------------------------|
//! | `coordinator` | namespaces, acquire, renew, release, inspection                    |
//! | `guard`       | protect, and the triggers that check each write                    |
//! | `remote`      | coordinators elsewhere whose tokens guards compare                 |
//! | `epoch`       | epochs, and the lineage of the server that opened them             |
//! | `transaction` | what this transaction presents and holds; follows savepoints       |
//! | `store`       | the extension's rows, typed                                        |
//! | `pg`          | PostgreSQL: locks, snapshots, tables, entry points, errors         |
//!
//! The rules themselves are pure functions in the crate `fencing-core`.
//!
//! What the first guarded write of each transaction runs stands in a section of its own, `.text_hot`. Beside
//! other sessions that code is cold in the processor's caches each time: spread over the whole library it
//! takes 43 pages of memory instead of 26, and a fifth longer.

pub mod coordinator;
pub mod epoch;
pub mod guard;
mod hooks;
pub mod pg;
pub mod remote;
pub mod store;
pub mod transaction;

use pgrx::extension_sql_file;

::pgrx::pg_module_magic!(name, version);

extension_sql_file!("../sql/tables.sql", name = "tables", bootstrap);
extension_sql_file!("../sql/coordinator.sql", name = "coordinator", requires = ["tables"]);
extension_sql_file!("../sql/guards.sql", name = "guards", requires = ["coordinator"]);
extension_sql_file!("../sql/remote.sql", name = "remote", requires = ["guards"]);
extension_sql_file!("../sql/gaps.sql", name = "gaps", requires = ["remote"]);
extension_sql_file!("../sql/prove.sql", name = "prove", requires = ["gaps"]);
extension_sql_file!("../sql/watch.sql", name = "watch", requires = ["gaps"]);
extension_sql_file!("../sql/epochs.sql", name = "epochs", requires = ["prove"]);
extension_sql_file!("../sql/grants.sql", name = "grants", finalize);

// Editing a script rebuilds the library.
const _: [&str; 9] = [
    include_str!("../sql/tables.sql"),
    include_str!("../sql/coordinator.sql"),
    include_str!("../sql/guards.sql"),
    include_str!("../sql/remote.sql"),
    include_str!("../sql/gaps.sql"),
    include_str!("../sql/prove.sql"),
    include_str!("../sql/watch.sql"),
    include_str!("../sql/epochs.sql"),
    include_str!("../sql/grants.sql"),
];
