//! Floods a core, for a profiler: instructions per frame are repeatable where times are not.
//!
//! `valgrind --tool=callgrind target/release/examples/flood_turns new_flows_chosen 1`: the flood, and how many
//! rounds of it. The cost of one round is the difference to a run with one round less.

use benches::floods::{Flood, Flooded};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let rounds = arguments.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    let Some((_, flood)) = Flood::ALL.into_iter().find(|(known, _)| *known == name) else {
        let names: Vec<_> = Flood::ALL.iter().map(|(name, _)| *name).collect();
        eprintln!("no flood of this name; there are: {}", names.join(", "));
        std::process::exit(2);
    };
    let mut core = Flooded::new(flood);
    let frames: usize = (0..rounds).map(|_| core.round()).sum();
    println!("{name}: {frames} frames");
}
