//! What repair costs a gateway beyond forwarding: nanoseconds for each frame, in mbufs, at both ends of a link that loses
//! nothing. Forwarding and repair take turns, and the medians of their rounds count.
//!
//! `cargo run --release --package benches --features dpdk --example repair_turns -- 3000 1082`: kilometres, and bytes of
//! a frame. It takes hugepages for what the link carries.
//!
//! A device takes part as 1,024 mbufs that it frees late. The bytes of a frame come and go outside of what is timed, as
//! a device writes and reads them.

use benches::packets::Packets;
use dpdk::{Eal, EalOptions, Mbuf, Memory, Pool, PoolSettings};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use switch::repair::Repair;
use switch::{Frame, Program, Shard, Transmitter};
use units::{Bytes, Interval, Nanos, PortId, WireBytes};

const HOSTS: PortId = PortId(0);
const LINK: PortId = PortId(1);
const BURST: usize = 32;
/// The descriptors of a device.
const RING: usize = 1_024;
/// The bytes of a frame that are read.
const HEADERS: usize = 160;
const FLOWS: u32 = 64;
const ROUNDS: usize = 7;
const FRAMES_IN_A_ROUND: usize = 1 << 19;

const CONFIG: &str = r#"
[gateway]
name = "bench-repair"

[buffer]
shared = "4GB"
headroom = "4GB"

[[port]]
name = "dc0"
rate = "100G"
tx_window = "10us"
lossless = [{ priorities = [3], xoff = "1GB", headroom = "10MB" }]

[[port]]
name = "lh0"
mac = "02:00:00:00:00:{end}"
rate = "100G"
tx_window = "10us"
distance = "{km}km"
lossless = [{ priorities = [3], xoff = "1GB" }]
{repair}

[forwarding]
mode = "patch"
pairs = [["dc0", "lh0"]]
"#;

/// Takes what leaves.
#[derive(Default)]
struct Out {
    data: Vec<(Nanos, Mbuf)>,
    control: Vec<(Nanos, Vec<u8>)>,
}

impl Transmitter<Mbuf> for Out {
    fn room(&self) -> usize {
        2 * BURST - self.data.len()
    }

    fn frame(&mut self, start: Nanos, frame: Mbuf) {
        self.data.push((start, frame));
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        self.control.push((start, frame.to_vec()));
    }
}

/// What is on its way to a gateway: when it arrives, its length, and what is read of it.
type Wire = VecDeque<(Nanos, usize, [u8; HEADERS])>;

/// A gateway, and the devices of its two ports.
struct Gateway {
    shard: Shard<Mbuf>,
    pool: Pool,
    out: Out,
    sent: VecDeque<Mbuf>,
    /// What comes in through its long port.
    wire: Wire,
    nanos: u128,
}

impl Gateway {
    fn new(program: &Arc<Program>, pool: Pool) -> Self {
        let (out, sent, wire) = (Out::default(), VecDeque::with_capacity(RING + 1), Wire::new());
        Self { shard: Shard::single(program.clone()), pool, out, sent, wire, nanos: 0 }
    }

    /// Frames that have arrived, in memory that the device has written.
    fn arrived(&mut self, now: Nanos, bytes: &mut [u8]) -> Vec<Mbuf> {
        let mut burst = Vec::with_capacity(2 * BURST);
        while let Some((_, length, headers)) = self.wire.pop_front_if(|(due, ..)| *due <= now) {
            let read = length.min(HEADERS);
            bytes[..read].copy_from_slice(&headers[..read]);
            burst.push(self.pool.frame(&bytes[..length]).expect("the pool is large enough"));
        }
        burst
    }

    /// Takes a burst in through each port, and lets out what leaves `through`. This is what is timed.
    fn turn(&mut self, now: Nanos, bursts: [(PortId, Vec<Mbuf>); 2], through: [PortId; 2]) {
        let started = Instant::now();
        for (port, mut burst) in bursts {
            if !burst.is_empty() {
                self.shard.ingress(now, port, &mut burst, &mut ());
            }
        }
        through.into_iter().for_each(|port| self.shard.egress(now, port, &mut self.out));
        self.nanos += started.elapsed().as_nanos();
    }

    /// The device frees what it has sent long ago. This is timed as well.
    fn free(&mut self) {
        let started = Instant::now();
        for (_, frame) in self.out.data.drain(..) {
            self.sent.push_back(frame);
            if self.sent.len() > RING {
                self.sent.pop_front();
            }
        }
        self.nanos += started.elapsed().as_nanos();
    }
}

/// Two gateways with a link between them, and a host that sends without end.
struct Pair {
    ends: [Gateway; 2],
    delay: Interval,
    now: Nanos,
    step: Interval,
    /// One packet of each flow.
    packets: Vec<Vec<u8>>,
    turns: usize,
    room: Vec<u8>,
}

