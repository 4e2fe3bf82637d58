//! `[port.relay]`.

use crate::place::At;
use crate::table::table;

table! {
    /// A relay toward the upstream of a port.
    RelayDecl {
        /// The port whose received pauses are passed on through this one. If that port is a relay too, it passes on those of this one
        from: At<String>, auto("the other port, if there are two");
    }
}
