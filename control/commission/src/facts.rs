//! The facts that a course knows of its own end.

use config::runtime::PfcFrames;
use config::{Gateway, response_quanta};
use switch::{PerReason, Volume};
use units::{BitRate, Bytes, Distance, Interval, PauseQuanta, PortId, Priority, WireBytes};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;
use worker::Inspection;

/// How long the course takes. Of what two ends want, the greater counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Time of the loss step for each length (RFC 2544 section 26.3 has 60 s).
    pub loss: Interval,
    /// Stops of the sink in the obedience step.
    pub stops: u64,
    /// Time of the soak; zero for none (ITU-T Y.1564).
    pub soak: Interval,
}

/// The settings of the port, by the file of a gateway.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The name of the port.
    pub port: String,
    /// Its address.
    pub mac: MacAddress,
    /// Rate of the link.
    pub rate: BitRate,
    /// Longest frame, without FCS.
    pub max_frame: Bytes,
    /// The priority of each DSCP.
    pub priorities: [Priority; 64],
    /// The lossless DSCPs, one bit for each.
    pub lossless: u64,
    /// Whether pauses follow slots of time and not the queues.
    pub has_slots: bool,
    /// Whether the file demands that the device passes PFC frames.
    pub requires_pfc: bool,
    /// The delay of the distance, one way, if the file states a distance.
    pub delay: Option<Interval>,
    /// How much later than the link makes it the last frame may arrive after XOFF.
    pub covered: Interval,
    /// Headroom of a lossless group; `None` if no group is lossless.
    pub headroom: Option<Bytes>,
    /// The wishes of this end.
    pub terms: Terms,
}

impl Facts {
    /// The settings of `port` in `gateway`.
    pub fn of(gateway: &Gateway, port: PortId, terms: Terms) -> Self {
        let (settings, device) = (gateway.program.port(port), &gateway.runtime.devices[port.index()]);
        let group = |priority: Priority| settings.groups[priority.index()].lossless();
        let priority = |code: usize| {
            let dscp = Dscp::from_low_bits(code as u8);
            settings.classification.priority(Some(dscp), None)
        };
        let lossless = (0..64).filter(|code| group(priority(*code)).is_some());
        let rate = settings.rate;
        let frame = rate.serialization().time_of(WireBytes::of_frame(settings.max_frame));
        let response =
            PauseQuanta(u16::try_from(response_quanta(rate)).unwrap_or(u16::MAX)).interval_at(rate);
        // Frames that both ends have begun, the pause behind one of them, and what the devices hold.
        let on_the_way = frame * 3 + settings.tx_window + response.max(settings.tx_window);
        Self {
            port: settings.name.clone(),
            mac: settings.mac,
            rate,
            max_frame: settings.max_frame,
            priorities: core::array::from_fn(priority),
            lossless: lossless.fold(0, |bits, code| bits | 1 << code),
            has_slots: settings.flow_control.has_slots(),
            requires_pfc: device.as_ref().is_some_and(|it| it.pfc_frames == PfcFrames::Require),
            delay: gateway.links[port.index()].distance.map(Distance::propagation),
            covered: gateway.covered_lateness(port).unwrap_or_default() + on_the_way,
            headroom: Priority::all().filter_map(|it| Some(group(it)?.headroom)).min(),
            terms,
        }
    }

    /// A number that differs if lossless DSCPs or their priorities differ: a polynomial of the priorities.
    pub(crate) fn classes(&self) -> u64 {
        let digit = |code: usize| match self.lossless & 1 << code {
            0 => 0,
            _ => 1 + self.priorities[code].index() as u64,
        };
        (0..64).fold(0, |sum: u64, code| sum.wrapping_mul(9).wrapping_add(digit(code)))
    }
}

/// Totals that the control side reads of worker and device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The delay of the link by peer delay, one way.
    pub delay: Option<Interval>,
    /// The most headroom that a group of the port has used since its watermarks were cleared, by priority.
    pub headroom: [u64; Priority::COUNT],
    /// Frames that the gateway has dropped on their way to the link, by priority.
    pub dropped_out: [u64; Priority::COUNT],
    /// Frames that it has dropped on their way from the link.
    pub dropped_in: [u64; Priority::COUNT],
    /// Frames that the device lost for want of descriptors or memory.
    pub missed: u64,
    /// Pauses that the device has counted; `None` if it counts none.
    pub pauses_counted: Option<u64>,
    /// Turns of the worker that were longer than the buffer covers.
    pub late_turns: u64,
    /// The longest turn among them.
    pub longest_turn: Interval,
}

impl Figures {
    /// Adds what a worker says of the port and of the test device.
    pub fn add(&mut self, [link, test]: [&Inspection; 2]) {
        let sum = |dropped: &PerReason<Volume>| dropped.iter().map(|it| it.frames).sum::<u64>();
        self.delay = link.port.link_delay.and_then(|it| it.delay);
        for index in 0..Priority::COUNT {
            self.headroom[index] = link.port.groups[index].headroom_watermark.since_cleared().0;
            let dropped = [(test, link), (link, test)].map(|(from, to)| {
                sum(&from.port.ingress.dropped[index]) + sum(&to.port.queues[index].dropped)
            });
            [self.dropped_out[index], self.dropped_in[index]] = dropped;
        }
    }
}
