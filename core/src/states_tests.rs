//! The rules hold what the state table says; the page shows it.

use super::*;
use crate::Token;
use crate::admission::{Case, Claim, MissingRule, Presented, Verdict, admit};
use crate::epoch::Coordinator;
use crate::lease::{
    EndReason, ExpiryRule, Grantability, NEVER, Policy, Record, Standing, Term, grantability, standing,
};
use crate::time::Instant;
use std::fmt::Write as _;

const EPOCH: i64 = 7;
const NOW: Instant = 1000;

/// What a server would have read in a state.
struct Scene {
    term: Option<Term>,
    lease: Option<Record>,
    policy: Policy,
    coordinator: Coordinator,
    /// Whether the caller is a member of the term's role.
    own: bool,
    /// Whether another session has the row open.
    busy: bool,
    /// Whether a writer is in the way of a takeover.
    writer: bool,
}

fn token(epoch: i64, seq: i64) -> Token {
    Token::new(epoch, seq).expect("a token")
}

fn held() -> Scene {
    let token = token(EPOCH, 1);
    let (acquired_at, expires_at) = (NOW - 10, NOW + 20);
    Scene {
        term: Some(Term { token, ended: None, superseded: false }),
        lease: Some(Record {
            token,
            ended: None,
            acquired_at,
            renewed_at: acquired_at,
            expires_at,
            ended_at: None,
            revoke_at: NEVER,
            session_gone: false,
            kept_until: Instant::MIN,
        }),
        policy: Policy { ttl: 30, max_ttl: 30, on_expiry: ExpiryRule::Reject, min_hold: 0, cool_down: 0 },
        coordinator: Coordinator::Open(EPOCH),
        own: true,
        busy: false,
        writer: false,
    }
}

impl Scene {
    fn policy(mut self, change: impl Fn(&mut Policy)) -> Scene {
        change(&mut self.policy);
        self
    }

    fn lease(mut self, change: impl Fn(&mut Record)) -> Scene {
        self.lease.iter_mut().for_each(change);
        self
    }

    fn expired(self) -> Scene {
        self.lease(|lease| lease.expires_at = NOW - 1)
    }

    fn ended(mut self, reason: EndReason) -> Scene {
        self.term = self.term.map(|term| Term { ended: Some(reason), ..term });
        self.lease(|lease| (lease.ended, lease.ended_at) = (Some(reason), Some(NOW - 1)))
    }

    fn without_lease(self) -> Scene {
        Scene { lease: None, ..self }
    }

    /// The number of the open epoch; 0 where there is none.
    fn open(&self) -> i64 {
        if let Coordinator::Open(epoch) = self.coordinator { epoch } else { 0 }
    }

    /// How the lease's term has ended, recorded or not.
    fn end(&self) -> Option<EndReason> {
        let lease = self.lease?;
        if lease.token.epoch() == self.open() { lease.end(NOW) } else { Some(lease.end_with_epoch(NOW - 1).0) }
    }

    /// As a grant leaves it: what became of the old term is recorded.
    fn taken_over(mut self) -> Scene {
        let (end, open) = (self.end(), self.open());
        let superseded = |term: &Term| term.token.epoch() == open;
        self.term = self.term.map(|term| Term { ended: term.ended.or(end), superseded: superseded(&term), ..term });
        let next = Record { token: token(open, 2), ..held().lease.expect("a lease") };
        Scene { lease: Some(next), ..self }
    }
}

