//! Figures 2 and 7 of the Bifrost paper as a network: a host that never stops sending, a long link, a gateway,
//! and a drain that stops and restarts. The drain stops because a strictly higher priority takes all of it.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{lossless, routed};
use conformance::simulated::{PACKET, Plan, assert_lossless, endless, flow, host_behind, options};
use conformance::{A, B, C, P3, P4, cost};
use core::num::NonZeroU32;
use simulation::{FlowRecord, NodeId, Observer, Options, Outcome, Simulation, Tap};
use switch::program::{Bifrost, FlowControl, Settings, VirtualIncoming};
use switch::{PauseCause, SlotCounters};
use units::{BitRate, Bytes, Interval, Nanos, PortId, WireBytes};

const STORED: u64 = PACKET - WireBytes::OVERHEAD;

/// A worst case: the link, and when its drain stops and restarts.
#[derive(Clone, Copy)]
struct Case {
    rate: BitRate,
    one_way: Interval,
    slot: Interval,
    kind: VirtualIncoming,
}

impl Case {
    fn packet(&self) -> Interval {
        self.rate.serialization().time_of(WireBytes(PACKET))
    }

    fn stop(&self) -> Nanos {
        Nanos::ZERO + self.one_way * 4
    }

    /// Long enough for everything that is granted to have come.
    fn restart(&self) -> Nanos {
        self.stop() + self.one_way * 5
    }

    fn end(&self) -> Nanos {
        self.restart() + self.one_way * 6
    }

    fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.one_way * 2)
    }

    fn bifrost(&self) -> Bifrost {
        let mut bifrost = Bifrost {
            buffer: WireBytes(0),
            slot: self.slot,
            // A pause waits behind a frame here, and acts behind one there.
            round_trip: self.one_way * 2 + self.packet() * 3,
            check_every: NonZeroU32::MIN,
            virtual_incoming: self.kind,
            holdover: Interval(0),
            lateness: Interval::ZERO,
        };
        let least = bifrost.buffer_terms(self.rate, Bytes(9_216)).total().0;
        bifrost.buffer = WireBytes(least + self.rate.bytes_in(self.slot));
        bifrost
    }

    /// The most that may be inside: H, and the frames that had begun when their pauses arrived.
    fn bound(&self) -> u64 {
        let bifrost = self.bifrost();
        bifrost.buffer.0 + bifrost.overrun(self.rate, Bytes(STORED), Interval::ZERO).0
    }

    /// A gateway whose long link is behind port A. It drains through port B, and the traffic that stops the
    /// drain comes through port C.
    fn gateway(&self) -> Settings {
        let mut settings = routed(3);
        settings.buffer.shared = Bytes(4 * self.bdp() + 10_000_000);
        settings.buffer.headroom = Bytes(4 * self.bdp() + 10_000_000);
        for port in &mut settings.ports {
            port.rate = self.rate;
            // Nothing pauses the traffic that stops the drain: it comes as fast as it goes.
            port.groups[4] = lossless(1_000_000, 500_000, 0);
        }
        settings
    }

    fn with_bifrost(&self) -> Settings {
        let mut settings = self.gateway();
        settings.ports[0].flow_control = FlowControl::Bifrost(self.bifrost());
        settings.ports[0].groups[3] = lossless(self.bound(), self.bound() / 2, 0);
        settings
    }

    /// PFC with this XOFF, XON right below, and a headroom of one BDP and what goes with it.
    fn with_pfc(&self, xoff: u64) -> Settings {
        let mut settings = self.gateway();
        let headroom = self.bdp() + 84 + 3 * PACKET;
        settings.ports[0].groups[3] = lossless(xoff, xoff - cost(STORED), headroom);
        settings
    }

    fn run(&self, settings: Settings) -> Run {
        let mut plan = Plan::default();
        let gateway = plan.switch(settings);
        let hosts = [A, B, C].map(|port| plan.host(host_behind(port, self.rate)));
        for (host, port) in hosts.into_iter().zip([A, B, C]) {
            let delay = if port == A { self.one_way } else { Interval(500) };
            plan.join([(host, PortId(0)), (gateway, port)], self.rate, delay);
        }
        let flow = |id, source: usize| flow(id, hosts[source], hosts[1], 0);
        let flows = [
            endless(flow(0, 0), P3, Nanos::ZERO, self.end()),
            endless(flow(1, 2), P4, self.stop(), self.restart()),
        ];
        let options = Options { taps: vec![gateway], ..options() };
        let mut drain = Drain::new(gateway, *self);
        let outcome = Simulation::new(plan.network, options).run(flows.into_iter(), &mut drain);
        let outcome = outcome.unwrap_or_else(|violation| panic!("{violation}"));
        assert_lossless(&outcome);
        Run { outcome, drain }
    }
}

/// The result of a worst case.
struct Run {
    outcome: Outcome,
    drain: Drain,
}

impl Run {
    fn slots(&self) -> &SlotCounters {
        &self.outcome.switches[0].ports[0].flow_control.bifrost().unwrap().slots
    }

