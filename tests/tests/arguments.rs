//! Every function with every kind of nonsense: an error with a code of its own, never an internal
//! one, never a lost connection.

use fencing_tests::{Cluster, Sql, sql};
use postgres::Client;

/// Values to try for a type, the sensible ones first.
fn values(of: &str, token: i64) -> Vec<String> {
    let list: &[&str] = match of {
        "text" => &[
            "'jobs'",
            "'a'",
            "'hold'",
            "''",
            "repeat('x', 513)",
            "repeat('é', 100000)",
            "E'\\t\\n'",
            "'{\"k\": 1}'",
            "'t'",
            "'postgres'",
            "'A b'",
            "'🔑'",
        ],
        "bigint" => &[
            "@",
            "@ + 1",
            "0",
            "-1",
            "1",
            "9223372036854775807",
            "-9223372036854775808",
            "549755813887",
            "549755813888",
            "16777216",
        ],
        "bigint[]" => &[
            "ARRAY[@]",
            "ARRAY[@, @]",
            "'{}'",
            "'{NULL}'",
            "ARRAY[@, NULL]",
            "ARRAY[@, 0]",
            "'{{1,2},{3,4}}'",
            "'[5:6]={1,2}'",
            "array_fill(9223372036854775807, '{100000}')",
        ],
        "interval" => &[
            "'1 s'",
            "'0'",
            "'-1 s'",
            "'1 us'",
            "'1 month'",
            "'10000 days'",
            "'10001 days'",
            "'178000000 years'",
            "'-178000000 years'",
            "'1 day -24 hours'",
            "'2147483647 days 2147483647 hours'",
        ],
        "boolean" => &["false", "true"],
        "jsonb" => &["'{}'", "'null'", "'[1, {\"a\": \"b\"}]'", "to_jsonb(repeat('x', 9000))"],
        "uuid" => &["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
        "regclass" => &[
            "'t'",
            "'guarded'",
            "'parted'",
            "'part'",
            "'v'",
            "'mv'",
            "'t_pkey'",
            "'s'",
            "'pg_class'",
            "'fencing.lease'",
            "'fencing.guards'",
            "'temporary'",
            "'parent'",
            "'child'",
            "0",
            "4294967295",
            "1",
        ],
        "regrole" => &["'postgres'", "'stranger'", "'pg_monitor'", "0", "4294967295"],
        "name" => &["'fence'", "'v'", "'k'", "''", "'nope'", "'ctid'", "'xmin'", "'generated'", "'dropped'"],
        "name[]" => &[
            "'{k}'",
            "'{k,id}'",
            "'{}'",
            "'{NULL}'",
            "'{k,NULL}'",
            "'{k,k}'",
            "'{{k},{id}}'",
            "'[5:6]={k,id}'",
            "'{ctid}'",
            "'{generated}'",
            "'{\"\"}'",
        ],
        "text[]" => &[
            "(SELECT definition FROM fencing.guarded LIMIT 1)",
            "'{}'",
            "'{NULL}'",
            "'{1,jobs,key,a}'",
            "'{{a,b},{c,d}}'",
            "array_fill('x'::text, '{1000}')",
        ],
        "oid" => &["'t'::regclass", "'guarded'::regclass", "'part'::regclass", "0", "1", "4294967295"],
        "fencing.expiry_rule" => &["'reject'", "'accept_until_superseded'"],
        "fencing.fence_kind" => &["'lease'", "'destination'"],
        "fencing.missing_rule" => &["'reject'", "'admit'"],
        "fencing.guard_mode" => &["'enforce'", "'observe'"],
        "fencing.guard_level" => &["'row'", "'statement'"],
        "\"any\"" => {
            &["1", "'x'::text", "now()", "ARRAY[1]", "ROW(1, 'x')", "'x'", "1.5", "'x'::name", "'\\x00'::bytea"]
        }
        "bytea" => &[
            "(SELECT tgargs FROM pg_trigger WHERE tgrelid = 'guarded'::regclass LIMIT 1)",
            "''",
            "'\\x00'",
            "'\\xff00fe'",
            "decode(repeat('6100', 50), 'hex')",
        ],
        other => panic!("values of {other}, please"),
    };
    let typed = |value: &str| format!("({value})::{of}").replace("::\"any\"", "");
    let null = if of == "\"any\"" { "NULL::text".to_owned() } else { format!("NULL::{of}") };
    list.iter().map(|value| typed(value).replace('@', &token.to_string())).chain([null]).collect()
}

struct Argument {
    /// `name => `; nothing for those of "any".
    label: String,
    values: Vec<String>,
    /// May be left out.
    optional: bool,
}

struct Function {
    name: String,
    arguments: Vec<Argument>,
}

fn functions(session: &mut Client, token: i64) -> Vec<Function> {
    let sql = "SELECT proname::text, ARRAY(SELECT format_type(a, NULL) FROM unnest(proargtypes) AS a),
                      coalesce(proargnames, '{}'), pronargdefaults::int
                 FROM pg_proc WHERE pronamespace = 'fencing'::regnamespace AND prorettype <> 'trigger'::regtype
                  AND prorettype <> 'event_trigger'::regtype AND 'pg_ddl_command'::regtype <> ALL (proargtypes)
                ORDER BY 1";
    let rows = session.query(sql, &[]).unwrap();
    let functions = rows.iter().map(|row| {
        let (types, names): (Vec<String>, Vec<String>) = (row.get(1), row.get(2));
        let required = types.len() - row.get::<_, i32>(3) as usize;
        let arguments = types.iter().enumerate().map(|(n, of)| Argument {
            label: names.get(n).map_or_else(String::new, |name| format!("{name} => ")),
            values: values(of, token),
            optional: n >= required,
        });
        Function { name: row.get(0), arguments: arguments.collect() }
    });
    functions.collect()
}

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A call with that value of each argument, `None` to leave it out.
fn call(function: &Function, choice: impl Fn(usize) -> Option<usize>) -> String {
    let arguments = function.arguments.iter().enumerate();
    let given = arguments
        .filter_map(|(n, argument)| choice(n).map(|value| format!("{}{}", argument.label, argument.values[value])));
    format!("SELECT * FROM fencing.{}({})", function.name, given.collect::<Vec<_>>().join(", "))
}

fn all_null(function: &Function) -> String {
    call(function, |n| Some(function.arguments[n].values.len() - 1))
}

/// Calls with one unusual value, and at random.
fn calls(function: &Function, dice: &mut Dice) -> Vec<String> {
    let arguments = &function.arguments;
    let usual = |n: usize| (!arguments[n].optional || arguments[n].label == "key => ").then_some(0);
    let mut calls = vec![all_null(function)];
    for (at, argument) in arguments.iter().enumerate() {
        for value in 0..argument.values.len() {
            calls.push(call(function, |n| if n == at { Some(value) } else { usual(n) }));
        }
    }
    for _ in 0..200 {
        let choice: Vec<_> = arguments
            .iter()
            .enumerate()
            .map(|(n, argument)| match dice.below(3) {
                0 => Some(dice.below(argument.values.len())),
                1 => Some(0),
                _ => usual(n),
            })
            .collect();
        calls.push(call(function, |n| choice[n]));
    }
    calls
}

fn setup(session: &mut Client) -> i64 {
    session.run(
        "SELECT fencing.create_namespace('jobs');
         CREATE ROLE stranger;
         CREATE TABLE t (id int PRIMARY KEY, k text, v int, fence bigint, dropped int,
                         generated bigint GENERATED ALWAYS AS (id) STORED);
         ALTER TABLE t DROP COLUMN dropped;
         CREATE TABLE guarded (k text, v int, fence bigint);
         CREATE TABLE parted (k text, id int, fence bigint) PARTITION BY LIST (k);
         CREATE TABLE part PARTITION OF parted DEFAULT;
         CREATE TABLE parent (k text);
         CREATE TABLE child () INHERITS (parent);
         CREATE VIEW v AS SELECT * FROM t;
         CREATE MATERIALIZED VIEW mv AS SELECT * FROM t;
         CREATE SEQUENCE s;
         CREATE TEMP TABLE temporary (k text);
         SELECT fencing.protect('guarded', 'jobs', key_columns => '{k}', present_column => 'fence')",
    );
    session.acquire("a", "x").granted()
}

fn check(call: &str, code: &str) {
    assert!(!code.starts_with("XX") && !code.starts_with("P0"), "{call}: {code}");
}

#[test]
fn nothing_is_an_internal_error() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    let token = setup(&mut session);
    let mut dice = Dice(2026);
    let contexts = [
        "BEGIN",
        "BEGIN ISOLATION LEVEL SERIALIZABLE",
        "BEGIN READ ONLY",
        "BEGIN; SAVEPOINT s",
        "BEGIN; SET LOCAL fencing.acquire_in_block = on",
        "BEGIN; SET LOCAL ROLE stranger",
        "BEGIN; SELECT fencing.present(@); SET LOCAL fencing.test_clock_offset = '1 h'",
    ];
    for function in functions(&mut session, token) {
        for call in calls(&function, &mut dice) {
            let context = contexts[dice.below(contexts.len())].replace('@', &token.to_string());
            session.run(&context);
            check(&call, &session.code(&call));
            session.run("ROLLBACK");
        }
    }
    // Those that work alone.
    for function in functions(&mut session, token) {
        let alone = [
            "acquire",
            "renew",
            "release",
            "inspect",
            "check_token",
            "present",
            "present_all",
            "maintain",
            "revoke",
            "request_handover",
            "blockers",
            "evict",
            "drop_lease",
            "purge_leases",
            "report",
        ];
        if alone.contains(&function.name.as_str()) {
            for call in calls(&function, &mut dice) {
                check(&call, &session.code(&call));
            }
        }
    }
    assert_eq!(cluster.connect().acquire("after", "x").status, "granted");
}

