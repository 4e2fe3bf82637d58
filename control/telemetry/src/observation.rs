//! Observations of the control thread, and the snapshot that it makes of them.

use crate::neighbours::{NegotiatedReport, NeighbourReport};
use crate::runtime::RuntimeReport;
use crate::snapshot::{
    ControlReport, CoveredDelayReport, DeviceReport, EcnReport, EmulationReport, FORMAT, HardwareReport,
    LevelsReport, MemoryReport, ReloadsReport, Snapshot, StageReport, WaitingReport, WireDevice,
    WirePortReport, WorkerReport,
};
use config::Gateway;
use report::{DelayReport, FiguresReport, PoolsReport, PortReport, StalledQueueReport, WatchdogReport};
use switch::program::{PortSettings, Settings};
use switch::{Ledger, PortInspection, Source};
use units::{Nanos, PortId, Priority};
use worker::{DeviceCounters, EmulationCounters, Inspection, Stage};

/// All workers and their ports at one instant.
#[derive(Clone)]
pub struct Observation<'a> {
    /// The gateway in force.
    pub gateway: &'a Gateway,
    /// The gateway as its file describes it, without the room that late workers have taken.
    pub configured: &'a Gateway,
    /// When the gateway started.
    pub started: Nanos,
    /// The instant of the observation.
    pub now: Nanos,
    /// The rate of the time stamp counter, by which cycles are counted.
    pub tsc_hz: u64,
    /// Reloads of the configuration.
    pub reloads: ReloadsReport,
    /// Frames for the gateway itself that the kernel did not take.
    pub refused_by_kernel: u64,
    /// The packet pools.
    pub memory: MemoryReport,
    /// The delay that the headroom of each port covers, where a measured one may set it, in the order of ports.
    pub covered_delays: Vec<Option<CoveredDelayReport>>,
    /// The PFC of each port, as its neighbour has changed it, where one may, in the order of ports.
    pub negotiated: Vec<Option<NegotiatedReport>>,
    /// The charges of the buffer: one ledger, or that of each lane.
    pub ledgers: Vec<&'a Ledger>,
    /// The ports, each once.
    pub ports: Vec<ObservedPort<'a>>,
    /// The workers.
    pub workers: Vec<ObservedWorker<'a>>,
}

/// One worker.
#[derive(Clone, Debug)]
pub struct ObservedWorker<'a> {
    /// The number of its core.
    pub core: usize,
    /// [`worker::Monitor::turns`].
    pub turns: u64,
    /// [`worker::Monitor::busy`].
    pub busy_turns: u64,
    /// [`worker::Monitor::stage`].
    pub stage: Stage,
    /// [`worker::Monitor::late_turns`].
    pub late_turns: u64,
    /// Its ports, at least one. Lanes have the same ones.
    pub ports: Vec<PortId>,
    /// Its answer for the first of them, which holds the figures of the worker and its shard.
    pub inspection: &'a Inspection,
}

/// One port.
#[derive(Clone, Debug)]
pub struct ObservedPort<'a> {
    /// The number of the port.
    pub port: PortId,
    /// The device behind it.
    pub device: WireDevice,
    /// The hardware's own counters.
    pub hardware: HardwareReport,
    /// Whether there is an emulated link behind it.
    pub emulated: bool,
    /// The answer of its worker, or of all lanes as one.
    pub inspection: &'a Inspection,
}

impl Snapshot {
    /// Takes a snapshot of an observed gateway.
    pub fn new(seen: &Observation<'_>) -> Self {
        let settings = seen.gateway.program.settings();
        let shards = || seen.workers.iter().map(|worker| worker.inspection);
        let mut ports: Vec<_> = seen.ports.iter().collect();
        ports.sort_by_key(|seen| seen.port);
        let mut workers: Vec<_> = seen.workers.iter().map(|worker| worker_report(seen, worker)).collect();
        workers.sort_by_key(|worker| worker.core);
        Self {
            format: FORMAT,
            gateway: seen.gateway.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            at_ns: seen.now.0,
            workers_at_ns: shards().map(|shard| shard.port.at.0).max().filter(|at| *at > 0),
            uptime_ns: seen.now.since(seen.started).0,
            tsc_hz: seen.tsc_hz,
            reloads: seen.reloads,
            refused_by_kernel: seen.refused_by_kernel,
            workers,
            memory: seen.memory,
            pools: PoolsReport::new(&settings.buffer, shards().map(|shard| &shard.pools)),
            watchdog: WatchdogReport::new(settings, shards().map(|shard| &shard.port.watchdog)),
            stalled: stalled_queues(seen, &ports),
            waiting: waiting(seen),
            ports: ports.into_iter().map(|port| port_report(settings, port, seen)).collect(),
            config: config::render_without_keys(seen.configured),
        }
    }
}

fn stalled_queues(seen: &Observation<'_>, ports: &[&ObservedPort<'_>]) -> Vec<StalledQueueReport> {
    let looks: Vec<_> = ports.iter().map(|it| (it.port, &it.inspection.port)).collect();
    StalledQueueReport::of_ports(&seen.gateway.program, &seen.ledgers, &looks)
}

