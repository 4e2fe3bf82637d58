//! The pauses sent to the neighbour upstream, as PFC frames.
//!
//! IEEE 802.1Q clause 36. [`PauseSender`] is the one place with the state of these pauses. Schemes and thresholds
//! ask for a pause by a [`Directive`]; the sender turns it into frames and refreshes them before they expire. It
//! holds the desired state (`paused`) and the announced state (`announced`). A frame is due if these differ, or if
//! an announced pause must be refreshed. A state that comes and goes within one turn is never announced.

use super::pause_time::PauseMeter;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos, PauseQuanta, Priority, PrioritySet};

/// A request of a scheme to the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    /// Pauses a priority until [`Directive::Resume`].
    Pause { priority: Priority, cause: PauseCause },
    /// Ends that pause.
    Resume { priority: Priority },
    /// Pauses each of these priorities for this time from the next frame on, once; zero ends such a pause. A later
    /// one replaces it for the priorities that both name. A priority that is paused by [`Directive::Pause`] stays
    /// paused.
    PauseFor { priorities: PrioritySet, time: Interval, cause: PauseCause },
    /// Pauses exactly these priorities, beside those of [`Directive::Pause`], until another one.
    Hold { priorities: PrioritySet, cause: PauseCause },
}

units::named! {
    /// The cause of a pause.
    #[derive(Default)]
    PauseCause [serde, ALL, about] {
        /// Its group reached its XOFF threshold.
        Threshold = "threshold" default,
        /// The shared pool had no room left.
        PoolFull = "pool_full",
        /// A slot of Bifrost was not granted in full.
        Slot = "slot",
        /// Memory for received frames ran low.
        MemoryLow = "memory_low",
        /// P-PFC predicted that the shared pool would be full.
        Predicted = "predicted",
        /// CaPFC found an egress queue above its warning threshold.
        EgressWarning = "egress_warning",
        /// A relay passes on a pause that another port received.
        Relayed = "relayed",
        /// The core was too slow for the port, whose receive ring was deep.
        ReceiveRing = "receive_ring",
    }
}

impl PauseCause {
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Pause frames sent for one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausesSent {
    /// Frames that stopped the sender.
    pub xoff: u64,
    /// Frames that kept it stopped.
    pub refresh: u64,
    /// Frames that resumed it.
    pub xon: u64,
    /// Frames that gave it the pause of a slot, zero included.
    pub slot: u64,
    /// Frames that stopped it for a time that another scheme chose.
    #[serde(default)]
    pub timed: u64,
}

/// A pause of a fixed time, announced by the next frame.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct TimedPause {
    quanta: PauseQuanta,
    time: Interval,
    cause: PauseCause,
}

/// The times that one PFC frame carries: `None` for a priority that it does not concern.
pub(crate) type PauseTimes = [Option<PauseQuanta>; Priority::COUNT];

/// Turns directives into PFC frames at one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PauseSender {
    rate: BitRate,
    /// The pause time of each frame.
    quanta: PauseQuanta,
    time: Interval,
    /// Paused by [`Directive::Pause`].
    paused: PrioritySet,
    /// Paused by [`Directive::Hold`].
    held: PrioritySet,
    announced: PrioritySet,
    /// The cause of each pause in `paused`.
    cause: [PauseCause; Priority::COUNT],
    /// The cause to which the time of its pause counts.
    accounted_to: [PauseCause; Priority::COUNT],
    refresh_at: [Nanos; Priority::COUNT],
    /// The priorities for which the next frame announces `timed`.
    timed_for: PrioritySet,
    timed: [TimedPause; Priority::COUNT],
    /// Whether another lane sends its frames.
    is_silent: bool,
    meters: [[PauseMeter; PauseCause::ALL.len()]; Priority::COUNT],
    sent: [PausesSent; Priority::COUNT],
}

impl PauseSender {
    /// A sender that asks for `quanta` per frame, on a link of `rate`.
    pub fn new(quanta: PauseQuanta, rate: BitRate) -> Self {
        Self {
            rate,
            quanta,
            time: quanta.interval_at(rate),
            paused: PrioritySet::EMPTY,
            held: PrioritySet::EMPTY,
            announced: PrioritySet::EMPTY,
            cause: Default::default(),
            accounted_to: Default::default(),
            refresh_at: [Nanos::NEVER; Priority::COUNT],
            timed_for: PrioritySet::EMPTY,
            timed: Default::default(),
            is_silent: false,
            meters: Default::default(),
            sent: Default::default(),
        }
    }

