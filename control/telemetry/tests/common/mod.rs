//! A gateway with everything on that has been through something, and the snapshot of it.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "only tests are in here")]

pub mod faults;

use config::Gateway;
use core::net::Ipv4Addr;
use replay::{FramePool, OwnedFrame};
use std::path::{Path, PathBuf};
use switch::{PoolReport, Shard, Stops, Transmitter, Volume};
use telemetry::{
    CoveredDelayReport, HardwareReport, MemoryReport, NegotiatedReport, Observation, ObservedPort,
    ObservedWorker, Passage, PfcPassage, ReloadsReport, Snapshot, WireDevice,
};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority, PrioritySet, WireBytes};
use wire::ethernet::MacAddress;
use wire::grants;
use wire::grants::credit;
use wire::grants::slot::{self, Kind};
use wire::ip::Dscp;
use wire::lldp;
use wire::ptp::{self, Body, Message, PortIdentity, Ptp, Timestamp};
use wire::rate_feedback::{self, Content, FRAME_LEN, Frame, Key, Received};
use worker::{DeviceCounters, EmulationCounters, Inspection, Profile, Stage};

pub const GATEWAY: &str = r#"
[gateway]
name = "amsterdam"
seed = 1

[buffer]
shared = "1MiB"
egress_lossy = "256KiB"

[forwarding]
mode = "patch"
pairs = [["dc0", "lh0"]]

[[port]]
name = "dc0"
mac = "02:00:00:00:00:01"
rate = "10G"
distance = "100m"
[[port.lossless]]
priorities = [3]
reserved = "2kB"
xoff = "24kB"
xon = "16kB"
headroom = "256KiB"

[[port]]
name = "lh0"
mac = "02:00:00:00:00:02"
rate = "1G"
mtu = 1500
tx_window = "0us"
interface_delay = "0us"
flow_control = "bifrost"
[[port.lossless]]
priorities = [3]
xoff = "400kB"
[[port.queue]]
priorities = [3]
ecn = { kmin = "8kB", kmax = "64kB", pmax = 0.2 }
[port.bifrost]
slot = "50us"
round_trip = "400us"
[port.lscc]
local = "10.255.0.1"
peer = "10.255.0.2"
key = "000102030405060708090a0b0c0d0e0f"
interval = "200us"
reference = "20kB"
step = "100M"
least = "1M"
pseudo_reference = "10kB"
flows = 1024
[port.watchdog]
detection = "150ms"
action = "alert"
"#;

const DC0: PortId = PortId(0);
const LH0: PortId = PortId(1);
/// The rate of the time stamp counter.
const TSC_HZ: u64 = 2_500_000_000;
const START: Nanos = Nanos(1_700_000_000_000_000_000);
const SLOT: Interval = Interval::from_micros(50);

/// Takes everything and lets it go, except for the challenge to the far end of LSCC, of which it keeps the nonce.
#[derive(Default)]
struct Wire(Option<u64>);

impl Transmitter<OwnedFrame> for Wire {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _: Nanos, _: OwnedFrame) {}

    fn control(&mut self, _: Nanos, frame: &[u8]) {
        let content = Received::parse(&frame[14..]).map(|received| received.message.message().content);
        if let Ok(Content::Challenge { nonce }) = content {
            self.0 = Some(nonce);
        }
    }
}

/// A path in this crate.
pub fn in_crate(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn gateway() -> Gateway {
    config::parse(GATEWAY, "gateway.toml").unwrap()
}

/// An IPv4 packet of `length` bytes with `dscp`, capable of ECN.
fn packet(dscp: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 9, 2, 2, 0, 0, 0, 9, 1, 8, 0, 0x45, dscp << 2 | 2];
    frame.extend(((length - 14) as u16).to_be_bytes());
    frame.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 1, 0, 1]);
    frame.resize(length, 0);
    frame
}

/// A PFC frame that pauses priority 3 for as long as it can say.
fn pfc() -> Vec<u8> {
    let mut frame = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 9, 2, 0x88, 0x08, 1, 1, 0, 0b1000];
    frame.extend([0; 6]);
    frame.extend([0xff, 0xff]);
    frame.resize(60, 0);
    frame
}

