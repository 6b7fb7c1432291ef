//! A clock that leaps and steps back, in sessions of several time zones, against a model; and who may
//! shift it, and who hears of it.

use fencing_tests::{Cluster, Sql};
use postgres::{Client, NoTls};
use std::collections::BTreeMap;

/// Ttls are of half an hour and the clock moves by whole ones, so nothing depends on how long the test
/// takes.
const SETUP: &str = "SELECT fencing.create_namespace('jobs', ttl => '30 min');
    CREATE TABLE t (k text, fence bigint);
    SELECT fencing.protect('t', 'jobs', key_columns => '{k}', present_column => 'fence')";

/// Numbers below `n`, the same for a seed every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n as u64) as usize
    }
}

/// What is known of a lease, in hours.
#[derive(Default, Debug)]
struct Lease {
    /// Its terms, and whether each was released.
    terms: Vec<(i64, bool)>,
    renewed: i64,
    /// The latest time recorded, which its time never goes behind.
    last: Option<i64>,
}

impl Lease {
    /// Its time, where the clock says `clock`.
    fn time(&self, clock: i64) -> i64 {
        self.last.map_or(clock, |last| clock.max(last))
    }

    /// Something is recorded of it.
    fn record(&mut self, clock: i64) -> i64 {
        let time = self.time(clock);
        self.last = Some(time);
        time
    }

    /// What has become of its `n`th term.
    fn standing(&self, n: usize, clock: i64) -> &'static str {
        let latest = n + 1 == self.terms.len();
        match self.terms[n].1 {
            true => "released",
            false if !latest => "superseded",
            false if self.time(clock) > self.renewed => "expired",
            false => "current",
        }
    }

    /// What its latest term leaves of it.
    fn state(&self, clock: i64) -> &'static str {
        match self.terms.len().checked_sub(1).map(|latest| self.standing(latest, clock)) {
            None | Some("released") => "free",
            Some("expired") => "expired",
            _ => "held",
        }
    }

    /// What becomes of a write under its `n`th term.
    fn write(&self, n: usize, clock: i64) -> &'static str {
        match self.standing(n, clock) {
            _ if n + 1 < self.terms.len() => "LF001",
            "current" => "00000",
            _ => "LF003",
        }
    }
}

/// Sessions whose time zones come from the role, the database and the client.
fn sessions(cluster: &Cluster) -> Vec<Client> {
    cluster.connect().run(
        "CREATE ROLE east SUPERUSER LOGIN; ALTER ROLE east SET timezone = 'Pacific/Kiritimati';
         ALTER DATABASE postgres SET timezone = 'America/New_York'",
    );
    let by_client = cluster.config().options("-c timezone=Etc/GMT+12 -c datestyle=German").connect(NoTls).unwrap();
    let mut sessions = vec![cluster.connect_as("east", "postgres"), cluster.connect(), by_client];
    let zones: Vec<String> = sessions.iter_mut().map(|session| session.get("SHOW timezone")).collect();
    assert_eq!(zones, ["Pacific/Kiritimati", "America/New_York", "Etc/GMT+12"]);
    sessions
}

fn set_clock(session: &mut Client, hour: i64) {
    session.run(&format!("SET fencing.test_clock_offset = '{hour} h'"));
}

/// One step: what was done, for whoever looks at a failure.
fn step(session: &mut Client, key: &str, lease: &mut Lease, dice: &mut Dice) -> String {
    let clock = dice.roll(5) as i64 - 2;
    set_clock(session, clock);
    let state: String = session.get(&format!("SELECT state FROM fencing.inspect('jobs', '{key}')"));
    assert_eq!(state, lease.state(clock));
    let n = match lease.terms.len() {
        0 => 0,
        // The latest ones, mostly.
        terms => terms - 1 - dice.roll(terms).min(dice.roll(terms)),
    };
    let token = lease.terms.get(n).map_or(0, |(token, _)| *token);
    let asked = dice.roll(7);
    if asked <= 1 || token == 0 {
        let answer = session.acquire(key, "x");
        let grantable = state != "held";
        assert_eq!(answer.status == "granted", grantable, "{answer:?}");
        if grantable {
            assert!(lease.terms.iter().all(|(earlier, _)| answer.token > *earlier), "{answer:?}");
            lease.renewed = lease.record(clock);
            lease.terms.push((answer.token, false));
        }
        return format!("{clock}: acquire {key}: {}", answer.status);
    }
    let standing = lease.standing(n, clock);
    let what = match asked {
        2 | 3 => {
            let renewed = format!("SELECT concat(status, trust_for > '30 min') FROM fencing.renew({token})");
            let expected = if standing == "current" { "renewedf" } else { standing };
            assert_eq!(session.get::<String>(&renewed), expected);
            if standing == "current" {
                lease.renewed = lease.record(clock);
            }
            "renew"
        }
        4 => {
            let expected = if standing == "current" { "released" } else { standing };
            assert_eq!(session.get::<String>(&format!("SELECT fencing.release({token})")), expected);
            if standing == "current" {
                lease.terms[n].1 = true;
                lease.record(clock);
            }
            "release"
        }
        5 => {
            assert_eq!(session.get::<String>(&format!("SELECT fencing.check_token({token})")), standing);
            let code = session.code(&format!("INSERT INTO t VALUES ('{key}', {token})"));
            assert_eq!(code, lease.write(n, clock));
            "write"
        }
        _ => {
            // The clock moves once more before the commit.
            session.run("BEGIN");
            let mut code = session.code(&format!("INSERT INTO t VALUES ('{key}', {token})"));
            assert_eq!(code, lease.write(n, clock));
            if code == "00000" {
                let later = dice.roll(5) as i64 - 2;
                set_clock(session, later);
                code = session.code("COMMIT");
                assert_eq!(code, lease.write(n, later), "at {later}");
            }
            session.run("ROLLBACK");
            "transaction"
        }
    };
    format!("{clock}: {what} {key}, term {n}: {standing}")
}

