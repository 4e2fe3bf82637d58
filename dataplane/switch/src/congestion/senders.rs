//! The senders behind a port: their flows, and the schemes that notify them.
//!
//! A scheme sees each frame that crosses the port, with its flow, and makes notifications at its deadline. This file
//! lists the schemes, which run beside each other on one table of flows.

use super::lscc::{Outgoing, RateLimiter};
use super::supplement::{Supplement, SupplementCounters};
pub(crate) use super::themis::Lane;
use super::themis::{Gatekeeper, Slowly, ThemisCounters};
use crate::descriptor::Descriptor;
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Flows, Origin, Seen, Sighting, Slot, Way};
use crate::hash::HashKey;
use crate::program::{Lscc, PortSettings, RateLimiting};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, PortId, QueueId, QueueSet, WireBytes};
use wire::ip::Ecn;

/// The fate of a frame that came in through the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Forwarded,
    /// Forwarded, and slowly if [`Senders::slow`] says so.
    Slowed(Slot),
    /// Ended here, and counted.
    Consumed,
}

/// Why a frame that came in through the port is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another CNP to its sender was just before.
    SuppressedCnp,
    /// Direct INT from elsewhere, which nobody sends but to deceive.
    ForeignDirectInt,
}

/// The counters of these schemes, where they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotifiersReport {
    /// THEMIS.
    pub themis: Option<ThemisCounters>,
    /// Supplemental CNPs.
    pub supplement: Option<SupplementCounters>,
}

/// The flows of one port, and its schemes. Each frame is seen once for all schemes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Senders {
    pub flows: Flows,
    /// LSCC.
    pub limiter: Option<RateLimiter>,
    /// THEMIS.
    pub themis: Option<Gatekeeper>,
    /// Supplemental CNPs, and thinning of CNPs.
    pub supplement: Option<Supplement>,
}

impl Senders {
    /// The senders of a port with `settings`; `None` if no scheme notifies them. `key` is the hash key of the
    /// tables, and `seed` goes into nonces.
    pub fn new(settings: &PortSettings, key: HashKey, seed: u64) -> Option<Self> {
        let flows = settings.flows()?;
        let capacity = flows.capacity;
        // Each scheme keeps an entry for each slot of the joint table.
        let sized = |lscc: &Lscc| {
            let limiting = RateLimiting { flows: capacity, ..lscc.limiting };
            RateLimiter::new(&Lscc { limiting, ..lscc.clone() }, settings.rate, seed)
        };
        Some(Self {
            flows: Flows::new(flows, key),
            limiter: settings.lscc.as_ref().map(sized),
            themis: settings.notifiers.themis.as_ref().map(|themis| Gatekeeper::new(themis, capacity)),
            supplement: settings.notifiers.supplement.as_ref().map(|it| Supplement::new(it, capacity)),
        })
    }

    /// Applies new settings. The state stays, unless the table of flows needs another size, ageing or key. It is
    /// then exchanged with the table of `spare`, which was made for these settings and is empty. A scheme that starts
    /// comes from `spare`, and one that stops is left there.
    pub fn configure(&mut self, settings: &PortSettings, spare: &mut Self) {
        let exchanged = settings.flows().is_some_and(|flows| self.flows.configure(flows, &mut spare.flows));
        match (&settings.lscc, &mut self.limiter, &mut spare.limiter) {
            (Some(lscc), Some(limiter), Some(spare)) => {
                if exchanged {
                    limiter.exchange_flows(spare);
                }
                limiter.configure(lscc, settings.rate, spare);
            }
            (_, limiter, spare) => core::mem::swap(limiter, spare),
        }
        match (&settings.notifiers.themis, &mut self.themis, &mut spare.themis) {
            (Some(settings), Some(themis), Some(spare)) => {
                if exchanged {
                    themis.exchange_flows(spare);
                }
                themis.configure(settings);
            }
            (_, themis, spare) => core::mem::swap(themis, spare),
        }
        match (&settings.notifiers.supplement, &mut self.supplement, &mut spare.supplement) {
            (Some(settings), Some(supplement), Some(spare)) => {
                supplement.configure(settings, spare, exchanged);
            }
            (_, supplement, spare) => core::mem::swap(supplement, spare),
        }
    }

    /// Whether notifications may wait in the schemes which `settings` turn off.
    pub fn may_wait(&self, settings: &PortSettings) -> bool {
        let supplement = self.supplement.as_ref().filter(|_| settings.notifiers.supplement.is_none());
        self.waiting(settings) > 0 || supplement.is_some_and(Supplement::follows_any)
    }

