//! What an operator does: revoke, and lead a database from one epoch to the next.

use crate::measures::Measure;
use crate::protocol::Protocol;
use crate::state::{Server, State, Tok, at, tick};
use fencing_core::admission::{Case, Claim, MissingRule, Presented, Rejection, Verdict, admit};
use fencing_core::epoch::{Blocked, Coordinator, next_epoch, stride};
use fencing_core::lease::EndReason;

impl Protocol {
    /// Takes the lease away, at once or after a tick of grace.
    pub(crate) fn revoke(&self, s: &mut State, server: u8, grace: bool) -> Option<()> {
        let here = s.server(server)?;
        let record = self.record(here)?;
        let now = self.lease_time(s, here);
        let void = match self.coordinator(here) {
            Coordinator::Open(open) => record.token.epoch() != open,
            Coordinator::Closed => true,
            Coordinator::LineageChanged => false,
        };
        if void || self.heartbeat_is_taken(s, server) || !record.may_write(self.on_expiry(), now) {
            return None;
        }
        let row = s.server_mut(server)?.db.row.as_mut()?;
        let token = row.token;
        if grace {
            let revoke_at = (tick(now) + 1).min(row.revoke_at);
            if revoke_at == row.revoke_at {
                return None;
            }
            row.revoke_at = revoke_at;
        } else {
            (row.ended, row.ended_at) = (Some(EndReason::Revoked), tick(now));
            // The coordinator has spoken; whether the holder has heard it is another matter.
            s.distrust(token);
        }
        self.flush(s, server)
    }

    /// Whether the gate can be shut: nobody who has passed it is still open.
    fn gate_is_free(&self, s: &State, server: u8) -> bool {
        !self.gate_is_held(s, server) || self.without(Measure::DrainGate)
    }

    /// `begin_epoch_transition`
    pub(crate) fn begin_transition(&self, s: &mut State, server: u8) -> Option<()> {
        if s.left.epochs == 0 || !self.gate_is_free(s, server) || is_closing_here(s.server(server)?) {
            return None;
        }
        let here = s.server_mut(server)?;
        (here.db.closing, here.db.closing_on) = (true, here.lineage);
        self.void(s, server);
        self.flush(s, server)
    }

    /// `open_epoch`
    pub(crate) fn open_epoch(&self, s: &mut State, server: u8) -> Option<()> {
        if s.left.epochs == 0 || !self.gate_is_free(s, server) || !is_closing_here(s.server(server)?) {
            return None;
        }
        self.open(s, server)?;
        s.server_mut(server)?.db.blocked = Some(Blocked::Install);
        self.flush(s, server)
    }

    /// `advance_epoch`
    pub(crate) fn advance_epoch(&self, s: &mut State, server: u8) -> Option<()> {
        if s.left.epochs == 0 || !self.gate_is_free(s, server) {
            return None;
        }
        self.open(s, server)?;
        s.server_mut(server)?.db.blocked = None;
        self.flush(s, server)
    }

    fn open(&self, s: &mut State, server: u8) -> Option<()> {
        s.left.epochs = s.left.epochs.checked_sub(1)?;
        let next = next_epoch(at(s.clock), Some(i64::from(s.server(server)?.db.epoch)), None, false).ok()?;
        let elsewhere = s.server(1 - server).is_some_and(|other| i64::from(other.db.epoch) == next);
        if elsewhere && !self.config.same_minute {
            return None;
        }
        self.void(s, server);
        let here = s.server_mut(server)?;
        let db = &mut here.db;
        if !self.without(Measure::NewEpoch) {
            db.epoch = next as u8;
        }
        (db.closing, db.closing_on, db.lineage) = (false, 0, here.lineage);
        if !self.without(Measure::Stride) {
            // At random, which the model takes to be: differently on each server.
            db.seq += stride(u64::from(here.lineage) << 16) as u32;
        }
        here.settled = true;
        here.sealed = here.sealed.max(Tok::new(next as u8, 0));
        Some(())
    }

    /// Every term of the database is void; whoever relies on one may go on believing it.
    fn void(&self, s: &mut State, server: u8) {
        let connected = s.clients.iter_mut().flatten().filter(|client| client.server == server);
        connected.for_each(|client| client.trust = 0);
    }

    /// The next of `install_local`, `prove_epoch` and `resume`, each behind the gate.
    pub(crate) fn next_installation(&self, s: &mut State, server: u8) -> Option<()> {
        let Coordinator::Open(_) = self.coordinator(s.server(server)?) else { return None };
        let next = match s.server(server)?.db.blocked? {
            Blocked::Install => Some(Blocked::Prove),
            Blocked::Prove if self.rejects_older_epoch(s, server)? => Some(Blocked::Resume),
            Blocked::Prove => return None,
            Blocked::Resume => None,
        };
        s.server_mut(server)?.db.blocked = next;
        self.flush(s, server)
    }

    /// The proof: what the guard says of a holder that has not heard of the new epoch.
    fn rejects_older_epoch(&self, s: &State, server: u8) -> Option<bool> {
        let here = s.server(server)?;
        let mut coordinator = self.coordinator(here);
        let (claim, fence) = Claim::of_older_epoch(here.db.fence.token(), coordinator)?;
        if self.without(Measure::Epoch) {
            coordinator = Coordinator::Open(fence.epoch());
        }
        let verdict = admit(&Case {
            coordinator,
            blocked: None,
            presented: Presented::Own(claim),
            fence: Some(fence),
            on_missing: MissingRule::Reject,
            on_expiry: self.on_expiry(),
            now: at(s.clock),
        });
        Some(matches!(verdict, Verdict::Rejected(Rejection::Epoch { .. })))
    }
}

fn is_closing_here(here: &Server) -> bool {
    here.db.closing && here.db.closing_on == here.lineage
}
