//! `[port.bifrost]`.

use core::num::NonZeroU32;
use core::ops::RangeInclusive;

use switch::program::VirtualIncoming;
use units::{Bytes, Interval};

use super::BufferDecl;
use crate::defaults;
use crate::problem::ProblemKind;
use crate::reader::{At, Place, Section};
use crate::value::{SizeWish, VirtualIncomingWord};

/// Bifrost toward the upstream of a port.
#[derive(Clone)]
pub(crate) struct BifrostDecl {
    pub place: Place,
    pub slot: Option<At<Interval>>,
    pub buffer: Option<At<SizeWish>>,
    pub check_every: Option<At<NonZeroU32>>,
    /// From `virtual_incoming` and `jitter`.
    pub virtual_incoming: VirtualIncoming,
    pub holdover: Option<At<Interval>>,
    pub lateness: Option<At<Interval>>,
    pub round_trip: Option<At<Interval>>,
}

/// The shortest slot or round trip. A clock of nanoseconds and a pause frame of 84 wire bytes set the limit.
pub(super) const LEAST: Interval = Interval::from_micros(1);
/// More than twice around the equator and back, and small enough that no sum of the bytes that
/// any rate carries in such times overflows.
pub(super) const MOST: Interval = Interval::from_secs(1);
/// Times up to [`MOST`], in words.
pub(super) const UP_TO: &str = "up to 1s";

impl BifrostDecl {
    /// The longest round trip that can be stated.
    pub const LONGEST_ROUND_TRIP: Interval = MOST;

    pub fn read(bifrost: &mut Section<'_, '_>) -> Self {
        const AT_LEAST: &str = "1us to 1s";
        Self {
            place: bifrost.place.clone(),
            slot: time(bifrost, "slot", LEAST..=MOST, AT_LEAST),
            buffer: bifrost.optional("buffer").filter(|wish| countable(bifrost, wish)),
            check_every: bifrost.optional("check_every"),
            virtual_incoming: virtual_incoming(bifrost),
            holdover: time(bifrost, "holdover", Interval::ZERO..=MOST, UP_TO),
            lateness: time(bifrost, "lateness", Interval::ZERO..=MOST, UP_TO),
            round_trip: time(bifrost, "round_trip", LEAST..=MOST, AT_LEAST),
        }
    }
}

/// The time at `key`, which is to be in `range`.
pub(super) fn time(
    section: &mut Section<'_, '_>,
    key: &'static str,
    range: RangeInclusive<Interval>,
    valid: &'static str,
) -> Option<At<Interval>> {
    let time: At<Interval> = section.optional(key)?;
    if range.contains(&time.value) {
        return Some(time);
    }
    section.problems.error(&time.place, ProblemKind::OutOfRange { got: time.value.to_string(), valid });
    None
}

/// Whether it is no more than other buffers can be.
pub(super) fn countable(section: &Section<'_, '_>, wish: &At<SizeWish>) -> bool {
    match wish.value {
        SizeWish::Given(size) if size > BufferDecl::MOST => {
            let got = Bytes(size.0).to_string();
            section.problems.error(&wish.place, ProblemKind::OutOfRange { got, valid: "up to 1024GiB" });
            false
        }
        _ => true,
    }
}

fn virtual_incoming(section: &mut Section<'_, '_>) -> VirtualIncoming {
    let word = section.optional("virtual_incoming");
    let jitter = time(section, "jitter", Interval::ZERO..=MOST, "up to 1s");
    match (word.map(|word| word.value), jitter) {
        (Some(VirtualIncomingWord::Counter), jitter) => {
            if let Some(jitter) = jitter {
                let with = "virtual_incoming = \"counter\"";
                section.problems.error(&jitter.place, ProblemKind::Meaningless { with });
            }
            VirtualIncoming::Counter
        }
        (_, jitter) => {
            VirtualIncoming::History { jitter: jitter.map_or(defaults::JITTER, |jitter| jitter.value) }
        }
    }
}