/// None is STRICT: NULL where a value is needed is an error, not a NULL.
#[test]
fn null_is_an_error() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    let token = setup(&mut session);
    for function in functions(&mut session, token).iter().filter(|f| !f.arguments.is_empty()) {
        let call = all_null(function);
        let expected = match function.name.as_str() {
            "present" | "present_all" => "LF013",
            "key_of" => "23502",
            // Parts of the watch, which never raises an error, of enforcement_gaps and of prove_guard.
            "keep_guard" | "should_be_guarded" | "base_type" | "qualified_name" | "sample_insert"
            | "tables_to_prove" => "00000",
            _ => "22004",
        };
        assert_eq!(session.code(&call), expected, "{call}");
    }
}

/// What is declared with other arguments, as by a script of another version, is no crash.
#[test]
fn a_declaration_that_does_not_match() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    setup(&mut session);
    session.run("CREATE TYPE row_of_two AS (status text, token bigint)");
    for (arguments, returns, symbol, call) in [
        ("int", "void", "fencing_present", "1"),
        ("", "void", "fencing_present", ""),
        ("bigint", "row_of_two", "fencing_renew", "1"),
        ("text, text", "row_of_two", "fencing_inspect", "'jobs', 'a'"),
        ("text", "text", "fencing_guard_definition", "'x'"),
    ] {
        session.run(&format!(
            "CREATE FUNCTION wrong({arguments}) RETURNS {returns} LANGUAGE c AS '$libdir/fencing', '{symbol}'"
        ));
        assert_eq!(session.code(&format!("SELECT wrong({call})")), "55000", "{symbol}({arguments})");
        session.run(&format!("DROP FUNCTION wrong({arguments})"));
    }
}

