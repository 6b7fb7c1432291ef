//! A worker process: a few clients. It is stopped, continued and killed by whoever started it.

use crate::client::{Client, Shared};
use crate::dice::Dice;
use crate::history::Recorder;
use crate::plan::THREADS;
use crate::session::Session;
use fencing_tests::cluster::send;
use postgres::Config;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::Duration;

/// What a worker is told.
#[derive(Debug, Clone)]
pub struct Orders {
    /// Its number.
    pub worker: u16,
    /// How often it was started before.
    pub incarnation: u16,
    /// The seed of the run.
    pub seed: u64,
    /// Where the server's socket is.
    pub socket: PathBuf,
    /// Where its history goes.
    pub dir: PathBuf,
    /// The schema of its functions.
    pub schema: &'static str,
}

impl Orders {
    fn arguments(&self) -> [String; 6] {
        let path = |path: &Path| path.display().to_string();
        [
            self.worker.to_string(),
            self.incarnation.to_string(),
            self.seed.to_string(),
            path(&self.socket),
            path(&self.dir),
            self.schema.to_owned(),
        ]
    }

    /// Back from its arguments.
    pub fn parse(arguments: &[String]) -> Option<Orders> {
        let [worker, incarnation, seed, socket, dir, schema] = arguments else { return None };
        Some(Orders {
            worker: worker.parse().ok()?,
            incarnation: incarnation.parse().ok()?,
            seed: seed.parse().ok()?,
            socket: socket.into(),
            dir: dir.into(),
            schema: if schema == "fencing" { "fencing" } else { "byhand" },
        })
    }
}

/// How to connect as a client.
pub fn config(socket: &Path, role: &str) -> Config {
    let mut config = Config::new();
    config.host_path(socket).user(role).dbname("postgres");
    config
}

/// The process: works until its input ends.
pub fn main(orders: &Orders) {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let shared = Shared {
        schema: orders.schema,
        guarded: orders.schema == "fencing",
        held: Default::default(),
        former: Default::default(),
        stop: Default::default(),
        operations: Default::default(),
        connections: Default::default(),
    };
    scope(|scope| {
        for thread in 0..THREADS {
            let number = orders.worker * THREADS + thread;
            let shared = &shared;
            scope.spawn(move || {
                let user = u64::from(number) << 16 | u64::from(orders.incarnation);
                // Every fourth commits without waiting for its WAL.
                let session = Session::new(config(&orders.socket, "worker"), thread == 3);
                let recorder = Recorder::create(&orders.dir, number, orders.incarnation).expect("a history");
                let other = Session::new(config(&orders.socket, "worker"), false);
                Client::new(shared, Dice::new(orders.seed, user), session, other, recorder).work();
            });
        }
        scope.spawn(|| {
            while !shared.stop.load(Relaxed) {
                sleep(Duration::from_millis(50));
                let mut out = std::io::stdout();
                let _ = writeln!(out, "{}", shared.operations.swap(0, Relaxed)).and_then(|()| out.flush());
            }
        });
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        shared.stop.store(true, Relaxed);
    });
}

/// A worker, seen from outside.
pub struct Worker {
    child: Child,
    /// What it was told.
    pub orders: Orders,
    /// Until when it is stopped, if it is.
    pub stopped_until: Option<u64>,
}

impl Worker {
    /// Starts it; what it has done is added to `operations`.
    pub fn start(orders: Orders, operations: &Arc<AtomicU64>) -> Worker {
        // This very program, even if a build has put another one in its place.
        let mut child = Command::new("/proc/self/exe")
            .arg("worker")
            .args(orders.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a worker could not be started");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let operations = Arc::clone(operations);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                operations.fetch_add(line.parse().unwrap_or(0), Relaxed);
            }
        });
        Worker { child, orders, stopped_until: None }
    }

    /// Stops it, as a long pause does.
    pub fn pause(&mut self, until: u64) {
        send(self.child.id(), Signal::STOP);
        self.stopped_until = Some(until);
    }

    /// Lets it go on.
    pub fn resume(&mut self) {
        send(self.child.id(), Signal::CONT);
        self.stopped_until = None;
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Tells it to come to an end.
    pub fn dismiss(&mut self) {
        self.resume();
        self.child.stdin.take();
    }

    /// Whether it has ended; a panic of its is ours.
    pub fn has_ended(&mut self) -> bool {
        let ended = self.child.try_wait().expect("a worker's end");
        if let Some(status) = ended {
            assert!(status.success(), "worker {} has failed: {status}", self.orders.worker);
        }
        ended.is_some()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}
