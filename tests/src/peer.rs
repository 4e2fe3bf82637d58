//! A neighbour that sends as fast as it may and obeys PFC.

use crate::cost;
use crate::frame::TestFrame;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Interval, LinkClock, Nanos, PauseQuanta, Priority, WireBytes};

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
    next_label: u64,
    stop_at: Nanos,
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
            next_label: 0,
            stop_at,
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

    /// How many frames it has sent.
    pub fn sent(&self) -> u64 {
        self.next_label
    }

    /// The most that can arrive after the frame that crossed XOFF, while the way back is idle: a
    /// round trip, the PFC frame, a frame that had just begun, and the one that crossed. In bytes of buffer, for
    /// frames of one length.
    pub fn headroom(rate: BitRate, delay: Interval, frame: Bytes) -> u64 {
        let pfc = WireBytes::of_frame(Bytes(60)).0;
        let frames = (rate.bytes_in(delay * 2) + pfc).div_ceil(WireBytes::of_frame(frame).0);
        (frames + 2) * cost(frame.0)
    }

    /// When something happens here next.
    pub fn next_event(&self) -> Nanos {
        let arrival = self.frames.front().map_or(Nanos::NEVER, |(at, _)| *at);
        let pause = self.pauses.front().map_or(Nanos::NEVER, |(at, _)| *at);
        arrival.min(pause).min(self.next_start())
    }

    fn next_start(&self) -> Nanos {
        let start = self.link.free_at().max(self.paused_until);
        if start < self.stop_at { start } else { Nanos::NEVER }
    }

    /// A PFC frame left the switch at `start`.
    pub fn hear(&mut self, start: Nanos, times: PauseTimes) {
        let on_wire = self.rate.serialization().time_of(WireBytes::of_frame(Bytes(60)));
        self.pauses.push_back((start + on_wire + self.delay, times));
    }

    /// Lives up to `now`; returns the frames that arrive at the switch.
    pub fn live(&mut self, now: Nanos) -> Vec<TestFrame> {
        while let Some((at, times)) = self.pauses.pop_front_if(|(at, _)| *at <= now) {
            if let Some(quanta) = times[self.priority.index()] {
                self.paused_until = at + quanta.interval_at(self.rate);
            }
        }
        while self.next_start() <= now {
            let template = &self.templates[self.next_label as usize % self.templates.len()];
            let bytes = WireBytes::of_frame(Bytes(template.length));
            let start = self.link.occupy(self.next_start(), bytes);
            let arrival = start + self.rate.serialization().time_of(bytes) + self.delay;
            self.frames.push_back((arrival, template.clone().labelled(self.next_label)));
            self.next_label += 1;
        }
        core::iter::from_fn(|| self.frames.pop_front_if(|(at, _)| *at <= now))
            .map(|(_, frame)| frame)
            .collect()
    }
}
