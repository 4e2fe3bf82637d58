//! Tests the memory of a worker's tables, in its own process: all of its memory comes from the gateway's allocator.

#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use core::ops::Range;
use gateway::ResidentMemory;
use std::fs;
use switch::{Links, PortInspection, Shard, Transmitter};
use units::{Interval, Nanos, PortId};

#[global_allocator]
static MEMORY: ResidentMemory = ResidentMemory;

/// So many that their table is larger than some huge pages, which the kernel may be told to make of any memory.
const FLOWS: u32 = 1 << 18;

const GATEWAY: &str = r#"
[gateway]
name = "tables"
[buffer]
shared = "32MiB"
[forwarding]
mode = "patch"
pairs = [["near", "far"]]
[[port]]
name = "near"
rate = "400G"
mtu = 1500
distance = "10m"
[port.classify]
trust = "dscp"
default = 0
dscp = { 26 = 3 }
[[port.lossless]]
priorities = [3]
[[port]]
name = "far"
rate = "400G"
mtu = 1500
distance = "10km"
flow_control = "bifrost"
[port.classify]
trust = "dscp"
default = 0
dscp = { 26 = 3 }
[[port.lossless]]
priorities = [3]
[port.bifrost]
[port.lscc]
local = "10.255.0.1"
peer = "10.255.0.2"
key = "000102030405060708090a0b0c0d0e0f"
flows = 262144
learn = 1
"#;

/// A capture whose second frame is a RoCEv2 packet with DSCP 26, a WRITE.
const CAPTURE: &[u8] = include_bytes!("../../../tests/data/captures/wire-vectors.pcap");
/// The place of that frame, behind the header of the file, the frame before it and two headers of frames.
const WRITE: Range<usize> = 24 + 16 + 74 + 16..24 + 16 + 74 + 16 + 138;
/// The place of the receiver's queue pair in it.
const QUEUE_PAIR: Range<usize> = 47..50;

/// Keeps the frames that leave.
#[derive(Default)]
struct Out(Vec<Vec<u8>>);

impl Transmitter<Vec<u8>> for Out {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _start: Nanos, frame: Vec<u8>) {
        self.0.push(frame);
    }

    fn control(&mut self, _start: Nanos, _frame: &[u8]) {}
}

impl Links<Vec<u8>> for Out {
    fn takes(&self, _port: PortId) -> bool {
        true
    }

    fn frame(&mut self, _port: PortId, _start: Nanos, frame: Vec<u8>) {
        self.0.push(frame);
    }
}

/// The page faults of this thread so far that read nothing from a disk.
fn page_faults() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name of the thread, in parentheses, may have spaces. `minflt` is the eighth figure behind it.
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(7).unwrap().parse().unwrap()
}

/// A switch, as a worker has it.
fn shard() -> Shard<Vec<u8>> {
    Shard::single(config::parse(GATEWAY, "tables.toml").unwrap().program)
}

/// The page faults that a switch takes while packets of as many flows as its table holds pass through it.
fn faults_of_flows(mut shard: Shard<Vec<u8>>) -> u64 {
    let (near, far) = (PortId(0), PortId(1));
    let mut out = Out(vec![CAPTURE[WRITE].to_vec(); 32]);
    let mut burst = Vec::with_capacity(32);
    let mut now = Nanos(1_000);
    let mut pass = |flows: Range<u32>| {
        for first in flows.step_by(32) {
            burst.append(&mut out.0);
            assert_eq!(burst.len(), 32, "all have left");
            for (flow, bytes) in (first..).zip(&mut burst) {
                bytes[QUEUE_PAIR].copy_from_slice(&flow.to_be_bytes()[1..]);
            }
            now += Interval::from_micros(1);
            shard.ingress(now, near, &mut burst, &mut out);
            shard.egress(now, far, &mut out);
        }
    };
    // The code and the stack have page faults of their own.
    pass(0..64);
    let before = page_faults();
    pass(64..FLOWS);
    let faults = page_faults() - before;
    let mut state = PortInspection::default();
    shard.inspect(now, far, &mut state);
    let known = state.flows.unwrap().known;
    assert!(known > FLOWS / 10 * 9, "nearly all have room: {known}");
    faults
}

#[test]
fn new_flows_cost_a_worker_no_page_fault() {
    let lazily = faults_of_flows(shard());
    assert!(lazily >= 8, "one for each page: {lazily}");
    let resident = faults_of_flows(ResidentMemory::around(shard));
    // Reading the number of faults may take some itself.
    assert!(resident < 4, "{resident}");
}
