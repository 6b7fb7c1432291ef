//! An `acquire`: look, lock, read and decide, draw, commit, answer.

use crate::measures::Measure;
use crate::protocol::Protocol;
use crate::state::{Client, NOBODY, Op, Row, Server, State, Step, Taking, Tok, Violation, at, span, tick};
use crate::writer::fresh_row;
use fencing_core::Token;
use fencing_core::epoch::{Coordinator, after_unclean_start};
use fencing_core::lease::{Grantability, grantability};
use fencing_core::time::{MINUTE, trust_for};

impl Protocol {
    /// Sends an `acquire`, which looks without locks. Whoever can't win leaves no trace.
    pub(crate) fn ask(&self, s: &mut State, client: u8, in_block: bool) -> Option<()> {
        let Client { server, op: Op::Idle, .. } = *s.client(client)? else { return None };
        if s.left.draws == 0 {
            return None;
        }
        self.grantable(s, s.server(server)?)?;
        let before = s.server(server)?.db.fence;
        let (sent, token) = (s.clock, Tok::NONE);
        let taking = Taking { step: Step::Looked, in_block, sent, waited: 0, now: 0, token, before };
        s.client_mut(client)?.op = Op::Taking(taking);
        Some(())
    }

    /// The open epoch and the lease's time, if it can be granted, by the rules.
    fn grantable(&self, s: &State, here: &Server) -> Option<(u8, u8)> {
        let Coordinator::Open(open) = self.coordinator(here) else { return None };
        let record = self.record(here);
        let now = self.lease_time(s, here);
        match grantability(record.as_ref(), &self.policy(), open, now) {
            Grantability::Grantable => Some((open as u8, tick(now))),
            Grantability::Held { .. } | Grantability::CoolingDown { .. } => None,
        }
    }

    pub(crate) fn take_step(&self, s: &mut State, client: u8) -> Option<()> {
        let Client { server, op: Op::Taking(mut t), .. } = *s.client(client)? else { return None };
        match t.step {
            Step::Looked if t.token == Tok::NONE && self.without(Measure::LockThenDraw) => {
                let (open, _) = self.grantable(s, s.server(server)?)?;
                t.token = self.draw(s, server, open, t.before)?;
                t.step = Step::DrawnFirst;
            }
            Step::Looked | Step::DrawnFirst => {
                let exclusive = !self.without(Measure::AcquireLocks);
                if exclusive && self.fence_is_held(s, server) || self.heartbeat_is_taken(s, server) {
                    return None;
                }
                t.step = Step::Locked;
            }
            Step::Locked => {
                let Some((open, now)) = self.grantable(s, s.server(server)?) else { return self.abort(s, client) };
                t.now = now;
                // What is read is the highest term that is committed, too.
                t.before = s.server(server)?.db.fence;
                if t.token == Tok::NONE {
                    t.token = Tok::new(open, 0);
                    t.step = Step::Decided;
                } else {
                    t.step = Step::Drawn;
                }
            }
            Step::Decided => match self.draw(s, server, t.token.epoch(), t.before) {
                Some(token) if self.is_above(s.server(server)?, token) => (t.token, t.step) = (token, Step::Drawn),
                _ => return self.abort(s, client),
            },
            Step::Drawn if t.in_block => {
                if !self.without(Measure::FlushDraw) {
                    self.flush(s, server)?;
                }
                self.tell(s, client, t.token)?;
                t.step = Step::Told;
            }
            Step::Drawn | Step::Told => {
                if !self.is_above(s.server(server)?, t.token) {
                    return self.abort(s, client);
                }
                self.commit_take(s, client, &t)?;
                t.step = Step::Committed;
            }
            Step::Committed => {
                if !t.in_block {
                    self.tell(s, client, t.token)?;
                }
                return self.answer(s, client, t.now, &t);
            }
        }
        s.client_mut(client)?.op = Op::Taking(t);
        Some(())
    }

