//! One port, without forwarding and egress.

use super::*;
use crate::congestion::Notifiers;
use crate::program::{
    Bifrost, BufferSettings, FlowControl, ForwardingSettings, GroupSettings, LosslessGroup, Lscc, Settings,
    Threshold, VirtualIncoming,
};
use core::num::NonZeroU32;
use units::{BitRate, Interval, PauseQuanta, WireBytes};

const A: PortId = PortId(0);
const P0: Priority = Priority::from_low_bits(0);
const P3: Priority = Priority::from_low_bits(3);
const P4: Priority = Priority::from_low_bits(4);
/// A frame of ten cells, its label included.
const FRAME: Bytes = Bytes(144);

/// A port of a byte a nanosecond. Priorities 3 and 4 are lossless, with room for ten frames up to XOFF, five up to
/// XON, and ten in the headroom.
fn settings() -> PortSettings {
    let mut port = PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::gigabits(8));
    for priority in [P3, P4] {
        port.groups[priority.index()] = GroupSettings::Lossless(LosslessGroup {
            reserved: Bytes::ZERO,
            xoff: Threshold::Static(Bytes(1_600)),
            xon: Bytes(800),
            xon_offset: Bytes::ZERO,
            headroom: Bytes(1_600),
        });
    }
    port
}

/// Bifrost with slots of a microsecond.
fn with_bifrost() -> PortSettings {
    let flow_control = FlowControl::Bifrost(Bifrost {
        buffer: WireBytes(50_000),
        slot: Interval(1_000),
        round_trip: Interval(3_000),
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::Counter,
        holdover: Interval::ZERO,
        lateness: Interval::ZERO,
    });
    PortSettings { flow_control, ..settings() }
}

/// LSCC with intervals of 100 us.
fn with_lscc() -> PortSettings {
    let mut lscc = Lscc::PLAIN;
    lscc.calculation.reference = WireBytes(1);
    lscc.calculation.most = BitRate::gigabits(8);
    lscc.limiting.reference = WireBytes(1);
    lscc.limiting.long_flow = Some(WireBytes(1_000_000));
    PortSettings { notifiers: Notifiers { lscc: Some(lscc), ..Default::default() }, ..settings() }
}

fn program(port: PortSettings) -> Program {
    let pool = Bytes(1 << 20);
    let buffer = BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None };
    let forwarding = ForwardingSettings::Patch(Vec::new());
    Program::new(Settings { ports: vec![port], buffer, forwarding, seed: 1 }).unwrap()
}

struct Bench {
    port: IngressPort,
    ledger: Ledger,
    pools: Pools,
}

impl Bench {
    fn new(settings: PortSettings) -> Self {
        let (program, ledger) = (program(settings), Ledger::new(1, 1));
        let pools = Pools::new(&program.settings().buffer);
        Self { port: IngressPort::new(A, &program, &ledger, &pools), ledger, pools }
    }

    /// Admits frames, and returns the number of those that are taken.
    fn admit(&mut self, priority: Priority, frames: usize) -> usize {
        let Self { port, pools, .. } = self;
        (0..frames).filter(|_| port.admit(Nanos(0), (priority, FRAME), pools).is_ok()).count()
    }

    /// Lets frames leave the switch. Returns whether a group is still paused.
    fn depart(&mut self, priority: Priority, frames: usize) -> bool {
        for _ in 0..frames {
            self.ledger.depart(A, A, priority, Load::of_frame(FRAME));
        }
        self.port.settle(&self.ledger, &mut self.pools);
        self.port.resume_where_low(&self.pools)
    }

    fn configure(&mut self, now: u64, settings: PortSettings) {
        self.port.configure(Nanos(now), &program(settings), (&self.ledger).into(), &mut self.pools);
    }

    fn occupancy(&self, priority: Priority) -> u64 {
        self.port.groups[priority.index()].occupancy().0
    }

    fn cause(&self, priority: Priority) -> Option<PauseCause> {
        self.port.pauses.cause(priority)
    }

    fn room(&self, priority: Priority) -> Cells {
        self.port.room(priority, &self.pools)
    }

    /// When the scheme and the advertiser have something to do, if they do not sleep.
    fn awake_until(&self) -> [Option<u64>; 2] {
        let advertiser = self.port.advertiser.as_ref().map_or(Nanos::NEVER, RateAdvertiser::deadline);
        [self.port.scheme.deadline(), advertiser].map(|it| (it != Nanos::NEVER).then_some(it.0))
    }
}

