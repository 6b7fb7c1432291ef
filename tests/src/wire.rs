//! PostgreSQL's protocol by hand, for what no driver does: several messages before one Sync, row
//! limits, bytes that are no UTF-8.

use crate::cluster::Cluster;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// A connection as superuser.
pub struct Wire {
    stream: UnixStream,
    out: Vec<u8>,
}

/// What the server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A row, as text; NULL is empty.
    Row(Vec<String>),
    /// A statement has ended: its command tag.
    Done(String),
    /// A row limit was reached.
    Suspended,
    /// An error: its SQLSTATE.
    Error(String),
    /// Ready for the next: `I` idle, `T` in a transaction, `E` in a failed one.
    Ready(char),
}

impl Reply {
    /// A row of one column.
    pub fn one(value: &str) -> Reply {
        Reply::Row(vec![value.to_owned()])
    }

    /// A command tag.
    pub fn done(tag: &str) -> Reply {
        Reply::Done(tag.to_owned())
    }

    /// An error.
    pub fn error(code: &str) -> Reply {
        Reply::Error(code.to_owned())
    }
}

impl Wire {
    /// Connects to a database, with the server's own encoding.
    pub fn connect(cluster: &Cluster, database: &str) -> Wire {
        let stream = UnixStream::connect(cluster.socket()).expect("the server's socket");
        let mut wire = Wire { stream, out: Vec::new() };
        let start = format!("user\0postgres\0database\0{database}\0\0");
        wire.out.extend((8 + start.len() as i32).to_be_bytes());
        wire.out.extend(196_608i32.to_be_bytes());
        wire.out.extend(start.bytes());
        assert_eq!(wire.answer(), [Reply::Ready('I')]);
        wire
    }

    fn message(&mut self, kind: u8, body: &[u8]) {
        self.out.push(kind);
        self.out.extend((4 + body.len() as i32).to_be_bytes());
        self.out.extend(body);
    }

    /// Adds a statement of the extended protocol to the pipeline, to give so many rows (0: all).
    pub fn execute(&mut self, sql: &str, rows: i32) -> &mut Wire {
        self.message(b'P', format!("\0{sql}\0\0\0").as_bytes());
        self.message(b'B', b"\0\0\0\0\0\0\0\0");
        let mut body = vec![0];
        body.extend(rows.to_be_bytes());
        self.message(b'E', &body);
        self
    }

    /// Ends the pipeline and gives all replies.
    pub fn sync(&mut self) -> Vec<Reply> {
        self.message(b'S', b"");
        self.answer()
    }

    /// A simple query, in any encoding.
    pub fn query(&mut self, sql: impl AsRef<[u8]>) -> Vec<Reply> {
        let body = [sql.as_ref(), b"\0"].concat();
        self.message(b'Q', &body);
        self.answer()
    }

    fn answer(&mut self) -> Vec<Reply> {
        let out = std::mem::take(&mut self.out);
        self.stream.write_all(&out).expect("the connection");
        let mut replies = Vec::new();
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head).expect("the connection");
            let length = i32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; length as usize - 4];
            self.stream.read_exact(&mut body).expect("the connection");
            match head[0] {
                b'D' => replies.push(Reply::Row(columns(&body))),
                b'C' => replies.push(Reply::Done(text(&body[..body.len() - 1]))),
                b's' => replies.push(Reply::Suspended),
                b'E' => replies.push(Reply::Error(field(&body, b'C'))),
                b'Z' => {
                    replies.push(Reply::Ready(char::from(body[0])));
                    return replies;
                }
                _ => {}
            }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn columns(mut body: &[u8]) -> Vec<String> {
    let mut columns = Vec::new();
    body = &body[2..];
    while let Some((length, rest)) = body.split_first_chunk() {
        let length = i32::from_be_bytes(*length).max(0) as usize;
        columns.push(text(&rest[..length]));
        body = &rest[length..];
    }
    columns
}

/// A field of an error.
fn field(body: &[u8], kind: u8) -> String {
    body.split(|b| *b == 0).find(|f| f.first() == Some(&kind)).map(|f| text(&f[1..])).unwrap_or_default()
}
