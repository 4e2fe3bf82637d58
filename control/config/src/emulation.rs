//! Builds the emulated link behind a port, and derives a distance from its delay.

use units::{Distance, Interval};

use crate::keys::running::EmulationDecl;
use crate::machine::Probability;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::runtime::Emulation;
use crate::table::{at, or};

/// Builds the emulated link of a port of that `distance`. Returns `None` and notes an error if the delay is unknown.
pub(crate) fn build(
    decl: &EmulationDecl,
    distance: Option<Distance>,
    problems: &Problems<'_>,
) -> Option<Emulation> {
    let stated = decl.delay.as_ref().map(|delay| delay.value);
    let Some(delay) = stated.or_else(|| Some(distance?.propagation())) else {
        let when = "because the port has no distance; for example, write delay = \"400us\" here, or distance = \"80km\" on the port";
        problems.error(&decl.place.of_key("delay"), ProblemKind::Needed { when });
        return None;
    };
    if let (Some(stated), Some(distance)) = (&decl.delay, distance)
        && delay > distance.propagation()
    {
        let (propagation, least) = (distance.propagation(), reach(delay));
        problems
            .error(&stated.place, ProblemKind::DelayBeyondDistance { delay, distance, propagation, least });
    }
    // Long enough for later frames to overtake.
    let reorder_by = Interval(delay.0 / 10).max(Interval::from_micros(10));
    Some(Emulation {
        delay,
        loss: decl.loss().0,
        duplicate: decl.duplicate().0,
        reorder: decl.reorder().0,
        reorder_by: or(&decl.reorder_by, reorder_by),
        control: decl.control(),
    })
}

/// The keys from which [`build`] builds the same link.
pub(crate) fn in_force(emulation: &Emulation) -> EmulationDecl {
    let Emulation { delay, loss, duplicate, reorder, reorder_by, control } = *emulation;
    EmulationDecl {
        delay: at(delay),
        loss: at(Probability(loss)),
        duplicate: at(Probability(duplicate)),
        reorder: at(Probability(reorder)),
        reorder_by: at(reorder_by),
        control: at(control),
        place: Place::default(),
    }
}

/// The shortest fibre on which light takes `delay`.
pub(crate) fn reach(delay: Interval) -> Distance {
    let metres = (u128::from(delay.0) * u128::from(Distance::FIBRE_SPEED)).div_ceil(1_000_000_000);
    Distance(u64::try_from(metres).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_a_delay_takes_no_less_and_a_metre_less_takes_less() {
        for nanos in (0..1_000).chain([399_999, 400_000, 404_041, 200_000_000]) {
            let distance = reach(Interval(nanos));
            assert!(distance.propagation() >= Interval(nanos));
            assert!(distance.0 == 0 || (distance.0 - 1) * 1_000_000_000 < nanos * Distance::FIBRE_SPEED);
        }
        assert_eq!(reach(Interval::from_micros(400)), Distance(79_200));
    }
}
