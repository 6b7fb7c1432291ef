//! What happens to clients and server in a round.

use crate::dice::Dice;
use crate::history::{self, Event, Kind, Recorder, Status};
use crate::plan::{TTL, WORKERS};
use crate::session::{Failure, Session};
use crate::worker::{Orders, Worker};
use fencing_tests::cluster::{Stop, send};
use fencing_tests::{Cluster, Sql};
use postgres::NoTls;
use rustix::process::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Its number among the clients.
pub const CLIENT: u16 = 100;
const SECOND: u64 = 1_000_000_000;

/// How often each was done.
#[derive(Debug, Default, Clone, Copy)]
pub struct Done {
    /// Processes stopped and continued.
    pub pauses: u64,
    /// Client processes killed.
    pub kills: u64,
    /// Sessions that were told to end.
    pub terminated: u64,
    /// The server killed with all its processes.
    pub server_killed: u64,
    /// Its immediate stop.
    pub immediate: u64,
    /// One of its backends killed, which makes it start anew.
    pub backend_killed: u64,
    /// Clean restarts.
    pub restarts: u64,
    /// Epochs opened.
    pub epochs: u64,
}

impl Done {
    /// Both together.
    pub fn add(&mut self, other: &Done) {
        self.pauses += other.pauses;
        self.kills += other.kills;
        self.terminated += other.terminated;
        self.server_killed += other.server_killed;
        self.immediate += other.immediate;
        self.backend_killed += other.backend_killed;
        self.restarts += other.restarts;
        self.epochs += other.epochs;
    }
}

/// Whoever disturbs.
pub struct Chaos<'a> {
    /// The server.
    pub cluster: &'a mut Cluster,
    /// Choices.
    pub dice: Dice,
    /// What is done to the server, and the epochs.
    pub recorder: Recorder,
    /// A superuser's session.
    pub admin: Session,
    /// The clients' processes.
    pub workers: Vec<Worker>,
    /// Operations of all clients so far.
    pub operations: Arc<AtomicU64>,
    /// Whether there are epochs to open.
    pub epochs: bool,
    /// When to come to an end, however little is done.
    pub until: Option<Instant>,
    /// Operations from one crash to the next.
    pub crash_every: u64,
    /// What was done.
    pub done: Done,
}

