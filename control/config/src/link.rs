//! The link of a port.

use switch::program::PortSettings;
use units::{BitRate, Distance, Interval, PrioritySet};

use crate::headroom::{HeadroomSum, HeadroomTerms};

/// The properties of a link that headroom and LSCC depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Length of the fibre, one way, if it is known.
    pub distance: Option<Distance>,
    /// Delays of NICs, PHYs and worker turns, both ends together.
    pub interface_delay: Interval,
    /// The senders that LSCC on the port expects.
    pub senders: Senders,
    /// The bounds within which a measured delay takes the place of `distance`; `None` if it does not.
    pub delay: Option<DelayBounds>,
    /// The lossless priorities that the neighbour may turn off and on again by DCBX.
    pub willing: PrioritySet,
    /// Lanes of the gateway at this end.
    pub lanes: usize,
}

/// The delays, one way, that a measurement of a link is believed to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayBounds {
    /// The shortest one.
    pub least: Interval,
    /// The longest one.
    pub most: Interval,
}

impl DelayBounds {
    /// The margin of a measured delay: a thirty-second of it, and at least a microsecond.
    pub fn margin(delay: Interval) -> Interval {
        Interval(delay.0 / 32).max(Interval::from_micros(1))
    }
}

/// Senders with DCQCN that follow the rates of LSCC (equation 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Senders {
    /// Rate of each sender's link.
    pub rate: BitRate,
    /// R_AI.
    pub additive_increase: BitRate,
    /// T_i: the interval of the additive increase.
    pub rate_timer: Interval,
}

/// Links of 25 Gb/s, and DCQCN as its paper sets it.
impl Default for Senders {
    fn default() -> Self {
        Self {
            rate: const { BitRate::gigabits(25) },
            additive_increase: const { BitRate::megabits(40) },
            rate_timer: Interval::from_micros(55),
        }
    }
}

impl Link {
    /// The terms of the headroom of `port` on this link; `None` if the distance is unknown.
    pub fn terms(&self, port: &PortSettings, cell_occupancy: f64) -> Option<HeadroomTerms> {
        Some(HeadroomTerms {
            rate: port.rate,
            distance: self.distance?,
            max_frame: port.max_frame,
            longest_sent: port.longest_sent(),
            tx_window: port.tx_window,
            interface_delay: self.interface_delay,
            cell_occupancy,
            lanes: self.lanes,
            repaired: port.repaired_in_flight(),
        })
    }

    /// The headroom for each byte that arrives while a worker is late. With lanes, the one that sends pauses may be late after
    /// another one was.
    pub(crate) fn late_occupancy(&self, cell_occupancy: f64) -> f64 {
        if self.lanes > 1 { 2.0 * cell_occupancy } else { cell_occupancy }
    }

    /// The headroom of `port` on this link; `None` if the distance is unknown.
    pub(crate) fn headroom(&self, port: &PortSettings, cell_occupancy: f64) -> Option<HeadroomSum> {
        Some(HeadroomSum::new(&self.terms(port, cell_occupancy)?))
    }
}
