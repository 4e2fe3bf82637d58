//! Which core runs which port.

use core::fmt;
use std::collections::BTreeMap;
use std::fs;

use units::BitRate;

/// Where a port's worker is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The core that the configuration names.
    pub core: Option<usize>,
    /// The rate of the port, by which ports are spread.
    pub rate: BitRate,
    /// The port that this one is patched to, by its place among the wishes: what comes in through one leaves
    /// through the other.
    pub peer: Option<usize>,
}

/// Why ports cannot be given cores.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoreError {
    /// A core that this process may not run on.
    #[error("core {core} cannot be used: this process may run on {}", Cores(.allowed))]
    NotAllowed {
        /// The core.
        core: usize,
        /// Those that it may run on.
        allowed: Vec<usize>,
    },
}

/// The cores that are used where the configuration names none: those that the kernel keeps free of other
/// work (`isolcpus`), else all but the first, which is left to the control thread; never more than there
/// are ports. On a machine of one core, that one.
pub fn automatic(allowed: &[usize], isolated: &[usize], ports: usize) -> Vec<usize> {
    let isolated: Vec<_> = allowed.iter().copied().filter(|core| isolated.contains(core)).collect();
    let candidates = match (isolated.as_slice(), allowed) {
        ([], [_, rest @ ..]) if !rest.is_empty() => rest,
        ([], all) => all,
        (isolated, _) => isolated,
    };
    candidates.iter().copied().take(ports.max(1)).collect()
}

/// The core of each port: that of its wish; of the others the fastest first, each to the core of its peer, so
/// that no frame has to cross between caches, or else to the core of `cores` that has the least to carry so
/// far.
///
/// # Errors
/// [`CoreError`] where a core is not among the `allowed` ones.
pub fn assign(wishes: &[Wish], cores: &[usize], allowed: &[usize]) -> Result<Vec<usize>, CoreError> {
    let named = wishes.iter().filter_map(|wish| wish.core);
    if let Some(core) = cores.iter().copied().chain(named).find(|core| !allowed.contains(core)) {
        return Err(CoreError::NotAllowed { core, allowed: allowed.to_vec() });
    }
    let mut load: BTreeMap<usize, u64> = cores.iter().map(|core| (*core, 0)).collect();
    let mut assigned: Vec<Option<usize>> = wishes.iter().map(|wish| wish.core).collect();
    for wish in wishes {
        if let Some(core) = wish.core {
            *load.entry(core).or_default() += wish.rate.bits_per_second();
        }
    }
    let mut open: Vec<usize> = (0..wishes.len()).filter(|port| assigned[*port].is_none()).collect();
    open.sort_by_key(|port| core::cmp::Reverse(wishes[*port].rate.bits_per_second()));
    for port in open {
        let least = load.iter().min_by_key(|(_, carried)| **carried).map(|(core, _)| *core);
        let least = least.expect("cores are named by the file, or there is an allowed one");
        let core = wishes[port].peer.and_then(|peer| assigned[peer]).unwrap_or(least);
        *load.entry(core).or_default() += wishes[port].rate.bits_per_second();
        assigned[port] = Some(core);
    }
    Ok(assigned.into_iter().flatten().collect())
}

/// The cores that the kernel keeps free of other work.
pub fn isolated() -> Vec<usize> {
    // Kernels without the file isolate nothing.
    let list = fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default();
    parse_list(&list)
}

/// `0-2,5` as the kernel writes lists of cores.
fn parse_list(list: &str) -> Vec<usize> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    });
    ranges.flatten().collect()
}

/// A list of cores, as people write it.
struct Cores<'a>(&'a [usize]);

impl fmt::Display for Cores<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "core {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(core: Option<usize>, gigabits: u64) -> Wish {
        Wish { core, rate: BitRate::gigabits(gigabits), peer: None }
    }

    fn patched(core: Option<usize>, peer: usize) -> Wish {
        Wish { peer: Some(peer), ..wish(core, 100) }
    }

    #[test]
    fn the_first_core_is_left_to_the_control_thread() {
        assert_eq!(automatic(&[0, 1, 2, 3], &[], 2), [1, 2]);
        assert_eq!(automatic(&[0, 1], &[], 8), [1]);
        assert_eq!(automatic(&[4], &[], 8), [4]);
    }

    #[test]
    fn isolated_cores_go_before_others() {
        assert_eq!(automatic(&[0, 1, 2, 3], &[2, 3, 9], 8), [2, 3]);
    }

    #[test]
    fn the_fastest_ports_are_spread_first() {
        let wishes = [wish(None, 10), wish(None, 100), wish(None, 40), wish(None, 40)];
        assert_eq!(assign(&wishes, &[1, 2], &[0, 1, 2]).unwrap(), [2, 1, 2, 2]);
    }

    #[test]
    fn a_core_that_is_named_is_kept_and_counts() {
        let wishes = [wish(Some(2), 100), wish(None, 10)];
        assert_eq!(assign(&wishes, &[1, 2], &[1, 2]).unwrap(), [2, 1]);
    }

    #[test]
    fn ports_that_are_patched_to_each_other_share_a_core_and_pairs_are_spread() {
        let wishes = [patched(None, 2), patched(None, 3), patched(None, 0), patched(None, 1)];
        assert_eq!(assign(&wishes, &[1, 2], &[1, 2]).unwrap(), [1, 2, 1, 2]);
        let apart = [patched(Some(1), 1), patched(Some(2), 0)];
        assert_eq!(assign(&apart, &[1, 2], &[1, 2]).unwrap(), [1, 2], "where the file wants it so");
        let beside = [patched(None, 1), patched(Some(2), 0)];
        assert_eq!(assign(&beside, &[1, 2], &[1, 2]).unwrap(), [2, 2]);
    }

    #[test]
    fn a_core_that_cannot_be_used_is_refused_with_those_that_can() {
        let error = assign(&[wish(Some(7), 1)], &[1], &[0, 1]).unwrap_err();
        assert_eq!(error.to_string(), "core 7 cannot be used: this process may run on core 0, 1");
    }

    #[test]
    fn the_kernels_lists_are_read() {
        assert_eq!(parse_list("1-3,6\n"), [1, 2, 3, 6]);
        assert!(parse_list("\n").is_empty());
    }
}
