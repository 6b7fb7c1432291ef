//! A writer's transaction: gate, fence, read and judge, write, check before commit, commit.

use crate::config::Config;
use crate::measures::Measure;
use crate::protocol::Protocol;
use crate::state::{Admits, Client, NO_TICK, Op, Stage, State, Tok, Violation, Writing, at, tick};
use fencing_core::admission::{Case, Claim, MissingRule, Presented, Rejection, Verdict, admit, ended_before_commit};
use fencing_core::epoch::{Coordinator, plausible, stride};
use fencing_core::lease::{EndReason, ExpiryRule};
use fencing_core::time::coordinator_time;

/// How a transaction begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct How {
    /// With one snapshot for all statements.
    pub one_snapshot: bool,
    /// Inside a savepoint.
    pub savepoint: bool,
    /// With a token that it does not have: so many above the last one drawn. It may be granted to somebody
    /// meanwhile.
    pub guess: u8,
}

impl How {
    /// Every way in which a configuration's transactions begin.
    pub fn all(config: &Config, has_token: bool) -> impl Iterator<Item = How> {
        let guesses = if has_token { 0..=0 } else { 1..=if config.guesses { 2 } else { 0 } };
        let plain = How { one_snapshot: false, savepoint: false, guess: 0 };
        let snapshot = config.snapshots.then_some(How { one_snapshot: true, ..plain });
        let savepoint = config.savepoints.then_some(How { savepoint: true, ..plain });
        guesses.flat_map(move |guess| {
            // An old snapshot meets a new token where a worker's other session gets that.
            let special = [snapshot, savepoint.filter(|_| guess == 0)].into_iter().flatten();
            std::iter::once(plain).chain(special).map(move |how| How { guess, ..how })
        })
    }
}

impl Protocol {
    pub(crate) fn begin(&self, s: &mut State, client: u8, how: How) -> Option<()> {
        let Client { server, token, op: Op::Idle, .. } = *s.client(client)? else { return None };
        let db = &s.server(server)?.db;
        let guessed = Tok::new(db.epoch, db.seq + u32::from(how.guess));
        let writing = Writing {
            stage: Stage::Begun,
            token: if how.guess > 0 { guessed } else { token },
            admits: Admits::Closed,
            snapshot: how.one_snapshot.then_some(db.fence),
            savepoint: how.savepoint,
            gate: false,
            fence: false,
            releases: false,
            ended: false,
        };
        // A number that is made up may be passed over: it counts as drawn.
        s.left.draws = s.left.draws.checked_sub(u8::from(how.guess > 0))?;
        s.client_mut(client)?.op = Op::Writing(writing);
        Some(())
    }

    pub(crate) fn write_step(&self, s: &mut State, client: u8) -> Option<()> {
        let Client { server, op: Op::Writing(mut w), .. } = *s.client(client)? else { return None };
        match w.stage {
            Stage::Begun => {
                w.admits = self.admits(s.server(server)?);
                (w.gate, w.stage) = (true, Stage::Gated);
            }
            Stage::Gated if self.without(Measure::LockThenRead) => match self.verdict(s, server, &w)? {
                Verdict::Accepted(_) => w.stage = Stage::JudgedFirst,
                verdict => return self.rejected(s, client, w, verdict),
            },
            Stage::Gated | Stage::JudgedFirst => {
                w.fence = !self.without(Measure::WriterLocks);
                if w.fence && self.fence_is_taken(s, server, client) {
                    return None;
                }
                w.stage = if w.stage == Stage::Gated { Stage::Locked } else { Stage::Written };
            }
            Stage::Locked => match self.verdict(s, server, &w)? {
                Verdict::Accepted(_) => w.stage = Stage::Written,
                verdict => return self.rejected(s, client, w, verdict),
            },
            Stage::Written => {
                if !w.fence && !self.without(Measure::RequireLock) {
                    return self.abort(s, client);
                }
                let over = self.end_before_commit(s, server, &w).is_some();
                if over && !self.without(Measure::Recheck) {
                    return self.abort(s, client);
                }
                (w.ended, w.stage) = (over, Stage::Ready);
            }
            Stage::Ready | Stage::Prepared => return self.commit_write(s, client, w),
            Stage::Burning(last) => {
                self.pass_over(s, server, last, w.token)?;
                return self.abort(s, client);
            }
        }
        s.client_mut(client)?.op = Op::Writing(w);
        Some(())
    }

    /// What the guard says of the write, by the rules.
    pub(crate) fn verdict(&self, s: &State, server: u8, w: &Writing) -> Option<Verdict> {
        let here = s.server(server)?;
        let (fence, token) = (here.db.fence.token(), w.token.token()?);
        let on_expiry = if self.without(Measure::Ended) { ExpiryRule::AcceptUntilSuperseded } else { self.on_expiry() };
        let coordinator = match (w.admits, fence) {
            (Admits::Epoch(_), Some(fence)) if self.without(Measure::Epoch) => Coordinator::Open(fence.epoch()),
            (admits, _) => of_admits(admits),
        };
        let now = at(s.clock);
        let takeover_visible =
            self.without(Measure::OldSnapshot) || w.snapshot.is_none_or(|seen| seen == here.db.fence);
        let claim = Claim {
            token,
            role_permitted: true,
            // Its lease's row is gone, or another term's.
            ended: Some(EndReason::Deleted),
            expires_at: 0,
            takeover_visible,
        };
        let claim = match self.record(here).filter(|record| record.token == token) {
            Some(record) => {
                let ended = record.end_for_writers(on_expiry, now).filter(|_| !self.without(Measure::Ended));
                Claim { ended, expires_at: record.expires_at, ..claim }
            }
            None => claim,
        };
        Some(admit(&Case {
            coordinator,
            blocked: here.db.blocked.filter(|_| !self.without(Measure::Blocked)),
            presented: Presented::Own(claim),
            fence,
            on_missing: MissingRule::Reject,
            on_expiry,
            now,
        }))
    }

