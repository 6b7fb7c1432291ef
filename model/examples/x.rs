//! Explores.
use fencing_model::measures::Without;
use fencing_model::*;
use stateright::*;
fn main() {
    let only = std::env::args().nth(1);
    let secs: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    for c in config::ALL {
        if only.as_ref().is_some_and(|o| o != c.name) {
            continue;
        }
        let t = std::time::Instant::now();
        let e = protocol::Protocol::new(c, Without::default())
            .checker()
            .threads(2)
            .timeout(std::time::Duration::from_secs(secs))
            .spawn_bfs()
            .join();
        println!(
            "{}: {} unique {} generated depth {} {:?} {}",
            c.name,
            e.unique_state_count(),
            e.state_count(),
            e.max_depth(),
            t.elapsed(),
            std::mem::size_of::<state::State>()
        );
        let names = e.model().properties().iter().map(|p| p.name).collect::<Vec<_>>();
        for n in names {
            match e.discovery(n) {
                Some(p) => {
                    println!("   {n}: {}", p.clone().into_actions().len());
                    if n.starts_with('G') {
                        println!("{}", trace(&p));
                    }
                }
                None => println!("   {n}: -"),
            }
        }
    }
}