    /// The rate of the link.
    pub fn rate(&self) -> BitRate {
        self.rate
    }

    /// Leaves its frames to another lane: none is ever due.
    pub fn silence(&mut self) {
        self.is_silent = true;
    }

    /// Applies new settings, from the next frame on.
    pub fn configure(&mut self, quanta: PauseQuanta, rate: BitRate) {
        (self.rate, self.quanta, self.time) = (rate, quanta, quanta.interval_at(rate));
    }

    /// Takes a directive of a scheme, which the next frame will announce.
    pub fn follow(&mut self, directive: Directive) {
        match directive {
            Directive::Pause { priority, cause } => self.pause(priority, cause),
            Directive::Resume { priority } => self.paused = self.paused.without(priority),
            Directive::Hold { priorities, cause } => {
                let unannounced = priorities.difference(self.announced.union(self.paused));
                unannounced.iter().for_each(|priority| self.accounted_to[priority.index()] = cause);
                self.held = priorities;
            }
            Directive::PauseFor { priorities, time, cause } => {
                let quanta = PauseQuanta::covering(time, self.rate);
                let time = quanta.interval_at(self.rate);
                for priority in priorities.iter() {
                    self.timed_for = self.timed_for.with(priority);
                    self.timed[priority.index()] = TimedPause { quanta, time, cause };
                }
            }
        }
    }

    fn pause(&mut self, priority: Priority, cause: PauseCause) {
        if self.paused.contains(priority) {
            return;
        }
        self.paused = self.paused.with(priority);
        self.cause[priority.index()] = cause;
        // The neighbour stays paused until the end of a pause is announced: that time counts to the first cause.
        if !self.announced.union(self.held).contains(priority) {
            self.accounted_to[priority.index()] = cause;
        }
    }

    /// The priorities that are to be paused until further notice, whoever asked for it.
    #[inline]
    fn wanted(&self) -> PrioritySet {
        self.paused.union(self.held)
    }

    /// The priorities that are to be paused until further notice by [`Directive::Pause`].
    #[inline]
    pub fn paused(&self) -> PrioritySet {
        self.paused
    }

    /// The cause of the pause of `priority`; `None` if it is not in [`PauseSender::paused`].
    pub fn cause(&self, priority: Priority) -> Option<PauseCause> {
        self.paused.contains(priority).then(|| self.cause[priority.index()])
    }

