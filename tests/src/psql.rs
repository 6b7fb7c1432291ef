//! A client that is a process of its own, to be stopped and continued: `psql`, fed line by line.

use crate::cluster::{Cluster, send};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A running `psql`.
pub struct Psql {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Psql {
    /// Connects as superuser.
    pub fn start(cluster: &Cluster) -> Psql {
        let mut child = cluster
            .program("psql")
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "postgres"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql could not be run");
        let input = child.stdin.take().expect("psql's input");
        let output = BufReader::new(child.stdout.take().expect("psql's output"));
        Psql { child, input, output }
    }

    /// Hands a statement over, without waiting for what becomes of it. The last line of its output
    /// will be its SQLSTATE.
    pub fn say(&mut self, sql: &str) {
        // A client that is gone is noticed by who listens to it.
        let _ = writeln!(self.input, "{sql};\n\\echo = :SQLSTATE");
    }

    /// The output of the next statement that was said, and its SQLSTATE.
    pub fn hear(&mut self) -> (String, String) {
        let mut rows = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("psql's output");
            assert!(read > 0, "psql has ended");
            match line.trim_end().strip_prefix("= ") {
                Some(state) => return (rows.trim_end().to_owned(), state.to_owned()),
                None => rows.push_str(&line),
            }
        }
    }

    /// Says a statement that must succeed, and gives its output.
    pub fn ask(&mut self, sql: &str) -> String {
        self.say(sql);
        let (rows, state) = self.hear();
        assert_eq!(state, "00000", "{sql}");
        rows
    }

    /// Whether `psql` has ended by itself, its connection gone.
    pub fn is_lost(&mut self) -> bool {
        let mut line = String::new();
        self.say("SELECT");
        self.output.read_line(&mut line).expect("psql's output") == 0
    }

    /// Stops the process, as a long pause does.
    pub fn pause(&self) {
        send(self.child.id(), Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        send(self.child.id(), Signal::CONT);
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
