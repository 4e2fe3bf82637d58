//! The observed state of the whole gateway.

use std::borrow::Cow;

use telemetry::{HardwareReport, Observation, ObservedPort, ObservedWorker, Snapshot};
use units::PortId;
use worker::Inspection;

use crate::crew::Crew;
use crate::kept_pauses::KeptPauses;
use crate::line::Line;

/// By worker, the latest inspection of each of its ports. A port whose worker does not answer keeps its last one; the state of
/// the worker itself is always current.
#[derive(Default)]
pub struct Looks(Vec<Vec<Box<Inspection>>>);

impl Looks {
    /// Takes a snapshot of everything: of `about` plus the state of the workers, and what was found out about `pauses`.
    pub fn take(
        &mut self,
        crew: &mut Crew,
        lines: &[impl Line],
        pauses: &KeptPauses,
        about: Observation<'_>,
    ) -> Snapshot {
        let seen = crew.inspect_each();
        self.0.resize_with(seen.len(), Vec::new);
        for (known, seen) in self.0.iter_mut().zip(seen) {
            known.resize_with(seen.len(), Box::default);
            for (known, seen) in known.iter_mut().zip(seen) {
                if let Some(seen) = seen {
                    *known = seen;
                }
            }
        }
        let merged: Vec<_> =
            (0..).map(PortId).take(lines.len()).map(|port| self.of_port(crew, port)).collect();
        let ports = (0..).map(PortId).zip(&merged).map(|(port, inspection)| ObservedPort {
            port,
            device: pauses.correct(port, lines[port.index()].device()),
            hardware: HardwareReport { kept_pauses: pauses.kept(port), ..lines[port.index()].hardware() },
            emulated: about.gateway.runtime.emulations[port.index()].is_some(),
            inspection,
        });
        let workers = crew.members.iter().zip(&self.0).filter_map(|(member, looks)| {
            Some(ObservedWorker {
                core: member.core,
                turns: member.monitor.turns(),
                busy_turns: member.monitor.busy(),
                stage: member.monitor.stage(),
                late_turns: member.monitor.late_turns(),
                ports: member.ports.clone(),
                inspection: looks.first()?,
            })
        });
        Snapshot::new(&Observation { ports: ports.collect(), workers: workers.collect(), ..about })
    }

    /// The figures of a port, summed over its lanes.
    fn of_port(&self, crew: &Crew, port: PortId) -> Cow<'_, Inspection> {
        let mut workers = crew.members.iter().zip(&self.0).filter_map(|(member, looks)| {
            let place = member.ports.iter().position(|it| *it == port)?;
            Some(&**looks.get(place)?)
        });
        let mut all = workers.next().map_or_else(Cow::default, Cow::Borrowed);
        workers.for_each(|lane| all.to_mut().add_lane(lane));
        all
    }
}
