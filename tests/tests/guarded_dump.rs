//! Guards in a dump: a restored database is guarded as its original was, on every partition, and a
//! restore meets no error and no warning on the way. And docs/restore.md, as it is written.

use fencing_tests::cluster::run;
use fencing_tests::{Cluster, Sql, doc};
use postgres::Client;
use std::process::{Command, Output};

struct Scene {
    cluster: Cluster,
    session: Client,
    /// Of the leases `a` and `b`.
    a: i64,
    b: i64,
}

/// Every kind of guarded table.
const TABLES: [&str; 9] = ["plain", "keyed", "loaded", "parted", "part_a", "part_b1", "base", "heir", "late_heir"];

fn scene() -> Scene {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '10 min', on_expiry => 'accept_until_superseded');
         CREATE TABLE plain (id int PRIMARY KEY, v text, fence bigint, seen bigint);
         CREATE TABLE keyed (k text, v int);
         CREATE TABLE loaded (k text, v int);
         CREATE TABLE parted (k text, v int) PARTITION BY LIST (k);
         CREATE TABLE part_a PARTITION OF parted FOR VALUES IN ('a');
         CREATE TABLE part_b PARTITION OF parted FOR VALUES IN ('b') PARTITION BY RANGE (v);
         CREATE TABLE part_b1 PARTITION OF part_b FOR VALUES FROM (0) TO (10);
         CREATE TABLE base (k text, v int);
         CREATE TABLE heir (x int) INHERITS (base);
         SELECT fencing.protect('base', 'jobs', key => 'a');
         CREATE TABLE late_heir () INHERITS (heir);
         SELECT fencing.protect('plain', 'jobs', key => 'a', present_column => 'fence', token_column => 'seen');
         SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}');
         SELECT fencing.protect('loaded', 'jobs', key => 'a', level => 'statement');
         SELECT fencing.protect('parted', 'jobs', key_columns => '{k}');
         CREATE TABLE part_b2 PARTITION OF part_b FOR VALUES FROM (10) TO (20);
         CREATE TABLE part_c (v int, k text);
         ALTER TABLE parted ATTACH PARTITION part_c FOR VALUES IN ('c')",
    );
    let (a, b) = (session.acquire("a", "x").granted(), session.acquire("b", "x").granted());
    session.run(&format!(
        "BEGIN; SELECT fencing.present({a}); SELECT fencing.present({b});
         INSERT INTO plain SELECT g, 'row ' || g FROM generate_series(1, 100) AS g;
         INSERT INTO keyed VALUES ('a', 1), ('b', 1);
         INSERT INTO loaded VALUES ('x', 1), ('y', 1);
         INSERT INTO parted VALUES ('a', 1), ('b', 1), ('b', 11);
         INSERT INTO base VALUES ('x', 1);
         INSERT INTO late_heir VALUES ('y', 2, 3);
         COMMIT"
    ));
    session.run("CREATE DATABASE copy TEMPLATE template0");
    Scene { cluster, session, a, b }
}

/// Every trigger of a guard, with its state; any partition has its parent's.
const TRIGGERS: &str = "SELECT string_agg(concat_ws(' ', tgrelid::regclass, tgname, tgenabled, tgtype), '|'
                                  ORDER BY tgrelid::regclass::text, tgname)
                          FROM pg_trigger WHERE tgname LIKE '~fencing%'";
const WEAKENED: &str = "SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~fencing%' AND tgenabled <> 'A'";
const UNGUARDED: &str = "SELECT count(*) FROM pg_class AS c
    WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
      AND (SELECT count(*) FROM pg_trigger WHERE tgrelid = c.oid AND tgname LIKE '~fencing%') < 2";
const ROWS: &str = "SELECT concat_ws('|', (SELECT md5(string_agg(p::text, ' ' ORDER BY id)) FROM plain AS p),
    (SELECT string_agg(k::text, ' ' ORDER BY k, v) FROM keyed AS k),
    (SELECT string_agg(l::text, ' ' ORDER BY k, v) FROM loaded AS l),
    (SELECT string_agg(p::text || tableoid::regclass, ' ' ORDER BY k, v) FROM parted AS p),
    (SELECT string_agg(b::text || tableoid::regclass, ' ' ORDER BY k, v) FROM base AS b))";
const GUARDS: &str = "SELECT string_agg(g::text, '|' ORDER BY g::text) FROM fencing.guards AS g";
const RECORDED: &str = "SELECT string_agg(g::text, '|' ORDER BY g::text) FROM fencing.guarded AS g";

/// What enforcement_gaps() finds, apart from notes.
const GAPS: &str = "SELECT coalesce(string_agg(concat_ws(' ', relation, severity, gap, remedy), '|'), '')
    FROM fencing.enforcement_gaps() WHERE severity <> 'note'";

