//! The instants at which a switch notices that a link of a bundle fails, or is back.

use crate::network::Faults;
use serde::{Deserialize, Serialize};
use switch::program::Membership;
use units::{Interval, Nanos, PortId};

/// The time after which a switch notices that a link has lost its carrier, or has one again: the longest that a gateway takes.
const NOTICED_AFTER: Interval = Membership::CARRIER_WATCH;

/// What the ports of a switch will notice.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Carriers(Vec<Carrier>);

/// The next change of one port.
#[derive(Debug, Serialize, Deserialize)]
struct Carrier {
    port: PortId,
    /// When it is noticed.
    at: Nanos,
    up: bool,
    /// From a change to the next: how long the link is down, and how long it is up if it fails again.
    down_for: Interval,
    up_for: Option<Interval>,
}

impl Carriers {
    /// Adds `port`, whose link has `faults` in one direction.
    pub fn add(&mut self, port: PortId, faults: &Faults) {
        let Some((from, to)) = faults.down.filter(|_| !faults.hidden) else { return };
        let down_for = to.since(from);
        let up_for = faults.flap_every.map(|every| every - down_for);
        self.0.push(Carrier { port, at: from + NOTICED_AFTER, up: false, down_for, up_for });
    }

    /// The instant of the next change; never if there is none.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.0.iter().map(|carrier| carrier.at).min().unwrap_or(Nanos::NEVER)
    }

    /// Takes a change that is due at `now`: the port, and whether its link is up.
    #[inline]
    pub fn take(&mut self, now: Nanos) -> Option<(PortId, bool)> {
        let carrier = self.0.iter_mut().find(|carrier| carrier.at <= now)?;
        let changed = (carrier.port, carrier.up);
        carrier.at = match (carrier.up, carrier.up_for) {
            (false, _) => carrier.at + carrier.down_for,
            (true, Some(up_for)) => carrier.at + up_for,
            (true, None) => Nanos::NEVER,
        };
        carrier.up = !carrier.up;
        Some(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_notices_each_fault_of_a_flapping_link_and_none_that_is_hidden() {
        let ms = |ms: u64| Nanos(ms * 1_000_000);
        let faults = Faults {
            down: Some((ms(10), ms(30))),
            flap_every: Some(Interval::from_millis(100)),
            ..Faults::default()
        };
        let mut carriers = Carriers::default();
        carriers.add(PortId(1), &Faults { hidden: true, ..faults });
        assert_eq!(carriers.next(), Nanos::NEVER);
        carriers.add(PortId(2), &faults);
        for (at, up) in [(15, false), (35, true), (115, false), (135, true), (215, false)] {
            assert_eq!((carriers.next(), carriers.take(ms(at - 1))), (ms(at), None));
            assert_eq!(carriers.take(ms(at)), Some((PortId(2), up)));
        }
    }

    #[test]
    fn a_link_that_fails_once_is_noticed_twice() {
        let mut carriers = Carriers::default();
        carriers.add(PortId(0), &Faults { down: Some((Nanos(1), Nanos(2))), ..Faults::default() });
        assert_eq!(carriers.take(Nanos(5_000_001)), Some((PortId(0), false)));
        assert_eq!(carriers.take(Nanos(5_000_002)), Some((PortId(0), true)));
        assert_eq!(carriers.next(), Nanos::NEVER);
    }
}
