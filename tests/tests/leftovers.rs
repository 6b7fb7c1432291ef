//! A server that is killed is gone with everything that it ran, whoever's child that is by now, and
//! starts again.

use fencing_tests::cluster::{send, until};
use fencing_tests::{Cluster, Sql};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::thread::spawn;

fn number(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.lines().next()?.parse().ok()
}

/// A process that doesn't notice the server's end stays attached to its shared memory.
#[test]
fn an_orphan() {
    let mut cluster = Cluster::new();
    let mut session = cluster.connect();
    let orphan: i32 = session.get("SELECT pg_backend_pid()");
    // Whoever drops it waits for the process.
    std::mem::forget(session);
    send(orphan as u32, Signal::STOP);
    send(number(&cluster.data().join("postmaster.pid")).expect("the server"), Signal::KILL);
    cluster.kill();
    cluster.start();
}

#[test]
fn a_program() {
    let mut cluster = Cluster::new();
    let mut session = cluster.connect();
    let session = spawn(move || session.batch_execute("COPY (SELECT) TO PROGRAM 'echo $$ >program; exec sleep 50'"));
    let file = cluster.data().join("program");
    until("the program runs", || number(&file).is_some());
    let program = number(&file).expect("the program");
    cluster.kill();
    assert!(fs::read_link(format!("/proc/{program}/cwd")).is_err(), "it runs on");
    assert!(session.join().expect("the session").is_err());
    cluster.start();
}
