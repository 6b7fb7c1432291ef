//! Logical replication into guarded tables: what a subscription applies was fenced where it comes
//! from, and passes; nothing else does (hazards 2.1, 2.3).

use fencing_tests::cluster::until;
use fencing_tests::{Cluster, Sql, doc};
use postgres::Client;

/// The same tables on both sides, guarded alike.
const TABLES: &str = "SELECT fencing.create_namespace('jobs');
    CREATE TABLE t (id int PRIMARY KEY, v text, fence bigint, seen bigint);
    CREATE TABLE keyed (id int PRIMARY KEY, k text NOT NULL, v int, seen bigint);
    CREATE TABLE parted (id int, k text, v int, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
    CREATE TABLE part_a PARTITION OF parted FOR VALUES IN ('a');
    CREATE TABLE part_b PARTITION OF parted FOR VALUES IN ('b');
    CREATE TABLE loaded (id int PRIMARY KEY);
    SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence', token_column => 'seen');
    SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}', token_column => 'seen');
    SELECT fencing.protect('parted', 'jobs', key_columns => '{k}');
    SELECT fencing.protect('loaded', 'jobs', key => 'a', level => 'statement')";

/// What a subscriber is to have in common with its publisher.
const CONTENTS: &str = "SELECT coalesce((SELECT string_agg(t::text, ' ' ORDER BY id) FROM t), '')
    || '|' || coalesce((SELECT string_agg(k::text, ' ' ORDER BY id) FROM keyed AS k), '')
    || '|' || coalesce((SELECT string_agg(p::text || tableoid::regclass, ' ' ORDER BY id) FROM parted AS p), '')
    || '|' || coalesce((SELECT string_agg(l::text, ' ' ORDER BY id) FROM loaded AS l), '')";

struct Scene {
    publisher: Cluster,
    _subscriber: Cluster,
    from: Client,
    to: Client,
    /// Of the publisher's leases `a` and `b`.
    a: i64,
    b: i64,
}

fn scene() -> Scene {
    let publisher = Cluster::with(&["wal_level=logical"]);
    let subscriber = Cluster::with(&["wal_retrieve_retry_interval=100ms"]);
    let (mut from, mut to) = (publisher.connect(), subscriber.connect());
    from.run(TABLES);
    to.run(TABLES);
    let (a, b) = (from.acquire("a", "x").granted(), from.acquire("b", "x").granted());
    Scene { publisher, _subscriber: subscriber, from, to, a, b }
}

impl Scene {
    /// Publishes the tables, and subscribes to them.
    fn subscribe(&mut self, options: &str) {
        self.publish(&format!("TABLE t, keyed, parted, loaded {options}"));
        let synced = "SELECT count(*) > 3 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel";
        until("the tables are synchronised", || self.to.get(synced));
    }

    fn publish(&mut self, what: &str) {
        self.from.run(&format!("CREATE PUBLICATION everything FOR {what}"));
        let socket = self.publisher.socket();
        let host = socket.parent().unwrap().display();
        self.to.run(&format!(
            "CREATE SUBSCRIPTION copy CONNECTION 'host={host} user=postgres dbname=postgres' PUBLICATION everything"
        ));
    }

    /// Runs statements of the publisher under both of its leases.
    fn write(&mut self, sql: &str) {
        let (a, b) = (self.a, self.b);
        self.from.run(&format!("BEGIN; SELECT fencing.present({a}); SELECT fencing.present({b}); {sql}; COMMIT"));
    }

    /// Nothing applies the subscription any more.
    fn rests(&mut self) {
        let rests = "SELECT count(*) = 0 FROM pg_stat_subscription WHERE pid IS NOT NULL";
        until("the subscription rests", || self.to.get(rests));
    }

    /// The subscriber gets what the publisher has, and no error on the way.
    fn arrives(&mut self) {
        let wanted: String = self.from.get(CONTENTS);
        until(&format!("the subscriber has {wanted}"), || self.to.get::<String>(CONTENTS) == wanted);
        let errors = "SELECT apply_error_count + sync_error_count FROM pg_stat_subscription_stats";
        assert_eq!(self.to.get::<i64>(errors), 0);
    }
}