#[test]
fn agrees_with_a_model() {
    let cluster = Cluster::new();
    let mut sessions = sessions(&cluster);
    let mut watcher = cluster.connect();
    watcher.run(SETUP);
    let mut leases: BTreeMap<String, (Lease, i64)> = BTreeMap::new();
    for seed in 1..=8 {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let mut steps = Vec::new();
        for _ in 0..150 {
            let key = format!("{seed}-{}", dice.roll(3));
            let (lease, recorded) = leases.entry(key.clone()).or_insert((Lease::default(), i64::MIN));
            let session = &mut sessions[dice.roll(3)];
            let before = *recorded;
            let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(session, &key, lease, &mut dice)));
            steps.push(told.unwrap_or_else(|_| panic!("{key}: {lease:?} after {steps:#?}")));
            // Whatever was recorded last, it is no earlier than before, and no term lasts longer than its ttl.
            let row = "SELECT coalesce(max((extract(epoch FROM greatest(renewed_at, ended_at)) * 1000000)::bigint), 0),
                              coalesce(bool_and(expires_at - renewed_at = interval '30 min' AND acquired_at <= renewed_at), true)
                         FROM fencing.lease WHERE key = $1";
            let row = watcher.query_one(row, &[&key]).unwrap();
            *recorded = row.get(0);
            assert!(*recorded >= before && row.get(1), "{key}: {before} {recorded} {steps:#?}");
        }
    }
    let disorder = "SELECT count(*) FROM
        (SELECT *, lag(coalesce(ended_at, last_renewed_at)) OVER (PARTITION BY namespace, key ORDER BY token) AS previous
           FROM fencing.term) AS t
        WHERE NOT (acquired_at <= last_renewed_at AND last_renewed_at < expires_at AND acquired_at >= coalesce(previous, acquired_at)
                   AND coalesce(ended_at >= last_renewed_at AND end_observed_at >= ended_at, true))";
    assert_eq!(watcher.get::<i64>(disorder), 0);
}

/// Not even before the library is loaded, when a setting of any name can be made.
#[test]
fn users_can_not_shift_it() {
    let cluster = Cluster::new();
    let mut admin = cluster.connect();
    admin.run(SETUP);
    admin.run("CREATE ROLE anna LOGIN; SELECT fencing.grant_namespace('jobs', 'anna', 'hold')");
    let early =
        "SELECT abs(extract(epoch FROM acquired_at - clock_timestamp())) < 60 FROM fencing.acquire('jobs', $1, 'x')";
    let by_client = "-c fencing.test_clock_offset=3600000 -c fencing.test_without=expiry";
    let mut sessions = [
        cluster.config().user("anna").options(by_client).connect(NoTls).unwrap(),
        cluster.connect_as("anna", "postgres"),
    ];
    for (n, session) in sessions.iter_mut().enumerate() {
        if n == 1 {
            session.run("SET fencing.test_clock_offset = 3600000; SET fencing.test_without = 'expiry'");
        }
        let by_the_clock: bool = session.query_one(early, &[&n.to_string()]).unwrap().get(0);
        assert!(by_the_clock);
        for name in ["fencing.test_clock_offset", "fencing.test_without"] {
            for attempt in [
                format!("SET {name} = '3600000'"),
                format!("SELECT set_config('{name}', '3600000', false)"),
                format!("ALTER ROLE anna SET {name} = '3600000'"),
            ] {
                assert_eq!(session.code(&attempt), "42501", "{attempt}");
            }
            assert!(["0", ""].contains(&session.get::<String>(&format!("SHOW {name}")).as_str()));
        }
    }
}

/// Whoever steps the server's clock back may look for what it does in the server's log.
#[test]
fn a_step_back_is_logged() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(SETUP);
    let logged = || {
        let log = std::fs::read_to_string(cluster.scratch().join("server.log")).unwrap();
        log.lines().filter(|line| line.contains("LOG:  the clock is ")).map(str::to_owned).collect::<Vec<_>>()
    };
    set_clock(&mut session, 1);
    let token = session.acquire("a", "x").granted();
    session.run(&format!("SELECT fencing.renew({token})"));
    assert_eq!(logged(), [""; 0]);
    set_clock(&mut session, 0);
    for _ in 0..3 {
        session.run(&format!("SELECT fencing.renew({token})"));
        assert_eq!(session.acquire("a", "y").status, "held");
    }
    let lines = logged();
    let said = ["3600 s behind", "3599 s behind"].iter().any(|behind| lines[0].contains(behind));
    assert!(lines.len() == 1 && said, "{lines:?}");
    // Again once it has caught up and is set back anew.
    set_clock(&mut session, 2);
    session.run(&format!("SELECT fencing.check_token({token})"));
    let token = session.acquire("a", "x").granted();
    set_clock(&mut session, -1);
    session.run(&format!("SELECT fencing.check_token({token})"));
    assert_eq!(logged().len(), 2);
}
