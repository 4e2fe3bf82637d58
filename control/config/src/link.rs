//! The link of a port.

use switch::program::PortSettings;
use units::{Distance, Interval};

use crate::headroom::HeadroomTerms;

/// The properties of a link that headroom depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Length of the fibre, one way, if it is known.
    pub distance: Option<Distance>,
    /// Delays of NICs, PHYs and worker turns, both ends together.
    pub interface_delay: Interval,
}

impl Link {
    /// The terms of the headroom of `port` on this link; `None` if the distance is unknown.
    pub fn terms(&self, port: &PortSettings, cell_occupancy: f64) -> Option<HeadroomTerms> {
        Some(HeadroomTerms {
            rate: port.rate,
            distance: self.distance?,
            max_frame: port.max_frame,
            tx_window: port.tx_window,
            interface_delay: self.interface_delay,
            cell_occupancy,
        })
    }
}
