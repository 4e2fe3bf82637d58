//! A gate in front of a device: its queues pass it for each burst, and whoever closes it waits until none
//! of them is inside.

use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::io;

use rustix::thread::{MembarrierCommand, membarrier};

/// Queues of a device.
const QUEUES: usize = 3;

/// Whether the queues of a device may call it.
///
/// A queue says that it is inside, then looks whether the gate is open; whoever closes the gate does so
/// first, and then looks who is inside. One of the two sees the other, if neither processor lets its look
/// overtake what it said. For that the closer makes all processors of this process wait
/// ([`membarrier`]), which is slow and rare, and so a queue needs no fence in each burst.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Written by the control side, read by the queues.
    open: AtomicBool,
    inside: [Inside; QUEUES],
}

/// Whether a queue is inside. Written by its owner, read by who closes the gate. On cache lines of its
/// own, as processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Inside(AtomicBool);

impl Gate {
    /// A gate that is closed.
    pub fn closed() -> Self {
        Self { open: AtomicBool::new(false), inside: Default::default() }
    }

    /// Makes gates of this process work that are closed more than once.
    ///
    /// # Errors
    ///
    /// The kernel has no such barrier.
    pub fn prepare() -> io::Result<()> {
        Ok(membarrier(MembarrierCommand::RegisterPrivateExpedited)?)
    }

    /// Goes in, where the gate is open, until what is returned is dropped. Each of the [`QUEUES`] places
    /// is for one queue: two threads must not go in by the same one.
    #[inline(always)]
    pub fn enter(&self, place: usize) -> Option<Visit<'_>> {
        let Inside(inside) = &self.inside[place];
        inside.store(true, Ordering::Relaxed);
        // The closer's barrier makes it one of the processor.
        compiler_fence(Ordering::SeqCst);
        let visit = Visit(inside);
        self.open.load(Ordering::Acquire).then_some(visit)
    }

    /// Lets queues in.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
    }

    /// Lets nobody in any more. Those that are inside go on: see [`Gate::is_empty`].
    pub fn close(&self) {
        self.open.store(false, Ordering::SeqCst);
        let fenced = membarrier(MembarrierCommand::PrivateExpedited);
        fenced.expect("a process that has registered may use the barrier");
    }

    /// Whether nobody is inside. Once it is so behind a gate that is closed, it stays so.
    pub fn is_empty(&self) -> bool {
        self.inside.iter().all(|Inside(inside)| !inside.load(Ordering::Acquire))
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
    fn nobody_comes_in_by_a_closed_gate() {
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
    fn nobody_is_inside_once_a_closed_gate_was_seen_empty() {
        const ROUNDS: u64 = 2_000;
        Gate::prepare().unwrap();
        let gate = Gate::closed();
        // Odd while it must not be touched.
        let guarded = AtomicU64::new(0);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            for place in 0..2 {
                let (gate, guarded, ended) = (&gate, &guarded, &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let Some(_visit) = gate.enter(place) else {
                            thread::yield_now();
                            continue;
                        };
                        assert_eq!(guarded.load(Ordering::Relaxed) % 2, 0);
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