/// Trigger functions that somebody attached by hand, out of place or with other arguments.
#[test]
fn triggers_attached_by_hand() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    setup(&mut session);
    for function in ["guard_row()", "guard_statement()", "guard_truncate()", "refuse_direct_write()"] {
        let code = session.code(&format!("SELECT fencing.{function}"));
        assert!(["42809", "42501"].contains(&code.as_str()), "{function}: {code}");
    }
    session.run("CREATE TABLE free (k text, v int); INSERT INTO free VALUES ('a', 1)");
    let arguments =
        ["", "''", "'jobs'", "'1', 'jobs', 'key', 'a'", "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'"];
    let places = [
        "BEFORE INSERT OR UPDATE OR DELETE ON free FOR EACH ROW",
        "AFTER INSERT OR UPDATE OR DELETE ON free FOR EACH ROW",
        "BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON free FOR EACH STATEMENT",
        "AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON free FOR EACH STATEMENT",
        "INSTEAD OF INSERT OR UPDATE OR DELETE ON v FOR EACH ROW",
    ];
    for function in ["guard_row", "guard_statement", "guard_truncate"] {
        for place in places {
            for arguments in arguments {
                let table = if place.contains("ON v") { "v" } else { "free" };
                session
                    .run(&format!("BEGIN; CREATE TRIGGER x {place} EXECUTE FUNCTION fencing.{function}({arguments})"));
                for write in [
                    format!("INSERT INTO {table} (k, v) VALUES ('b', 2)"),
                    format!("UPDATE {table} SET v = 2"),
                    format!("DELETE FROM {table}"),
                ] {
                    session.run("SAVEPOINT s");
                    let code = session.code(&write);
                    check(&format!("{function}({arguments}) {place}: {write}"), &code);
                    // Whatever fires, refuses. (Nothing is in the view to fire for.)
                    assert!(code != "00000" || table == "v", "{function}({arguments}) {place}: {write}");
                    session.run("ROLLBACK TO s");
                }
                session.run("ROLLBACK");
            }
        }
    }
    let sent = session.execute("INSERT INTO free VALUES ('b', 2)", &[]);
    assert_eq!(sent.map_err(|e| sql::describe(&e)), Ok(1));
}
