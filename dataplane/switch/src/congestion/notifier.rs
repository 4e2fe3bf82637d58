//! The settings that schemes which notify senders have in common.

use crate::flows::settings::FlowSettings;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Priority};
use wire::ip::Dscp;

/// The flows that a scheme keeps, and the class of the notifications that it sends to their senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notifier {
    /// The most flows in the table, in both directions.
    pub flows: u32,
    /// The idle time after which a flow is forgotten.
    pub ageing: Interval,
    /// Round trip to the receivers behind the port: that of a long link, or of a data center, queues included.
    pub round_trip: Interval,
    /// DSCP of notifications.
    pub cnp_dscp: Dscp,
    /// PCP of notifications to a tagged flow.
    pub cnp_priority: Priority,
}

/// A setting of [`Notifier`] that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum NotifierError {
    #[error("a flow table of {flows} flows is out of range; expected 1 to {most}")]
    Flows { flows: u32, most: u32 },
    #[error("the ageing time must be above zero")]
    Ageing,
}

impl Notifier {
    /// The flow table that the scheme needs at a port of `rate`.
    pub const fn table(&self, rate: BitRate) -> FlowSettings {
        let Self { flows: capacity, ageing, round_trip, .. } = *self;
        // Each packet may be the one that is marked.
        FlowSettings { capacity, ageing, round_trip, rate, learn: 1 }
    }

    /// The DSCP of notifications, and their PCP to a tagged flow.
    pub(crate) const fn class(&self) -> (Dscp, Priority) {
        (self.cnp_dscp, self.cnp_priority)
    }

    /// Checks the settings that all schemes share.
    pub(crate) fn validate(&self) -> Result<(), NotifierError> {
        let Self { flows, ageing, .. } = *self;
        if flows == 0 || flows > FlowSettings::MOST {
            return Err(NotifierError::Flows { flows, most: FlowSettings::MOST });
        }
        if ageing == Interval::ZERO {
            return Err(NotifierError::Ageing);
        }
        Ok(())
    }
}

#[cfg(test)]
impl Notifier {
    /// Settings for tests.
    pub(crate) const PLAIN: Self = Self {
        flows: 64,
        ageing: Interval::from_secs(10),
        round_trip: Interval::from_micros(100),
        cnp_dscp: Dscp::from_low_bits(48),
        cnp_priority: Priority::from_low_bits(6),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_room_or_memory_is_refused() {
        let most = FlowSettings::MOST;
        for (flows, valid) in [(0, false), (1, true), (most, true), (most + 1, false)] {
            let checked = Notifier { flows, ..Notifier::PLAIN }.validate();
            assert_eq!(checked, if valid { Ok(()) } else { Err(NotifierError::Flows { flows, most }) });
        }
        let forgetful = Notifier { ageing: Interval::ZERO, ..Notifier::PLAIN };
        assert_eq!(forgetful.validate(), Err(NotifierError::Ageing));
    }
}
