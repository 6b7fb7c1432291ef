//! What happens to everybody: the clock moves, servers crash, copies come.

use crate::config::Copied;
use crate::protocol::Protocol;
use crate::state::{Client, Db, Op, Server, Stage, State, Tok, Writing};

impl Protocol {
    /// The clock moves on: by a tick as time passes, or by a jump.
    pub(crate) fn forward(&self, s: &mut State, by: u8) -> Option<()> {
        let longest = self.config.ttl;
        s.clock = s.clock.checked_add(by).filter(|clock| *clock <= self.config.last_tick)?;
        for client in s.clients.iter_mut().flatten() {
            client.trust = client.trust.saturating_sub(by);
            let waited = match &mut client.op {
                Op::Taking(t) => &mut t.waited,
                Op::Changing(c) => &mut c.waited,
                Op::Idle | Op::Writing(_) => continue,
            };
            *waited = (*waited + by).min(longest);
        }
        Some(())
    }

    /// The clock jumps back.
    pub(crate) fn back(&self, s: &mut State, by: u8) -> Option<()> {
        s.clock = s.clock.checked_sub(by).filter(|clock| *clock > 0)?;
        Some(())
    }

    /// What is committed is on disk.
    pub(crate) fn flush(&self, s: &mut State, server: u8) -> Option<()> {
        let here = s.server_mut(server)?;
        here.disk = here.db;
        Some(())
    }

    /// The server crashes and comes back at once: what was open is gone, unless it was prepared; so is
    /// what was not on disk.
    pub(crate) fn crash(&self, s: &mut State, server: u8) -> Option<()> {
        s.left.crashes = s.left.crashes.checked_sub(1)?;
        let survives = |op: &Op| matches!(op, Op::Writing(Writing { stage: Stage::Prepared, .. }));
        let here = s.server(server)?;
        self.start(s, server, here.disk, here.lineage, here.sealed, survives)
    }

    /// Starts a server uncleanly, with what is on its disk.
    fn start(
        &self,
        s: &mut State,
        server: u8,
        db: Db,
        lineage: u8,
        sealed: Tok,
        survives: impl Fn(&Op) -> bool,
    ) -> Option<()> {
        s.started += 1;
        let unclean_start = Some(s.clock);
        s.servers[server as usize] = Some(Server { lineage, db, disk: db, unclean_start, settled: false, sealed });
        let connected = s.clients.iter_mut().flatten().filter(|client| client.server == server);
        connected.filter(|client| !survives(&client.op)).for_each(|client| client.op = Op::Idle);
        Some(())
    }

    /// A backup is taken, or a standby falls behind.
    pub(crate) fn back_up(&self, s: &mut State) -> Option<()> {
        if s.left.copies == 0 || s.backup.is_some() {
            return None;
        }
        s.backup = Some(s.server(0)?.disk);
        Some(())
    }

    /// A copy takes the server's place, or its part. It takes a minute at least.
    pub(crate) fn copy(&self, s: &mut State, kind: Copied) -> Option<()> {
        let db = s.backup?;
        s.left.copies = s.left.copies.checked_sub(1)?;
        s.backup = None;
        let original = *s.server(0)?;
        let lineage = s.started + 1;
        // Nobody knows what a lost history promised.
        let forget = |client: &mut Client| client.trust = 0;
        match kind {
            Copied::Clone => {
                if s.servers[1].is_some() {
                    return None;
                }
                return self.start(s, 1, db, lineage, original.sealed, |_| false);
            }
            Copied::Backup | Copied::Standby => {
                self.forward(s, 1)?;
                self.start(s, 0, db, lineage, original.sealed, |_| false)?;
            }
            Copied::Snapshot => {
                self.forward(s, 1)?;
                let sealed = db.fence.max(Tok::new(db.epoch, 0));
                self.start(s, 0, db, original.lineage, sealed, |_| false)?;
            }
        }
        s.clients.iter_mut().flatten().for_each(forget);
        Some(())
    }

    /// A client connects to the other server, with the token that it has.
    pub(crate) fn switch(&self, s: &mut State, client: u8) -> Option<()> {
        let other = 1 - s.client(client)?.server;
        s.server(other)?;
        let client = s.client_mut(client)?;
        let Op::Idle = client.op else { return None };
        (client.server, client.trust) = (other, 0);
        Some(())
    }
}
