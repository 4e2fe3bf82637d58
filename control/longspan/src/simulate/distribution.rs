//! The distribution of values. Percentiles are exact: each is one of the values.

/// The index of a percentile in `count` sorted values, which is not zero: the smallest value that this percentage of
/// them does not exceed (nearest rank).
pub fn place_of(percent: usize, count: usize) -> usize {
    (count * percent).div_ceil(100).max(1) - 1
}

/// Mean, maximum and percentiles of `values`, by name; nothing if there are none.
pub fn distribution(mut values: Vec<f64>) -> Vec<(&'static str, f64)> {
    values.sort_unstable_by(f64::total_cmp);
    let Some(most) = values.last() else { return Vec::new() };
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let percentile = |percent| values[place_of(percent, values.len())];
    vec![
        ("mean", mean),
        ("max", *most),
        ("p50", percentile(50)),
        ("p95", percentile(95)),
        ("p99", percentile(99)),
    ]
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
