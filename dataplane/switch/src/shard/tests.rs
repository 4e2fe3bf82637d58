//! Shards as their driver sees them.

mod bundled;
mod follow;
mod kernel;
mod repaired;

use super::*;
use crate::flow_control::{Directive, PauseCause};
use crate::program::{BufferSettings, ForwardingSettings, PortSettings, Settings};
use units::{BitRate, Bytes, PauseQuanta, PrioritySet};
use wire::ethernet::MacAddress;

const A: PortId = PortId(0);
const B: PortId = PortId(1);
const C: PortId = PortId(2);
const P3: Priority = Priority::from_low_bits(3);
const P4: Priority = Priority::from_low_bits(4);

/// A frame of another EtherType than IP.
fn plain() -> Vec<u8> {
    let mut bytes = vec![2; 64];
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes
}

/// Counts frames that leave.
#[derive(Default)]
struct Counter(usize);

impl Transmitter<Vec<u8>> for Counter {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _: Nanos, _: Vec<u8>) {
        self.0 += 1;
    }

    fn control(&mut self, _: Nanos, _: &[u8]) {}
}

impl Links<Vec<u8>> for Counter {
    fn takes(&self, _: PortId) -> bool {
        false
    }

    fn frame(&mut self, _: PortId, _: Nanos, _: Vec<u8>) {
        self.0 += 1;
    }
}

/// Two ports of a byte a nanosecond, wired to each other.
fn program() -> Arc<Program> {
    program_of(&[(A, B)])
}

/// The same with these pairs.
fn program_of(pairs: &[(PortId, PortId)]) -> Arc<Program> {
    let port = |number| {
        let mac = MacAddress([2, 0, 0, 0, 0, number]);
        PortSettings::lossy(format!("port{number}"), mac, BitRate::gigabits(8))
    };
    let pool = Bytes(1 << 30);
    let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
    let forwarding = ForwardingSettings::Patch(pairs.to_vec());
    let ports = (0..2 * pairs.len() as u8).map(port).collect();
    Arc::new(Program::new(Settings { ports, buffer, forwarding, seed: 1 }).unwrap())
}

fn inject(shard: &mut Shard<Vec<u8>>, count: usize) {
    shard.ingress(Nanos(0), A, &mut vec![plain(); count], &mut Counter::default());
}

#[test]
fn a_driver_learns_which_ports_have_changed_and_when_a_frame_can_leave() {
    let mut shard = Shard::single(program());
    let changed = |shard: &mut Shard<Vec<u8>>| (shard.has_changed(), shard.take_changed());
    assert_eq!(changed(&mut shard), (true, PortSet::first(2)));
    assert_eq!(changed(&mut shard), (false, PortSet::EMPTY));
    assert_eq!(shard.departure(B), Nanos::NEVER);
    inject(&mut shard, 2);
    assert_eq!(changed(&mut shard), (true, [B].into_iter().collect()));
    assert_eq!(shard.departure(B), Nanos(0));
    let mut out = Counter::default();
    shard.egress(Nanos(0), B, &mut out);
    // The link takes one frame at a time.
    assert_eq!((out.0, shard.departure(B)), (1, Nanos(88)));
}

/// Two shards with a pair of ports each.
fn two_shards() -> [Shard<Vec<u8>>; 2] {
    let pairs = [(A, B), (PortId(2), PortId(3))];
    let (program, ledger) = (program_of(&pairs), Arc::new(Ledger::new(4, 2)));
    [0, 1].map(|id| {
        let (one, other) = pairs[id];
        let owned = [one, other].into_iter().collect();
        Shard::new(ShardId(id as u16), program.clone(), ledger.clone(), owned)
    })
}

#[test]
fn a_shard_sees_what_the_other_holds_of_the_pools() {
    let [mut one, mut other] = two_shards();
    inject(&mut one, 5);
    let held = one.fabric.pools.held();
    // A frame of 64 bytes takes 4 cells and one for its record.
    assert_eq!((held.shared, held.egress_lossy), (Bytes(5 * 80), Bytes(5 * 80)));
    let seen = |shard: &Shard<Vec<u8>>| {
        let pools = &shard.fabric.pools;
        (pools.shared.others, pools.headroom.others, pools.egress_lossy.others)
    };
    assert_eq!(seen(&other), Default::default());
    other.look_at_other_shards();
    assert_eq!(seen(&other), (held.shared, held.headroom, held.egress_lossy));
    one.egress(Nanos(0), B, &mut Counter::default());
    assert_eq!(one.fabric.pools.held().shared, Bytes(4 * 80));
    other.ingress(Nanos(0), PortId(2), &mut vec![plain()], &mut Counter::default());
    assert_eq!(seen(&other).0, Bytes(4 * 80), "it looks before each burst, too");
}

#[test]
fn a_program_that_joins_ports_of_two_shards_is_not_installed() {
    let [mut one, _] = two_shards();
    let crossed = program_of(&[(A, PortId(2)), (B, PortId(3))]);
    let refused = NotLive::Team { port: "port0".into(), other: "port2".into() };
    assert_eq!(one.install(Nanos(0), crossed).err(), Some(refused));
    assert!(one.install(Nanos(0), program_of(&[(B, A), (PortId(3), PortId(2))])).is_ok());
}

#[test]
fn a_pause_is_shown_until_it_ends() {
    let mut shard = Shard::<Vec<u8>>::single(program());
    shard.fabric.egress[A.index()].gate.pauses.stop(Nanos(0), P3, PauseQuanta(100));
    let sent = &mut shard.fabric.ingress[A.index()].pauses;
    sent.follow(Directive::Pause { priority: P4, cause: PauseCause::Threshold });
    sent.take_due(Nanos(0), Nanos(0));
    let (three, four) = (PrioritySet::EMPTY.with(P3), PrioritySet::EMPTY.with(P4));
    // A quantum is 64 ns, and a frame asks for 65,535 of them.
    for (now, sent, received, until) in [
        (6_399, four, three, Nanos(6_400)),
        (6_400, four, PrioritySet::EMPTY, Nanos(4_194_240)),
        (4_194_239, four, PrioritySet::EMPTY, Nanos(4_194_240)),
        (4_194_240, PrioritySet::EMPTY, PrioritySet::EMPTY, Nanos::NEVER),
    ] {
        assert_eq!(shard.pauses(Nanos(now), A), PauseState { sent, received, until }, "{now}");
    }
}
