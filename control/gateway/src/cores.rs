//! The choice of cores for the ports of a gateway.

use std::collections::BTreeSet;
use std::fs;

use config::cores::{self, Placement};

/// This process may not run on a core that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("core {core} is not available: this process may run only on cores {}", list(.allowed))]
pub struct CoreError {
    /// The core.
    pub core: usize,
    /// The allowed cores.
    pub allowed: Vec<usize>,
}

/// The default cores if the configuration names none: those that the kernel isolates (`isolcpus`), or else
/// all but the first, which is left to the control thread; never more than there are ports. Cores `taken` by
/// other gateways are excluded. If none remain, the first is used too, and if all are taken, a taken one.
pub fn automatic(allowed: &[usize], isolated: &[usize], taken: &BTreeSet<usize>, ports: usize) -> Vec<usize> {
    let isolated: Vec<_> = allowed.iter().copied().filter(|core| isolated.contains(core)).collect();
    let candidates = match (isolated.as_slice(), allowed) {
        ([], [_, rest @ ..]) if !rest.is_empty() => rest,
        ([], all) => all,
        (isolated, _) => isolated,
    };
    let free = |cores: &[usize]| -> Vec<usize> {
        cores.iter().copied().filter(|core| !taken.contains(core)).take(ports.max(1)).collect()
    };
    let choices = [free(candidates), free(allowed), candidates.iter().copied().take(ports.max(1)).collect()];
    choices.into_iter().find(|cores| !cores.is_empty()).unwrap_or_default()
}

/// The default cores of `lanes` lanes if the configuration names none: as [`automatic`] has it if those are enough, or else any
/// that no other gateway has taken, or else any. `None` if this process may run on fewer.
pub fn automatic_for_lanes(
    allowed: &[usize],
    isolated: &[usize],
    taken: &BTreeSet<usize>,
    lanes: usize,
) -> Option<Vec<usize>> {
    let free = allowed.iter().copied().filter(|core| !taken.contains(core)).collect();
    let choices = [automatic(allowed, isolated, taken, lanes), free, allowed.to_vec()];
    let enough = choices.into_iter().find(|cores: &Vec<_>| cores.len() >= lanes);
    enough.map(|cores| cores.into_iter().take(lanes).collect())
}

/// The core of each port ([`cores::assign`]), after a check that this process may run on all cores named in
/// the file.
///
/// # Errors
/// [`CoreError`] where a core is not among the `allowed` ones.
pub fn assign(placements: &[Placement], cores: &[usize], allowed: &[usize]) -> Result<Vec<usize>, CoreError> {
    let named = placements.iter().filter_map(|placement| placement.core);
    check(cores.iter().copied().chain(named), allowed)?;
    Ok(cores::assign(placements, cores))
}

/// Checks that this process may run on these cores.
///
/// # Errors
/// [`CoreError`] where one is not among the `allowed` ones.
pub fn check(cores: impl IntoIterator<Item = usize>, allowed: &[usize]) -> Result<(), CoreError> {
    match cores.into_iter().find(|core| !allowed.contains(core)) {
        Some(core) => Err(CoreError { core, allowed: allowed.to_vec() }),
        None => Ok(()),
    }
}

/// The cores that the kernel isolates.
pub fn isolated() -> Vec<usize> {
    // A kernel without this file isolates no cores.
    let list = fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default();
    parse_list(&list)
}

/// Parses the kernel's list format, such as `0-2,5`.
fn parse_list(list: &str) -> Vec<usize> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    });
    ranges.flatten().collect()
}

/// A list of cores, formatted for messages.
fn list(cores: &[usize]) -> String {
    cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    #[test]
    fn the_first_core_is_left_to_the_control_thread() {
        let none = BTreeSet::new();
        assert_eq!(automatic(&[0, 1, 2, 3], &[], &none, 2), [1, 2]);
        assert_eq!(automatic(&[0, 1], &[], &none, 8), [1]);
        assert_eq!(automatic(&[4], &[], &none, 8), [4]);
    }

    #[test]
    fn a_second_gateway_takes_other_cores_as_long_as_there_are_any() {
        let chosen = |taken: &[usize]| automatic(&[0, 1, 2], &[], &taken.iter().copied().collect(), 2);
        assert_eq!(chosen(&[1]), [2]);
        assert_eq!(chosen(&[1, 2]), [0], "rather than a core with another worker");
        assert_eq!(chosen(&[0, 1, 2]), [1, 2]);
    }

    #[test]
    fn lanes_take_as_many_cores_as_they_are_and_the_first_one_only_where_they_must() {
        let chosen = |allowed: &[usize], taken: &[usize], lanes| {
            automatic_for_lanes(allowed, &[], &taken.iter().copied().collect(), lanes)
        };
        assert_eq!(chosen(&[0, 1, 2, 3], &[], 2), Some(vec![1, 2]));
        assert_eq!(chosen(&[0, 1, 2, 3], &[1], 2), Some(vec![2, 3]));
        assert_eq!(chosen(&[0, 1, 2, 3], &[1, 2], 2), Some(vec![0, 3]));
        assert_eq!(chosen(&[0, 1], &[1], 2), Some(vec![0, 1]));
        assert_eq!(chosen(&[0, 1], &[], 3), None);
    }

    #[test]
    fn isolated_cores_go_before_others() {
        assert_eq!(automatic(&[0, 1, 2, 3], &[2, 3, 9], &BTreeSet::new(), 8), [2, 3]);
    }

    #[test]
    fn a_core_that_cannot_be_used_is_refused_with_those_that_can() {
        let placement = Placement { core: Some(7), rate: BitRate::gigabits(1), team: 0 };
        let error = assign(&[placement], &[1], &[0, 1]).unwrap_err();
        assert_eq!(error.to_string(), "core 7 is not available: this process may run only on cores 0, 1");
    }

    #[test]
    fn the_kernels_lists_are_read() {
        assert_eq!(parse_list("1-3,6\n"), [1, 2, 3, 6]);
        assert!(parse_list("\n").is_empty());
    }
}
