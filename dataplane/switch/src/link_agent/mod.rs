//! The link agent of a port: LLDP (IEEE 802.1AB-2016 clause 9), which carries DCBX (IEEE 802.1Q-2018 annex D).
//!
//! It announces the port now and then, and remembers what the neighbours announce for as long as they say. It applies nothing
//! of that: the control side compares, tells, and may take over what the configuration lists.

mod announcer;
pub(crate) mod figures;
mod mismatch;
mod neighbours;
mod settings;

pub use mismatch::{Mismatch, Mismatches};
pub use neighbours::{Neighbour, NeighbourCounters, Neighbours};
pub use settings::LinkAgent;

use crate::allowance::Bucket;
use crate::service::{FrameRoom, Outgoing, Service};
use announcer::Announcer;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::ParseError;
use wire::ethernet::MacAddress;
use wire::lldp::Message;

/// LLDPDUs that a port reads at once, and one more in each of these intervals. Neighbours send one a second at most, in
/// haste.
const BURST: u64 = 32;
const EACH: Interval = Interval::from_millis(125);

/// The link agent of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkAgentReport {
    /// LLDPDUs that the port sent.
    pub sent: u64,
    /// Valid LLDPDUs that came in.
    pub received: u64,
    /// LLDPDUs beyond the limit, which no one read.
    pub unread: u64,
    /// Malformed or repeated TLVs in those that were read, which were left out.
    pub discarded_tlvs: u64,
    /// The counters of neighbours.
    pub counters: NeighbourCounters,
    /// The neighbours whose time has not run out.
    pub neighbours: Neighbours,
}

/// The link agent of a port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Agent {
    settings: LinkAgent,
    announcer: Announcer,
    may_read: Bucket,
    report: LinkAgentReport,
}

impl Agent {
    /// An agent that has heard nothing. Its first announcement is due at once.
    pub fn new(settings: &LinkAgent) -> Self {
        Self {
            settings: settings.clone(),
            announcer: Announcer::default(),
            may_read: Bucket::default(),
            report: LinkAgentReport::default(),
        }
    }

    /// Applies new settings. If they say something else of the port, it is announced soon.
    pub fn configure(&mut self, settings: &LinkAgent) {
        if *settings != self.settings {
            self.settings = settings.clone();
            self.announcer.announce_soon();
        }
    }

    /// The announcement that is due at `now`.
    fn message(&self, now: Nanos) -> Option<Message> {
        (self.announcer.due <= now).then(|| match self.announcer.ends {
            true => self.settings.shutdown(),
            false => self.settings.announcement(),
        })
    }

    /// Announces that the port stops, and nothing after that.
    pub fn shut_down(&mut self) {
        self.announcer.end();
    }

    /// Reads `lldpdu`, which came from `source` at `now`, unless there were too many.
    ///
    /// # Errors
    /// [`ParseError`] if it is malformed.
    pub fn receive(&mut self, now: Nanos, source: MacAddress, lldpdu: &[u8]) -> Result<(), ParseError> {
        let report = &mut self.report;
        if !self.may_read.take(now, EACH, BURST) {
            report.unread += 1;
            return Ok(());
        }
        let received = Message::parse(lldpdu)?;
        report.received += 1;
        report.discarded_tlvs += u64::from(received.discarded);
        if report.neighbours.hear(now, source, &received.message, &mut report.counters) {
            self.announcer.hurry();
        }
        Ok(())
    }

    /// Its report at `now`.
    pub fn report(&self, now: Nanos) -> LinkAgentReport {
        let mut report = self.report;
        report.neighbours.expire(now, &mut report.counters);
        report
    }
}

impl Service for Agent {
    fn frame_due(&self) -> Nanos {
        self.announcer.due
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
        self.report.sent += 1;
        self.announcer.sent(start, self.settings.interval);
    }
}

#[cfg(test)]
mod tests;