#[test]
fn a_group_is_paused_at_xoff_takes_its_headroom_and_resumes_below_xon() {
    let mut bench = Bench::new(settings());
    assert_eq!((bench.admit(P3, 9), bench.cause(P3)), (9, None));
    assert_eq!((bench.room(P3), bench.port.is_due(Nanos(7))), (Cells(9), false));
    assert_eq!((bench.admit(P3, 1), bench.cause(P3)), (1, Some(PauseCause::Threshold)));
    assert_eq!((bench.room(P3), bench.room(P4)), (Cells::ZERO, Cells(99)));
    assert!(bench.port.is_due(Nanos(7)), "the XOFF");
    assert_eq!(bench.admit(P3, 11), 10, "one too many for the headroom");
    assert_eq!(bench.port.groups[P3.index()].headroom(), Bytes(1_600));

    assert!(bench.depart(P3, 15), "800 bytes are not below XON");
    assert_eq!((bench.occupancy(P3), bench.cause(P3)), (800, Some(PauseCause::Threshold)));
    assert!(!bench.depart(P3, 1));
    assert_eq!((bench.occupancy(P3), bench.cause(P3)), (640, None));
    assert!(!bench.depart(P3, 4));
    assert_eq!((bench.occupancy(P3), bench.pools.shared.held), (0, Bytes::ZERO));
}

#[test]
fn frames_of_a_run_and_those_that_pass_count_as_received_and_only_the_former_stay() {
    let mut bench = Bench::new(settings());
    let Bench { port, ledger, pools } = &mut bench;
    let load = Load::of_frame(FRAME);
    port.charge_within_room(P3, load + load, pools);
    ledger.depart(A, A, P4, load);
    port.pass_within_room(P4, load, pools);
    assert_eq!([P3, P4].map(|it| bench.port.counters.received[it.index()].frames), [2, 1]);
    assert_eq!([P3, P4].map(|it| bench.occupancy(it)), [320, 0]);
    assert_eq!(bench.port.groups[P4.index()].watermark.persistent(), Bytes(160));
    assert!(!bench.depart(P3, 2));
    assert_eq!(bench.occupancy(P3), 0);
}

#[test]
fn low_memory_pauses_all_lossless_groups() {
    let mut bench = Bench::new(settings());
    bench.port.pause_for_memory();
    let low = Some(PauseCause::MemoryLow);
    assert_eq!([P0, P3, P4].map(|priority| bench.cause(priority)), [None, low, low]);
    assert_eq!(bench.port.lossless(), PrioritySet::EMPTY.with(P3).with(P4));
}

#[test]
fn a_deep_ring_pauses_lossless_groups_which_fill_up_to_xoff_before_they_take_headroom() {
    let mut bench = Bench::new(settings());
    let ring = Some(PauseCause::ReceiveRing);
    let turn = |bench: &mut Bench, deep| {
        bench.port.set_ring_deep(deep);
        bench.port.resume_where_low(&bench.pools);
        [P0, P3, P4].map(|priority| bench.cause(priority))
    };
    assert_eq!((turn(&mut bench, true), bench.port.drops_lossy()), ([None, ring, ring], true));
    assert_eq!(bench.room(P3), Cells(99), "as if it were not paused");
    bench.admit(P3, 10);
    assert_eq!((bench.room(P3), bench.port.groups[P3.index()].headroom()), (Cells::ZERO, Bytes::ZERO));
    assert_eq!(bench.admit(P3, 11), 10, "from XOFF on it has its headroom");
    assert_eq!(turn(&mut bench, false), [None, ring, None], "one is above XON");
    assert!(!bench.depart(P3, 20) && !bench.port.drops_lossy());

    bench.admit(P3, 10);
    assert_eq!(turn(&mut bench, true), [None, Some(PauseCause::Threshold), ring]);
    assert!(bench.depart(P3, 10), "the ring is still deep");
    assert_eq!((bench.cause(P3), bench.room(P3)), (ring, Cells(99)));
    assert_eq!(turn(&mut bench, false), [None; 3]);
}

