//! PostgreSQL, as the rest of the extension sees it. Raw calls into the server live here (and on
//! the guard's hot path); everything above is ordinary Rust.

pub mod backend;
pub mod btree;
pub mod catalog;
pub mod clock;
pub mod ddl;
pub mod entry;
pub mod exit;
pub mod extension;
pub mod glance;
pub mod holder;
pub mod key_type;
pub mod lock;
pub mod memory;
pub mod mutant;
pub mod notify;
pub mod outcome;
pub mod prepared;
pub mod raw;
pub mod relation;
pub mod report;
pub mod role;
pub mod scan;
pub mod sequence;
pub mod server;
pub mod session;
pub mod snapshot;
pub mod table;
pub mod text;
pub mod tuple;
pub mod value;
pub mod wait;
pub mod xact;
