//! Fast CNPs (IETF individual draft "fast CNP for RoCEv2", revision -05 of May 2026): a congested node notifies the sender of
//! the data itself. [`wire::roce::fast_cnp`] has the format.
//!
//! A port has two roles, each off by default:
//!
//! - **Emitter.** When a queue of the port marks a packet over IPv6, its sender gets a Fast CNP from an address of the
//!   gateway. A sender that is known to understand it gets no mark beside it; any other gets both.
//! - **Proxy** (revision -02). A Fast CNP that comes in through the port, for a sender that knows nothing of it, becomes an
//!   ordinary CNP with the sender's queue pair. The [resolver](crate::flows) is the look-up that the draft leaves to
//!   the sender: by the receiver's queue pair and the address in the option.
//!
//! The draft asks for a limit, and names none: here one for each flow and one for each port hold for both roles together.
//! Where no port accepts them, Fast CNPs end at the border (`shard/fabric/fast_cnp.rs`).

pub(crate) mod figures;

use super::lscc::Outgoing;
use super::notes::{FAST_CNP_TOLD, FAST_CNP_UNREACHABLE, FAST_CNP_WAY};
use crate::allowance::Bucket;
use crate::descriptor::{Descriptor, Network};
use crate::flows::cnp::{CnpBuilder, WayBack};
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Flows, Origin, Seen, Sighting, Slot};
use crate::program::FastCnp as Settings;
use serde::{Deserialize, Serialize};
use units::{Nanos, PortId};
use wire::roce::fast_cnp::Notice;

/// Notifications that can wait until they are made.
const DUE: usize = 64;
/// Notifications that a port makes or passes on at once.
const BURST: u64 = 64;

/// Counters of Fast CNPs on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FastCnpCounters {
    /// Fast CNPs sent.
    pub sent: u64,
    /// Packets that were left unmarked because their sender got a Fast CNP.
    pub unmarked: u64,
    /// Fast CNPs that were translated into CNPs.
    pub translated: u64,
    /// Fast CNPs for senders that understand them, which were passed on.
    pub passed: u64,
    /// Fast CNPs of whose flow the sender's queue pair is unknown.
    pub unknown: u64,
    /// Malformed Fast CNPs.
    pub malformed: u64,
    /// Notifications, of either role, beyond the limit of their flow.
    pub over_flow_limit: u64,
    /// Notifications, of either role, beyond the limit of the port.
    pub over_port_limit: u64,
    /// Notifications to which there was no way, or whose flow a reload had forgotten.
    pub unreachable: u64,
}

/// The kind of notification to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Role {
    Emitter,
    Proxy,
}

/// Fast CNPs of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FastCnps {
    settings: Settings,
    /// The time of the last notification of each flow, in nanoseconds; valid while its note is set.
    told: Vec<u64>,
    due: Vec<(Slot, Role)>,
    limit: Bucket,
    blocked: Option<Nanos>,
    cnps: CnpBuilder,
    counters: FastCnpCounters,
}

impl FastCnps {
    /// The state for a flow table of `capacity`.
    pub fn new(settings: &Settings, capacity: u32) -> Self {
        Self {
            settings: settings.clone(),
            told: vec![0; capacity as usize],
            due: Vec::with_capacity(DUE),
            limit: Bucket::default(),
            blocked: None,
            cnps: CnpBuilder::default(),
            counters: FastCnpCounters::default(),
        }
    }

    /// Applies the settings of `spare`, which was made for them. If the table of flows was `exchanged`, all entries are
    /// those of `spare`, which are empty, and notifications that were due are lost: their slots have lost their meaning.
    pub fn configure(&mut self, spare: &mut Self, exchanged: bool) {
        if exchanged {
            core::mem::swap(&mut self.told, &mut spare.told);
            self.counters.unreachable += self.due.len() as u64;
            self.due.clear();
            self.blocked = None;
        }
        core::mem::swap(&mut self.settings, &mut spare.settings);
    }

    /// Whether marks of the port are to be shown.
    #[inline]
    pub const fn emits(&self) -> bool {
        self.settings.source.is_some()
    }

    /// Takes a frame that goes out, and keeps the way back to the sender of a flow over IPv6.
    #[inline]
    pub fn send(
        &mut self,
        outgoing: Outgoing,
        seen: Seen,
        flows: &mut Flows,
        descriptor: &Descriptor,
        headers: &[u8],
    ) {
        if descriptor.network != Network::Ipv6 || !seen.data {
            return;
        }
        let Sighting::Of(slot) = seen.sighting else { return };
        if !flows.hot(slot).notes.has(FAST_CNP_WAY)
            && flows.is_from(slot, Origin::of(outgoing.port, descriptor, headers))
            && let Some(way) = WayBack::of(headers, seen.source_port)
        {
            flows.keep(slot, way);
            flows.hot_mut(slot).notes.set(FAST_CNP_WAY, true);
        }
    }

    /// Takes a packet that a queue of the port is about to mark. Returns whether it is to be marked.
    pub fn congested(
        &mut self,
        now: Nanos,
        descriptor: &Descriptor,
        headers: &[u8],
        flows: &mut Flows,
    ) -> bool {
        if descriptor.network != Network::Ipv6 {
            return true;
        }
        let Some((slot, _)) = flows.find_outgoing(descriptor, headers) else { return true };
        let notes = flows.hot(slot).notes;
        if !notes.has(FAST_CNP_WAY) || notes.has(FAST_CNP_UNREACHABLE) {
            return true;
        }
        let told = self.take(now, slot, Role::Emitter, flows);
        let marked = !told || !self.settings.is_capable(flows.sender_of(slot));
        self.counters.unmarked += u64::from(!marked);
        marked
    }

