//! The program of a lane: what several lanes may run, and the part that each of them has.

use crate::program::{PortSettings, Program, Settings};
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
        /// A flow control that one lane alone cannot run for all.
        FlowControl = "its flow control",
        /// A history of grants that expires before all lanes that may be late have read what it granted.
        Jitter = "a history of grants with less jitter than lateness",
        /// A scheme that notifies senders, or a way to do so, that lanes do not share.
        Notifiers = "its way to notify senders",
        /// A rate limit of the port or a queue.
        RateLimit = "a rate limit",
        /// The remap of frames that bounce.
        Remap = "the remap of frames that bounce",
        /// Queues beside those of the priorities.
        Queues = "a second queue of a priority",
        /// ECN thresholds that move.
        AdaptiveEcn = "adaptive ECN",
        /// Liveness of the members of a bundle by more than their carriers.
        Liveness = "the liveness of its bundle",
        /// In-band telemetry.
        Int = "in-band telemetry",
        /// Repair of what the link loses.
        Repair = "repair",
    }
}

impl Program {
    /// The program that each of `lanes` lanes runs: its part of the flows and of what lossy queues have reserved. For one lane it
    /// is this program.
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
    let PortSettings { flow_control, notifiers, rate_limit, queues, slow, .. } = port;
    let limited = rate_limit.is_some() || queues.iter().any(|queue| queue.rate_limit.is_some());
    let adapts = queues.iter().any(|queue| queue.red.is_some_and(|red| red.adaptive.is_some()));
    let found = [
        (!flow_control.runs_for_lanes(), Unshared::FlowControl),
        (flow_control.expires_early(), Unshared::Jitter),
        (!notifiers.run_on_lanes(), Unshared::Notifiers),
        (slow.is_some() || queues.len() != Priority::COUNT, Unshared::Queues),
        (limited, Unshared::RateLimit),
        (port.remap != Default::default(), Unshared::Remap),
        (adapts, Unshared::AdaptiveEcn),
        (port.bundle.as_ref().is_some_and(|it| it.liveness.is_some()), Unshared::Liveness),
        (port.int, Unshared::Int),
        (port.repair.is_some(), Unshared::Repair),
    ];
    found.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}

/// Gives each of `lanes` lanes its part of what lossy queues have reserved, and of the flows. Priority groups are joint.
fn divide(port: &mut PortSettings, lanes: u64) {
    port.notifiers.divide_flows(lanes as u32);
    for queue in &mut port.queues {
        queue.lossy.reserved = Bytes(queue.lossy.reserved.0 / lanes);
    }
}
