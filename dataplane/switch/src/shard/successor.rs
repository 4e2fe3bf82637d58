//! A configuration that is to take the place of the one in force, with the tables that it may need.

use super::fabric::{SendersByPort, senders_of};
use crate::forwarding::Bridge;
use crate::program::{BridgeSettings, ForwardingSettings, Program};
use core::fmt;
use std::sync::Arc;

/// A [`Program`] with the tables that follow from it, made where making them may take its time, for
/// [`Shard::succeed`](crate::Shard::succeed) to put in place. Afterwards it holds what was in force before, and is to be
/// dropped where dropping may take its time.
///
/// All tables are made, whether or not the shard will need them: what it has may have changed meanwhile. Memory that is
/// not used is reserved, and hardly touched.
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

/// The bridge of `program`: as small as can be where the switch is none.
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
