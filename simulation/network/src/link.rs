//! One direction of a link: the frames on their way, and when they arrive.

use crate::check::pause::LinkPauses;
use crate::fault::{Fate, FaultyLink};
use crate::frame::{FramePool, SimFrame};
use crate::network::{LinkEnd, LinkSpec};
use crate::nodes::Place;
use crate::outcome::LinkOutcome;
use crate::violation::Broken;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use switch::driver::HEARD_WITHIN;
use switch::{Frame, Volume};
use units::{Interval, LinkClock, Nanos, WireBytes};

/// A frame on its way.
#[derive(Debug, Serialize, Deserialize)]
struct Flight {
    arrival: Nanos,
    frame: SimFrame,
}

/// One direction of a link. It stores and forwards: a frame arrives when its last bit has been sent and has
/// travelled. The link has its own clock, which knows only when the sender starts frames.
///
/// The fields that each frame reads or changes come first, except the totals: three cache lines.
#[derive(Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(crate) struct Direction {
    /// The receiver.
    pub place: Place,
    /// The frames on their way, in the order of arrival.
    flights: VecDeque<Flight>,
    delay: Interval,
    /// The longest time before its start that a frame may be handed over.
    pub window: Interval,
    /// Its place among the directions that lead to the same node; its number, where that is in another part.
    pub input: usize,
    clock: LinkClock,
    faults: Option<Box<FaultyLink>>,
    /// The receiving end.
    pub to: LinkEnd,
    /// Delayed PFC and grant frames, which frames sent after them may overtake, in the order of arrival.
    late: VecDeque<Flight>,
    /// The pauses that have arrived at the sender.
    pub pauses: LinkPauses,
    pub totals: LinkOutcome,
    /// The sending end.
    pub from: LinkEnd,
    /// The number of the other direction of the link.
    pub reverse: usize,
    /// The last arrival of the frames that keep their order in spite of jitter.
    last_arrival: Nanos,
    /// How far frames of its sender may overlap if that has several lanes, zero otherwise: control frames wait for no other
    /// lane, and each lane rounds.
    pub joint: Interval,
}

/// The result of putting a frame on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It is on its way, and may be the next to arrive.
    First,
    /// It is on its way behind others.
    Behind,
    /// As [`Sent::First`], and a fault has made a second one of it.
    Twice,
    /// It is lost to a fault.
    Lost,
}

impl Direction {
    /// The direction of `link` in which end `end` sends.
    pub fn new(link: &LinkSpec, end: usize, faults: Option<Box<FaultyLink>>) -> Self {
        Self {
            from: link.ends[end],
            to: link.ends[1 - end],
            place: Place::Station(0),
            reverse: 0,
            pauses: LinkPauses::new(link.rate),
            totals: LinkOutcome::default(),
            window: Interval::ZERO,
            joint: Interval::ZERO,
            input: 0,
            delay: link.delay,
            clock: LinkClock::new(link.rate),
            faults,
            flights: VecDeque::new(),
            late: VecDeque::new(),
            last_arrival: Nanos::ZERO,
        }
    }

    /// Puts a frame on the link at `now`. Its first bit is sent at `start`.
    ///
    /// # Errors
    /// [`Broken::Start`] if that is before the frame in front of it has ended, or further ahead than the
    /// window.
    #[inline(always)]
    pub fn send(&mut self, now: Nanos, start: Nanos, frame: SimFrame) -> Result<Sent, Broken> {
        let (earliest, latest) = (self.clock.free_at(), now + self.window);
        if start < earliest || start > latest.max(earliest) {
            self.check_start(start, latest)?;
        }
        Ok(self.carry(start, frame))
    }

    #[cold]
    fn check_start(&self, start: Nanos, latest: Nanos) -> Result<(), Broken> {
        let (LinkEnd { node, port }, earliest) = (self.from, self.clock.free_at());
        let is_joint = self.joint > Interval::ZERO;
        // A lane claims nothing for control frames, and sends as many in a call as fit its window.
        let early = self.joint + self.window;
        if is_joint && start + early >= earliest && start <= latest.max(earliest) + self.joint {
            return Ok(());
        }
        Err(Broken::Start { node, port, start, earliest, latest })
    }

    /// How late its sender may act on the beginning or the end of a pause: lanes tell it to each other.
    pub fn hears_within(&self) -> Interval {
        if self.joint > Interval::ZERO { HEARD_WITHIN + self.window + self.joint } else { Interval::ZERO }
    }

