//! The whole API through PgBouncer in transaction mode: each statement may run on another connection,
//! each connection serves every client, and nothing of one is left for the next (hazards 6.1).

use fencing_tests::cluster::{run, until};
use fencing_tests::pooler::Pooler;
use fencing_tests::{Cluster, Sql};
use postgres::types::{ToSql, Type};
use postgres::{Client, SimpleQueryMessage};
use std::collections::BTreeSet;

/// Every function that a client calls: a statement, {a} being the token of lease `a`, and what it says.
/// In this order they are one holder's and one administrator's day.
const API: &[(&str, &str, &str)] = &[
    ("create_namespace", "SELECT fencing.create_namespace('other', ttl => '1 min')", ""),
    ("alter_namespace", "SELECT fencing.alter_namespace('other', ttl => '30 s')", ""),
    ("grant_namespace", "SELECT fencing.grant_namespace('other', 'worker', 'hold')", ""),
    ("acquire", "SELECT status FROM fencing.acquire('other', 'b', 'x')", "granted"),
    ("acquire", "SELECT status FROM fencing.acquire('other', 'b', 'y')", "held"),
    ("renew", "SELECT status FROM fencing.renew({a})", "renewed"),
    ("renew_all", "SELECT status FROM fencing.renew_all(ARRAY[{a}, {a}])", "renewed renewed"),
    ("check_token", "SELECT fencing.check_token({a})", "current"),
    ("inspect", "SELECT state FROM fencing.inspect('jobs', 'a')", "held"),
    ("assert_current", "SELECT fencing.assert_current({a})", ""),
    ("epoch_of", "SELECT fencing.epoch_of({a}) > 0", "t"),
    ("seq_of", "SELECT fencing.seq_of({a}) > 0", "t"),
    ("make_token", "SELECT fencing.make_token(fencing.epoch_of({a}), fencing.seq_of({a})) = {a}", "t"),
    ("format_token", "SELECT fencing.format_token({a}) ~ ':'", "t"),
    ("key_of", "SELECT fencing.key_of(1, 'x')", "(1,x)"),
    ("present", "SELECT fencing.present({a})", ""),
    ("present", "SELECT fencing.present('jobs', 'a', {a})", ""),
    ("present_all", "SELECT fencing.present_all(ARRAY[{a}])", ""),
    ("present", "BEGIN; SELECT fencing.present({a}); INSERT INTO t VALUES (1); COMMIT", ""),
    ("present", "BEGIN; SELECT fencing.present({a}); INSERT INTO t VALUES (1); ROLLBACK", ""),
    ("maintain", "BEGIN; SELECT fencing.maintain('a test'); INSERT INTO t VALUES (2); COMMIT", ""),
    ("protect", "SELECT fencing.protect('u', 'jobs', key => 'a')", ""),
    ("alter_guard", "SELECT fencing.alter_guard('u', on_missing => 'admit')", ""),
    ("enforcement_gaps", "SELECT count(*) > 0 FROM fencing.enforcement_gaps()", "t"),
    ("prove_guard", "SELECT verdict FROM fencing.prove_guard('t')", "rejected"),
    ("unprotect", "SELECT fencing.unprotect('u')", ""),
    ("request_handover", "SELECT fencing.request_handover('jobs', 'a')", "t"),
    ("report", "SELECT fencing.report({a}, 'worker_stopped', '{}')", ""),
    ("blockers", "SELECT count(*) FROM fencing.blockers('jobs', 'a')", "0"),
    ("evict", "SELECT count(*) FROM fencing.evict('jobs', 'free')", "0"),
    ("acquire", "SELECT status FROM fencing.acquire('other', 'b', 'y', wait => '10 ms')", "held"),
    ("acquire", "SELECT status FROM fencing.acquire('other', 'bound', 'y', bind_session => true)", "granted"),
    ("revoke", "SELECT fencing.revoke('other', 'bound', 'a test')", "revoked"),
    ("drop_lease", "SELECT fencing.drop_lease('other', 'bound')", "deleted"),
    ("purge_leases", "SELECT fencing.purge_leases('1 h')", "0"),
    ("revoke_namespace", "SELECT fencing.revoke_namespace('other', 'worker', 'hold')", ""),
    ("release", "SELECT fencing.release(token) FROM fencing.lease WHERE key = 'b'", "released"),
    ("drop_namespace", "SELECT fencing.drop_namespace('other')", ""),
    ("begin_epoch_transition", "BEGIN; SELECT fencing.begin_epoch_transition('a test'); ROLLBACK", ""),
    ("unresolved", "SELECT count(*) FROM fencing.unresolved()", "0"),
    (
        "open_epoch",
        "BEGIN; SELECT fencing.begin_epoch_transition('a test'); SELECT fencing.open_epoch('a test') > 0; ROLLBACK",
        "t",
    ),
    ("install_local", "SELECT fencing.install_local('t')", ""),
    ("prove_epoch", "SELECT fencing.prove_epoch('t')", ""),
    ("resume", "SELECT fencing.resume('t')", ""),
    ("advance_epoch", "SELECT fencing.advance_epoch('a test') > 0", "t"),
    ("lineage", "SELECT verdict FROM fencing.lineage()", "same"),
    ("register_coordinator", "SELECT fencing.register_coordinator('etcd', 'etcd', 'x')", ""),
    ("install_epoch", "SELECT fencing.install_epoch('etcd', 1, '00000000-0000-4000-8000-000000000001')", ""),
    ("seal", "SELECT fencing.seal('etcd', 'jobs', 'a', fencing.make_token(1, 1))", ""),
    ("coordinators", "SELECT state FROM fencing.coordinators()", "open"),
    ("purge_fences", "SELECT fencing.purge_fences('etcd', '1 h')", "0"),
    ("drop_coordinator", "SELECT fencing.drop_coordinator('etcd')", ""),
];

