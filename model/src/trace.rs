//! A path, told step by step.

use crate::config::Copied;
use crate::protocol::Action;
use crate::state::{Client, Op, Row, Stage, State, Step, Tok, Violation};
use stateright::Path;

/// One line a step: the clock, who does what, and what comes of it.
pub fn trace(path: &Path<State, Action>) -> String {
    let steps = path.clone().into_vec();
    let next = steps.iter().skip(1).map(|(state, _)| state);
    let lines = steps.iter().zip(next).enumerate().filter_map(|(number, ((before, action), after))| {
        let action = action.as_ref()?;
        let (who, what) = tell(before, action, after);
        let came = came_of(before, action, after);
        Some(format!("{:>3}. {:>2}  {who:<8} {what}{came}\n", number + 1, before.clock))
    });
    let violated = steps.last().map_or_else(String::new, |(last, _)| violations(last));
    format!("     at\n{}     => {violated}\n", lines.collect::<String>())
}

fn name(client: u8) -> String {
    char::from(b'A' + client).to_string()
}

fn of_server(server: u8) -> String {
    if server == 0 { "server".to_owned() } else { "clone".to_owned() }
}

/// Who does what.
fn tell(s: &State, action: &Action, after: &State) -> (String, String) {
    let text = |who: String, what: &str| (who, what.to_owned());
    match *action {
        Action::Begin(client, how) => {
            let token = match after.client(client).map(|client| client.op) {
                Some(Op::Writing(w)) => w.token,
                _ => Tok::NONE,
            };
            let how = match how {
                how if how.one_snapshot => ", REPEATABLE READ",
                how if how.guess > 0 => ", which is made up",
                how if how.savepoint => ", SAVEPOINT",
                _ => "",
            };
            (name(client), format!("BEGIN, presents {token:?}{how}"))
        }
        Action::Step(client) => (name(client), s.client(client).map_or_else(String::new, |c| step(s, c))),
        Action::Abort(client) => {
            let committed = matches!(s.client(client).map(|c| c.op), Some(Op::Taking(t)) if t.step == Step::Committed);
            text(name(client), if committed { "never hears the answer" } else { "ROLLBACK" })
        }
        Action::RollBackTo(client) => text(name(client), "ROLLBACK TO SAVEPOINT: the locks taken since are given back"),
        Action::ReleaseToo(client) => text(name(client), "release, in the same transaction"),
        Action::Prepare(client) => text(name(client), "PREPARE TRANSACTION"),
        Action::Acquire(client, false) => text(name(client), "acquire: looks, without locks; grantable"),
        Action::Acquire(client, true) => text(name(client), "BEGIN, acquire: looks, without locks; grantable"),
        Action::AcquireAgain(client) => text(name(client), "acquire again with the same request_id"),
        Action::Renew(client) => text(name(client), "renew: writes the row"),
        Action::Release(client) => text(name(client), "release: writes the row"),
        Action::LoseAnswer(client) => text(name(client), "COMMIT of the renewal; its answer is lost"),
        Action::Switch(client) => text(name(client), "connects to the other server"),
        Action::Revoke(server) => text(of_server(server), "revoke"),
        Action::Announce(server) => text(of_server(server), "revoke, with a grace of one tick"),
        Action::BeginTransition(server) => text(of_server(server), "begin_epoch_transition"),
        Action::OpenEpoch(server) => text(of_server(server), "open_epoch"),
        Action::NextInstallation(server) => text(of_server(server), "install_local, prove_epoch, resume: the next"),
        Action::AdvanceEpoch(server) => text(of_server(server), "advance_epoch"),
        Action::Tick => text("clock".to_owned(), "a tick"),
        Action::JumpForward => text("clock".to_owned(), "jumps forward by two"),
        Action::JumpBack => text("clock".to_owned(), "jumps back by two"),
        Action::Flush(server) => text(of_server(server), "what is committed reaches the disk"),
        Action::Crash(server) => text(of_server(server), "crashes, and starts again"),
        Action::BackUp => text("server".to_owned(), "is backed up; a standby falls behind"),
        Action::Copy(Copied::Backup) => text("server".to_owned(), "is replaced by the restored backup"),
        Action::Copy(Copied::Standby) => text("server".to_owned(), "is replaced by the promoted standby"),
        Action::Copy(Copied::Snapshot) => text("server".to_owned(), "is put back to the snapshot of its volume"),
        Action::Copy(Copied::Clone) => text("clone".to_owned(), "of the backup is started beside the server"),
    }
}