    /// Takes a Fast CNP that came in through the port: `packet` starts with its IPv6 header. Returns whether it is to be
    /// forwarded.
    pub fn receive(&mut self, now: Nanos, packet: &[u8], flows: &mut Flows) -> bool {
        let Ok(notice) = Notice::parse(packet, self.settings.option) else {
            self.counters.malformed += 1;
            return false;
        };
        if self.settings.is_capable(notice.sender) {
            let passes = self.limit.take(now, self.settings.port_interval, BURST);
            self.counters.passed += u64::from(passes);
            self.counters.over_port_limit += u64::from(!passes);
            return passes;
        }
        let flow = flows.find_sent(notice.sender, notice.receiver, notice.receiver_qp);
        let known =
            |slot: &Slot| flows.hot(*slot).notes.has(FAST_CNP_WAY) && flows.source_of(*slot).is_some();
        let Some(slot) = flow.filter(known) else {
            self.counters.unknown += 1;
            return false;
        };
        self.take(now, slot, Role::Proxy, flows);
        false
    }

    /// Notes that the sender of a flow is to be notified, within the limits. Returns whether it is, or was within the
    /// interval.
    fn take(&mut self, now: Nanos, slot: Slot, role: Role, flows: &mut Flows) -> bool {
        let notes = &mut flows.hot_mut(slot).notes;
        let last = &mut self.told[slot.index()];
        if notes.has(FAST_CNP_TOLD) && now.since(Nanos(*last)) < self.settings.interval {
            self.counters.over_flow_limit += 1;
            return true;
        }
        if self.due.len() == DUE || !self.limit.take(now, self.settings.port_interval, BURST) {
            self.counters.over_port_limit += 1;
            return false;
        }
        *last = now.0;
        notes.set(FAST_CNP_TOLD, true);
        self.due.push((slot, role));
        true
    }

    /// The time of the next call of [`FastCnps::notify`].
    #[inline]
    pub fn deadline(&self) -> Nanos {
        match self.blocked {
            Some(until) => until,
            None if self.due.is_empty() => Nanos::NEVER,
            None => Nanos::ZERO,
        }
    }

    /// The number of notifications that wait.
    pub fn waiting(&self) -> u64 {
        self.due.len() as u64
    }

    /// Whether notifications wait until a port that has room again calls [`FastCnps::notify`].
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.blocked == Some(Nanos::NEVER)
    }

    /// Makes the notifications that are due, as long as `send` takes them.
    pub fn notify(&mut self, flows: &mut Flows, mut send: impl FnMut(PortId, Notification) -> Offer) {
        self.blocked = None;
        let as_configured = self.settings.notifier.class();
        while let Some(&(slot, role)) = self.due.last() {
            // A slot that now belongs to another flow or to none has no such note.
            let made = flows.hot(slot).notes.has(FAST_CNP_TOLD).then(|| match role {
                Role::Proxy => self.cnps.build(flows, slot, as_configured),
                Role::Emitter => {
                    let source = self.settings.source?;
                    CnpBuilder::build_fast(flows, slot, (source, self.settings.option), as_configured)
                }
            });
            match made.flatten().map(|(port, notification)| send(port, notification)) {
                Some(Offer::Full { until }) => {
                    self.blocked = Some(until);
                    return;
                }
                Some(Offer::Taken) if role == Role::Proxy => self.counters.translated += 1,
                Some(Offer::Taken) => self.counters.sent += 1,
                Some(Offer::Unreachable) | None => {
                    self.counters.unreachable += 1;
                    // Without a notification, marks must do.
                    let notes = &mut flows.hot_mut(slot).notes;
                    notes.set(FAST_CNP_UNREACHABLE, notes.has(FAST_CNP_TOLD));
                }
            }
            self.due.pop();
        }
    }

    pub const fn counters(&self) -> &FastCnpCounters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{BitRate, Interval};
    use wire::ethernet::MacAddress;

    #[test]
    fn a_notice_to_the_sender_of_a_flow_that_has_aged_is_not_sent_whether_its_slot_is_used_again_or_not() {
        let settings = Settings::PLAIN;
        let mut flows = Flows::new(settings.notifier.table(BitRate::gigabits(25)), 7);
        let mut scheme = FastCnps::new(&settings, settings.notifier.flows);
        let origin = Origin::new(PortId(1), MacAddress([2, 0, 0, 0, 0, 1]), 0);
        let now = Nanos(1_000_000);
        let slots = [1, 2].map(|qp| flows.enter_from(qp, now, origin));
        for slot in slots {
            assert!(scheme.take(now, slot, Role::Emitter, &mut flows));
        }
        // Both flows make room for a new one, which takes the slot of one of them.
        let later = now + settings.notifier.ageing + Interval::from_secs(1);
        let reused = flows.enter_from(3, later, origin);
        assert!(slots.contains(&reused) && flows.len() == 1);
        scheme.notify(&mut flows, |_, notification| panic!("{notification:?}"));
        assert_eq!((scheme.counters().sent, scheme.counters().unreachable), (0, 2));
    }
}
