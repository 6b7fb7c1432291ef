//! Leases in PostgreSQL: the extension's, and a table as one would write it by hand. Every statement is
//! prepared, and commits by itself.

use crate::{Client, Result};
use std::path::Path;
use tokio_postgres::types::ToSql;
use tokio_postgres::{NoTls, Row, Statement};

/// A session with the three statements.
struct Session {
    client: tokio_postgres::Client,
    acquire: Statement,
    renew: Statement,
    release: Statement,
}

impl Session {
    async fn new(socket: &str, [acquire, renew, release]: [&str; 3]) -> Result<Session> {
        let directory = Path::new(socket).parent().ok_or("the socket has no directory")?;
        let mut config = tokio_postgres::Config::new();
        config.host_path(directory).user("postgres").dbname("postgres");
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        let acquire = client.prepare(acquire).await?;
        let renew = client.prepare(renew).await?;
        let release = client.prepare(release).await?;
        Ok(Session { client, acquire, renew, release })
    }

    /// The one row of an answer; none is an error.
    async fn one(&self, statement: &Statement, arguments: &[&(dyn ToSql + Sync)]) -> Result<Row> {
        Ok(self.client.query_one(statement, arguments).await?)
    }

    async fn status(&self, statement: &Statement, token: i64, expected: &str) -> Result<()> {
        let row = self.one(statement, &[&token]).await?;
        match row.get::<_, &str>("status") {
            status if status == expected => Ok(()),
            status => Err(format!("{status}, not {expected}").into()),
        }
    }
}

/// The extension's leases.
pub struct Fencing(Session);

impl Client for Fencing {
    type Held = i64;

    async fn connect(socket: &str) -> Result<Self> {
        let statements = [
            "SELECT token, expires_at FROM fencing.acquire('bench', $1, 'bench')",
            "SELECT status, expires_at FROM fencing.renew($1)",
            "SELECT status FROM fencing.release($1)",
        ];
        Ok(Fencing(Session::new(socket, statements).await?))
    }

    async fn acquire(&mut self, key: &str) -> Result<i64> {
        let row = self.0.one(&self.0.acquire, &[&key]).await?;
        Ok(row.try_get("token")?)
    }

    async fn renew(&mut self, _: &str, token: &i64) -> Result<()> {
        self.0.status(&self.0.renew, *token, "renewed").await
    }

    async fn release(&mut self, _: &str, token: i64) -> Result<()> {
        self.0.status(&self.0.release, token, "released").await
    }
}

/// The table `bench.hand_lease` (schema.sql).
pub struct ByHand(Session);

impl Client for ByHand {
    type Held = i64;

    async fn connect(socket: &str) -> Result<Self> {
        let statements = [
            "INSERT INTO bench.hand_lease AS l VALUES ($1, nextval('bench.hand_token'), 'bench', clock_timestamp() + interval '12 h')
             ON CONFLICT (key) DO UPDATE SET token = excluded.token, holder = excluded.holder, expires_at = excluded.expires_at
              WHERE l.expires_at <= clock_timestamp() RETURNING token, expires_at",
            "UPDATE bench.hand_lease SET expires_at = clock_timestamp() + interval '12 h'
              WHERE key = $1 AND token = $2 AND expires_at > clock_timestamp() RETURNING expires_at",
            "UPDATE bench.hand_lease SET expires_at = '-infinity' WHERE key = $1 AND token = $2 RETURNING expires_at",
        ];
        Ok(ByHand(Session::new(socket, statements).await?))
    }

    async fn acquire(&mut self, key: &str) -> Result<i64> {
        let row = self.0.one(&self.0.acquire, &[&key]).await?;
        Ok(row.try_get("token")?)
    }

    async fn renew(&mut self, key: &str, token: &i64) -> Result<()> {
        self.0.one(&self.0.renew, &[&key, token]).await.map(drop)
    }

    async fn release(&mut self, key: &str, token: i64) -> Result<()> {
        self.0.one(&self.0.release, &[&key, &token]).await.map(drop)
    }
}
