//! Claims of cores among the gateways of one machine.
//!
//! A gateway claims the core of each worker. One that chooses its cores avoids claimed ones, and one that is
//! configured to use a claimed core warns.

use std::collections::BTreeSet;
use std::path::Path;

use dpdk::Claim;

/// The claims of a gateway, held until this is dropped.
#[derive(Debug, Default)]
pub struct Claims {
    cores: Vec<Claim>,
}

impl Claims {
    /// Claims `cores`, each once. Returns those already claimed by another gateway.
    pub fn take(&mut self, directory: &Path, cores: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let cores: BTreeSet<usize> = cores.into_iter().collect();
        let mut taken = BTreeSet::new();
        for core in cores {
            match Claim::take(directory, &format!("longspan-core-{core}")) {
                Some(claim) => self.cores.push(claim),
                None => drop(taken.insert(core)),
            }
        }
        taken
    }
}

/// The `cores` that another gateway has claimed.
pub fn taken(directory: &Path, cores: &[usize]) -> BTreeSet<usize> {
    Claims::default().take(directory, cores.iter().copied())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_claimed_by_one_gateway_until_that_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (Claims::default(), Claims::default());
        assert_eq!(one.take(directory.path(), [1, 2, 2]), BTreeSet::new());
        assert_eq!(other.take(directory.path(), [2, 3]), BTreeSet::from([2]));
        assert_eq!(taken(directory.path(), &[0, 1, 2, 3]), BTreeSet::from([1, 2, 3]));
        drop(one);
        assert_eq!(taken(directory.path(), &[0, 1, 2, 3]), BTreeSet::from([3]));
    }
}
