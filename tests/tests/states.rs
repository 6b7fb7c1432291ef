//! The state table of `fencing-core` against a server: every call in every state, what it answers, what
//! `check_token` and `inspect` say afterwards, and what was recorded.

use fencing_core::states::{Call, Name, Row, STATES, State};
use fencing_tests::cluster::until;
use fencing_tests::{Cluster, Sql};
use postgres::{Client, SimpleQueryMessage};

/// Where, and when, a lease is made what a state says.
fn namespace(state: Name) -> &'static str {
    match state {
        Name::ExpiredAccepting => "accepting",
        Name::ReleasedEphemeral => "ephemeral",
        Name::MinHold => "min_hold",
        Name::CoolingDown => "cool_down",
        _ => "jobs",
    }
}

struct Scene {
    cluster: Cluster,
    database: String,
    /// A superuser.
    judge: Client,
}

/// A lease, its token, and whoever has something of it open meanwhile.
struct Lease {
    state: Name,
    key: String,
    token: i64,
    other: Option<Client>,
}

impl Scene {
    fn new(cluster: Cluster, database: &str) -> Scene {
        let mut judge = cluster.connect_as("postgres", "postgres");
        if database != "postgres" {
            judge.run(&format!("CREATE DATABASE {database}"));
            judge = cluster.connect_as("postgres", database);
            judge.run("CREATE EXTENSION fencing");
        } else {
            judge.run("CREATE ROLE owner; CREATE ROLE stranger");
        }
        judge.run(
            "SELECT fencing.create_namespace('jobs', '3 h', '1 day');
             SELECT fencing.create_namespace('accepting', '3 h', '1 day', on_expiry => 'accept_until_superseded');
             SELECT fencing.create_namespace('ephemeral', '3 h', '1 day', ephemeral => true);
             SELECT fencing.create_namespace('min_hold', '3 h', '1 day', min_hold => '2 h');
             SELECT fencing.create_namespace('cool_down', '3 h', '1 day', cool_down => '2 h');
             SELECT fencing.grant_namespace('jobs', 'owner', 'hold'), fencing.grant_namespace('jobs', 'stranger', 'hold')",
        );
        for namespace in ["jobs", "accepting", "ephemeral", "min_hold", "cool_down"] {
            judge.run(&format!(
                "CREATE TABLE {namespace} (k text); GRANT INSERT ON {namespace} TO PUBLIC;
                 SELECT fencing.protect('{namespace}', '{namespace}', key_columns => '{{k}}')"
            ));
        }
        Scene { cluster, database: database.to_owned(), judge }
    }

    fn connect(&self) -> Client {
        self.cluster.connect_as("postgres", &self.database)
    }

    /// A session whose clock is an hour behind.
    fn an_hour_ago(&self) -> Client {
        let mut session = self.connect();
        session.run("SET fencing.test_clock_offset = '-1 h'");
        session
    }