    /// Takes a frame whose first bit is sent at `start`.
    #[inline(always)]
    fn carry(&mut self, start: Nanos, frame: SimFrame) -> Sent {
        let length = frame.length();
        let wire = WireBytes::of_frame(length);
        self.clock.occupy(start, wire);
        self.totals.carried.count(length);
        self.totals.wire.0 += wire.0;
        let arrival = self.clock.free_at() + self.delay;
        if self.faults.is_some() {
            return self.send_with_faults(start, arrival, frame);
        }
        let sent = if self.flights.is_empty() { Sent::First } else { Sent::Behind };
        self.flights.push_back(Flight { arrival, frame });
        sent
    }

    #[cold]
    fn send_with_faults(&mut self, start: Nanos, arrival: Nanos, frame: SimFrame) -> Sent {
        let is_control = frame.is_control();
        let Some(faults) = &mut self.faults else { return Sent::Lost };
        let late = match faults.fate(start, arrival, is_control) {
            Fate::Late(late) => late,
            Fate::Lost(loss) => {
                self.totals.lost.count(loss, frame.length());
                return Sent::Lost;
            }
        };
        let second = if is_control { faults.second() } else { None };
        let overtaken = is_control && faults.delays_control();
        let twin = second.map(|late| Flight { arrival: arrival + late, frame: frame.twin() });
        let sent = if twin.is_some() { Sent::Twice } else { Sent::First };
        for flight in [Some(Flight { arrival: arrival + late, frame }), twin].into_iter().flatten() {
            if overtaken { self.insert_late(flight) } else { self.push_in_order(flight) }
        }
        sent
    }

    /// Adds a frame that arrives behind those on their way, at the earliest.
    fn push_in_order(&mut self, flight: Flight) {
        self.last_arrival = self.last_arrival.max(flight.arrival);
        self.flights.push_back(Flight { arrival: self.last_arrival, ..flight });
    }

    /// Adds a frame that others may overtake.
    fn insert_late(&mut self, flight: Flight) {
        let place = self.late.partition_point(|other| other.arrival <= flight.arrival);
        self.late.insert(place, flight);
    }

    /// The arrival of the next frame.
    #[inline]
    pub fn next_arrival(&self) -> Nanos {
        let next = self.flights.front().map_or(Nanos::NEVER, |flight| flight.arrival);
        match self.late.front() {
            None => next,
            Some(late) => next.min(late.arrival),
        }
    }

    /// Takes a frame that has arrived by `now`.
    #[inline]
    pub fn arrive(&mut self, now: Nanos) -> Option<SimFrame> {
        if !self.late.is_empty()
            && let Some(flight) = self.late.pop_front_if(|flight| flight.arrival <= now)
        {
            return Some(flight.frame);
        }
        self.flights.pop_front_if(|flight| flight.arrival <= now).map(|flight| flight.frame)
    }

    /// The frames that have arrived by `now`, except PFC and grant frames that may overtake others.
    pub fn arrived(&self, now: Nanos) -> impl Iterator<Item = &SimFrame> {
        self.flights.iter().take_while(move |flight| flight.arrival <= now).map(|flight| &flight.frame)
    }

    /// Hands the frames on their way over to the same direction in the part of its receiver, whose pool is `pool`.
    pub fn hand_over(&mut self, there: &mut Self, pool: &FramePool) -> Volume {
        let mut volume = Volume::ZERO;
        let mut moved = |mut flight: Flight| {
            flight.frame.move_to(pool);
            volume.count(flight.frame.length());
            flight
        };
        there.flights.extend(self.flights.drain(..).map(&mut moved));
        self.late.drain(..).map(moved).for_each(|flight| there.insert_late(flight));
        volume
    }

    /// The frames on their way, counted one by one.
    pub fn in_flight(&self) -> Volume {
        let mut volume = Volume::ZERO;
        self.flights.iter().chain(&self.late).for_each(|flight| volume.count(flight.frame.length()));
        volume
    }
}

#[cfg(test)]
impl Direction {
    /// Removes a frame from the link without any account of it.
    pub fn steal(&mut self) -> Option<SimFrame> {
        self.flights.pop_back().map(|flight| flight.frame)
    }

