//! The table of errors: every SQLSTATE that `fencing` raises, with its name and its hint.
//!
//! Class `LF` is the extension's own. None of it is in class 40: frameworks retry 40001 by
//! themselves, and a stale writer must not be retried. Misuse keeps PostgreSQL's standard codes.

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $sqlstate:literal, $name:literal, $hint:expr;)*) => {
        /// What went wrong.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Code { $($(#[$doc])* $variant,)* }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The five characters that a client sees.
            pub fn sqlstate(self) -> &'static str {
                match self { $(Code::$variant => $sqlstate,)* }
            }

            /// Its SQLSTATE as PostgreSQL packs it: six bits a character, the first one lowest.
            pub fn packed_sqlstate(self) -> i32 {
                self.sqlstate().bytes().rev().fold(0, |packed, b| packed << 6 | (i32::from(b) - 0x30) & 0x3f)
            }

            /// The condition's name.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// What to do next, where the same advice fits every case of the code.
            pub fn hint(self) -> Option<&'static str> {
                match self { $(Code::$variant => $hint,)* }
            }
        }
    };
}

codes! {
    /// Older than the highest accepted term.
    StaleTerm = "LF001", "stale_term",
        Some("Another holder has taken over. Stop this work; do not retry it under this token. Acquire the lease again to continue.");
    /// A guarded write presented no token.
    MissingToken = "LF002", "missing_token",
        Some("Present the token of a term that you hold: SELECT fencing.present(token) in the same transaction, or assign it to the guard's inline column if it has one.");
    /// Current no more: expired, released, revoked, deleted, session lost.
    TermEnded = "LF003", "term_ended",
        Some("The term is over, whether or not anybody took over. Stop this work and acquire the lease again to continue.");
    /// Never issued, above anything issued, or issued for another lease.
    UnknownTerm = "LF004", "unknown_term",
        Some("Present the token that fencing.acquire returned for this very lease.");
    /// Older or unknown epoch.
    EpochMismatch = "LF005", "epoch_mismatch",
        Some("The token belongs to another epoch and is void. Acquire the lease again.");
    /// Restored, cloned or promoted: an epoch must be opened first.
    LineageChanged = "LF006", "lineage_changed",
        Some("Once the prior effects are reconciled, a superuser or a member of fencing.epoch_authority opens an epoch: SELECT fencing.advance_epoch('reason').");
    /// An epoch transition is under way.
    CoordinatorClosed = "LF007", "coordinator_closed",
        Some("Wait for the epoch transition to end, then acquire the lease again.");
    /// Another role's token.
    NotAuthorizedForTerm = "LF008", "not_authorized_for_term",
        Some("Act as the role that acquired the term, or as a member of it.");
    /// The destination's kind forbids it.
    EffectRefused = "LF009", "effect_refused", None;
    /// Reconcile first.
    UnresolvedEffects = "LF010", "unresolved_effects", None;
    /// A terminal record exists.
    IntentClosed = "LF011", "intent_closed", None;
    /// Sequence or epoch at its maximum.
    TermsExhausted = "LF012", "terms_exhausted",
        Some("No further token can be ordered after the ones issued. An operator must open a new epoch.");
    /// Malformed, ambiguous or contradictory tokens.
    InvalidPresentation = "LF013", "invalid_presentation",
        Some("Present one token for each lease, as fencing.acquire returned it.");

    /// Worth a person's attention (a warning).
    Warning = "01000", "warning", None;
    /// A NULL where a value is needed.
    NullArgument = "22004", "null_value_not_allowed", None;
    /// A bad name, ttl, key or combination of arguments.
    InvalidParameter = "22023", "invalid_parameter_value", None;
    /// A clock too far from the last recorded time.
    DatetimeOverflow = "22008", "datetime_field_overflow", None;
    /// A NULL in a key column.
    NotNullViolation = "23502", "not_null_violation", None;
    /// Stored values where none may be.
    CheckViolation = "23514", "check_violation", None;
    /// `acquire` out of place.
    ActiveTransaction = "25001", "active_sql_transaction", None;
    /// A transaction that may not write, or a standby.
    ReadOnlyTransaction = "25006", "read_only_sql_transaction", None;
    /// No transaction block, where one is needed (a warning).
    NoActiveTransaction = "25P01", "no_active_sql_transaction", None;
    /// Dependents exist.
    DependentObjects = "2BP01", "dependent_objects_still_exist", None;
    /// The transaction's snapshot is older than the takeover: here a retry is right.
    SerializationFailure = "40001", "serialization_failure", None;
    /// Not permitted.
    InsufficientPrivilege = "42501", "insufficient_privilege", None;
    /// A default or a generated column where none may be.
    InvalidColumnDefinition = "42611", "invalid_column_definition", None;
    /// No such column.
    UndefinedColumn = "42703", "undefined_column", None;
    /// No such namespace, lease or guard.
    UndefinedObject = "42704", "undefined_object", None;
    /// A column of the wrong type.
    DatatypeMismatch = "42804", "datatype_mismatch", None;
    /// A view or another kind of relation.
    WrongObjectType = "42809", "wrong_object_type", None;
    /// Exists already.
    DuplicateObject = "42710", "duplicate_object", None;
    /// Not possible here.
    FeatureNotSupported = "0A000", "feature_not_supported", None;
    /// The library and the database's own tables disagree.
    NotInPrerequisiteState = "55000", "object_not_in_prerequisite_state", None;
    /// A lease is held, where that is in the way.
    ObjectInUse = "55006", "object_in_use", None;
    /// A lock was not to be had in time.
    LockNotAvailable = "55P03", "lock_not_available", None;
}

