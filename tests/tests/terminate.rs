//! Ending a session at the worst moment ends that session and nothing else.

use fencing_tests::psql::Psql;
use fencing_tests::{Cluster, Sql};

/// In a savepoint, while the library reads a term: the abort that follows needs the same state that
/// the read was made for.
#[test]
fn while_the_library_reads() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run("SELECT fencing.create_namespace('jobs')");
    let (a, b) = (session.acquire("a", "A").granted(), session.acquire("b", "A").granted());
    let started = session.get::<String>("SELECT pg_postmaster_start_time()::text");

    let mut lock = cluster.connect();
    lock.run("BEGIN; LOCK TABLE fencing.term IN ACCESS EXCLUSIVE MODE");
    let mut victim = Psql::start(&cluster);
    let pid = victim.ask("SELECT pg_backend_pid()");
    victim.say(&format!("BEGIN; SAVEPOINT s; SELECT fencing.present({a}); SELECT fencing.present({b});"));
    let waits = format!("SELECT EXISTS (SELECT FROM pg_locks WHERE pid = {pid} AND NOT granted)");
    while !session.get::<bool>(&waits) {
        std::thread::yield_now();
    }
    assert!(session.get::<bool>(&format!("SELECT pg_terminate_backend({pid}, 10000)")));

    lock.run("ROLLBACK");
    // A crash of one backend would have restarted the others with it.
    assert_eq!(session.get::<i64>("SELECT count(*) FROM fencing.term"), 2);
    assert_eq!(session.get::<String>("SELECT pg_postmaster_start_time()::text"), started);
}