    /// Draws a number under the issue lock; `None` where history was lost.
    fn draw(&self, s: &mut State, server: u8, open: u8, before: Tok) -> Option<Tok> {
        let started = s.started;
        s.left.draws = s.left.draws.checked_sub(1)?;
        let here = s.server_mut(server)?;
        let is_behind = |seq: u32| before > Tok::new(open, seq) && !self.without(Measure::SequenceBehind);
        if !here.settled && !self.without(Measure::MoveOn) && !is_behind(here.db.seq) {
            // At random, which the model takes to be: differently each time.
            let random = u64::from(started) << 16;
            here.db.seq = after_unclean_start(i64::from(here.db.seq), random) as u32;
            here.settled = true;
            here.disk = here.db;
        }
        if is_behind(here.db.seq) {
            return None;
        }
        here.db.seq += 1;
        // The rule for what no token can hold.
        let seq = i64::from(s.server(server)?.db.seq);
        Some(Tok::of(Token::new(i64::from(open), seq).ok()?))
    }

    /// Whether a number is above everything that the lease has seen.
    fn is_above(&self, here: &Server, token: Tok) -> bool {
        let row = here.db.row.map_or(Tok::NONE, |row| row.token);
        token > row.max(here.db.fence) || self.without(Measure::FenceAhead)
    }

    fn commit_take(&self, s: &mut State, client: u8, t: &Taking) -> Option<()> {
        let server = s.client(client)?.server;
        // Revoked is revoked, also where the holder has not heard of it.
        let previous = self.record(s.server(server)?);
        if let Some(revoked) = previous.filter(|record| record.ended_for_good(at(t.now)).is_some()) {
            s.distrust(Tok::of(revoked.token));
        }
        let relies = |other: &Client| other.server == server && other.trust > 0 && other.token != t.token;
        if s.clients.iter().flatten().any(relies) {
            s.violate(Violation::TwoHolders);
        }
        let durable = !self.without(Measure::DurableAcquire);
        let expires_at = t.now + self.config.ttl;
        let here = s.server_mut(server)?;
        let in_order = t.token > here.sealed;
        let asked_by = if t.in_block { NOBODY } else { client };
        here.db.row = Some(fresh_row(t.token, t.now, expires_at, asked_by));
        here.db.fence = t.token;
        here.sealed = here.sealed.max(t.token);
        if !in_order {
            s.violate(Violation::Order);
        }
        if durable {
            self.flush(s, server)?;
        }
        Some(())
    }

    /// The client is told the token.
    fn tell(&self, s: &mut State, client: u8, token: Tok) -> Option<()> {
        if !s.issue(token) {
            s.violate(Violation::Twice);
        }
        let client = s.client_mut(client)?;
        (client.token, client.trust) = (token, 0);
        Some(())
    }

    /// The client knows that the term is granted, and for how long it may rely on that.
    fn answer(&self, s: &mut State, client: u8, since: u8, t: &Taking) -> Option<()> {
        let server = s.client(client)?.server;
        let answered = |db: &mut crate::state::Db| {
            if let Some(row) = db.row.as_mut().filter(|row| row.token == t.token) {
                row.asked_by = NOBODY;
            }
        };
        let here = s.server_mut(server)?;
        answered(&mut here.db);
        answered(&mut here.disk);
        // What became of it while the answer was on its way is not known to the client.
        let open = !here.db.closing && here.db.epoch == t.token.epoch();
        let still = open && here.db.row.is_some_and(|row| row.token == t.token && row.ended.is_none());
        let trust = trust_for(at(since) + span(self.config.ttl), at(t.sent), span(self.config.ttl)) / MINUTE;
        let client = s.client_mut(client)?;
        client.trust = if still { (trust as u8).saturating_sub(t.waited) } else { 0 };
        client.op = Op::Idle;
        Some(())
    }

    /// The answer was lost: the client asks again with the same `request_id`, and is told the term that it
    /// was granted, if that is still current.
    pub(crate) fn ask_again(&self, s: &mut State, client: u8) -> Option<()> {
        let Client { server, op: Op::Idle, .. } = *s.client(client)? else { return None };
        let Row { token, renewed_at, asked_by, .. } = s.server(server)?.db.row?;
        if asked_by != client || !self.is_current(s, server, token) {
            return None;
        }
        self.tell(s, client, token)?;
        let taking =
            Taking { step: Step::Committed, in_block: false, sent: s.clock, waited: 0, now: 0, token, before: token };
        // It reads without a lock. Where the clock has jumped back, a takeover in flight may have seen the term
        // run out already: for how long it is to be relied on is not known then.
        let overtaken = self.fence_is_taken(s, server, client);
        self.answer(s, client, renewed_at, &taking)?;
        if overtaken {
            s.client_mut(client)?.trust = 0;
        }
        Some(())
    }
}
