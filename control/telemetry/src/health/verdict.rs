//! Verdicts, and what they rest on.

use report::Name;
use serde::Serialize;

units::named! {
    /// How bad a finding is, and so a class.
    #[derive(PartialOrd, Ord)]
    HealthVerdict [serde] {
        /// No rule holds.
        Healthy = "healthy",
        /// Nothing is lost, and someone should look at it.
        Watch = "watch",
        /// Frames of the class are lost or stand still, or nothing would keep the next burst from being lost.
        Unhealthy = "unhealthy",
    }
}

/// The health of a gateway.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Health {
    /// Its name.
    pub gateway: String,
    /// The time that the verdicts cover.
    pub over_ns: u64,
    /// Whether this is the time since its start.
    pub since_start: bool,
    /// The worst of the classes and of the findings.
    pub verdict: HealthVerdict,
    /// The finding that explains the others, or the first one in the order of the rules; `None` without any.
    pub cause: Option<Cause>,
    /// The findings about no class in particular.
    pub findings: Vec<Finding>,
    /// The lossless priorities of its ports.
    pub classes: Vec<ClassHealth>,
}

/// The health of one lossless priority of a port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassHealth {
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// The worst of the findings.
    pub verdict: HealthVerdict,
    /// Bytes that came in over the time.
    pub in_bytes: u64,
    /// Bytes that went out.
    pub out_bytes: u64,
    /// Bytes that its group holds.
    pub occupancy_bytes: u64,
    /// The most headroom that it has used.
    pub headroom_used_bytes: u64,
    /// Its headroom.
    pub headroom_bytes: u64,
    /// The share of the time for which the gateway paused the peer, 0 to 1.
    pub pauses_sent_share: f64,
    /// The share of the time for which the peer paused the queue.
    pub pauses_received_share: f64,
    /// Frames that were marked.
    pub marked: u64,
    /// The findings, in the order of the rules.
    pub findings: Vec<Finding>,
}

/// A rule that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// [`Rule::name`](super::Rule::name), or [`NO_LOSSLESS_CLASS`](super::NO_LOSSLESS_CLASS).
    pub rule: Name,
    /// [`Rule::verdict`](super::Rule::verdict).
    pub verdict: HealthVerdict,
    /// The observation in words, with figures.
    pub found: String,
    /// Advice on the next step.
    pub next: Name,
}

/// The finding that comes first, and where it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// The classes that have it, each as its port and priority; empty for one about no class in particular.
    pub at: Vec<String>,
}

impl Cause {
    /// `finding` of `classes`.
    pub(super) fn new(finding: &Finding, classes: &[&ClassHealth]) -> Self {
        let at = classes.iter().map(|it| format!("{} priority {}", it.port, it.priority)).collect();
        Self { finding: finding.clone(), at }
    }
}
