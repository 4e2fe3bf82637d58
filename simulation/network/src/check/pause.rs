//! Pauses as a link sees them, to check that senders obey them.

use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos, PauseQuanta, Priority, PrioritySet};
use wire::ethernet::{self, EtherType};
use wire::ip::Dscp;
use wire::{pfc, vlan};

/// The pauses that have arrived at the sender of one direction, by the bytes of their frames (IEEE 802.1Q
/// clause 36.1.3.3: from the arrival on, for the time in the frame). They are independent of how the switch
/// or host handles them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct LinkPauses {
    /// The end of the last pause, which each frame checks first.
    latest: Nanos,
    rate: BitRate,
    until: [Nanos; Priority::COUNT],
    /// When each priority was first told to pause and not to go on since.
    since: [Nanos; Priority::COUNT],
}

impl LinkPauses {
    /// No pauses, for a sender at `rate`.
    pub fn new(rate: BitRate) -> Self {
        let never = [Nanos::ZERO; Priority::COUNT];
        Self { rate, until: never, since: never, latest: Nanos::ZERO }
    }

    /// Takes note of a PFC frame that arrived at `now`, at a sender that obeys it for the priorities
    /// `obeyed`.
    pub fn hear(&mut self, now: Nanos, headers: &[u8], obeyed: PrioritySet) {
        let Some(times) = pause_times(headers) else { return };
        for priority in obeyed.iter() {
            if let Some(quanta) = times[priority.index()] {
                if self.until[priority.index()] <= now {
                    self.since[priority.index()] = now;
                }
                self.until[priority.index()] = now + quanta.interval_at(self.rate);
            }
        }
        self.latest = self.until.into_iter().max().unwrap_or(Nanos::ZERO);
    }

    /// Whether some priority is paused at `at`.
    #[inline]
    pub fn any_at(&self, at: Nanos) -> bool {
        at < self.latest
    }

    /// Whether no frame of `priority` may begin at `start`, if its sender may act on the beginning and the end of a pause with
    /// a `slack`.
    pub fn forbid(&self, priority: Priority, start: Nanos, slack: Interval) -> bool {
        let index = priority.index();
        start >= self.since[index] + slack && start + slack < self.until[index]
    }

    /// The instant from which `priority` may send again.
    pub fn until(&self, priority: Priority) -> Nanos {
        self.until[priority.index()]
    }
}

/// Whether a frame is sent again, to repair a loss: it obeys no pause, since its room is kept.
pub(crate) fn is_sent_again(headers: &[u8]) -> bool {
    wire::repair::Shim::find(headers).is_ok_and(|found| found.is_some_and(|(shim, _)| shim.copy.is_some()))
}

/// The pause times of a PFC frame; `None` for other frames.
fn pause_times(headers: &[u8]) -> Option<[Option<PauseQuanta>; Priority::COUNT]> {
    let frame = ethernet::View::parse(headers).ok()?;
    if frame.ether_type() != EtherType::MAC_CONTROL {
        return None;
    }
    Some(pfc::View::parse(frame.payload()).ok()?.times())
}

/// The code points of a frame: the DSCP of its IP header and the PCP of its outer tag, if it has them.
pub(crate) fn code_points(headers: &[u8]) -> (Option<Dscp>, Option<Priority>) {
    let at = |offset: usize| headers.get(offset).copied().unwrap_or_default();
    let mut offset = ethernet::HEADER_LEN;
    let mut pcp = None;
    let mut ether_type = EtherType(u16::from_be_bytes([at(offset - 2), at(offset - 1)]));
    while ether_type.is_vlan() && offset < headers.len() {
        pcp = pcp.or(Some(Priority::from_low_bits(at(offset) >> 5)));
        offset += vlan::TAG_LEN;
        ether_type = EtherType(u16::from_be_bytes([at(offset - 2), at(offset - 1)]));
    }
    if ether_type == wire::repair::ETHER_TYPE {
        let length = wire::repair::Shim::parse(headers.get(offset - 2..).unwrap_or_default());
        offset += length.map_or(0, |shim| shim.length());
        ether_type = EtherType(u16::from_be_bytes([at(offset - 2), at(offset - 1)]));
    }
    let dscp = match ether_type {
        EtherType::IPV4 => Some(Dscp::from_low_bits(at(offset + 1) >> 2)),
        EtherType::IPV6 => Some(Dscp::from_low_bits(at(offset) << 2 | at(offset + 1) >> 6)),
        _ => None,
    };
    (dscp, pcp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{P3, pause};

    const P4: Priority = Priority::from_low_bits(4);

    #[test]
    fn a_pause_lasts_for_its_quanta_and_the_next_one_replaces_it() {
        let mut pauses = LinkPauses::new(BitRate::gigabits(100));
        pauses.hear(Nanos(1_000), &pause(P3, 100), PrioritySet::ALL);
        assert_eq!(pauses.until(P3), Nanos(1_512));
        assert!(pauses.any_at(Nanos(1_511)) && !pauses.any_at(Nanos(1_512)));
        assert_eq!(pauses.until(P4), Nanos::ZERO);
        pauses.hear(Nanos(1_100), &pause(P3, 0), PrioritySet::ALL);
        assert_eq!(pauses.until(P3), Nanos(1_100));
        assert!(!pauses.any_at(Nanos(1_100)));
    }

    #[test]
    fn who_does_not_obey_is_not_held_to_it() {
        let mut pauses = LinkPauses::new(BitRate::gigabits(100));
        pauses.hear(Nanos(1_000), &pause(P3, 100), PrioritySet::EMPTY.with(P4));
        assert!(!pauses.any_at(Nanos(1_000)));
    }

    #[test]
    fn other_frames_pause_nobody() {
        let mut pauses = LinkPauses::new(BitRate::gigabits(100));
        let mut bytes = pause(P3, 100);
        bytes[13] = 0;
        pauses.hear(Nanos(1_000), &bytes, PrioritySet::ALL);
        pauses.hear(Nanos(1_000), &[1, 2, 3], PrioritySet::ALL);
        assert!(!pauses.any_at(Nanos(1_000)));
    }
}
