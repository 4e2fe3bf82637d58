//! `[port.p_pfc]`.

use units::{Bytes, Interval};

use crate::keys::long_haul::SPANS;
use crate::place::At;
use crate::table::table;

table! {
    /// P-PFC toward the upstream of a port.
    PPfcDecl {
        /// T: the port may pause its upstream once the shared pool would be full within this time. Less than a quarter of T_min below, or more than four times that, is a warning
        horizon: At<Interval>, within(SPANS), default(Interval::from_micros(100));
        /// R: the part of a congested egress queue that the ports to pause hold together, above 0 and up to 1
        coverage: At<f64>, default(0.8);
        /// How often the port predicts. The ticks of all ports are at multiples of it
        interval: At<Interval>, within(SPANS), default(Interval::from_micros(1));
        /// Kmax: an egress queue of up to this length, in cells, causes no pause
        kmax: At<Bytes>, auto("what the port's rate carries in 40 us: 200 kB at 40G, as in the paper");
    }
}
