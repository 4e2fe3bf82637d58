//! A configuration to replace the one in force, with its tables.

use super::fabric::{SendersByPort, senders_of};
use crate::forwarding::Bridge;
use crate::program::{BridgeSettings, ForwardingSettings, Program};
use core::fmt;
use std::sync::Arc;

/// A [`Program`] with its tables, for [`Shard::succeed`](crate::Shard::succeed) to put in force. Make it, and drop
/// it afterwards, where allocation may take its time: after the exchange it holds the former configuration and
/// tables.
///
/// It has every table that the shard might need, because the shard's own may change in the meantime. Of a table
/// that is not used, the index is written, 8 to 16 bytes for each flow or address; the rest is only reserved.
pub struct Successor {
    pub(super) program: Arc<Program>,
    pub(super) bridge: Bridge,
    pub(super) senders: SendersByPort,
}

impl Successor {
    /// The tables of `program`.
    pub fn new(program: Arc<Program>) -> Self {
        Self { bridge: bridge_of(&program), senders: senders_of(&program), program }
    }

    /// The configuration: the new one, and after [`Shard::succeed`](crate::Shard::succeed) the former one.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }
}

impl fmt::Debug for Successor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Successor").field("program", &self.program).finish_non_exhaustive()
    }
}

/// The bridge of `program`; of the least size where the switch is no bridge.
pub(super) fn bridge_of(program: &Program) -> Bridge {
    let settings = program.settings();
    let own = settings.ports.iter().map(|port| port.mac).collect();
    match &settings.forwarding {
        ForwardingSettings::Bridge(bridge) => Bridge::new(bridge, own, program.hash_key()),
        _ => {
            let least = BridgeSettings { capacity: 1, ..BridgeSettings::default() };
            Bridge::new(&least, own, program.hash_key())
        }
    }
}
