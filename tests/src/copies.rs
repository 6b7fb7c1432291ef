//! Copies of a cluster, as people and their tools make them.

use crate::cluster::{Cluster, INITDB, Stop, run, until};
use crate::sql::Sql;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy by `pg_basebackup`, not started.
pub fn base_backup(of: &Cluster) -> Cluster {
    let copy = Cluster::bare();
    run(of.program("pg_basebackup").args(["--checkpoint=fast", "--no-sync", "-D"]).arg(copy.data()));
    copy.configure(&[]);
    copy
}

/// A copy of the files alone, made while the server is down; not started.
pub fn of_files(of: &Cluster) -> Cluster {
    let copy = Cluster::bare();
    copy_files(of, &of.data(), &copy.data());
    copy.configure(&[]);
    copy
}

/// Has it start recovery, which ends as `settings` say.
pub fn recover(copy: &mut Cluster, settings: &[&str]) {
    fs::write(copy.data().join("recovery.signal"), "").expect("recovery.signal");
    copy.configure(settings);
    copy.start();
    wait_for_promotion(copy);
}

/// A streaming standby, which has arrived where its primary is.
pub fn standby(of: &Cluster) -> Cluster {
    standby_with(of, &[])
}

/// The same with these settings.
pub fn standby_with(of: &Cluster, settings: &[&str]) -> Cluster {
    let mut copy = base_backup(of);
    copy.configure(settings);
    fs::write(copy.data().join("standby.signal"), "").expect("standby.signal");
    let host = of.scratch().display();
    copy.configure(&[&format!("primary_conninfo='host={host} user=postgres'"), "hot_standby=on"]);
    copy.start();
    let lsn: String = of.connect().get("SELECT pg_current_wal_flush_lsn()::text");
    let mut session = copy.connect();
    let there = format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{lsn}', false)");
    until("the standby has caught up", || session.get(&there));
    copy
}

/// Its primary is gone, as far as it can tell: whatever that does now, it does not hear of.
pub fn cut_off(standby: &Cluster) {
    let mut session = standby.connect();
    session.run("ALTER SYSTEM SET primary_conninfo = ''");
    session.run("SELECT pg_reload_conf()");
    until("the standby is cut off", || session.get("SELECT count(*) = 0 FROM pg_stat_wal_receiver"));
}

/// Makes a primary of it.
pub fn promote(standby: &Cluster) {
    assert!(standby.connect().get::<bool>("SELECT pg_promote()"));
    wait_for_promotion(standby);
}

/// A setting, by which a standby waits for [`promote_lingering`] before its recovery ends, a minute at most.
pub const LINGERING: &str =
    "recovery_end_command='touch ending; for i in $(seq 600); do [ ! -e go ] || break; sleep 0.1; done'";

/// Makes a primary of it, and does something at the last moment that it isn't one.
pub fn promote_lingering(standby: &Cluster, moment: impl FnOnce()) {
    standby.connect().run("SELECT pg_promote(wait => false)");
    until("recovery is about to end", || standby.data().join("ending").exists());
    moment();
    fs::write(standby.data().join("go"), "").expect("go");
    wait_for_promotion(standby);
}

fn wait_for_promotion(copy: &Cluster) {
    let mut session = copy.connect();
    until("recovery ends", || session.get("SELECT NOT pg_is_in_recovery()"));
}

/// A snapshot of the volume of a running server, to be put back by [`overwrite`].
pub fn snapshot(of: &Cluster) -> PathBuf {
    of.frozen(|| save(of))
}

/// Puts the data directory of a server that is down aside, for later.
pub fn save(of: &Cluster) -> PathBuf {
    let saved = of.scratch().join("saved");
    copy_files(of, &of.data(), &saved);
    saved
}

/// Puts a saved data directory in the place of the present one.
pub fn put_back(cluster: &mut Cluster, saved: &Path) {
    cluster.stop(Stop::Fast);
    run(cluster.tool("mv").arg(cluster.data()).arg(cluster.scratch().join("given_up")));
    copy_files(cluster, saved, &cluster.data());
}

/// Writes the contents of a saved data directory into the files of the present one, as a snapshot of
/// the volume does and a tool that leaves alone what looks the same: no file that stays is another one
/// than before.
pub fn overwrite(cluster: &mut Cluster, saved: &Path) {
    let data = cluster.data();
    let script = r#"cd "$1" && find . -depth ! -path . ! -name PG_VERSION -type f -delete && cp -a "$2/." ."#;
    run(cluster.tool("sh").args(["-ec", script, "sh"]).arg(&data).arg(saved));
}

fn copy_files(who: &Cluster, from: &Path, to: &Path) {
    run(who.tool("cp").arg("-a").arg(from).arg(to));
}

/// Another system, started, with nothing in it.
pub fn another_system() -> Cluster {
    let mut other = initdb();
    other.configure(&[]);
    other.start();
    other
}

fn initdb() -> Cluster {
    let new = Cluster::bare();
    run(new.program("initdb").args(INITDB).arg("-D").arg(new.data()));
    new
}

/// What `pg_upgrade` makes of a server that is down, started.
pub fn upgraded(old: &Cluster) -> Cluster {
    let mut new = initdb();
    let (bin, at) = (new.programs(), new.scratch().to_owned());
    let mut upgrade = new.program("pg_upgrade");
    upgrade.args(["-U", "postgres", "-b", &bin, "-B", &bin, "-d"]).arg(old.data()).arg("-D").arg(new.data());
    run(upgrade.arg("--socketdir").arg(&at).env_remove("PGHOST"));
    new.configure(&[]);
    new.start();
    new
}
