//! Two switches that repair what the link between them loses.

use super::follow::Sent;
use super::*;
use crate::event::Happening;
use crate::program::{GroupSettings, LosslessGroup, Threshold};
use crate::reason::DropReason;
use crate::repair::{Repair, RepairChange, RepairLoss, RepairReport};
use crate::source::Source;
use units::{Interval, WireBytes};
use wire::grants;
use wire::repair::{AGAIN_LEN, NEW_LEN, Shim};

const PERIOD: Interval = Interval::from_micros(10);
/// Which port faces the other switch.
const LINK: PortId = B;

/// A frame of priority 3 with this number, of one of two flows.
fn frame(flow: u8, number: u8) -> Vec<u8> {
    let mut bytes = vec![2; 100];
    bytes[5] = flow;
    bytes[12..18].copy_from_slice(&[0x81, 0x00, 3 << 5, 1, 0x08, 0x06]);
    bytes[99] = number;
    bytes
}

fn repair() -> Repair {
    Repair {
        priorities: PrioritySet::EMPTY.with(P3),
        round_trip: Interval::from_micros(20),
        retention: WireBytes(100_000),
        frames: 64,
        period: PERIOD,
        outage: Interval::from_millis(50),
        keeps_order: true,
        key: None,
    }
}

/// A switch with port A for hosts, and the link behind port B.
fn switch(number: u8, repair: Option<Repair>) -> Shard<Vec<u8>> {
    let port = |port: u8| {
        let mac = MacAddress([2, 0, 0, number, 0, port]);
        let mut settings = PortSettings::lossy(format!("port{port}"), mac, BitRate::gigabits(100));
        settings.classification.trust = crate::program::Trust::Pcp;
        // All that may leave does so in one call.
        settings.tx_window = PERIOD;
        settings.groups[P3.index()] = GroupSettings::Lossless(LosslessGroup {
            reserved: Bytes::ZERO,
            xoff: Threshold::Static(Bytes(50_000)),
            xon: Bytes(25_000),
            xon_offset: Bytes::ZERO,
            headroom: Bytes(50_000),
        });
        settings
    };
    let mut ports = [0, 1].map(port);
    ports[LINK.index()].repair = repair;
    let pool = Bytes(100_000);
    let settings = Settings {
        ports: ports.into(),
        buffer: BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None },
        forwarding: ForwardingSettings::Patch(vec![(A, B)]),
        seed: 1,
    };
    let program = Arc::new(Program::new(settings).unwrap());
    Shard::new(ShardId(0), program, Arc::new(Ledger::new(2, 1)), PortSet::first(2))
}

struct Pair {
    now: Nanos,
    ends: [Shard<Vec<u8>>; 2],
}

impl Pair {
    fn new(repairs: [Option<Repair>; 2]) -> Self {
        let [near, far] = repairs;
        Self { now: Nanos(1_000), ends: [switch(1, near), switch(2, far)] }
    }

    /// As they are once both ends have heard each other.
    fn up() -> Self {
        Self::up_with(repair())
    }

    fn up_with(repair: Repair) -> Self {
        let mut pair = Self::new([Some(repair); 2]);
        for _ in 0..8 {
            pair.exchange(|_| true);
        }
        assert!([0, 1].map(|end| pair.report(end)).iter().all(|it| it.is_up));
        pair
    }

    fn report(&self, end: usize) -> RepairReport {
        self.ends[end].repair(LINK).unwrap()
    }

    /// Frames that `end` now sends through `port`.
    fn sent(&mut self, end: usize, port: PortId) -> Vec<Vec<u8>> {
        let mut out = Sent::default();
        self.ends[end].egress(self.now, port, &mut out);
        out.into_frames()
    }

    fn take(&mut self, end: usize, port: PortId, mut frames: Vec<Vec<u8>>) {
        self.ends[end].ingress(self.now, port, &mut frames, &mut ());
    }

    /// Lets a period pass, and both ends send what they have to; the link carries what `carries` says.
    fn exchange(&mut self, carries: impl Fn(&[u8]) -> bool) {
        self.now += PERIOD;
        for end in [0, 1] {
            let frames = self.sent(end, LINK);
            self.take(1 - end, LINK, frames.into_iter().filter(|frame| carries(frame)).collect());
        }
    }

    fn dropped(&self, end: usize, port: PortId, reason: DropReason) -> u64 {
        let dropped = &self.ends[end].ingress_counters(port).dropped;
        dropped.iter().map(|by| by[reason.index()].frames).sum()
    }
}

/// The changes of repair that `end` has noted since the last call.
fn changes(pair: &mut Pair, end: usize) -> Vec<RepairChange> {
    let mut changes = Vec::new();
    pair.ends[end].take_events(pair.now, |events| {
        changes.extend(events.drain(..).filter_map(|event| match event.what {
            Happening::Repair(change) => Some(change),
            _ => None,
        }));
    });
    changes
}

