//! Those who send through the ports of this shard: how their frames are read and seen, and how they are notified.

use super::ingress::Arrival;
use super::{Fabric, Handoff, SendersByPort};
use crate::congestion::lscc::Outgoing;
use crate::descriptor::Descriptor;
use crate::flows::describe;
use crate::flows::notifications::{Notification, Offer};
use crate::forwarding::Forwarding;
use crate::frame::{Frame, Transmitter};
use crate::hash::KeyedHash;
use crate::program::Program;
use crate::reason::Consumed;
use units::{Bytes, Nanos, PortId, WireBytes};

/// Notifications that are given to another shard at once.
const HANDED_OVER_AT_ONCE: u64 = 16;

/// Reads the headers of frames in turn, once each.
pub(super) struct Reader<'a> {
    /// The key of the hash of flows, where the program keeps any.
    keyed: Option<&'a KeyedHash>,
    /// The frames that were read ahead, and how many of them have been taken.
    ahead: Vec<Option<Descriptor>>,
    taken: usize,
}

impl<'a> Reader<'a> {
    /// Reads frames as they are, where `program` keeps no flows; otherwise with what flows need to know.
    #[inline(always)]
    fn new(program: &'a Program) -> Self {
        Self { keyed: program.flow_hash(), ahead: Vec::new(), taken: 0 }
    }

    /// Whether the program keeps flows.
    #[inline(always)]
    pub fn with_flows(&self) -> bool {
        self.keyed.is_some()
    }

    /// Reads the next frame; `None` where there is not even an Ethernet header.
    #[inline(always)]
    pub fn read(&mut self, headers: &[u8], length: Bytes) -> Option<Descriptor> {
        let Some(keyed) = self.keyed else { return Descriptor::parse(headers, length) };
        let known = self.ahead.get(self.taken);
        self.taken += 1;
        known.copied().unwrap_or_else(|| describe(headers, length, keyed))
    }

    /// The same; but nothing is read where the frame is not `wanted`.
    pub fn read_if(&mut self, wanted: bool, headers: &[u8], length: Bytes) -> Option<Descriptor> {
        if wanted {
            return self.read(headers, length);
        }
        self.taken += 1;
        None
    }
}

impl<F: Frame> Fabric<F> {
    /// Gives each port of this shard on which a scheme speaks to senders what it needs to know of them, or takes that out of
    /// one of `spare`, which are made for `program`; what is no longer needed is there afterwards.
    pub(super) fn configure_senders(&mut self, program: &Program, spare: &mut SendersByPort) {
        for port in self.owned.iter() {
            let settings = program.port(port);
            match (&settings.lscc, &mut self.senders[port.index()], &mut spare[port.index()]) {
                (Some(lscc), Some(senders), Some(spare)) => senders.configure(lscc, settings, spare),
                (_, senders, spare) => core::mem::swap(senders, spare),
            }
            match settings.lscc {
                Some(_) => self.limited.insert(port),
                None => self.limited.remove(port),
            }
        }
    }

