//! Tests the memory of a worker's tables, in a process of its own: all of its memory comes from the gateway's allocator.

#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use gateway::ResidentMemory;
use std::fs;
use switch::{ControlFrame, Frame, Links, PortInspection, Shard, Transmitter};
use units::{Bytes, Interval, Nanos, PortId};

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
dscp = { 26 = 3 }
[[port.lossless]]
priorities = [3]
[port.bifrost]
[port.lscc]
local = "10.255.0.1"
peer = "10.255.0.2"
key = "000102030405060708090a0b0c0d0e0f"
flows = 262144
"#;

/// A WRITE of one packet over RoCEv2.
struct Packet([u8; 64]);

impl Packet {
    /// The place of the receiver's queue pair.
    const QUEUE_PAIR: core::ops::Range<usize> = 47..50;

    fn new() -> Self {
        let mut packet = [0; 64];
        packet[..12].copy_from_slice(&[2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2]);
        packet[12..14].copy_from_slice(&[0x08, 0x00]);
        wire::ipv4::Header {
            dscp: wire::ip::Dscp::from_low_bits(26),
            ecn: wire::ip::Ecn::Ect0,
            total_length: 50,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: wire::ip::IpProtocol::UDP,
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
        }
        .emit(&mut packet[14..])
        .unwrap();
        packet[34..40].copy_from_slice(&[0xc1, 0xa2, 0x12, 0xb7, 0, 30]);
        packet[42] = wire::roce::Opcode::RC_WRITE_ONLY.0;
        Self(packet)
    }
}

impl Frame for Packet {
    fn headers(&self) -> &[u8] {
        &self.0
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn length(&self) -> Bytes {
        Bytes(self.0.len() as u64)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self(self.0))
    }
}

/// Keeps what leaves.
#[derive(Default)]
struct Out(Vec<Packet>);

impl Transmitter<Packet> for Out {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _start: Nanos, frame: Packet) {
        self.0.push(frame);
    }

    fn control(&mut self, _start: Nanos, _frame: &ControlFrame) {}

    fn announcement(&mut self, _start: Nanos, _frame: &[u8]) {}
}

impl Links<Packet> for Out {
    fn takes(&self, _port: PortId) -> bool {
        true
    }

    fn frame(&mut self, _port: PortId, _start: Nanos, frame: Packet) {
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
fn shard() -> Shard<Packet> {
    Shard::single(config::parse(GATEWAY, "tables.toml").unwrap().program)
}

/// The page faults that a switch takes while packets of as many flows as its table holds pass through it.
fn faults_of_flows(mut shard: Shard<Packet>) -> u64 {
    let (near, far) = (PortId(0), PortId(1));
    let mut out = Out((0..32).map(|_| Packet::new()).collect());
    let mut burst = Vec::with_capacity(32);
    let mut now = Nanos(1_000);
    let mut pass = |flows: core::ops::Range<u32>| {
        for first in flows.step_by(32) {
            burst.append(&mut out.0);
            assert_eq!(burst.len(), 32, "all have left");
            for (flow, Packet(bytes)) in (first..).zip(&mut burst) {
                bytes[Packet::QUEUE_PAIR].copy_from_slice(&flow.to_be_bytes()[1..]);
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
