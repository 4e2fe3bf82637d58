//! Port grants: one slow receiver behind the far gateway must not stop the whole long link.
//!
//! This scheme is our own. Both ends of a link are gateways of this project. The far end grants bytes for each slot, as
//! BifrostX does: in all, within Bifrost's bound, and for each of its ports, within a bound of that port
//! (`FarPort`). It also tells which destinations are behind which of its ports (`Behind`). The near end has a queue for
//! each far port and lossless priority, looks up the far port of each frame (`Directory`), and spends the grants queue by
//! queue (`Upstream`). Traffic for a slow port waits in its own queue, and the link stays free for the rest.
//!
//! `docs/port-grants.md` has the rule, its proof and its limits. Slots, handshake and fallback are those of
//! [BifrostX](super::bifrostx); only what each message grants beside its total differs.

mod behind;
mod directory;
mod far_port;
pub(crate) mod figures;
mod routes;
pub mod settings;
#[cfg(test)]
mod tests;
mod upstream;

pub(crate) use behind::Behind;
pub use directory::DirectoryCounters;
pub use far_port::FarPortState;
pub(crate) use routes::behind;
pub(crate) use upstream::Upstream;
pub use upstream::UpstreamCounters;

use super::bifrost::BifrostReport;
use super::bifrostx::peer::REPEAT;
use super::bifrostx::{self, BifrostX, DownstreamCounters};
use super::look::Look;
use super::sender::Directive;
use far_port::FarPort;
use serde::{Deserialize, Serialize};
use settings::PortGrants as Settings;
use std::sync::Arc;
use units::{BitRate, Interval, Nanos, PortId, WireBytes};
use wire::grants::slot::{Head, Kind};
use wire::grants::{Message, behind as page, far_port as grants};

/// The time between two pages of an edition. The first page of the next round follows after [`REPEAT`].
const PAGE: Interval = Interval::from_micros(100);

/// One far port, as plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FarPortReport {
    /// The port of this gateway.
    pub port: PortId,
    /// Its state at the end of the last slot.
    pub state: FarPortState,
}

/// Port grants on one port, as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortGrantsReport {
    /// The slots, as of Bifrost: all far ports together.
    pub slots: BifrostReport,
    /// Whether the upstream follows the grants; if not, it is paused as by Bifrost.
    pub is_followed: bool,
    /// Grants sent.
    pub downstream: DownstreamCounters,
    /// Pages of destinations sent.
    pub pages: u64,
    /// Destinations for which there was no page.
    pub left_out: u64,
    far_ports: usize,
    far: [FarPortReport; grants::MOST],
    /// The counters of the upstream side.
    pub upstream: UpstreamCounters,
}

impl PortGrantsReport {
    /// The far ports that have grants of their own.
    pub fn far_ports(&self) -> &[FarPortReport] {
        self.far.get(..self.far_ports).unwrap_or_default()
    }

    /// The longest queue of any of them so far, in wire bytes.
    pub fn longest_far_queue(&self) -> WireBytes {
        self.far_ports().iter().map(|it| it.state.longest).max().unwrap_or(WireBytes(0))
    }
}

/// The downstream side of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PortGrants {
    settings: Settings,
    rate: BitRate,
    /// Slots and handshake, and the grant for all.
    link: BifrostX,
    behind: Arc<Behind>,
    /// The settings and the rate of the far ports.
    learned: Option<(Settings, BitRate)>,
    far: Vec<FarPort>,
    /// All bytes granted since the last message of another kind, modulo 2^32. So the newest message includes the grants of
    /// lost ones.
    granted: [u32; grants::MOST],
    /// The next page to be sent, and its time; never while no peer is heard.
    next_page: (usize, Nanos),
    page: Option<page::Message>,
    pages: u64,
}

impl PortGrants {
    /// Port grants at rest, on a port of `rate` that `look` shows. It knows no far ports yet.
    pub fn new(settings: Settings, rate: BitRate, look: Look<'_>) -> Self {
        Self {
            settings,
            rate,
            link: BifrostX::new(settings.slots, rate, look),
            behind: Arc::default(),
            learned: None,
            far: Vec::new(),
            granted: [0; grants::MOST],
            next_page: (0, Nanos::NEVER),
            page: None,
            pages: 0,
        }
    }

    /// Applies new settings, as BifrostX does. Returns whether the slots restart.
    pub fn configure(&mut self, settings: Settings, rate: BitRate, look: Look<'_>) -> bool {
        (self.settings, self.rate) = (settings, rate);
        self.link.configure(settings.slots, rate, look)
    }

