//! A kept history, to be read: `fencing-torture show DIRECTORY [LEASE]`.

use crate::history::{self, Event, Kind, State, Status};
use std::collections::HashMap;
use std::path::Path;

/// Prints what was recorded, in order of time; of one lease alone, or everything.
pub fn show(dir: &Path, lease: Option<u16>) {
    let histories = history::read(dir).expect("the history");
    let mut lines: Vec<(u64, String)> = Vec::new();
    for (n, history) in histories.iter().enumerate() {
        let calls: HashMap<u64, &Event> =
            history.iter().filter(|e| e.kind != Kind::Answer).map(|e| (e.op, e)).collect();
        for event in history {
            let Some(call) = calls.get(&event.op) else { continue };
            if lease.is_none_or(|lease| concerns(call.kind, call.lease, lease)) {
                lines.push((event.at, line(n, call, event)));
            }
        }
    }
    lines.sort();
    lines.iter().for_each(|(_, line)| println!("{line}"));
}

/// What is of no lease may concern each.
fn concerns(kind: Kind, of: u16, lease: u16) -> bool {
    let any = matches!(kind, Kind::Begin | Kind::Undo | Kind::Commit | Kind::Rollback | Kind::Prepare | Kind::End);
    any || of == lease || matches!(kind, Kind::Finish | Kind::Advance | Kind::Crash | Kind::Purge)
}

fn line(client: usize, call: &Event, event: &Event) -> String {
    let at = event.at as f64 / 1e9;
    let (client, op) = (format!("{client:3}/{:x}", call.op >> 32), call.op);
    if event.kind != Kind::Answer {
        let Event { kind, lease, token, a, b, .. } = event;
        return format!("{at:.6} {client} {op} {kind:?} lease {lease} token {token} {a} {b}");
    }
    let said = match event.status {
        Status::Refused => State::of(event.a).text().to_owned(),
        status => format!("{status:?} {} {} {}", event.token, event.a, event.b),
    };
    format!("{at:.6} {client} {op} {:?} -> {said}", call.kind)
}
