//! `[port.capfc]`.

use units::{Bytes, Interval};

use crate::keys::long_haul::SPANS;
use crate::place::At;
use crate::table::table;

table! {
    /// CaPFC toward the upstream of a port.
    CaPfcDecl {
        /// WARN: the port pauses its upstream while an egress queue is longer, in cells, and holds more than WARN / n of its frames, where n ports have frames in the queue
        warn: At<Bytes>, auto("what the port's rate carries in 40 us: 200 kB at 40G");
        /// How often the port looks
        interval: At<Interval>, within(SPANS), default(Interval::from_micros(1));
    }
}