impl Pair {
    fn new(eal: &Eal, name: &str, (km, bytes): (u64, u64), repair: &str) -> Self {
        let text = CONFIG.replace("{km}", &km.to_string()).replace("{repair}", repair);
        let program =
            |end| config::parse(&text.replace("{end}", end), name).expect("the configuration holds").program;
        let (near, far) = (program("01"), program("02"));
        let link = near.port(LINK);
        let kept = link.repair.map_or(0, |it| it.retention.0 / (bytes + 24)) as u32;
        let pool = |end: &str, mbufs| {
            let settings = PoolSettings { mbufs, cache: 256, data_room: Bytes(2_176), socket: None };
            Pool::new(eal, &format!("{name}_{end}"), settings).expect("there is memory")
        };
        let ends = [Gateway::new(&near, pool("near", kept + 8_192)), Gateway::new(&far, pool("far", 8_192))];
        let of_hosts = Packets { frame_bytes: bytes as usize, flows: FLOWS, outward: true };
        let packets = (0..FLOWS.into()).map(|number| of_hosts.packet(number)).collect();
        // 98 % of the link: statuses take a part of the rest.
        let burst = WireBytes(WireBytes::of_frame(Bytes(bytes) + Repair::SHIM).0 * BURST as u64 * 100 / 98);
        let step = link.rate.serialization().time_of(burst);
        let delay = Interval::from_micros(km * 5);
        Self { ends, delay, now: Nanos(1_000_000), step, packets, turns: 0, room: vec![0; 9_216] }
    }

    fn burst_of_hosts(&mut self) -> Vec<Mbuf> {
        self.turns += 1;
        let packets = self.packets.iter().cycle().skip(self.turns * BURST % self.packets.len());
        packets.take(BURST).map(|it| self.ends[0].pool.frame(it).expect("the pool is large enough")).collect()
    }

    /// Moves what `from` has sent to the link, with the time at which it arrives.
    fn carry(&mut self, from: usize) {
        let [near, far] = &mut self.ends;
        let (from, to) = if from == 0 { (near, far) } else { (far, near) };
        let mut on_wire = |start: Nanos, length: usize, bytes: &[u8]| {
            let mut headers = [0; HEADERS];
            let read = bytes.len().min(HEADERS);
            headers[..read].copy_from_slice(&bytes[..read]);
            to.wire.push_back((start + self.delay, length, headers));
        };
        for (start, frame) in from.out.control.drain(..) {
            on_wire(start, frame.len(), &frame);
        }
        for (start, frame) in &from.out.data {
            on_wire(*start, frame.length().0 as usize, frame.headers());
        }
    }

    fn turn(&mut self) {
        self.now += self.step;
        let now = self.now;
        let hosts = self.burst_of_hosts();
        let statuses = self.ends[0].arrived(now, &mut self.room);
        self.ends[0].turn(now, [(LINK, statuses), (HOSTS, hosts)], [LINK, LINK]);
        self.carry(0);
        self.ends[0].free();
        let arrived = self.ends[1].arrived(now, &mut self.room);
        self.ends[1].turn(now, [(LINK, arrived), (HOSTS, Vec::new())], [HOSTS, HOSTS]);
        self.ends[1].free();
        self.ends[1].turn(now, [(LINK, Vec::new()), (HOSTS, Vec::new())], [LINK, LINK]);
        self.carry(1);
        self.ends[1].free();
    }

    /// Nanoseconds for each frame at both ends.
    fn measure(&mut self) -> [f64; 2] {
        self.ends.iter_mut().for_each(|end| end.nanos = 0);
        (0..FRAMES_IN_A_ROUND / BURST).for_each(|_| self.turn());
        [0, 1].map(|end| self.ends[end].nanos as f64 / FRAMES_IN_A_ROUND as f64)
    }

    /// Fills the link, and lets both ends meet.
    fn fill(&mut self) {
        let full = self.now + Interval(self.delay.0 * 20) + Interval::from_millis(100);
        while self.now < full {
            self.turn();
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let case = (next(80), next(1_082));
    let options =
        EalOptions { memory: Memory::Hugepages(Bytes(1 << 30)), ..EalOptions::new("longspan_repair") };
    let eal = Eal::start(&options).expect("DPDK starts");
    let mut pairs = [("forwarding", ""), ("repair", "repair = {}")]
        .map(|(name, repair)| Pair::new(&eal, name, case, repair));
    pairs.iter_mut().for_each(Pair::fill);
    let rounds: Vec<_> = (0..ROUNDS).map(|_| pairs.each_mut().map(Pair::measure)).collect();
    let of = |pair: usize, end: usize| median(rounds.iter().map(|round| round[pair][end]).collect());
    let (km, bytes) = case;
    println!("{km} km, frames of {bytes} bytes, ns a frame  forwarding   repair   beyond");
    for (end, name) in ["near end", "far end"].into_iter().enumerate() {
        let (plain, repaired) = (of(0, end), of(1, end));
        println!("{name:<42} {plain:>10.1} {repaired:>8.1} {:>8.1}", repaired - plain);
    }
    let [near, far] = [0, 1].map(|end| pairs[1].ends[end].shard.repair(LINK).expect("it is on"));
    assert!(near.is_up && far.is_up && near.near.unkept == 0 && far.far.arrived > 0, "{near:?} {far:?}");
    println!("kept {} frames, sent again {}", near.kept.frames, near.near.sent_again);
}
