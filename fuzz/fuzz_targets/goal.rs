//! Any text as a job in the form of GOAL: refused with a line of it, or read; then it ends, alone in a network of eight
//! hosts.

#![no_main]

use config::scenario::ScenarioFile;
use libfuzzer_sys::fuzz_target;
use simulation::job::{Alone, Job, Jobs, ideal, read_goal};
use simulation::{NetworkSpec, NodeId, NodeKind};
use std::sync::{Arc, LazyLock};
use units::{Nanos, Priority};

const SCENARIO: &str = "topology = { template = \"incast\", senders = 8 }\n[[traffic]]\ngroup = \"any\"\npattern = \"pairs\"\n\
    sources = [\"h0\"]\ndestinations = [\"r0\"]\nsize = \"1kB\"\n";

static NETWORK: LazyLock<NetworkSpec> = LazyLock::new(|| {
    let file = ScenarioFile::parse(SCENARIO, "fuzz.toml").expect("it is valid");
    file.build(&[]).expect("it is valid").network
});

fuzz_target!(|bytes: &[u8]| {
    let mut network = NETWORK.clone();
    let is_host = |it: &NodeId| matches!(network.nodes[it.0 as usize].kind, NodeKind::Host(_));
    let hosts: Vec<NodeId> = (0..network.nodes.len() as u32).map(NodeId).filter(is_host).take(8).collect();
    let (priority, start) = (Priority::from_low_bits(3), Nanos::ZERO);
    let job = Job { group: 0, priority, start, iterations: 1, ranks: Vec::new() };
    match read_goal(bytes, &hosts, job) {
        Ok(planned) => {
            let Some(jobs) = Jobs::new(vec![planned]) else { return };
            network.jobs = Arc::new(jobs);
            let spans =
                ideal(&network, 0, 1, Alone::InNetwork).expect("it is asked for the network as it is");
            assert!(matches!(spans[..], [[begin, end]] if begin <= end), "{spans:?}");
        }
        Err(error) => {
            let lines = bytes.split(|byte| *byte == b'\n').count();
            assert!((1..=lines + 1).contains(&(error.line as usize)), "{error}");
        }
    }
});
