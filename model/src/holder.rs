//! What a holder does with its term besides writing: `renew` and `release`. Neither takes the fence.

use crate::protocol::Protocol;
use crate::state::{Changing, Client, Op, State, Tok, at, span, tick};
use fencing_core::epoch::Coordinator;
use fencing_core::lease::{EndReason, Standing, Term, standing};
use fencing_core::time::{MINUTE, trust_for};

impl Protocol {
    /// Whether a term is current, by the rules.
    pub(crate) fn is_current(&self, s: &State, server: u8, token: Tok) -> bool {
        let Some(here) = s.server(server) else { return false };
        let record = self.record(here);
        let ended = record.filter(|record| Some(record.token) == token.token()).and_then(|record| record.ended);
        let open = if let Coordinator::Open(open) = self.coordinator(here) { open } else { 0 };
        // A number that was never granted here has no term.
        let term = token.token().filter(|_| token <= here.db.fence);
        let term = term.map(|token| Term { token, ended, superseded: false });
        standing(term.as_ref(), record.as_ref(), open, self.lease_time(s, here)) == Standing::Current
    }

    /// Sends a `renew` or `release`, which locks the heartbeat, reads, and writes the row.
    pub(crate) fn change(&self, s: &mut State, client: u8, release: bool) -> Option<()> {
        let Client { server, token, op: Op::Idle, .. } = *s.client(client)? else { return None };
        if token == Tok::NONE || !self.is_current(s, server, token) || self.heartbeat_is_taken(s, server) {
            return None;
        }
        let here = s.server(server)?;
        let now = self.lease_time(s, here);
        let until = (now + span(self.config.ttl)).min(at(here.db.row?.revoke_at));
        let (sent, now, expires_at) = (s.clock, tick(now), tick(until));
        let client = s.client_mut(client)?;
        if release {
            client.trust = 0;
        }
        client.op = Op::Changing(Changing { release, sent, waited: 0, now, expires_at });
        Some(())
    }

    /// It commits, without waiting for the disk. Its answer may be lost.
    pub(crate) fn commit_change(&self, s: &mut State, client: u8, told: bool) -> Option<()> {
        let Client { server, op: Op::Changing(c), .. } = *s.client(client)? else { return None };
        if c.release && !told {
            return None;
        }
        let db = &mut s.server_mut(server)?.db;
        let row = db.row.as_mut()?;
        if !c.release {
            (row.renewed_at, row.expires_at) = (c.now, c.expires_at);
        } else if self.config.ephemeral {
            db.row = None;
        } else {
            (row.ended, row.ended_at) = (Some(EndReason::Released), c.now);
        }
        let client = s.client_mut(client)?;
        if !c.release && told {
            let length = at(c.expires_at) - at(c.now);
            let trust = (trust_for(at(c.expires_at), at(c.sent), length) / MINUTE) as u8;
            client.trust = trust.saturating_sub(c.waited);
        }
        client.op = Op::Idle;
        Some(())
    }
}