    /// The transaction fails. A token that was never drawn is passed over.
    fn rejected(&self, s: &mut State, client: u8, mut w: Writing, verdict: Verdict) -> Option<()> {
        let server = s.client(client)?.server;
        let db = s.server(server)?.db;
        let open = of_admits(w.admits) == Coordinator::Open(i64::from(w.token.epoch()));
        if matches!(verdict, Verdict::Rejected(Rejection::Unknown(_)))
            && open
            && w.token.seq() > db.seq
            && plausible(i64::from(w.token.seq()), 0, at(0), at(s.clock))
        {
            if self.without(Measure::IssueLock) {
                // `renew` of such a token does the same, and holds no fence.
                (w.stage, w.gate, w.fence) = (Stage::Burning(db.seq), false, false);
                s.client_mut(client)?.op = Op::Writing(w);
                return Some(());
            }
            self.pass_over(s, server, db.seq, w.token)?;
        }
        self.abort(s, client)
    }

    /// Passes over a number and more, durably, by whoever found the sequence at `last`.
    fn pass_over(&self, s: &mut State, server: u8, last: u32, token: Tok) -> Option<()> {
        let server = s.server_mut(server)?;
        if last < token.seq() {
            // At random, as for an epoch.
            let more = if self.without(Measure::Beyond) { 0 } else { stride(u64::from(server.lineage) << 16) };
            server.db.seq = token.seq() + more as u32;
            server.disk = server.db;
        }
        Some(())
    }

    /// Why the transaction must not commit, by the rules.
    fn end_before_commit(&self, s: &State, server: u8, w: &Writing) -> Option<Rejection> {
        let record = self.record(s.server(server)?);
        ended_before_commit(w.token.token()?, record.as_ref(), w.releases, self.on_expiry(), at(s.clock))
    }

    fn commit_write(&self, s: &mut State, client: u8, w: Writing) -> Option<()> {
        let server = s.client(client)?.server;
        let Protocol { config, .. } = self;
        let here = *s.server(server)?;
        if w.token < Tok::new(here.sealed.epoch(), 0) {
            s.violate(Violation::OlderEpoch);
        } else if w.token < here.sealed {
            s.violate(Violation::Stale);
        }
        if w.ended {
            s.violate(Violation::Ended);
        }
        if here.db.blocked.is_some() {
            s.violate(Violation::Blocked);
        }
        if w.snapshot.is_some_and(|seen| seen < w.token) {
            s.violate(Violation::OldSnapshot);
        }
        let clock = s.clock;
        let db = &mut s.server_mut(server)?.db;
        if w.releases
            && let Some(row) = &mut db.row
        {
            if config.ephemeral {
                db.row = None;
            } else {
                row.ended = Some(EndReason::Released);
                row.ended_at = tick(coordinator_time(at(clock), Some(at(row.renewed_at))));
            }
            // Whoever made up that token has released it for its holder.
            s.distrust(w.token);
        }
        if w.stage == Stage::Prepared {
            self.flush(s, server)?;
        }
        s.client_mut(client)?.op = Op::Idle;
        Some(())
    }

    /// The savepoint is rolled back, with the locks that were taken in it; the transaction goes on and
    /// writes once more.
    pub(crate) fn roll_back_to(&self, s: &mut State, client: u8) -> Option<()> {
        let client = s.client_mut(client)?;
        let Op::Writing(w) = &mut client.op else { return None };
        if !w.savepoint || !matches!(w.stage, Stage::Gated | Stage::Locked | Stage::JudgedFirst | Stage::Written) {
            return None;
        }
        let remembered = w.stage == Stage::Written && self.without(Measure::Forget);
        w.stage = if remembered { Stage::Written } else { Stage::Begun };
        (w.savepoint, w.gate, w.fence) = (false, false, false);
        Some(())
    }

    /// The transaction releases its term after its last write.
    pub(crate) fn release_too(&self, s: &mut State, client: u8) -> Option<()> {
        let Client { server, op: Op::Writing(mut w), .. } = *s.client(client)? else { return None };
        let possible = w.stage == Stage::Written && !w.releases && !w.savepoint;
        if !possible || !self.is_current(s, server, w.token) || self.heartbeat_is_taken(s, server) {
            return None;
        }
        w.releases = true;
        let client = s.client_mut(client)?;
        (client.op, client.trust) = (Op::Writing(w), 0);
        Some(())
    }

    pub(crate) fn prepare(&self, s: &mut State, client: u8) -> Option<()> {
        let Client { server, op: Op::Writing(mut w), .. } = *s.client(client)? else { return None };
        if w.stage != Stage::Ready {
            return None;
        }
        w.stage = Stage::Prepared;
        s.client_mut(client)?.op = Op::Writing(w);
        self.flush(s, server)
    }
}

fn of_admits(admits: Admits) -> Coordinator {
    match admits {
        Admits::Epoch(epoch) => Coordinator::Open(i64::from(epoch)),
        Admits::LineageChanged => Coordinator::LineageChanged,
        Admits::Closed => Coordinator::Closed,
    }
}

/// A row as a grant leaves it.
pub(crate) fn fresh_row(token: Tok, now: u8, expires_at: u8, asked_by: u8) -> crate::state::Row {
    crate::state::Row {
        token,
        ended: None,
        renewed_at: now,
        expires_at,
        ended_at: NO_TICK,
        revoke_at: NO_TICK,
        asked_by,
    }
}