    /// The number of notifications that wait in the schemes which `settings` turn off, but for supplemental CNPs.
    fn waiting(&self, settings: &PortSettings) -> u64 {
        let limiter = self.limiter.as_ref().filter(|_| settings.lscc.is_none());
        let themis = self.themis.as_ref().filter(|_| settings.notifiers.themis.is_none());
        limiter.map_or(0, RateLimiter::waiting) + themis.map_or(0, Gatekeeper::waiting)
    }

    /// The number of notifications that are lost with the schemes which `settings` turn off. A supplemental CNP is due in the
    /// queues in `severe` only, and to a sender that `is_reachable` by it.
    pub fn lose(
        &mut self,
        now: Nanos,
        settings: &PortSettings,
        severe: QueueSet,
        is_reachable: impl FnMut(PortId, Notification) -> bool,
    ) -> u64 {
        let waiting = self.waiting(settings);
        let supplement = self.supplement.as_mut().filter(|_| settings.notifiers.supplement.is_none());
        waiting + supplement.map_or(0, |it| it.lose(now, severe, &mut self.flows, is_reachable))
    }

    /// Prefetches the flows of `frames` that cross this `way`, before they are taken one by one.
    #[inline]
    pub fn look_ahead<'a>(&mut self, way: Way, frames: impl Iterator<Item = &'a [u8]>) {
        let limiter = self.limiter.as_ref();
        self.flows.look_ahead(way, frames, |slot, hot| limiter.map_or(0, |it| it.peek(slot, hot)));
    }

    /// Takes a frame that goes out through the port.
    #[inline(always)]
    pub fn send(&mut self, now: Nanos, outgoing: Outgoing, descriptor: &Descriptor, headers: &mut [u8]) {
        match self.flows.see_next(now, Way::Out, (outgoing.port, outgoing.length), descriptor, headers) {
            Some(seen) => self.send_seen(now, outgoing, seen, descriptor, headers),
            None => self.send_unusual(now, outgoing, descriptor, headers),
        }
    }

    /// As [`Senders::send`], for a frame of `length` whose headers are to be parsed.
    #[inline(always)]
    pub fn send_unparsed(&mut self, now: Nanos, outgoing: Outgoing, headers: &mut [u8], length: Bytes) {
        match Descriptor::parse_usual(headers, length) {
            Some(descriptor) => self.send(now, outgoing, &descriptor, headers),
            None => self.send_other(now, outgoing, headers, length),
        }
    }

    #[inline(never)]
    fn send_other(&mut self, now: Nanos, outgoing: Outgoing, headers: &mut [u8], length: Bytes) {
        if let Some(descriptor) = Descriptor::parse(headers, length) {
            self.send(now, outgoing, &descriptor, headers);
        }
    }

    #[inline(never)]
    fn send_unusual(&mut self, now: Nanos, outgoing: Outgoing, descriptor: &Descriptor, headers: &mut [u8]) {
        let seen = self.flows.see(now, Way::Out, (outgoing.port, outgoing.length), descriptor, headers);
        self.send_seen(now, outgoing, seen, descriptor, headers);
    }

    /// Shows all schemes a frame that goes out, with its flow.
    #[inline(always)]
    fn send_seen(
        &mut self,
        now: Nanos,
        outgoing: Outgoing,
        seen: Seen,
        descriptor: &Descriptor,
        headers: &mut [u8],
    ) {
        if let Some(themis) = &mut self.themis {
            themis.send(now, outgoing, seen, &mut self.flows, descriptor, headers);
        }
        if let Some(limiter) = &mut self.limiter {
            limiter.send(now, outgoing, seen, &mut self.flows, descriptor, headers);
        }
    }

    /// Takes a frame that came in through the port.
    ///
    /// # Errors
    /// The frame ends here: [`Refusal`].
    #[inline(always)]
    pub fn receive(
        &mut self,
        now: Nanos,
        came: (PortId, WireBytes),
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Result<Passage, Refusal> {
        match self.flows.see_next(now, Way::In, came, descriptor, headers) {
            Some(seen) => self.receive_seen(now, came, seen, descriptor, headers),
            None => self.receive_unusual(now, came, descriptor, headers),
        }
    }

    #[inline(never)]
    fn receive_unusual(
        &mut self,
        now: Nanos,
        came: (PortId, WireBytes),
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Result<Passage, Refusal> {
        let seen = self.flows.see(now, Way::In, came, descriptor, headers);
        self.receive_seen(now, came, seen, descriptor, headers)
    }

    /// Shows all schemes a frame that came in, with its flow.
    #[inline(always)]
    fn receive_seen(
        &mut self,
        now: Nanos,
        came: (PortId, WireBytes),
        seen: Seen,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Result<Passage, Refusal> {
        let Self { flows, limiter, supplement, themis, .. } = self;
        // The gateway itself makes all that its senders may get.
        if seen.sighting == Sighting::DirectInt && limiter.as_ref().is_some_and(RateLimiter::tells_directly) {
            return Err(Refusal::ForeignDirectInt);
        }
        if let Sighting::Notification(flow) = seen.sighting {
            let origin = Origin::of(came.0, descriptor, headers);
            let passes = limiter.as_mut().is_none_or(|it| it.receive_cnp(now, flow, flows, origin))
                && supplement.as_mut().is_none_or(|it| it.receive_cnp(now, flow, flows, origin));
            if !passes {
                return Err(Refusal::SuppressedCnp);
            }
        }
        let slot = themis.as_ref().and_then(|it| it.receive(seen.sighting, flows));
        Ok(slot.map_or(Passage::Forwarded, Passage::Slowed))
    }

    /// The length of a queue from which a scheme follows the marked packets that leave it; `None` if none does.
    #[inline]
    pub fn severe_from(&self) -> Option<Bytes> {
        self.supplement.as_ref().and_then(Supplement::threshold)
    }

    /// Takes a frame that leaves the port from `queue`.
    pub fn depart(&mut self, now: Nanos, queue: QueueId, headers: &[u8], length: Bytes) {
        if let Some(supplement) = &mut self.supplement
            && supplement.threshold().is_some()
            && let Some(descriptor) = Descriptor::parse(headers, length)
            && descriptor.ecn() == Ecn::Ce
        {
            supplement.depart(now, queue, &descriptor, headers, &mut self.flows);
        }
    }

    /// Whether a scheme may hold up frames that come in.
    pub fn may_slow(&self) -> bool {
        self.themis.is_some()
    }

    /// The counters of the schemes that notify the senders of marked packets.
    pub fn notifiers(&self) -> NotifiersReport {
        NotifiersReport {
            themis: self.themis.as_ref().map(|it| *it.counters()),
            supplement: self.supplement.as_ref().map(|it| *it.counters()),
        }
    }

    /// Whether the next frame of a flow that may be [slowed](Passage::Slowed) takes the slow queue of `lane`, and the
    /// way in which that queue must be slow.
    pub fn slow(&mut self, now: Nanos, slot: Slot, lane: &Lane) -> Option<Slowly> {
        self.themis.as_mut()?.slow(now, slot, &mut self.flows, lane)
    }

    /// The time of the next call of [`Senders::notify`].
    #[inline]
    pub fn deadline(&self) -> Nanos {
        let limiter = self.limiter.as_ref().map_or(Nanos::NEVER, RateLimiter::deadline);
        let themis = self.themis.as_ref().map_or(Nanos::NEVER, Gatekeeper::deadline);
        let supplement = self.supplement.as_ref().map_or(Nanos::NEVER, Supplement::deadline);
        limiter.min(themis).min(supplement)
    }

    /// Whether notifications wait until a port that has room again calls [`Senders::notify`].
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.limiter.as_ref().is_some_and(RateLimiter::is_blocked)
            || self.themis.as_ref().is_some_and(Gatekeeper::is_blocked)
            || self.supplement.as_ref().is_some_and(Supplement::is_blocked)
    }

    /// Lets the schemes make the notifications that are due, as long as `send` takes them. The queues in `severe` are
    /// [that long](Self::severe_from).
    pub fn notify(
        &mut self,
        now: Nanos,
        severe: QueueSet,
        mut send: impl FnMut(PortId, Notification) -> Offer,
    ) {
        if let Some(themis) = &mut self.themis {
            themis.notify(&mut self.flows, &mut send);
        }
        if let Some(limiter) = &mut self.limiter {
            limiter.notify(now, &mut self.flows, &mut send);
        }
        if let Some(supplement) = &mut self.supplement {
            supplement.notify(now, severe, &mut self.flows, send);
        }
    }
}
