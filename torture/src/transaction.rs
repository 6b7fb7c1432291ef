//! Transactions of several statements: one or more leases, any isolation, savepoints, pauses, the natural
//! last step (final write and release), two-phase commit.

use crate::client::{Client, Term, is_fence};
use crate::history::{Event, Kind, Status};
use crate::plan::{Form, Lease};
use crate::session::Failure;

/// The levels, by number.
const ISOLATION: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// A term in a transaction's hands, and the value that its row has there.
struct Used {
    term: Term,
    v: i64,
    over: bool,
}

/// How a statement of a transaction ended badly: with it the whole transaction.
type Step<T> = Result<T, Failure>;

impl Client<'_> {
    /// One of them, with up to three leases.
    pub(crate) fn transaction(&mut self) {
        let mut used: Vec<Used> = Vec::new();
        for _ in 0..=self.dice.below(3) {
            let Some(mut term) = self.take() else { break };
            match self.value(&mut term) {
                Some(v) if used.iter().all(|u| u.term.lease != term.lease) => used.push(Used { term, v, over: false }),
                _ => self.put(term),
            }
        }
        if used.is_empty() || !self.session.is_open() {
            return used.into_iter().for_each(|u| self.put(u.term));
        }
        // Everybody locks rows in the same order.
        used.sort_by_key(|u| u.term.lease);
        let isolation = [0, 0, 1, 2][self.dice.index(4)];
        let before: Vec<_> = used.iter().map(|u| u.v).collect();
        let result = self.all_of_it(&mut used, isolation);
        let committed = matches!(result, Ok(true));
        for (mut u, before) in used.into_iter().zip(before) {
            match (&result, committed) {
                (_, true) => self.keep(&mut u.term, u.v),
                (Ok(_), _) => self.keep(&mut u.term, before),
                (Err(_), _) => u.term.v = None,
            }
            let lost_it = matches!(result, Err(Failure::Refused(state)) if is_fence(state) && self.dice.permille(500));
            if u.over || lost_it || u.term.v.is_none() && matches!(result, Err(Failure::Lost)) {
                self.dismiss(u.term);
            } else {
                self.put(u.term);
            }
        }
    }

    /// Whether it is committed.
    fn all_of_it(&mut self, used: &mut [Used], isolation: usize) -> Step<bool> {
        let op = self.begin_kind(Kind::Begin, Lease(0), 0, isolation as i64, 0);
        let sql = format!("BEGIN ISOLATION LEVEL {}", ISOLATION[isolation]);
        self.done(op, |client| client.session.run(&sql))?;
        match self.statements(used) {
            Ok(()) => {}
            Err(failure) => {
                if failure != Failure::Lost {
                    self.finish(Kind::Rollback, "ROLLBACK")?;
                }
                return Err(failure);
            }
        }
        match self.dice.below(100) {
            0..=7 => self.finish(Kind::Rollback, "ROLLBACK").map(|()| false),
            8..=15 => {
                used.iter_mut().for_each(|u| u.over = true);
                self.prepare().map(|()| false)
            }
            _ => self.finish(Kind::Commit, "COMMIT").map(|()| true),
        }
    }

    /// A transaction whose snapshot is older than the grant under which it writes.
    pub(crate) fn with_old_snapshot(&mut self) {
        let lease = self.any_lease();
        let isolation = 1 + self.dice.index(2);
        let op = self.begin_kind(Kind::Begin, Lease(0), 0, isolation as i64, 0);
        let sql = format!("BEGIN ISOLATION LEVEL {}", ISOLATION[isolation]);
        if self.done(op, |client| client.session.run(&sql)).is_err() {
            return;
        }
        let mut term = Term { lease, token: 0, v: None, left: 0 };
        let seen = self.value(&mut term);
        let acquired = seen.and_then(|v| self.acquire_beside(lease).map(|term| (v, term)));
        if let Some((v, term)) = acquired {
            let mut used = [Used { term, v, over: false }];
            let result = self.statements(&mut used);
            // Whatever it has come to, from now on it is a term like others.
            self.put(term);
            if result.is_ok() {
                let _ = self.finish(Kind::Commit, "COMMIT");
                return;
            }
        }
        if self.session.is_open() {
            let _ = self.finish(Kind::Rollback, "ROLLBACK");
        }
    }

    /// Runs something and records how it ended.
    fn done(&mut self, op: u64, body: impl FnOnce(&mut Self) -> Step<()>) -> Step<()> {
        let result = body(self);
        match result {
            Ok(()) => self.note(&Event::answer(op, Status::Done)),
            Err(failure) => self.failed(op, failure),
        }
        result
    }

    fn finish(&mut self, kind: Kind, sql: &str) -> Step<()> {
        let op = self.begin_kind(kind, Lease(0), 0, 0, 0);
        let result = self.done(op, |client| client.session.run(sql));
        if kind == Kind::Commit && result.is_err() && self.session.is_open() {
            self.session.run("ROLLBACK")?;
        }
        result
    }

    /// Somebody else will finish it.
    fn prepare(&mut self) -> Step<()> {
        let op = self.begin_kind(Kind::Prepare, Lease(0), 0, 0, 0);
        self.done(op, |client| client.session.run(&format!("PREPARE TRANSACTION '{op}'")))
    }

    /// Presented within a savepoint that is rolled back: presented no more.
    fn presented_in_vain(&mut self, u: &Used) -> Step<()> {
        let present = format!("SELECT {}.present({})", self.shared.schema, u.term.token);
        self.session.run(&format!("SAVEPOINT s; {present}; ROLLBACK TO s"))?;
        let op = self.begin_kind(Kind::Write, u.term.lease, 0, -1, 0);
        self.count(1);
        let term = Term { token: 0, ..u.term };
        self.done(op, |client| client.statement(term, -1, op))
    }

    fn statements(&mut self, used: &mut [Used]) -> Step<()> {
        if self.shared.guarded && used[0].term.lease.form() != Form::Inline && self.dice.permille(10) {
            return self.presented_in_vain(&used[0]);
        }
        let tokens: Vec<_> = used.iter().map(|u| u.term.token).collect();
        let inline = used.iter().all(|u| u.term.lease.form() == Form::Inline) && self.dice.permille(500);
        // Presented late or early, once or one by one.
        if !inline || !self.shared.guarded {
            self.session.rows(&format!("SELECT {}.present_all($1)", self.shared.schema), &[&tokens])?;
        }
        for u in used.iter_mut() {
            for _ in 0..=self.dice.below(2) {
                if self.dice.permille(250) { self.in_savepoint(u)? } else { self.one_write(u)? }
            }
            if self.dice.permille(10) {
                self.think();
            }
        }
        if let Some(u) = used.last_mut().filter(|_| self.dice.permille(60)) {
            self.release_within(u)?;
        }
        Ok(())
    }

    fn one_write(&mut self, u: &mut Used) -> Step<()> {
        let op = self.begin_kind(Kind::Write, u.term.lease, u.term.token, u.v + 1, 0);
        self.count(1);
        let (term, v) = (u.term, u.v + 1);
        self.done(op, |client| client.statement(term, v, op))?;
        u.v = v;
        Ok(())
    }

    /// A savepoint, rolled back or released; after a rollback the locks that it took are gone, and the next
    /// write has to take them anew.
    fn in_savepoint(&mut self, u: &mut Used) -> Step<()> {
        let before = u.v;
        self.session.run("SAVEPOINT s")?;
        let mark = self.begin_kind(Kind::Undo, Lease(0), 0, 0, 0);
        let written = self.one_write(u);
        let undo = match written {
            Err(Failure::Lost) => return written,
            Err(Failure::Refused(_)) => true,
            Ok(()) => self.dice.permille(500),
        };
        if !undo {
            return self.session.run("RELEASE s");
        }
        let op = self.begin_kind(Kind::Undo, Lease(0), 0, mark as i64, 0);
        self.done(op, |client| client.session.run("ROLLBACK TO s; RELEASE s"))?;
        u.v = before;
        if written.is_ok() && self.dice.permille(60) {
            self.think();
        }
        if written.is_ok() && self.dice.permille(700) {
            self.one_write(u)?;
        }
        Ok(())
    }

    fn release_within(&mut self, u: &mut Used) -> Step<()> {
        let op = self.begin_kind(Kind::Release, u.term.lease, u.term.token, 1, 0);
        self.count(1);
        u.over = true;
        match self.session.rows(&format!("SELECT {}.release($1)", self.shared.schema), &[&u.term.token]) {
            Ok(rows) => {
                self.note(&Event::answer(op, Status::said(rows[0].get(0))));
                Ok(())
            }
            Err(failure) => {
                self.failed(op, failure);
                Err(failure)
            }
        }
    }
}