const WRITES: [&str; 14] = [
    "INSERT INTO t VALUES (9, 'x')",
    "UPDATE t SET v = 'x' WHERE id = 1",
    "DELETE FROM t",
    "TRUNCATE t",
    "INSERT INTO keyed VALUES (9, 'a', 1)",
    "UPDATE keyed SET v = 7",
    "DELETE FROM keyed",
    "TRUNCATE keyed",
    "INSERT INTO part_a VALUES (9, 'a', 1)",
    "UPDATE parted SET v = 7",
    "TRUNCATE part_b",
    "INSERT INTO loaded VALUES (9)",
    "DELETE FROM loaded",
    "TRUNCATE loaded",
];

const FIRST: &str = "INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
    INSERT INTO keyed VALUES (1, 'a', 1), (2, 'b', 1), (3, 'a', 1);
    INSERT INTO parted VALUES (1, 'a', 1), (2, 'b', 1);
    INSERT INTO loaded VALUES (1), (2)";

/// Nobody ever acquired a lease at the subscriber: nothing there could be presented.
#[test]
fn what_a_subscription_brings_passes() {
    for options in ["", "WITH (publish_via_partition_root = true)"] {
        let mut scene = scene();
        scene.write(FIRST);
        scene.subscribe(options);
        // The first copy.
        scene.arrives();
        assert_eq!(scene.to.get::<i64>("SELECT count(*) FROM t"), 3);
        for write in [
            "INSERT INTO t VALUES (4, 'four'); UPDATE t SET v = 'ONE' WHERE id = 1; DELETE FROM t WHERE id = 2",
            "UPDATE keyed SET v = v + 1, k = 'b' WHERE id = 1; DELETE FROM keyed WHERE id = 2",
            "UPDATE parted SET k = 'b' WHERE id = 1; INSERT INTO parted VALUES (3, 'a', 3)",
            "INSERT INTO loaded VALUES (3); UPDATE loaded SET id = 10 WHERE id = 1",
            "TRUNCATE t, loaded",
            "INSERT INTO t VALUES (5, 'five'); DELETE FROM parted WHERE id = 3; DELETE FROM keyed; DELETE FROM loaded",
        ] {
            scene.write(write);
            scene.arrives();
        }
        // The stamp is that of the write at the publisher, a token that says nothing here.
        assert_eq!(scene.to.get::<i64>("SELECT seen FROM t"), scene.a);
        assert_eq!(scene.to.get::<String>(&format!("SELECT fencing.check_token({})", scene.a)), "unknown");
    }
}

/// A large transaction travels while it is open, and from PostgreSQL 16 on another process applies it.
#[test]
fn what_is_streamed_passes() {
    let mut scene = scene();
    scene.from.run("ALTER SYSTEM SET logical_decoding_work_mem = '64kB'");
    scene.from.run("SELECT pg_reload_conf()");
    scene.write(FIRST);
    scene.subscribe("");
    scene.arrives();
    scene.to.run("ALTER SUBSCRIPTION copy DISABLE");
    scene.rests();
    let in_parallel = scene.to.get::<i32>("SELECT current_setting('server_version_num')::int") >= 160_000;
    let streaming = if in_parallel { "parallel" } else { "on" };
    scene.to.run(&format!("ALTER SUBSCRIPTION copy SET (streaming = {streaming})"));
    scene.write(
        "UPDATE t SET v = 'kept';
         INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(10, 2000) AS g;
         SAVEPOINT s; UPDATE t SET v = 'taken back'; ROLLBACK TO s;
         SAVEPOINT s; INSERT INTO keyed SELECT g, 'b', 1 FROM generate_series(10, 2000) AS g; RELEASE s;
         INSERT INTO parted SELECT g, 'a', 1 FROM generate_series(10, 2000) AS g;
         UPDATE parted SET k = 'b' WHERE id > 1000;
         DELETE FROM keyed WHERE id > 1000",
    );
    scene.to.run("ALTER SUBSCRIPTION copy ENABLE");
    scene.arrives();
    let streamed = "SELECT stream_txns > 0 FROM pg_stat_replication_slots WHERE slot_name = 'copy'";
    until("the transaction was streamed", || scene.from.get(streamed));
    if in_parallel {
        // It stays for the next one.
        let worker = "SELECT count(*) = 1 FROM pg_stat_subscription WHERE leader_pid IS NOT NULL";
        until("a worker of its own has applied it", || scene.to.get(worker));
    }
}

