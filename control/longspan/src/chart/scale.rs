//! Round values and their units.

/// A unit, and its size in the base unit.
pub type Unit = (&'static str, u64);

/// Units of data. The base unit is the byte.
pub const BYTES: [Unit; 4] = [("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];
/// Units of rates. The base unit is one bit per second.
pub const RATES: [Unit; 5] =
    [("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000), ("Tb/s", 1_000_000_000_000)];
/// The unit of plain numbers.
pub const COUNTS: [Unit; 1] = [("", 1)];
/// Units of time. The base unit is the nanosecond.
pub const TIME: [Unit; 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// The smallest of 1, 2, 5, 10, 20, ... of which `count` steps reach `most`.
pub fn round_step(most: u64, count: u64) -> u64 {
    let least = most.div_ceil(count).max(1);
    let mut magnitude = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            let step = magnitude.saturating_mul(factor);
            if step >= least {
                return step;
            }
        }
        magnitude = magnitude.saturating_mul(10);
    }
}

/// The largest unit that is not larger than `most`.
pub fn unit_for(most: u64, units: &'static [Unit]) -> Unit {
    *units.iter().rev().find(|(_, size)| most >= *size).unwrap_or(&units[0])
}

/// Formats `value` in `unit`, with the decimals that multiples of `step` need.
pub fn figure(value: u64, step: u64, (name, size): Unit) -> String {
    let (whole, rest) = (value / size, value % size);
    let places = size.ilog10() as usize;
    let decimals = (0..places).find(|place| step.is_multiple_of(size / 10_u64.pow(*place as u32)));
    match decimals.unwrap_or(places) {
        0 if name.is_empty() => whole.to_string(),
        0 => format!("{whole} {name}"),
        decimals => format!("{whole}.{} {name}", &format!("{rest:0places$}")[..decimals]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_round_and_figures_have_the_decimals_of_their_step() {
        assert_eq!([1, 4, 5, 171_828, 50_125].map(|most| round_step(most, 4)), [1, 1, 2, 50_000, 20_000]);
        let kilo = unit_for(2_100, &BYTES);
        assert_eq!(kilo, ("kB", 1_000));
        assert_eq!([0, 500, 1_500].map(|value| figure(value, 500, kilo)), ["0.0 kB", "0.5 kB", "1.5 kB"]);
        assert_eq!(figure(13_350_000_000, 50_000_000, unit_for(27_000_000_000, &TIME)), "13.35 s");
        assert_eq!(figure(7, 1, unit_for(0, &BYTES)), "7 B");
        assert_eq!(figure(7, 1, unit_for(7, &COUNTS)), "7");
        assert_eq!(figure(250_000_000, 50_000_000, unit_for(900_000_000, &RATES)), "250 Mb/s");
    }

    proptest! {
        #[test]
        fn so_many_steps_reach_up_to_the_most_and_no_step_is_needlessly_long(
            most in 1_u64.., count in 1_u64..20,
        ) {
            let step = round_step(most, count);
            prop_assert!(u128::from(step) * u128::from(count) >= u128::from(most));
            prop_assert!(step == 1 || u128::from(step) * u128::from(count) <= 5 * u128::from(most) + 5 * u128::from(count));
        }
    }
}
