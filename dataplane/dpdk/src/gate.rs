//! A gate in front of a device: queues pass it for each burst, and a closer waits until none is inside.

use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::io;

use crossbeam_utils::CachePadded;
use rustix::thread::{MembarrierCommand, membarrier};

use crate::PortSettings;

/// The maximum number of queues of a device: so many for each direction, and one for control frames.
const QUEUES: usize = 2 * PortSettings::MOST_QUEUES as usize + 1;

/// Whether the queues of a device may call it.
///
/// A queue first marks itself as inside and then checks that the gate is open. A closer first closes the gate
/// and then checks for queues inside. At least one of them sees the other, provided that neither processor
/// reorders its check before its store. For this the closer makes all processors of the process execute a
/// barrier ([`membarrier`]). That is slow but rare, and queues need no fence per burst.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Written by the control side, read by the queues.
    open: AtomicBool,
    /// Whether a queue is inside. Written by its owner, read by who closes the gate.
    inside: [CachePadded<AtomicBool>; QUEUES],
}

impl Gate {
    /// A closed gate.
    pub fn closed() -> Self {
        Self { open: AtomicBool::new(false), inside: core::array::from_fn(|_| CachePadded::default()) }
    }

    /// Enables gates in this process that are closed after use.
    ///
    /// # Errors
    ///
    /// The kernel has no such barrier.
    pub fn prepare() -> io::Result<()> {
        Ok(membarrier(MembarrierCommand::RegisterPrivateExpedited)?)
    }

    /// Enters the gate, if it is open, until the returned value is dropped. Each of the [`QUEUES`] places
    /// belongs to one queue: two threads must not share one.
    #[inline(always)]
    pub fn enter(&self, place: usize) -> Option<Visit<'_>> {
        let inside = &*self.inside[place];
        inside.store(true, Ordering::Relaxed);
        // The closer's barrier turns this into a processor fence.
        compiler_fence(Ordering::SeqCst);
        let visit = Visit(inside);
        self.open.load(Ordering::Acquire).then_some(visit)
    }

    /// Lets queues in.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
    }

    /// Lets no more queues in. Queues that are inside continue: see [`Gate::is_empty`].
    pub fn close(&self) {
        self.open.store(false, Ordering::SeqCst);
        let fenced = membarrier(MembarrierCommand::PrivateExpedited);
        fenced.expect("a process that has registered may use the barrier");
    }

    /// Whether no queue is inside. Once true for a closed gate, it stays true.
    pub fn is_empty(&self) -> bool {
        self.inside.iter().all(|inside| !inside.load(Ordering::Acquire))
    }
}

/// A queue that is inside.
pub(crate) struct Visit<'a>(&'a AtomicBool);

impl Drop for Visit<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU64;
    use std::thread;

    #[test]
    fn a_closed_gate_lets_no_queue_in() {
        Gate::prepare().unwrap();
        let gate = Gate::closed();
        assert!(gate.enter(0).is_none());
        gate.open();
        let visit = gate.enter(0);
        assert!(visit.is_some());
        gate.close();
        assert!(gate.enter(1).is_none());
        assert!(!gate.is_empty());
        drop(visit);
        assert!(gate.is_empty());
    }

    #[test]
    fn no_queue_is_inside_once_a_closed_gate_was_empty() {
        const ROUNDS: u64 = 2_000;
        Gate::prepare().unwrap();
        let gate = Gate::closed();
        // Odd while access is forbidden.
        let guarded = AtomicU64::new(0);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            for place in 0..2 {
                let (gate, guarded, ended) = (&gate, &guarded, &ended);
                scope.spawn(move || {
                    // Beyond some visits a closer that shares the core would wait for the end of a time slice.
                    while !ended.load(Ordering::Relaxed) {
                        for _visit in (0..64).map_while(|_| gate.enter(place)) {
                            assert_eq!(guarded.load(Ordering::Relaxed) % 2, 0);
                        }
                        thread::yield_now();
                    }
                });
            }
            for round in 0..ROUNDS {
                gate.open();
                thread::yield_now();
                gate.close();
                while !gate.is_empty() {
                    thread::yield_now();
                }
                guarded.store(2 * round + 1, Ordering::Relaxed);
                thread::yield_now();
                guarded.store(2 * round + 2, Ordering::Relaxed);
            }
            ended.store(true, Ordering::Relaxed);
        });
    }
}
