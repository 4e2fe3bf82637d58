//! The gate of a port: the time when a queue may send, and the amount.
//!
//! It combines received pauses and grants, the shapers of the port and its queues, and the link clock with its window,
//! so that the scheduler, the deadline and the watchdog all get the same answer.

use super::{ReceivedPauses, shaper::Shaper};
use crate::flow_control::Upstream;
use crate::program::PortSettings;
use serde::{Deserialize, Serialize};
use units::{Bytes, Interval, LinkClock, Nanos, Priority, PrioritySet, QueueId, QueueSet, WireBytes};

/// The pauses, grants, shapers and link of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Gate {
    link: LinkClock,
    /// The lead with which frames are handed over before the link takes them.
    tx_window: Interval,
    port: Option<Shaper>,
    queues: Vec<Option<Shaper>>,
    /// Queues with their own shaper.
    shaped: QueueSet,
    /// Whether `port` or `shaped` has a shaper, time of the link has to be claimed, frames are numbered, or no data may be sent;
    /// cached, because each lone frame needs it.
    shapes: bool,
    /// Whether other lanes send through the link, whose time is claimed.
    is_joint: bool,
    /// Whether the port sends no data: it is a member of a bundle that is out.
    is_stopped: bool,
    /// Queues whose frames are numbered for repair.
    repaired: QueueSet,
    /// Those of them that send nothing, because no more can be kept.
    withheld: QueueSet,
    pub pauses: ReceivedPauses,
    /// The grants that limit the port, where its flow control knows any.
    pub upstream: Option<Box<Upstream>>,
}

impl Gate {
    pub fn new(settings: &PortSettings) -> Self {
        Self {
            link: LinkClock::new(settings.rate),
            tx_window: settings.tx_window,
            port: settings.rate_limit.as_ref().map(Shaper::new),
            queues: (0..settings.queues.len()).map(|index| shaper(settings, index)).collect(),
            shaped: shaped(settings),
            shapes: shapes(settings),
            is_joint: false,
            is_stopped: false,
            repaired: QueueSet::EMPTY,
            withheld: QueueSet::EMPTY,
            pauses: ReceivedPauses::new(settings),
            upstream: Upstream::new(settings),
        }
    }

    /// Applies new settings. Shapers whose limit is new start full.
    pub fn configure(&mut self, now: Nanos, old: &PortSettings, new: &PortSettings) {
        if new.rate != old.rate {
            self.link.set_rate(new.rate);
        }
        self.tx_window = new.tx_window;
        if new.rate_limit != old.rate_limit {
            self.port = new.rate_limit.as_ref().map(Shaper::new);
        }
        for (index, limiter) in self.queues.iter_mut().enumerate() {
            if new.queues[index].rate_limit != old.queues[index].rate_limit {
                *limiter = shaper(new, index);
            }
        }
        self.shaped = shaped(new);
        self.note_shapes();
        self.pauses.configure(now, &new.pfc, new.rate);
        if !self.upstream.as_mut().is_some_and(|upstream| upstream.configure(new)) {
            self.upstream = Upstream::new(new);
        }
    }

    /// Returns the members of `queues` that may send a frame at `now`.
    #[inline]
    pub fn open(&mut self, now: Nanos, queues: QueueSet) -> QueueSet {
        debug_assert!(!self.is_stopped, "a stopped port sends no data");
        if self.link_opens_at() > now || self.port.as_ref().is_some_and(|shaper| shaper.ready_at() > now) {
            return QueueSet::EMPTY;
        }
        let mut open = queues.difference(self.pauses.paused(now)).difference(self.withheld);
        if let Some(upstream) = &mut self.upstream {
            open = open.difference(upstream.closed(now, |closed| queues_of(&self.pauses, closed)));
        }
        let held_back = open.intersection(self.shaped).iter().filter(|it| self.shaped_until(*it) > now);
        held_back.fold(open, QueueSet::without)
    }

