//! Torture: clients that acquire, write, renew and release; that are stopped, killed and thrown out, on a
//! server that crashes; and a checker that reads what they recorded and what the tables say.
//!
//! `make torture` runs it; docs/torture.md says what it does.

pub mod byhand;
pub mod chaos;
pub mod check;
pub mod client;
pub mod dice;
pub mod finisher;
pub mod history;
pub mod last;
pub mod options;
pub mod plan;
pub mod report;
pub mod round;
pub mod session;
pub mod show;
pub mod transaction;
pub mod worker;
