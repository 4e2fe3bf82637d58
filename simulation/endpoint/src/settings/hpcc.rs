//! The parameters of HPCC.

use units::{BitRate, Bytes, Interval};

/// The parameters of HPCC, by their names in algorithm 1. The defaults are those of the paper's section 5.1, where they
/// could be compared with the simulator of its authors (alibaba-edu/High-Precision-Congestion-Control).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hpcc {
    /// eta: how full the fullest link shall be, 0 to 1. 0.95.
    pub eta: f64,
    /// maxStage: additive increases before it looks for free bandwidth by a multiplicative one. 5 as the paper has it;
    /// its authors have since called that a misprint for their simulations, which ran with 0.
    pub max_stage: u32,
    /// W_AI: what the window grows by at a time, so that flows become equal. The rule of section 3.3 is
    /// `B T (1 - eta) / N` for N flows; 80 bytes, that of 100 flows at 100G and 13 us.
    pub additive: Bytes,
    /// T: the round trip of the network when it is empty, and the longest of them. 13 us.
    pub base_rtt: Interval,
    /// The rate below which it never falls. Not of the paper; 100 Mb/s as in the example of its authors' simulator.
    pub minimum: BitRate,
}

impl Default for Hpcc {
    fn default() -> Self {
        Self {
            eta: 0.95,
            max_stage: 5,
            additive: Bytes(80),
            base_rtt: Interval::from_micros(13),
            minimum: const { BitRate::new(100_000_000).expect("it is not zero") },
        }
    }
}
