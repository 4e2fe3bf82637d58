//! Several runs at a time.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

/// Does `work` for each number below `count`, up to `jobs` at a time, beginning with the lowest. What came of each,
/// in their order.
///
/// # Panics
/// Where `work` does.
pub fn work<T: Send>(count: usize, jobs: NonZeroUsize, work: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = done.get(index) else { break };
            let result = work(index);
            // A worker that panicked ends the scope by a panic, so nobody sees what it left.
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
