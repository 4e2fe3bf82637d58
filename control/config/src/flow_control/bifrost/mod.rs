//! Builds Bifrost on a port and the groups beneath it, and checks them against the link.

pub(crate) mod keys;
pub(crate) mod plan;

use switch::program::{Bifrost, BifrostError, LosslessGroup, PortSettings, Threshold, VirtualIncoming};
use units::{BitRate, Bytes, Cells, Interval, PauseQuanta, Priority, WireBytes};

use crate::defaults;
use crate::flow_control::beneath;
use crate::headroom::frame_time;
use crate::keys::port::PortDecl;
use crate::keys::queueing::LosslessDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::round_trip::{self, peer_goes_on};
use crate::table::{Table, at, or};
use crate::value::{SizeChoice, VirtualIncomingWord};
use keys::BifrostDecl;

/// The table of a port that speaks Bifrost, or an empty one.
pub(crate) fn declared(decl: &PortDecl) -> Option<BifrostDecl> {
    let place = decl.flow_control.as_ref().map_or(&decl.place, |word| &word.place);
    let empty =
        || BifrostDecl { place: Place { key: "port.bifrost".into(), ..place.clone() }, ..Default::default() };
    decl.uses_table("bifrost").then(|| decl.bifrost.clone().unwrap_or_else(empty))
}

/// Builds Bifrost on a port that is not complete yet. Returns `None` and notes an error if the round trip is unknown.
pub(super) fn build(
    decl: &BifrostDecl,
    port: &PortSettings,
    link: &Link,
    problems: &Problems<'_>,
) -> Option<Bifrost> {
    let stated = decl.round_trip.as_ref().map(|it| it.value);
    let round_trip = stated.or_else(|| round_trip::needed(port, link, &decl.place, problems))?;
    let (slot, lateness) = (decl.slot(), decl.lateness());
    if let Some(holdover) = decl.holdover.as_ref().filter(|holdover| holdover.value > slot.max(lateness)) {
        problems.error(&holdover.place, ProblemKind::LongHoldover { slot, lateness });
    }
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot,
        round_trip,
        check_every: decl.check_every(),
        virtual_incoming: match decl.virtual_incoming() {
            VirtualIncomingWord::Counter => VirtualIncoming::Counter,
            VirtualIncomingWord::History => VirtualIncoming::History { jitter: jitter(decl, link) },
        },
        holdover: or(&decl.holdover, defaults::holdover(slot)),
        lateness,
    };
    if decl.holdover.is_none() && decl.lateness.is_some() {
        hold_over_lateness(&mut bifrost, port.rate);
    }
    bifrost.buffer = match decl.buffer.as_ref().map(|choice| choice.value) {
        Some(SizeChoice::Given(Bytes(size))) => WireBytes(size),
        Some(SizeChoice::Auto) | None => {
            let least = bifrost.buffer_terms(port.rate, port.max_frame).total();
            // The least would be enough. The paper's own deployments have a third slot (section IV-C.2).
            least + WireBytes(port.rate.bytes_in(slot)) + port.repaired_in_flight()
        }
    };
    Some(bifrost)
}

/// The jitter: with lanes at least the lateness, because another lane may be that late as a slot ends in time.
fn jitter(decl: &BifrostDecl, link: &Link) -> Interval {
    let stated = decl.jitter.as_ref().map(|it| it.value);
    let least = if link.lanes > 1 { decl.lateness() } else { Interval::ZERO };
    stated.unwrap_or_else(|| decl.jitter().max(least))
}

/// The keys from which [`build`] builds the same Bifrost.
pub(super) fn in_force(bifrost: &Bifrost) -> BifrostDecl {
    let (word, jitter) = match bifrost.virtual_incoming {
        VirtualIncoming::Counter => (VirtualIncomingWord::Counter, None),
        VirtualIncoming::History { jitter } => (VirtualIncomingWord::History, at(jitter)),
    };
    BifrostDecl {
        slot: at(bifrost.slot),
        buffer: at(SizeChoice::Given(Bytes(bifrost.buffer.0))),
        check_every: at(bifrost.check_every),
        virtual_incoming: at(word),
        jitter,
        holdover: at(bifrost.holdover),
        lateness: at(bifrost.lateness),
        round_trip: at(bifrost.round_trip),
        place: Place::default(),
    }
}

/// The most that lossless frames of any length can occupy while the upstream of `port` obeys: the buffer, and what leaks.
pub(crate) fn most_held(bifrost: &Bifrost, port: &PortSettings) -> Bytes {
    Cells::of_any_mix(bifrost.buffer + overrun(bifrost, port)).bytes()
}

