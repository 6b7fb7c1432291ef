//! A client's connection: statements, and what became of them.

use crate::history::State;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls, Row, Statement};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

/// Why a statement gave no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The server refused it.
    Refused(State),
    /// The connection is gone, and with it the answer.
    Lost,
}

/// What a statement gave.
pub type Result<T> = std::result::Result<T, Failure>;

/// A connection that can be replaced.
pub struct Session {
    config: Config,
    asynchronous: bool,
    client: Option<Client>,
    prepared: HashMap<String, Statement>,
}

impl Session {
    /// Not connected yet.
    pub fn new(config: Config, asynchronous: bool) -> Session {
        Session { config, asynchronous, client: None, prepared: HashMap::new() }
    }

    /// Whether there is a connection.
    pub fn is_open(&self) -> bool {
        self.client.is_some()
    }

    /// Whether its commits wait for their WAL.
    pub fn is_synchronous(&self) -> bool {
        !self.asynchronous
    }

    /// Connects, as soon as the server takes connections; `false` if told to stop before.
    pub fn open(&mut self, stop: &AtomicBool) -> bool {
        while !stop.load(Relaxed) {
            if let Ok(mut client) = self.config.connect(NoTls) {
                let setting = if self.asynchronous { "off" } else { "on" };
                if client.batch_execute(&format!("SET synchronous_commit = {setting}")).is_ok() {
                    self.client = Some(client);
                    return true;
                }
            }
            sleep(Duration::from_millis(20));
        }
        false
    }

    /// Closes it.
    pub fn close(&mut self) {
        self.prepared.clear();
        self.client = None;
    }

    /// Statements without parameters, as one simple query.
    pub fn run(&mut self, sql: &str) -> Result<()> {
        let client = self.client.as_mut().ok_or(Failure::Lost)?;
        let result = client.batch_execute(sql);
        self.judge(result)
    }

    /// Rows of a statement that is prepared at its first use.
    pub fn rows(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let statement = self.prepare(sql)?;
        let client = self.client.as_mut().ok_or(Failure::Lost)?;
        let result = client.query(&statement, values);
        self.judge(result)
    }

    /// The number of rows of a statement that is prepared at its first use.
    pub fn execute(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let statement = self.prepare(sql)?;
        let client = self.client.as_mut().ok_or(Failure::Lost)?;
        let result = client.execute(&statement, values);
        self.judge(result)
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let client = self.client.as_mut().ok_or(Failure::Lost)?;
        let result = client.prepare_typed(sql, &[] as &[Type]);
        let statement = self.judge(result)?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn judge<T>(&mut self, result: std::result::Result<T, postgres::Error>) -> Result<T> {
        result.map_err(|error| {
            let failure = failure(&error);
            if failure == Failure::Lost {
                self.close();
            }
            failure
        })
    }
}

/// An error that ends the session leaves open what became of the statement.
fn failure(error: &postgres::Error) -> Failure {
    let Some(error) = error.as_db_error() else { return Failure::Lost };
    let fatal = matches!(error.severity(), "FATAL" | "PANIC");
    match error.code().code() {
        code if fatal || code.starts_with("57P") => Failure::Lost,
        code => Failure::Refused(State::new(code)),
    }
}
