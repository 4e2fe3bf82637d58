//! The senders behind a port: their flows, and the schemes that notify them.
//!
//! A scheme sees each frame that crosses the port, with its flow, and makes notifications at its deadline. This file
//! lists the schemes, which run beside each other on one table of flows.

use super::lscc::{Outgoing, RateLimiter};
use super::themis::{Gatekeeper, Lane, Slowly};
use crate::descriptor::Descriptor;
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Flows, Slot, Way};
use crate::hash::HashKey;
use crate::program::{Lscc, PortSettings, RateLimiting};
use units::{Nanos, PortId, WireBytes};

/// What becomes of a frame that came in through the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Forwarded,
    /// Forwarded, and slowly if [`Senders::slow`] says so.
    Slowed(Slot),
    Consumed,
}

/// The flows of one port, and its schemes. Each frame is seen once for all schemes.
pub(crate) struct Senders {
    pub flows: Flows,
    /// LSCC.
    pub limiter: Option<RateLimiter>,
    /// THEMIS.
    pub themis: Option<Gatekeeper>,
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
            themis: settings.themis.as_ref().map(|themis| Gatekeeper::new(themis, capacity)),
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
        match (&settings.themis, &mut self.themis, &mut spare.themis) {
            (Some(settings), Some(themis), Some(spare)) => {
                if exchanged {
                    themis.exchange_flows(spare);
                }
                themis.configure(settings);
            }
            (_, themis, spare) => core::mem::swap(themis, spare),
        }
    }

    /// Prefetches the flows of `frames` that cross this `way`, before they are taken one by one.
    #[inline]
    pub fn look_ahead<'a>(&self, way: Way, frames: impl Iterator<Item = &'a [u8]>) {
        let limiter = self.limiter.as_ref();
        self.flows.look_ahead(way, frames, |slot, hot| limiter.map_or(0, |it| it.peek(slot, hot)));
    }

    /// Takes a frame that goes out through the port.
    #[inline]
    pub fn send(&mut self, now: Nanos, outgoing: Outgoing, descriptor: &Descriptor, headers: &mut [u8]) {
        let seen = self.flows.see(now, Way::Out, (outgoing.port, outgoing.length), descriptor, headers);
        if let Some(themis) = &mut self.themis {
            themis.send(now, outgoing, seen, &mut self.flows, descriptor, headers);
        }
        if let Some(limiter) = &mut self.limiter {
            limiter.send(now, outgoing, seen, &mut self.flows, descriptor, headers);
        }
    }

    /// Takes a frame that came in through the port.
    #[inline]
    pub fn receive(
        &mut self,
        now: Nanos,
        came: (PortId, WireBytes),
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Passage {
        let seen = self.flows.see(now, Way::In, came, descriptor, headers);
        let limiter = self.limiter.as_mut();
        if limiter.is_some_and(|limiter| !limiter.receive(now, seen.sighting, &mut self.flows)) {
            return Passage::Consumed;
        }
        let themis = self.themis.as_ref();
        themis
            .and_then(|it| it.receive(seen.sighting, &self.flows))
            .map_or(Passage::Forwarded, Passage::Slowed)
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
        limiter.min(self.themis.as_ref().map_or(Nanos::NEVER, Gatekeeper::deadline))
    }

    /// Whether notifications wait until a port that has room again calls [`Senders::notify`].
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.limiter.as_ref().is_some_and(RateLimiter::is_blocked)
            || self.themis.as_ref().is_some_and(Gatekeeper::is_blocked)
    }

    /// Lets the schemes make the notifications that are due, as long as `send` takes them.
    pub fn notify(&mut self, now: Nanos, mut send: impl FnMut(PortId, Notification) -> Offer) {
        if let Some(themis) = &mut self.themis {
            themis.notify(&mut self.flows, &mut send);
        }
        if let Some(limiter) = &mut self.limiter {
            limiter.notify(now, &mut self.flows, send);
        }
    }
}