/// An error for the client: code, message, and whole sentences of detail and hint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {message}", code.sqlstate())]
pub struct Error {
    /// Its SQLSTATE.
    pub code: Code,
    /// Primary message: lower-case, no full stop.
    pub message: String,
    /// What was seen.
    pub detail: Option<String>,
    /// What to do next.
    pub hint: Option<String>,
}

impl Error {
    /// An error with the hint that the table has for its code.
    #[cold]
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), detail: None, hint: code.hint().map(str::to_owned) }
    }

    /// Sets DETAIL.
    pub fn detail(mut self, detail: impl Into<String>) -> Error {
        self.detail = Some(detail.into());
        self
    }

    /// Sets HINT, in place of the table's.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// Leaves HINT out.
    pub fn without_hint(mut self) -> Error {
        self.hint = None;
        self
    }

    /// A NULL for an argument that needs a value (`22004`).
    pub fn null(argument: &str) -> Error {
        Error::new(Code::NullArgument, format!("argument \"{argument}\" must not be null"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn sqlstates_are_distinct_and_well_formed() {
        let mut seen = HashSet::new();
        for code in Code::ALL {
            let state = code.sqlstate();
            assert_eq!(state.len(), 5);
            assert!(state.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()), "{state}");
            assert!(seen.insert(state), "{state} twice");
        }
    }

    #[test]
    fn sqlstates_are_packed_as_postgresql_does() {
        // ERRCODE_T_R_SERIALIZATION_FAILURE
        assert_eq!(Code::SerializationFailure.packed_sqlstate(), 16_777_220);
    }

    #[test]
    fn only_an_old_snapshot_invites_a_retry() {
        let retried: Vec<_> = Code::ALL.iter().filter(|c| c.sqlstate().starts_with("40")).collect();
        assert_eq!(retried, [&Code::SerializationFailure]);
    }

    #[test]
    fn the_class_is_numbered_without_a_gap() {
        let own: Vec<_> = Code::ALL.iter().map(|c| c.sqlstate()).filter(|s| s.starts_with("LF")).collect();
        let expected: Vec<_> = (1..=13).map(|n| format!("LF{n:03}")).collect();
        assert_eq!(own, expected);
    }

    #[test]
    fn hints_are_sentences() {
        for hint in Code::ALL.iter().filter_map(|c| c.hint()) {
            assert!(hint.starts_with(|c: char| c.is_ascii_uppercase()) && hint.ends_with('.'), "{hint}");
        }
    }
}