    /// Learns what is behind the gateway. Its far ports start anew if that or their settings have changed.
    pub fn learn(&mut self, behind: &Arc<Behind>, look: Look<'_>) {
        let known = (self.settings, self.rate);
        // The old list is dropped while its program still has it.
        let before = core::mem::replace(&mut self.behind, Arc::clone(behind));
        if self.learned.replace(known) == Some(known) && before == *behind {
            return;
        }
        let slots = bifrostx::timed(self.settings.slots);
        let round_trip = slots.round_trip + slots.virtual_incoming.jitter();
        let far_port = |&(port, rate): &(PortId, BitRate)| {
            FarPort::new(rate.min(self.rate), round_trip, slots.slot, look.totals_to(port))
        };
        self.far = behind.ports.iter().map(far_port).collect();
        // Messages have zero for a far port that is gone. If it comes back, its total begins there.
        self.granted.iter_mut().skip(self.far.len()).for_each(|total| *total = 0);
        self.next_page.0 = 0;
    }

    /// The end of the running slot, or the time of the next other message.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.link.deadline().min(self.next_page.1)
    }

    /// Wakes it, because bytes come in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if self.link.is_at_rest() {
            self.far.iter_mut().for_each(|it| it.refill(now));
        }
        self.link.wake(now);
    }

    /// Takes the head of a message of the peer.
    pub fn hear(&mut self, now: Nanos, head: &Head) {
        self.link.hear(now, head);
        if self.next_page.1 == Nanos::NEVER && self.behind.page(0).is_some() {
            self.next_page = (0, now);
        }
    }

    /// Ends the slot, or says what has changed since its end.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>) -> Option<Directive> {
        if self.next_page.1 <= now {
            self.turn_page(now);
        }
        if self.link.ends_slot(now) {
            let ports = self.far.iter_mut().zip(&self.behind.ports).zip(&mut self.granted);
            for ((far, (port, _)), granted) in ports {
                let (admitted, departed) = look.totals_to(*port);
                *granted = granted.wrapping_add(far.end_slot(now, admitted, departed) as u32);
            }
        }
        if self.link.deadline() <= now { self.link.on_deadline(now, look) } else { None }
    }

    /// Leaves a page to be sent, while the peer is heard.
    fn turn_page(&mut self, now: Nanos) {
        let (number, _) = self.next_page;
        self.page = self.behind.page(number).filter(|_| self.link.hears(now));
        self.next_page = match (&self.page, self.behind.page(number + 1)) {
            (None, _) => (0, Nanos::NEVER),
            (Some(_), Some(_)) => (number + 1, now + PAGE),
            (Some(_), None) => (0, now + REPEAT),
        };
    }

    /// Whether a message waits for the link.
    #[inline]
    pub fn has_message(&self) -> bool {
        self.link.message.is_some() || self.page.is_some()
    }

    /// Takes a message that waits for the link: grants before pages.
    pub fn take_message(&mut self) -> Option<Message> {
        if let Some(message) = self.link.message.take() {
            return Some(Message::FarPort(self.grants(message.head)));
        }
        let page = self.page.take()?;
        self.pages += 1;
        Some(Message::Behind(page))
    }

    /// The message with this head: what each far port has been granted so far, or else its start, until the first grant is
    /// due.
    fn grants(&mut self, head: Head) -> grants::Message {
        let mut each = [WireBytes(0); grants::MOST];
        for ((bytes, far), granted) in each.iter_mut().zip(&self.far).zip(&mut self.granted) {
            *bytes = WireBytes(match head.kind {
                Kind::Grant => u64::from(*granted),
                Kind::Pauses | Kind::Free => {
                    *granted = 0;
                    far.start()
                }
            });
        }
        grants::Message { head, count: self.far.len() as u8, each }
    }

    /// Its report, with the counters of the other side of the port.
    pub fn report(&self, upstream: UpstreamCounters) -> PortGrantsReport {
        let link = self.link.report(bifrostx::UpstreamCounters::default());
        let mut far = [FarPortReport::default(); grants::MOST];
        for ((report, it), (port, _)) in far.iter_mut().zip(&self.far).zip(&self.behind.ports) {
            *report = FarPortReport { port: *port, state: it.state };
        }
        PortGrantsReport {
            slots: link.slots,
            is_followed: link.is_followed,
            downstream: link.downstream,
            pages: self.pages,
            left_out: self.behind.left_out as u64,
            far_ports: self.far.len().min(grants::MOST),
            far,
            upstream,
        }
    }
}
