//! A worker's pulse, which the control thread reads without sending a command.

use core::sync::atomic::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use units::{Interval, PortId};

/// The stage of a worker's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before the first turn, or after the last.
    Idle,
    /// Receiving from a port, and admitting the frames.
    Ingress(PortId),
    /// Sending through a port.
    Egress(PortId),
    /// Following a command.
    Command,
}

impl Stage {
    const fn pack(self) -> u64 {
        match self {
            Self::Idle => 0,
            Self::Ingress(port) => 1 | (port.0 as u64) << 8,
            Self::Egress(port) => 2 | (port.0 as u64) << 8,
            Self::Command => 3,
        }
    }

    const fn unpack(packed: u64) -> Self {
        let port = PortId((packed >> 8) as u16);
        match packed & 0xff {
            1 => Self::Ingress(port),
            2 => Self::Egress(port),
            3 => Self::Command,
            _ => Self::Idle,
        }
    }
}

/// Written by one worker, read by the control thread; only what is promised goes the other way. It has cache lines
/// of its own, so that who reads one worker's pulse disturbs no other.
#[derive(Debug, Default)]
pub struct Monitor(CachePadded<Pulse>);

#[derive(Debug)]
struct Pulse {
    /// Turns that have ended.
    turns: AtomicU64,
    /// Turns in which a frame arrived or left.
    busy: AtomicU64,
    /// The current [`Stage`].
    stage: AtomicU64,
    /// Turns that took longer than promised.
    late_turns: AtomicU64,
    /// The longest turn as of the last late one, in nanoseconds.
    longest_turn: AtomicU64,
    /// The promised maximum duration of a turn, in nanoseconds.
    promised: AtomicU64,
}

/// Nothing has happened, and turns may take as long as they like.
impl Default for Pulse {
    fn default() -> Self {
        Self {
            turns: AtomicU64::default(),
            busy: AtomicU64::default(),
            stage: AtomicU64::default(),
            late_turns: AtomicU64::default(),
            longest_turn: AtomicU64::default(),
            promised: AtomicU64::new(u64::MAX),
        }
    }
}

impl Monitor {
    /// Completed turns. If the number does not grow, the worker is stalled.
    pub fn turns(&self) -> u64 {
        self.0.turns.load(Ordering::Relaxed)
    }

    /// Turns in which a frame arrived or left.
    pub fn busy(&self) -> u64 {
        self.0.busy.load(Ordering::Relaxed)
    }

    /// Turns that took longer than [`Monitor::promise`] allowed at that time. If read after this,
    /// [`Monitor::longest_turn`] covers all of them.
    pub fn late_turns(&self) -> u64 {
        self.0.late_turns.load(Ordering::Acquire)
    }

    /// The longest turn as of the last late one. A turn lasts from its start to the start of the next.
    pub fn longest_turn(&self) -> Interval {
        Interval(self.0.longest_turn.load(Ordering::Relaxed))
    }

    /// Sets the promised maximum duration of turns. Longer ones are late, as lossless frames may be lost
    /// meanwhile.
    pub fn promise(&self, longest_turn: Interval) {
        self.0.promised.store(longest_turn.0, Ordering::Relaxed);
    }

    /// The stage of the worker.
    pub fn stage(&self) -> Stage {
        Stage::unpack(self.0.stage.load(Ordering::Relaxed))
    }

    /// Notes that the worker entered `stage`.
    #[inline]
    pub(crate) fn enter(&self, stage: Stage) {
        self.0.stage.store(stage.pack(), Ordering::Relaxed);
    }

    /// Whether a turn of this duration is late.
    #[inline]
    pub(crate) fn is_late(&self, turn: Interval) -> bool {
        turn.0 > self.0.promised.load(Ordering::Relaxed)
    }

    /// Publishes the worker's count of late turns and its longest turn.
    #[cold]
    pub(crate) fn note_late(&self, longest: Interval, late_turns: u64) {
        self.0.longest_turn.store(longest.0, Ordering::Relaxed);
        self.0.late_turns.store(late_turns, Ordering::Release);
    }

    /// Publishes a completed turn. The worker does the counting, so this is only a store.
    #[inline]
    pub(crate) fn publish(&self, turns: u64, busy: u64) {
        self.0.turns.store(turns, Ordering::Relaxed);
        self.0.busy.store(busy, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_worker_writes_is_what_is_read() {
        let monitor = Monitor::default();
        assert_eq!((monitor.turns(), monitor.busy(), monitor.stage()), (0, 0, Stage::Idle));
        monitor.publish(7, 3);
        assert_eq!((monitor.turns(), monitor.busy()), (7, 3));
        assert!(!monitor.is_late(Interval(u64::MAX)), "nothing is promised yet");
        monitor.promise(Interval(10));
        assert_eq!([10, 11].map(|turn| monitor.is_late(Interval(turn))), [false, true]);
        monitor.note_late(Interval(11), 1);
        assert_eq!((monitor.longest_turn(), monitor.late_turns()), (Interval(11), 1));
        let port = PortId(u16::MAX);
        for stage in [Stage::Ingress(port), Stage::Egress(port), Stage::Command, Stage::Idle] {
            monitor.enter(stage);
            assert_eq!(monitor.stage(), stage);
        }
    }
}
