//! Several runs in parallel.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

/// Calls `work` for each number below `count`, lowest first, with up to `jobs` calls in parallel. Returns the results
/// in order.
///
/// # Panics
/// If `work` does.
pub fn work<T: Send>(count: usize, jobs: NonZeroUsize, work: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = done.get(index) else { break };
            let result = work(index);
            // If a worker panics, the scope panics, and no one sees the results.
            if let Ok(mut place) = place.lock() {
                *place = Some(result);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.get().min(count) {
            scope.spawn(worker);
        }
    });
    done.into_iter().map(|place| place.into_inner().ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_numbers_however_many_work() {
        for jobs in [1, 2, 7, 100] {
            let jobs = NonZeroUsize::new(jobs).unwrap();
            let squares: Vec<_> = work(20, jobs, |number| number * number).into_iter().flatten().collect();
            assert_eq!(squares, (0..20).map(|number| number * number).collect::<Vec<_>>());
        }
    }
}
