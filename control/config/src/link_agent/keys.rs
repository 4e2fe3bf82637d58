//! `[port.lldp]`.

use switch::link_agent::LinkAgent;
use units::{Interval, Priority};

use crate::place::At;
use crate::table::{List, table};

table! {
    /// The link agent of a port: [LLDP and DCBX](link-agent.md).
    LldpDecl {
        /// The time between two announcements
        interval: At<Interval>, within(LinkAgent::INTERVALS), default(Interval::from_secs(30));
        /// The intervals for which a neighbour believes an announcement
        hold: At<u8>, within(LinkAgent::HOLDS), default(4_u8);
        /// Whether the port announces its PFC, its ETS and the priority of RoCEv2
        dcbx: At<bool>, default(true);
        /// The priority in which hosts are asked to send RoCEv2
        roce: At<Priority>, auto("not announced");
        /// The lossless priorities that a neighbour may turn off and on again by its own PFC. All others stay as this file has them. Needs `flow_control = "pfc"` and `dcbx`
        willing: List<Priority>, auto("none: nothing of a neighbour is applied");
    }
}