/// A message of the far end of LSCC, as an answer to the challenge with a nonce where there is one.
fn feedback(now: Nanos, nonce: Option<u64>) -> Vec<u8> {
    let key = Key(core::array::from_fn(|place| place as u8));
    let rate = BitRate::new(400_000_000).unwrap();
    let frame = Frame {
        source_mac: MacAddress([2, 0, 0, 0, 9, 2]),
        source: Ipv4Addr::new(10, 255, 0, 2),
        destination: Ipv4Addr::new(10, 255, 0, 1),
        dscp: Dscp::from_low_bits(48),
        identification: 1,
        message: rate_feedback::Message {
            port: 1,
            content: Content::Rate { rate, sequence: now.0, session: 1 },
        },
    };
    let mut bytes = vec![0; FRAME_LEN];
    match nonce {
        Some(nonce) => frame.emit_answer(&key, nonce, &mut bytes).unwrap(),
        None => frame.emit(Some(&key), &mut bytes).unwrap(),
    };
    bytes
}

/// A link of 10G that sends more than one of 1G takes, then a peer that pauses for a second.
fn driven(gateway: &Gateway) -> (Shard<OwnedFrame>, Nanos) {
    let (mut shard, pool) = (Shard::single(gateway.program.clone()), FramePool::new());
    let (mut now, mut wire) = (START, Wire::default());
    let mut turn = |now: Nanos, arrivals: &[(PortId, Vec<u8>)]| {
        for (port, bytes) in arrivals {
            let mut burst = vec![pool.frame(bytes, bytes.len() as u32)];
            shard.ingress(now, *port, &mut burst, &mut ());
        }
        for port in [DC0, LH0] {
            shard.egress(now, port, &mut wire);
        }
        wire.0.take()
    };
    for _ in 0..100 {
        let lossless = std::iter::repeat_n((DC0, packet(24, 1_000)), 12);
        let lossy = [(DC0, packet(0, 500)), (LH0, packet(24, 1_500)), (DC0, vec![0; 9])];
        turn(now, &lossless.chain(lossy).collect::<Vec<_>>());
        now += SLOT;
    }
    for _ in 0..4_000 {
        turn(now, &[(LH0, pfc())]);
        now += SLOT;
    }
    // It is believed when it has answered a challenge.
    let nonce = turn(now, &[(LH0, feedback(now, None))]);
    assert!(nonce.is_some());
    turn(now, &[(LH0, feedback(now, nonce))]);
    (shard, now)
}

fn device(name: &str, link_up: bool, pfc: PfcPassage) -> WireDevice {
    WireDevice { name: name.into(), driver: "net_af_packet".into(), link_up, pfc }
}

/// The gateway after its traffic.
pub fn snapshot() -> Snapshot {
    let gateway = gateway();
    let (shard, now) = driven(&gateway);
    snapshot_of(&gateway, &shard, now)
}

/// Gateways with every scheme, and a bridge: all metrics together.
pub fn snapshots() -> [Snapshot; 10] {
    [
        snapshot(),
        snapshot_of_bridge(),
        snapshot_of_bundle(),
        snapshot_of_bifrostx(),
        snapshot_of_credits(),
        snapshot_of_early_pauses(),
        snapshot_of_port_grants(),
        snapshot_of_relays(),
        snapshot_of_link_delay(),
        snapshot_of_neighbours(),
    ]
}

/// A gateway with the ports dc0 and lh0 and one address in its bridge, after stations have changed what it knows of others
/// more often at one instant than they may.
pub fn snapshot_of_bridge() -> Snapshot {
    let ports = "[[port]]\nname = \"dc0\"\nrate = \"10G\"\n[[port]]\nname = \"lh0\"\nrate = \"10G\"\n";
    let text = format!("[forwarding]\nmode = \"bridge\"\ncapacity = 1\n{ports}");
    let gateway = config::parse(&text, "gateway.toml").unwrap();
    let (mut shard, pool) = (Shard::single(gateway.program.clone()), FramePool::new());
    let mut send = |port, station| {
        let mut bytes = packet(0, 60);
        bytes[11] = station;
        shard.ingress(START, port, &mut vec![pool.frame(&bytes, 60)], &mut ());
    };
    // Station 1 moves to lh0, and station 2 takes its place from dc0. Then station 2 is here and there 1,004 times:
    // lh0 has 999 changes left and is refused five, dc0 as many and wants no more.
    send(DC0, 1);
    send(LH0, 1);
    send(DC0, 2);
    for _ in 0..1_004 {
        send(LH0, 2);
        send(DC0, 2);
    }
    snapshot_of(&gateway, &shard, START)
}

