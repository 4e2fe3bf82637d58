//! The neighbours of a port, by their announcements.

use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::ethernet::MacAddress;
use wire::lldp::Message;

/// A neighbour that was silent for this long gives its place to a new one, whatever time to live it has announced.
const SILENT: Interval = Interval::from_secs(120);

/// One neighbour. Chassis and port name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Its last announcement.
    pub message: Message,
    /// The address that this came from.
    pub source: MacAddress,
    /// When the first one came.
    pub since: Nanos,
    /// When the last one came.
    pub heard: Nanos,
    /// When it says something else since.
    pub changed: Nanos,
    /// When the last one ceases to hold.
    pub until: Nanos,
}

/// The counters of neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourCounters {
    /// Neighbours that came.
    pub new: u64,
    /// Announcements that said something else than the one before.
    pub changed: u64,
    /// Neighbours that shut down.
    pub left: u64,
    /// Neighbours whose time to live ran out (`statsAgeoutsTotal`).
    pub aged: u64,
    /// Neighbours that were silent and gave their place to a new one.
    pub displaced: u64,
    /// Announcements of further neighbours for whom there was no place (`tooManyNeighbors`).
    pub refused: u64,
}

/// The neighbours of a port. A link has one; agents of a NIC and of its host make two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbours([Option<Neighbour>; Self::CAPACITY]);

impl Neighbours {
    /// The most neighbours of a port.
    pub const CAPACITY: usize = 4;

    /// The neighbours, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Neighbour> {
        self.0.iter().flatten()
    }

    /// The neighbour, if there is exactly one.
    pub fn only(&self) -> Option<&Neighbour> {
        let mut all = self.iter();
        all.next().filter(|_| all.next().is_none())
    }

    /// Takes `message`, which came from `source` at `now`. Returns whether its neighbour is new.
    pub(super) fn hear(
        &mut self,
        now: Nanos,
        source: MacAddress,
        message: &Message,
        counters: &mut NeighbourCounters,
    ) -> bool {
        self.expire(now, counters);
        let until = now + Interval::from_secs(message.ttl_seconds.into());
        let place = self.0.iter_mut().find(|place| place.is_some_and(|it| is_same(&it.message, message)));
        if let Some(place) = place {
            match place {
                _ if message.ttl_seconds == 0 => {
                    *place = None;
                    counters.left += 1;
                }
                Some(it) => it.hear(now, until, source, message, counters),
                None => {}
            }
            return false;
        }
        if message.ttl_seconds == 0 {
            return false;
        }
        let Some(place) = self.place(now) else {
            counters.refused += 1;
            return false;
        };
        counters.displaced += u64::from(place.is_some());
        counters.new += 1;
        *place = Some(Neighbour { message: *message, source, since: now, heard: now, changed: now, until });
        true
    }

    /// Removes the neighbours whose time has run out at `now`.
    pub(super) fn expire(&mut self, now: Nanos, counters: &mut NeighbourCounters) {
        for place in &mut self.0 {
            if place.take_if(|it| it.until <= now).is_some() {
                counters.aged += 1;
            }
        }
    }

    /// A free place, or that of the neighbour that has been silent for longest, and too long.
    fn place(&mut self, now: Nanos) -> Option<&mut Option<Neighbour>> {
        // A free one sorts first.
        let place = self.0.iter_mut().min_by_key(|place| place.map(|it| it.heard))?;
        place.is_none_or(|it| now.since(it.heard) > SILENT).then_some(place)
    }
}

impl Neighbour {
    fn hear(
        &mut self,
        now: Nanos,
        until: Nanos,
        source: MacAddress,
        message: &Message,
        counters: &mut NeighbourCounters,
    ) {
        let says = |it: &Message| Message { ttl_seconds: 0, ..*it };
        if says(&self.message) != says(message) || self.source != source {
            self.changed = now;
            counters.changed += 1;
        }
        (self.message, self.source, self.heard, self.until) = (*message, source, now, until);
    }
}

/// Whether two announcements are of one neighbour (the MSAP identifier, clause 8.5.2).
fn is_same(one: &Message, other: &Message) -> bool {
    (one.chassis, one.port) == (other.chassis, other.port)
}