    /// The time when the first of `queues` may send a frame; never if there are none.
    #[inline]
    pub fn opens_at(&self, queues: QueueSet) -> Nanos {
        if queues.is_empty() {
            return Nanos::NEVER;
        }
        if self.is_link_alone() {
            return self.link_opens_at();
        }
        if self.is_stopped {
            return Nanos::NEVER;
        }
        let each = queues
            .difference(self.withheld)
            .iter()
            .map(|it| self.pauses.paused_until(it).max(self.shaped_until(it)).max(self.granted_at(it)));
        let first = each.min().unwrap_or(Nanos::NEVER);
        let port = self.port.as_ref().map_or(Nanos::ZERO, Shaper::ready_at);
        first.max(port).max(self.link_opens_at())
    }

    /// The time when the link takes the next frame. Control frames wait for nothing else.
    #[inline]
    pub fn link_opens_at(&self) -> Nanos {
        self.link.free_at() - self.tx_window
    }

    /// The time when the link has carried all frames that were handed over.
    pub fn link_free_at(&self) -> Nanos {
        self.link.free_at()
    }

    /// Whether only the link delays the next frame, which leaves as it is: nothing is paused, shaped, claimed, stopped or
    /// numbered, and no grants are counted.
    #[inline]
    pub fn is_link_alone(&self) -> bool {
        self.pauses.stopped().is_empty() && !self.shapes && self.upstream.is_none()
    }

    /// Lets `queue`, which is [open](Self::open) at `now`, send one frame after the other.
    #[inline]
    pub fn opening(&mut self, now: Nanos, queue: QueueId) -> Opening<'_> {
        let is_shaped = self.port.is_some() || self.shaped.contains(queue);
        let priority = self.pauses.priority(queue);
        let upstream = self.upstream.as_deref_mut().map(|it| (it, queue, priority));
        Opening {
            now,
            horizon: now + self.tx_window,
            link: self.link,
            home: &mut self.link,
            limits: (is_shaped || upstream.is_some())
                .then_some(Limits { shapers: [&mut self.port, &mut self.queues[queue.index()]], upstream }),
        }
    }

    /// Shares the link with other lanes from now on.
    pub fn share(&mut self) {
        (self.is_joint, self.shapes) = (true, true);
    }

    /// Lets frames of `queues` be numbered for repair from now on.
    pub fn repair(&mut self, queues: QueueSet) {
        (self.repaired, self.withheld) = (queues, QueueSet::EMPTY);
        self.note_shapes();
    }

    /// Whether frames of `queue` are numbered.
    #[inline]
    pub fn repairs(&self, queue: QueueId) -> bool {
        self.repaired.contains(queue)
    }

    /// Lets all numbered queues wait, or go on.
    pub fn withhold(&mut self, withheld: bool) {
        self.withheld = if withheld { self.repaired } else { QueueSet::EMPTY };
    }

    /// Stops all data, or lets it go again. The caller does not ask a stopped gate for [open](Self::open) queues.
    pub fn stop(&mut self, stopped: bool) {
        self.is_stopped = stopped;
        self.note_shapes();
    }

    fn note_shapes(&mut self) {
        let is_shaped = self.port.is_some() || !self.shaped.is_empty();
        self.shapes = self.is_joint || self.is_stopped || is_shaped || !self.repaired.is_empty();
    }

    /// Takes a part of the time of the link: the next frame starts after `lead`, and the last one within `window` of `now`. With
    /// a lead that is longer than the window, none may.
    pub fn take_claim(&mut self, now: Nanos, lead: Interval, window: Interval) {
        self.link.set_free_at(now + lead);
        self.tx_window = window;
    }

    /// Limits the rate of a slow `queue` until `until`, or longer if it already does.
    pub fn limit_until(&mut self, queue: QueueId, until: Nanos) {
        self.queues[queue.index()].iter_mut().for_each(|shaper| shaper.limit_until(until));
    }

    /// Suspends the rate limit of a slow `queue`, or ends that.
    pub fn suspend(&mut self, queue: QueueId, suspended: bool) {
        self.queues[queue.index()].iter_mut().for_each(|shaper| shaper.suspend(suspended));
    }

    /// Puts a frame of `length` on the link at `now`, in spite of pauses and shapers. Returns its start.
    #[inline(always)]
    pub fn occupy(&mut self, now: Nanos, length: Bytes) -> Nanos {
        self.link.occupy(now, WireBytes::of_frame(length))
    }

    fn shaped_until(&self, queue: QueueId) -> Nanos {
        self.queues[queue.index()].as_ref().map_or(Nanos::ZERO, Shaper::ready_at)
    }

    /// The time when `queue` may send if no grant comes: in the past if it may now.
    fn granted_at(&self, queue: QueueId) -> Nanos {
        let Some(upstream) = &self.upstream else { return Nanos::ZERO };
        upstream.closed_until(queue, self.pauses.priority(queue)).unwrap_or(Nanos::ZERO)
    }
}