/// A gateway with BifrostX at lh0, whose peer has granted three slots, of which one grant was lost and one came twice.
pub fn snapshot_of_bifrostx() -> Snapshot {
    let messages = [1, 1, 3].map(|sequence| {
        let head = slot::Head {
            kind: Kind::Grant,
            follows: true,
            priorities: PrioritySet::EMPTY.with(Priority::from_low_bits(3)),
            sequence,
            slot: SLOT,
            total: WireBytes(6_250),
        };
        grants::Message::Slot(slot::Message { head, each: [WireBytes(6_250); Priority::COUNT] })
    });
    snapshot_with(&GATEWAY.replace("\"bifrost\"", "\"bifrostx\""), messages)
}

/// A gateway with credits and direct INT at lh0, whose peer has sent three messages, of which one was lost and one came twice.
pub fn snapshot_of_credits() -> Snapshot {
    let messages = [1, 1, 3].map(|sequence| {
        grants::Message::Credit(credit::Message {
            counter: credit::Counter::Wide,
            priorities: PrioritySet::EMPTY.with(Priority::from_low_bits(3)),
            sequence,
            session: 1,
            echo: 0,
            sent: [WireBytes(4_000); Priority::COUNT],
            limit: [0; Priority::COUNT],
        })
    });
    let gateway = GATEWAY.replace("\"bifrost\"", "\"cbfc\"").replace("[port.bifrost]", "[port.cbfc]");
    let gateway = gateway.replace("[port.lscc]", "[port.lscc]\ndirect = \"int\"\nround_trip = \"400us\"");
    snapshot_with(&without_slots(&gateway), messages)
}

/// `gateway` without the keys of Bifrost's table.
fn without_slots(gateway: &str) -> String {
    let slots = ["slot = ", "lateness = ", "virtual_incoming = "];
    let lines = gateway.lines().filter(|line| !slots.iter().any(|key| line.starts_with(key)));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A gateway with traffic at both ports, to whose lh0 comes one of `messages` after the other.
fn snapshot_with(gateway: &str, messages: [grants::Message; 3]) -> Snapshot {
    let gateway = config::parse(gateway, "gateway.toml").unwrap();
    let (mut shard, pool) = (Shard::single(gateway.program.clone()), FramePool::new());
    let mut now = START;
    for message in messages {
        let mut bytes = vec![0; message.frame_len()];
        message.emit(MacAddress([2, 0, 0, 0, 9, 2]), &mut bytes).unwrap();
        for (port, bytes) in [(DC0, packet(24, 1_000)), (LH0, packet(24, 1_500)), (LH0, bytes)] {
            let length = bytes.len() as u32;
            shard.ingress(now, port, &mut vec![pool.frame(&bytes, length)], &mut ());
        }
        now += SLOT;
        for port in [DC0, LH0] {
            shard.egress(now, port, &mut Wire::default());
        }
    }
    snapshot_of(&gateway, &shard, now)
}

/// Answers the requests of peer delay that leave a port, over a link of 400 us.
#[derive(Default)]
struct Answers(Vec<Vec<u8>>);

impl Transmitter<OwnedFrame> for Answers {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _: Nanos, _: OwnedFrame) {}

    fn control(&mut self, _: Nanos, frame: &[u8]) {
        let Ok(Ptp::PeerDelay(Message { source: requester, sequence, .. })) = Ptp::parse(&frame[14..]) else {
            return;
        };
        let at = Timestamp { seconds: 7, nanoseconds: 0 };
        for body in [Body::Response { received: at, requester }, Body::FollowUp { sent: at, requester }] {
            let source = PortIdentity { clock: 9, port: 1 };
            let mut bytes = vec![0; ptp::FRAME_LEN];
            Message { source, sequence, correction: 0, body }.emit(MacAddress([2; 6]), &mut bytes).unwrap();
            self.0.push(bytes);
        }
    }
}

