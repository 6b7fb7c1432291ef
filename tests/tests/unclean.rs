//! Unclean starts and lost history: what is done about them follows the setting at once, and outlives a
//! crash itself.

use fencing_tests::cluster::until;
use fencing_tests::copies::{promote, standby};
use fencing_tests::past::{original, verdict, worker};
use fencing_tests::{Cluster, Sql, Stop};
use postgres::Client;

const ACQUIRE: &str = "SELECT status FROM fencing.acquire('jobs', 'new', 'x')";

fn set(cluster: &Cluster, policy: &str) {
    let mut admin = cluster.connect();
    // Whoever has the library loaded knows the setting.
    admin.run("SELECT fencing.make_token(1, 1)");
    admin.run(&format!("ALTER SYSTEM SET fencing.on_unclean_start = '{policy}'"));
    admin.run("SELECT pg_reload_conf()");
}

/// Until the session has read its configuration again.
fn hears(session: &mut Client, policy: &str) {
    until("the setting is known", || session.get::<String>("SHOW fencing.on_unclean_start") == policy);
}

/// A session that knows the coordinator as open is told, too; and nobody before the first grant has
/// settled the matter for good.
#[test]
fn the_setting_is_followed_at_once() {
    let (mut cluster, past) = original(&[]);
    cluster.restart(Stop::Immediate);
    let mut session = worker(&cluster, "postgres");
    let write = format!("INSERT INTO report (fence) VALUES ({})", past.current);
    assert_eq!(session.code(&write), "00000");
    for _ in 0..2 {
        set(&cluster, "closed");
        hears(&mut session, "closed");
        assert_eq!(session.code(&write), "LF006");
        assert!(session.refused(&write).detail().is_some_and(|detail| detail.contains("uncleanly")));
        assert_eq!(session.get::<String>(ACQUIRE), "closed");
        set(&cluster, "continue");
        hears(&mut session, "continue");
        assert_eq!(session.code(&write), "00000");
        assert_eq!(verdict(&mut session), ["unclean start"]);
    }
    session.acquire("new", "x").granted();
    set(&cluster, "closed");
    hears(&mut session, "closed");
    assert_eq!(session.code(&write), "00000");
    assert_eq!(verdict(&mut session), ["same"]);
    // The next one is another.
    cluster.restart(Stop::Immediate);
    assert_eq!(worker(&cluster, "postgres").code(&write), "LF006");
}

/// The write that brought the token failed, and the server with it: what was learnt is known.
#[test]
fn a_burned_number_outlives_a_crash() {
    let (mut cluster, past) = original(&[]);
    let mut session = worker(&cluster, "postgres");
    for ahead in [1, 100, 1 << 29] {
        let last: i64 = cluster.connect().get("SELECT last_value FROM fencing.term_seq");
        let future = (past.current >> 39 << 39) + last + ahead;
        assert_eq!(session.code(&format!("INSERT INTO report (fence) VALUES ({future})")), "LF004");
        cluster.kill();
        cluster.start();
        let mut admin = cluster.connect();
        assert!(admin.get::<i64>("SELECT last_value FROM fencing.term_seq") >= last + ahead, "drawn again: {ahead}");
        let seen = format!("SELECT count(*) FROM fencing.event WHERE kind = 'history_lost' AND token = {future}");
        assert_eq!(admin.get::<i64>(&seen), 1);
        let found = verdict(&mut admin);
        assert_eq!(found, ["unclean start", "history lost"]);
        // Nor does anybody have it issued who sets the sequence back.
        let stands: i64 = admin.get("SELECT last_value FROM fencing.term_seq");
        admin.run(&format!("SELECT setval('fencing.term_seq', {})", last + ahead - 1));
        assert_eq!(verdict(&mut admin), ["unclean start", "sequence behind the terms", "history lost"]);
        session = worker(&cluster, "postgres");
        assert_eq!(session.acquire("back", "x").status, "closed");
        admin.run(&format!("SELECT setval('fencing.term_seq', {stands})"));
    }
    assert!(session.acquire("new", "x").granted() > past.current + (1 << 29));
    // To PostgreSQL such evidence is a row like any other.
    let mut admin = cluster.connect();
    admin.run("CREATE EXTENSION amcheck");
    for table in ["event", "epoch"] {
        admin.run(&format!("VACUUM (FREEZE) fencing.{table}"));
        assert_eq!(admin.get::<i64>(&format!("SELECT count(*) FROM verify_heapam('fencing.{table}')")), 0);
    }
    for index in ["event_pkey", "event_kind_idx"] {
        admin.run(&format!("SELECT bt_index_check('fencing.{index}', heapallindexed => true)"));
    }
}

/// On a standby nothing is said of lineage; what reads goes on reading. Promoted, the same sessions know.
#[test]
fn on_a_standby() {
    let (cluster, past) = original(&[]);
    let copy = standby(&cluster);
    let mut session = worker(&copy, "postgres");
    assert_eq!(session.code("SELECT fencing.lineage()"), "25006");
    assert_eq!(session.get::<String>("SELECT state FROM fencing.inspect('jobs', 'a')"), "held");
    assert_eq!(session.get::<String>(&format!("SELECT fencing.check_token({})", past.current)), "current");
    assert_eq!(session.code("SELECT fencing.acquire('jobs', 'new', 'x')"), "25006");
    assert_eq!(session.code(&format!("SELECT fencing.assert_current({})", past.current)), "25006");
    promote(&copy);
    assert_eq!(session.get::<String>("SELECT state FROM fencing.inspect('jobs', 'a')"), "closed");
    assert_eq!(session.get::<String>(&format!("SELECT fencing.check_token({})", past.current)), "epoch_closed");
    assert_eq!(session.get::<String>(ACQUIRE), "closed");
    assert_eq!(verdict(&mut session), ["timeline", "data directory", "unclean start"]);
}
