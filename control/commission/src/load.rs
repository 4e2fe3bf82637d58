//! The frames that the test device sends in a step.

use crate::frame::{self, Stamp, Way};
use crate::step::{Agreed, Step};
use units::{BitRate, Bytes, Interval, LinkClock, Nanos, PauseQuanta, Priority, WireBytes};
use wire::pfc;

/// Frames of each length in the step of lengths, and of each mark in that of marks.
const EACH: u64 = 4;
/// The time between two frames of these steps.
const APART: Interval = Interval::from_micros(500);
/// The longest lateness that a worker makes up for.
const BEHIND: Interval = Interval::from_millis(1);

/// A generator.
#[derive(Debug)]
pub struct Load {
    rate: BitRate,
    link: LinkClock,
    next: Nanos,
    /// When the gateway lets each priority go on.
    until: [Nanos; Priority::COUNT],
    frame: Vec<u8>,
    /// Frames sent in the step.
    pub sent: u64,
    number: u64,
}

impl Load {
    /// A generator that has sent nothing, at this rate.
    pub fn new(rate: BitRate, longest: Bytes) -> Self {
        Self {
            rate,
            link: LinkClock::new(rate),
            next: Nanos::ZERO,
            until: [Nanos::ZERO; Priority::COUNT],
            frame: Vec::with_capacity(longest.0 as usize),
            sent: 0,
            number: 0,
        }
    }

    /// Begins a step.
    pub fn begin(&mut self, now: Nanos) {
        (self.sent, self.next) = (0, now);
    }

    /// Obeys a PFC frame of the gateway.
    pub fn obey(&mut self, now: Nanos, pfc: &pfc::View<&[u8]>) {
        for (until, time) in self.until.iter_mut().zip(pfc.times()) {
            let time = time.map(|it: PauseQuanta| now + it.interval_at(self.rate));
            *until = time.unwrap_or(*until);
        }
    }

    /// The frames of `step` that a burst has, in all; `None` for as many as the time allows.
    pub fn frames(step: Step, agreed: &Agreed) -> Option<u64> {
        match step {
            Step::Lengths => Some(EACH * agreed.lengths.len() as u64),
            Step::Marks => Some(EACH * 256),
            Step::Loss(_) | Step::Obedience { .. } | Step::Soak => None,
            _ => Some(0),
        }
    }

    /// Gives `out` the frames that are due, `most` of them at most. Those of unlimited steps have this length.
    pub fn send(
        &mut self,
        now: Nanos,
        (step, number): (Step, u8),
        (agreed, way, session): (&Agreed, Way, u64),
        (length, priority): (u64, Priority),
        out: &mut dyn FnMut(&[u8]) -> bool,
    ) {
        let all = Self::frames(step, agreed);
        let line = WireBytes::of_frame(Bytes(length));
        for _ in 0..worker::BURST {
            let is_over = all.is_some_and(|all| self.sent >= all);
            let due = if all.is_some() { self.next } else { self.link.free_at() };
            if is_over || due > now || self.until[priority.index()] > now {
                return;
            }
            let value = self.sent / EACH;
            let (length, marks) = match step {
                Step::Lengths => (agreed.lengths[value as usize], (agreed.dscp, 0)),
                Step::Marks => (length, ((value >> 2) as u8, value as u8 & 3)),
                _ => (length, (agreed.dscp, 0)),
            };
            let stamp = Stamp { session, number: self.number, step: number, value: value as u8 };
            frame::write(&mut self.frame, way, length as usize, marks, &stamp);
            if !out(&self.frame) {
                return;
            }
            match all {
                Some(_) => self.next = now + APART,
                None => {
                    let behind = Nanos(now.0.saturating_sub(BEHIND.0));
                    self.link.occupy(self.link.free_at().max(behind), line);
                }
            }
            (self.sent, self.number) = (self.sent + 1, self.number + 1);
        }
    }
}