/// Who is superseded is rejected where the rows come from, and nothing of it travels.
#[test]
fn a_stale_write_stays_at_the_publisher() {
    let mut scene = scene();
    scene.write(FIRST);
    scene.subscribe("");
    let stale = scene.a;
    scene.from.run(&format!("SELECT fencing.release({stale})"));
    scene.a = scene.from.acquire("a", "y").granted();
    let late = format!("BEGIN; SELECT fencing.present({stale}); UPDATE t SET v = 'late'");
    assert_eq!(scene.from.code(&late), "LF001");
    scene.from.run("ROLLBACK");
    scene.write("UPDATE t SET v = 'in time'");
    scene.arrives();
    assert_eq!(scene.to.get::<i64>("SELECT count(*) FROM t WHERE v = 'in time'"), 3);
}

/// A session is no subscription, whatever it sets.
#[test]
fn a_session_at_the_subscriber_is_refused() {
    let mut scene = scene();
    scene.write(FIRST);
    scene.subscribe("");
    let before: String = scene.to.get(CONTENTS);
    for role in ["origin", "local", "replica"] {
        scene.to.run(&format!("SET session_replication_role = {role}"));
        for write in WRITES {
            assert_eq!(scene.to.code(write), "LF002", "{role}: {write}");
        }
        let token = scene.a;
        assert_eq!(scene.to.code(&format!("INSERT INTO t VALUES (9, 'x', {token})")), "LF004", "{role}");
    }
    // As origin of what it writes, too, it is an ordinary session.
    scene.to.run(
        "SELECT pg_replication_origin_create('elsewhere'); SELECT pg_replication_origin_session_setup('elsewhere')",
    );
    assert_eq!(scene.to.code("DELETE FROM t"), "LF002");
    assert_eq!(scene.to.get::<String>(CONTENTS), before);
}

/// A holder at the subscriber is fenced by the subscriber's leases, and a subscription by none.
#[test]
fn leases_of_the_subscriber_are_its_own() {
    let mut scene = scene();
    scene.write(FIRST);
    scene.subscribe("");
    let token = scene.to.acquire("a", "x").granted();
    scene.to.run(&format!("INSERT INTO t VALUES (7, 'here', {token})"));
    assert_eq!(scene.to.get::<i64>("SELECT seen FROM t WHERE id = 7"), token);
    // Both may write the same rows: that is why subscriptions are listed, as long as they are enabled.
    let listed = |severity: &str| {
        format!(
            "SELECT coalesce(string_agg(relation::text, ' ' ORDER BY relation::text), '') FROM fencing.enforcement_gaps()
              WHERE gap = 'subscription' AND severity = '{severity}'"
        )
    };
    assert_eq!(scene.to.get::<String>(&listed("weak")), "keyed loaded part_a part_b t");
    scene.to.run("ALTER SUBSCRIPTION copy DISABLE");
    assert_eq!(scene.to.get::<String>(&listed("weak")), "");
    assert_eq!(scene.to.get::<String>(&listed("note")), "keyed loaded part_a part_b t");
    scene.to.run("ALTER SUBSCRIPTION copy ENABLE");
    scene.to.run(&format!("BEGIN; SELECT fencing.present({token}); UPDATE t SET v = 'here'; COMMIT"));
    scene.write("UPDATE t SET v = 'there' WHERE id = 1");
    let there = "SELECT count(*) = 1 FROM t WHERE v = 'there' AND seen = ";
    let published = scene.a;
    until("the publisher's row arrives", || scene.to.get(&format!("{there}{published}")));
}

