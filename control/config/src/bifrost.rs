//! Bifrost on a port: what follows from its link, and the room that its groups need.

use switch::program::{Bifrost, LosslessGroup, PortSettings, Threshold, VirtualIncoming};
use units::{BitRate, Bytes, Cells, Interval, Priority, WireBytes};

use crate::defaults;
use crate::headroom::{frame_time, response_quanta};
use crate::keys::long_haul::{BifrostDecl, LONGEST, SPANS};
use crate::keys::queueing::LosslessDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::table::{Table, at, or};
use crate::value::{SizeWish, VirtualIncomingWord, in_words};

/// What `decl` asks for on a port that is not built further than this; `None` where the round trip
/// is not known, which has been said.
pub(crate) fn build(
    decl: &BifrostDecl,
    port: &PortSettings,
    link: &Link,
    problems: &Problems<'_>,
) -> Option<Bifrost> {
    let stated = decl.round_trip.as_ref().map(|it| it.value);
    let round_trip = stated.or_else(|| round_trip(port, link, &decl.place, problems))?;
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
            VirtualIncomingWord::History => VirtualIncoming::History { jitter: decl.jitter() },
        },
        holdover: or(&decl.holdover, defaults::holdover(slot)),
        lateness,
    };
    bifrost.buffer = match decl.buffer.as_ref().map(|wish| wish.value) {
        Some(SizeWish::Given(Bytes(size))) => WireBytes(size),
        Some(SizeWish::Auto) | None => {
            let least = bifrost.buffer_terms(port.rate, port.max_frame).total();
            // The least would do. The paper's own deployments have a third slot (section IV-C.2).
            least + WireBytes(port.rate.bytes_in(slot))
        }
    };
    Some(bifrost)
}

/// The keys with which [`build`] makes the same.
pub(crate) fn in_force(bifrost: &Bifrost) -> BifrostDecl {
    let (word, jitter) = match bifrost.virtual_incoming {
        VirtualIncoming::Counter => (VirtualIncomingWord::Counter, None),
        VirtualIncoming::History { jitter } => (VirtualIncomingWord::History, at(jitter)),
    };
    BifrostDecl {
        slot: at(bifrost.slot),
        buffer: at(SizeWish::Given(Bytes(bifrost.buffer.0))),
        check_every: at(bifrost.check_every),
        virtual_incoming: at(word),
        jitter,
        holdover: at(bifrost.holdover),
        lateness: at(bifrost.lateness),
        round_trip: at(bifrost.round_trip),
        place: Place::default(),
    }
}

/// The round trip that follows from the distance, for the table at `place`; `None` without a
/// distance, which has been said. One that is too long to be stated is an error too.
pub(crate) fn round_trip(
    port: &PortSettings,
    link: &Link,
    place: &Place,
    problems: &Problems<'_>,
) -> Option<Interval> {
    let known = from_distance(port, link);
    let place = place.of_key("round_trip");
    match known {
        Some(known) if known > LONGEST => {
            problems.error(&place, ProblemKind::out_of_range(known, in_words(&SPANS)));
        }
        Some(_) => {}
        None => {
            let when = "because the port has no distance; for example, write round_trip = \"800us\" here, or distance = \"80km\" on the port";
            problems.error(&place, ProblemKind::Needed { when });
        }
    }
    known
}

/// From the end of a slot until the first byte that it granted arrives; `None` without a distance.
///
/// The pause waits for what was handed to the device (`tx_window`) and for a frame that has begun,
/// travels, and acts on a peer that is allowed a time for it (IEEE 802.3 clause 31B.3.7) and may
/// have begun a frame; what it then sends travels back, and all passes NICs and PHYs.
pub(crate) fn from_distance(port: &PortSettings, link: &Link) -> Option<Interval> {
    let frame = frame_time(port.rate, port.max_frame);
    let ends = link.interface_delay + port.tx_window + response_time(port.rate) + frame * 2;
    Some(link.distance?.propagation() * 2 + ends)
}

/// The time that a device is allowed until a received pause acts, rounded up.
fn response_time(rate: BitRate) -> Interval {
    let bytes = response_quanta(rate).saturating_mul(64);
    rate.serialization().time_of(WireBytes(bytes))
}

/// What all lossless frames of the port may hold while its upstream obeys, of whatever lengths they are: the buffer,
/// and what comes of the frames that have begun when a pause arrives.
pub(crate) fn most_held(bifrost: &Bifrost, rate: BitRate, max_frame: Bytes) -> Bytes {
    Cells::of_any_mix(bifrost.buffer + bifrost.overrun(rate, max_frame)).bytes()
}

/// The group of a port with Bifrost: PFC beneath it acts where Bifrost has failed, so XOFF is at
/// what Bifrost lets in, all of it reserved but the last frame, which is the pool's.
///
/// Nothing depends on the distance here: what is on its way when XOFF is reached was granted, and
/// a grant is never more than the buffer has room for.
pub(crate) fn group(decl: &LosslessDecl, bifrost: &Bifrost, port: &PortSettings) -> LosslessGroup {
    let max_frame = port.max_frame;
    let most = most_held(bifrost, port.rate, max_frame);
    let xoff = or(&decl.threshold(), Threshold::Static(most));
    let reserved = match xoff {
        Threshold::Static(level) => most.min(level) - max_frame,
        Threshold::Dynamic(_) => most - max_frame,
    };
    let (xon, xon_offset) = defaults::resume(xoff, or(&decl.xon_offset, max_frame + max_frame), max_frame);
    let headroom = match decl.headroom.as_ref().map(|wish| wish.value) {
        Some(SizeWish::Given(bytes)) => bytes,
        Some(SizeWish::Auto) | None => {
            Bytes(max_frame.0.saturating_mul(u64::from(bifrost.check_every.get()) + 2))
        }
    };
    LosslessGroup {
        reserved: or(&decl.reserved, reserved),
        xoff,
        xon: or(&decl.xon, xon),
        xon_offset,
        headroom,
    }
}

/// Notes where the slots of a port do not suit its link.
pub(crate) fn check_slot(
    bifrost: &Bifrost,
    port: &PortSettings,
    declared: &BifrostDecl,
    problems: &Problems<'_>,
) {
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

/// Notes where a group pauses before Bifrost does, or has no room for what Bifrost lets in.
pub(crate) fn check_group(
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
    let least = most_held(bifrost, port.rate, port.max_frame);
    let sure = group.reserved + group.headroom;
    if sure < least {
        let overrun = least - buffer;
        let place = decl.first(&["reserved", "xoff", "dynamic_th"]);
        let kind = ProblemKind::BifrostUnreserved { port: name, priority, least, buffer, overrun, sure };
        problems.warning(place, kind);
    }
}
