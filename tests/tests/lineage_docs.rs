//! docs/epochs.md, as it is written.

use fencing_tests::{Cluster, Sql, doc};

#[test]
fn as_documented() {
    let cluster = Cluster::with(&[]);
    cluster.connect().run("CREATE DATABASE app");
    let mut session = cluster.connect_as("postgres", "app");
    session.run(
        "CREATE EXTENSION fencing;
         SELECT fencing.create_namespace('jobs', ttl => '30 min');
         CREATE TABLE report (id int PRIMARY KEY, body text, fence bigint);
         SELECT fencing.protect('report', 'jobs', key => 'nightly', present_column => 'fence')",
    );
    let token: i64 = session.get("SELECT token FROM fencing.acquire('jobs', 'nightly', holder => 'worker-1')");
    session.run(&format!("INSERT INTO report VALUES (1, 'text', {token})"));
    doc::run(&cluster, include_str!("../../docs/epochs.md"));
}
