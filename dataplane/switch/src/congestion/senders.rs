//! The senders behind a port: their flows, and the schemes that notify them.

use super::lscc::{Outgoing, RateLimiter};
use crate::descriptor::Descriptor;
use crate::flows::{Flows, Way};
use crate::hash::HashKey;
use crate::program::{Lscc, PortSettings};
use units::{Nanos, PortId, WireBytes};

/// The flows of one port, and its schemes. Each frame is seen once for all schemes.
pub(crate) struct Senders {
    pub flows: Flows,
    pub limiter: RateLimiter,
}

impl Senders {
    /// The senders of a port with `settings`; `None` if no scheme notifies them. `key` is the hash key of the
    /// tables, and `seed` goes into nonces.
    pub fn new(settings: &PortSettings, key: HashKey, seed: u64) -> Option<Self> {
        let flows = Flows::new(settings.flows()?, key);
        let limiter = RateLimiter::new(settings.lscc.as_ref()?, settings.rate, seed);
        Some(Self { flows, limiter })
    }

    /// Applies new settings. The state stays, unless the table of flows needs another size, ageing or key. It is
    /// then exchanged with the table of `spare`, which was made for these settings and is empty.
    pub fn configure(&mut self, lscc: &Lscc, settings: &PortSettings, spare: &mut Self) {
        if self.flows.configure(lscc.flows(settings.rate), &mut spare.flows) {
            self.limiter.exchange_flows(&mut spare.limiter);
        }
        self.limiter.configure(lscc, settings.rate);
    }

    /// Prefetches the flows of `frames` that cross this `way`, before they are taken one by one.
    #[inline]
    pub fn look_ahead<'a>(&self, way: Way, frames: impl Iterator<Item = &'a [u8]>) {
        self.flows.look_ahead(way, frames, |slot, hot| self.limiter.peek(slot, hot));
    }

    /// Takes a frame that goes out through the port.
    #[inline]
    pub fn send(&mut self, now: Nanos, outgoing: Outgoing, descriptor: &Descriptor, headers: &mut [u8]) {
        let seen = self.flows.see(now, Way::Out, (outgoing.port, outgoing.length), descriptor, headers);
        self.limiter.send(now, outgoing, seen, &mut self.flows, descriptor, headers);
    }

    /// Takes a frame that came in through the port. Returns whether it is to be forwarded.
    #[inline]
    pub fn receive(
        &mut self,
        now: Nanos,
        came: (PortId, WireBytes),
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> bool {
        let seen = self.flows.see(now, Way::In, came, descriptor, headers);
        self.limiter.receive(now, seen.sighting, &mut self.flows)
    }
}
