//! Private clusters: a socket, no port, one temporary directory, gone when dropped.

use postgres::{Client, Config, NoTls};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Long enough for the slowest machine; nothing waits that long where all is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// How every cluster is made.
pub const INITDB: [&str; 5] = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"];

/// How to stop a server.
#[derive(Clone, Copy)]
pub enum Stop {
    /// Ends sessions and writes a checkpoint.
    Fast,
    /// Leaves everything to crash recovery, as a power loss does.
    Immediate,
}

/// A running PostgreSQL server of its own, with the extension in its `postgres` database.
///
/// The server ends with the thread that started it, however that ends.
pub struct Cluster {
    dir: TempDir,
    server: Option<Child>,
}

impl Cluster {
    /// A server with the suite's settings, started.
    #[expect(clippy::new_without_default, reason = "starting a server is no default")]
    pub fn new() -> Cluster {
        Cluster::with(&[])
    }

    /// A server with these settings as well (`name=value`), started.
    pub fn with(settings: &[&str]) -> Cluster {
        let mut cluster = Cluster::bare();
        // Copying a fresh cluster is much faster than making one.
        run(command("cp").args(["-r", "--preserve=mode"]).arg(template()).arg(cluster.data()));
        cluster.configure(settings);
        cluster.start();
        cluster.connect().batch_execute("CREATE EXTENSION fencing").expect("CREATE EXTENSION fencing");
        cluster
    }

    /// A place for one, without data: they are brought from elsewhere, then configured and started.
    pub fn bare() -> Cluster {
        Cluster { dir: own_directory(), server: None }
    }

    /// Adds settings, for the next start, to those that came with the data, which may be another
    /// server's.
    pub fn configure(&self, settings: &[&str]) {
        let socket = format!("unix_socket_directories='{}'", self.dir.path().display());
        let conf = [socket.as_str()].iter().chain(settings).fold(String::new(), |conf, setting| conf + setting + "\n");
        append(&self.data().join("postgresql.conf"), &conf);
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("server.log")
    }

    /// What the server has logged.
    pub fn log_text(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// Where programs may write files of their own.
    pub fn scratch(&self) -> &Path {
        self.dir.path()
    }

    /// Starts the server and waits until it takes connections.
    pub fn start(&mut self) {
        assert!(self.server.is_none(), "the server runs already");
        let log = fs::File::options().create(true).append(true).open(self.log()).expect("server.log");
        let server = as_owner(&["--pdeathsig", "QUIT"], &program("postgres"))
            .arg("-D")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("server.log"))
            .stderr(log)
            .spawn()
            .expect("postgres could not be run");
        self.server = Some(server);
        let since = Instant::now();
        while let Err(error) = self.config().connect(NoTls) {
            let ended = self.server.as_mut().and_then(|server| server.try_wait().ok().flatten());
            if ended.is_some() || since.elapsed() >= PATIENCE {
                let log = self.log_text();
                let last = log.lines().rev().take(10).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>();
                panic!("the server did not start: {error}, {ended:?}\n{}", last.join("\n"));
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// Stops the server.
    pub fn stop(&mut self, how: Stop) {
        let mut server = self.server.take().expect("the server runs");
        let signal = match how {
            Stop::Fast => Signal::INT,
            Stop::Immediate => Signal::QUIT,
        };
        send(server.id(), signal);
        server.wait().expect("the server's end");
    }

    /// Stops and starts the server.
    pub fn restart(&mut self, how: Stop) {
        self.stop(how);
        self.start();
    }

    /// Kills the server and all its processes at once, as nearly as one can.
    pub fn kill(&mut self) {
        let mut server = self.server.take().expect("the server runs");
        // Stopped, it starts no further process and notices no end of one.
        pause(server.id());
        // Whoever stays attached to its shared memory keeps it from being started again.
        let since = Instant::now();
        loop {
            let left = processes_in(&self.data());
            if left.is_empty() {
                break;
            }
            assert!(since.elapsed() < PATIENCE, "killed processes don't end: {left:?}");
            let (server, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|pid| *pid == server.id());
            others.into_iter().chain(server).for_each(|pid| send(pid, Signal::KILL));
            sleep(Duration::from_millis(1));
        }
        // Also one whose directory could not be seen.
        send(server.id(), Signal::KILL);
        server.wait().expect("the server's end");
    }

    /// Stops all of the server's processes for a moment, as somebody sees them who takes a snapshot of
    /// its volume.
    pub fn frozen<T>(&self, moment: impl FnOnce() -> T) -> T {
        let server = self.server.as_ref().expect("the server runs").id();
        // Stopped, it starts no further process.
        pause(server);
        let processes = [children_of(server), vec![server]].concat();
        processes.iter().for_each(|pid| send(*pid, Signal::STOP));
        let result = moment();
        processes.iter().for_each(|pid| send(*pid, Signal::CONT));
        result
    }

    /// How to connect as superuser to the database `postgres`.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(self.dir.path()).user("postgres").dbname("postgres");
        config
    }

    /// A session as superuser in the database `postgres`.
    pub fn connect(&self) -> Client {
        self.connect_as("postgres", "postgres")
    }

    /// A session as another role or in another database.
    pub fn connect_as(&self, role: &str, database: &str) -> Client {
        self.config().user(role).dbname(database).connect(NoTls).unwrap_or_else(|e| panic!("{e:?}"))
    }

    /// The server's socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join(".s.PGSQL.5432")
    }

    /// A line for the shell, which has a minute; its programs are PostgreSQL's, and connect as [`Cluster::program`]s do.
    pub fn shell(&self, line: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = as_owner(&[], "timeout");
        command.arg(PATIENCE.as_secs().to_string()).arg("sh");
        command.current_dir(self.dir.path()).env("PGHOST", self.dir.path()).env("PGUSER", "postgres");
        command.env("PATH", format!("{}:{path}", setting("FENCING_TEST_BINDIR"))).args(["-c", line]);
        command
    }

    /// Another program, run as the server's owner, where the administrator's are found, too. It ends
    /// with the thread that started it.
    pub fn tool(&self, name: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = as_owner(&["--pdeathsig", "KILL"], name);
        command.current_dir(self.dir.path()).env("PATH", format!("{path}:/usr/sbin"));
        command
    }

    /// The directory of PostgreSQL's programs.
    pub fn programs(&self) -> String {
        setting("FENCING_TEST_BINDIR")
    }

    /// One of PostgreSQL's programs, set to connect to this server as superuser.
    pub fn program(&self, name: &str) -> Command {
        let mut command = as_owner(&[], &program(name));
        command.current_dir(self.dir.path()).env("PGHOST", self.dir.path()).env("PGUSER", "postgres");
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            send(server.id(), Signal::QUIT);
            // A stopped process ends only once it goes on.
            for pid in children_of(server.id()) {
                send(pid, Signal::CONT);
            }
            let _ = server.wait();
        }
        if std::thread::panicking() {
            // A refusal is what many tests are about; a crash is what somebody wants to read of.
            let log = fs::read_to_string(self.log()).unwrap_or_default();
            for line in log.lines().filter(|line| ["PANIC:", "terminated by", "TRAP:"].iter().any(|s| line.contains(s)))
            {
                eprintln!("server.log: {line}");
            }
        }
    }
}

