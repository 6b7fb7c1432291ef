//! `fencing-torture`: a run as its environment says, or one of its processes (`worker ...`);
//! or a history that was kept (`show DIRECTORY [LEASE]`).

use fencing_torture::options::Options;
use fencing_torture::worker::{self, Orders};
use fencing_torture::{report, round, show};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "worker") {
        worker::main(&Orders::parse(&arguments[1..]).expect("a worker's orders"));
        return ExitCode::SUCCESS;
    }
    if let [first, dir, lease @ ..] = arguments.as_slice()
        && first == "show"
    {
        show::show(dir.as_ref(), lease.first().and_then(|lease| lease.parse().ok()));
        return ExitCode::SUCCESS;
    }
    let options = Options::from_environment();
    report::begin(&options);
    let outcome = round::run(&options);
    report::end(&options, &outcome);
    if outcome.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