fn scene(name: Name) -> Scene {
    let held = held();
    match name {
        Name::NeverGranted => Scene { term: None, ..held.without_lease() },
        Name::Held => held,
        Name::HeldByAnotherRole => Scene { own: false, ..held },
        Name::BeingChanged => Scene { busy: true, ..held },
        Name::Expired => held.expired(),
        Name::ExpiredAccepting => held.expired().policy(|p| p.on_expiry = ExpiryRule::AcceptUntilSuperseded),
        Name::Superseded => held.expired().taken_over(),
        Name::Blocked => Scene { writer: true, ..held.expired() },
        Name::CoolingDown => held.expired().policy(|p| p.cool_down = 10),
        Name::Released => held.ended(EndReason::Released),
        Name::ReleasedEphemeral => held.ended(EndReason::Released).without_lease(),
        Name::MinHold => held.ended(EndReason::Released).policy(|p| p.min_hold = 100),
        Name::Revoking => held.lease(|lease| (lease.revoke_at, lease.expires_at) = (NOW + 5, NOW + 5)),
        Name::RevocationDue => held.lease(|lease| (lease.revoke_at, lease.expires_at) = (NOW - 5, NOW - 5)),
        Name::Revoked => held.ended(EndReason::Revoked),
        Name::SessionLost => held.ended(EndReason::SessionLost),
        Name::SessionCrashed => held.lease(|lease| lease.session_gone = true),
        Name::Deleted => held.ended(EndReason::Deleted).without_lease(),
        Name::EpochClosed => Scene { coordinator: Coordinator::Open(EPOCH + 1), ..held },
        Name::EpochLapsed => Scene { coordinator: Coordinator::Open(EPOCH + 1), ..held.expired() },
        Name::Closed => Scene { coordinator: Coordinator::Closed, ..held },
    }
}

fn standing_in(scene: &Scene) -> Standing {
    standing(scene.term.as_ref(), scene.lease.as_ref(), scene.open(), NOW)
}

/// What the rules answer; `None` for calls that no rule of this crate decides.
fn answer(scene: &Scene, call: Call) -> Option<&'static str> {
    let standing = standing_in(scene);
    let current = standing == Standing::Current;
    let grantability = grantability(scene.lease.as_ref(), &scene.policy, scene.open(), NOW);
    let closed = scene.coordinator == Coordinator::Closed;
    let own_epoch = scene.lease.is_some_and(|lease| lease.token.epoch() == scene.open());
    Some(match call {
        Acquire | AcquireAgain if closed => "closed",
        AcquireAgain if scene.term.is_some() && scene.own => {
            if current {
                "granted"
            } else {
                "over"
            }
        }
        Acquire | AcquireAgain => match grantability {
            Grantability::Grantable if scene.writer => "blocked",
            Grantability::Grantable => "granted",
            Grantability::Held { .. } => "held",
            Grantability::CoolingDown { .. } => "cooling_down",
        },
        Renew | Release if !scene.own => "LF008",
        RenewAll if !scene.own => "unknown",
        Renew | RenewAll | Release if current && scene.busy => "indeterminate",
        Renew | RenewAll if current => "renewed",
        Release if current => "released",
        Renew | RenewAll | Release | CheckToken => standing.as_str(),
        Inspect if closed => "closed",
        Inspect => match grantability {
            Grantability::Held { .. } => "held",
            Grantability::CoolingDown { .. } => "cooling_down",
            Grantability::Grantable if own_epoch && scene.end() == Some(EndReason::Expired) => "expired",
            Grantability::Grantable => "free",
        },
        Write => match admit(&case(scene)) {
            Verdict::Accepted(_) => "accepted",
            Verdict::Admitted => "admitted",
            Verdict::Rejected(why) => why.error("a", None).code.sqlstate(),
        },
        _ => return None,
    })
}

fn case(scene: &Scene) -> Case {
    let latest = scene.lease.map(|lease| lease.token).or(scene.term.map(|term| term.token));
    let presented = match scene.term {
        None => Presented::Foreign(1),
        Some(term) => {
            let own = scene.lease.filter(|lease| lease.token == term.token);
            Presented::Own(Claim {
                token: term.token,
                role_permitted: scene.own,
                ended: own.map_or(term.ended.or(Some(EndReason::Deleted)), |lease| {
                    lease.end_for_writers(scene.policy.on_expiry, NOW)
                }),
                expires_at: own.map_or(0, |lease| lease.expires_at),
                takeover_visible: true,
            })
        }
    };
    Case {
        coordinator: scene.coordinator,
        blocked: None,
        presented,
        fence: latest,
        on_missing: MissingRule::Reject,
        on_expiry: scene.policy.on_expiry,
        now: NOW,
    }
}