/// Sends a signal to a process; nothing happens if it is gone.
pub fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a process id");
    let _ = kill_process(pid, signal);
}

/// Stops a process, and waits until it is: it may be about to start another one.
fn pause(pid: u32) {
    send(pid, Signal::STOP);
    until("the server stops", || state_and_parent(pid).is_none_or(|(state, _)| matches!(state, 'T' | 'Z' | 'X')));
}

/// Waits for what other processes bring about.
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let since = Instant::now();
    while !happened() {
        assert!(since.elapsed() < PATIENCE, "it does not happen: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// Runs a command that must succeed, and gives its output.
pub fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{error}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run these tests with `make test ONLY=clusters`"))
}

fn program(name: &str) -> String {
    format!("{}/{name}", setting("FENCING_TEST_BINDIR"))
}

/// A command run as who may run a server, in a clean environment: nothing of the caller's own
/// PostgreSQL settings, and no backtraces in error texts.
fn as_owner(options: &[&str], program: &str) -> Command {
    let user = setting("FENCING_TEST_USER");
    let mut command = Command::new("setpriv");
    command.args(options);
    if !user.is_empty() {
        let id = |option| run(Command::new("id").arg(option).arg(&user)).trim().to_owned();
        command.args(["--reuid", &id("-u"), "--regid", &id("-g"), "--clear-groups"]);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.arg(program).env_clear().env("PATH", path).env("LC_ALL", "C").current_dir("/");
    command
}

fn command(program: &str) -> Command {
    as_owner(&[], program)
}

/// A directory of the server's owner, removed when dropped.
fn own_directory() -> TempDir {
    let dir = tempfile::Builder::new().prefix("c").tempdir_in(setting("FENCING_TEST_TMPDIR")).expect("a directory");
    let user = setting("FENCING_TEST_USER");
    if !user.is_empty() {
        run(Command::new("chown").arg(user).arg(dir.path()));
    }
    dir
}

/// A cluster that was never started, for others to be copied from; shared by all test programs.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let path = Path::new(&setting("FENCING_TEST_TMPDIR")).join("template");
        if !path.exists() {
            let dir = own_directory();
            let data = dir.path().join("data");
            run(command(&program("initdb")).args(INITDB).arg("-D").arg(&data));
            // Without fsync: the tests kill processes, not the machine. No background process
            // takes transaction ids by itself, and no test hangs. Nothing depends on the time zone, so it
            // is one far away.
            append(
                &data.join("postgresql.conf"),
                "listen_addresses=''\nfsync=off\nautovacuum=off\nmax_connections=100\n\
                 max_prepared_transactions=10\nshared_buffers=32MB\nstatement_timeout=60s\n\
                 timezone='Pacific/Kiritimati'\n",
            );
            // Whoever is second keeps the first one's.
            let _ = fs::rename(&data, &path);
        }
        path
    })
}

fn append(file: &Path, text: &str) {
    use std::io::Write;
    fs::File::options()
        .append(true)
        .open(file)
        .and_then(|mut f| f.write_all(text.as_bytes()))
        .expect("postgresql.conf");
}

/// State and parent of a process, from `/proc`; `None` if there is no such process.
fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn children_of(parent: u32) -> Vec<u32> {
    processes().filter(|pid| state_and_parent(*pid).is_some_and(|(_, p)| p == parent)).collect()
}

/// Everything that works in a data directory: the server, its processes, whoever their parent is by now,
/// and the programs that they run. They leave it later than its shared memory.
fn processes_in(data: &Path) -> Vec<u32> {
    let place = |path: &Path| fs::metadata(path).map(|dir| (dir.dev(), dir.ino()));
    let here = place(data).expect("the data directory");
    processes().filter(|pid| place(Path::new(&format!("/proc/{pid}/cwd"))).is_ok_and(|cwd| cwd == here)).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").expect("/proc").filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
