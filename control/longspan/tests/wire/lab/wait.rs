//! Waiting for a condition instead of for a time.

use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long a look is from the next.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// What `look` finds, as soon as it finds it. Panics with `what` when it has not within [`PATIENCE`].
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for: {what}");
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Waits until `holds`.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}
