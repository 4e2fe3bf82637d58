//! A neighbour that sends as fast as it may and obeys PFC.

use crate::cost;
use crate::frame::TestFrame;
use config::{HeadroomSum, HeadroomTerms};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Distance, Interval, LinkClock, Nanos, PauseQuanta, Priority, WireBytes};

/// The pause times of one PFC frame, by priority.
pub type PauseTimes = [Option<PauseQuanta>; Priority::COUNT];

/// A station at the other end of a link of a given length. It always has another frame to send.
pub struct Peer {
    priority: Priority,
    rate: BitRate,
    delay: Interval,
    link: LinkClock,
    /// The frames that it sends copies of, in turn.
    templates: Vec<TestFrame>,
    /// What it sends copies of once it has sent so many frames, in the order of these numbers.
    later: Vec<(u64, TestFrame)>,
    next_label: u64,
    stop_at: Nanos,
    /// How long a pause is on its way beside the link: in NICs, PHYs and turns.
    lag: Interval,
    /// How long it goes on beginning frames after a pause has arrived.
    response: Interval,
    /// When the pause acts of which it knows.
    paused_from: Nanos,
    paused_until: Nanos,
    /// Frames on their way to the switch, by the arrival of their last bit.
    frames: VecDeque<(Nanos, TestFrame)>,
    /// PFC frames on their way here.
    pauses: VecDeque<(Nanos, PauseTimes)>,
}

impl Peer {
    /// Sends copies of `template`, which is of `priority`, at `rate` over a link of `delay` one
    /// way, until `stop_at`.
    pub fn new(
        template: TestFrame,
        priority: Priority,
        rate: BitRate,
        delay: Interval,
        stop_at: Nanos,
    ) -> Self {
        Self {
            priority,
            rate,
            delay,
            link: LinkClock::new(rate),
            templates: vec![template],
            later: Vec::new(),
            next_label: 0,
            stop_at,
            lag: Interval::ZERO,
            response: Interval::ZERO,
            paused_from: Nanos::ZERO,
            paused_until: Nanos::ZERO,
            frames: VecDeque::new(),
            pauses: VecDeque::new(),
        }
    }

    /// The same neighbour, silent before `start`.
    #[must_use]
    pub fn starting_at(mut self, start: Nanos) -> Self {
        self.paused_until = start;
        self
    }

    /// The same neighbour, which sends copies of `template` in turn with what it sends already.
    #[must_use]
    pub fn in_turn_with(mut self, template: TestFrame) -> Self {
        self.templates.push(template);
        self
    }

    /// The same neighbour, which sends copies of `template` once it has sent `count` frames.
    #[must_use]
    pub fn then(mut self, count: u64, template: TestFrame) -> Self {
        self.later.push((count, template));
        self
    }

    /// The same neighbour, as late as it may be: a pause takes `lag` longer than the link, and it begins frames for
    /// `response` after that.
    #[must_use]
    pub fn as_late_as(mut self, lag: Interval, response: Interval) -> Self {
        (self.lag, self.response) = (lag, response);
        self
    }

    /// How many frames it has sent.
    pub fn sent(&self) -> u64 {
        self.next_label
    }

    /// The product's own sum of the headroom of a link whose frames all have `length`, without what a NIC adds. In bytes.
    pub fn headroom(rate: BitRate, delay: Interval, length: Bytes) -> u64 {
        let terms = HeadroomTerms {
            repaired: WireBytes(0),
            rate,
            distance: Distance((delay.0 * (Distance::FIBRE_SPEED / 1_000)).div_ceil(1_000_000)),
            max_frame: length,
            longest_sent: length,
            tx_window: Interval::ZERO,
            interface_delay: Interval::ZERO,
            cell_occupancy: cost(length.0) as f64 / WireBytes::of_frame(length).0 as f64,
            lanes: 1,
        };
        HeadroomSum::new(&terms).total().0
    }

    /// When something happens here next.
    pub fn next_event(&self) -> Nanos {
        let arrival = self.frames.front().map_or(Nanos::NEVER, |(at, _)| *at);
        let pause = self.pauses.front().map_or(Nanos::NEVER, |(at, _)| *at);
        arrival.min(pause).min(self.next_start())
    }

    fn next_start(&self) -> Nanos {
        let free = self.link.free_at();
        let start = if free < self.paused_from { free } else { free.max(self.paused_until) };
        if start < self.stop_at { start } else { Nanos::NEVER }
    }

    /// A PFC frame left the switch at `start`.
    pub fn hear(&mut self, start: Nanos, times: PauseTimes) {
        let on_wire = self.rate.serialization().time_of(WireBytes::of_frame(Bytes(60)));
        self.pauses.push_back((start + on_wire + self.delay + self.lag, times));
    }

    /// Lives up to `now`; returns the frames that arrive at the switch.
    pub fn live(&mut self, now: Nanos) -> Vec<TestFrame> {
        while let Some((at, times)) = self.pauses.pop_front_if(|(at, _)| *at <= now) {
            // Between two pauses, however short.
            self.send_until(Nanos(at.0 - 1));
            match times[self.priority.index()] {
                Some(PauseQuanta::ZERO) => (self.paused_from, self.paused_until) = (Nanos::ZERO, at),
                Some(quanta) => {
                    // One that has stopped sending for good does not begin again.
                    if self.paused_until < at && self.next_start() != Nanos::NEVER {
                        self.paused_from = at + self.response;
                    }
                    self.paused_until = at + quanta.interval_at(self.rate);
                }
                None => {}
            }
        }
        self.send_until(now);
        core::iter::from_fn(|| self.frames.pop_front_if(|(at, _)| *at <= now))
            .map(|(_, frame)| frame)
            .collect()
    }

    /// Begins the frames that begin up to `time`.
    fn send_until(&mut self, time: Nanos) {
        while self.next_start() <= time {
            let frame = self.next_frame().clone().labelled(self.next_label);
            let bytes = WireBytes::of_frame(Bytes(frame.length));
            let start = self.link.occupy(self.next_start(), bytes);
            let arrival = start + self.rate.serialization().time_of(bytes) + self.delay;
            self.frames.push_back((arrival, frame));
            self.next_label += 1;
        }
    }

    /// The frame that is its next.
    fn next_frame(&self) -> &TestFrame {
        let later = self.later.iter().rev().find(|(count, _)| self.next_label >= *count);
        later.map_or(&self.templates[self.next_label as usize % self.templates.len()], |(_, frame)| frame)
    }
}
