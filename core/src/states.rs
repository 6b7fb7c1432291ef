//! The state table: what each call answers in each state of a lease, what becomes of the lease, and
//! what is recorded.
//!
//! It is data, so that nothing can disagree with it: docs/states.md is written from it, the tests of
//! this crate hold the rules against it, and those of the clusters every call of a real server.

use Call::*;

/// What may be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "named as they are in SQL")]
pub enum Call {
    Acquire,
    /// With the `request_id` that the token was granted to.
    AcquireAgain,
    Renew,
    RenewAll,
    Release,
    CheckToken,
    Inspect,
    /// Into a guarded table, under the token.
    Write,
    Revoke,
    RevokeWithGrace,
    RequestHandover,
    DropLease,
    Evict,
}

impl Call {
    /// As the documentation names it.
    pub fn name(self) -> &'static str {
        match self {
            Call::Acquire => "acquire",
            Call::AcquireAgain => "acquire, same request_id",
            Call::Renew => "renew",
            Call::RenewAll => "renew_all",
            Call::Release => "release",
            Call::CheckToken => "check_token",
            Call::Inspect => "inspect",
            Call::Write => "guarded write",
            Call::Revoke => "revoke",
            Call::RevokeWithGrace => "revoke, grace",
            Call::RequestHandover => "request_handover",
            Call::DropLease => "drop_lease",
            Call::Evict => "evict",
        }
    }
}

/// A state of a lease, seen by whoever has a token of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "described in the table")]
pub enum Name {
    NeverGranted,
    Held,
    HeldByAnotherRole,
    BeingChanged,
    Expired,
    ExpiredAccepting,
    Superseded,
    Blocked,
    CoolingDown,
    Released,
    ReleasedEphemeral,
    MinHold,
    Revoking,
    RevocationDue,
    Revoked,
    SessionLost,
    SessionCrashed,
    Deleted,
    EpochClosed,
    EpochLapsed,
    Closed,
}

/// What a call does in a state.
#[derive(Debug)]
pub struct Row {
    /// The call.
    pub call: Call,
    /// Its status, or the SQLSTATE of its error.
    pub answer: &'static str,
    /// What `check_token` and `inspect` say afterwards, where that changes.
    pub then: Option<(&'static str, &'static str)>,
    /// What is recorded: in the lease's terms and its row, or as an event.
    pub records: &'static [&'static str],
}

/// A state.
#[derive(Debug)]
pub struct State {
    /// Which.
    pub name: Name,
    /// Its title.
    pub title: &'static str,
    /// How a lease gets there.
    pub meaning: &'static str,
    /// What each call does in it.
    pub rows: &'static [Row],
}

impl State {
    /// What a call answers in it; `None` where the table leaves that open.
    pub fn answer(&self, call: Call) -> Option<&'static str> {
        self.rows.iter().find(|row| row.call == call).map(|row| row.answer)
    }
}

/// A call that changes nothing.
const fn says(call: Call, answer: &'static str) -> Row {
    Row { call, answer, then: None, records: &[] }
}

/// A call that records something and leaves the lease in its state.
const fn notes(call: Call, answer: &'static str, records: &'static [&'static str]) -> Row {
    Row { call, answer, then: None, records }
}

/// A call after which the token and the lease are something else.
const fn makes(
    call: Call,
    answer: &'static str,
    token: &'static str,
    lease: &'static str,
    records: &'static [&'static str],
) -> Row {
    Row { call, answer, then: Some((token, lease)), records }
}

/// What calls answer of a term that is over: `word`, as `check_token` says.
const fn over(word: &'static str, acquire: Row, inspect: &'static str, drop: Row) -> [Row; 13] {
    ended(word, acquire, "over", inspect, "LF003", drop)
}

/// The same of a term that an epoch has ended; what taking over or dropping the lease records.
const fn of_an_earlier_epoch(taken_over: &'static [&'static str], dropped: &'static [&'static str]) -> [Row; 13] {
    let acquire = makes(Acquire, "granted", "epoch_closed", "held", taken_over);
    let drop = makes(DropLease, "deleted", "epoch_closed", "free", dropped);
    ended("epoch_closed", acquire, "over", "free", "LF005", drop)
}