    /// The most that port A held.
    fn held(&self) -> u64 {
        let group = &self.outcome.switches[0].ports[0].groups[3];
        group.watermark.persistent().0 + group.headroom_watermark.persistent().0
    }
}

/// Looks at what leaves the gateway.
struct Drain {
    gateway: NodeId,
    case: Case,
    last: Nanos,
    /// The longest time without a frame through port B after the drain has restarted, and before that.
    starved: Interval,
    first_pause: Option<Nanos>,
    ended: usize,
}

impl Drain {
    fn new(gateway: NodeId, case: Case) -> Self {
        let starved = Interval::ZERO;
        Self { gateway, case, last: Nanos::ZERO, starved, first_pause: None, ended: 0 }
    }
}

impl Observer for Drain {
    fn completed(&mut self, _: &FlowRecord) {
        self.ended += 1;
    }

    fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
        assert_eq!(tap.node, self.gateway);
        let out_of = |port| !tap.inbound && tap.port == port;
        if out_of(A) && headers[12..14] == [0x88, 0x08] && at >= self.case.stop() {
            self.first_pause.get_or_insert(at);
        }
        if out_of(B) && length.0 > 1_000 {
            // From the first byte that has come over the long link until the sender is told to stop.
            if self.last >= self.case.stop() && at < self.case.end() {
                self.starved = self.starved.max(at.since(self.last));
            }
            self.last = at;
        }
    }
}

fn assert_worst_case(case: Case) {
    let run = case.run(case.with_bifrost());
    let (buffer, longest) = (case.bifrost().buffer.0, run.slots().longest_queue.0);
    assert!(longest <= case.bound(), "{longest} of {}", case.bound());
    let slot = case.rate.bytes_in(case.slot);
    assert!(longest + 4 * slot > buffer, "the buffer was used: {longest} of {buffer}");
    assert!(run.drain.starved <= case.packet() + Interval(1), "starved for {}", run.drain.starved);
    let first = run.drain.first_pause.unwrap().since(case.stop());
    assert!(first <= case.slot * 5, "three slots of slack, and the one that runs: {first}");
    let group = run.outcome.switches[0].ports[0].groups[3];
    assert_eq!((group.pauses.xoff, group.headroom_watermark.persistent()), (0, Bytes::ZERO));
    let slots = PauseCause::ALL.iter().position(|cause| *cause == PauseCause::Slot).unwrap();
    assert!(group.paused_for[slots] > case.one_way * 2);
    assert_eq!(run.drain.ended, 2);
}

const HISTORY: VirtualIncoming = VirtualIncoming::History { jitter: Interval(1_000) };

#[test]
fn eighty_kilometres_at_100g() {
    for kind in [HISTORY, VirtualIncoming::Counter] {
        let (rate, one_way) = (BitRate::gigabits(100), Interval::from_micros(400));
        assert_worst_case(Case { rate, one_way, slot: Interval(10_000), kind });
    }
}

#[test]
fn six_hundred_kilometres_at_400g() {
    let (rate, one_way) = (BitRate::gigabits(400), Interval::from_millis(3));
    assert_worst_case(Case { rate, one_way, slot: Interval(20_000), kind: HISTORY });
}

#[test]
fn ten_thousand_kilometres() {
    let (rate, one_way) = (BitRate::gigabits(10), Interval::from_millis(50));
    assert_worst_case(Case { rate, one_way, slot: Interval(100_000), kind: HISTORY });
}

/// Figure 2 against figure 7: PFC needs two BDP, Bifrost one, and its pause leaves one way earlier.
#[test]
fn pfc_needs_twice_the_buffer_and_pauses_one_way_later() {
    let (rate, one_way) = (BitRate::gigabits(100), Interval::from_micros(400));
    let case = Case { rate, one_way, slot: Interval(10_000), kind: HISTORY };
    let bdp = case.bdp();
    // Beside the BDP are the two frames by which XON is passed, the one that is sent first, and the PFC frame.
    let pfc = case.run(case.with_pfc(bdp + 4 * cost(STORED)));
    assert!(pfc.held() > 2 * bdp - bdp / 50 && pfc.held() < 2 * bdp + bdp / 50, "{} of {bdp}", pfc.held());
    assert!(pfc.drain.starved <= case.packet() + Interval(1));

    let bifrost = case.run(case.with_bifrost());
    assert!(bifrost.slots().longest_queue.0 * 100 < pfc.held() * 56, "about half");
    let [early, late] = [&bifrost, &pfc].map(|run| run.drain.first_pause.unwrap());
    assert!(late.since(early) > one_way, "{early} and {late}");

    // PFC with the buffer of Bifrost: what is left below XOFF drains, and nothing comes for the rest of a
    // round trip.
    let starved = case.run(case.with_pfc(case.bifrost().buffer.0 - bdp)).drain.starved;
    assert!(starved > one_way, "the drain starved for {starved} only");
}