/// What is called by the extension itself alone.
const INTERNAL: &[&str] = &[
    "base_type",
    "guard_definition",
    "keep_guard",
    "note_proof",
    "present_stale",
    "prove_tables",
    "sample_insert",
    "should_be_guarded",
    "tables_to_prove",
    "watch_command",
];

struct Scene {
    // The pooler ends before its server.
    pooler: Pooler,
    cluster: Cluster,
    token: i64,
}

/// `t` is guarded by lease `a`, which is held, and `inline` too, with an inline column.
fn scene(connections: usize) -> Scene {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '30 min');
         CREATE ROLE worker LOGIN;
         SELECT fencing.grant_namespace('jobs', 'worker', 'hold');
         CREATE TABLE t (v int); CREATE TABLE u (v int);
         CREATE TABLE inline (id int PRIMARY KEY, v int, fence bigint);
         INSERT INTO inline VALUES (1, 0);
         SELECT fencing.protect('t', 'jobs', key => 'a');
         SELECT fencing.protect('inline', 'jobs', key => 'a', present_column => 'fence');
         GRANT ALL ON t, inline TO worker",
    );
    let token = session.acquire("a", "x").granted();
    Scene { pooler: Pooler::start(&cluster, connections), cluster, token }
}

/// Sends statements one by one; what the last of them says that says anything, in one column.
fn say(client: &mut Client, statements: &str) -> String {
    let mut said = Vec::new();
    for statement in statements.split("; ") {
        let messages = client.simple_query(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        let value = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
            _ => None,
        };
        let values: Vec<String> = messages.iter().filter_map(value).collect();
        if !values.is_empty() {
            said = values;
        }
    }
    said.join(" ")
}

/// What a connection remembers: settings, locks, prepared statements, channels, temporary tables.
fn state(client: &mut Client) -> String {
    say(
        client,
        "SELECT string_agg(x, E'\\n' ORDER BY x) FROM (
             SELECT format('%s=%s', name, setting) FROM pg_settings WHERE name NOT LIKE 'transaction%'
             UNION ALL SELECT format('lock %s %s', locktype, mode) FROM pg_locks
                        WHERE pid = pg_backend_pid() AND locktype NOT IN ('virtualxid', 'relation')
             UNION ALL SELECT format('prepared %s', name) FROM pg_prepared_statements
             UNION ALL SELECT format('channel %s', c) FROM pg_listening_channels() AS c
             UNION ALL SELECT format('temporary %s', oid) FROM pg_class WHERE relpersistence = 't') AS s (x)",
    )
}

/// The next client, on the same connection, which presents nothing.
fn next_is_refused(client: &mut Client, after: &str) {
    for write in ["INSERT INTO t VALUES (3)", "UPDATE inline SET v = 3", "BEGIN; DELETE FROM t"] {
        assert_eq!(client.code(write), "LF002", "{write}, after {after}");
        client.run("ROLLBACK");
    }
}

