//! Claims of interfaces among the runs of one machine: two hosts on one interface would take each other's frames.

use dpdk::Claim;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Claims an interface of this network namespace; `None` if another run has it.
pub(crate) fn take(directory: &Path, interface: &str) -> Option<Claim> {
    // The same name is another interface in another network namespace.
    let namespace = fs::metadata("/proc/self/ns/net").map_or(0, |it| it.ino());
    Claim::take(directory, &format!("longspan-traffic-{namespace}-{interface}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_one_run_at_a_time_and_is_free_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let take = |interface| take(directory.path(), interface);
        let first = take("eth0").unwrap();
        assert!(take("eth0").is_none() && take("eth1").is_some());
        drop(first);
        assert!(take("eth0").is_some());
    }
}
