//! The settings of port grants on a port, and the queues that they need.

use crate::flow_control::bifrost::settings::Bifrost;
use serde::{Deserialize, Serialize};
use units::{Priority, PrioritySet, QueueId, QueueSet};
use wire::grants::far_port;

/// Grants for each far port, on the long port of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortGrants {
    /// The slots, as of Bifrost. Their buffer bounds all far ports together.
    pub slots: Bifrost,
    /// The most far ports with grants and queues of their own, in both directions: up to [`far_port::MOST`]. With none,
    /// one grant is for all.
    pub far_ports: u8,
}

impl PortGrants {
    /// The most far ports for which a port has queues beside its first eight, with these `lossless` priorities.
    pub const fn most_far_ports(lossless: PrioritySet) -> u8 {
        let priorities = lossless.bits().count_ones() as usize;
        let room = QueueSet::CAPACITY - Priority::COUNT;
        match room.checked_div(priorities) {
            None => 0,
            Some(most) if most < far_port::MOST => most as u8,
            Some(_) => far_port::MOST as u8,
        }
    }

    /// The priorities of the queues that a port needs beside its first eight, in order: those of the first far port, and
    /// so on.
    pub fn queues(&self, lossless: PrioritySet) -> impl Iterator<Item = Priority> + use<> {
        let ports = self.far_ports.min(Self::most_far_ports(lossless));
        (0..ports).flat_map(move |_| lossless.iter())
    }
}

/// The queues of far ports at a long port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    lossless: PrioritySet,
    far_ports: u8,
}

impl Layout {
    /// That of a port with these `lossless` priorities, whose queues have the `priorities`. A far port for which some
    /// queue is missing has none.
    pub fn new(
        settings: &PortGrants,
        lossless: PrioritySet,
        priorities: impl Iterator<Item = Priority>,
    ) -> Self {
        let wanted = settings.queues(lossless);
        let there =
            priorities.skip(Priority::COUNT).zip(wanted).take_while(|(is, wants)| is == wants).count();
        let each = lossless.iter().count().max(1);
        Self { lossless, far_ports: (there / each) as u8 }
    }

    /// The far ports that have queues.
    pub const fn far_ports(&self) -> u8 {
        self.far_ports
    }

    /// The queue of `priority` for a far port, from one; that of all others for zero, or without its own queue.
    #[inline]
    pub fn queue(&self, far_port: u8, priority: Priority) -> QueueId {
        if far_port == 0 || far_port > self.far_ports || !self.lossless.contains(priority) {
            return priority.into();
        }
        let bits = self.lossless.bits();
        let below = (bits & ((1 << priority.number()) - 1)).count_ones() as u8;
        let each = bits.count_ones() as u8;
        QueueId::from_low_bits(Priority::COUNT as u8 + (far_port - 1) * each + below)
    }

    /// The queues of a far port.
    pub fn queues(&self, far_port: u8) -> QueueSet {
        self.lossless.iter().map(|priority| self.queue(far_port, priority)).collect()
    }
}

#[cfg(test)]
impl PortGrants {
    /// Settings for tests of queues and routes, which look at no slot.
    pub(super) fn without_slots(far_ports: u8) -> Self {
        use crate::flow_control::bifrost::settings::VirtualIncoming;
        use core::num::NonZeroU32;
        use units::{Interval, WireBytes};
        let slots = Bifrost {
            buffer: WireBytes(0),
            slot: Interval(1),
            round_trip: Interval(1),
            check_every: NonZeroU32::MIN,
            virtual_incoming: VirtualIncoming::Counter,
            holdover: Interval::ZERO,
            lateness: Interval::ZERO,
        };
        Self { slots, far_ports }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(far_ports: u8, lossless: PrioritySet, missing: usize) -> Layout {
        let queues: Vec<_> =
            Priority::all().chain(PortGrants::without_slots(far_ports).queues(lossless)).collect();
        Layout::new(
            &PortGrants::without_slots(far_ports),
            lossless,
            queues[..queues.len() - missing].iter().copied(),
        )
    }

    #[test]
    fn each_far_port_has_a_queue_for_each_lossless_priority_and_no_two_share_one() {
        for bits in [0b1000, 0b1_1000, 0b1010_0001, 0xff] {
            let lossless = PrioritySet::from_bits(bits);
            let layout = layout(14, lossless, 0);
            assert_eq!(layout.far_ports(), PortGrants::most_far_ports(lossless));
            let mut seen = QueueSet::first(Priority::COUNT);
            for far_port in 1..=layout.far_ports() {
                assert!(layout.queues(far_port).intersection(seen).is_empty());
                assert_eq!(layout.queues(far_port).iter().count() as u32, bits.count_ones());
                seen = seen.union(layout.queues(far_port));
            }
        }
        assert_eq!(PortGrants::most_far_ports(PrioritySet::ALL), 7);
        assert_eq!(PortGrants::most_far_ports(PrioritySet::EMPTY), 0);
    }

    #[test]
    fn what_has_no_queue_of_its_own_waits_in_that_of_its_priority() {
        let [three, four] = [3, 4].map(Priority::from_low_bits);
        let lossless = PrioritySet::EMPTY.with(three).with(four);
        let layout = layout(3, lossless, 1);
        assert_eq!(layout.far_ports(), 2, "a queue of the third is missing");
        assert_eq!(layout.queue(2, four), QueueId::from_low_bits(11));
        assert_eq!(layout.queue(3, four), four.into());
        assert_eq!(layout.queue(0, three), three.into());
        let lossy = Priority::from_low_bits(0);
        assert_eq!(layout.queue(1, lossy), lossy.into());
    }
}
