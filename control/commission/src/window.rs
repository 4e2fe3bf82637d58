//! The numbers of the frames that have come, so that one that comes twice does not stand for one that is lost.

/// Frames that one may be overtaken by.
const LENGTH: u64 = 4_096;
const WORDS: usize = LENGTH as usize / 64;

/// The last [`LENGTH`] numbers, one bit for each.
#[derive(Clone, Debug)]
pub struct Window {
    /// One more than the greatest number.
    end: u64,
    seen: [u64; WORDS],
}

impl Default for Window {
    fn default() -> Self {
        Self { end: 0, seen: [0; WORDS] }
    }
}

impl Window {
    /// Notes `number`. Returns whether it is new; one that is older than the window is not.
    pub fn see(&mut self, number: u64) -> bool {
        for new in self.end.max((number + 1).saturating_sub(LENGTH))..=number {
            self.seen[place(new)] &= !bit(new);
        }
        self.end = self.end.max(number + 1);
        let is_new = number + LENGTH >= self.end && self.seen[place(number)] & bit(number) == 0;
        self.seen[place(number)] |= bit(number);
        is_new
    }
}

fn place(number: u64) -> usize {
    (number % LENGTH / 64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_number_is_new_once_however_numbers_are_mixed(numbers in prop::collection::vec(0..LENGTH, 1..400)) {
            let (mut window, mut seen) = (Window::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(window.see(number), seen.insert(number));
            }
        }
    }

    #[test]
    fn a_number_that_is_older_than_the_window_is_not_new() {
        let mut window = Window::default();
        assert!(window.see(1) && window.see(LENGTH) && window.see(LENGTH + 2));
        assert!(!window.see(2) && window.see(3) && !window.see(3));
        assert!(window.see(10 * LENGTH) && window.see(9 * LENGTH + 1) && !window.see(9 * LENGTH));
    }
}
