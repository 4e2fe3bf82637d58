//! Lost data frames, from the totals of both ends (as the frame loss measurement of ITU-T Y.1731 clause 8.1, ETH-LM).

use serde::{Deserialize, Serialize};

/// The frames that are missing here of those sent there, since the first hello.
///
/// A hello may overtake data, which then seems to be missing until the next one. So what two hellos in a row miss is
/// lost. A link that is always busy can have some overtaken in each of them: a loss counts once it exceeds that, and
/// then in whole.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Balance {
    /// The difference of the totals in the first hello.
    first: Option<u64>,
    /// Missing frames in the hello with the fewest, and in the last one.
    fewest: i64,
    last: i64,
    counted: i64,
}

impl Balance {
    /// Takes a hello that says `sent`, when `received` have arrived. Returns how many frames are newly known to be
    /// lost, of which none counts up to `overtaken`.
    pub fn hear(&mut self, sent: u64, received: u64, overtaken: u64) -> u64 {
        let difference = sent.wrapping_sub(received);
        let missing = difference.wrapping_sub(*self.first.get_or_insert(difference)) as i64;
        self.fewest = self.fewest.min(missing);
        let lost = missing.min(self.last).saturating_sub(self.fewest);
        self.last = missing;
        match u64::try_from(lost.saturating_sub(self.counted)) {
            Ok(new) if new > overtaken => {
                self.counted = lost;
                new
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The losses that each hello shows, of pairs of totals.
    fn told(overtaken: u64, totals: &[(u64, u64)]) -> Vec<u64> {
        let mut balance = Balance::default();
        totals.iter().map(|(sent, received)| balance.hear(*sent, *received, overtaken)).collect()
    }

    #[test]
    fn a_loss_counts_once_two_hellos_in_a_row_show_it() {
        assert_eq!(told(0, &[(100, 40), (200, 137), (300, 237), (400, 337)]), [0, 0, 3, 0]);
    }

    #[test]
    fn data_that_a_hello_has_overtaken_is_not_lost() {
        assert_eq!(told(0, &[(100, 40), (200, 120), (300, 240), (400, 320), (500, 440)]), [0; 5]);
        assert_eq!(
            told(0, &[(100, 20), (200, 140), (300, 237), (400, 337)]),
            [0, 0, 0, 3],
            "the first one did"
        );
    }

    #[test]
    fn what_each_hello_may_overtake_is_not_lost_and_a_loss_beyond_it_counts_in_whole() {
        assert_eq!(told(20, &[(100, 40), (200, 120), (300, 220), (400, 320)]), [0; 4]);
        assert_eq!(told(20, &[(100, 40), (200, 119), (300, 219), (400, 319)]), [0, 0, 21, 0]);
    }

    proptest! {
        /// Two hellos see all that was lost before the first of them and nothing that was not lost.
        #[test]
        fn where_hellos_overtake_nothing_each_loss_counts_exactly(
            start: (u64, u64),
            steps in proptest::collection::vec((0_u64..1 << 20, 0_u64..100), 2..50),
        ) {
            let (mut balance, mut sent, mut received, mut counted) = (Balance::default(), start.0, start.1, 0);
            balance.hear(sent, received, 0);
            for (arrive, lost) in &steps {
                sent = sent.wrapping_add(arrive + lost);
                received = received.wrapping_add(*arrive);
                counted += balance.hear(sent, received, 0);
            }
            let shown_twice: u64 = steps[..steps.len() - 1].iter().map(|step| step.1).sum();
            prop_assert_eq!(counted, shown_twice);
        }

        #[test]
        fn whatever_the_other_end_says_nothing_overflows(
            hellos in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..50),
        ) {
            let mut balance = Balance::default();
            for (sent, received, overtaken) in hellos {
                balance.hear(sent, received, overtaken);
            }
        }
    }
}