#[test]
fn events_say_when_both_ends_have_met_and_why_repair_was_lost_and_how_many_frames_were_given_up() {
    let silent = |abandoned| RepairChange::Lost { cause: RepairLoss::Silence, abandoned };
    let mut pair = Pair::new([Some(repair()); 2]);
    pair.ends.iter_mut().for_each(Shard::record_events);
    let meet = |pair: &mut Pair| (0..8).for_each(|_| pair.exchange(|_| true));
    meet(&mut pair);
    assert_eq!([0, 1].map(|end| changes(&mut pair, end)), [[RepairChange::Met]; 2]);
    meet(&mut pair);
    pair.take(0, A, vec![frame(0, 1), frame(0, 2)]);
    pair.exchange(grants::is_frame);
    assert_eq!([0, 1].map(|end| changes(&mut pair, end)), [[]; 2], "what goes on is no event");
    pair.now += repair().outage + Interval::from_millis(1);
    pair.exchange(|_| false);
    assert_eq!([0, 1].map(|end| changes(&mut pair, end)), [[silent(2)], [silent(0)]]);
    meet(&mut pair);
    assert_eq!([0, 1].map(|end| changes(&mut pair, end)), [[RepairChange::Met]; 2]);
    // The far end starts anew, and its new session counts once the old one is silent.
    pair.take(0, A, vec![frame(0, 3)]);
    pair.exchange(|_| false);
    pair.ends[1] = switch(2, Some(repair()));
    pair.now += Repair::REST * Repair::SILENT_AFTER;
    meet(&mut pair);
    let lost = RepairChange::Lost { cause: RepairLoss::NewSession, abandoned: 1 };
    assert_eq!(changes(&mut pair, 0), [lost, RepairChange::Met]);
}

fn number_of(frame: &[u8]) -> Option<u32> {
    Shim::find(frame).unwrap().map(|(shim, _)| shim.number)
}

#[test]
fn frames_leave_as_they_are_until_both_ends_have_heard_each_other() {
    let mut pair = Pair::new([Some(repair()); 2]);
    pair.take(0, A, vec![frame(0, 1)]);
    let out = pair.sent(0, LINK);
    assert!(out.contains(&frame(0, 1)), "{out:?}");
    let mut pair = Pair::up();
    pair.take(0, A, vec![frame(0, 1)]);
    let out = pair.sent(0, LINK);
    let data: Vec<_> = out.into_iter().filter(|it| !grants::is_frame(it)).collect();
    assert_eq!((data[0].len(), number_of(&data[0])), (100 + NEW_LEN, Some(0)));
    pair.take(1, LINK, data);
    assert_eq!(pair.sent(1, A), [frame(0, 1)], "the shim is gone");
}

#[test]
fn many_frames_that_waited_go_on_in_several_calls_and_in_order() {
    let mut pair = Pair::up_with(Repair { frames: 256, ..repair() });
    let all: Vec<_> = (0..100).map(|number| frame(0, number)).collect();
    pair.take(0, A, all.clone());
    let mut came = Vec::new();
    while came.is_empty() {
        pair.now += PERIOD;
        let is_lost = |it: &Vec<u8>| number_of(it) == Some(0) && it.len() == 100 + NEW_LEN;
        let arrives = pair.sent(0, LINK).into_iter().filter(|it| !is_lost(it)).collect();
        pair.take(1, LINK, arrives);
        came = pair.sent(1, A);
        if came.is_empty() {
            let statuses = pair.sent(1, LINK);
            pair.take(0, LINK, statuses);
        }
    }
    assert_eq!(came.len(), 1 + 64, "the one that was lost, and a part of those that waited");
    assert!(pair.ends[1].port_deadline(LINK) <= pair.now, "the rest goes on at once");
    pair.sent(1, LINK);
    came.extend(pair.sent(1, A));
    assert_eq!(came, all);
}

#[test]
fn a_lost_frame_is_sent_again_and_those_of_its_flow_wait_for_it() {
    let mut pair = Pair::up();
    pair.take(0, A, (1..=3).flat_map(|number| [frame(0, number), frame(1, number)]).collect());
    // The second frame of the first flow is lost.
    pair.exchange(|frame| number_of(frame) != Some(2));
    assert_eq!(pair.sent(1, A), [frame(0, 1), frame(1, 1), frame(1, 2), frame(1, 3)]);
    let report = pair.report(1);
    assert_eq!(
        (report.held[P3.index()].frames, report.missing),
        (1, 0),
        "no status has said that it was sent"
    );
    assert!(pair.ends[1].group(pair.now, LINK, P3).occupancy > Bytes::ZERO, "it is charged to its group");
    let again = AGAIN_LEN + 100;
    for _ in 0..4 {
        pair.exchange(|frame| grants::is_frame(frame) || frame.len() == again);
    }
    assert_eq!(pair.sent(1, A), [frame(0, 2), frame(0, 3)]);
    assert_eq!(pair.ends[1].group(pair.now, LINK, P3).occupancy, Bytes::ZERO);
    let near = pair.report(0);
    assert_eq!((near.near.sent, near.near.sent_again, near.near.settled, near.kept.frames), (6, 1, 6, 0));
}