    /// Reads the frames of `burst`, which came in at `port`. Where the flows of the port, or of the one through which the
    /// frames are likely to leave, are many, the burst is read at once, and its flows are loaded together.
    #[inline(always)]
    pub(super) fn reader<'a>(&mut self, program: &'a Program, port: PortId, burst: &[F]) -> Reader<'a> {
        let mut reader = Reader::new(program);
        if reader.with_flows() {
            // From a port without LSCC they may go out through any; usually there is one.
            let port = if self.limited.contains(port) { Some(port) } else { self.limited.iter().next() };
            self.read_ahead(&mut reader, port, burst.iter());
        }
        reader
    }

    /// The same of what another shard has admitted.
    pub(super) fn reader_of_handed_over<'a>(
        &mut self,
        program: &'a Program,
        handoffs: &[Handoff<F>],
    ) -> Reader<'a> {
        let mut reader = Reader::new(program);
        let frames = handoffs.iter().filter_map(Handoff::frame).map(|(_, frame)| frame);
        // Where no port looks at them now, they are left where they are: they may wait for long.
        self.read_ahead(&mut reader, self.limited.iter().next(), frames);
        reader
    }

    fn read_ahead<'b>(
        &mut self,
        reader: &mut Reader<'_>,
        port: Option<PortId>,
        frames: impl Iterator<Item = &'b F>,
    ) where
        F: 'b,
    {
        let senders = port.and_then(|port| self.senders[port.index()].as_ref());
        let (Some(keyed), Some(senders)) = (reader.keyed, senders) else { return };
        if senders.flows.is_large() {
            reader.ahead = core::mem::take(&mut self.ahead);
            reader.ahead.extend(frames.map(|frame| describe(frame.headers(), frame.length(), keyed)));
            senders.look_ahead(reader.ahead.iter().flatten());
        }
    }

    /// Ends a burst: its reader's memory is there for the next one.
    #[inline(always)]
    pub(super) fn end_reading(&mut self, reader: Reader<'_>) {
        if reader.ahead.capacity() > 0 {
            self.ahead = reader.ahead;
            self.ahead.clear();
        }
    }

    /// A frame goes out through a port with LSCC.
    #[inline]
    pub(super) fn limit(&mut self, egress: PortId, arrival: Arrival<'_>, frame: &mut F) {
        let Arrival { now, port, priority, length, descriptor } = arrival;
        let limited = self.ingress[egress.index()].lossless().contains(priority);
        if let Some(senders) = &mut self.senders[egress.index()] {
            let outgoing = Outgoing { port, length: WireBytes::of_frame(length), limited };
            senders.send(now, outgoing, descriptor, frame.headers_mut());
        }
    }

    /// A frame came in from a long link. Returns whether it goes on.
    #[inline(never)]
    pub(super) fn receive_from_far(
        &mut self,
        now: Nanos,
        port: PortId,
        descriptor: &Descriptor,
        frame: &F,
    ) -> bool {
        let Some(senders) = &mut self.senders[port.index()] else { return true };
        let came = (port, WireBytes::of_frame(frame.length()));
        let passes = senders.receive(now, came, descriptor, frame.headers());
        if !passes {
            let consumed = &mut self.ingress[port.index()].counters.consumed;
            consumed[Consumed::ThinnedCnp.index()].count(frame.length());
        }
        passes
    }

    /// Has the schemes of `port` make the notifications that are due.
    pub(super) fn notify(&mut self, now: Nanos, port: PortId, program: &Program) {
        let Self { senders, egress, ways_out, owners, owned, .. } = self;
        let Some(senders) = &mut senders[port.index()] else { return };
        let mut handed_over = 0;
        senders.limiter.notify(now, &mut senders.flows, |ingress, notification| {
            // Nobody behind the long link is notified across it: who is there has not sent through this end.
            let sender = routed(program, ingress, notification).filter(|(to, _)| *to != port);
            let Some((port, notification)) = sender else { return Offer::Unreachable };
            if owned.contains(port) {
                let taken = egress[port.index()].notifications.push(notification);
                return if taken { Offer::Taken } else { Offer::Full { until: Nanos::NEVER } };
            }
            // What the other shard has room for is not known here. So it is given what its port can send
            // meanwhile.
            let way = &mut ways_out[owners[port.index()].index()];
            if handed_over == HANDED_OVER_AT_ONCE || !way.notify(port, notification) {
                let length = WireBytes::of_frame(notification.length());
                let each = program.port(port).rate.serialization().time_of(length);
                return Offer::Full { until: now + each * HANDED_OVER_AT_ONCE };
            }
            handed_over += 1;
            Offer::Taken
        });
    }

    /// Sends the notifications that wait at `port`, as far as the link is free.
    pub(super) fn send_notifications(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let egress = &mut self.egress[port.index()];
        while egress.window_opens_at() <= now
            && let Some(notification) = egress.notifications.pop()
        {
            if let Some(frame) = notification.frame() {
                let start = egress.send_control(now, frame.length());
                out.control(start, &frame);
            }
        }
    }

    /// Schemes that waited for room go on.
    pub(super) fn unblock(&mut self, now: Nanos, program: &Program) {
        for port in self.limited.iter() {
            if self.senders[port.index()].as_ref().is_some_and(|it| it.limiter.is_blocked()) {
                self.notify(now, port, program);
            }
        }
    }
}

/// A notification as it leaves. Where the gateway routes, the way to the sender is looked up like any other: its
/// frames have the addresses of the next link already when they are seen.
fn routed(program: &Program, port: PortId, notification: Notification) -> Option<(PortId, Notification)> {
    let Forwarding::Route(table) = program.forwarding() else { return Some((port, notification)) };
    let (port, destination) = table.toward(notification.receiver(), port)?;
    Some((port, notification.readdressed(program.port(port).mac, destination)))
}