#[test]
fn the_rules_answer_what_the_table_says() {
    for state in STATES {
        let scene = scene(state.name);
        for row in state.rows {
            if let Some(answer) = answer(&scene, row.call) {
                assert_eq!(answer, row.answer, "{:?} in {:?}", row.call, state.name);
            }
        }
    }
}

#[test]
fn a_takeover_leaves_the_old_token_what_the_table_says() {
    for state in STATES {
        let granted = state.rows.iter().filter(|row| row.call == Acquire && row.answer == "granted");
        for row in granted {
            let scene = scene(state.name);
            let reason = scene.end();
            let unrecorded = reason.filter(|_| scene.term.is_some_and(|term| term.ended.is_none()));
            let recorded = row.records.iter().find_map(|r| r.strip_prefix("term.end_reason = "));
            assert_eq!(unrecorded.map(EndReason::as_str), recorded, "{:?}", state.name);
            let after = scene.taken_over();
            let then = (standing_in(&after).as_str(), answer(&after, Inspect).unwrap_or_default());
            assert_eq!(Some(then), row.then, "{:?}", state.name);
        }
    }
}

/// Every state has every call once, and in the same order.
#[test]
fn nothing_is_left_open() {
    let every: Vec<Call> = STATES[0].rows.iter().map(|row| row.call).collect();
    for state in STATES {
        let calls: Vec<Call> = state.rows.iter().map(|row| row.call).collect();
        assert_eq!(calls, every, "{:?}", state.name);
    }
}

/// docs/states.md below its introduction.
fn page() -> String {
    let calls: Vec<Call> = STATES[0].rows.iter().map(|row| row.call).collect();
    let mut out = String::new();
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let rule = |n: usize| format!("|{}\n", "---|".repeat(n));
    // Holders' calls, then everybody else's.
    for some in [&calls[..5], &calls[5..8], &calls[8..]] {
        let names: Vec<&str> = ["state"].into_iter().chain(some.iter().map(|call| call.name())).collect();
        out += &line(&names);
        out += &rule(names.len());
        for state in STATES {
            let answers = some.iter().map(|call| state.answer(*call).unwrap_or("–"));
            out += &line(&[state.title].into_iter().chain(answers).collect::<Vec<_>>());
        }
        out += "\n";
    }
    for state in STATES {
        let _ = write!(out, "## {}\n\n{}\n\n", state.title, state.meaning);
        let changing: Vec<&Row> =
            state.rows.iter().filter(|row| row.then.is_some() || !row.records.is_empty()).collect();
        if changing.is_empty() {
            out += "No call changes anything.\n\n";
            continue;
        }
        out += &line(&["call", "answer", "then", "recorded"]);
        out += &rule(4);
        for row in changing {
            let then = row.then.map_or_else(String::new, |(token, lease)| format!("token {token}, lease {lease}"));
            let records: Vec<_> = row.records.iter().map(|record| format!("`{record}`")).collect();
            out += &line(&[row.call.name(), row.answer, &then, &records.join(", ")]);
        }
        out += "\n";
    }
    out.trim_end().to_owned() + "\n"
}

/// The page is written by this very test, if it is told to: `FENCING_WRITE_DOCS=1`.
#[test]
fn the_page_shows_the_table() {
    const MARK: &str = "<!-- What follows is made from core/src/states.rs by its tests. -->\n\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/states.md");
    let text = std::fs::read_to_string(path).expect("docs/states.md");
    let (introduction, shown) = text.split_once(MARK).expect("the mark");
    if std::env::var_os("FENCING_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{introduction}{MARK}{}", page())).expect("docs/states.md");
        return;
    }
    assert!(
        shown == page(),
        "docs/states.md is not what the table says: FENCING_WRITE_DOCS=1 cargo test -p fencing-core the_page"
    );
}