/// A gateway whose port lh0 has measured its link.
pub fn snapshot_of_link_delay() -> Snapshot {
    let lossless = "distance = \"80km\"\nlossless = [{ priorities = [3] }]\n";
    let text = format!(
        "[buffer]\nshared = \"8MiB\"\n[[port]]\nname = \"dc0\"\nrate = \"1G\"\n\
         [[port]]\nname = \"lh0\"\nrate = \"1G\"\n{lossless}[port.link_delay]\n"
    );
    let gateway = config::parse(&text, "gateway.toml").unwrap();
    let (mut shard, pool, mut now) = (Shard::single(gateway.program.clone()), FramePool::new(), START);
    for _ in 0..9 {
        let mut answers = Answers::default();
        shard.egress(now, LH0, &mut answers);
        for bytes in answers.0 {
            let (at, length) = (now + Interval::from_micros(800), bytes.len() as u32);
            shard.ingress(at, LH0, &mut vec![pool.frame(&bytes, length)], &mut ());
        }
        now += Interval::from_secs(1);
    }
    snapshot_of(&gateway, &shard, now)
}

/// A gateway whose bundle of lh0 and lh1 has lost the first of them.
pub fn snapshot_of_bundle() -> Snapshot {
    let text = "[[bundle]]\nname = \"lh\"\nmembers = [\"lh0\", \"lh1\"]\n\
                liveness = \"hello\"\nkey = \"00112233445566778899aabbccddeeff\"\n\
                [[port]]\nname = \"dc0\"\nmac = \"02:00:5e:00:00:01\"\nrate = \"10G\"\n\
                [[port]]\nname = \"lh0\"\nrate = \"10G\"\ndistance = \"80km\"\n\
                [[port]]\nname = \"lh1\"\nrate = \"10G\"\ndistance = \"95km\"\n";
    let gateway = config::parse(text, "gateway.toml").unwrap();
    let mut shard = Shard::single(gateway.program.clone());
    shard.set_carrier(START, LH0, false);
    snapshot_of(&gateway, &shard, START)
}

/// A gateway at rest whose port dc0 has P-PFC, and lh0 CaPFC with supplemental CNPs.
pub fn snapshot_of_early_pauses() -> Snapshot {
    snapshot_of_schemes("p-pfc", "capfc")
}

/// A gateway at rest that relays pauses between dc0 and lh0.
pub fn snapshot_of_relays() -> Snapshot {
    snapshot_of_schemes("relay", "relay")
}

/// A gateway at rest with repair at dc0, and port grants and THEMIS at lh0.
pub fn snapshot_of_port_grants() -> Snapshot {
    let text = "[[port]]\nname = \"dc0\"\nrate = \"10G\"\ndistance = \"1km\"\nrepair = {}\nlossless = [{ priorities = [3] }]\n\
                [[port]]\nname = \"lh0\"\nrate = \"10G\"\ndistance = \"80km\"\nflow_control = \"port-grants\"\n\
                lossless = [{ priorities = [3] }]\n[port.themis]\n";
    let gateway = config::parse(text, "gateway.toml").unwrap();
    snapshot_of(&gateway, &Shard::single(gateway.program.clone()), START)
}

/// A gateway at rest with these schemes on dc0 and lh0.
fn snapshot_of_schemes(dc0: &str, lh0: &str) -> Snapshot {
    let port = |name, scheme| {
        format!(
            "[[port]]\nname = \"{name}\"\nrate = \"10G\"\ndistance = \"1km\"\nflow_control = \"{scheme}\"\n\
             orientation = \"uplink\"\nremap = {{ 3 = 5 }}\nlossless = [{{ priorities = [3, 5] }}]\n\
             queue = [{{ priorities = [3], ecn = {{ kmin = \"100kB\", kmax = \"400kB\", \
             adaptive = {{ kmin = \"50kB\", kmax = \"200kB\" }} }} }}]\n"
        )
    };
    let supplement = "[port.supplement]\nthreshold = \"1MB\"\n";
    let text = port("dc0", dc0) + &port("lh0", lh0) + supplement;
    let gateway = config::parse(&text, "gateway.toml").unwrap();
    snapshot_of(&gateway, &Shard::single(gateway.program.clone()), START)
}

