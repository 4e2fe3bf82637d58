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

/// A set of ports, one bit per port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortSet(u64);

impl PortSet {
    /// No port.
    pub const EMPTY: Self = Self(0);
    /// The maximum number of ports of a set, and so of a switch.
    pub const CAPACITY: usize = 64;

    /// Ports 0 to `count - 1`.
    pub const fn first(count: usize) -> Self {
        if count >= Self::CAPACITY { Self(u64::MAX) } else { Self((1 << count) - 1) }
    }

    /// Whether `port` is a member.
    #[inline]
    pub const fn contains(self, port: PortId) -> bool {
        port.index() < Self::CAPACITY && self.0 & (1 << port.index()) != 0
    }

    /// Whether it has no member.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members of either set.
    #[inline]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds `port`. Numbers of [`PortSet::CAPACITY`] and above are ignored.
    #[inline]
    pub const fn insert(&mut self, port: PortId) {
        if port.index() < Self::CAPACITY {
            self.0 |= 1 << port.index();
        }
    }

    /// Removes `port`.
    #[inline]
    pub const fn remove(&mut self, port: PortId) {
        if port.index() < Self::CAPACITY {
            self.0 &= !(1 << port.index());
        }
    }

    /// Its members, lowest first.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = PortId> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let lowest = rest.trailing_zeros() as u16;
            (rest != 0).then(|| {
                rest &= rest - 1;
                PortId(lowest)
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
