//! `load`: leases of several kinds under one client program, so that what differs is the server and
//! its protocol. `draw`: the benchmarks' pictures.

mod draw;
mod etcd;
mod postgres;
mod redis;

use std::error::Error;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str =
    "usage: fencing-bench load fencing|by_hand|redis|etcd|etcd_session SOCKET acquire|renew CLIENTS LEASES SECONDS
       fencing-bench draw DIRECTORY CSV ...";

/// One client, with a connection of its own.
trait Client: Sized + Send + 'static {
    /// What holding a lease means here, to renew it or release it.
    type Held: Send;

    /// Through the server's unix socket.
    fn connect(socket: &str) -> impl Future<Output = Result<Self>> + Send;
    fn acquire(&mut self, key: &str) -> impl Future<Output = Result<Self::Held>> + Send;
    fn renew(&mut self, key: &str, held: &Self::Held) -> impl Future<Output = Result<()>> + Send;
    fn release(&mut self, key: &str, held: Self::Held) -> impl Future<Output = Result<()>> + Send;
}

#[derive(Clone, Copy, PartialEq)]
enum Work {
    /// Acquire and release, which count as one.
    Acquire,
    Renew,
}

#[derive(Clone, Copy)]
struct Load {
    work: Work,
    clients: usize,
    leases: usize,
    time: Duration,
}

impl Load {
    /// How many a second all clients got done together.
    async fn run<C: Client>(self, socket: &str) -> Result<f64> {
        let mut connected = Vec::new();
        for number in 0..self.clients {
            connected.push(Worker::<C>::prepare(self, socket, number).await?);
        }
        let started = Instant::now();
        let mut running = JoinSet::new();
        for worker in connected {
            running.spawn(worker.until(started + self.time));
        }
        let (mut done, mut idle) = (0, Vec::new());
        while let Some(finished) = running.join_next().await {
            let (worker, count) = finished??;
            done += count;
            idle.push(worker);
        }
        let rate = done as f64 / started.elapsed().as_secs_f64();
        for worker in idle {
            worker.finish().await?;
        }
        Ok(rate)
    }
}

/// A client and the leases that are its own: no call ever loses.
struct Worker<C: Client> {
    client: C,
    keys: Vec<String>,
    /// Of each key, where the work is to renew.
    held: Vec<C::Held>,
}

impl<C: Client> Worker<C> {
    async fn prepare(load: Load, socket: &str, number: usize) -> Result<Self> {
        let mut client = C::connect(socket).await?;
        let keys: Vec<_> = (number..load.leases).step_by(load.clients).map(|lease| format!("peer-{lease}")).collect();
        let mut held = Vec::new();
        for key in &keys {
            let lease = client.acquire(key).await?;
            match load.work {
                Work::Renew => held.push(lease),
                Work::Acquire => client.release(key, lease).await?,
            }
        }
        Ok(Worker { client, keys, held })
    }

    async fn until(mut self, end: Instant) -> Result<(Self, usize)> {
        let mut done = 0;
        while Instant::now() < end {
            let at = done % self.keys.len();
            let key = &self.keys[at];
            match self.held.get(at) {
                Some(lease) => self.client.renew(key, lease).await?,
                None => {
                    let lease = self.client.acquire(key).await?;
                    self.client.release(key, lease).await?;
                }
            }
            done += 1;
        }
        Ok((self, done))
    }

    async fn finish(mut self) -> Result<()> {
        for (key, lease) in self.keys.iter().zip(self.held) {
            self.client.release(key, lease).await?;
        }
        Ok(())
    }
}

#[tokio::main(worker_threads = 2)]
async fn load(kind: &str, socket: &str, load: Load) -> Result<f64> {
    match kind {
        "fencing" => load.run::<postgres::Fencing>(socket).await,
        "by_hand" => load.run::<postgres::ByHand>(socket).await,
        "redis" => load.run::<redis::Redis>(socket).await,
        "etcd" => load.run::<etcd::Etcd>(socket).await,
        "etcd_session" => load.run::<etcd::Session>(socket).await,
        _ => Err(USAGE.into()),
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["load", kind, socket, work, clients, leases, seconds] => {
            let work = match *work {
                "acquire" => Work::Acquire,
                "renew" => Work::Renew,
                _ => return Err(USAGE.into()),
            };
            let (clients, leases) = (clients.parse()?, leases.parse()?);
            if clients == 0 || leases < clients {
                return Err("every client needs a lease of its own".into());
            }
            let time = Duration::from_secs_f64(seconds.parse()?);
            println!("{:.1}", load(kind, socket, Load { work, clients, leases, time })?);
            Ok(())
        }
        ["draw", directory, results @ ..] if !results.is_empty() => draw::draw(directory, results),
        _ => Err(USAGE.into()),
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = run(&arguments) {
        eprintln!("fencing-bench: {error}");
        std::process::exit(1);
    }
}
