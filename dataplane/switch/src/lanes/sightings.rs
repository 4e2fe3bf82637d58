//! Stations of which one lane tells all others, and of which it asks them.

use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;
use units::{Nanos, PortId};

/// What one lane says of a station to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// The name of the station, as the bridge has it.
    pub name: u64,
    /// The port behind which it is; `None` where the lane asks for it.
    pub port: Option<PortId>,
    /// When it was seen there.
    pub seen: Nanos,
}

/// Sightings that may wait for the slowest lane. What finds no room, its lane tells with a later frame of the station.
const PLACES: u64 = if cfg!(loom) { 2 } else { 256 };

/// A count with one writer, on a line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Count(AtomicU64);

/// A ring with one writer, a lane, and all other lanes as readers, each of which gets all of it.
pub(super) struct Sightings {
    /// By place: the name, the port above zero, and the time.
    places: Box<[[AtomicU64; 3]]>,
    /// Sightings that were put in, written by the lane.
    written: Count,
    /// By lane: sightings that it has taken out, written by that lane. The lane itself has taken what it has put in.
    taken: Box<[Count]>,
}

impl Sightings {
    pub fn new(lanes: usize) -> Self {
        let place = || core::array::from_fn(|_| AtomicU64::new(0));
        Self {
            places: (0..PLACES).map(|_| place()).collect(),
            written: Count::default(),
            taken: (0..lanes).map(|_| Count::default()).collect(),
        }
    }

    /// Puts one in for all but `lane`, its writer. Returns whether each of them had room.
    pub fn put(&self, lane: usize, sighting: Sighting) -> bool {
        let number = self.written.0.load(Ordering::Relaxed);
        let has_room = self.has_room(number);
        if has_room {
            self.write(number, sighting);
            self.publish(lane, number);
        }
        has_room
    }

    /// Whether all lanes have taken what is in the place of sighting `number`.
    pub(super) fn has_room(&self, number: u64) -> bool {
        self.taken.iter().all(|taken| number - taken.0.load(Ordering::Acquire) < PLACES)
    }

    pub(super) fn write(&self, number: u64, Sighting { name, port, seen }: Sighting) {
        let words = [name, port.map_or(0, |port| u64::from(port.0) + 1), seen.0];
        let place = &self.places[(number % PLACES) as usize];
        place.iter().zip(words).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    }

    pub(super) fn publish(&self, lane: usize, number: u64) {
        self.taken[lane].0.store(number + 1, Ordering::Relaxed);
        self.written.0.store(number + 1, Ordering::Release);
    }

    /// Takes the next one out for `lane`.
    #[inline]
    pub fn take(&self, lane: usize) -> Option<Sighting> {
        let taken = &self.taken[lane].0;
        let number = taken.load(Ordering::Relaxed);
        if self.written.0.load(Ordering::Acquire) == number {
            return None;
        }
        let [name, port, seen] =
            self.places[(number % PLACES) as usize].each_ref().map(|word| word.load(Ordering::Relaxed));
        taken.store(number + 1, Ordering::Release);
        let port = port.checked_sub(1).map(|port| PortId(port as u16));
        Some(Sighting { name, port, seen: Nanos(seen) })
    }
}

/// One lane's end of what all lanes say of stations.
pub(crate) struct Stations {
    all: Arc<[Sightings]>,
    number: usize,
}

impl Stations {
    pub(super) fn new(all: Arc<[Sightings]>, number: usize) -> Self {
        Self { all, number }
    }

    /// Tells all other lanes. Returns whether each of them had room.
    pub fn tell(&self, sighting: Sighting) -> bool {
        self.all[self.number].put(self.number, sighting)
    }

    /// Calls `each` for what other lanes have told since the last call, up to `most` of each lane.
    #[inline]
    pub fn hear(&self, most: usize, mut each: impl FnMut(Sighting)) {
        for (lane, sightings) in self.all.iter().enumerate() {
            if lane != self.number {
                (0..most).map_while(|_| sightings.take(self.number)).for_each(&mut each);
            }
        }
    }

    /// What others have told and this lane has not heard yet.
    #[cfg(all(test, not(loom)))]
    pub fn waiting(&self) -> usize {
        let load = |count: &Count| count.0.load(Ordering::Relaxed);
        self.all.iter().map(|it| load(&it.written) - load(&it.taken[self.number])).sum::<u64>() as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sighting(number: u64) -> Sighting {
        let port = (!number.is_multiple_of(3)).then_some(PortId(number as u16));
        Sighting { name: number << 40 | 7, port, seen: Nanos(number * 1_000_000_007) }
    }

    fn ends<const N: usize>() -> [Stations; N] {
        let all: Arc<[Sightings]> = (0..N).map(|_| Sightings::new(N)).collect();
        core::array::from_fn(|number| Stations::new(all.clone(), number))
    }

    fn heard(end: &Stations, most: usize) -> Vec<Sighting> {
        let mut heard = Vec::new();
        end.hear(most, |sighting| heard.push(sighting));
        heard
    }

    #[test]
    fn each_other_lane_hears_all_that_a_lane_tells_once_and_in_order() {
        let [one, two, three] = ends();
        assert!(one.tell(sighting(1)) && two.tell(sighting(2)) && one.tell(sighting(3)));
        assert_eq!(heard(&one, 9), [2].map(sighting));
        assert_eq!(heard(&two, 9), [1, 3].map(sighting));
        assert_eq!(heard(&three, 1), [1, 2].map(sighting), "one of each");
        assert_eq!(heard(&three, 1), [3].map(sighting));
        assert!([one, two, three].iter().all(|end| heard(end, 9).is_empty()));
    }

    #[test]
    fn a_lane_has_room_again_when_the_slowest_has_taken_one() {
        let [one, two, three] = ends();
        for round in 0..3 {
            let tell = |number| one.tell(sighting(1_000 * round + number));
            assert!((0..PLACES).all(tell) && !tell(PLACES));
            assert_eq!(heard(&two, 1_000).len() as u64, PLACES);
            assert!(!tell(PLACES), "the third has not looked");
            assert_eq!(heard(&three, 1), [sighting(1_000 * round)]);
            assert!(tell(PLACES) && !tell(PLACES + 1));
            assert_eq!(heard(&three, 1_000).last(), Some(&sighting(1_000 * round + PLACES)));
            assert_eq!(heard(&two, 1_000).len(), 1);
        }
    }
}
