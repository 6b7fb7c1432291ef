//! The short form, on a cluster of its own; and that it notices when a counter-measure is missing.
//! `make test ONLY=torture` runs it.

use std::process::Command;

fn torture(operations: &str, without: &str, compare: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencing-torture"));
    command.env("OPERATIONS", operations).env("COMPARE", compare).env("WITHOUT", without);
    if !without.is_empty() {
        let dir = std::env::var("TORTURE_DIR").expect("make test ONLY=torture");
        command.env("TORTURE_DIR", format!("{dir}/without-{without}"));
    }
    command
}

#[test]
fn a_hundred_thousand_operations() {
    let status = torture("100000", "", "20000").status().expect("fencing-torture");
    assert!(status.success(), "{status}: what it found is above");
}

/// It must find this, among whatever else.
#[track_caller]
fn notices(without: &str, fault: &str) {
    let output = torture("15000", without, "0").output().expect("fencing-torture");
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.lines().any(|line| line.starts_with(&format!("{fault}:")));
    assert!(!output.status.success() && found, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn writers_that_lock_no_fence() {
    notices("fence", "LateWrite");
}

#[test]
fn no_check_at_commit() {
    notices("recheck+expiry", "EndedWrite");
}

#[test]
fn an_epoch_that_is_not_compared() {
    notices("recheck+epoch", "EndedWrite");
}

#[test]
fn a_snapshot_older_than_the_takeover() {
    notices("takeover_visible", "OldSnapshot");
}

#[test]
fn writes_without_a_token() {
    notices("missing", "ForeignWrite");
}
