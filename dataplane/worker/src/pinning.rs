//! Pinning of threads to cores.

/// Pins the calling thread to `core`, in the operating system's numbering. Returns `false` if there is no
/// such core or the process may not use it.
pub fn pin(core: usize) -> bool {
    let allowed = core_affinity::get_core_ids().unwrap_or_default().into_iter().find(|it| it.id == core);
    allowed.is_some_and(core_affinity::set_for_current)
}

/// The cores that the calling thread may run on.
pub fn allowed_cores() -> Vec<usize> {
    core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_was_put_and_a_core_that_is_not_there_is_refused() {
        let core = core_affinity::get_core_ids().unwrap()[0].id;
        let own = std::thread::spawn(move || (pin(core), core_affinity::get_core_ids().unwrap()));
        let (pinned, allowed) = own.join().unwrap();
        assert!(pinned);
        assert_eq!(allowed.iter().map(|it| it.id).collect::<Vec<_>>(), [core]);
        assert!(!std::thread::spawn(|| pin(100_000)).join().unwrap());
    }
}
