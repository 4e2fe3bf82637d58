//! Port numbers and sets of them.

use core::fmt;
use serde::{Deserialize, Serialize};

/// A port of one switch: its position in the configuration, from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortId(pub u16);

impl PortId {
    /// The number, to index a table with one row per port.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.0)
    }
}

/// A set of ports, one bit per port. Two words are quicker than one of 128 bits, whose shifts take several instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortSet([u64; 2]);

impl PortSet {
    /// No port.
    pub const EMPTY: Self = Self([0; 2]);
    /// The maximum number of ports of a set, and so of a switch.
    pub const CAPACITY: usize = 128;

    /// Ports 0 to `count - 1`.
    pub const fn first(count: usize) -> Self {
        const fn word(count: usize) -> u64 {
            if count >= 64 { u64::MAX } else { (1 << count) - 1 }
        }
        Self([word(count), word(count.saturating_sub(64))])
    }

    /// Whether `port` is a member.
    #[inline]
    pub const fn contains(self, port: PortId) -> bool {
        port.index() < Self::CAPACITY && self.0[port.index() / 64] >> (port.index() % 64) & 1 != 0
    }

    /// Whether it has no member.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] == 0
    }

    /// The members of either set.
    #[inline]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// Adds `port`. Numbers of [`PortSet::CAPACITY`] and above are ignored.
    #[inline]
    pub const fn insert(&mut self, port: PortId) {
        if port.index() < Self::CAPACITY {
            self.0[port.index() / 64] |= 1 << (port.index() % 64);
        }
    }

    /// Removes `port`.
    #[inline]
    pub const fn remove(&mut self, port: PortId) {
        if port.index() < Self::CAPACITY {
            self.0[port.index() / 64] &= !(1 << (port.index() % 64));
        }
    }

    /// Its members, lowest first.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = PortId> {
        let [mut rest, mut next] = self.0;
        let mut base = 0;
        core::iter::from_fn(move || {
            if rest == 0 {
                (rest, next, base) = (next, 0, 64);
            }
            let lowest = rest.trailing_zeros() as u16;
            (rest != 0).then(|| {
                rest &= rest - 1;
                PortId(base + lowest)
            })
        })
    }
}

impl FromIterator<PortId> for PortSet {
    fn from_iter<I: IntoIterator<Item = PortId>>(ports: I) -> Self {
        ports.into_iter().fold(Self::EMPTY, |mut set, port| {
            set.insert(port);
            set
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_ports_that_were_added_and_not_removed_lowest_first() {
        let numbers = [0, 1, 63, 64, 65, 126, 127];
        let mut set: PortSet = numbers.into_iter().rev().map(PortId).collect();
        assert_eq!(set.iter().map(|port| port.0).collect::<Vec<_>>(), numbers);
        assert!((0..200).map(PortId).all(|port| set.contains(port) == numbers.contains(&port.0)));
        for port in numbers.map(PortId) {
            assert!(!set.is_empty());
            set.remove(port);
            assert!(!set.contains(port));
        }
        assert_eq!(set, PortSet::EMPTY);
        set.insert(PortId(128));
        set.remove(PortId(128));
        assert!(set.is_empty() && set.iter().next().is_none());
    }

    #[test]
    fn the_first_ports_are_those_below_a_number_and_no_set_has_more_than_it_can() {
        for count in [0, 1, 63, 64, 65, 127, 128, 129, usize::MAX] {
            let ports: Vec<u16> = PortSet::first(count).iter().map(|port| port.0).collect();
            assert_eq!(ports, (0..count.min(128) as u16).collect::<Vec<_>>(), "{count}");
        }
    }
}