#[test]
fn a_port_without_lossless_priorities_drops_nothing_for_its_ring() {
    let mut port = settings();
    port.groups = [GroupSettings::Lossy; Priority::COUNT];
    let mut bench = Bench::new(port);
    bench.port.set_ring_deep(true);
    assert!(!bench.port.resume_where_low(&bench.pools) && !bench.port.drops_lossy());
    bench.configure(9, settings());
    assert!(bench.port.drops_lossy());
}

#[test]
fn a_drop_counts_for_its_priority_and_reason() {
    let mut bench = Bench::new(settings());
    bench.port.count_drop(P3, DropReason::Oversize, FRAME);
    let dropped = bench.port.counters.dropped;
    assert_eq!(dropped[P3.index()][DropReason::Oversize.index()], Volume { frames: 1, bytes: FRAME });
    assert_eq!(dropped.iter().flatten().map(|it| it.frames).sum::<u64>(), 1);
}

#[test]
fn frames_wake_the_scheme_and_the_advertiser_and_thresholds_need_no_waking() {
    for (settings, wakes, awake_until) in [
        (settings(), false, [None, None]),
        (with_bifrost(), true, [Some(1_005), None]),
        (with_lscc(), true, [None, Some(100_005)]),
    ] {
        let mut bench = Bench::new(settings);
        assert_eq!((bench.port.wakes(), bench.awake_until()), (wakes, [None, None]));
        bench.port.wake(Nanos(5));
        assert_eq!(bench.awake_until(), awake_until);
    }
}

#[test]
fn a_scheme_is_due_at_its_deadline_and_then_tells_the_sender_of_pauses() {
    let mut bench = Bench::new(with_bifrost());
    bench.port.wake(Nanos(5));
    assert_eq!([1_004, 1_005].map(|now| bench.port.is_due(Nanos(now))), [false, true]);
    let volume = Volume { frames: 1, bytes: Bytes(100_000) };
    bench.ledger.admit(A, A, P3, Load { volume, ..Load::ZERO });
    assert_eq!(bench.port.pauses.deadline(), Nanos::NEVER);
    bench.port.call_scheme(Nanos(1_005), (&bench.ledger).into(), &bench.pools);
    assert_eq!(bench.port.pauses.deadline(), Nanos::ZERO, "nothing is granted of the next slot");
    let times = bench.port.pauses.take_due(Nanos(1_005), Nanos(1_005));
    // 1,000 ns in quanta of 64 ns.
    let quanta = Some(PauseQuanta(16));
    assert_eq!([P0, P3, P4].map(|it| times[it.index()]), [None, quanta, quanta]);
}

#[test]
fn new_settings_hold_for_the_groups_that_are_charged_already() {
    let mut bench = Bench::new(settings());
    bench.admit(P3, 6);
    let mut new = PortSettings { mac: MacAddress([2, 0, 0, 0, 0, 9]), ..settings() };
    new.pfc.pause = PauseQuanta(7);
    for group in &mut new.groups {
        if let Some(group) = group.lossless_mut() {
            group.xoff = Threshold::Static(Bytes(960));
        }
    }
    bench.configure(5, new);
    assert_eq!([P3, P4].map(|it| bench.cause(it)), [Some(PauseCause::Threshold), None]);
    assert_eq!((bench.port.mac.0[5], bench.room(P4)), (9, Cells(59)));
    assert_eq!(bench.port.pauses.take_due(Nanos(5), Nanos(5))[P3.index()], Some(PauseQuanta(7)));
}

#[test]
fn what_new_settings_start_is_awake_and_what_they_leave_alone_sleeps_on() {
    let fewer = |mut settings: PortSettings| {
        settings.groups[P4.index()] = GroupSettings::Lossy;
        settings
    };
    for (old, new, awake_until) in [
        (settings(), with_bifrost(), [Some(1_005), None]),
        (with_bifrost(), with_bifrost(), [None, None]),
        (settings(), with_lscc(), [None, Some(100_005)]),
        (with_lscc(), with_lscc(), [None, None]),
        (with_lscc(), fewer(with_lscc()), [None, Some(100_005)]),
        (with_lscc(), settings(), [None, None]),
    ] {
        let (lossless, has_lscc) = (new.lossless(), new.notifiers.lscc.is_some());
        let mut bench = Bench::new(old);
        bench.configure(5, new);
        assert_eq!(bench.awake_until(), awake_until);
        assert_eq!((bench.port.advertiser.is_some(), bench.port.lossless()), (has_lscc, lossless));
    }
}
