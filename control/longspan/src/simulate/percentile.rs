//! Exact percentiles: each is one of the values.

/// The index of a percentile in `count` sorted values, which is not zero: the smallest value that this percentage of
/// them does not exceed (nearest rank).
pub fn place_of(percent: usize, count: usize) -> usize {
    (count * percent).div_ceil(100).max(1) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_least_value_that_so_many_do_not_exceed() {
        assert_eq!([1, 2, 3, 4, 100, 101].map(|count| place_of(50, count)), [0, 0, 1, 1, 49, 50]);
        assert_eq!([1, 2, 99, 100, 101, 1_000].map(|count| place_of(99, count)), [0, 1, 98, 98, 99, 989]);
    }
}
