//! The view of a rule.

use crate::period::{Period, PortPeriod, PriorityPeriod};
use crate::snapshot::WorkerReport;

/// One priority of a port that is lossless by the file, over a time: what a rule looks at.
#[derive(Clone, Copy, Debug)]
pub struct Class<'a> {
    /// The gateway.
    pub gateway: Period<'a>,
    /// The port.
    pub port: PortPeriod<'a>,
    /// The priority.
    pub priority: PriorityPeriod<'a>,
}

impl<'a> Class<'a> {
    /// The most headroom that the group has used, as far as the period shows: the watermark, if it covers the whole time
    /// or has risen in it, and otherwise what the group uses at the end.
    pub fn headroom_used(&self) -> u64 {
        let watermark = |it: &report::PriorityReport| it.ingress.headroom_watermark_bytes;
        let rose = self.gateway.is_since_start() || self.priority.count(watermark) > 0;
        if rose { watermark(self.priority.now) } else { self.priority.levels.headroom_bytes }
    }

    /// Whether a neighbour has turned off PFC for it, so that it is lossy now.
    pub fn is_turned_off(&self) -> bool {
        self.port.now.negotiated.as_ref().is_some_and(|it| it.turned_off(self.priority.now.priority))
    }

    /// The headroom of the group; zero if it is lossy now.
    pub fn headroom_size(&self) -> u64 {
        self.priority.now.ingress.limits.map_or(0, |limits| limits.headroom_bytes)
    }

    /// The worker of the port.
    pub fn worker(&self) -> Option<&'a WorkerReport> {
        self.gateway.worker_of(self.port.name())
    }

    /// The same priority of the other ports, where its frames may leave.
    pub fn elsewhere(&self) -> impl Iterator<Item = (PortPeriod<'a>, PriorityPeriod<'a>)> {
        let (own, number) = (self.port.name(), self.priority.now.priority);
        let others = self.gateway.ports().filter(move |port| port.name() != own);
        others.filter_map(move |port| Some((port, port.priority(number)?)))
    }
}
