//! The kernel's hugepages.

use std::fs;
use std::path::Path;

use units::Bytes;

/// The kernel's directory of hugepage sizes.
pub(crate) const SYSFS: &str = "/sys/kernel/mm/hugepages";

/// Free hugepages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hugepages {
    pub page_size: Bytes,
    pub free: u64,
}

/// Free hugepages by size, smallest first. Empty if the kernel has none.
pub(crate) fn hugepages(sysfs: &Path) -> Vec<Hugepages> {
    let entries = fs::read_dir(sysfs).into_iter().flatten().flatten();
    let mut found: Vec<Hugepages> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let kibibytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            let free = fs::read_to_string(entry.path().join("free_hugepages")).ok()?;
            Some(Hugepages { page_size: Bytes(kibibytes << 10), free: free.trim().parse().ok()? })
        })
        .collect();
    found.sort_by_key(|pages| pages.page_size);
    found
}

/// The total size of all free hugepages.
pub(crate) fn free(pages: &[Hugepages]) -> Bytes {
    Bytes(pages.iter().map(|pages| pages.page_size.0.saturating_mul(pages.free)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_hugepages_of_all_sizes_are_added_up() {
        let sysfs = tempfile::tempdir().unwrap();
        for (name, free) in [("hugepages-1048576kB", "1\n"), ("hugepages-2048kB", "3\n"), ("other", "9\n")] {
            fs::create_dir(sysfs.path().join(name)).unwrap();
            fs::write(sysfs.path().join(name).join("free_hugepages"), free).unwrap();
        }
        let pages = hugepages(sysfs.path());
        assert_eq!(pages[0], Hugepages { page_size: Bytes(2 << 20), free: 3 });
        assert_eq!(free(&pages), Bytes((1 << 30) + (6 << 20)));
    }

    #[test]
    fn a_kernel_without_hugepages_has_none_free() {
        assert_eq!(free(&hugepages(Path::new("/nowhere"))), Bytes(0));
    }
}
