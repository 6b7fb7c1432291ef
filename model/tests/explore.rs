//! The protocol as it is keeps its promises in every state of every configuration, and each configuration
//! reaches what it is there for.
//!
//! `FENCING_MODEL=deep` explores each for a tick of the clock longer.

use fencing_model::config::{self, Config};
use fencing_model::measures::Without;
use fencing_model::protocol::Protocol;
use fencing_model::{explore, trace};
use stateright::{Expectation, Model};

fn holds(config: Config) {
    let deep = std::env::var("FENCING_MODEL").is_ok_and(|depth| depth == "deep");
    let config = if deep { config.deeper() } else { config };
    let explored = explore(config, Without::default(), 2);
    println!(
        "explored {}: {} unique states, {} steps, depth {}, {:.1} s",
        config.name,
        explored.unique,
        explored.generated,
        explored.depth,
        explored.took.as_secs_f64()
    );
    println!("     {config:?}");
    for property in Protocol::new(config, Without::default()).properties() {
        match (property.expectation, explored.found.get(property.name)) {
            (Expectation::Sometimes, None) => panic!("never reached: {}", property.name),
            (Expectation::Sometimes, Some(_)) => {}
            (_, Some(path)) => panic!("broken: {}\n{}", property.name, trace(path)),
            (_, None) => {}
        }
    }
}

macro_rules! explored {
    ($($test:ident: $config:ident,)*) => {$(
        #[test]
        fn $test() {
            holds(config::$config);
        }
    )*};
}

explored! {
    life: LIFE,
    crash: CRASH,
    transactions: TRANSACTIONS,
    two_phase: TWO_PHASE,
    three_clients: THREE,
    every_pause: PAUSES,
    epochs: EPOCHS,
    copies: COPIES,
    clone: CLONE,
}
