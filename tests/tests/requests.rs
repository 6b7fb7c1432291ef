//! One request from several sessions at once, each under the same request_id, as a client does that
//! lost the reply: all of them learn of the one term, and none is told that it is over (G2).

use fencing_tests::{Cluster, Sql};
use std::sync::{Arc, Barrier};
use std::thread::spawn;

const SESSIONS: usize = 4;
const REQUESTS: usize = 1500;

#[test]
fn asked_for_by_several_at_once() {
    let cluster = Cluster::new();
    let mut judge = cluster.connect();
    judge.run("SELECT fencing.create_namespace('jobs')");
    let start = Arc::new(Barrier::new(SESSIONS));
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let (mut session, start) = (cluster.connect(), start.clone());
            spawn(move || {
                let sql = "SELECT status, token FROM fencing.acquire('jobs', 'a', 'x', request_id => lpad($1::int::text, 32, '0')::uuid)";
                let ask = session.prepare(sql).expect("acquire");
                let mut answers = Vec::new();
                for request in 0..REQUESTS as i32 {
                    start.wait();
                    // Held: the first one's commit was not seen yet.
                    let mut answer = ("held".to_owned(), None);
                    while answer.0 == "held" {
                        let row = session.query_one(&ask, &[&request]).unwrap_or_else(|e| panic!("{e:?}"));
                        answer = (row.get(0), row.get(1));
                    }
                    // The next request finds the lease free.
                    if start.wait().is_leader() {
                        session.run("SELECT fencing.release(token) FROM fencing.lease");
                    }
                    answers.push(answer);
                }
                answers
            })
        })
        .collect();
    let answers: Vec<_> = sessions.into_iter().map(|session| session.join().expect("a session")).collect();
    for request in 0..REQUESTS {
        let answers: Vec<&(String, Option<i64>)> = answers.iter().map(|answers| &answers[request]).collect();
        assert!(answers.iter().all(|a| a.0 == "granted" && a.1 == answers[0].1), "request {request}: {answers:?}");
    }
    assert_eq!(judge.get::<i64>("SELECT count(*) FROM fencing.term"), REQUESTS as i64);
}