    /// Swaps the last two frames.
    pub fn swap_last(&mut self) {
        let length = self.flights.len();
        if let Some(slice) = self.flights.make_contiguous().get_mut(length.saturating_sub(2)..)
            && let [one, other] = slice
        {
            core::mem::swap(&mut one.frame, &mut other.frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FramePool;
    use crate::network::{Faults, NodeId};
    use units::{BitRate, Bytes, PortId};

    fn direction(rate: BitRate, faults: Faults) -> Direction {
        let end = |node| LinkEnd { node: NodeId(node), port: PortId(0) };
        let faults = [faults, Faults::default()];
        let link = LinkSpec { ends: [end(0), end(1)], rate, delay: Interval(1_000), faults };
        Direction::new(&link, 0, FaultyLink::new(link.faults[0], 1, 0))
    }

    fn send(direction: &mut Direction, start: u64, length: u64) -> Result<Sent, Broken> {
        let frame = FramePool::default().frame(&[0; 60], Bytes(length), None);
        direction.send(Nanos(start), Nanos(start), frame)
    }

    #[test]
    fn a_frame_arrives_when_its_last_bit_has_travelled() {
        let mut direction = direction(BitRate::gigabits(100), Faults::default());
        send(&mut direction, 0, 1_226).unwrap();
        assert_eq!(direction.next_arrival(), Nanos(1_100), "1250 bytes are 100 ns");
        assert!(direction.arrive(Nanos(1_099)).is_none());
        assert!(direction.arrive(Nanos(1_100)).is_some());
        assert_eq!(direction.next_arrival(), Nanos::NEVER);
    }

    #[test]
    fn a_train_keeps_the_fractions_of_a_nanosecond() {
        let mut direction = direction(BitRate::gigabits(400), Faults::default());
        let mut start = 0;
        for _ in 0..1_000 {
            send(&mut direction, start, 60).unwrap();
            start = direction.clock.free_at().0;
        }
        let last = core::iter::from_fn(|| {
            let at = direction.next_arrival();
            direction.arrive(at).map(|_| at)
        });
        assert_eq!(last.last(), Some(Nanos(1_000 + 1_680)), "1.68 ns each");
    }

    #[test]
    fn a_frame_that_begins_before_the_last_one_has_ended_is_found() {
        let mut direction = direction(BitRate::gigabits(100), Faults::default());
        send(&mut direction, 0, 1_226).unwrap();
        assert!(matches!(send(&mut direction, 99, 60), Err(Broken::Start { .. })));
        assert_eq!(send(&mut direction, 100, 60), Ok(Sent::Behind));
        let frame = FramePool::default().frame(&[0; 60], Bytes(60), None);
        let too_far = direction.send(Nanos(5_000), Nanos(5_001), frame);
        assert!(matches!(too_far, Err(Broken::Start { .. })));
    }

    #[test]
    fn pauses_that_jitter_overtake_each_other_and_those_that_come_twice_are_two() {
        let faults = Faults { control_jitter: Interval(500), control_duplication: 0.5, ..Faults::default() };
        let mut direction = direction(BitRate::gigabits(100), faults);
        let pool = FramePool::default();
        let mut header = [0; 60];
        header[12..14].copy_from_slice(&[0x88, 0x08]);
        let mut twice = 0;
        for number in 0..200 {
            header[20] = number;
            let frame = pool.frame(&header, Bytes(60), None);
            let start = Nanos(u64::from(number) * 10);
            twice += u64::from(direction.send(start, start, frame) == Ok(Sent::Twice));
        }
        assert!((60..140).contains(&twice), "{twice}");
        assert_eq!(direction.in_flight().frames, 200 + twice);
        assert_eq!((pool.live().frames, pool.duplicates().frames), (200 + twice, 0));
        let (mut last, mut numbers) = (Nanos::ZERO, Vec::new());
        while direction.next_arrival() < Nanos::NEVER {
            let at = direction.next_arrival();
            assert!(at >= last);
            last = at;
            numbers.push(direction.arrive(at).unwrap().headers()[20]);
        }
        assert!(!numbers.is_sorted(), "some have overtaken others");
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 200, "and none is missing");
    }

    #[test]
    fn frames_keep_their_order_whatever_the_jitter() {
        let faults = Faults { jitter: Interval(500), ..Faults::default() };
        let mut direction = direction(BitRate::gigabits(100), faults);
        for number in 0..200 {
            send(&mut direction, number * 10, 60 + number % 2).unwrap();
        }
        let mut last = Nanos::ZERO;
        for number in 0..200 {
            let at = direction.next_arrival();
            assert!(at >= last);
            last = at;
            assert_eq!(direction.arrive(at).unwrap().length(), Bytes(60 + number % 2));
        }
    }
}
