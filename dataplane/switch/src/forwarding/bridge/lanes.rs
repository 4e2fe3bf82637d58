//! A bridge on several lanes: each tells the others which stations it has learned. A device may give all frames of a station
//! to one lane, and frames for it to another, which would flood them for ever.

use super::{Bridge, Name, Station};
use crate::lanes::{Sighting, Stations};
use units::{Interval, Nanos};

/// What a lane hears of each other lane in a look. Each costs about as much as a frame, and what is left waits.
const HEARD_AT_ONCE: usize = 8;
/// The part of the ageing time in which a station that is seen is told at least once.
const ROUNDS: u64 = 4;

impl Bridge {
    /// Lets it share what it learns.
    pub fn share(&mut self, stations: Stations) {
        self.others = Some(Box::new(stations));
        // Later than what was seen never, which is what was not told.
        self.round = Nanos(1);
    }

    /// Whether it is that of one of several lanes.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.others.is_some()
    }

    /// Learns what other lanes have told, at the start of a turn: as from frames, but where it was seen later here. What that
    /// changes takes of the same allowance, and the lane that saw the frame has counted it.
    pub fn hear(&mut self, now: Nanos) {
        let Some(others) = self.others.take() else { return };
        if now.since(self.round) >= Interval(self.ageing.0 / ROUNDS) {
            self.round = now;
        }
        others.hear(HEARD_AT_ONCE, |Sighting { name, port, seen }| {
            let name = Name(name);
            match port.filter(|port| port.index() < self.changes.len()) {
                None => self.answer(now, name, &others),
                Some(port) if now.since(seen) <= self.ageing => {
                    self.adopt(now, Station { name, seen, port }, &others)
                }
                Some(_) => {}
            }
        });
        self.others = Some(others);
    }

    fn adopt(&mut self, now: Nanos, station: Station, others: &Stations) {
        let Station { name, seen, port } = station;
        if let Some(slot) = self.find(name) {
            let known = self.stations[slot];
            if (known.seen, known.port) >= (seen, port) {
                // The other lane does not know that it was seen here since.
                if known.port != port {
                    self.tell_them(slot, others);
                }
                return;
            }
        }
        let counters = self.counters(port);
        // The allowance goes by the time of this lane, and the age of the station by when it was seen.
        self.learn::<false>(now, port, name);
        self.changes[port.index()].1 = counters;
        if let Some(slot) = self.find(name) {
            let is_taken = self.stations[slot].port == port;
            // The next frame of one that may not move tells the others that it is here.
            self.stations[slot].seen = if is_taken { seen } else { self.untold(slot) };
        }
    }

    /// Tells the lane that asks where `name` is, and all others.
    fn answer(&self, now: Nanos, name: Name, others: &Stations) {
        let known = self.find(name).map(|slot| self.stations[slot]);
        if let Some(Station { seen, port, .. }) = known.filter(|it| now.since(it.seen) <= self.ageing) {
            // One who finds no room is asked again.
            others.tell(Sighting { name: name.0, port: Some(port), seen });
        }
    }

    /// Tells the other lanes of a station that has just been learned.
    #[cold]
    pub(super) fn tell(&mut self, name: Name) {
        let Some(others) = self.others.take() else { return };
        if let Some(slot) = self.find(name) {
            self.tell_them(slot, &others);
        }
        self.others = Some(others);
    }

    fn tell_them(&mut self, slot: usize, others: &Stations) {
        let Station { name, seen, port } = self.stations[slot];
        if !others.tell(Sighting { name: name.0, port: Some(port), seen }) {
            self.stations[slot].seen = self.untold(slot);
        }
    }

    /// When a station was seen, so that its next frame tells of it.
    fn untold(&self, slot: usize) -> Nanos {
        self.stations[slot].seen.min(Nanos(self.round.0.saturating_sub(1)))
    }

    /// Asks the other lanes for a station to which a frame is flooded, so often and no more.
    #[cold]
    pub(super) fn ask(&mut self, now: Nanos, name: Name) {
        if let Some(others) = &self.others
            && self.questions.take(now)
        {
            others.tell(Sighting { name: name.0, port: None, seen: now });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
