//! Whoever finishes prepared transactions: somebody else, later, maybe on another server start.

use crate::dice::Dice;
use crate::history::{Event, Kind, Recorder, Status};
use crate::session::{Failure, Session};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

/// Its number among the clients.
pub const CLIENT: u16 = 101;

/// Goes on until it is told to stop and nothing is left, or is given up.
pub fn work(mut session: Session, mut dice: Dice, mut recorder: Recorder, stop: &AtomicBool, abandoned: &AtomicBool) {
    loop {
        let last = stop.load(Relaxed);
        if abandoned.load(Relaxed) {
            return;
        }
        if !session.is_open() && !session.open(abandoned) {
            return;
        }
        let found = session.rows("SELECT gid::bigint FROM pg_prepared_xacts ORDER BY prepared LIMIT 100", &[]);
        let Ok(rows) = found else { continue };
        if rows.is_empty() && last {
            return;
        }
        for row in rows {
            if last || dice.permille(150) {
                finish(&mut session, &mut dice, &mut recorder, row.get(0));
            }
        }
        sleep(Duration::from_millis(20));
    }
}

fn finish(session: &mut Session, dice: &mut Dice, recorder: &mut Recorder, gid: i64) {
    let commit = dice.permille(700);
    let op = recorder.number();
    recorder.write(&Event::now(op, Kind::Finish).with(gid, commit.into()));
    let what = if commit { "COMMIT" } else { "ROLLBACK" };
    let answer = match session.run(&format!("{what} PREPARED '{gid}'")) {
        Ok(()) => Event::answer(op, Status::Done),
        Err(Failure::Refused(state)) => Event::refused(op, state),
        Err(Failure::Lost) => Event::answer(op, Status::Lost),
    };
    recorder.write(&answer);
}
