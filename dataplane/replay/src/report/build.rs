//! Building the report from the switch.

use super::{
    ClockReport, Conservation, EndingReport, FORMAT, InputReport, PausedReport, ProgramReport, Report,
    SourceReport, UnassignedReport,
};
use crate::capture::{CaptureSink, ClockFaults};
use crate::gateway::{Ending, Gateway};
use crate::input::Unassigned;
use crate::played::Played;
use report::{PoolsReport, PortReport, WatchdogReport};
use switch::{Shard, Volume};
use units::{Nanos, PortId, Priority};

impl Report {
    pub(crate) fn new<W: CaptureSink>(
        name: &str,
        gateway: &Gateway<W>,
        played: &Played,
        faults: ClockFaults,
        ending: Ending,
    ) -> Self {
        let (settings, lanes) = (gateway.switch.program().settings(), gateway.switch.lanes());
        let [first_ns, last_ns] = bounds(played.captured);
        let [first_arrival_ns, last_arrival_ns] = bounds(played.arrivals);
        Self {
            format: FORMAT,
            program: ProgramReport { name: name.into(), seed: settings.seed },
            input: InputReport {
                complete: played.error.is_none() && !played.interrupted,
                read: played.volume,
                first_ns,
                last_ns,
                clamped_timestamps: faults.raised,
                stray_timestamps: faults.strays,
                clock_steps: faults.steps,
                unassigned: unassigned(&played.unassigned),
            },
            clock: ClockReport {
                first_arrival_ns,
                last_arrival_ns,
                end_ns: first_arrival_ns.map(|_| gateway.now.0),
            },
            ending: end(gateway, ending),
            conservation: Conservation::of(gateway),
            pools: PoolsReport::new(&settings.buffer, &lanes.iter().map(Shard::pools).collect::<Vec<_>>()),
            watchdog: WatchdogReport::new(settings, lanes.iter().map(Shard::watchdog_events)),
            ports: gateway.ports().map(|port| port_report(gateway, port)).collect(),
        }
    }
}

fn bounds(instants: Option<(Nanos, Nanos)>) -> [Option<u64>; 2] {
    [instants.map(|(first, _)| first.0), instants.map(|(_, last)| last.0)]
}

fn unassigned(unassigned: &Unassigned) -> UnassignedReport {
    let source = |(mac, frames): &(wire::ethernet::MacAddress, u64)| SourceReport {
        mac: mac.to_string(),
        frames: *frames,
    };
    UnassignedReport {
        frames: unassigned.volume.frames,
        bytes: unassigned.volume.bytes.0,
        sources: unassigned.sources.iter().map(source).collect(),
        other_sources: unassigned.others,
    }
}

fn end<W: CaptureSink>(gateway: &Gateway<W>, ending: Ending) -> EndingReport {
    let (mut queued, mut paused) = (Volume::ZERO, Vec::new());
    for port in gateway.ports() {
        let look = gateway.inspect(port);
        for priority in Priority::all() {
            queued += gateway.waiting(port, priority);
            let group = look.groups[priority.index()];
            if let Some(cause) = group.paused {
                paused.push(PausedReport {
                    port: gateway.switch.program().port(port).name.clone(),
                    priority: priority.number(),
                    cause: cause.name(),
                    occupancy_bytes: group.occupancy.0,
                });
            }
        }
    }
    EndingReport { state: ending.name(), queued, paused }
}

fn port_report<W: CaptureSink>(gateway: &Gateway<W>, port: PortId) -> PortReport {
    let (data, control) = gateway.outputs.sent(port);
    // Arrivals and departures are those that the replay counted.
    PortReport {
        arrived: gateway.offered[port.index()],
        out: data,
        control_out: control,
        ..PortReport::new(gateway.switch.program().port(port), &gateway.inspect(port))
    }
}
