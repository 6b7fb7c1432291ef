//! The rules of `fencing`, as pure functions.
//!
//! A decision ("may this term write?", "is this lease grantable?") takes what was read from the
//! database and returns a verdict. Nothing here locks, reads or raises: the extension does that,
//! so the safety argument can be read and tested without a database.

pub mod admission;
pub mod definition;
pub mod epoch;
pub mod error;
pub mod hash;
pub mod json;
pub mod key;
pub mod lease;
pub mod lineage;
pub mod name;
pub mod remote;
pub mod states;
pub mod time;
pub mod token;
pub mod waiting;

pub use error::{Code, Error};
pub use token::Token;
