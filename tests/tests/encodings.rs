//! Databases in other encodings: keys are bytes, and what can't be shown must still be compared,
//! stored and named in an error.

use fencing_tests::wire::{Reply, Wire};
use fencing_tests::{Cluster, Sql};

/// A connection to a database of that encoding which speaks it.
fn connect(cluster: &Cluster, encoding: &str) -> Wire {
    let create = format!("CREATE DATABASE other TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'");
    cluster.connect().run(&create);
    let mut wire = Wire::connect(cluster, "other");
    for sql in ["CREATE EXTENSION fencing", "SELECT fencing.create_namespace('jobs')"] {
        ok(&mut wire, sql.as_bytes());
    }
    wire
}

fn ok(wire: &mut Wire, sql: &[u8]) -> Vec<String> {
    let replies = wire.query(sql);
    assert_eq!(replies.last(), Some(&Reply::Ready('I')), "{}: {replies:?}", String::from_utf8_lossy(sql));
    let rows = replies.iter().filter_map(|reply| match reply {
        Reply::Row(columns) => Some(columns.join("|")),
        Reply::Error(code) => panic!("{}: {code}", String::from_utf8_lossy(sql)),
        _ => None,
    });
    rows.collect()
}

fn one(wire: &mut Wire, sql: &[u8]) -> String {
    let rows = ok(wire, sql);
    assert_eq!(rows.len(), 1);
    rows.into_iter().next().unwrap()
}

fn code(wire: &mut Wire, sql: &[u8]) -> String {
    let replies = wire.query(sql);
    let code = replies.iter().find_map(|reply| match reply {
        Reply::Error(code) => Some(code.clone()),
        _ => None,
    });
    wire.query("ROLLBACK");
    code.unwrap_or_else(|| "00000".to_owned())
}

/// Puts `word` for each `@` of a statement.
fn with(sql: &str, word: &[u8]) -> Vec<u8> {
    sql.bytes().flat_map(|b| if b == b'@' { word.to_vec() } else { vec![b] }).collect()
}

fn hex(word: &[u8]) -> String {
    word.iter().map(|b| format!("{b:02x}")).collect()
}

const GRANT: &str = "SELECT token FROM fencing.acquire('jobs', '@', '@', purpose => '@')";

/// A term is over and another one holds the lease: each rejection names it.
fn superseded(wire: &mut Wire, word: &[u8], token: &str, write: impl Fn(&str) -> Vec<u8>) {
    ok(wire, format!("SELECT fencing.release({token})").as_bytes());
    assert_eq!(code(wire, &write(token)), "LF003");
    let next = one(wire, &with(GRANT, word));
    assert_eq!(code(wire, &write(token)), "LF001");
    assert_eq!(code(wire, format!("SELECT fencing.assert_current({token})").as_bytes()), "LF001");
    ok(wire, &write(&next));
}

fn leases(encoding: &str, word: &[u8]) {
    let cluster = Cluster::new();
    let mut wire = connect(&cluster, encoding);
    let bytes = hex(word);
    let token = one(&mut wire, &with(GRANT, word));
    let held = "SELECT status, encode(holder::bytea, 'hex') FROM fencing.acquire('jobs', '@', 'b')";
    assert_eq!(one(&mut wire, &with(held, word)), format!("held|{bytes}"));
    let row = "SELECT state, encode(key::bytea, 'hex'), encode(holder::bytea, 'hex') FROM fencing.inspect('jobs', '@')";
    assert_eq!(one(&mut wire, &with(row, word)), format!("held|{bytes}|{bytes}"));
    ok(&mut wire, format!("SELECT fencing.assert_current({token})").as_bytes());
    ok(&mut wire, b"CREATE ROLE stranger; SET ROLE stranger");
    for call in ["renew", "release", "assert_current"] {
        assert_eq!(code(&mut wire, format!("SELECT fencing.{call}({token})").as_bytes()), "LF008", "{call}");
    }
}

