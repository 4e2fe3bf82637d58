//! What there is to see of the whole gateway.

use config::Gateway;
use telemetry::{MemoryReport, Observation, ObservedPort, ObservedWorker, ReloadsReport, Snapshot};
use units::Nanos;
use worker::Inspection;

use crate::control::Line;
use crate::crew::Crew;

/// The latest look at each port. Of a worker that does not answer, the one before is shown; what it shows
/// of the worker itself is always new.
pub struct Looks(Vec<Box<Inspection>>);

/// What a look is told beside the workers.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The configuration in force.
    pub gateway: &'a Gateway,
    /// The same as its file says it.
    pub configured: &'a Gateway,
    /// When the gateway was started, Unix time.
    pub started: Nanos,
    /// The present instant, Unix time.
    pub now: Nanos,
    /// What happened to the configuration.
    pub reloads: ReloadsReport,
    /// The memory of frames.
    pub memory: MemoryReport,
}

impl Looks {
    /// Nothing seen yet, of so many ports.
    pub fn new(ports: usize) -> Self {
        Self((0..ports).map(|_| Box::default()).collect())
    }

    /// Looks at everything.
    pub fn take(&mut self, crew: &mut Crew, lines: &[impl Line], about: Circumstances<'_>) -> Snapshot {
        for (known, seen) in self.0.iter_mut().zip(crew.inspect()) {
            if let Some(seen) = seen {
                *known = seen;
            }
        }
        let port = |port: units::PortId| ObservedPort {
            port,
            device: lines[port.index()].device(),
            hardware: lines[port.index()].hardware(),
            emulated: about.gateway.runtime.emulations[port.index()].is_some(),
            inspection: &self.0[port.index()],
        };
        let workers = crew.members.iter().map(|member| ObservedWorker {
            core: member.core,
            turns: member.monitor.turns(),
            busy_turns: member.monitor.busy(),
            stage: member.monitor.stage(),
            late_turns: member.monitor.late_turns(),
            ports: member.ports.iter().copied().map(port).collect(),
        });
        let Circumstances { gateway, configured, started, now, reloads, memory } = about;
        Snapshot::new(&Observation {
            gateway,
            configured,
            started,
            now,
            reloads,
            memory,
            workers: workers.collect(),
        })
    }
}