#[test]
fn frames_that_are_held_wait_in_no_queue_and_those_of_others_still_do() {
    let mut pair = Pair::up();
    pair.take(0, A, (1..=3).map(|number| frame(0, number)).collect());
    pair.exchange(|frame| number_of(frame) != Some(1));
    pair.take(1, A, vec![frame(0, 9)]);
    let (shard, held) = (&pair.ends[1], pair.report(1).held);
    let ledgers = [shard.ledger()];
    let sources = |egress, held| {
        let of_port = Source::of_port(shard.program(), &ledgers, egress, held);
        of_port.map(|(queue, it)| (queue, it.ingress, it.waiting.frames)).collect::<Vec<_>>()
    };
    assert_eq!(sources(LINK, held), [(P3, A, 1)], "what a host sends");
    assert_eq!(sources(A, held), [(P3, LINK, 1)], "the frame that lost none before it");
    let all = sources(LINK, Default::default());
    assert_eq!(all, [(P3, A, 1), (P3, LINK, 1)], "control: the ledger has it");
}

#[test]
fn a_frame_that_comes_twice_is_dropped_by_name() {
    let mut pair = Pair::up();
    pair.take(0, A, vec![frame(0, 1)]);
    let out: Vec<_> = pair.sent(0, LINK).into_iter().filter(|it| !grants::is_frame(it)).collect();
    pair.take(1, LINK, [out.clone(), out].concat());
    assert_eq!(pair.sent(1, A), [frame(0, 1)]);
    assert_eq!(pair.dropped(1, LINK, DropReason::RepairDuplicate), 1);
}

#[test]
fn nothing_new_leaves_while_no_more_can_be_kept_and_the_host_is_paused_by_its_own_group() {
    let few = Repair { frames: 4, ..repair() };
    let mut pair = Pair::new([Some(few); 2]);
    for _ in 0..8 {
        pair.exchange(|_| true);
    }
    pair.take(0, A, (0..9).map(|number| frame(0, number)).collect());
    let sent: Vec<_> = pair.sent(0, LINK).into_iter().filter(|it| !grants::is_frame(it)).collect();
    assert_eq!((sent.len(), pair.ends[0].queue(pair.now, LINK, P3).waiting.frames), (4, 5));
    assert_eq!(pair.ends[0].departure(LINK), Nanos::NEVER);
    pair.take(1, LINK, sent);
    for _ in 0..6 {
        pair.exchange(|_| true);
    }
    assert_eq!(pair.report(0).near.settled, 9);
}

#[test]
fn a_host_that_forges_shims_or_statuses_is_dropped_by_name() {
    let mut pair = Pair::up();
    let mut forged = frame(0, 1);
    let shim = Shim { bucket: 1, number: 5, epoch: 1, back: 0, copy: None };
    forged.splice(16..16, shim.bytes()[..NEW_LEN].iter().copied());
    let mut status = [0; 200];
    let message = grants::repair::Message { session: 1, ..Default::default() };
    let length = grants::Message::Repair(message).emit(MacAddress([2, 0, 0, 0, 0, 9]), &mut status).unwrap();
    pair.take(0, A, vec![forged.clone(), status[..length].to_vec()]);
    assert_eq!(pair.dropped(0, A, DropReason::ForeignRepair), 1);
    assert_eq!(pair.dropped(0, A, DropReason::ForeignGrants), 1);
    assert_eq!(pair.report(0).counters.refused, 0);

    let mut pair = Pair::new([None; 2]);
    pair.take(0, A, vec![forged.clone()]);
    assert_eq!(pair.sent(0, LINK), [forged], "nothing is read where nothing is repaired");
}

#[test]
fn numbers_that_no_frame_can_have_are_dropped_by_name() {
    let mut pair = Pair::up();
    pair.take(0, A, vec![frame(0, 1)]);
    let mut out: Vec<_> = pair.sent(0, LINK).into_iter().filter(|it| !grants::is_frame(it)).collect();
    let number_at = 16 + 4;
    out[0][number_at..number_at + 4].copy_from_slice(&9_999_u32.to_be_bytes());
    let cut = out[0][..20].to_vec();
    out.push(cut);
    pair.take(1, LINK, out);
    assert_eq!(pair.dropped(1, LINK, DropReason::RepairWindow), 2);
    assert_eq!(pair.report(1).missing, 0);
}
