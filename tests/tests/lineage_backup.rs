//! Base backups: started as they are, as an independent primary, and brought to a point in time.

use fencing_tests::cluster::{run, until};
use fencing_tests::copies::{base_backup, recover};
use fencing_tests::past::{original, verdict};
use fencing_tests::{Cluster, Sql};

/// Nothing but its files differ: the same system, on the same timeline.
#[test]
fn started_as_it_is() {
    let (cluster, mut past) = original(&[]);
    let mut copy = base_backup(&cluster);
    past.goes_on(&cluster);
    copy.start();
    past.is_closed(&copy, "postgres", &["data directory", "unclean start"]);
    let token = past.is_opened_again(&copy, "postgres");
    past.is_untouched(&cluster, token);
}

#[test]
fn started_as_an_independent_primary() {
    let (cluster, mut past) = original(&[]);
    let mut copy = base_backup(&cluster);
    past.goes_on(&cluster);
    recover(&mut copy, &["restore_command='false'"]);
    past.is_closed(&copy, "postgres", &["timeline", "data directory", "unclean start"]);
    let token = past.is_opened_again(&copy, "postgres");
    past.is_untouched(&cluster, token);
    // Open it stays, whatever comes.
    copy.restart(fencing_tests::Stop::Fast);
    assert_eq!(verdict(&mut copy.connect()), ["same"]);
    assert_eq!(copy.connect().code(&format!("INSERT INTO report (fence) VALUES ({token})")), "00000");
}

/// Point-in-time recovery to before the last acquisitions: what their clients hold is from its future.
#[test]
fn point_in_time() {
    let archive = Cluster::bare();
    let at = archive.scratch().display();
    let (cluster, mut past) = original(&["archive_mode=on", &format!("archive_command='cp %p {at}/%f'")]);
    let mut copy = base_backup(&cluster);
    let mut session = cluster.connect();
    session.run("SELECT pg_create_restore_point('before')");
    past.goes_on(&cluster);
    let segment: String = session.get("SELECT pg_walfile_name(pg_switch_wal())");
    let archived = format!("SELECT coalesce(last_archived_wal >= '{segment}', false) FROM pg_stat_archiver");
    until("its WAL is archived", || session.get(&archived));
    run(copy.tool("sh").args(["-ec", "rm -r \"$1\"/pg_wal/*", "sh"]).arg(copy.data()));
    recover(
        &mut copy,
        &[
            "archive_mode=off",
            &format!("restore_command='cp {at}/%f %p'"),
            "recovery_target_name=before",
            "recovery_target_action=promote",
        ],
    );
    let lost = format!("SELECT count(*) FROM fencing.term WHERE token >= {}", past.lost[0]);
    assert_eq!(copy.connect().get::<i64>(&lost), 0, "the last acquisitions are not lost");
    past.is_closed(&copy, "postgres", &["timeline", "data directory", "unclean start"]);
    let token = past.is_opened_again(&copy, "postgres");
    past.is_untouched(&cluster, token);
}

/// The same in the place of the original, as it is done after an accident: the files of the backup
/// are others, even where their directory is the same.
#[test]
fn point_in_time_in_place() {
    let archive = Cluster::bare();
    let at = archive.scratch().display();
    let (mut cluster, mut past) = original(&["archive_mode=on", &format!("archive_command='cp %p {at}/%f'")]);
    let backup = base_backup(&cluster);
    cluster.connect().run("SELECT pg_create_restore_point('before')");
    past.goes_on(&cluster);
    cluster.stop(fencing_tests::Stop::Fast);
    run(cluster.tool("rm").arg("-r").arg(cluster.data()));
    run(cluster.tool("cp").arg("-a").arg(backup.data()).arg(cluster.data()));
    recover(
        &mut cluster,
        &[&format!("restore_command='cp {at}/%f %p'"), "recovery_target_name=before", "recovery_target_action=promote"],
    );
    past.is_closed(&cluster, "postgres", &["timeline", "data directory", "unclean start"]);
    past.is_opened_again(&cluster, "postgres");
}
