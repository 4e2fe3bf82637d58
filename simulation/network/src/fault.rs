//! The faults of links.

use crate::network::Faults;
use crate::outcome::Losses;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};
use switch::Volume;
use units::{Bytes, Interval, Nanos};

/// The fate of a frame on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is lost.
    Lost(Loss),
    /// It arrives later by this much.
    Late(Interval),
}

/// The reason why a frame is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Random,
    Corrupted,
    Control,
    Down,
}

impl Losses {
    pub(crate) fn count(&mut self, loss: Loss, length: Bytes) {
        let volume: &mut Volume = match loss {
            Loss::Random => &mut self.random,
            Loss::Corrupted => &mut self.corrupted,
            Loss::Control => &mut self.control,
            Loss::Down => &mut self.down,
        };
        volume.count(length);
    }
}

/// The faults of one direction of a link. It has its own generator, so events on one link do not change the
/// faults of another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FaultyLink {
    faults: Faults,
    rng: Pcg32,
    /// Whether the last data frame was lost in a burst.
    in_burst: bool,
}

impl FaultyLink {
    /// The faults of direction `number` of the network; `None` if there are none.
    pub fn new(faults: Faults, seed: u64, number: u64) -> Option<Box<Self>> {
        // Counts down from the top: the generators of the workload count up from zero, and would be the same.
        let mixed = seed ^ (u64::MAX - number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        faults.any().then(|| Box::new(Self { faults, rng: Pcg32::seed_from_u64(mixed), in_burst: false }))
    }

    /// Whether PFC and grant frames alone are delayed, so that frames sent after them overtake them.
    pub fn delays_control(&self) -> bool {
        self.faults.control_delay > Interval::ZERO || self.faults.control_jitter > Interval::ZERO
    }

    /// Draws whether a PFC or grant frame that arrives does so twice. Returns the delay of the second one.
    pub fn second(&mut self) -> Option<Interval> {
        let twice = self.happens(self.faults.control_duplication);
        twice.then(|| self.faults.control_delay + self.up_to(self.faults.control_jitter))
    }

    /// The fate of a frame whose first bit is sent at `start` and whose last bit arrives at `arrival`, unless
    /// a fault delays it.
    pub fn fate(&mut self, start: Nanos, arrival: Nanos, is_control: bool) -> Fate {
        let Faults { corruption, jitter, control_loss, control_delay, control_jitter, .. } = self.faults;
        let (is_lost, name) = match is_control {
            true => (self.happens(control_loss), Loss::Control),
            false => (self.loses_data(), Loss::Random),
        };
        if is_lost {
            return Fate::Lost(name);
        }
        if self.happens(corruption) {
            return Fate::Lost(Loss::Corrupted);
        }
        let mut late = self.up_to(jitter);
        if is_control {
            late += control_delay + self.up_to(control_jitter);
        }
        if self.is_down_within(start, arrival + late) {
            return Fate::Lost(Loss::Down);
        }
        Fate::Late(late)
    }

    /// Draws whether a data frame is lost. Bursts are those of Gilbert's model: in the bad state all are lost.
    fn loses_data(&mut self) -> bool {
        let Faults { loss, loss_burst, .. } = self.faults;
        if loss_burst <= 1 || loss >= 1.0 {
            return self.happens(loss);
        }
        let ends = 1.0 / f64::from(loss_burst);
        let chance = if self.in_burst { 1.0 - ends } else { loss * ends / (1.0 - loss) };
        self.in_burst = self.happens(chance);
        self.in_burst
    }

    /// Draws a time of at most `most`. If that is zero, it draws nothing.
    fn up_to(&mut self, most: Interval) -> Interval {
        if most == Interval::ZERO {
            return most;
        }
        let share = u128::from(self.rng.next_u32()) * (u128::from(most.0) + 1);
        Interval((share >> 32) as u64)
    }

    /// Draws whether an event of this chance happens. A chance of zero draws nothing.
    fn happens(&mut self, chance: f64) -> bool {
        // 32 bits would raise any smaller chance to one in 2^32.
        const DRAWS: f64 = (1_u64 << 53) as f64;
        chance > 0.0 && ((self.rng.next_u64() >> 11) as f64) < chance * DRAWS
    }

    /// Whether the link is down at some instant from `start` to `end`.
    fn is_down_within(&self, start: Nanos, end: Nanos) -> bool {
        let Some((from, to)) = self.faults.down else { return false };
        if start < to {
            return from <= end;
        }
        match self.faults.flap_every {
            Some(every) if every > Interval::ZERO => {
                let rounds = start.since(to).0 / every.0 + 1;
                from + every * rounds <= end
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(faults: Faults) -> FaultyLink {
        *FaultyLink::new(faults, 1, 0).unwrap()
    }

    #[test]
    fn a_link_without_faults_needs_no_generator() {
        assert!(FaultyLink::new(Faults::default(), 1, 0).is_none());
    }

    #[test]
    fn what_is_under_way_at_some_instant_of_a_down_time_is_lost() {
        let mut link = link(Faults { down: Some((Nanos(100), Nanos(200))), ..Faults::default() });
        let mut fate = |start, arrival| link.fate(Nanos(start), Nanos(arrival), false);
        assert_eq!(fate(10, 99), Fate::Late(Interval::ZERO));
        assert_eq!(fate(10, 100), Fate::Lost(Loss::Down));
        assert_eq!(fate(199, 300), Fate::Lost(Loss::Down));
        assert_eq!(fate(200, 5_000), Fate::Late(Interval::ZERO), "once only");
        assert_eq!(fate(50, 5_000), Fate::Lost(Loss::Down));
    }

    #[test]
    fn a_flapping_link_goes_down_again() {
        let down = Some((Nanos(100), Nanos(200)));
        let mut link = link(Faults { down, flap_every: Some(Interval(1_000)), ..Faults::default() });
        let mut fate = |start, arrival| link.fate(Nanos(start), Nanos(arrival), false);
        for round in [0, 1_000, 7_000] {
            assert_eq!(fate(round + 90, round + 110), Fate::Lost(Loss::Down));
            assert_eq!(fate(round + 200, round + 1_099), Fate::Late(Interval::ZERO));
            assert_eq!(fate(round + 200, round + 1_100), Fate::Lost(Loss::Down));
        }
    }

    #[test]
    fn chances_are_kept_and_told_apart() {
        let mut link = link(Faults { loss: 0.1, control_loss: 0.4, ..Faults::default() });
        let mut lost = |is_control, loss| {
            let fates = (0..10_000).map(|_| link.fate(Nanos(0), Nanos(9), is_control));
            fates.filter(|fate| *fate == Fate::Lost(loss)).count()
        };
        let (data, control) = (lost(false, Loss::Random), lost(true, Loss::Control));
        assert!((900..1_100).contains(&data), "{data}");
        assert!((3_800..4_200).contains(&control), "{control}");
    }

    #[test]
    fn a_burst_takes_as_many_frames_as_asked_for_and_leaves_the_share_of_lost_ones() {
        let mut link = link(Faults { loss: 0.05, loss_burst: 10, ..Faults::default() });
        let fates = (0..200_000).map(|_| link.fate(Nanos(0), Nanos(9), false) == Fate::Lost(Loss::Random));
        let fates: Vec<bool> = fates.collect();
        let lost = fates.iter().filter(|lost| **lost).count();
        let bursts = fates.windows(2).filter(|two| two == &[false, true]).count();
        assert!((8_000..12_000).contains(&lost), "{lost}");
        assert!((8..12).contains(&(lost / bursts)), "{lost} in {bursts}");
    }

    #[test]
    fn faults_and_flows_draw_from_generators_of_their_own() {
        for number in 0..8 {
            let faulty = FaultyLink::new(Faults { loss: 0.1, ..Faults::default() }, 1, number);
            let drawn = (faulty.unwrap().rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            for stream in 0..8 {
                let of_flows = crate::workload::random::Random::new(1, stream).fraction();
                assert_ne!(drawn.to_bits(), of_flows.to_bits(), "{number} {stream}");
            }
        }
    }

    #[test]
    fn jitter_stays_within_its_bounds_and_reaches_them() {
        let mut link = link(Faults { jitter: Interval(3), ..Faults::default() });
        let mut seen = [0; 4];
        for _ in 0..1_000 {
            let Fate::Late(late) = link.fate(Nanos(0), Nanos(9), false) else { panic!("nothing is lost") };
            seen[late.0 as usize] += 1;
        }
        assert!(seen.iter().all(|times| *times > 150), "{seen:?}");
    }

    #[test]
    fn control_frames_alone_jitter_and_come_twice_by_the_faults_of_control() {
        let faults = Faults { control_jitter: Interval(3), control_duplication: 0.25, ..Faults::default() };
        let mut link = link(faults);
        assert!(link.delays_control());
        let (mut seen, mut twice) = ([0; 4], 0);
        for _ in 0..1_000 {
            let Fate::Late(late) = link.fate(Nanos(0), Nanos(9), true) else { panic!("nothing is lost") };
            seen[late.0 as usize] += 1;
            twice += usize::from(link.second().is_some_and(|late| late <= Interval(3)));
            assert_eq!(link.fate(Nanos(0), Nanos(9), false), Fate::Late(Interval::ZERO));
        }
        assert!(seen.iter().all(|times| *times > 150), "{seen:?}");
        assert!((200..300).contains(&twice), "{twice}");
    }

    #[test]
    fn only_pauses_are_delayed_by_a_delay_of_control() {
        let mut link = link(Faults { control_delay: Interval(500), ..Faults::default() });
        assert_eq!(link.fate(Nanos(0), Nanos(9), true), Fate::Late(Interval(500)));
        assert_eq!(link.fate(Nanos(0), Nanos(9), false), Fate::Late(Interval::ZERO));
    }
}