    /// The time when the next frame is due: at once ([`Nanos::ZERO`]), at the next refresh, or never.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        if self.wanted() == self.announced && self.timed_for.is_empty() {
            if self.announced.is_empty() {
                return Nanos::NEVER;
            }
            let refreshes = self.announced.iter().map(|priority| self.refresh_at[priority.index()]);
            return refreshes.min().unwrap_or(Nanos::NEVER);
        }
        if self.is_silent { Nanos::NEVER } else { Nanos::ZERO }
    }

    /// When the first pause of this sender ends that it has announced and does not mean to end; never if there is none.
    pub fn lasts_until(&self) -> Nanos {
        let kept = self.announced.intersection(self.paused).iter();
        let ends = kept.map(|priority| self.refresh_at[priority.index()] + Interval(self.time.0.div_ceil(2)));
        ends.min().unwrap_or(Nanos::NEVER)
    }

    /// Takes the frame that is due at `now` and will be on the wire from `start`. Before the deadline it concerns
    /// no priority.
    pub fn take_due(&mut self, now: Nanos, start: Nanos) -> PauseTimes {
        let mut times = PauseTimes::default();
        for priority in Priority::all() {
            times[priority.index()] = self.due(priority, now, start);
        }
        self.announced = self.wanted();
        self.timed_for = PrioritySet::EMPTY;
        times
    }

    fn due(&mut self, priority: Priority, now: Nanos, start: Nanos) -> Option<PauseQuanta> {
        let index = priority.index();
        let paused = self.wanted().contains(priority);
        let sent = &mut self.sent[index];
        match (paused, self.announced.contains(priority)) {
            (true, false) => sent.xoff += 1,
            (true, true) if self.refresh_at[index] <= now => sent.refresh += 1,
            (true, true) => return None,
            (false, false) => return self.due_for_a_time(priority, start),
            (false, true) => {
                sent.xon += 1;
                if let Some(timed) = self.due_for_a_time(priority, start) {
                    return Some(timed);
                }
            }
        }
        let (quanta, time) =
            if paused { (self.quanta, self.time) } else { (PauseQuanta::ZERO, Interval::ZERO) };
        self.measure(priority, self.accounted_to[index], start, time);
        // Half of the time leaves room for a late or lost frame.
        self.refresh_at[index] = if paused { start + Interval(time.0 / 2) } else { Nanos::NEVER };
        Some(quanta)
    }

    fn due_for_a_time(&mut self, priority: Priority, start: Nanos) -> Option<PauseQuanta> {
        if !self.timed_for.contains(priority) {
            return None;
        }
        let timed = self.timed[priority.index()];
        let sent = &mut self.sent[priority.index()];
        match timed.cause {
            PauseCause::Slot => sent.slot += 1,
            // The end of a pause by a threshold counts already.
            _ if timed.quanta == PauseQuanta::ZERO => {
                sent.xon += u64::from(!self.announced.contains(priority));
            }
            _ => sent.timed += 1,
        }
        self.measure(priority, timed.cause, start, timed.time);
        Some(timed.quanta)
    }

    /// Accounts for a pause of `time` from `start` on. It has one cause, so pauses for other causes end.
    fn measure(&mut self, priority: Priority, cause: PauseCause, start: Nanos, time: Interval) {
        for (meter, other) in self.meters[priority.index()].iter_mut().zip(PauseCause::ALL) {
            meter.pause(start, if other == cause { time } else { Interval::ZERO });
        }
    }

    /// Pause frames sent for `priority`.
    pub fn sent(&self, priority: Priority) -> PausesSent {
        self.sent[priority.index()]
    }

    /// The time until which the neighbour may not send `priority`, as announced.
    pub fn paused_until(&self, priority: Priority) -> Nanos {
        self.meters[priority.index()].iter().map(PauseMeter::until).max().unwrap_or(Nanos::ZERO)
    }

    /// The cause of the pause that [`PauseSender::paused_until`] is the end of.
    pub fn announced_cause(&self, priority: Priority) -> PauseCause {
        let meters = self.meters[priority.index()].iter().zip(PauseCause::ALL);
        meters.max_by_key(|(meter, _)| meter.until()).map(|(_, cause)| cause).unwrap_or_default()
    }

    /// Whether `priority` is paused at `now`, or will be by the next frame.
    pub fn is_paused(&self, priority: Priority, now: Nanos) -> bool {
        let asked = self.wanted().contains(priority) || self.timed_for.contains(priority);
        asked || self.paused_until(priority) > now
    }

    /// The time for which `priority` was paused for `cause` up to `now`, as announced.
    pub fn paused_for(&self, priority: Priority, cause: PauseCause, now: Nanos) -> Interval {
        self.meters[priority.index()][cause.index()].total(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitRate = BitRate::gigabits(100);
    const P3: Priority = Priority::from_low_bits(3);
    const P4: Priority = Priority::from_low_bits(4);

    fn sender() -> PauseSender {
        PauseSender::new(PauseQuanta(1_000), RATE)
    }

    /// A slot whose last 512 ns are not granted.
    fn slot(priorities: PrioritySet) -> Directive {
        Directive::PauseFor { priorities, time: Interval(512), cause: PauseCause::Slot }
    }

    #[test]
    fn a_stop_is_announced_once_refreshed_at_half_time_and_cancelled_with_time_zero() {
        let mut sender = sender();
        assert_eq!(sender.deadline(), Nanos::NEVER);
        sender.follow(Directive::Pause { priority: P3, cause: PauseCause::Threshold });
        assert_eq!((sender.paused(), sender.deadline()), (PrioritySet::EMPTY.with(P3), Nanos::ZERO));
        let times = sender.take_due(Nanos(100), Nanos(110));
        assert_eq!(times[3], Some(PauseQuanta(1_000)));
        assert_eq!(times.iter().flatten().count(), 1, "it concerns priority 3 alone");

        assert_eq!(sender.deadline(), Nanos(110 + 2_560), "1000 quanta are 5120 ns at 100G");
        assert_eq!(sender.take_due(Nanos(2_669), Nanos(2_669)), PauseTimes::default());
        assert_eq!(sender.take_due(Nanos(2_670), Nanos(2_670))[3], Some(PauseQuanta(1_000)));

        sender.follow(Directive::Resume { priority: P3 });
        assert_eq!(sender.paused(), PrioritySet::EMPTY);
        assert_eq!(sender.take_due(Nanos(3_000), Nanos(3_000))[3], Some(PauseQuanta::ZERO));
        assert_eq!(sender.deadline(), Nanos::NEVER);
        assert_eq!(sender.sent(P3), PausesSent { xoff: 1, refresh: 1, xon: 1, ..PausesSent::default() });
        assert_eq!(sender.paused_for(P3, PauseCause::Threshold, Nanos(9_000)), Interval(3_000 - 110));
        assert_eq!(sender.paused_until(P3), Nanos(3_000));
    }

    #[test]
    fn what_came_and_went_before_a_frame_could_leave_is_not_announced() {
        let mut sender = sender();
        sender.follow(Directive::Pause { priority: P3, cause: PauseCause::PoolFull });
        sender.follow(Directive::Resume { priority: P3 });
        assert_eq!(sender.deadline(), Nanos::NEVER);
    }

    #[test]
    fn one_frame_carries_all_changes_and_leaves_running_pauses_alone() {
        let mut sender = sender();
        sender.follow(Directive::Pause { priority: P3, cause: PauseCause::Threshold });
        sender.take_due(Nanos(0), Nanos(0));
        sender.follow(Directive::Pause { priority: P4, cause: PauseCause::Threshold });
        let times = sender.take_due(Nanos(1), Nanos(1));
        assert_eq!((times[3], times[4]), (None, Some(PauseQuanta(1_000))));
    }

    #[test]
    fn a_slot_is_announced_once_and_leaves_a_priority_alone_that_a_threshold_has_stopped() {
        let mut sender = sender();
        sender.follow(Directive::Pause { priority: P3, cause: PauseCause::Threshold });
        sender.take_due(Nanos(0), Nanos(0));
        sender.follow(slot(PrioritySet::EMPTY.with(P3).with(P4)));
        assert_eq!(sender.deadline(), Nanos::ZERO);
        let times = sender.take_due(Nanos(10), Nanos(10));
        assert_eq!((times[3], times[4]), (None, Some(PauseQuanta(100))));
        assert_ne!(sender.deadline(), Nanos::ZERO);
        assert_eq!(sender.paused_for(P4, PauseCause::Slot, Nanos(1_000)), Interval(512));
        assert_eq!((sender.sent(P3).slot, sender.sent(P4).slot), (0, 1));

        sender.follow(Directive::Resume { priority: P3 });
        sender.follow(slot(PrioritySet::EMPTY.with(P3)));
        assert_eq!(
            sender.take_due(Nanos(500), Nanos(500))[3],
            Some(PauseQuanta(100)),
            "not resumed within it"
        );
        assert_eq!(sender.paused_for(P3, PauseCause::Threshold, Nanos(9_000)), Interval(500));
        assert_eq!(sender.paused_for(P3, PauseCause::Slot, Nanos(9_000)), Interval(512));
        assert_eq!(sender.deadline(), Nanos::NEVER, "and nothing is left to refresh");
    }

    #[test]
    fn one_frame_gives_each_priority_the_last_time_that_was_asked_for_it() {
        let mut sender = sender();
        let pause = |priority, nanos| Directive::PauseFor {
            priorities: PrioritySet::EMPTY.with(priority),
            time: Interval(nanos),
            cause: PauseCause::Slot,
        };
        for directive in [pause(P3, 512), pause(P4, 1_024), pause(P3, 2_048)] {
            sender.follow(directive);
        }
        let times = sender.take_due(Nanos(0), Nanos(0));
        assert_eq!((times[3], times[4]), (Some(PauseQuanta(400)), Some(PauseQuanta(200))));
        assert_eq!(times.iter().flatten().count(), 2);
        assert_eq!(sender.take_due(Nanos(1), Nanos(1)), PauseTimes::default(), "once");
    }

    #[test]
    fn a_pause_that_a_scheme_takes_back_counts_as_one_frame_that_resumes() {
        let mut sender = sender();
        let pause = |nanos| Directive::PauseFor {
            priorities: PrioritySet::EMPTY.with(P3),
            time: Interval(nanos),
            cause: PauseCause::EgressWarning,
        };
        sender.follow(pause(512));
        sender.take_due(Nanos(0), Nanos(0));
        assert!(sender.is_paused(P3, Nanos(511)) && !sender.is_paused(P3, Nanos(512)));
        sender.follow(Directive::Pause { priority: P3, cause: PauseCause::Threshold });
        sender.take_due(Nanos(10), Nanos(10));
        sender.follow(Directive::Resume { priority: P3 });
        sender.follow(pause(0));
        assert_eq!(sender.take_due(Nanos(20), Nanos(20))[3], Some(PauseQuanta::ZERO));
        assert_eq!(sender.sent(P3), PausesSent { xoff: 1, xon: 1, timed: 1, ..PausesSent::default() });
        sender.follow(pause(512));
        sender.take_due(Nanos(30), Nanos(30));
        sender.follow(pause(0));
        sender.take_due(Nanos(40), Nanos(40));
        assert_eq!(sender.sent(P3), PausesSent { xoff: 1, xon: 2, timed: 2, ..PausesSent::default() });
        assert_eq!(sender.paused_for(P3, PauseCause::EgressWarning, Nanos(9_000)), Interval(10 + 10));
    }

    #[test]
    fn a_pause_counts_to_its_first_cause_until_its_end_is_announced() {
        let mut sender = sender();
        let pause = |cause| Directive::Pause { priority: P3, cause };
        sender.follow(pause(PauseCause::PoolFull));
        assert_eq!((sender.cause(P3), sender.cause(P4)), (Some(PauseCause::PoolFull), None));
        sender.take_due(Nanos(0), Nanos(0));
        sender.follow(Directive::Resume { priority: P3 });
        sender.follow(pause(PauseCause::Threshold));
        assert_eq!(sender.cause(P3), Some(PauseCause::Threshold));
        sender.take_due(Nanos(2_560), Nanos(2_560));
        let paused_for = |sender: &PauseSender, cause| sender.paused_for(P3, cause, Nanos(3_000));
        assert_eq!(paused_for(&sender, PauseCause::PoolFull), Interval(3_000));
        assert_eq!(paused_for(&sender, PauseCause::Threshold), Interval::ZERO);
    }

    #[test]
    fn a_pause_lasts_as_long_as_a_threshold_or_a_relay_asks_for_it() {
        let hold = |priorities| Directive::Hold { priorities, cause: PauseCause::Relayed };
        let p3 = PrioritySet::EMPTY.with(P3);
        // All orders in which the two pause and resume.
        for (by_threshold_first, threshold_ends_first) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            let mut sender = sender();
            let pause = Directive::Pause { priority: P3, cause: PauseCause::Threshold };
            let both = if by_threshold_first { [pause, hold(p3)] } else { [hold(p3), pause] };
            sender.follow(both[0]);
            assert_eq!(sender.take_due(Nanos(0), Nanos(0))[3], Some(PauseQuanta(1_000)));
            sender.follow(both[1]);
            assert_eq!(sender.deadline(), Nanos(2_560), "nothing but the refresh is due");
            let ends = [Directive::Resume { priority: P3 }, hold(PrioritySet::EMPTY)];
            let [first, last] = if threshold_ends_first { [0, 1] } else { [1, 0] };
            sender.follow(ends[first]);
            assert_eq!(sender.take_due(Nanos(10), Nanos(10)), PauseTimes::default());
            assert!(sender.is_paused(P3, Nanos(10)));
            sender.follow(ends[last]);
            assert_eq!(sender.take_due(Nanos(20), Nanos(20))[3], Some(PauseQuanta::ZERO));
            let cause = if by_threshold_first { PauseCause::Threshold } else { PauseCause::Relayed };
            assert_eq!(sender.paused_for(P3, cause, Nanos(9_000)), Interval(20));
        }
    }

    #[test]
    fn new_settings_hold_from_the_next_frame_on() {
        let mut sender = sender();
        sender.configure(PauseQuanta(500), BitRate::gigabits(200));
        sender.follow(Directive::Pause { priority: P3, cause: PauseCause::Threshold });
        assert_eq!(sender.take_due(Nanos(0), Nanos(0))[3], Some(PauseQuanta(500)));
        assert_eq!(sender.deadline(), Nanos(640), "500 quanta are 1280 ns at 200G");
    }

    #[test]
    fn causes_have_names_of_their_own() {
        let names = PauseCause::ALL.map(PauseCause::name);
        assert_eq!(
            names,
            [
                "threshold",
                "pool_full",
                "slot",
                "memory_low",
                "predicted",
                "egress_warning",
                "relayed",
                "receive_ring"
            ]
        );
    }
}