impl Chaos<'_> {
    /// Until so many operations are done.
    pub fn run(&mut self, target: u64, mut progress: impl FnMut(u64)) {
        self.note_clock();
        let (mut last, mut next_crash, mut next_epoch) = (history::now(), self.crash_every, self.crash_every * 2 / 3);
        loop {
            sleep(Duration::from_millis(5));
            let now = history::now();
            let dt = now - last;
            last = now;
            let operations = self.operations.load(Relaxed);
            progress(operations);
            if operations >= target || self.until.is_some_and(|until| Instant::now() > until) {
                break;
            }
            for worker in self.workers.iter_mut().filter(|w| w.stopped_until.is_some_and(|until| until <= now)) {
                worker.resume();
            }
            if operations >= next_crash {
                next_crash += self.crash_every;
                self.crash();
                last = history::now();
                continue;
            }
            if operations >= next_epoch && self.epochs {
                next_epoch += self.crash_every;
                self.advance_epoch();
            }
            if self.happens(300, dt) && self.epochs {
                self.purge();
            }
            if self.happens(8000, dt) {
                let n = self.dice.index(self.workers.len());
                let ms = TTL / 8 + self.dice.below(TTL * 5 / 2);
                self.done.pauses += u64::from(self.workers[n].stopped_until.is_none());
                self.workers[n].pause(now + ms * 1_000_000);
            }
            if self.happens(700, dt) {
                self.kill_worker();
            }
            if self.happens(4000, dt) {
                self.terminate();
            }
        }
        self.note_clock();
    }

    /// Whether something happens in this time that happens so many times in a thousand seconds.
    fn happens(&mut self, often: u64, dt: u64) -> bool {
        self.dice.below(1000 * SECOND) < often.saturating_mul(dt)
    }

    fn note_clock(&mut self) {
        let op = self.recorder.number();
        self.recorder.write(&Event::now(op, Kind::Clock).with(history::clock_offset(), 0));
    }

    fn kill_worker(&mut self) {
        let n = self.dice.index(self.workers.len());
        self.workers[n].kill();
        let mut orders = self.workers[n].orders.clone();
        orders.incarnation += 1;
        self.workers[n] = Worker::start(orders, &self.operations);
        self.done.kills += 1;
    }

    fn terminate(&mut self) {
        let sql =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker' ORDER BY random() LIMIT 1";
        if self.connected() && self.admin.rows(sql, &[]).is_ok_and(|rows| !rows.is_empty()) {
            self.done.terminated += 1;
        }
    }

    /// Removes the rows of leases that have been over for a while.
    fn purge(&mut self) {
        if !self.connected() {
            return;
        }
        let op = self.recorder.number();
        self.recorder.write(&Event::now(op, Kind::Purge));
        let answer = match self.admin.rows("SELECT fencing.purge_leases('1 s')", &[]) {
            Ok(rows) => Event::answer(op, Status::Done).with(rows[0].get(0), 0),
            Err(Failure::Refused(state)) => Event::refused(op, state),
            Err(Failure::Lost) => Event::answer(op, Status::Lost),
        };
        self.recorder.write(&answer);
    }

    fn connected(&mut self) -> bool {
        self.admin.is_open() || self.admin.open(&AtomicBool::new(false))
    }

    /// Opens an epoch; whether it came to that.
    pub fn advance_epoch(&mut self) -> bool {
        if !self.connected() {
            return false;
        }
        let op = self.recorder.number();
        self.recorder.write(&Event::now(op, Kind::Advance));
        let answer = match self.admin.rows("SELECT fencing.advance_epoch('torture')", &[]) {
            Ok(rows) => Event::answer(op, Status::Done).with(rows[0].get(0), 0),
            Err(Failure::Refused(state)) => Event::refused(op, state),
            Err(Failure::Lost) => Event::answer(op, Status::Lost),
        };
        self.recorder.write(&answer);
        let done = answer.status == Status::Done;
        self.done.epochs += u64::from(done);
        done
    }

    /// The server goes down in one of several ways, and comes back.
    fn crash(&mut self) {
        let way = self.dice.below(8);
        let op = self.recorder.number();
        self.recorder.write(&Event::now(op, Kind::Crash).with(0, i64::from(way == 0)));
        match way {
            0 => {
                self.cluster.restart(Stop::Fast);
                self.done.restarts += 1;
            }
            1..=3 => {
                self.cluster.kill();
                self.cluster.start();
                self.done.server_killed += 1;
            }
            4..=5 => {
                self.cluster.restart(Stop::Immediate);
                self.done.immediate += 1;
            }
            _ => {
                self.kill_backend();
                self.done.backend_killed += 1;
            }
        }
        self.admin.close();
        self.recorder.write(&Event::answer(op, Status::Done));
    }

    /// One process is enough: the server ends all others, and recovers.
    fn kill_backend(&mut self) {
        let sql = "SELECT pid FROM pg_stat_activity WHERE usename = 'worker' ORDER BY random() LIMIT 1";
        let mut watch = self.cluster.connect();
        let Ok(Some(row)) = watch.query_opt(sql, &[]) else { return };
        send(row.get::<_, i32>(0) as u32, Signal::KILL);
        while watch.batch_execute("").is_ok() {
            sleep(Duration::from_millis(1));
        }
        while self.cluster.config().connect(NoTls).is_err() {
            sleep(Duration::from_millis(5));
        }
    }

    /// Tells all clients to come to an end, and waits for it.
    pub fn dismiss(&mut self) {
        self.workers.iter_mut().for_each(Worker::dismiss);
        let since = history::now();
        for worker in &mut self.workers {
            while !worker.has_ended() {
                // Whoever hangs is freed by ending who is in the way.
                if history::now() - since > 90 * SECOND {
                    worker.kill();
                    break;
                }
                sleep(Duration::from_millis(5));
            }
        }
        self.workers.clear();
        // Sessions of killed clients go on until they notice.
        let mut session = self.cluster.connect();
        session.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'");
        let left = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker'";
        while session.get::<i64>(left) > 0 {
            sleep(Duration::from_millis(5));
        }
    }
}

/// Starts the clients of a round.
pub fn workers(orders: &Orders, operations: &Arc<AtomicU64>) -> Vec<Worker> {
    (0..WORKERS).map(|worker| Worker::start(Orders { worker, ..orders.clone() }, operations)).collect()
}