/// The gate while one queue sends.
pub(crate) struct Opening<'a> {
    now: Nanos,
    horizon: Nanos,
    /// A copy that each frame updates, written back at the end.
    link: LinkClock,
    home: &'a mut LinkClock,
    /// The limits of the queue beside the link, if it has any.
    limits: Option<Limits<'a>>,
}

/// The limits of a queue beside the link.
struct Limits<'a> {
    /// The shapers of the port and of the queue.
    shapers: [&'a mut Option<Shaper>; 2],
    /// The grants that its frames use, its number and its priority.
    upstream: Option<(&'a mut Upstream, QueueId, Priority)>,
}

impl Limits<'_> {
    fn may_send(&self, now: Nanos) -> bool {
        self.shapers.iter().all(|it| it.as_ref().is_none_or(|shaper| shaper.ready_at() <= now))
            && self
                .upstream
                .as_ref()
                .is_none_or(|(it, queue, priority)| it.closed_until(*queue, *priority).is_none())
    }

    fn charge(&mut self, now: Nanos, bytes: WireBytes) {
        self.shapers.iter_mut().filter_map(|it| it.as_mut()).for_each(|shaper| shaper.charge(now, bytes));
        if let Some((upstream, queue, priority)) = &mut self.upstream {
            upstream.spend(now, *queue, *priority, bytes);
        }
    }
}

impl Opening<'_> {
    /// Lets a frame pass, and returns its start on the link; `None`, with nothing changed, if it has to wait.
    #[inline(always)]
    pub fn pass(&mut self, bytes: WireBytes) -> Option<Nanos> {
        let Self { now, horizon, link, limits, .. } = self;
        let Some(limits) = limits else { return link.occupy_by(*now, *horizon, bytes) };
        if !limits.may_send(*now) {
            return None;
        }
        let start = link.occupy_by(*now, *horizon, bytes)?;
        limits.charge(*now, bytes);
        Some(start)
    }

    /// Writes the changes back after the queue has sent.
    #[inline(always)]
    pub fn close(self) {
        *self.home = self.link;
    }
}

/// The queues of `priorities`.
fn queues_of(pauses: &ReceivedPauses, priorities: PrioritySet) -> QueueSet {
    priorities.iter().fold(QueueSet::EMPTY, |queues, priority| queues.union(pauses.queues(priority)))
}

/// The shaper of the queue with this index. That of a slow queue limits nothing at first.
fn shaper(settings: &PortSettings, index: usize) -> Option<Shaper> {
    let limit = settings.queues[index].rate_limit.as_ref()?;
    let is_slow =
        settings.slow.zip(QueueId::new(index)).is_some_and(|(slow, it)| slow.limit_of(it).is_some());
    Some(if is_slow { Shaper::in_need(limit) } else { Shaper::new(limit) })
}

fn shaped(settings: &PortSettings) -> QueueSet {
    let limited = settings.queues.iter().enumerate().filter(|(_, queue)| queue.rate_limit.is_some());
    limited.filter_map(|(index, _)| QueueId::new(index)).collect()
}

fn shapes(settings: &PortSettings) -> bool {
    settings.rate_limit.is_some() || !shaped(settings).is_empty()
}

#[cfg(test)]
mod tests {
    mod progress;

    use super::*;
    use crate::program::{QueueSettings, RateLimit};
    use units::{BitRate, PauseQuanta};
    use wire::ethernet::MacAddress;

    const P3: Priority = Priority::from_low_bits(3);
    const Q3: QueueId = QueueId::from_low_bits(3);
    const Q4: QueueId = QueueId::from_low_bits(4);
    const BOTH: QueueSet = QueueSet::EMPTY.with(Q3).with(Q4);

