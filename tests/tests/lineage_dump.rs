//! Copies of a database: by pg_dump, within the cluster and beyond, over itself, as a template, and
//! by pg_upgrade.

use fencing_tests::cluster::run;
use fencing_tests::copies::{another_system, upgraded};
use fencing_tests::past::{original, verdict, worker};
use fencing_tests::{Cluster, Sql, Stop};

fn dump(cluster: &Cluster) -> String {
    let file = cluster.scratch().join("dump").display().to_string();
    run(cluster.program("pg_dump").args(["-Fc", "-f", &file, "postgres"]));
    file
}

fn restore(cluster: &Cluster, database: &str, dump: &str) {
    run(cluster.program("pg_restore").args(["--exit-on-error", "-d", database, dump]));
}

#[test]
fn into_another_database() {
    let (cluster, mut past) = original(&[]);
    let dump = dump(&cluster);
    past.goes_on(&cluster);
    cluster.connect().run("CREATE DATABASE copy TEMPLATE template0");
    restore(&cluster, "copy", &dump);
    past.is_closed(&cluster, "copy", &["database", "extension"]);
    let token = past.is_opened_again(&cluster, "copy");
    past.is_untouched(&cluster, token);
}

#[test]
fn into_another_cluster() {
    let (cluster, mut past) = original(&[]);
    let dump = dump(&cluster);
    past.goes_on(&cluster);
    let other = another_system();
    // Roles have other numbers there: a term must not seem to be another role's.
    let number = "SELECT 'worker'::regrole::oid::bigint";
    other.connect().run("CREATE ROLE another; CREATE ROLE worker LOGIN");
    assert_ne!(other.connect().get::<i64>(number), cluster.connect().get::<i64>(number));
    restore(&other, "postgres", &dump);
    past.is_closed(&other, "postgres", &["system identifier", "data directory", "extension"]);
    let token = past.is_opened_again(&other, "postgres");
    past.is_untouched(&cluster, token);
}

/// Over itself: nothing of the server differs, but the extension's tables are others than those of before.
#[test]
fn over_itself() {
    let (cluster, mut past) = original(&[]);
    let dump = dump(&cluster);
    past.goes_on(&cluster);
    run(cluster.program("pg_restore").args(["--exit-on-error", "--clean", "-d", "postgres", &dump]));
    past.is_closed(&cluster, "postgres", &["extension"]);
    past.is_opened_again(&cluster, "postgres");
}

#[test]
fn create_database_template() {
    let (cluster, mut past) = original(&[]);
    cluster.connect_as("postgres", "template1").run("CREATE DATABASE copy TEMPLATE postgres");
    past.goes_on(&cluster);
    past.is_closed(&cluster, "copy", &["database"]);
    let token = past.is_opened_again(&cluster, "copy");
    past.is_untouched(&cluster, token);
}

/// A database that is given another's name stays what it was, and so does that of the copy.
#[test]
fn swapped_names() {
    let (cluster, mut past) = original(&[]);
    let mut admin = cluster.connect_as("postgres", "template1");
    admin.run("CREATE DATABASE copy TEMPLATE postgres");
    past.goes_on(&cluster);
    for (from, to) in [("postgres", "old"), ("copy", "postgres")] {
        admin.run(&format!("ALTER DATABASE {from} RENAME TO {to}"));
    }
    past.is_closed(&cluster, "postgres", &["database"]);
    past.is_opened_again(&cluster, "postgres");
    assert_eq!(verdict(&mut cluster.connect_as("postgres", "old")), ["same"]);
}

/// Dropped, and made again under its own number from a copy: of what PostgreSQL knows of a database all is
/// the same.
#[test]
fn made_again_under_its_number() {
    let (cluster, past) = original(&[]);
    let mut admin = cluster.connect_as("postgres", "template1");
    admin.run("CREATE DATABASE app TEMPLATE postgres");
    past.is_opened_again(&cluster, "app");
    admin.run("CREATE DATABASE keep TEMPLATE app");
    let lost = worker(&cluster, "app").acquire("lost", "x").granted();
    let number: i64 = admin.get("SELECT oid::bigint FROM pg_database WHERE datname = 'app'");
    admin.run("DROP DATABASE app");
    admin.run(&format!("CREATE DATABASE app TEMPLATE keep OID {number}"));
    let mut app = worker(&cluster, "app");
    assert_eq!(verdict(&mut app), ["database"]);
    let write = format!("INSERT INTO report (fence) VALUES ({lost})");
    let error = app.refused(&write);
    assert_eq!(error.code().code(), "LF006");
    assert!(error.detail().is_some_and(|detail| detail.contains("database")), "{error:?}");
    assert_eq!(app.get::<String>("SELECT status FROM fencing.acquire('jobs', 'lost', 'y')"), "closed");
    cluster.connect_as("postgres", "app").run("SELECT fencing.advance_epoch('made again')");
    assert!(app.acquire("lost", "y").granted() > lost);
    assert_eq!(app.code(&write), "LF004");
}

/// From one version to itself, which is all that a machine with one PostgreSQL can do: to another, what
/// makes the difference is the same, a new system.
#[test]
fn pg_upgrade() {
    let (mut cluster, past) = original(&[]);
    cluster.stop(Stop::Fast);
    let new = upgraded(&cluster);
    past.is_closed(&new, "postgres", &["system identifier", "data directory"]);
    past.is_opened_again(&new, "postgres");
}