/// All clients share one connection. What each call leaves behind, the next would find.
#[test]
fn every_function_leaves_nothing_behind() {
    let scene = scene(1);
    let (mut one, mut two) = (scene.pooler.connect(), scene.pooler.connect());
    let pid = |client: &mut Client| say(client, "SELECT pg_backend_pid()");
    assert_eq!(pid(&mut one), pid(&mut two), "one connection for both");
    // Whatever is loaded once.
    say(&mut two, "SELECT fencing.make_token(1, 1); DO 'BEGIN END'");
    next_is_refused(&mut two, "nothing");
    for (name, statements, said) in API {
        let before = state(&mut two);
        assert_eq!(say(&mut one, &statements.replace("{a}", &scene.token.to_string())), *said, "{statements}");
        assert_eq!(state(&mut two), before, "left behind by {name}: {statements}");
        next_is_refused(&mut two, statements);
    }
    assert_eq!(say(&mut two, "SELECT v FROM t ORDER BY v"), "1 2");
}

#[test]
fn every_function_is_called() {
    let scene = scene(1);
    let called: BTreeSet<String> = API.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let internal: BTreeSet<String> = INTERNAL.iter().map(|name| (*name).to_owned()).collect();
    let mut session = scene.cluster.connect();
    let sql = "SELECT DISTINCT proname::text FROM pg_proc
                WHERE pronamespace = 'fencing'::regnamespace AND has_function_privilege('worker', oid, 'EXECUTE')";
    let known: BTreeSet<String> = session.query(sql, &[]).expect("functions").iter().map(|row| row.get(0)).collect();
    assert_eq!(known, &called | &internal);
}

/// A term's life, each statement by another client, on another connection.
#[test]
fn a_term_belongs_to_no_connection() {
    let scene = scene(3);
    let mut clients: Vec<Client> = (0..6).map(|_| scene.pooler.connect_as("worker")).collect();
    // Whose transactions keep a connection each, so that there are several.
    clients[..3].iter_mut().for_each(|client| client.run("BEGIN; SELECT 1"));
    clients[..3].iter_mut().for_each(|client| client.run("COMMIT"));
    let mut seen = BTreeSet::new();
    let mut turn = 0;
    let mut next = |sql: &str| {
        turn += 1;
        let client = &mut clients[turn % 6];
        seen.insert(say(client, "SELECT pg_backend_pid()"));
        say(client, sql)
    };
    for round in 0..10 {
        let token = next("SELECT token FROM fencing.acquire('jobs', 'life', 'w')");
        assert_eq!(next(&format!("SELECT status FROM fencing.renew({token})")), "renewed", "{round}");
        assert_eq!(next(&format!("SELECT status FROM fencing.renew_all(ARRAY[{token}])")), "renewed");
        assert_eq!(next(&format!("SELECT fencing.check_token({token})")), "current");
        assert_eq!(next("SELECT status FROM fencing.acquire('jobs', 'life', 'w')"), "held");
        assert_eq!(next(&format!("SELECT fencing.release({token})")), "released");
        assert_eq!(next(&format!("SELECT status FROM fencing.renew({token})")), "released");
    }
    // A request whose reply was lost is asked for again elsewhere.
    let ask =
        "SELECT token FROM fencing.acquire('jobs', 'asked', 'w', request_id => '00000000-0000-0000-0000-000000000001')";
    assert_eq!(next(ask), next(ask));
    assert_eq!(seen.len(), 3, "{seen:?}");
}

/// With parameters, as drivers send them: unnamed, in one message with the call.
#[test]
fn unnamed_statements() {
    let scene = scene(2);
    let (mut one, mut two) = (scene.pooler.connect(), scene.pooler.connect());
    for round in 0..20 {
        let client = if round % 2 == 0 { &mut one } else { &mut two };
        let key = format!("key-{round}");
        let acquire = "SELECT status, token FROM fencing.acquire('jobs', $1, $2)";
        let row = client.query_typed_one(acquire, &[(&key, Type::TEXT), (&"x", Type::TEXT)]).expect("acquire");
        let (status, token): (String, i64) = (row.get(0), row.get(1));
        assert_eq!(status, "granted");
        let parameter: (&(dyn ToSql + Sync), Type) = (&token, Type::INT8);
        let status = |client: &mut Client, sql: &str| -> String {
            client.query_typed_one(sql, std::slice::from_ref(&parameter)).expect("an answer").get(0)
        };
        assert_eq!(status(client, "SELECT status FROM fencing.renew($1)"), "renewed");
        let write = "UPDATE inline SET v = v + 1, fence = $1 WHERE id = 1";
        let own: (&(dyn ToSql + Sync), Type) = (&scene.token, Type::INT8);
        client.query_typed(write, &[own]).expect("the write");
        let refused = client.query_typed(write, std::slice::from_ref(&parameter)).expect_err("another lease's token");
        assert_eq!(refused.code().map(|code| code.code()), Some("LF004"));
        next_is_refused(client, "unnamed statements");
        let client = if round % 2 == 0 { &mut two } else { &mut one };
        assert_eq!(status(client, "SELECT fencing.release($1)"), "released");
    }
    assert_eq!(say(&mut one, "SELECT v FROM inline"), "20");
}

