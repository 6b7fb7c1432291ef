//! The protocol of `fencing`, as a state machine that is explored exhaustively.
//!
//! Clients acquire, write, renew, release and pause between any two steps; the clock jumps; servers
//! crash, are restored, promoted and copied; epochs are opened. Whatever decides (is this write admitted,
//! is this lease grantable, which number has the next epoch) is asked of `fencing-core`, which the
//! extension asks as well: the model has the order of locks, reads and commits, and no rule of its own.
//!
//! [`variants`] leaves counter-measures out. Each must break a promise, by a path that can be read; the
//! protocol as it is must not, in any state of its [`config`]urations.

pub mod config;
mod explore;
mod holder;
mod locks;
pub mod measures;
mod operator;
pub mod properties;
pub mod protocol;
pub mod state;
mod taker;
mod trace;
pub mod variants;
mod world;
mod writer;

pub use explore::{Explored, explore, shortest};
pub use trace::trace;
