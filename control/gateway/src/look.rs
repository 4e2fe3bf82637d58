//! The observed state of the whole gateway.

use telemetry::{HardwareReport, Observation, ObservedPort, ObservedWorker, Snapshot};
use worker::Inspection;

use crate::crew::Crew;
use crate::kept_pauses::KeptPauses;
use crate::line::Line;

/// The latest inspection of each port. A port whose worker does not answer keeps its last one; the state of
/// the worker itself is always current.
pub struct Looks(Vec<Box<Inspection>>);

impl Looks {
    /// Empty inspections of `ports` ports.
    pub fn new(ports: usize) -> Self {
        Self((0..ports).map(|_| Box::default()).collect())
    }

    /// Takes a snapshot of everything: of `about` plus the state of the workers, and what was found out about `pauses`.
    pub fn take(
        &mut self,
        crew: &mut Crew,
        lines: &[impl Line],
        pauses: &KeptPauses,
        about: Observation<'_>,
    ) -> Snapshot {
        for (known, seen) in self.0.iter_mut().zip(crew.inspect()) {
            if let Some(seen) = seen {
                *known = seen;
            }
        }
        let port = |port: units::PortId| ObservedPort {
            port,
            device: pauses.correct(port, lines[port.index()].device()),
            hardware: HardwareReport { kept_pauses: pauses.kept(port), ..lines[port.index()].hardware() },
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
        Snapshot::new(&Observation { workers: workers.collect(), ..about })
    }
}