/// The delay that the headroom of lh0 covers.
const COVERED: CoveredDelayReport = CoveredDelayReport { covered_ns: 412_500, applied: 2, refused: 1 };

/// The profile of a worker after a million turns.
pub const PROFILE: Profile = Profile {
    turns: 1_000_000,
    busy_turns: 250_000,
    elapsed: Interval(205_000_000),
    busy: Interval(120_000_000),
    asleep: Interval(10_000_000),
    bursts: 300_000,
    frames: 2_400_000,
    sampled_turns: 4_098,
    sampled: [Interval(400_000), Interval(800_000), Interval(700_000), Interval(100_000)],
};

/// A gateway with LSCC and credits at lh0 that has been at rest for a second, and of which nothing is wrong.
pub fn snapshot_at_rest() -> Snapshot {
    let text = GATEWAY.replace("\"bifrost\"", "\"cbfc\"").replace("[port.bifrost]", "[port.cbfc]");
    let text = text.replace("[port.lscc]", "[port.lscc]\nround_trip = \"400us\"");
    let gateway = config::parse(&without_slots(&text), "gateway.toml").unwrap();
    let shard = Shard::single(gateway.program.clone());
    let mut snapshot = snapshot_of(&gateway, &shard, START + Interval::from_secs(1));
    for port in &mut snapshot.ports {
        port.device.link_up = true;
        port.counters = Default::default();
    }
    for worker in &mut snapshot.workers {
        worker.late_turns = 0;
    }
    // Its peer has granted credits.
    let mut json = serde_json::to_value(snapshot).unwrap();
    json["ports"][1]["credits"]["hears"] = 1.into();
    json["ports"][1]["covered_delay"]["refused"] = 0.into();
    serde_json::from_value(json).unwrap()
}

/// Buffers and tables of the gateway.
const MEMORY: MemoryReport = MemoryReport {
    mbufs: 65_536,
    mbufs_in_use: 4_203,
    size_bytes: 160_000_000,
    resident_bytes: 24_576_000,
    huge_page_bytes: 20_971_520,
};

/// Adds two pauses, one of which used more than half of the headroom.
fn add_pauses(stops: &mut Stops) {
    [3_000, 9_000].map(Interval).iter().for_each(|time| stops.times.record(*time));
    (stops.headroom[0], stops.headroom[8]) = (1, 1);
}

/// The snapshot of a gateway with two workers that share one shard for want of a second.
fn snapshot_of(gateway: &Gateway, shard: &Shard<OwnedFrame>, now: Nanos) -> Snapshot {
    let mut inspections = [Inspection::default(), Inspection::default()];
    for (port, inspection) in [DC0, LH0].into_iter().zip(&mut inspections) {
        shard.inspect(now, port, &mut inspection.port);
        inspection.device = DeviceCounters {
            received: 1_500,
            sent: 1_200,
            control_sent: 40,
            control_lost: Volume { frames: 1, bytes: Bytes(60) },
            full: 2,
            ..DeviceCounters::default()
        };
        inspection.profile = PROFILE;
        add_pauses(&mut inspection.port.stops[3]);
        for nanos in [150, 700, 700, 2_000, 90_000] {
            inspection.turns.record(Interval(nanos));
            inspection.lateness.record(Interval(nanos / 3));
        }
    }
    (inspections[0].pools, inspections[1].pools) = (shard.pools(), PoolReport::default());
    inspections[0].port.watchdog = Default::default();
    inspections[1].emulation = EmulationCounters {
        in_flight: 7,
        data_in_flight: 6,
        peak_in_flight: 90,
        delivered: 1_000,
        lost: 3,
        ..Default::default()
    };
    let [dc0, lh0] = &inspections;
    let workers = vec![worker(3, Stage::Egress(LH0), LH0, lh0), worker(2, Stage::Idle, DC0, dc0)];
    let dc0 = ObservedPort {
        port: DC0,
        device: device("veth-dc", true, PfcPassage { receive: Passage::Yes, transmit: Passage::Yes }),
        hardware: HardwareReport { missed: 5, no_mbuf: 4, ..HardwareReport::default() },
        emulated: false,
        inspection: dc0,
    };
    let lh0 = ObservedPort {
        port: LH0,
        device: device("veth-lh", false, PfcPassage::default()),
        hardware: HardwareReport::default(),
        emulated: true,
        inspection: lh0,
    };
    Snapshot::new(&Observation {
        gateway,
        configured: gateway,
        started: START,
        now,
        tsc_hz: TSC_HZ,
        reloads: ReloadsReport { applied: 3, refused: 1 },
        refused_by_kernel: 7,
        covered_delays: vec![None, Some(COVERED)],
        negotiated: vec![None, negotiated(gateway)],
        memory: MEMORY,
        ledgers: vec![shard.ledger()],
        // The second one first: they are put in order.
        ports: vec![lh0, dc0],
        workers,
    })
}