fn fixed_key(encoding: &str, word: &[u8]) {
    let cluster = Cluster::new();
    let mut wire = connect(&cluster, encoding);
    let token = one(&mut wire, &with(GRANT, word));
    ok(&mut wire, b"CREATE TABLE t (v text, fence bigint, seen bigint)");
    let protect = "SELECT fencing.protect('t', 'jobs', key => '@', present_column => 'fence', token_column => 'seen')";
    ok(&mut wire, &with(protect, word));
    assert_eq!(one(&mut wire, b"SELECT encode(key::bytea, 'hex') FROM fencing.guards"), hex(word));
    let write = |token: &str| with(&format!("INSERT INTO t VALUES ('@', {token})"), word);
    ok(&mut wire, &write(&token));
    assert_eq!(one(&mut wire, b"SELECT seen FROM t"), token);
    assert_eq!(code(&mut wire, &write("NULL")), "LF002");
    assert_eq!(code(&mut wire, &write("17")), "LF004");
    superseded(&mut wire, word, &token, write);
    ok(&mut wire, b"SELECT fencing.unprotect('t')");
}

fn key_columns(encoding: &str, word: &[u8]) {
    let cluster = Cluster::new();
    let mut wire = connect(&cluster, encoding);
    let token = one(&mut wire, &with(GRANT, word));
    ok(&mut wire, b"CREATE TABLE t (k text, fence bigint)");
    ok(&mut wire, b"SELECT fencing.protect('t', 'jobs', key_columns => '{k}', present_column => 'fence')");
    let write = |key: &str, token: &str| with(&format!("INSERT INTO t VALUES ('{key}', {token})"), word);
    ok(&mut wire, &write("@", &token));
    assert_eq!(code(&mut wire, &write("@x", &token)), "LF004");
    assert_eq!(code(&mut wire, &write("@", "NULL")), "LF002");
    assert_eq!(one(&mut wire, &with("SELECT encode(fencing.key_of('@')::bytea, 'hex')", word)), hex(word));
    superseded(&mut wire, word, &token, |token| write("@", token));
}

fn names(encoding: &str, word: &[u8]) {
    let cluster = Cluster::new();
    let mut wire = connect(&cluster, encoding);
    let sql = |s: &str| with(s, word);
    let token = one(&mut wire, b"SELECT token FROM fencing.acquire('jobs', 'a', 'h')");
    ok(&mut wire, &sql("CREATE TABLE \"t@\" (\"k@\" text, \"in@\" bigint, \"seen@\" bigint)"));
    let protect = "SELECT fencing.protect('\"t@\"', 'jobs', key_columns => ARRAY['k@']::name[],
                                          present_column => 'in@', token_column => 'seen@')";
    ok(&mut wire, &sql(protect));
    let shown = "SELECT encode(key_columns[1]::bytea, 'hex'), encode(present_column::bytea, 'hex'),
                        encode(token_column::bytea, 'hex') FROM fencing.guards";
    let bytes = hex(word);
    assert_eq!(one(&mut wire, shown.as_bytes()), format!("6b{bytes}|696e{bytes}|7365656e{bytes}"));
    let write = |token: &str| sql(&format!("INSERT INTO \"t@\" VALUES ('a', {token})"));
    ok(&mut wire, &write(&token));
    assert_eq!(code(&mut wire, &write("NULL")), "LF002");
    assert_eq!(code(&mut wire, &sql("INSERT INTO \"t@\" VALUES (NULL)")), "23502");
    assert_eq!(code(&mut wire, &sql("SELECT fencing.protect('\"t@\"', 'jobs', key => 'x')")), "42710");
    ok(&mut wire, &sql("SELECT fencing.unprotect('\"t@\"')"));
    assert_eq!(code(&mut wire, &sql("SELECT fencing.unprotect('\"t@\"')")), "42704");
    // Nowhere else is it a name.
    for (code_expected, misuse) in [
        ("22023", "SELECT fencing.create_namespace('@')"),
        ("42704", "SELECT fencing.acquire('@', 'k', 'h')"),
        ("22023", "SELECT fencing.grant_namespace('jobs', 'postgres', '@')"),
        ("42703", "SELECT fencing.protect('\"t@\"', 'jobs', key_columns => ARRAY['no@']::name[])"),
        ("42704", "SELECT fencing.protect('\"t@\"', '@', key => 'a')"),
        ("42704", "SELECT fencing.drop_namespace('@')"),
    ] {
        assert_eq!(code(&mut wire, &sql(misuse)), code_expected, "{misuse}");
    }
}

