//! PgBouncer in transaction mode, in front of a cluster.

use crate::cluster::{Cluster, send};
use postgres::{Client, Config, NoTls};
use rustix::process::Signal;
use std::fs;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A running pooler.
pub struct Pooler {
    child: Child,
    config: Config,
    version: (u32, u32),
}

impl Pooler {
    /// Starts one that has so many connections to the server for all its clients.
    pub fn start(cluster: &Cluster, connections: usize) -> Pooler {
        let dir = cluster.scratch();
        let version = version(cluster);
        let prepared = if version >= (1, 21) { "max_prepared_statements = 100\n" } else { "" };
        let (ini, users) = (dir.join("pgbouncer.ini"), dir.join("users.txt"));
        let at = dir.display();
        let settings = format!(
            "[databases]
             postgres = host={at} dbname=postgres
             [pgbouncer]
             listen_addr =
             listen_port = 6432
             unix_socket_dir = {at}
             auth_type = trust
             auth_file = {}
             pool_mode = transaction
             default_pool_size = {connections}
             server_round_robin = 1
             max_client_conn = 100
             {prepared}",
            users.display()
        );
        let settings: Vec<_> = settings.lines().map(str::trim).collect();
        fs::write(&ini, settings.join("\n") + "\n").expect("pgbouncer.ini");
        fs::write(&users, "\"postgres\" \"\"\n\"worker\" \"\"\n").expect("users.txt");
        let log = fs::File::create(dir.join("pgbouncer.log")).expect("pgbouncer.log");
        let child = cluster
            .tool("pgbouncer")
            .arg(&ini)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("pgbouncer could not be run");
        let mut config = cluster.config();
        config.port(6432);
        let pooler = Pooler { child, config, version };
        let since = Instant::now();
        while let Err(error) = pooler.config.connect(NoTls) {
            assert!(since.elapsed() < Duration::from_secs(30), "the pooler did not start: {error}");
            sleep(Duration::from_millis(10));
        }
        pooler
    }

    /// A client as superuser.
    pub fn connect(&self) -> Client {
        self.connect_as("postgres")
    }

    /// A client as another role: `worker` is known.
    pub fn connect_as(&self, role: &str) -> Client {
        self.config.clone().user(role).connect(NoTls).unwrap_or_else(|e| panic!("{e:?}"))
    }

    /// Whether it follows prepared statements of the protocol from one connection to another.
    pub fn knows_prepared_statements(&self) -> bool {
        self.version >= (1, 21)
    }
}

/// Major and minor.
fn version(cluster: &Cluster) -> (u32, u32) {
    let output = cluster.tool("pgbouncer").arg("--version").output().expect("pgbouncer");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap_or_default().to_owned();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

impl Drop for Pooler {
    fn drop(&mut self) {
        send(self.child.id(), Signal::KILL);
        let _ = self.child.wait();
    }
}
