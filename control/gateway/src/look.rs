//! The observed state of the whole gateway.

use config::Gateway;
use telemetry::{MemoryReport, Observation, ObservedPort, ObservedWorker, ReloadsReport, Snapshot};
use units::Nanos;
use worker::Inspection;

use crate::crew::Crew;
use crate::line::Line;

/// The latest inspection of each port. A port whose worker does not answer keeps its last one; the state of
/// the worker itself is always current.
pub struct Looks(Vec<Box<Inspection>>);

/// The inputs of a look besides the workers.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The configuration in force.
    pub gateway: &'a Gateway,
    /// The configuration as loaded from its file.
    pub configured: &'a Gateway,
    /// The start of the gateway, in Unix time.
    pub started: Nanos,
    /// The current Unix time.
    pub now: Nanos,
    /// The counts of reloads.
    pub reloads: ReloadsReport,
    /// The memory of frames.
    pub memory: MemoryReport,
}

impl Looks {
    /// Empty inspections of `ports` ports.
    pub fn new(ports: usize) -> Self {
        Self((0..ports).map(|_| Box::default()).collect())
    }

    /// Takes a snapshot of everything.
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
