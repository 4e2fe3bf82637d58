//! The settings of liveness.

use core::ops::RangeInclusive;
use serde::{Deserialize, Serialize};
use units::Interval;
use wire::grants::hello::Place;
use wire::rate_feedback::Key;

/// Liveness of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Liveness {
    /// The proof that the link lives.
    pub proof: Proof,
    /// The time for which a link that has failed may come back as if nothing had been, because optics restore it.
    pub hold_off: Interval,
    /// The time for which a link that comes back must live before it carries data; doubled at each relapse.
    pub return_after: Interval,
    /// Whether an operator takes this end out of use. With hellos, the other end follows.
    pub is_drained: bool,
}

/// The proof that a link lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// Its carrier.
    Carrier,
    /// Its carrier, and hellos in both directions.
    Hellos(Hellos),
}

/// Hellos in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hellos {
    /// This end.
    pub place: Place,
    /// The longest time between two hellos of a link that is up. Both ends use the longer one of theirs.
    pub interval: Interval,
    /// The key that both ends share.
    pub key: Key,
    /// The data frames that a hello may overtake on their way out, at most.
    pub overtaken: u64,
}

impl Liveness {
    /// This end, if it sends hellos.
    pub fn place(&self) -> Option<Place> {
        match self.proof {
            Proof::Hellos(hellos) => Some(hellos.place),
            Proof::Carrier => None,
        }
    }

    /// The valid range of the interval between hellos.
    pub const INTERVALS: RangeInclusive<Interval> = Interval::from_millis(1)..=Interval::from_secs(1);
    /// The hellos that must be missing for a link to have failed (`bfd.DetectMult`).
    pub const MULTIPLIER: u8 = 3;
    /// The longest time that relapses make of `return_after`.
    pub const LONGEST_RETURN: Interval = Interval::from_secs(300);
}
