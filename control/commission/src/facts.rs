//! What a course knows of its own end.

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

/// What the file of a gateway says of the port.
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
    /// The priority of each DSCP, if it is lossless.
    pub lossless: [Option<Priority>; 64],
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
    /// What `gateway` says of `port`.
    pub fn of(gateway: &Gateway, port: PortId, terms: Terms) -> Self {
        let settings = gateway.program.port(port);
        let group = |priority: Priority| settings.groups[priority.index()].lossless();
        let lossless = |code: usize| {
            let dscp = Dscp::from_low_bits(code as u8);
            Some(settings.classification.priority(Some(dscp), None)).filter(|it| group(*it).is_some())
        };
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
            lossless: core::array::from_fn(lossless),
            delay: gateway.links[port.index()].distance.map(Distance::propagation),
            covered: gateway.covered_lateness(port).unwrap_or_default() + on_the_way,
            headroom: Priority::all().filter_map(|it| Some(group(it)?.headroom)).min(),
            terms,
        }
    }

    /// The DSCPs that are lossless, one bit for each.
    pub(crate) fn lossless_dscps(&self) -> u64 {
        let bits = self.lossless.iter().enumerate().filter(|(_, priority)| priority.is_some());
        bits.fold(0, |bits, (dscp, _)| bits | 1 << dscp)
    }
}

/// Totals that the control side reads of worker and device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The delay of the link by peer delay, one way.
    pub delay: Option<Interval>,
    /// The most headroom that a group of the port has used, by priority.
    pub headroom: [u64; Priority::COUNT],
    /// Frames that the gateway has dropped, by priority.
    pub dropped: [u64; Priority::COUNT],
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
    /// Adds what a worker says of one of both ports.
    pub fn add(&mut self, seen: &Inspection) {
        let sum = |dropped: &PerReason<Volume>| dropped.iter().map(|it| it.frames).sum::<u64>();
        self.delay = self.delay.or(seen.port.link_delay.and_then(|it| it.delay));
        for index in 0..Priority::COUNT {
            let used = seen.port.groups[index].headroom_watermark.persistent().0;
            self.headroom[index] = self.headroom[index].max(used);
            self.dropped[index] += sum(&seen.port.ingress.dropped[index]);
            self.dropped[index] += sum(&seen.port.queues[index].dropped);
        }
    }
}
