//! A destination that was restored, cloned or promoted may have forgotten what it has accepted: it is
//! closed until a newer epoch of the coordinator is installed, and takes no token of an older one ever
//! again.

use fencing_tests::cluster::run;
use fencing_tests::copies::{
    LINGERING, base_backup, cut_off, of_files, overwrite, promote_lingering, recover, snapshot, standby_with,
};
use fencing_tests::{Cluster, Sql, Stop};
use postgres::Client;

const ID: &str = "00000000-0000-4000-8000-000000000001";

fn token(epoch: i64, n: i64) -> i64 {
    epoch << 39 | n
}

fn write(token: i64) -> String {
    format!("INSERT INTO doc VALUES ('x', {token})")
}

fn original(settings: &[&str]) -> Cluster {
    let cluster = Cluster::with(settings);
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.register_coordinator('etcd', 'etcd', 'c1');
         CREATE TABLE doc (v text, t bigint);
         SELECT fencing.protect('doc', 'jobs', 'a', present_column => 't', fence => 'destination', coordinator => 'etcd');
         CREATE ROLE worker LOGIN; GRANT INSERT ON doc TO worker",
    );
    session.run(&format!("SELECT fencing.install_epoch('etcd', 5, '{ID}')"));
    session.run(&write(token(5, 1)));
    cluster
}

/// After the copy was made: a token that it has never heard of.
fn goes_on(cluster: &Cluster) {
    cluster.connect().run(&write(token(5, 2)));
}

/// Nothing passes, and the same epoch can't be installed again, until a newer one is.
fn is_closed_and_opened(copy: &mut Client) {
    assert_eq!(copy.get::<String>("SELECT state FROM fencing.coordinators()"), "lineage changed");
    for n in 1..=3 {
        assert_eq!(copy.code(&write(token(5, n))), "LF006", "{n}");
        assert_eq!(copy.code(&format!("SELECT fencing.seal('etcd', 'jobs', 'a', {})", token(5, n))), "LF006");
    }
    assert_eq!(copy.code("INSERT INTO doc VALUES ('x')"), "LF006", "whatever is presented");
    assert_eq!(copy.code("TRUNCATE doc"), "LF006");
    let refusal = copy.refused(&write(token(5, 1)));
    assert!(refusal.detail().is_some_and(|d| d.contains("etcd") && d.contains(", now ")), "{refusal:?}");
    assert!(refusal.hint().is_some_and(|h| h.contains("fencing.install_epoch")), "{refusal:?}");
    assert_eq!(copy.code(&format!("SELECT fencing.install_epoch('etcd', 5, '{ID}')")), "LF006");
    assert_eq!(copy.code(&format!("SELECT fencing.install_epoch('etcd', 4, '{ID}')")), "LF005");
    assert_eq!(copy.code(&write(token(5, 3))), "LF006");
    copy.run(&format!("SELECT fencing.install_epoch('etcd', 6, '{ID}')"));
    for n in 1..=3 {
        assert_eq!(copy.code(&write(token(5, n))), "LF005", "{n}");
    }
    copy.run(&write(token(6, 1)));
    assert_eq!(copy.get::<String>("SELECT state FROM fencing.coordinators()"), "open");
}

/// And the original is what it was.
fn is_untouched(original: &Cluster) {
    let mut session = original.connect();
    assert_eq!(session.code(&write(token(5, 1))), "LF001");
    session.run(&write(token(5, 2)));
}

#[test]
fn dumped_and_restored() {
    let cluster = original(&[]);
    let dump = cluster.scratch().join("dump");
    run(cluster.program("pg_dump").args(["-Fc", "-f"]).arg(&dump).arg("postgres"));
    goes_on(&cluster);
    // In the same cluster, and in another.
    let other = Cluster::new();
    other.connect().run("DROP EXTENSION fencing; CREATE ROLE worker");
    for copy in [&cluster, &other] {
        copy.connect().run("CREATE DATABASE restored");
        run(copy.program("pg_restore").args(["-d", "restored"]).arg(&dump));
        let mut session = copy.connect_as("postgres", "restored");
        assert_eq!(session.get::<i64>("SELECT token FROM fencing.remote_fence"), token(5, 1));
        is_closed_and_opened(&mut session);
    }
    is_untouched(&cluster);
}

