//! The orientation of ports in a network of levels, and the priorities of frames that bounce.

use units::Priority;

/// The level of a port's neighbour beside the level of this switch (IEEE 802 Nendica report
/// "Intelligent Lossless Data Center Networks", draft of 2021, section "PFC deadlock prevention using topology
/// recognition").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// The neighbour is at a higher level, nearer to the spine.
    Uplink,
    /// The neighbour is at a lower level, or a host.
    Downlink,
    /// The neighbour is at the same level.
    Crosslink,
}

impl Orientation {
    /// Whether a frame bounces that came in through a port of this orientation and leaves through one of `to`.
    ///
    /// The report names uplink to uplink. A way that goes up, across once, and down closes no cycle either, so the
    /// other two bounces are those that leave such a way by a crosslink.
    pub const fn bounces(self, to: Self) -> bool {
        matches!(
            (self, to),
            (Self::Uplink | Self::Crosslink, Self::Uplink) | (Self::Crosslink, Self::Crosslink)
        )
    }
}

/// The isolated priorities of frames that bounce, by the priorities in which they come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remap([Option<Priority>; Priority::COUNT]);

impl Remap {
    /// The isolated priority of frames of `priority`; `None` if they keep theirs.
    pub const fn of(&self, priority: Priority) -> Option<Priority> {
        self.0[priority.index()]
    }

    /// The same, and frames of `from` get priority `to`.
    #[must_use]
    pub const fn with(mut self, from: Priority, to: Priority) -> Self {
        self.0[from.index()] = Some(to);
        self
    }

    /// Whether all frames keep their priorities.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Each remapped priority with its isolated one.
    pub fn iter(&self) -> impl Iterator<Item = (Priority, Priority)> {
        Priority::all().filter_map(|from| Some((from, self.of(from)?)))
    }

    /// Whether frames of `priority` that bounce again and again come back to it.
    pub fn returns_to(&self, priority: Priority) -> bool {
        let later = core::iter::successors(self.of(priority), |it| self.of(*it));
        later.take(Priority::COUNT).any(|it| it == priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Orientation::{Crosslink, Downlink, Uplink};

    #[test]
    fn a_frame_bounces_where_it_leaves_a_way_that_goes_up_across_once_and_down() {
        let all = [Uplink, Downlink, Crosslink];
        let pairs = all.iter().flat_map(|from| all.iter().map(move |to| (*from, *to)));
        let bouncing: Vec<_> = pairs.filter(|(from, to)| from.bounces(*to)).collect();
        assert_eq!(bouncing, [(Uplink, Uplink), (Crosslink, Uplink), (Crosslink, Crosslink)]);
    }

    #[test]
    fn a_chain_of_priorities_ends_and_a_ring_comes_back() {
        let [three, four, five] = [3, 4, 5].map(Priority::from_low_bits);
        let chain = Remap::default().with(three, four).with(four, five);
        assert!(Priority::all().all(|priority| !chain.returns_to(priority)));
        assert!(chain.with(five, three).returns_to(four));
        assert!(Remap::default().with(three, three).returns_to(three));
        let tail = Remap::default().with(three, four).with(four, five).with(five, four);
        assert!(!tail.returns_to(three), "it leads into a ring, and is not in it");
        assert_eq!(chain.iter().collect::<Vec<_>>(), [(three, four), (four, five)]);
    }
}
