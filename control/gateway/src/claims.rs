//! Claims of cores among the gateways of one machine.
//!
//! A gateway claims the core of each worker. One that chooses its cores avoids claimed ones, and one that is
//! configured to use a claimed core warns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dpdk::Claim;

/// The claims of a gateway, held until this is dropped.
#[derive(Debug)]
pub struct Claims {
    _cores: Vec<Claim>,
}

/// A gateway's choice of cores. Gateways of one user choose one after the other: a look at a core locks it for a moment,
/// which another gateway would take for a claim, and both would choose a core that is free when both look.
#[derive(Debug)]
pub struct Choice {
    directory: PathBuf,
    _alone: Claim,
}

impl Choice {
    /// Begins to choose, with the lock files in `directory`, once no other gateway of this user does. Where no lock can
    /// be had, gateways choose at the same time.
    pub fn begin(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), _alone: Claim::wait(directory, "longspan-cores") }
    }

    /// The `cores` that another gateway has claimed.
    pub fn taken(&self, cores: &[usize]) -> BTreeSet<usize> {
        let (_claims, taken) = self.take(cores);
        taken
    }

    /// Ends the choice with a claim of `cores`, each once. Also returns those that another gateway has claimed.
    pub fn claim(self, cores: &[usize]) -> (Claims, BTreeSet<usize>) {
        self.take(cores)
    }

    fn take(&self, cores: &[usize]) -> (Claims, BTreeSet<usize>) {
        let cores: BTreeSet<usize> = cores.iter().copied().collect();
        let (mut claims, mut taken) = (Vec::new(), BTreeSet::new());
        for core in cores {
            match Claim::take(&self.directory, &format!("longspan-core-{core}")) {
                Some(claim) => claims.push(claim),
                None => drop(taken.insert(core)),
            }
        }
        (Claims { _cores: claims }, taken)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::Barrier;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn a_core_is_claimed_by_one_gateway_until_that_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let claim = |cores: &[usize]| Choice::begin(directory.path()).claim(cores);
        let taken = || Choice::begin(directory.path()).taken(&[0, 1, 2, 3]);
        let (one, shared) = claim(&[1, 2, 2]);
        assert_eq!(shared, BTreeSet::new());
        let (_other, shared) = claim(&[2, 3]);
        assert_eq!(shared, BTreeSet::from([2]));
        assert_eq!(taken(), BTreeSet::from([1, 2, 3]));
        drop(one);
        assert_eq!(taken(), BTreeSet::from([3]));
    }

    #[test]
    fn a_gateway_chooses_once_another_has_claimed_its_cores() {
        let directory = tempfile::tempdir().unwrap();
        let first = Choice::begin(directory.path());
        let ((beginning, begun), (looking, looked)) = (channel(), channel());
        thread::scope(|scope| {
            scope.spawn(|| {
                beginning.send(()).unwrap();
                looking.send(Choice::begin(directory.path()).taken(&[0, 1])).unwrap();
            });
            begun.recv().unwrap();
            assert_eq!(first.taken(&[0, 1]), BTreeSet::new());
            assert!(looked.try_recv().is_err(), "while another chooses");
            let (_claims, shared) = first.claim(&[1]);
            assert_eq!(shared, BTreeSet::new());
            assert_eq!(looked.recv().unwrap(), BTreeSet::from([1]));
        });
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn gateways_that_start_at_once_claim_different_cores() {
        const CORES: [usize; 4] = [0, 1, 2, 3];
        const STARTS: usize = 200;
        let directory = tempfile::tempdir().unwrap();
        let together = Barrier::new(CORES.len());
        let start = || {
            together.wait();
            let choice = Choice::begin(directory.path());
            let taken = choice.taken(&CORES);
            let core = CORES.into_iter().find(|core| !taken.contains(core)).unwrap();
            let (claims, shared) = choice.claim(&[core]);
            (core, claims, shared)
        };
        for _ in 0..STARTS {
            let started: Vec<_> = thread::scope(|scope| {
                let gateways = CORES.map(|_| scope.spawn(start));
                gateways.map(|gateway| gateway.join().unwrap()).into()
            });
            assert!(started.iter().all(|(_, _, shared)| shared.is_empty()));
            assert_eq!(started.iter().map(|(core, _, _)| *core).collect::<BTreeSet<_>>(), CORES.into());
        }
    }

    #[test]
    fn where_no_lock_can_be_had_gateways_choose_at_the_same_time() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = directory.path().join("nowhere");
        let (one, other) = (Choice::begin(&nowhere), Choice::begin(&nowhere));
        let (_one, shared) = one.claim(&[1]);
        assert!(shared.is_empty() && other.taken(&[1]).is_empty());
    }
}
