//! Leases in Redis: `SET NX PX` with a value of the holder's own, which a script compares before it
//! extends or deletes the key.

use crate::{Client, Result};
use redis::aio::MultiplexedConnection;
use redis::{Script, ToRedisArgs};

const TTL_MS: u64 = 12 * 3600 * 1000;
const RENEW: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";
const RELEASE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/// A connection, and what makes its values its own.
pub struct Redis {
    connection: MultiplexedConnection,
    id: u64,
    count: u64,
    renew: Script,
    release: Script,
}

impl Redis {
    /// Runs a script, which says whether it changed anything.
    async fn changed<A: ToRedisArgs>(&mut self, script: &Script, key: &str, arguments: &[A]) -> Result<()> {
        let mut call = script.key(key);
        for argument in arguments {
            call.arg(argument);
        }
        match call.invoke_async(&mut self.connection).await? {
            1 => Ok(()),
            answer => Err(format!("a script of Redis says {answer}").into()),
        }
    }
}

impl Client for Redis {
    type Held = String;

    async fn connect(socket: &str) -> Result<Self> {
        let client = redis::Client::open(format!("redis+unix://{socket}"))?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let id = redis::cmd("CLIENT").arg("ID").query_async(&mut connection).await?;
        Ok(Redis { connection, id, count: 0, renew: Script::new(RENEW), release: Script::new(RELEASE) })
    }

    async fn acquire(&mut self, key: &str) -> Result<String> {
        self.count += 1;
        let value = format!("{}-{}", self.id, self.count);
        let mut set = redis::cmd("SET");
        set.arg(key).arg(&value).arg("NX").arg("PX").arg(TTL_MS);
        match set.query_async::<Option<String>>(&mut self.connection).await? {
            Some(_) => Ok(value),
            None => Err(format!("{key} is held").into()),
        }
    }

    async fn renew(&mut self, key: &str, value: &String) -> Result<()> {
        let script = self.renew.clone();
        self.changed(&script, key, &[value, &TTL_MS.to_string()]).await
    }

    async fn release(&mut self, key: &str, value: String) -> Result<()> {
        let script = self.release.clone();
        self.changed(&script, key, &[value]).await
    }
}