#[test]
fn template() {
    let cluster = original(&[]);
    cluster.connect_as("postgres", "template1").run("CREATE DATABASE copy TEMPLATE postgres");
    goes_on(&cluster);
    is_closed_and_opened(&mut cluster.connect_as("postgres", "copy"));
    is_untouched(&cluster);
}

#[test]
fn base_backup_started_alone() {
    let cluster = original(&[]);
    let mut copy = base_backup(&cluster);
    goes_on(&cluster);
    copy.start();
    is_closed_and_opened(&mut copy.connect());
    is_untouched(&cluster);
}

#[test]
fn files_beside_the_original() {
    let mut cluster = original(&[]);
    cluster.stop(Stop::Fast);
    let mut copy = of_files(&cluster);
    cluster.start();
    goes_on(&cluster);
    copy.start();
    is_closed_and_opened(&mut copy.connect());
    is_untouched(&cluster);
}

#[test]
fn point_in_time() {
    let cluster = original(&[]);
    let mut copy = base_backup(&cluster);
    goes_on(&cluster);
    recover(&mut copy, &["recovery_target='immediate'", "recovery_target_action=promote", "restore_command='false'"]);
    is_closed_and_opened(&mut copy.connect());
    is_untouched(&cluster);
}

/// A session that was open while the standby still was one knows no better than others, whenever it asked.
#[test]
fn promoted() {
    let cluster = original(&[]);
    let standby = standby_with(&cluster, &[LINGERING]);
    let mut early = standby.connect();
    let ask = |session: &mut Client| {
        assert_eq!(session.get::<String>("SELECT state FROM fencing.coordinators()"), "open");
        assert_eq!(session.code(&write(token(5, 1))), "25006");
        // Of it alone, by its name.
        let protect = "SELECT fencing.protect('doc', 'jobs', 'a', fence => 'destination', coordinator => 'etcd')";
        assert_eq!(session.code(protect), "25006");
    };
    ask(&mut early);
    cut_off(&standby);
    goes_on(&cluster);
    promote_lingering(&standby, || ask(&mut early));
    is_closed_and_opened(&mut early);
    is_untouched(&cluster);
}

/// A snapshot of the volume, put back, is an unclean start like any crash; nothing else tells. Where the
/// policy is to be closed then, destinations are, too.
#[test]
fn snapshot_put_back() {
    let mut cluster = original(&["fencing.on_unclean_start=closed"]);
    let saved = snapshot(&cluster);
    goes_on(&cluster);
    cluster.kill();
    overwrite(&mut cluster, &saved);
    cluster.start();
    let mut session = cluster.connect();
    assert_eq!(session.get::<String>("SELECT state FROM fencing.coordinators()"), "lineage changed");
    let refusal = session.refused(&write(token(5, 1)));
    assert_eq!(refusal.code().code(), "LF006");
    assert!(refusal.detail().is_some_and(|d| d.contains("fencing.on_unclean_start")), "{refusal:?}");
    assert_eq!(session.code(&format!("SELECT fencing.install_epoch('etcd', 5, '{ID}')")), "LF006");
    session.run(&format!("SELECT fencing.install_epoch('etcd', 6, '{ID}')"));
    session.run(&write(token(6, 1)));
    // For good: a clean restart closes nothing.
    cluster.restart(Stop::Fast);
    cluster.connect().run(&write(token(6, 1)));
    // Nor does a crash where the policy is to go on.
    cluster.connect().run("ALTER SYSTEM SET fencing.on_unclean_start = 'continue'");
    cluster.kill();
    cluster.start();
    let mut session = cluster.connect();
    session.run("LOAD 'fencing'");
    session.run(&write(token(6, 1)));
    assert_eq!(session.code(&write(token(5, 1))), "LF005");
}

/// A restart is no restore; nor is a move.
#[test]
fn restarted() {
    let mut cluster = original(&[]);
    goes_on(&cluster);
    for how in [Stop::Fast, Stop::Immediate] {
        cluster.restart(how);
        is_untouched(&cluster);
    }
    cluster.kill();
    cluster.start();
    is_untouched(&cluster);
}
