//! Real PostgreSQL clusters and real clients for the tests in `tests/`.
//!
//! `make test ONLY=clusters` runs them: it builds the extension, lays it over a copy of the server
//! and says where (`scripts/suites/rust.sh`).

pub mod cluster;
pub mod copies;
pub mod doc;
pub mod past;
pub mod pooler;
pub mod psql;
pub mod sql;
pub mod wire;

pub use cluster::{Cluster, Stop};
pub use sql::{Grant, Sql};