fn waiting(seen: &Observation<'_>) -> Vec<WaitingReport> {
    let (program, ledgers) = (&seen.gateway.program, &seen.ledgers);
    let name = |port: PortId| program.port(port).name.clone();
    let ports = (0..program.settings().ports.len() as u16).map(PortId);
    let held = |egress: PortId| {
        let port = seen.ports.iter().find(|it| it.port == egress)?;
        Some(port.inspection.port.repair?.held)
    };
    let of_port = |egress: PortId| {
        Source::of_port(program, ledgers, egress, held(egress).unwrap_or_default()).map(
            move |(queue, source)| WaitingReport {
                came_in: name(source.ingress),
                priority: source.priority.number(),
                leaves_by: name(egress),
                queue: queue.number(),
                waiting: source.waiting,
            },
        )
    };
    ports.flat_map(of_port).collect()
}

fn worker_report(all: &Observation<'_>, seen: &ObservedWorker<'_>) -> WorkerReport {
    let gateway = all.gateway;
    let name = |port: PortId| gateway.program.port(port).name.clone();
    let (stage, port) = match seen.stage {
        Stage::Idle => ("idle", None),
        Stage::Ingress(port) => ("ingress", Some(port)),
        Stage::Egress(port) => ("egress", Some(port)),
        Stage::Command => ("command", None),
    };
    let shard = seen.inspection;
    WorkerReport {
        core: seen.core,
        ports: seen.ports.iter().copied().map(name).collect(),
        turns: seen.turns,
        busy_turns: seen.busy_turns,
        busy_share: if seen.turns == 0 { 0.0 } else { seen.busy_turns as f64 / seen.turns as f64 },
        stage: StageReport { name: stage.into(), port: port.map(name) },
        turn: DelayReport::from(&shard.turns),
        lateness: DelayReport::from(&shard.lateness),
        covered_lateness_ns: gateway.covered_by(seen.ports.iter().copied()).map(|it| it.0),
        late_turns: seen.late_turns,
        runtime: RuntimeReport::new(&shard.profile, all.tsc_hz),
    }
}

fn port_report(settings: &Settings, seen: &ObservedPort<'_>, all: &Observation<'_>) -> WirePortReport {
    let Inspection { port: look, device, emulation, drained, .. } = seen.inspection;
    let of_port = &settings.ports[seen.port.index()];
    let mut port = PortReport::new(of_port, look);
    // The switch counts what it gave to the device, which lost some of it.
    port.control_out = port.control_out - device.control_lost;
    WirePortReport {
        port,
        device: seen.device.clone(),
        counters: device_report(device, drained.frames, seen.hardware),
        short_mtu: all.gateway.short_mtu(seen.port).map(|mtu| mtu.0),
        lost_notifications: look.ingress.lost_notifications,
        covered_delay: all.covered_delays.get(seen.port.index()).copied().flatten(),
        negotiated: all.negotiated.get(seen.port.index()).cloned().flatten(),
        neighbours: NeighbourReport::of_port(of_port, look),
        emulation: seen.emulated.then(|| emulation_report(emulation)),
        now: FiguresReport::now(of_port, look),
        levels: Priority::all().map(|priority| levels(of_port, look, priority)).collect(),
    }
}

fn device_report(counters: &DeviceCounters, drained: u64, hardware: HardwareReport) -> DeviceReport {
    // Waiting frames matter only when the gateway ends, where they count as lost.
    let DeviceCounters { received, sent, waiting: _, control_sent, control_lost, full, unsendable } =
        *counters;
    let control = ControlReport { sent: control_sent, lost: control_lost.frames };
    DeviceReport { received, sent, control, full, drained, unsendable, hardware }
}

fn emulation_report(counters: &EmulationCounters) -> EmulationReport {
    EmulationReport {
        in_flight: counters.in_flight,
        peak_in_flight: counters.peak_in_flight,
        entered: counters.entered,
        delivered: counters.delivered,
        max_lateness_ns: counters.max_lateness.0,
        lost: counters.lost,
        duplicated: counters.duplicated,
        reordered: counters.reordered,
        overflowed: counters.overflowed,
    }
}

fn levels(settings: &PortSettings, look: &PortInspection, priority: Priority) -> LevelsReport {
    let (group, queue) = (&look.groups[priority.index()], &look.queues[priority.index()]);
    LevelsReport {
        priority: priority.number(),
        pauses_peer: look.pauses.sent.contains(priority),
        paused_by_peer: look.pauses.received.contains(priority),
        headroom_bytes: group.headroom.0,
        group_watermark_bytes: group.watermark.since_cleared().0,
        headroom_watermark_bytes: group.headroom_watermark.since_cleared().0,
        queue_watermark_bytes: queue.watermark.since_cleared().0,
        obeys_pauses: settings.pfc.obeyed().contains(priority),
        ecn: ecn(settings, priority),
    }
}

fn ecn(settings: &PortSettings, priority: Priority) -> Option<EcnReport> {
    let queues = settings.queues.iter().filter(|queue| queue.priority == priority);
    let first = queues.filter_map(|queue| queue.red).min_by_key(|red| red.kmin)?;
    // Thresholds that move are not those of the settings.
    first.adaptive.is_none().then_some(EcnReport { kmin_bytes: first.kmin.0, kmax_bytes: first.kmax.0 })
}
