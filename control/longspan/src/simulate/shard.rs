//! Shards of a plan, which run separately.

use core::fmt;
use core::num::NonZeroUsize;
use core::str::FromStr;

/// `I/N`: one of `count` parts of a plan that differ in size by one run at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1 to `count`.
    number: usize,
    /// The number of shards.
    count: NonZeroUsize,
}

impl Shard {
    /// Whether the shard has run `index` of the plan.
    ///
    /// The shards take turns, and the first of them changes with each round. Fewer than `count` runs in a row, such
    /// as the seeds of a variant, are in different shards. Without the change, `count` values of a sweep would each
    /// have their own shard, and the shard of the highest load would take the longest.
    pub fn has(self, index: usize) -> bool {
        let round = index / self.count;
        (index % self.count + round % self.count) % self.count == self.number - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let shard = text.split_once('/').and_then(|(number, count)| {
            Some(Self { number: number.parse().ok()?, count: count.parse().ok()? })
        });
        shard
            .filter(|shard| (1..=shard.count.get()).contains(&shard.number))
            .ok_or("expected I/N with I from 1 to N, for example 2/8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn shards(count: usize) -> impl Iterator<Item = Shard> + Clone {
        (1..=count).map(move |number| format!("{number}/{count}").parse().unwrap())
    }

    #[test]
    fn the_first_shard_of_each_round_is_another() {
        let runs = |shard: Shard| (0..9).filter(|index| shard.has(*index)).collect::<Vec<_>>();
        assert_eq!(shards(3).map(runs).collect::<Vec<_>>(), [[0, 5, 7], [1, 3, 8], [2, 4, 6]]);
    }

    #[test]
    fn shards_count_from_one() {
        for wrong in ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/4", "a/b", "1/99999999999999999999"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        assert_eq!("3/3".parse::<Shard>().unwrap().to_string(), "3/3");
    }

    proptest! {
        #[test]
        fn each_run_is_in_one_shard(runs in 0_usize..300, count in 1_usize..40) {
            for index in 0..runs {
                prop_assert_eq!(shards(count).filter(|shard| shard.has(index)).count(), 1);
            }
        }

        #[test]
        fn shards_differ_in_size_by_one_run_at_most(runs in 0_usize..300, count in 1_usize..40) {
            let sizes = shards(count).map(|shard| (0..runs).filter(|index| shard.has(*index)).count());
            let (least, most) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
            prop_assert!(most - least <= 1, "{} to {}", least, most);
        }

        #[test]
        fn fewer_runs_in_a_row_than_shards_are_in_different_shards(first: u32, count in 2_usize..40) {
            let first = first as usize;
            let row = first..first + count - 1;
            let used: BTreeSet<_> =
                row.clone().filter_map(|index| shards(count).position(|shard| shard.has(index))).collect();
            prop_assert_eq!(used.len(), row.len());
        }

        #[test]
        fn as_many_values_of_a_sweep_as_shards_are_spread_over_all(count in 2_usize..20, value: prop::sample::Index) {
            let value = value.index(count);
            let used: BTreeSet<_> = (0..count)
                .filter_map(|variant| shards(count).position(|shard| shard.has(variant * count + value)))
                .collect();
            prop_assert_eq!(used.len(), count);
        }
    }
}
