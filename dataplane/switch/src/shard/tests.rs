//! Shards as their driver sees them.

mod follow;

use super::*;
use crate::flow_control::{Directive, PauseCause};
use crate::program::{BufferSettings, ForwardingSettings, PortSettings, Settings};
use units::{BitRate, Bytes, PauseQuanta, PrioritySet};
use wire::ethernet::MacAddress;

const A: PortId = PortId(0);
const B: PortId = PortId(1);
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
    program_of(2)
}

/// The same with more ports, which are wired to nothing.
fn program_of(ports: u8) -> Arc<Program> {
    let port = |number| {
        let mac = MacAddress([2, 0, 0, 0, 0, number]);
        PortSettings::lossy(format!("port{number}"), mac, BitRate::gigabits(8))
    };
    let pool = Bytes(1 << 30);
    let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
    let forwarding = ForwardingSettings::Patch(vec![(A, B)]);
    let ports = (0..ports).map(port).collect();
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

#[test]
fn frames_that_find_no_room_in_an_outbox_are_counted() {
    let (ledger, owners) = (Arc::new(Ledger::new(2, 2)), vec![ShardId(0), ShardId(1)]);
    let mut shard = Shard::new(ShardId(0), program(), ledger, owners);
    inject(&mut shard, 300);
    assert_eq!((shard.outbox(ShardId(1)).len(), shard.held_back()), (256, 44));
}

#[test]
fn a_shard_knows_how_many_ports_the_largest_of_the_others_has() {
    let most = |owners: &[u16], shards| {
        let (program, ledger) = (program_of(owners.len() as u8), Arc::new(Ledger::new(owners.len(), shards)));
        let owners = owners.iter().map(|shard| ShardId(*shard)).collect();
        Shard::<Vec<u8>>::new(ShardId(0), program, ledger, owners).most_ports_of_another()
    };
    assert_eq!(most(&[0, 0], 1), 0);
    assert_eq!(most(&[0, 0, 0, 1], 2), 1);
    assert_eq!(most(&[0, 1, 2, 2, 2, 2, 3], 4), 4);
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