impl Scene {
    fn program(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = self.cluster.program(name);
        command.args(arguments);
        command
    }

    /// Runs a program that must succeed without a word.
    fn silently(&self, name: &str, arguments: &[&str]) {
        let output = self.program(name, arguments).output().expect(name);
        let said = text(&output);
        assert!(output.status.success() && said.is_empty(), "{name} {arguments:?}: {}\n{said}", output.status);
    }

    fn copy(&self) -> Client {
        self.cluster.connect_as("postgres", "copy")
    }

    /// The copy is guarded as the original is, and has its rows.
    fn is_guarded(&mut self, rows: bool) {
        let mut copy = self.copy();
        assert_eq!(copy.get::<i64>(WEAKENED), 0);
        assert_eq!(copy.get::<i64>(UNGUARDED), 0);
        for what in [TRIGGERS, GUARDS].into_iter().chain(rows.then_some([RECORDED, ROWS, GAPS]).into_iter().flatten()) {
            assert_eq!(copy.get::<String>(what), self.session.get::<String>(what), "{what}");
        }
        // Without rows it has no namespace, which is all that it lacks.
        let other = "SELECT count(*) FROM fencing.enforcement_gaps()
                      WHERE severity <> 'note' AND gap <> 'missing_namespace'";
        assert_eq!(copy.get::<i64>(other), 0);
        for table in TABLES {
            let refused = copy.code(&format!("TRUNCATE {table}"));
            assert_ne!(refused, "00000", "TRUNCATE {table}");
            // A copy without rows knows of no namespace; one whose lineage is compared is closed.
            let clear = ["LF002", "LF006", "LF007", "42704"].contains(&refused.as_str());
            assert!(clear, "TRUNCATE {table}: {refused}");
            let refused = copy.code(&format!("UPDATE {table} SET v = v; INSERT INTO {table} (v) VALUES (NULL)"));
            assert_ne!(refused, "00000", "writing {table}");
        }
    }

