//! Pauses as a link sees them, to hold a sender to them.

use units::{BitRate, Nanos, PauseQuanta, Priority, PrioritySet};
use wire::ethernet::{self, EtherType};
use wire::ip::Dscp;
use wire::{pfc, vlan};

/// The pauses that have arrived at the sender of one direction, by the bytes of their frames (IEEE 802.1Q
/// clause 36.1.3.3: from the arrival on, for the time of the frame). It knows nothing of what a switch or a host has
/// made of them.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct LinkPauses {
    /// When the last of them is over: what each frame asks.
    latest: Nanos,
    rate: BitRate,
    until: [Nanos; Priority::COUNT],
}

impl LinkPauses {
    /// A sender at `rate` that was told nothing.
    pub fn new(rate: BitRate) -> Self {
        Self { rate, until: [Nanos::ZERO; Priority::COUNT], latest: Nanos::ZERO }
    }

    /// A PFC frame arrived at `now`, at a sender that obeys for `obeyed`.
    pub fn hear(&mut self, now: Nanos, headers: &[u8], obeyed: PrioritySet) {
        let Some(times) = pause_times(headers) else { return };
        for priority in obeyed.iter() {
            if let Some(quanta) = times[priority.index()] {
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

    /// When `priority` may send again.
    pub fn until(&self, priority: Priority) -> Nanos {
        self.until[priority.index()]
    }
}

/// What a PFC frame says; nothing where it is none.
fn pause_times(headers: &[u8]) -> Option<[Option<PauseQuanta>; Priority::COUNT]> {
    let frame = ethernet::View::parse(headers).ok()?;
    if frame.ether_type() != EtherType::MAC_CONTROL {
        return None;
    }
    Some(pfc::View::parse(frame.payload()).ok()?.times())
}

/// The code points of a frame: the DSCP of its IP header and the PCP of its outer tag, where it has them.
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
