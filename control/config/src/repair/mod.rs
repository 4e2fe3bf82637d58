//! Repair on a port, from its keys, and what it takes of the buffer.

pub(crate) mod keys;
pub(crate) mod sum;

use std::path::Path;

use switch::program::PortSettings;
use switch::repair::Repair;
use units::{Bytes, Interval, WireBytes};

use crate::keys::port::PortDecl;
use crate::link::Link;
use crate::link_key;
use crate::notes::Problems;
use crate::place::Place;
use crate::round_trip;
use crate::table::{at, list, or, values};
use keys::RepairDecl;

/// Statuses of a round trip.
const STATUSES: u64 = 32;
const SHORTEST_PERIOD: Interval = Interval::from_micros(10);
const LONGEST_PERIOD: Interval = Interval::from_micros(100);
/// Half of a usual short packet: acknowledgements are kept beside data.
const BYTES_PER_FRAME: u64 = 512;
const LEAST_FRAMES: u64 = 4_096;
const MOST_FRAMES: u64 = 1 << 22;

/// Builds the repair of a port that is otherwise incomplete; `None` if the round trip is unknown, after an error was noted.
pub(crate) fn build(
    (decl, port_decl): (&RepairDecl, &PortDecl),
    port: &PortSettings,
    link: &Link,
    directory: Option<&Path>,
    problems: &Problems<'_>,
) -> Option<Repair> {
    let stated = decl.round_trip.as_ref().map(|it| it.value);
    let round_trip = stated.or_else(|| round_trip::needed(port, link, &decl.place, problems))?;
    let usual = Interval(round_trip.0 / STATUSES).clamp(SHORTEST_PERIOD, LONGEST_PERIOD);
    let period = or(&decl.period, usual);
    let lossless = || port_decl.lossless.iter().flatten().flat_map(|it| values(&it.priorities));
    let mut repair = Repair {
        priorities: match &decl.priorities {
            Some(_) => values(&decl.priorities).map(|it| it.value).collect(),
            None => lossless().map(|it| it.value).collect(),
        },
        round_trip,
        retention: WireBytes(0),
        frames: 0,
        period,
        outage: decl.outage(),
        keeps_order: decl.order(),
        key: link_key::read(decl.key.as_ref(), decl.key_file.as_ref(), directory, problems),
    };
    let Bytes(retention) = or(&decl.retention, Bytes(repair.in_flight(port.rate).0));
    let frames = (retention / BYTES_PER_FRAME).clamp(LEAST_FRAMES, MOST_FRAMES);
    repair.retention = WireBytes(retention);
    repair.frames = or(&decl.frames, frames as u32);
    Some(repair)
}

/// The keys from which [`build`] builds the same repair.
pub(crate) fn in_force(port: &PortSettings) -> Option<RepairDecl> {
    let Repair { priorities, round_trip, retention, frames, period, outage, keeps_order, key } =
        port.repair?;
    Some(RepairDecl {
        priorities: list(priorities.iter()),
        order: at(keeps_order),
        outage: at(outage),
        period: at(period),
        round_trip: at(round_trip),
        retention: at(Bytes(retention.0)),
        frames: at(frames),
        key: at(key),
        key_file: None,
        place: Place::default(),
    })
}