/// The PFC of lh0, as its neighbour has changed it, where one may.
fn negotiated(gateway: &Gateway) -> Option<NegotiatedReport> {
    let report =
        NegotiatedReport { enabled: vec![3], configured: vec![3, 4], applied: 1, refused: 0, refusal: None };
    (!gateway.willing(LH0).is_empty()).then_some(report)
}

/// A gateway whose port lh0 has a neighbour that differs in all that the settings of one neighbour can.
pub fn snapshot_of_neighbours() -> Snapshot {
    snapshot_of_neighbours_called(&["Ethernet0"])
}

/// The same with such a neighbour at each of these ports, all of which speak DCBX.
pub fn snapshot_of_neighbours_called(ports: &[&str]) -> Snapshot {
    let text = "[gateway]\nname = \"near\"\n[buffer]\nshared = \"8MiB\"\n[[port]]\nname = \"dc0\"\nrate = \"1G\"\n\
                [[port]]\nname = \"lh0\"\nrate = \"1G\"\nmtu = 1500\ndistance = \"1km\"\nlossless = [{ priorities = [3, 4] }]\n\
                [port.lldp]\nroce = 3\nwilling = [4]\n";
    let gateway = config::parse(text, "gateway.toml").unwrap();
    let (mut shard, pool) = (Shard::single(gateway.program.clone()), FramePool::new());
    let enabled = PrioritySet::EMPTY.with(Priority::from_low_bits(5));
    let roce = lldp::Application {
        selector: lldp::Selector::UDP,
        protocol: 4_791,
        priority: Priority::from_low_bits(5),
    };
    for name in ports {
        let neighbour = lldp::Message {
            chassis: lldp::Id::of_chassis(MacAddress([2, 0, 0, 0, 9, 2])),
            port: lldp::Id::of_port(name),
            ttl_seconds: 120,
            system_name: lldp::Octets::new(b"far\n"),
            management: Some(Ipv4Addr::new(192, 0, 2, 9).into()),
            max_frame: Some(9_216),
            ets: Some(lldp::Ets::default()),
            ets_recommendation: None,
            pfc: Some(lldp::Pfc { willing: false, macsec_bypass: false, capability: 1, enabled }),
            applications: [roce].into_iter().collect(),
            cee: false,
        };
        let mut bytes = vec![0; lldp::LONGEST_EMITTED];
        let length = neighbour.emit(MacAddress([2, 0, 0, 0, 9, 2]), &mut bytes).unwrap();
        bytes.truncate(length);
        shard.ingress(START, LH0, &mut vec![pool.frame(&bytes, length as u32)], &mut ());
    }
    snapshot_of(&gateway, &shard, START + Interval::from_secs(7))
}

fn worker(core: usize, stage: Stage, port: PortId, inspection: &Inspection) -> ObservedWorker<'_> {
    let (turns, busy_turns) = (PROFILE.turns, PROFILE.busy_turns);
    ObservedWorker { core, turns, busy_turns, late_turns: 2, stage, ports: vec![port], inspection }
}

/// Holds `text` against a golden file, or writes it anew where `BLESS` is set.
pub fn assert_golden(name: &str, text: &str) {
    let path = in_crate("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "{name} differs: BLESS=1 writes it anew, and git diff shows how. It is:\n{text}");
}
