//! The settings of a relay on a port.

use serde::{Deserialize, Serialize};
use units::{PortId, PrioritySet};

/// A relay toward the upstream of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relay {
    /// The port whose received pauses are passed on to the upstream. It must be another port, and of the same shard.
    /// Relays come alone or in pairs: if this port is a relay too, it passes on the pauses of that one.
    pub from: PortId,
}

impl Relay {
    /// Checks the settings on a port with these `lossless` priorities.
    pub(crate) fn validate(&self, lossless: PrioritySet) -> Result<(), RelayError> {
        if lossless.is_empty() { Err(RelayError::NoLossless) } else { Ok(()) }
    }
}

/// Checks the relays of a switch together: `relays` has [`Relay::from`] of each port that has one, in the order of ports.
/// Returns the first port with an error.
pub(crate) fn validate_together(relays: &[Option<PortId>]) -> Result<(), (PortId, RelayError)> {
    let numbered = || (0..).map(PortId).zip(relays).filter_map(|(port, from)| Some((port, (*from)?)));
    for (port, from) in numbered() {
        let Some(partner) = relays.get(from.index()) else {
            return Err((port, RelayError::NoSuchPort { from }));
        };
        let is_itself = port == from;
        let is_third = partner.is_some_and(|it| it != port);
        let is_shared = numbered().any(|(other, its)| other < port && its == from);
        if is_itself {
            return Err((port, RelayError::Itself));
        }
        if is_third || is_shared {
            return Err((port, RelayError::NotAPair));
        }
    }
    Ok(())
}

/// An error in the settings of a relay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// Nothing on the port is lossless.
    #[error("a relay needs a lossless priority to pause")]
    NoLossless,
    /// The switch has no such port.
    #[error("a relay passes on the pauses of port {}, which does not exist", from.0)]
    NoSuchPort {
        /// The given port.
        from: PortId,
    },
    /// The port would pass pauses back to the one that sent them.
    #[error(
        "a relay cannot pass pauses back to the port that received them; name the other port of its pair"
    )]
    Itself,
    /// Three ports are tied together.
    #[error("a relay joins two ports, and a third one names a port of this pair; give it its own pair")]
    NotAPair,
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Priority;

    #[test]
    fn a_relay_needs_something_to_pause() {
        let relay = Relay { from: PortId(1) };
        assert_eq!(relay.validate(PrioritySet::EMPTY), Err(RelayError::NoLossless));
        assert_eq!(relay.validate(PrioritySet::EMPTY.with(Priority::from_low_bits(3))), Ok(()));
    }

    #[test]
    fn relays_join_two_ports_one_way_or_both_ways_and_no_more() {
        let check = |from: &[Option<u16>]| {
            let relays: Vec<_> = from.iter().map(|it| it.map(PortId)).collect();
            validate_together(&relays)
        };
        for valid in
            [&[Some(1), Some(0)][..], &[Some(1), None], &[Some(1), Some(0), Some(3), Some(2)], &[None]]
        {
            assert_eq!(check(valid), Ok(()), "{valid:?}");
        }
        for (invalid, port, error) in [
            (&[Some(0), None][..], 0, RelayError::Itself),
            (&[Some(2), None], 0, RelayError::NoSuchPort { from: PortId(2) }),
            (&[Some(2), Some(2), None], 1, RelayError::NotAPair),
            (&[Some(1), Some(2), Some(0)], 0, RelayError::NotAPair),
        ] {
            assert_eq!(check(invalid), Err((PortId(port), error)), "{invalid:?}");
        }
    }
}