    /// A lease in that state, of a key of its own.
    fn lease(&mut self, state: Name, call: Call) -> Lease {
        let key = format!("{state:?} {call:?}");
        let namespace = namespace(state);
        let acquire = |ttl: &str, more: &str| {
            format!(
                "SELECT token FROM fencing.acquire('{namespace}', '{key}', 'first', ttl => '{ttl}',
                     request_id => md5('{key}')::uuid{more})"
            )
        };
        let mut other = None;
        let mut late = self.an_hour_ago();
        let judge = &mut self.judge;
        let token = match state {
            Name::NeverGranted => judge.get("SELECT fencing.make_token(max(epoch), 1) FROM fencing.epoch"),
            Name::Expired
            | Name::ExpiredAccepting
            | Name::CoolingDown
            | Name::Superseded
            | Name::Blocked
            | Name::EpochLapsed => late.get(&acquire("30 min", "")),
            Name::RevocationDue => late.get(&acquire("3 h", "")),
            Name::HeldByAnotherRole => {
                late.run("RESET fencing.test_clock_offset; SET ROLE owner");
                late.get(&acquire("3 h", ""))
            }
            Name::SessionLost | Name::SessionCrashed => {
                late.run("RESET fencing.test_clock_offset");
                if state == Name::SessionCrashed {
                    late.run("SET fencing.test_without = 'session_record'");
                }
                late.get(&acquire("3 h", ", bind_session => true"))
            }
            _ => judge.get::<i64>(&acquire("3 h", "")),
        };
        let revoke = |grace: &str| format!("SELECT fencing.revoke('{namespace}', '{key}', 'a test', '{grace}')");
        match state {
            Name::Superseded => judge.run(&format!("SELECT fencing.acquire('{namespace}', '{key}', 'next')")),
            Name::Released | Name::ReleasedEphemeral | Name::MinHold => {
                judge.run(&format!("SELECT fencing.release({token})"));
            }
            Name::BeingChanged => {
                let mut session = self.connect();
                session.run(&format!("BEGIN; SELECT fencing.renew({token})"));
                other = Some(session);
            }
            Name::Blocked => {
                late.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO {namespace} VALUES ('{key}')"));
                other = Some(late);
            }
            Name::Revoking => judge.run(&revoke("1 h")),
            Name::RevocationDue => late.run(&revoke("10 min")),
            Name::Revoked => judge.run(&revoke("0")),
            Name::Deleted => judge.run(&format!("SELECT fencing.drop_lease('{namespace}', '{key}')")),
            Name::SessionLost | Name::SessionCrashed => {
                let pid: i32 = late.get("SELECT pg_backend_pid()");
                drop(late);
                let gone = format!("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = {pid})");
                until("the session's end", || judge.get(&gone));
            }
            _ => {}
        }
        Lease { state, key, token, other }
    }

    /// What `check_token` and `inspect` say.
    fn standing(&mut self, lease: &Lease) -> (String, String) {
        let (namespace, Lease { key, token, .. }) = (namespace(lease.state), lease);
        let row = self
            .judge
            .query_one(
                &format!("SELECT fencing.check_token({token}), state FROM fencing.inspect('{namespace}', '{key}')"),
                &[],
            )
            .expect("an answer");
        (row.get(0), row.get(1))
    }

    /// What is recorded of a lease: each thing with what tells it from others of its kind.
    fn records(&mut self, lease: &Lease) -> Vec<(String, String)> {
        let sql = "
            SELECT 'term', token::text FROM fencing.term WHERE key = $1
            UNION ALL SELECT 'term.end_reason = ' || end_reason, token::text FROM fencing.term WHERE key = $1 AND end_reason IS NOT NULL
            UNION ALL SELECT 'term.ended_by', token::text FROM fencing.term WHERE key = $1 AND end_reason IS NULL AND ended_by IS NOT NULL
            UNION ALL SELECT 'term.superseded_by', token::text FROM fencing.term WHERE key = $1 AND superseded_by IS NOT NULL
            UNION ALL SELECT 'lease.renewed_at', renewed_at::text FROM fencing.lease WHERE key = $1 AND renewed_at <> acquired_at
            UNION ALL SELECT 'lease.revoke_at', revoke_at::text FROM fencing.lease WHERE key = $1 AND revoke_at <> 'infinity'
            UNION ALL SELECT 'lease.handover_requested', token::text FROM fencing.lease WHERE key = $1 AND handover_requested
            UNION ALL SELECT 'event ' || kind, id::text FROM fencing.event WHERE key = $1";
        let rows = self.judge.query(sql, &[&lease.key]).expect("records");
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    fn check(&mut self, state: &State, row: &Row, lease: &mut Lease) {
        let what = format!("{:?} in {:?}", row.call, state.name);
        let (before, recorded) = (self.standing(lease), self.records(lease));
        let mut caller = self.connect();
        if state.name == Name::HeldByAnotherRole {
            caller.run("SET ROLE stranger");
        }
        assert_eq!(answer(&mut caller, &statement(row.call, lease)), row.answer, "{what}");
        let then = row.then.map_or(before, |(token, lease)| (token.to_owned(), lease.to_owned()));
        assert_eq!(self.standing(lease), then, "after {what}");
        let now = self.records(lease).into_iter().filter(|record| !recorded.contains(record));
        let mut new: Vec<String> = now.map(|(kind, _)| kind).collect();
        let mut expected: Vec<&str> = row.records.to_vec();
        new.sort_unstable();
        expected.sort_unstable();
        assert_eq!(new, expected, "recorded by {what}");
        // Ended from outside, it is no client any more.
        drop(lease.other.take());
    }
}

