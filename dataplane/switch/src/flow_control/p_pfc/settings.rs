//! The settings of P-PFC on a port.

use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, PrioritySet};

/// P-PFC on a port ("P-PFC: Reducing Tail Latency with Predictive PFC in Lossless Data Center Networks", table 2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PPfc {
    /// T: the port may pause its upstream once the shared pool would be full within this time. 100 us in the paper.
    pub horizon: Interval,
    /// R: the part of a congested egress queue that the ports to pause hold together, above 0 and up to 1. 0.8 in
    /// the paper.
    pub coverage: f64,
    /// The time between two looks, at least 1 us. 1 us in the paper.
    pub interval: Interval,
    /// Kmax: an egress queue of up to this length, in bytes of cells, causes no pause. 200 KB at 40 Gb/s in the
    /// paper, as for ECN.
    pub kmax: Bytes,
}

impl PPfc {
    /// Checks the settings on a port with these `lossless` priorities.
    pub(crate) fn validate(&self, lossless: PrioritySet) -> Result<(), PPfcError> {
        if lossless.is_empty() {
            return Err(PPfcError::NoLossless);
        }
        let (interval, least) = (self.interval, Interval::from_micros(1));
        if interval < least {
            return Err(PPfcError::Interval { interval, least });
        }
        let coverage = self.coverage;
        if !(coverage > 0.0 && coverage <= 1.0) {
            return Err(PPfcError::Coverage { coverage });
        }
        Ok(())
    }

    /// T_min (equation 5): the time in which ports of `rates` fill a buffer of `buffer` bytes at least. The paper
    /// advises a horizon close to it.
    pub fn shortest_fill(buffer: Bytes, rates: impl Iterator<Item = BitRate>) -> Interval {
        let rate: u128 = rates.map(|rate| u128::from(rate.bits_per_second())).sum();
        let nanos = u128::from(buffer.0) * 8_000_000_000 / rate.max(1);
        Interval(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// An error in the settings of P-PFC.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PPfcError {
    /// Nothing on the port is lossless.
    #[error("P-PFC needs a lossless priority to pause")]
    NoLossless,
    /// The interval is too short.
    #[error("a P-PFC interval of {interval} is too short; expected at least {least}")]
    Interval {
        /// The given interval.
        interval: Interval,
        /// The shortest possible one.
        least: Interval,
    },
    /// The coverage is no part of a queue.
    #[error("a P-PFC coverage of {coverage} is out of range; expected above 0 and up to 1")]
    Coverage {
        /// The given coverage.
        coverage: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Priority;

    const P_PFC: PPfc = PPfc {
        horizon: Interval::from_micros(100),
        coverage: 0.8,
        interval: Interval::from_micros(1),
        kmax: Bytes(200_000),
    };
    const LOSSLESS: PrioritySet = PrioritySet::EMPTY.with(Priority::from_low_bits(3));

    #[test]
    fn what_it_cannot_work_with_is_refused() {
        let with = |settings: PPfc| settings.validate(LOSSLESS);
        assert_eq!(with(P_PFC), Ok(()));
        assert_eq!(with(PPfc { coverage: 1.0, ..P_PFC }), Ok(()));
        assert_eq!(P_PFC.validate(PrioritySet::EMPTY), Err(PPfcError::NoLossless));
        let (interval, least) = (Interval(999), Interval(1_000));
        assert_eq!(with(PPfc { interval, ..P_PFC }), Err(PPfcError::Interval { interval, least }));
        for coverage in [0.0, -0.1, 1.1, f64::INFINITY] {
            assert_eq!(with(PPfc { coverage, ..P_PFC }), Err(PPfcError::Coverage { coverage }));
        }
        assert!(with(PPfc { coverage: f64::NAN, ..P_PFC }).is_err());
    }

    #[test]
    fn sixteen_ports_of_40g_fill_9_mb_in_112_us_as_in_the_paper() {
        let ports = || core::iter::repeat_n(BitRate::gigabits(40), 16);
        assert_eq!(PPfc::shortest_fill(Bytes(9_000_000), ports()), Interval(112_500));
        assert_eq!(PPfc::shortest_fill(Bytes::ZERO, ports()), Interval::ZERO);
    }
}
