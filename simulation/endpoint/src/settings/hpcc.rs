//! The parameters of HPCC.

use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval};
use wire::int::Format;

/// The parameters of HPCC, by their names in algorithm 1. The defaults are those of the paper's section 5.1,
/// where they could be checked against the authors' simulator
/// (alibaba-edu/High-Precision-Congestion-Control).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hpcc {
    /// eta: the target utilization of the fullest link, 0 to 1. 0.95.
    pub eta: f64,
    /// maxStage: additive increases before a multiplicative one probes for free bandwidth. 5, as in the
    /// paper; its authors have since called that a misprint, as their simulations ran with 0.
    pub max_stage: u32,
    /// W_AI: the additive increase of the window, which makes flows converge to equal shares. The rule of
    /// section 3.3 is `B T (1 - eta) / N` for N flows; 80 bytes is its value for 100 flows at 100G and 13 us.
    pub additive: Bytes,
    /// T: the longest round trip of the empty network. 13 us.
    pub base_rtt: Interval,
    /// The hops whose links are judged: the first five, as in the paper, or the first eight. Longer telemetry makes
    /// each packet 24 bytes longer.
    pub hops: Format,
    /// The minimum rate. Not in the paper; 100 Mb/s, as in the example of its authors' simulator.
    pub minimum: BitRate,
    /// HPCC*: the base round trip to the gateway before the long link. With it, the host computes a second window from
    /// the direct INT of that gateway, and the lesser counts. `None` ignores direct INT.
    pub near_rtt: Option<Interval>,
}

impl Default for Hpcc {
    fn default() -> Self {
        Self {
            eta: 0.95,
            max_stage: 5,
            additive: Bytes(80),
            base_rtt: Interval::from_micros(13),
            hops: Format::Five,
            minimum: const { BitRate::megabits(100) },
            near_rtt: None,
        }
    }
}

impl Hpcc {
    /// The defaults for a path whose round trip is `round_trip` without queues. T is that, and W_AI grows with T (`B T (1 -
    /// eta) / N`). Neither is less than the paper's.
    pub fn for_round_trip(round_trip: Interval) -> Self {
        let paper = Self::default();
        let base_rtt = paper.base_rtt.max(round_trip);
        let grown = u128::from(paper.additive.0) * u128::from(base_rtt.0) / u128::from(paper.base_rtt.0);
        Self { base_rtt, additive: Bytes(u64::try_from(grown).unwrap_or(u64::MAX)), ..paper }
    }
}
