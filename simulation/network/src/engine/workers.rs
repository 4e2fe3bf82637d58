//! The threads on which the parts of a network run.

use super::log::Log;
use super::part::{Part, Window};
use crate::violation::Broken;
use core::hint::spin_loop;
use core::mem;
use core::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::thread::{self, Scope};

/// How often a thread looks for work before it sleeps, if each has a processor. Parts of one site meet every microsecond of
/// virtual time, and to wake a thread takes as long as they work in between.
const LOOKS: usize = 2_000;

const GONE: &str = "the thread of a part ends with the run only";

/// A thread that runs a part through windows.
struct Worker {
    work: Sender<(Part, Window)>,
    done: Receiver<(Part, Result<(), Broken>)>,
}

/// The threads beside that of the caller, each for one part.
pub(super) struct Workers {
    workers: Vec<Worker>,
    /// How often the caller looks for a result before it sleeps.
    looks: usize,
}

impl Workers {
    /// So many `workers`, which end when this is dropped.
    pub fn new<'scope>(scope: &'scope Scope<'scope, '_>, workers: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let looks = if workers < processors { LOOKS } else { 0 };
        let worker = |_| {
            let (work, orders) = channel::<(Part, Window)>();
            let (results, done) = channel();
            scope.spawn(move || {
                while let Ok((mut part, window)) = receive(&orders, looks) {
                    let result = through(&mut part, &window);
                    if results.send((part, result)).is_err() {
                        break;
                    }
                }
            });
            Worker { work, done }
        };
        Self { workers: (0..workers).map(worker).collect(), looks }
    }

    /// Runs each part through its window, and returns when all have come to its end. The caller's thread takes the first
    /// part, and those for which there is no worker.
    ///
    /// # Errors
    /// The violation that a part found first, with the number of that part.
    pub fn run(&self, parts: &mut Vec<Part>, windows: &[Window]) -> Result<(), (usize, Broken)> {
        let mut results = vec![Ok(()); parts.len()];
        let (mut own, mut sent) = (Vec::new(), Vec::new());
        for ((number, part), window) in parts.drain(..).enumerate().zip(windows) {
            let worker = number.checked_sub(1).and_then(|index| self.workers.get(index));
            match worker.filter(|_| part.next() < window.end) {
                Some(worker) => {
                    worker.work.send((part, *window)).expect(GONE);
                    sent.push((number, worker));
                }
                None => own.push((number, part, window)),
            }
        }
        let mut back = Vec::with_capacity(results.len());
        for (number, mut part, window) in own {
            results[number] = through(&mut part, window);
            back.push((number, part));
        }
        for (number, worker) in sent {
            let (part, result) = receive(&worker.done, self.looks).expect(GONE);
            results[number] = result;
            back.push((number, part));
        }
        back.sort_by_key(|(number, _)| *number);
        parts.extend(back.into_iter().map(|(_, part)| part));
        let broken =
            results.into_iter().enumerate().filter_map(|(number, result)| Some((number, result.err()?)));
        broken.min_by_key(|(number, _)| parts[*number].now).map_or(Ok(()), Err)
    }
}

/// The next message, after so many `looks` without sleep, or an error if there will be none.
fn receive<T>(from: &Receiver<T>, looks: usize) -> Result<T, RecvError> {
    for _ in 0..looks {
        match from.try_recv() {
            Err(TryRecvError::Empty) => spin_loop(),
            Ok(message) => return Ok(message),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
        }
    }
    from.recv()
}

fn through(part: &mut Part, window: &Window) -> Result<(), Broken> {
    let mut log: Log = mem::take(&mut part.log);
    let result = part.run(window, &mut log);
    part.log = log;
    result
}

#[cfg(test)]
mod tests {
    use super::super::Engine;
    use super::super::testing::{SITES, first_difference, flows, networks, numbered, run, three_sites};
    use crate::network::{FlowSpec, NodeId};
    use crate::options::Options;
    use crate::testing::flow;
    use core::iter;
    use endpoint::FlowId;
    use proptest::prelude::*;
    use units::Nanos;

    #[test]
    fn lone_starts_within_a_part_are_handed_out_while_a_flow_is_on_its_way_and_the_last_never() {
        let spec = |id, (start, source, destination)| FlowSpec {
            id: FlowId(id),
            start: Nanos(start),
            source: NodeId(source),
            destination: NodeId(destination),
            ..flow(Some(50_000))
        };
        let handed_out = |first, others: &[(u64, u32, u32)]| {
            let mut flows =
                iter::once(first).chain(others.iter().copied()).zip(0..).map(|(it, id)| spec(id, it));
            let mut engine = Engine::of_parts(three_sites(), Options::default(), SITES.to_vec());
            engine.pull(&mut flows);
            engine.follow_schedule(&mut flows, &mut ()).ok().unwrap();
            engine.hand_starts_out(Nanos(1_000), &mut flows);
            let ids: Vec<u32> = engine.parts[0].starts.iter().map(|start| start.flow.spec.id.0).collect();
            let next = engine.parts[0].starts.front().map(|start| start.flow.spec.start);
            engine.take_starts_back();
            let back: Vec<u32> = engine.ready.iter().map(|start| start.flow.spec.id.0).collect();
            assert_eq!(
                (&back, next.unwrap_or(engine.next_start_or_stop())),
                (&ids, engine.next_start_or_stop())
            );
            ids
        };
        let (far, near) = ((0, 0, 2), (0, 4, 5));
        let local = |start| (start, 4, 5);
        assert_eq!(handed_out(far, &[local(100), local(200), local(300)]), [1, 2]);
        assert_eq!(handed_out(near, &[local(100), local(200), local(300)]), [], "none is sure to last");
        assert_eq!(handed_out(far, &[local(100), local(200), (200, 5, 4), local(300)]), [1], "two at once");
        assert_eq!(
            handed_out(far, &[local(100), (200, 1, 3), local(300), local(400)]),
            [1],
            "to another part"
        );
        assert_eq!(handed_out(far, &[local(100), local(1_000), local(2_000)]), [1], "after the round");
    }

    proptest! {
        // Six runs each.
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn parts_and_threads_change_no_result(network in networks(), flows in flows()) {
            let flows = numbered(&network, flows);
            let whole = run(&network, &flows, &[0; 9], 1);
            let two = SITES.map(|site| site.min(1));
            // Frames within a part cross another one, as between racks.
            let apart = SITES.map(|site| usize::from(site == 1));
            for (homes, threads) in [(SITES, 1), (SITES, 2), (SITES, 3), (two, 2), (apart, 2)] {
                let parted = run(&network, &flows, &homes, threads);
                let difference = first_difference(&parted, &whole);
                prop_assert_eq!(difference, None, "{} threads", threads);
            }
        }
    }
}