/// What a trigger makes of an applied row was fenced nowhere.
#[test]
fn a_trigger_of_the_subscriber_is_not_the_subscription() {
    let mut scene = scene();
    scene.to.run(
        "CREATE TABLE derived (id int, v text);
         SELECT fencing.protect('derived', 'jobs', key => 'd');
         CREATE FUNCTION derive() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO public.derived VALUES (NEW.id, NEW.v); RETURN NULL; END';
         CREATE TRIGGER derive AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION derive();
         ALTER TABLE t ENABLE ALWAYS TRIGGER derive",
    );
    scene.subscribe("");
    scene.write("INSERT INTO t VALUES (1, 'one')");
    until("the subscription fails", || scene.to.get("SELECT apply_error_count > 0 FROM pg_stat_subscription_stats"));
    assert_eq!(scene.to.get::<i64>("SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM derived)"), 0);
    // It may present a token, as anyone.
    let token = scene.to.acquire("d", "x").granted();
    scene.to.run(&format!(
        "CREATE OR REPLACE FUNCTION derive() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM fencing.present({token}); INSERT INTO public.derived VALUES (NEW.id, NEW.v); RETURN NULL; END'"
    ));
    until("the row is applied", || scene.to.get("SELECT count(*) = 1 FROM t, derived WHERE t.v = derived.v"));
}

/// Published with all other tables, the publisher's leases and fences don't become the subscriber's.
#[test]
fn leases_and_fences_are_not_replicated() {
    let mut scene = scene();
    let token = scene.to.acquire("a", "x").granted();
    let own = "SELECT string_agg(f::text, ' ') || (SELECT string_agg(l::text, ' ') FROM fencing.lease AS l)
                   || (SELECT string_agg(t::text, ' ') FROM fencing.term AS t)
                   || (SELECT string_agg(e::text, ' ') FROM fencing.epoch AS e)
                   || (SELECT string_agg(n::text, ' ') FROM fencing.namespace AS n) FROM fencing.fence AS f";
    let before: String = scene.to.get(own);
    scene.write(FIRST);
    scene.publish("ALL TABLES");
    // Their own copy fails, that of the others doesn't wait for it.
    until("the first copy of fencing's tables fails", || {
        scene.to.get("SELECT sync_error_count > 1 FROM pg_stat_subscription_stats")
    });
    let (wanted, same): (String, String) = (scene.from.get(CONTENTS), "the other tables are synchronised".into());
    until(&same, || scene.to.get::<String>(CONTENTS) == wanted);
    assert_eq!(scene.to.get::<String>(own), before);
    // Nor without a first copy, where each change is applied as it comes.
    scene.to.run("ALTER SUBSCRIPTION copy DISABLE");
    scene.rests();
    scene.to.run("ALTER SUBSCRIPTION copy SET (slot_name = NONE); DROP SUBSCRIPTION copy");
    scene.from.run("SELECT pg_create_logical_replication_slot('only_changes', 'pgoutput')");
    let socket = scene.publisher.socket();
    let host = socket.parent().unwrap().display();
    scene.to.run(&format!(
        "CREATE SUBSCRIPTION changes CONNECTION 'host={host} user=postgres dbname=postgres' PUBLICATION everything
             WITH (copy_data = false, create_slot = false, slot_name = only_changes)"
    ));
    let stale = scene.a;
    scene.from.run(&format!("SELECT fencing.renew({stale})"));
    until("the renewal is not applied", || {
        scene.to.get("SELECT apply_error_count > 0 FROM pg_stat_subscription_stats WHERE subname = 'changes'")
    });
    assert_eq!(scene.to.get::<String>(own), before);
    scene.to.run(&format!("INSERT INTO t VALUES (9, 'x', {token})"));
}

#[test]
fn as_documented() {
    let cluster = Cluster::with(&["wal_level=logical", "wal_retrieve_retry_interval=100ms"]);
    for database in ["origin", "replica"] {
        cluster.connect().run(&format!("CREATE DATABASE {database}"));
        let mut session = cluster.connect_as("postgres", database);
        session.run(
            "CREATE EXTENSION fencing;
             SELECT fencing.create_namespace('jobs');
             CREATE TABLE report (id int PRIMARY KEY, body text);
             SELECT fencing.protect('report', 'jobs', key => 'nightly')",
        );
        if database == "origin" {
            let token: i64 = session.get("SELECT token FROM fencing.acquire('jobs', 'nightly', holder => 'x')");
            session.run(&format!(
                "BEGIN; SELECT fencing.present({token});
                 INSERT INTO report SELECT g, 'report ' || g FROM generate_series(1, 3) AS g; COMMIT"
            ));
        }
    }
    doc::run(&cluster, include_str!("../../docs/replication.md"));
    cluster.connect_as("postgres", "replica").run("ALTER SUBSCRIPTION reports DISABLE");
}
