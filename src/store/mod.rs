//! The extension's rows, typed. Column numbers are those of `sql/tables.sql`.

pub mod epoch;
pub mod fence;
pub mod lease;
pub mod namespace;
pub mod request;
pub mod term;

/// The identity of a lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaseId {
    /// `namespace.id`
    pub namespace: i32,
    /// Its key, in the server's encoding.
    pub key: Vec<u8>,
}

impl LeaseId {
    /// `namespace/key`, for messages.
    pub fn describe(&self, namespace: &str) -> String {
        format!("{namespace}/{}", crate::pg::text::from_server(&self.key))
    }
}

/// A stored token. Anything else in its place is damage, and rejected as a term never issued.
fn token(bigint: i64) -> fencing_core::Token {
    fencing_core::Token::from_bigint(bigint).unwrap_or_else(|| {
        use fencing_core::{Code, Error};
        crate::pg::entry::throw(
            Error::new(Code::NotInPrerequisiteState, format!("stored token {bigint} is not a token"))
                .detail("The extension's tables were changed from outside."),
        )
    })
}
