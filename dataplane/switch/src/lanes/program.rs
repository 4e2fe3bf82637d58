//! The program of a lane: what several lanes may run, and the part that each of them has.

use crate::flow_control::FlowControl;
use crate::program::{GroupSettings, PortSettings, Program, Settings, Threshold};
use units::{Bytes, Priority};

/// A setting that has no bound for several lanes yet. `port` is the port's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("port {port}: {} works with one lane only", what.name())]
pub struct LanesRefusal {
    /// The port.
    pub port: String,
    /// The setting.
    pub what: Unshared,
}

units::named! {
    /// A setting that works with one lane only.
    Unshared {
        /// A flow control other than PFC at the thresholds.
        FlowControl = "a flow control other than PFC",
        /// A scheme that notifies senders.
        Notifiers = "a scheme that notifies senders",
        /// The PFC watchdog.
        Watchdog = "the watchdog",
        /// A rate limit of the port or a queue.
        RateLimit = "a rate limit",
        /// The remap of frames that bounce.
        Remap = "the remap of frames that bounce",
        /// Queues beside those of the priorities.
        Queues = "a second queue of a priority",
        /// ECN thresholds that move.
        AdaptiveEcn = "adaptive ECN",
        /// In-band telemetry.
        Int = "in-band telemetry",
        /// The measurement of the link.
        LinkDelay = "the measurement of the link",
        /// The link agent.
        LinkAgent = "the link agent",
    }
}

impl Program {
    /// The program that each of `lanes` lanes runs. Reserved bytes are divided among them, and thresholds that count these stay
    /// what they are for the sum. For one lane it is this program.
    ///
    /// # Errors
    /// [`LanesRefusal`]: the first setting that works with one lane only.
    pub fn for_lanes(&self, lanes: usize) -> Result<Self, LanesRefusal> {
        let mut settings = self.settings().clone();
        if lanes > 1 {
            for port in &mut settings.ports {
                if let Some(what) = unshared(port) {
                    return Err(LanesRefusal { port: port.name.clone(), what });
                }
                divide(port, lanes as u64);
            }
        }
        Ok(self.of_lane(settings))
    }

    fn of_lane(&self, settings: Settings) -> Self {
        self.with_settings(settings).expect("less is reserved below the same thresholds")
    }
}

fn unshared(port: &PortSettings) -> Option<Unshared> {
    let PortSettings { flow_control, notifiers, watchdog, rate_limit, queues, slow, .. } = port;
    let limited = rate_limit.is_some() || queues.iter().any(|queue| queue.rate_limit.is_some());
    let adapts = queues.iter().any(|queue| queue.red.is_some_and(|red| red.adaptive.is_some()));
    let found = [
        (!matches!(flow_control, FlowControl::Pfc), Unshared::FlowControl),
        (notifiers.flows(port.rate).is_some(), Unshared::Notifiers),
        (watchdog.is_some(), Unshared::Watchdog),
        (slow.is_some() || queues.len() != Priority::COUNT, Unshared::Queues),
        (limited, Unshared::RateLimit),
        (port.remap != Default::default(), Unshared::Remap),
        (adapts, Unshared::AdaptiveEcn),
        (port.int, Unshared::Int),
        (port.link_delay.is_some(), Unshared::LinkDelay),
        (port.link_agent.is_some(), Unshared::LinkAgent),
    ];
    found.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}

/// Gives each of `lanes` lanes its part of what is reserved. Thresholds count all that is reserved, and so do the levels that
/// lanes show each other.
fn divide(port: &mut PortSettings, lanes: u64) {
    for group in port.groups.iter_mut().filter_map(GroupSettings::lossless_mut) {
        group.reserved = Bytes(group.reserved.0 / lanes);
        // A lane that has none of its own part taken sees XOFF so much earlier, and must not see XON at that level.
        match group.xoff {
            Threshold::Static(xoff) => group.xon = group.xon.min(xoff - group.reserved),
            Threshold::Dynamic(_) => group.xon_offset = group.xon_offset.max(group.reserved),
        }
    }
    for queue in &mut port.queues {
        queue.lossy.reserved = Bytes(queue.lossy.reserved.0 / lanes);
    }
}