    /// A port of a byte a nanosecond, priorities 3 and 4 of which obey pauses.
    fn settings() -> PortSettings {
        let mut settings = PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::gigabits(8));
        settings.pfc.obey = PrioritySet::EMPTY.with(P3).with(Priority::from_low_bits(4));
        settings
    }

    /// A byte a nanosecond for bursts of 1,000, and half of that beyond.
    fn half() -> Option<RateLimit> {
        Some(RateLimit { rate: BitRate::gigabits(4), burst: Bytes(1_000) })
    }

    #[test]
    fn a_paused_queue_is_closed_until_its_pause_ends_and_the_others_are_open() {
        let mut gate = Gate::new(&settings());
        // 512 bits to the quantum.
        gate.pauses.stop(Nanos(0), P3, PauseQuanta(100));
        assert_eq!(gate.open(Nanos(10), BOTH), QueueSet::EMPTY.with(Q4));
        assert_eq!(gate.opens_at(BOTH), Nanos(0));
        assert_eq!(gate.opens_at(QueueSet::EMPTY.with(Q3)), Nanos(6_400));
        assert_eq!(gate.opens_at(QueueSet::EMPTY), Nanos::NEVER);
        assert_eq!(gate.open(Nanos(6_400), BOTH), BOTH);
    }

    #[test]
    fn a_pause_closes_all_queues_of_its_priority_and_no_other() {
        let mut settings = settings();
        settings.queues.extend(
            [P3, Priority::from_low_bits(4), P3]
                .map(|priority| QueueSettings { priority, ..settings.queues[P3.index()] }),
        );
        let [q8, q9, q10] = [8, 9, 10].map(QueueId::from_low_bits);
        let (all, others) = (QueueSet::first(11), QueueSet::first(8).without(Q3).with(q9));
        let mut gate = Gate::new(&settings);
        gate.pauses.stop(Nanos(0), P3, PauseQuanta(100));
        assert_eq!(gate.open(Nanos(10), all), others);
        assert_eq!(gate.opens_at(QueueSet::EMPTY.with(q8).with(q10)), Nanos(6_400));
        gate.pauses.ignore(Nanos(10), QueueSet::EMPTY.with(q10));
        assert_eq!(gate.open(Nanos(10), all), others.with(q10), "one of them alone may ignore the pause");
        gate.pauses.ignore(Nanos(20), QueueSet::EMPTY);
        assert_eq!(gate.open(Nanos(20), all), others, "and no longer does");
        gate.pauses.stop(Nanos(30), P3, PauseQuanta::ZERO);
        assert_eq!(gate.open(Nanos(30), all), all);
    }

    #[test]
    fn a_busy_link_closes_all_queues_but_for_its_window() {
        let window = Interval(300);
        let mut gate = Gate::new(&PortSettings { tx_window: window, ..settings() });
        assert_eq!(gate.occupy(Nanos(0), Bytes(976)), Nanos(0), "1,000 bytes on the wire");
        assert_eq!(gate.open(Nanos(699), BOTH), QueueSet::EMPTY);
        assert_eq!((gate.open(Nanos(700), BOTH), gate.opens_at(BOTH)), (BOTH, Nanos(700)));
    }

    #[test]
    fn a_queue_sends_until_its_shaper_or_the_window_holds_it_back() {
        let mut settings = PortSettings { tx_window: Interval(5_000), ..settings() };
        settings.queues[Q3.index()].rate_limit = half();
        let mut gate = Gate::new(&settings);
        let sent = |gate: &mut Gate, queue| {
            let mut opening = gate.opening(Nanos(0), queue);
            let starts: Vec<_> = core::iter::from_fn(|| opening.pass(WireBytes(1_000))).collect();
            opening.close();
            starts
        };
        assert_eq!(sent(&mut gate, Q3), [Nanos(0), Nanos(1_000)], "the burst, and the frame that ends it");
        let rest: Vec<_> = (2..=5).map(|number| Nanos(number * 1_000)).collect();
        assert_eq!(sent(&mut gate, Q4), rest, "what the window lets ahead of the link");
        let until = gate.opens_at(QueueSet::EMPTY.with(Q3));
        assert_eq!(until, Nanos(2_000), "2,000 bytes take 4,000 ns, of which 2,000 are the burst");
    }

    #[test]
    fn a_queue_is_closed_until_its_shaper_is_ready_and_others_are_not() {
        let mut settings = settings();
        settings.queues[Q3.index()].rate_limit = half();
        let mut gate = Gate::new(&settings);
        let mut opening = gate.opening(Nanos(0), Q3);
        assert_eq!(opening.pass(WireBytes(1_500)), Some(Nanos(0)));
        opening.close();
        // 1,500 bytes take 3,000 ns, of which 2,000 are the burst; the link takes them in 1,500.
        assert_eq!(gate.open(Nanos(1_500), BOTH), BOTH);
        let mut opening = gate.opening(Nanos(1_500), Q3);
        assert_eq!(opening.pass(WireBytes(500)), Some(Nanos(1_500)));
        opening.close();
        // 500 more take 1,000 ns.
        assert_eq!(gate.opens_at(QueueSet::EMPTY.with(Q3)), Nanos(2_000));
        assert_eq!(gate.open(Nanos(2_000), BOTH), BOTH);
        let mut opening = gate.opening(Nanos(2_000), Q3);
        assert_eq!(opening.pass(WireBytes(100)), Some(Nanos(2_000)));
        opening.close();
        assert_eq!(gate.open(Nanos(2_199), BOTH), QueueSet::EMPTY.with(Q4));
        assert_eq!(gate.open(Nanos(2_200), BOTH), BOTH);
    }

    #[test]
    fn new_settings_fill_the_shapers_whose_limits_change_and_no_others() {
        let mut old = PortSettings { rate_limit: half(), ..settings() };
        (old.queues[Q3.index()].rate_limit, old.queues[Q4.index()].rate_limit) = (half(), half());
        let ready = |new: &PortSettings| {
            let mut gate = Gate::new(&old);
            for queue in [Q3, Q4] {
                let mut opening = gate.opening(Nanos(0), queue);
                opening.limits.iter_mut().for_each(|limits| limits.charge(Nanos(0), WireBytes(2_000)));
                opening.close();
            }
            gate.configure(Nanos(0), &old, new);
            [Q3, Q4].map(|queue| gate.opens_at(QueueSet::EMPTY.with(queue)))
        };
        // The port was charged twice: 4,000 bytes take 8,000 ns, of which 2,000 are the burst.
        assert_eq!(ready(&old), [Nanos(6_000), Nanos(6_000)]);
        let mut port = PortSettings { rate_limit: None, ..old.clone() };
        assert_eq!(ready(&port), [Nanos(2_000), Nanos(2_000)]);
        port.queues[Q3.index()].rate_limit =
            Some(RateLimit { burst: Bytes(1_001), ..half().expect("a limit") });
        assert_eq!(ready(&port), [Nanos(0), Nanos(2_000)]);
        let none = PortSettings { rate_limit: None, ..settings() };
        assert_eq!(ready(&none), [Nanos(0), Nanos(0)]);
    }

    #[test]
    fn the_shaper_of_the_port_closes_all_queues() {
        let mut gate = Gate::new(&PortSettings { rate_limit: half(), ..settings() });
        let mut opening = gate.opening(Nanos(0), Q3);
        assert_eq!(opening.pass(WireBytes(2_500)), Some(Nanos(0)));
        opening.close();
        // They take 5,000 ns at half of the rate, of which 2,000 are the burst.
        assert_eq!(gate.opens_at(BOTH), Nanos(3_000));
        assert_eq!(gate.open(Nanos(2_999), BOTH), QueueSet::EMPTY);
        assert_eq!(gate.open(Nanos(3_000), BOTH), BOTH);
    }

    #[test]
    fn a_link_takes_frames_at_its_new_rate_and_keeps_those_that_it_has() {
        for (rate, free_at) in [(BitRate::gigabits(8), 2_000), (BitRate::gigabits(16), 1_500)] {
            let old = PortSettings { tx_window: Interval(1_000), ..settings() };
            let mut gate = Gate::new(&old);
            gate.occupy(Nanos(0), Bytes(976));
            gate.configure(Nanos(0), &old, &PortSettings { rate, tx_window: Interval::ZERO, ..old.clone() });
            assert_eq!(gate.link_opens_at(), Nanos(1_000));
            assert_eq!(gate.occupy(Nanos(0), Bytes(976)), Nanos(1_000));
            assert_eq!(gate.link_opens_at(), Nanos(free_at));
        }
    }
}
