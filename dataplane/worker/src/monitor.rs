//! A worker's pulse: what the control thread sees of it without asking.

use core::sync::atomic::{AtomicU64, Ordering};
use units::PortId;

/// Where in its turn a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before the first turn, or after the last.
    Idle,
    /// Receiving from a port, and admitting what came.
    Ingress(PortId),
    /// Taking over frames of other shards, and giving them theirs.
    Exchange,
    /// Letting frames leave through a port.
    Egress(PortId),
    /// Following a command.
    Command,
}

impl Stage {
    const fn pack(self) -> u64 {
        match self {
            Self::Idle => 0,
            Self::Ingress(port) => 1 | (port.0 as u64) << 8,
            Self::Exchange => 2,
            Self::Egress(port) => 3 | (port.0 as u64) << 8,
            Self::Command => 4,
        }
    }

    const fn unpack(packed: u64) -> Self {
        let port = PortId((packed >> 8) as u16);
        match packed & 0xff {
            1 => Self::Ingress(port),
            2 => Self::Exchange,
            3 => Self::Egress(port),
            4 => Self::Command,
            _ => Self::Idle,
        }
    }
}

/// Written by one worker, read by the control thread. It fills two cache lines of its own, as
/// processors fetch them in pairs, so that who reads one worker's pulse disturbs no other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Monitor {
    /// Turns that have ended.
    turns: AtomicU64,
    /// Turns in which a frame came or went.
    busy: AtomicU64,
    /// The present [`Stage`].
    stage: AtomicU64,
}

impl Monitor {
    /// Turns that have ended. One that does not grow belongs to a worker that is stalled.
    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Turns in which a frame came or went.
    pub fn busy(&self) -> u64 {
        self.busy.load(Ordering::Relaxed)
    }

    /// Where the worker is.
    pub fn stage(&self) -> Stage {
        Stage::unpack(self.stage.load(Ordering::Relaxed))
    }

    /// The worker is at `stage` now.
    #[inline]
    pub(crate) fn enter(&self, stage: Stage) {
        self.stage.store(stage.pack(), Ordering::Relaxed);
    }

    /// A turn has ended. The worker counts, so that a store is all that it takes.
    #[inline]
    pub(crate) fn publish(&self, turns: u64, busy: u64) {
        self.turns.store(turns, Ordering::Relaxed);
        self.busy.store(busy, Ordering::Relaxed);
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
        let port = PortId(u16::MAX);
        for stage in [Stage::Ingress(port), Stage::Exchange, Stage::Egress(port), Stage::Command, Stage::Idle]
        {
            monitor.enter(stage);
            assert_eq!(monitor.stage(), stage);
        }
    }
}
