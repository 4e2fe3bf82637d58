//! Flows keep their order on lanes, whose turns come in an order that the seed draws.

use super::*;
use crate::program::{BufferSettings, ForwardingSettings, PortSettings, Settings};
use units::{BitRate, Bytes};
use wire::ethernet::MacAddress;

const A: PortId = PortId(0);
const B: PortId = PortId(1);
const HOSTS: u8 = 16;

/// Two ports of a byte a nanosecond, wired to each other.
fn program(seed: u64) -> Arc<Program> {
    let port = |number| {
        let mac = MacAddress([2, 0, 0, 0, 0, number]);
        PortSettings::lossy(format!("port{number}"), mac, BitRate::gigabits(8))
    };
    let pool = Bytes(1 << 30);
    let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
    let forwarding = ForwardingSettings::Patch(vec![(A, B)]);
    Arc::new(Program::new(Settings { ports: (0..2).map(port).collect(), buffer, forwarding, seed }).unwrap())
}

/// The packet with this number, of 86 bytes on the link, from one of the hosts to 10.0.9.9.
fn packet(host: u8, number: u8) -> Vec<u8> {
    let mut bytes = vec![0; 62];
    bytes[12..14].copy_from_slice(&[0x08, 0]);
    bytes[14..24].copy_from_slice(&[0x45, 0, 0, 48, 0, 0, 0, 0, 64, 17]);
    bytes[26..34].copy_from_slice(&[10, 0, 0, host, 10, 0, 9, 9]);
    bytes[60] = number;
    bytes
}

/// The host and number of each packet that left, with its start.
#[derive(Default)]
struct Left(Vec<(Nanos, u8, u8)>);

impl Transmitter<Vec<u8>> for Left {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, start: Nanos, frame: Vec<u8>) {
        self.0.push((start, frame[29], frame[60]));
    }

    fn control(&mut self, _: Nanos, _: &[u8]) {}
}

impl Links<Vec<u8>> for Left {
    fn takes(&self, _: PortId) -> bool {
        true
    }

    fn frame(&mut self, _: PortId, start: Nanos, frame: Vec<u8>) {
        Transmitter::frame(self, start, frame);
    }
}

/// Gives `lanes` twenty bursts in each of which every host has two packets, and lets all of them leave.
fn run(lanes: &mut Lanes<Vec<u8>>, lane_of: impl Fn(&Vec<u8>) -> usize) -> Vec<(Nanos, u8, u8)> {
    let (mut left, mut now) = (Left::default(), Nanos(0));
    for burst in 0..20 {
        let packets = (0..2 * HOSTS).map(|place| packet(place % HOSTS, 2 * burst + place / HOSTS));
        lanes.ingress_by(now, A, &mut packets.collect(), &mut left, &lane_of);
        loop {
            let next = lanes.port_deadline(B).min(lanes.look_due());
            if next > Nanos(4_000 * (u64::from(burst) + 1)) && burst < 19 || next == Nanos::NEVER {
                break;
            }
            now = now.max(next);
            if lanes.look_due() <= now {
                lanes.look(now);
            }
            lanes.egress(now, B, &mut left);
        }
        now = now.max(Nanos(4_000 * (u64::from(burst) + 1)));
    }
    left.0
}

fn by_hash(seed: u64, count: usize) -> Vec<(Nanos, u8, u8)> {
    let mut lanes = Lanes::new(program(seed), count).unwrap();
    let hash = lanes.hash;
    run(&mut lanes, |frame| home(hash, frame, count))
}

/// Whether all packets are there, and those of each host in order.
fn is_ordered(left: &[(Nanos, u8, u8)]) -> bool {
    (0..HOSTS).all(|host| left.iter().filter(|(_, of, _)| *of == host).map(|it| it.2).eq(0..40))
}

#[test]
fn each_flow_keeps_its_order_and_the_link_carries_one_frame_at_a_time() {
    for (seed, count) in (0..20).flat_map(|seed| [1, 2, 3, 4].map(|count| (seed, count))) {
        let left = by_hash(seed, count);
        assert!(is_ordered(&left), "seed {seed}, {count} lanes");
        let gaps = left.windows(2).map(|pair| pair[1].0.0 as i64 - pair[0].0.0 as i64);
        assert!(gaps.min() >= Some(86), "seed {seed}, {count} lanes");
    }
}

#[test]
fn a_flow_that_is_spread_over_lanes_loses_its_order() {
    for seed in 0..20 {
        let mut lanes = Lanes::new(program(seed), 2).unwrap();
        let left = run(&mut lanes, |frame| usize::from(frame[60]) % 2);
        assert_eq!(left.len(), 20 * 32);
        assert!(!is_ordered(&left), "seed {seed}");
    }
}

#[test]
fn a_seed_draws_one_schedule_and_others_draw_others() {
    let runs: Vec<_> = (0..20).map(|seed| by_hash(seed, 2)).collect();
    assert_eq!(runs[7], by_hash(7, 2));
    let distinct: std::collections::BTreeSet<_> = runs.iter().collect();
    assert!(distinct.len() > 18, "{}", distinct.len());
    assert!((0..20).all(|seed| by_hash(seed, 1) == by_hash(0, 1)), "one lane draws nothing");
}

#[test]
fn frames_without_addresses_go_to_the_lead_and_others_to_all_lanes() {
    let mut lanes = Lanes::new(program(3), 2).unwrap();
    let mut burst: Vec<_> = (0..HOSTS).map(|host| packet(host, 0)).collect();
    burst.extend([vec![2; 64], vec![0; 10]]);
    lanes.ingress(Nanos(0), A, &mut burst, &mut Left::default());
    let frames = |lane: &Shard<Vec<u8>>| {
        let counters = lane.ingress_counters(A);
        let dropped = counters.dropped.iter().flat_map(|reasons| reasons.iter());
        counters.received.iter().chain(dropped).map(|volume| volume.frames).sum::<u64>()
    };
    let [lead, other] = lanes.lanes() else { panic!("there are two") };
    // Hosts differ in four consecutive bits.
    assert_eq!((frames(lead), frames(other)), (8 + 3, 8));
}

#[test]
fn lanes_come_to_rest_after_the_last_frame_and_one_lane_is_always_at_rest() {
    for (seed, count) in (0..20).flat_map(|seed| [1, 4].map(|count| (seed, count))) {
        let mut lanes = Lanes::new(program(seed), count).unwrap();
        let hash = lanes.hash;
        run(&mut lanes, |frame| home(hash, frame, count));
        assert_eq!(lanes.look_due().min(lanes.port_deadline(B)), Nanos::NEVER, "seed {seed}, {count} lanes");
    }
}
