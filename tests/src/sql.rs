//! Short forms of what the tests say to a session. What goes wrong unexpectedly panics with the
//! statement and the server's error.

use postgres::error::DbError;
use postgres::types::FromSqlOwned;
use postgres::{Client, Row};

/// What `acquire` answered, as far as the tests look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The status.
    pub status: String,
    /// The token, 0 without one.
    pub token: i64,
    /// Who stands in the way.
    pub blocked_by: Vec<i32>,
}

impl Grant {
    /// The token of a call that was granted.
    pub fn granted(self) -> i64 {
        assert_eq!(self.status, "granted", "{self:?}");
        self.token
    }
}

/// What the tests say to a session.
pub trait Sql {
    /// Runs statements, as one simple query.
    fn run(&mut self, sql: &str);
    /// The error of statements that must fail.
    fn refused(&mut self, sql: &str) -> DbError;
    /// The SQLSTATE of statements, `00000` where they succeed.
    fn code(&mut self, sql: &str) -> String;
    /// The server's error, once the server is done with it: it is sent before the locks go. A lost
    /// connection is a failure.
    fn refusal(&mut self, sql: &str, error: &postgres::Error) -> DbError;
    /// The first column of the only row.
    fn get<T: FromSqlOwned>(&mut self, sql: &str) -> T;
    /// Asks for a lease of the namespace `jobs`.
    fn acquire(&mut self, key: &str, holder: &str) -> Grant;
    /// As [`Sql::acquire`], an hour from now: whatever was held has run out.
    fn acquire_later(&mut self, key: &str, holder: &str) -> Grant;
}

impl Sql for Client {
    fn run(&mut self, sql: &str) {
        self.batch_execute(sql).unwrap_or_else(|e| panic!("{sql}: {}", describe(&e)));
    }

    fn refused(&mut self, sql: &str) -> DbError {
        match self.batch_execute(sql) {
            Ok(()) => panic!("{sql}: was not refused"),
            Err(error) => self.refusal(sql, &error),
        }
    }

    fn code(&mut self, sql: &str) -> String {
        match self.batch_execute(sql) {
            Ok(()) => "00000".to_owned(),
            Err(error) => self.refusal(sql, &error).code().code().to_owned(),
        }
    }

    fn refusal(&mut self, sql: &str, error: &postgres::Error) -> DbError {
        let refusal = error.as_db_error().unwrap_or_else(|| panic!("{sql}: the connection was lost: {error}")).clone();
        self.run("");
        refusal
    }

    fn get<T: FromSqlOwned>(&mut self, sql: &str) -> T {
        let row = self.query_one(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {}", describe(&e)));
        row.get(0)
    }

    fn acquire(&mut self, key: &str, holder: &str) -> Grant {
        let sql = "SELECT status, token, blocked_by FROM fencing.acquire('jobs', $1, $2)";
        let row = self.query_one(sql, &[&key, &holder]).unwrap_or_else(|e| panic!("acquire: {}", describe(&e)));
        grant(&row)
    }

    fn acquire_later(&mut self, key: &str, holder: &str) -> Grant {
        self.run("SET fencing.test_clock_offset = '1 h'");
        let grant = self.acquire(key, holder);
        self.run("RESET fencing.test_clock_offset");
        grant
    }
}

/// Reads status, token and blocked_by.
pub fn grant(row: &Row) -> Grant {
    Grant {
        status: row.get(0),
        token: row.get::<_, Option<i64>>(1).unwrap_or(0),
        blocked_by: row.get::<_, Option<Vec<i32>>>(2).unwrap_or_default(),
    }
}

/// An error as the server put it.
pub fn describe(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |e| format!("{} {e}", e.code().code()))
}