/// The next step of what a client is in the middle of.
fn step(s: &State, client: &Client) -> String {
    let admitted = s.server(client.server).map(|here| (here.db.fence, here.db.row));
    let (fence, row) = admitted.unwrap_or((Tok::NONE, None));
    let until = |row: Option<Row>| row.map_or(0, |row| row.expires_at);
    match client.op {
        Op::Idle => String::new(),
        Op::Writing(w) => match w.stage {
            Stage::Begun => "passes the gate, shared".to_owned(),
            Stage::Gated => format!("the fence: highest term {fence:?}, until {}", until(row)),
            Stage::JudgedFirst => "locks the fence, shared; writes".to_owned(),
            Stage::Locked => format!("reads under the lock: highest term {fence:?}, until {}", until(row)),
            Stage::Written => "COMMIT: the check before it".to_owned(),
            Stage::Ready => "COMMIT".to_owned(),
            Stage::Prepared => "COMMIT PREPARED".to_owned(),
            Stage::Burning(last) => format!("passes over the number; it has read that {last} was the last"),
        },
        Op::Taking(t) => match t.step {
            Step::Looked | Step::DrawnFirst => "locks gate, fence and heartbeat".to_owned(),
            Step::Locked => "reads again".to_owned(),
            Step::Decided => "draws a number".to_owned(),
            Step::Drawn if t.in_block => format!("is told the token {:?}, not committed yet", t.token),
            Step::Drawn | Step::Told => format!("COMMIT of the term {:?}", t.token),
            Step::Committed => format!("hears: granted, {:?}", t.token),
        },
        Op::Changing(c) => format!("COMMIT of the {}", if c.release { "release" } else { "renewal" }),
    }
}

/// What comes of it, where the step itself doesn't say.
fn came_of(before: &State, action: &Action, after: &State) -> String {
    let Action::Step(client) = *action else { return String::new() };
    let ops = |s: &State| s.client(client).map(|client| client.op);
    match (ops(before), ops(after)) {
        (Some(Op::Writing(w)), Some(Op::Idle)) if !matches!(w.stage, Stage::Ready | Stage::Prepared) => {
            ": rejected".to_owned()
        }
        (Some(Op::Writing(_)), Some(Op::Writing(w))) => match w.stage {
            Stage::Locked => ": locked, shared".to_owned(),
            Stage::JudgedFirst => ": accepted, and not locked yet".to_owned(),
            Stage::Written if w.fence => ": accepted, and written".to_owned(),
            Stage::Written => ": accepted and written, without a lock".to_owned(),
            Stage::Ready if w.ended => ": left out".to_owned(),
            Stage::Ready => ": passed".to_owned(),
            _ => String::new(),
        },
        (Some(Op::Taking(_)), Some(Op::Idle)) => String::new(),
        (Some(Op::Taking(t)), Some(Op::Taking(next))) if t.token != next.token && next.token.seq() > 0 => {
            format!(": {:?}", next.token)
        }
        _ => String::new(),
    }
}

fn violations(s: &State) -> String {
    let all = [
        (Violation::Stale, "a write of an older term has committed after the takeover"),
        (Violation::OlderEpoch, "a write of an older epoch has committed in the new one"),
        (Violation::TwoHolders, "the lease is granted while another holder may still rely on it"),
        (Violation::Twice, "a token has reached a client a second time"),
        (Violation::Order, "a term is not above the one before"),
        (Violation::Ended, "a write has committed under a term that had ended"),
        (Violation::OldSnapshot, "a write has committed that was decided by what was read before the takeover"),
        (Violation::Blocked, "a table was written to before it was resumed in its epoch"),
    ];
    let of: Vec<_> = all.into_iter().filter(|(what, _)| s.is_violated(*what)).map(|(_, text)| text).collect();
    of.join("; ")
}
