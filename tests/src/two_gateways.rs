//! Two gateways over 80 km, whose flow control on the long link is that of a test.

use crate::settings::{host_mac, host_v4, lossless, patched};
use crate::simulated::{Plan, endless, flow, host, options};
use crate::{A, B, P3, P4};
use core::num::NonZeroU32;
use endpoint::HostSettings;
use simulation::{Faults, Outcome};
use switch::PortInspection;
use switch::program::{Bifrost, FlowControl, Settings, VirtualIncoming};
use units::{BitRate, Bytes, Interval, Nanos, PortId, WireBytes};

/// The rate of the long link.
pub const RATE: BitRate = BitRate::gigabits(100);
/// Its delay.
pub const ONE_WAY: Interval = Interval(400_000);
/// The end of the flows.
pub const END: Nanos = Nanos(12_000_000);
/// The rate of the bottleneck behind it.
pub const BOTTLENECK: BitRate = BitRate::gigabits(25);

/// Slots of 10 us for the long link, with a slot more buffer than the least.
pub fn slots() -> Bifrost {
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: Interval(10_000),
        // A message waits behind a frame here, and acts behind one there.
        round_trip: ONE_WAY * 2 + Interval(3_000),
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::History { jitter: Interval(1_000) },
        holdover: Interval(5_000),
        lateness: Interval::ZERO,
    };
    let least = bifrost.buffer_terms(RATE, Bytes(9_216)).total();
    bifrost.buffer = least + WireBytes(RATE.bytes_in(bifrost.slot));
    bifrost
}

/// `settings` with this flow control on the long link, behind `port`, and room for what it lets in.
pub fn with_long_link(mut settings: Settings, port: PortId, flow_control: FlowControl) -> Settings {
    let room = slots().buffer.0 + slots().overrun(RATE, Bytes(9_216), Interval::ZERO).0;
    settings.buffer.shared = Bytes(8 * room);
    settings.ports[port.index()].flow_control = flow_control;
    for priority in [P3, P4] {
        settings.ports[port.index()].groups[priority.index()] = lossless(room, room / 2, 0);
    }
    settings
}

/// Host `number` at `rate`, which sends to host `to`.
pub fn sender(number: u16, to: u16, rate: BitRate) -> HostSettings {
    let [this, to] = [number, to].map(PortId);
    host(host_mac(this), host_v4(this), host_mac(to), rate)
}

/// A run over the long link.
pub struct Run {
    /// Its outcome. The near gateway is the first switch, the far one the second.
    pub outcome: Outcome,
    /// The bytes that were delivered; zero if the flow has not ended.
    pub delivered: u64,
    /// The time that the flow took.
    pub time: Interval,
}

impl Run {
    /// The near end of the long link.
    pub fn near(&self) -> &PortInspection {
        &self.outcome.switches[0].ports[B.index()]
    }

    /// The far end of the long link.
    pub fn far(&self) -> &PortInspection {
        &self.outcome.switches[1].ports[A.index()]
    }

    /// Asserts that no frame was lost but on links, and none was sent twice.
    ///
    /// # Panics
    /// Otherwise.
    pub fn assert_lossless(&self) {
        assert!(self.outcome.hosts.iter().all(|host| host.counters.retransmitted == 0));
        for port in self.outcome.switches.iter().flat_map(|switch| &switch.ports) {
            assert!(port.ingress.dropped[P3.index()].iter().all(|it| it.frames == 0));
        }
    }

    /// Asserts that the bottleneck was busy from the first byte to the last. The sender could begin at `start`.
    ///
    /// # Panics
    /// Otherwise.
    pub fn assert_busy(&self, start: Interval) {
        let (delivered, time) = (self.delivered, self.time - start - ONE_WAY);
        assert!(delivered * 100 > BOTTLENECK.bytes_in(time) * 95, "{delivered} bytes in {time}");
    }
}

/// A host at 100G behind port A of the near gateway sends over the long link, behind its port B, to one at 25G behind
/// port B of the far gateway, until [`END`]. Both directions of the long link have `faults`.
pub fn bottleneck(near: FlowControl, far: FlowControl, faults: Faults) -> Run {
    bottleneck_from(Nanos(0), near, far, faults)
}

/// [`bottleneck`], with a flow that begins at `start`.
pub fn bottleneck_from(start: Nanos, near: FlowControl, far: FlowControl, faults: Faults) -> Run {
    let mut plan = Plan::default();
    let hosts = [plan.host(sender(0, 1, RATE)), plan.host(sender(1, 0, BOTTLENECK))];
    let near = plan.switch(with_long_link(patched(2), B, near));
    let mut settings = with_long_link(patched(2), A, far);
    settings.ports[B.index()].rate = BOTTLENECK;
    let far = plan.switch(settings);
    plan.join([(hosts[0], PortId(0)), (near, A)], RATE, Interval(500));
    let long = plan.join([(near, B), (far, A)], RATE, ONE_WAY);
    plan.network.links[long].faults = [faults; 2];
    plan.join([(far, B), (hosts[1], PortId(0))], BOTTLENECK, Interval(500));
    let flows = [endless(flow(0, hosts[0], hosts[1], 0), P3, start, END)];
    let (outcome, seen) = plan.run(options(), &flows);
    let flow = seen.flows.first();
    let (delivered, end) = flow.map_or((0, start), |flow| (flow.delivered, flow.end));
    Run { outcome, delivered, time: end.since(start) }
}
