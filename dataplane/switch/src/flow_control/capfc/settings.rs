//! The settings of CaPFC on a port.

use serde::{Deserialize, Serialize};
use units::{Bytes, Interval, PrioritySet};

/// CaPFC on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaPfc {
    /// WARN: the length of an egress queue above which the ports that hold more than their share of it are paused, in
    /// bytes of cells.
    pub warn: Bytes,
    /// The time between two looks, at least 1 us.
    pub interval: Interval,
}

impl CaPfc {
    /// Checks the settings on a port with these `lossless` priorities.
    pub(crate) fn validate(&self, lossless: PrioritySet) -> Result<(), CaPfcError> {
        if lossless.is_empty() {
            return Err(CaPfcError::NoLossless);
        }
        let (interval, least) = (self.interval, Interval::from_micros(1));
        if interval < least {
            return Err(CaPfcError::Interval { interval, least });
        }
        Ok(())
    }
}

/// An error in the settings of CaPFC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaPfcError {
    /// Nothing on the port is lossless.
    #[error("CaPFC needs a lossless priority to pause")]
    NoLossless,
    /// The interval is too short.
    #[error("a CaPFC interval of {interval} is too short; expected at least {least}")]
    Interval {
        /// The given interval.
        interval: Interval,
        /// The shortest possible one.
        least: Interval,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Priority;

    #[test]
    fn what_it_cannot_work_with_is_refused() {
        let least = Interval::from_micros(1);
        let settings = CaPfc { warn: Bytes(200_000), interval: least };
        let lossless = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
        assert_eq!(settings.validate(lossless), Ok(()));
        assert_eq!(settings.validate(PrioritySet::EMPTY), Err(CaPfcError::NoLossless));
        let interval = Interval(999);
        let error = CaPfcError::Interval { interval, least };
        assert_eq!(CaPfc { interval, ..settings }.validate(lossless), Err(error));
    }
}