    /// An empty guarded original, with its rows in `dump`.
    fn emptied(&mut self) {
        run(&mut self.program("pg_dump", &["-Fc", "--exclude-schema=fencing", "-f", "dump", "postgres"]));
        let (a, b) = (self.a, self.b);
        self.session.run(&format!(
            "BEGIN; SELECT fencing.present({a}); SELECT fencing.present({b});
             TRUNCATE plain, loaded, base; DELETE FROM keyed; DELETE FROM parted; COMMIT"
        ));
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn plain_sql() {
    let mut scene = scene();
    scene.silently("pg_dump", &["-f", "dump.sql", "postgres"]);
    scene.silently("psql", &["-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-d", "copy", "-f", "dump.sql"]);
    scene.is_guarded(true);
}

#[test]
fn parallel_and_in_one_transaction() {
    let mut scene = scene();
    scene.silently("pg_dump", &["-Fc", "-f", "dump", "postgres"]);
    for how in ["-j2", "-1"] {
        scene.session.run("DROP DATABASE copy");
        scene.session.run("CREATE DATABASE copy TEMPLATE template0");
        scene.silently("pg_restore", &[how, "--exit-on-error", "-d", "copy", "dump"]);
        scene.is_guarded(true);
    }
}

#[test]
fn in_sections() {
    let mut scene = scene();
    scene.silently("pg_dump", &["-Fd", "-j2", "-f", "dump", "postgres"]);
    for section in ["pre-data", "data", "post-data"] {
        scene.silently("pg_restore", &["--exit-on-error", "--section", section, "-d", "copy", "dump"]);
    }
    scene.is_guarded(true);
}

#[test]
fn schema_only() {
    let mut scene = scene();
    scene.silently("pg_dump", &["-Fc", "--schema-only", "-f", "dump", "postgres"]);
    scene.silently("pg_restore", &["-j2", "--exit-on-error", "-d", "copy", "dump"]);
    scene.is_guarded(false);
}

/// Over what is there already, dropped first.
#[test]
fn clean() {
    let mut scene = scene();
    scene.silently("pg_dump", &["-Fc", "-f", "dump", "postgres"]);
    scene.silently("pg_restore", &["--exit-on-error", "-d", "copy", "dump"]);
    scene.silently("pg_restore", &["--clean", "--exit-on-error", "-d", "copy", "dump"]);
    scene.is_guarded(true);
}

/// Rows into a table that is guarded already are writes like any.
#[test]
fn data_only_is_refused() {
    let mut scene = scene();
    scene.emptied();
    for table in ["plain", "keyed", "loaded", "part_a", "part_b1", "base", "late_heir"] {
        let restore = ["--data-only", "--exit-on-error", "-t", table, "-d", "postgres", "dump"];
        let output = scene.program("pg_restore", &restore).output().expect("pg_restore");
        let said = text(&output);
        assert!(!output.status.success() && said.contains("no fencing token presented for table"), "{table}: {said}");
    }
    assert_eq!(scene.session.get::<String>(ROWS), "");
}

/// In one transaction with what opens the guard: for a superuser, and for whoever holds the leases.
#[test]
fn data_only_under_maintenance_or_tokens() {
    let mut scene = scene();
    let (a, b) = (scene.a, scene.b);
    let rows: String = scene.session.get(ROWS);
    let opened = ["maintain('restore')".to_owned(), format!("present_all('{{{a},{b}}}')")];
    for (n, opened) in opened.into_iter().enumerate() {
        scene.emptied();
        let load = |opened: &str| {
            let psql = "psql -X -1 -q -o /dev/null -v ON_ERROR_STOP=1 -d postgres";
            let line = format!("pg_restore --data-only -f - dump | {psql} -c \"SELECT fencing.{opened}\" -f -");
            scene.cluster.shell(&line).output().expect("sh")
        };
        // Nothing of it, if one of the tokens is missing.
        let refused = load(&format!("present({a})"));
        assert!(text(&refused).contains("unknown term for table"), "{}", text(&refused));
        assert_eq!(scene.session.get::<i64>("SELECT count(*) FROM loaded"), 0);
        let output = load(&opened);
        assert!(output.status.success() && output.stderr.is_empty(), "{opened}: {}", text(&output));
        // Stamped anew, or not at all.
        let stamps = "SELECT coalesce(min(seen), 0) + count(seen) FROM plain";
        assert_eq!(scene.session.get::<i64>(stamps), [0, a + 100][n]);
        if n == 1 {
            assert_eq!(scene.session.get::<String>(ROWS), rows);
        }
        assert_eq!(scene.session.get::<i64>(WEAKENED), 0);
        assert_eq!(scene.session.code("INSERT INTO keyed VALUES ('a', 9)"), "LF002");
    }
    let recorded = "SELECT count(*) FROM fencing.event WHERE kind = 'maintenance' AND detail->>'reason' = 'restore'";
    assert_eq!(scene.session.get::<i64>(recorded), 1);
}

/// Disabled and enabled, a guard no longer fires in every session; put right in the same transaction,
/// nobody else met it so.
#[test]
fn data_only_with_triggers_disabled() {
    let mut scene = scene();
    let rows: String = scene.session.get(ROWS);
    let triggers: String = scene.session.get(TRIGGERS);
    assert_eq!(scene.session.get::<String>(GAPS), "");
    scene.emptied();
    let restore = ["--data-only", "--disable-triggers", "--exit-on-error", "-d", "postgres", "dump"];
    run(&mut scene.program("pg_restore", &restore));
    assert_eq!(scene.session.get::<String>(ROWS), rows);
    // Each of them is listed, with what mends it.
    let listed =
        "SELECT count(*) FROM fencing.enforcement_gaps() WHERE severity = 'open' AND gap = 'trigger_downgraded'";
    assert!(scene.session.get::<i64>(WEAKENED) > 0);
    assert_eq!(scene.session.get::<i64>(listed), scene.session.get::<i64>(WEAKENED));
    let remedies = "SELECT string_agg(DISTINCT remedy, ' ') FROM fencing.enforcement_gaps() WHERE severity <> 'note'";
    let remedies: String = scene.session.get(remedies);
    scene.session.run(&remedies);
    assert_eq!(scene.session.get::<String>(GAPS), "");
    assert_eq!(scene.session.get::<String>(TRIGGERS), triggers);
}

#[test]
fn as_documented() {
    let cluster = Cluster::new();
    cluster.connect().run("CREATE DATABASE app");
    let mut app = cluster.connect_as("postgres", "app");
    app.run(
        "CREATE EXTENSION fencing;
         SELECT fencing.create_namespace('jobs');
         CREATE TABLE report (id int PRIMARY KEY, body text, fence bigint, written_under bigint);
         SELECT fencing.protect('report', 'jobs', key => 'nightly', present_column => 'fence', token_column => 'written_under')",
    );
    let token: i64 = app.get("SELECT token FROM fencing.acquire('jobs', 'nightly', holder => 'x')");
    app.run(&format!(
        "INSERT INTO report SELECT g, 'report ' || g, {token} FROM generate_series(1, 3) AS g;
         SELECT fencing.release({token})"
    ));
    doc::run(&cluster, include_str!("../../docs/restore.md"));
}