const fn ended(
    word: &'static str,
    acquire: Row,
    again: &'static str,
    inspect: &'static str,
    write: &'static str,
    drop: Row,
) -> [Row; 13] {
    [
        acquire,
        says(AcquireAgain, again),
        says(Renew, word),
        says(RenewAll, word),
        says(Release, word),
        says(CheckToken, word),
        says(Inspect, inspect),
        says(Write, write),
        says(Revoke, "not_held"),
        says(RevokeWithGrace, "not_held"),
        says(RequestHandover, "false"),
        drop,
        says(Evict, "nobody"),
    ]
}

const DROPPED_WITH_EPOCH: &[&str] = &["term.end_reason = epoch_closed", "event lease_dropped"];
const HANDOVER: &[&str] = &["lease.handover_requested", "event handover_requested"];
const ANNOUNCED: &[&str] =
    &["lease.revoke_at", "lease.handover_requested", "term.ended_by", "event revocation_announced"];

/// Every state.
pub const STATES: &[State] = &[
    State {
        name: Name::NeverGranted,
        title: "never granted",
        meaning: "Nobody has ever asked for the lease; the token was never issued.",
        rows: &[
            makes(Acquire, "granted", "unknown", "held", &["term"]),
            makes(AcquireAgain, "granted", "unknown", "held", &["term"]),
            says(Renew, "unknown"),
            says(RenewAll, "unknown"),
            says(Release, "unknown"),
            says(CheckToken, "unknown"),
            says(Inspect, "free"),
            says(Write, "LF004"),
            says(Revoke, "not_held"),
            says(RevokeWithGrace, "not_held"),
            says(RequestHandover, "false"),
            says(DropLease, "unknown"),
            says(Evict, "nobody"),
        ],
    },
    State {
        name: Name::Held,
        title: "held",
        meaning: "The token's term is current.",
        rows: &[
            says(Acquire, "held"),
            says(AcquireAgain, "granted"),
            notes(Renew, "renewed", &["lease.renewed_at"]),
            notes(RenewAll, "renewed", &["lease.renewed_at"]),
            makes(Release, "released", "released", "free", &["term.end_reason = released"]),
            says(CheckToken, "current"),
            says(Inspect, "held"),
            says(Write, "accepted"),
            makes(Revoke, "revoked", "revoked", "free", &["term.end_reason = revoked", "event revoked"]),
            notes(RevokeWithGrace, "revoking", ANNOUNCED),
            notes(RequestHandover, "true", HANDOVER),
            makes(DropLease, "deleted", "deleted", "free", &["term.end_reason = deleted", "event lease_dropped"]),
            says(Evict, "55006"),
        ],
    },
    State {
        name: Name::HeldByAnotherRole,
        title: "held by another role",
        meaning: "The token is another role's; whoever calls may hold leases of the namespace, and no more.",
        rows: &[
            says(Acquire, "held"),
            says(AcquireAgain, "held"),
            says(Renew, "LF008"),
            says(RenewAll, "unknown"),
            says(Release, "LF008"),
            says(CheckToken, "current"),
            says(Inspect, "held"),
            says(Write, "LF008"),
            says(Revoke, "42501"),
            says(RevokeWithGrace, "42501"),
            notes(RequestHandover, "true", HANDOVER),
            says(DropLease, "42501"),
            says(Evict, "42501"),
        ],
    },
    State {
        name: Name::BeingChanged,
        title: "being changed",
        meaning: "Held; another session has renewed or released the term and not committed yet.",
        rows: &[
            says(Acquire, "held"),
            says(AcquireAgain, "granted"),
            says(Renew, "indeterminate"),
            says(RenewAll, "indeterminate"),
            says(Release, "indeterminate"),
            says(CheckToken, "current"),
            says(Inspect, "held"),
            says(Write, "accepted"),
            says(Revoke, "55P03"),
            says(RevokeWithGrace, "55P03"),
            says(RequestHandover, "55P03"),
            says(DropLease, "blocked"),
            says(Evict, "55006"),
        ],
    },
    State {
        name: Name::Expired,
        title: "expired",
        meaning: "The term has run out, and nobody has taken over.",
        rows: &over(
            "expired",
            makes(
                Acquire,
                "granted",
                "superseded",
                "held",
                &["term", "term.end_reason = expired", "term.superseded_by"],
            ),
            "expired",
            makes(DropLease, "deleted", "expired", "free", &["term.end_reason = expired", "event lease_dropped"]),
        ),
    },
    State {
        name: Name::ExpiredAccepting,
        title: "expired, accept_until_superseded",
        meaning: "As expired, where the namespace lets the last holder write until somebody takes over.",
        rows: &[
            makes(
                Acquire,
                "granted",
                "superseded",
                "held",
                &["term", "term.end_reason = expired", "term.superseded_by"],
            ),
            says(AcquireAgain, "over"),
            says(Renew, "expired"),
            says(RenewAll, "expired"),
            says(Release, "expired"),
            says(CheckToken, "expired"),
            says(Inspect, "expired"),
            says(Write, "accepted"),
            makes(Revoke, "revoked", "revoked", "free", &["term.end_reason = revoked", "event revoked"]),
            notes(RevokeWithGrace, "revoking", ANNOUNCED),
            says(RequestHandover, "false"),
            makes(DropLease, "deleted", "deleted", "free", &["term.end_reason = deleted", "event lease_dropped"]),
            says(Evict, "nobody"),
        ],
    },
    State {
        name: Name::Superseded,
        title: "superseded",
        meaning: "The term has run out, and the next one is current. What is asked of the lease is asked of that one.",
        rows: &[
            says(Acquire, "held"),
            says(AcquireAgain, "over"),
            says(Renew, "superseded"),
            says(RenewAll, "superseded"),
            says(Release, "superseded"),
            says(CheckToken, "superseded"),
            says(Inspect, "held"),
            says(Write, "LF001"),
            makes(Revoke, "revoked", "superseded", "free", &["term.end_reason = revoked", "event revoked"]),
            notes(RevokeWithGrace, "revoking", ANNOUNCED),
            notes(RequestHandover, "true", HANDOVER),
            makes(DropLease, "deleted", "superseded", "free", &["term.end_reason = deleted", "event lease_dropped"]),
            says(Evict, "55006"),
        ],
    },
    State {
        name: Name::Blocked,
        title: "expired, with an open writer",
        meaning: "As expired; a transaction that wrote under the term is still open.",
        rows: &[
            says(Acquire, "blocked"),
            says(AcquireAgain, "over"),
            says(Renew, "expired"),
            says(RenewAll, "expired"),
            says(Release, "expired"),
            says(CheckToken, "expired"),
            says(Inspect, "expired"),
            says(Write, "LF003"),
            says(Revoke, "not_held"),
            says(RevokeWithGrace, "not_held"),
            says(RequestHandover, "false"),
            says(DropLease, "blocked"),
            notes(Evict, "terminated", &["event eviction"]),
        ],
    },
    State {
        name: Name::CoolingDown,
        title: "cooling down after expiry",
        meaning: "As expired, within the namespace's cool_down.",
        rows: &over(
            "expired",
            says(Acquire, "cooling_down"),
            "cooling_down",
            makes(DropLease, "deleted", "expired", "free", &["term.end_reason = expired", "event lease_dropped"]),
        ),
    },
    State {
        name: Name::Released,
        title: "released",
        meaning: "Its holder gave the term back.",
        rows: &over(
            "released",
            makes(Acquire, "granted", "released", "held", &["term"]),
            "free",
            notes(DropLease, "deleted", &["event lease_dropped"]),
        ),
    },
    State {
        name: Name::ReleasedEphemeral,
        title: "released, ephemeral",
        meaning: "As released, in an ephemeral namespace: the lease's row has gone with the release.",
        rows: &over(
            "released",
            makes(Acquire, "granted", "released", "held", &["term"]),
            "free",
            says(DropLease, "unknown"),
        ),
    },
    State {
        name: Name::MinHold,
        title: "released within min_hold",
        meaning: "As released, before the namespace's min_hold has passed since the grant.",
        rows: &over(
            "released",
            says(Acquire, "cooling_down"),
            "cooling_down",
            makes(DropLease, "deleted", "released", "free", &["event lease_dropped"]),
        ),
    },
    State {
        name: Name::Revoking,
        title: "revoking",
        meaning: "Held; a revocation was announced, and its grace runs.",
        rows: &[
            says(Acquire, "held"),
            says(AcquireAgain, "granted"),
            notes(Renew, "renewed", &["lease.renewed_at"]),
            notes(RenewAll, "renewed", &["lease.renewed_at"]),
            makes(Release, "released", "released", "free", &["term.end_reason = released"]),
            says(CheckToken, "current"),
            says(Inspect, "held"),
            says(Write, "accepted"),
            makes(Revoke, "revoked", "revoked", "free", &["term.end_reason = revoked", "event revoked"]),
            notes(RevokeWithGrace, "revoking", &["event revocation_announced"]),
            says(RequestHandover, "true"),
            makes(DropLease, "deleted", "deleted", "free", &["term.end_reason = deleted", "event lease_dropped"]),
            says(Evict, "55006"),
        ],
    },
    State {
        name: Name::RevocationDue,
        title: "revoked by a grace that ran out",
        meaning: "The grace of an announced revocation has passed.",
        rows: &over(
            "revoked",
            makes(Acquire, "granted", "revoked", "held", &["term", "term.end_reason = revoked", "term.superseded_by"]),
            "free",
            notes(DropLease, "deleted", &["term.end_reason = revoked", "event lease_dropped"]),
        ),
    },
    State {
        name: Name::Revoked,
        title: "revoked",
        meaning: "An administrator took the term away.",
        rows: &over(
            "revoked",
            makes(Acquire, "granted", "revoked", "held", &["term"]),
            "free",
            notes(DropLease, "deleted", &["event lease_dropped"]),
        ),
    },
    State {
        name: Name::SessionLost,
        title: "session lost",
        meaning: "The backend that the term was bound to is gone, before the term ran out.",
        rows: &over(
            "session_lost",
            makes(Acquire, "granted", "session_lost", "held", &["term"]),
            "free",
            notes(DropLease, "deleted", &["event lease_dropped"]),
        ),
    },
    State {
        name: Name::SessionCrashed,
        title: "session lost, not recorded",
        meaning: "As session lost, where the backend had no time to record its end.",
        rows: &over(
            "session_lost",
            makes(
                Acquire,
                "granted",
                "session_lost",
                "held",
                &["term", "term.end_reason = session_lost", "term.superseded_by"],
            ),
            "free",
            notes(DropLease, "deleted", &["term.end_reason = session_lost", "event lease_dropped"]),
        ),
    },
    State {
        name: Name::Deleted,
        title: "deleted",
        meaning: "The lease was dropped while the term was held.",
        rows: &over(
            "deleted",
            makes(Acquire, "granted", "deleted", "held", &["term"]),
            "free",
            says(DropLease, "unknown"),
        ),
    },
    State {
        name: Name::EpochClosed,
        title: "of an earlier epoch",
        meaning: "The term was held when another epoch was opened.",
        rows: &of_an_earlier_epoch(
            &["term", "term.end_reason = epoch_closed", "term.superseded_by"],
            DROPPED_WITH_EPOCH,
        ),
    },
    State {
        name: Name::EpochLapsed,
        title: "expired in an earlier epoch",
        meaning: "As of an earlier epoch; the term had run out before, and nobody had taken over.",
        rows: &of_an_earlier_epoch(
            &["term", "term.end_reason = expired", "term.superseded_by"],
            &["term.end_reason = expired", "event lease_dropped"],
        ),
    },
    State {
        name: Name::Closed,
        title: "coordinator closed",
        meaning: "The term was held when the coordinator was closed: a transition to another epoch is under way.",
        rows: &ended(
            "epoch_closed",
            says(Acquire, "closed"),
            "closed",
            "closed",
            "LF007",
            makes(DropLease, "deleted", "epoch_closed", "closed", DROPPED_WITH_EPOCH),
        ),
    },
];

#[cfg(test)]
#[path = "states_tests.rs"]
mod tests;
