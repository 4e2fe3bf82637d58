//! An emulated link behind a port: its delay, and what that says of the distance.

use units::{Distance, Interval};

use crate::build::or;
use crate::defaults;
use crate::problem::ProblemKind;
use crate::reader::{Place, Problems};
use crate::runtime::Emulation;
use crate::schema::EmulationDecl;
use crate::value::Probability;

/// What `decl` asks for on a port of that `distance`; `None` where the delay is not known, which has
/// been said.
pub(crate) fn build(
    decl: &EmulationDecl,
    distance: Option<Distance>,
    problems: &Problems<'_>,
) -> Option<Emulation> {
    let stated = decl.delay.as_ref().map(|delay| delay.value);
    let Some(delay) = stated.or_else(|| Some(distance?.propagation())) else {
        let when = "where the port has no distance; write for example delay = \"400us\" here, or distance = \"80km\" on the port";
        let place = Place { key: format!("{}.delay", decl.place.key), ..decl.place.clone() };
        problems.error(&place, ProblemKind::Needed { when });
        return None;
    };
    if let (Some(stated), Some(distance)) = (&decl.delay, distance)
        && delay > distance.propagation()
    {
        let (propagation, least) = (distance.propagation(), reach(delay));
        problems
            .error(&stated.place, ProblemKind::DelayBeyondDistance { delay, distance, propagation, least });
    }
    let probability = |at| or(at, Probability(0.0)).0;
    Some(Emulation {
        delay,
        loss: probability(&decl.loss),
        duplicate: probability(&decl.duplicate),
        reorder: probability(&decl.reorder),
        reorder_by: or(&decl.reorder_by, defaults::reorder_by(delay)),
        control: or(&decl.control, false),
    })
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
