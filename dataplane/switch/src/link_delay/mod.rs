//! The delay of a link, measured by peer delay of gPTP (IEEE 802.1AS-2020 clause 11). IEEE P802.1Qdt derives PFC
//! headroom from it; here the control side does that.
//!
//! Timestamps are those of the switch: a frame that goes out has the instant at which the link takes it, and a frame
//! that comes in has the `now` of its burst, less its own time on the link. So the delay is exact in a simulation. On
//! the wire it contains the lateness of the turns that read the request and the response, half of each.

pub(crate) mod figures;
mod initiator;
mod responder;
mod samples;
mod settings;

pub use initiator::InitiatorCounters;
pub use responder::ResponderCounters;
pub use settings::LinkDelay;

use crate::reason::{Consumed, DropReason};
use crate::service::{FrameRoom, Outgoing, Service};
use initiator::Initiator;
use responder::Responder;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::ethernet::MacAddress;
use wire::ptp::{Body, Message, PortIdentity, Ptp};

/// The measurement on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkDelayReport {
    /// The delay of the link, one way: what the last exchanges agree on. `None` before eight exchanges, and after ten
    /// unanswered requests.
    pub delay: Option<Interval>,
    /// The delay of the last exchange.
    pub last_delay: Option<Interval>,
    /// The counters of requests of this port.
    pub asked: InitiatorCounters,
    /// The counters of requests of the other end.
    pub answered: ResponderCounters,
}

/// The measurement on a port, at both ends of its exchanges.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Meter {
    settings: LinkDelay,
    identity: PortIdentity,
    initiator: Initiator,
    responder: Responder,
}

impl Meter {
    /// A measurement that has seen nothing, on a port with address `mac`.
    pub fn new(settings: LinkDelay, mac: MacAddress) -> Self {
        Self {
            settings,
            identity: PortIdentity::of_mac(mac, 1),
            initiator: Initiator::default(),
            responder: Responder::default(),
        }
    }

    /// Applies new settings. The measurements stay if the port goes on asking.
    pub fn configure(&mut self, settings: LinkDelay, mac: MacAddress) {
        if settings.interval.is_none() || self.settings.interval.is_none() {
            self.initiator.restart();
        }
        (self.settings, self.identity) = (settings, PortIdentity::of_mac(mac, 1));
    }

    /// Forgets what was measured, and asks at once: the link has failed, and may lead another way now.
    pub fn restart(&mut self) {
        self.initiator.restart();
    }

    /// Whether the link is known to be no longer than one that has failed may be to return.
    pub fn may_return(&self) -> bool {
        let LinkDelay { interval, returns_up_to } = self.settings;
        let Some(longest) = interval.and(returns_up_to) else { return true };
        self.initiator.delay().is_some_and(|delay| delay <= longest)
    }

    /// Takes the payload of a gPTP frame that was read at `now` and took `frame_time` on the link; none if the frame has a
    /// VLAN tag.
    ///
    /// # Errors
    /// It is malformed, other than a message of peer delay, or a request that is not going to be answered.
    pub fn receive(
        &mut self,
        now: Nanos,
        frame_time: Interval,
        payload: Option<&[u8]>,
    ) -> Result<Consumed, DropReason> {
        match payload.map(Ptp::parse) {
            Some(Ok(Ptp::PeerDelay(message))) if self.hear(now, frame_time, &message) => {
                Ok(Consumed::PeerDelay)
            }
            Some(Ok(Ptp::PeerDelay(_))) => Err(DropReason::PeerDelayLimit),
            Some(Ok(Ptp::Other(_))) => Err(DropReason::ForeignPtp),
            Some(Err(_)) | None => Err(DropReason::MalformedControl),
        }
    }

    /// Takes a message. Returns `false` if it is a request that is not going to be answered.
    fn hear(&mut self, now: Nanos, frame_time: Interval, message: &Message) -> bool {
        match message.body {
            Body::Request { .. } => self.responder.hear(now, now - frame_time, message),
            Body::Response { .. } | Body::FollowUp { .. } => {
                self.initiator.hear(now, frame_time, message, self.identity);
                true
            }
        }
    }

    /// The message that is due at `now`.
    fn message(&self, now: Nanos) -> Option<Message> {
        self.responder.message(self.identity).or_else(|| {
            let is_due = self.initiator.deadline(&self.settings) <= now;
            is_due.then(|| self.initiator.request(self.identity, &self.settings))
        })
    }

    pub fn report(&self) -> LinkDelayReport {
        LinkDelayReport {
            delay: self.initiator.delay(),
            last_delay: self.initiator.last_delay,
            asked: self.initiator.counters,
            answered: self.responder.counters,
        }
    }
}

/// A response waits for the link alone, and so does its follow-up; requests go out at intervals.
impl Service for Meter {
    fn frame_due(&self) -> Nanos {
        match self.responder.is_answering() {
            true => Nanos::ZERO,
            false => self.initiator.deadline(&self.settings),
        }
    }

    fn next_frame(
        &mut self,
        now: Nanos,
        source: MacAddress,
        _: &Outgoing,
        frame: &mut FrameRoom,
    ) -> Option<usize> {
        self.message(now)?.emit(source, frame).ok()
    }

    fn sent(&mut self, start: Nanos) {
        match self.settings.interval.filter(|_| !self.responder.is_answering()) {
            Some(interval) => self.initiator.sent(start, interval),
            None => self.responder.sent(start),
        }
    }
}

#[cfg(test)]
mod tests;