/// What is told of epochs and of coordinators elsewhere is stored as it was said.
fn epochs(encoding: &str, word: &[u8]) {
    let cluster = Cluster::new();
    let mut wire = connect(&cluster, encoding);
    let (sql, bytes) = (|s: &str| with(s, word), hex(word));
    ok(&mut wire, &sql("SELECT fencing.begin_epoch_transition('@')"));
    ok(&mut wire, &sql("SELECT fencing.open_epoch('@')"));
    let reason = b"SELECT encode(reason::bytea, 'hex') FROM fencing.epoch ORDER BY epoch DESC LIMIT 1";
    assert_eq!(one(&mut wire, reason), bytes);
    let told =
        b"SELECT DISTINCT encode((detail ->> 'reason')::bytea, 'hex') FROM fencing.event WHERE detail ? 'reason'";
    assert_eq!(one(&mut wire, told), bytes);
    ok(&mut wire, &sql("SELECT fencing.register_coordinator('there', 'other', '@')"));
    assert_eq!(one(&mut wire, b"SELECT encode(identity::bytea, 'hex') FROM fencing.coordinators()"), bytes);
    ok(&mut wire, b"SELECT fencing.install_epoch('there', 5, gen_random_uuid())");
    ok(&mut wire, b"CREATE TABLE t (fence bigint)");
    let protect = "SELECT fencing.protect('t', '@', '@', present_column => 'fence', fence => 'destination', coordinator => 'there')";
    ok(&mut wire, &sql(protect));
    ok(&mut wire, b"INSERT INTO t VALUES (fencing.make_token(5, 7))");
    ok(&mut wire, &sql("SELECT fencing.seal('there', '@', '@', fencing.make_token(5, 8))"));
    assert_eq!(code(&mut wire, b"INSERT INTO t VALUES (fencing.make_token(5, 7))"), "LF001");
    let stored = b"SELECT encode(namespace::bytea, 'hex'), encode(key::bytea, 'hex') FROM fencing.remote_fence";
    assert_eq!(one(&mut wire, stored), format!("{bytes}|{bytes}"));
}

macro_rules! encoding {
    ($name:ident, $encoding:literal, $word:expr) => {
        mod $name {
            #[test]
            fn leases() {
                super::leases($encoding, $word);
            }
            #[test]
            fn fixed_key() {
                super::fixed_key($encoding, $word);
            }
            #[test]
            fn key_columns() {
                super::key_columns($encoding, $word);
            }
            #[test]
            fn names() {
                super::names($encoding, $word);
            }
            #[test]
            fn epochs() {
                super::epochs($encoding, $word);
            }
        }
    };
}

encoding!(utf8, "UTF8", "schlüssel-鍵-🔑".as_bytes());
encoding!(latin1, "LATIN1", b"caf\xe9\xff");
encoding!(multibyte, "EUC_JP", b"\xb8\xb0");
// No encoding at all: bytes that are no text in any.
encoding!(sql_ascii, "SQL_ASCII", b"\xff\xfe\xc3(");

#[test]
fn key_length_is_in_bytes() {
    let cluster = Cluster::new();
    let mut wire = connect(&cluster, "LATIN1");
    let acquire = |n: usize| with("SELECT status FROM fencing.acquire('jobs', '@', 'h')", &b"\xe9".repeat(n));
    assert_eq!(one(&mut wire, &acquire(512)), "granted");
    assert_eq!(code(&mut wire, &acquire(513)), "22023");
    let mut session = cluster.connect();
    session.run("SELECT fencing.create_namespace('jobs')");
    assert_eq!(session.acquire(&"é".repeat(256), "h").status, "granted");
    assert_eq!(session.code(&format!("SELECT fencing.acquire('jobs', '{}', 'h')", "é".repeat(257))), "22023");
}

/// One database, clients of two encodings: the same key.
#[test]
fn clients_of_different_encodings_mean_the_same_lease() {
    let cluster = Cluster::new();
    let mut latin = connect(&cluster, "LATIN1");
    let token = one(&mut latin, b"SELECT token FROM fencing.acquire('jobs', 'caf\xe9', 'h')");
    let mut session = cluster.connect_as("postgres", "other");
    assert_eq!(session.get::<String>("SHOW client_encoding"), "UTF8");
    assert_eq!(session.acquire("café", "h").status, "held");
    let there = "SELECT token::text FROM fencing.inspect('jobs', 'café')";
    assert_eq!(session.get::<String>(there), token);
}
