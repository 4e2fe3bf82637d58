//! Congestion notifications that wait for their turn on a link.

use std::collections::VecDeque;
use wire::roce::cnp;

/// How many can wait.
const CAPACITY: usize = 128;

/// The direct CNPs of one port. They come from a store of their own and go ahead of data.
#[derive(Debug)]
pub(crate) struct Notifications(VecDeque<cnp::Frame>);

impl Notifications {
    pub fn new() -> Self {
        Self(VecDeque::with_capacity(CAPACITY))
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one; `false` where there is no room.
    pub fn push(&mut self, frame: cnp::Frame) -> bool {
        let room = self.0.len() < CAPACITY;
        if room {
            self.0.push_back(frame);
        }
        room
    }

    pub fn pop(&mut self) -> Option<cnp::Frame> {
        self.0.pop_front()
    }
}