/// Named ones: from PgBouncer 1.21 on they follow the client from connection to connection. Before,
/// they are good within a transaction, where there is one connection.
#[test]
fn prepared_statements() {
    let scene = scene(2);
    let mut clients = [scene.pooler.connect(), scene.pooler.connect()];
    let calls = [
        ("SELECT status FROM fencing.renew($1)", "renewed"),
        ("SELECT status FROM fencing.renew_all(ARRAY[$1::bigint])", "renewed"),
        ("SELECT fencing.check_token($1)", "current"),
        ("UPDATE inline SET v = v + 1, fence = $1 WHERE id = 1 RETURNING 'written'", "written"),
    ];
    if scene.pooler.knows_prepared_statements() {
        let prepared = clients.each_mut().map(|client| calls.map(|(sql, _)| client.prepare(sql).expect("a statement")));
        for _ in 0..10 {
            for (client, statements) in clients.iter_mut().zip(&prepared) {
                for (statement, (_, said)) in statements.iter().zip(calls) {
                    let answer: String = client.query_one(statement, &[&scene.token]).expect("an answer").get(0);
                    assert_eq!(answer, said);
                }
                next_is_refused(client, "prepared statements");
            }
        }
        return;
    }
    for _ in 0..3 {
        for client in &mut clients {
            let mut block = client.transaction().expect("BEGIN");
            for (sql, said) in calls {
                let statement = block.prepare(sql).expect("a statement");
                for _ in 0..2 {
                    let answer: String = block.query_one(&statement, &[&scene.token]).expect("an answer").get(0);
                    assert_eq!(answer, said);
                }
            }
            // Names are the connection's: the next client's are the same.
            block.batch_execute("DEALLOCATE ALL").expect("DEALLOCATE");
            block.commit().expect("COMMIT");
            next_is_refused(client, "prepared statements");
        }
    }
}

/// A client that goes in the middle of its transaction takes along what it presented and held.
#[test]
fn a_client_that_is_gone() {
    let scene = scene(1);
    let mut one = scene.pooler.connect();
    one.run(&format!("BEGIN; SELECT fencing.present({}); INSERT INTO t VALUES (9)", scene.token));
    drop(one);
    let mut two = scene.pooler.connect();
    next_is_refused(&mut two, "a lost client");
    assert_eq!(say(&mut two, "SELECT count(*) FROM t"), "0");
    let free = "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'";
    until("its locks' end", || say(&mut two, free) == "t");
    // A session's own settings would be the next client's; these are the transaction's.
    let take = "BEGIN; SET LOCAL fencing.test_clock_offset = '1 h'; SET LOCAL fencing.acquire_in_block = on; \
                SELECT status FROM fencing.acquire('jobs', 'a', 'y'); COMMIT";
    assert_eq!(say(&mut two, take), "granted");
}

/// Under the load of pgbench, in its three ways to send a statement.
#[test]
fn under_load() {
    let scene = scene(4);
    let mut session = scene.cluster.connect();
    let script = scene.cluster.scratch().join("life.sql");
    std::fs::write(
        &script,
        "\\set n random(1, 1000000000)
         SELECT token FROM fencing.acquire('jobs', 'load-' || :n::text, 'x') \\gset
         SELECT status FROM fencing.renew(:token);
         SELECT fencing.release(:token);
        ",
    )
    .expect("a script");
    let modes: &[&str] = if scene.pooler.knows_prepared_statements() {
        &["simple", "extended", "prepared"]
    } else {
        &["simple", "extended"]
    };
    for mode in modes {
        let mut pgbench = scene.cluster.program("pgbench");
        pgbench
            .args(["-n", "-c", "16", "-j", "2", "-t", "40", "-p", "6432", "-M", mode, "-f"])
            .arg(&script)
            .arg("postgres");
        run(&mut pgbench);
    }
    let lives = 16 * 40 * modes.len() as i64;
    let terms = "SELECT count(*) FROM fencing.term WHERE key ~ '^load' AND end_reason = 'released' AND last_renewed_at > acquired_at";
    assert_eq!(session.get::<i64>(terms), lives);
}