fn statement(call: Call, lease: &Lease) -> String {
    let (namespace, Lease { key, token, .. }) = (namespace(lease.state), lease);
    match call {
        Call::Acquire => format!("SELECT status FROM fencing.acquire('{namespace}', '{key}', 'caller')"),
        Call::AcquireAgain => {
            format!(
                "SELECT status FROM fencing.acquire('{namespace}', '{key}', 'caller', request_id => md5('{key}')::uuid)"
            )
        }
        Call::Renew => format!("SELECT status FROM fencing.renew({token})"),
        Call::RenewAll => format!("SELECT status FROM fencing.renew_all(ARRAY[{token}])"),
        Call::Release => format!("SELECT fencing.release({token})"),
        Call::CheckToken => format!("SELECT fencing.check_token({token})"),
        Call::Inspect => format!("SELECT state FROM fencing.inspect('{namespace}', '{key}')"),
        Call::Write => {
            format!(
                "BEGIN; SELECT fencing.present({token}); INSERT INTO {namespace} VALUES ('{key}'); COMMIT; SELECT 'accepted'"
            )
        }
        Call::Revoke => format!("SELECT fencing.revoke('{namespace}', '{key}', 'a test')"),
        Call::RevokeWithGrace => format!("SELECT fencing.revoke('{namespace}', '{key}', 'a test', '2 h')"),
        Call::RequestHandover => format!("SELECT fencing.request_handover('{namespace}', '{key}')::text"),
        Call::DropLease => format!("SELECT fencing.drop_lease('{namespace}', '{key}')"),
        Call::Evict => format!("SELECT coalesce(max(status), 'nobody') FROM fencing.evict('{namespace}', '{key}')"),
    }
}

/// The last value that statements give, or the SQLSTATE of their error.
fn answer(caller: &mut Client, statements: &str) -> String {
    let mut value = None;
    // One by one: what is sent in one message shares a transaction.
    for statement in statements.split("; ") {
        match caller.simple_query(statement) {
            Ok(messages) => {
                for message in messages {
                    if let SimpleQueryMessage::Row(row) = message {
                        value = row.get(0).map(str::to_owned);
                    }
                }
            }
            Err(error) => return caller.refusal(statement, &error).code().code().to_owned(),
        }
    }
    value.expect("an answer")
}

#[test]
fn every_call_in_every_state() {
    let mut scene = Scene::new(Cluster::with(&["fencing.max_wait=200ms"]), "postgres");
    let of_one_epoch = |state: &&State| !matches!(state.name, Name::EpochClosed | Name::EpochLapsed | Name::Closed);
    let mut calls = 0;
    for state in STATES.iter().filter(of_one_epoch) {
        for row in state.rows {
            let mut lease = scene.lease(state.name, row.call);
            scene.check(state, row, &mut lease);
            calls += 1;
        }
    }
    println!("{calls} calls");
}

/// Epochs are the whole database's: leases first, then the next epoch.
#[test]
fn every_call_once_the_epoch_is_over() {
    let mut cluster = Some(Cluster::new());
    let advance = "SELECT fencing.advance_epoch('a test')";
    let begin = "SELECT fencing.begin_epoch_transition('a test')";
    for (database, names, step) in
        [("postgres", &[Name::EpochClosed, Name::EpochLapsed][..], advance), ("closed", &[Name::Closed], begin)]
    {
        let mut scene = Scene::new(cluster.take().expect("a cluster"), database);
        let states: Vec<&State> = STATES.iter().filter(|state| names.contains(&state.name)).collect();
        let calls = states.into_iter().flat_map(|state| state.rows.iter().map(move |row| (state, row)));
        let mut leases: Vec<_> = calls.map(|(state, row)| (state, row, scene.lease(state.name, row.call))).collect();
        scene.judge.run(step);
        for (state, row, lease) in &mut leases {
            scene.check(state, row, lease);
        }
        cluster = Some(scene.cluster);
    }
}