/// What the upstream of `port` may send in spite of pauses that it obeys, on the wire.
pub(crate) fn overrun(bifrost: &Bifrost, port: &PortSettings) -> WireBytes {
    bifrost.overrun(port.rate, port.max_frame, peer_goes_on(port)) + port.lost_unknown()
}

/// The group of a port with Bifrost.
///
/// The distance does not matter here. Frames in flight when XOFF is reached were granted, and grants never exceed the
/// room in the buffer.
pub(super) fn group(decl: &LosslessDecl, bifrost: &Bifrost, port: &PortSettings) -> LosslessGroup {
    let max_frame = port.max_frame;
    let leaked = Bytes(max_frame.0.saturating_mul(u64::from(bifrost.check_every.get()) + 2));
    beneath::group(decl, most_held(bifrost, port), leaked, max_frame)
}

/// Warns if the slot of a port does not suit its link.
pub(super) fn check_slot(bifrost: &Bifrost, port: &PortSettings, decl: &PortDecl, problems: &Problems<'_>) {
    let Some(declared) = declared(decl) else { return };
    let place = declared.slot.as_ref().map_or(&declared.place, |slot| &slot.place);
    let slot = bifrost.slot;
    let one_way = Interval(bifrost.round_trip.0 / 2);
    if slot > one_way && slot <= bifrost.round_trip {
        problems.warning(place, ProblemKind::LongSlot { slot, one_way });
    }
    let least = frame_time(port.rate, port.max_frame);
    if slot < least {
        let (bytes, rate, frame) = (Bytes(port.rate.bytes_in(slot)), port.rate, port.max_frame);
        problems.warning(place, ProblemKind::ShortSlot { slot, bytes, rate, frame, least });
    }
}

/// Notes an error if a group pauses before Bifrost does, and warns if it has no room for all that Bifrost lets in.
pub(super) fn check_group(
    bifrost: &Bifrost,
    port: &PortSettings,
    (priority, group): (Priority, &LosslessGroup),
    decl: &LosslessDecl,
    problems: &Problems<'_>,
) {
    let (name, buffer) = (port.name.clone(), Bytes(bifrost.buffer.0));
    if let (Threshold::Static(level), Some(xoff)) = (group.xoff, &decl.threshold())
        && level < buffer
    {
        let kind = ProblemKind::XoffBelowBifrost { port: name, priority, xoff: level, buffer };
        problems.error(&xoff.place, kind);
        return;
    }
    let least = most_held(bifrost, port);
    let sure = group.reserved + group.headroom;
    if sure < least {
        let overrun = least - buffer;
        let place = decl.first(&["reserved", "xoff", "dynamic_th"]);
        let kind = ProblemKind::BifrostUnreserved { port: name, priority, least, buffer, overrun, sure };
        problems.warning(place, kind);
    }
}

/// The place of the key that caused `error`.
pub(super) fn place(error: &BifrostError, decl: &PortDecl) -> Option<Place> {
    let keys: &[&str] = match error {
        BifrostError::NoLossless => &[],
        BifrostError::Holdover { .. } => &["holdover"],
        BifrostError::Slot { .. } => &["slot"],
        BifrostError::Buffer { .. } => &["buffer"],
    };
    Some(declared(decl)?.first(keys).clone())
}

/// The keys with which Bifrost covers workers that are late by `lateness`.
pub(super) fn keys_for_lateness(bifrost: &Bifrost, rate: BitRate, lateness: Interval) -> String {
    let holdover = lateness.min(longest_holdover(bifrost, rate));
    format!("port.bifrost.lateness = \"{lateness}\" and holdover = \"{holdover}\"")
}

/// Makes Bifrost cover workers that are later by `more`, while `arriving` bytes come in. With `lanes`, grants expire so much
/// later as well.
pub(super) fn provide(
    bifrost: &mut Bifrost,
    rate: BitRate,
    more: Interval,
    arriving: WireBytes,
    lanes: bool,
) {
    bifrost.lateness += more;
    bifrost.buffer += arriving;
    match &mut bifrost.virtual_incoming {
        VirtualIncoming::History { jitter } if lanes => *jitter += more,
        _ => {}
    }
    hold_over_lateness(bifrost, rate);
}

/// Makes the pause of a slot without a grant last until a late slot ends, as far as a pause frame can. The buffer has
/// room for what one late slot lets in; behind a drain that stands still, that of several in a row would add up.
fn hold_over_lateness(bifrost: &mut Bifrost, rate: BitRate) {
    let holdover = bifrost.lateness.min(longest_holdover(bifrost, rate));
    bifrost.holdover = bifrost.holdover.max(holdover);
}

/// The longest holdover: the longest time of a pause frame, less a slot.
fn longest_holdover(bifrost: &Bifrost, rate: BitRate) -> Interval {
    PauseQuanta::MAX.interval_at(rate) - bifrost.slot
}
