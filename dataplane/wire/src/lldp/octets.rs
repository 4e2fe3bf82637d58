//! A short string of octets in place.

use core::fmt;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

/// Up to [`Octets::CAPACITY`] octets: an identifier or a name. Of a longer one, the first octets are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Octets {
    length: u8,
    /// Zero behind `length`.
    #[serde(with = "BigArray")]
    bytes: [u8; Self::CAPACITY],
}

impl Octets {
    /// The most octets. LLDP allows 255, but names and addresses are shorter.
    pub const CAPACITY: usize = 64;
    /// No octets.
    pub const EMPTY: Self = Self { length: 0, bytes: [0; Self::CAPACITY] };

    /// The first octets of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        let mut octets = Self::EMPTY;
        for (kept, byte) in octets.bytes.iter_mut().zip(bytes) {
            *kept = *byte;
        }
        octets.length = bytes.len().min(Self::CAPACITY) as u8;
        octets
    }

    /// The octets.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Default for Octets {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Printable ASCII as it is, and any other octet as an escape: a terminal or a log that shows it obeys no neighbour.
impl fmt::Display for Octets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.as_bytes().escape_ascii())
    }
}

impl fmt::Debug for Octets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "\"{self}\"")
    }
}
