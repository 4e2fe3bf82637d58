//! `[port.port_grants]`.

use crate::place::At;
use crate::table::table;

table! {
    /// Grants for each port of the far gateway. Their slots, buffer and round trip are those of [`[port.bifrost]`](#portbifrost).
    PortGrantsDecl {
        /// The most far ports that have grants and queues of their own, 0 to 14. 0: one grant for all. A port has room for 56 such queues, one for each far port and lossless priority
        far_ports: At<u8>, within(0..=14), default(14_u8);
    }
}
