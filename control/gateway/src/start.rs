//! The start of a gateway from its configuration.

use core::cell::Cell;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use config::runtime;
use config::{Gateway, MemorySum};
use dpdk::{Claim, Eal, ResidentMemory, Tsc};
use switch::lanes::PairHash;
use switch::{Board, HashKey, Ledger, Shard, ShardId};
use telemetry::ReloadsReport;
use units::PortId;
use units::human::nanos;
use worker::{
    Capacity, DelayLine, Device, EmulationSettings, EventInlet, Idle, KernelPort, Monitor, Worker, mailbox,
};

use crate::captures::Captures;
use crate::claims::{Choice, Claims};
use crate::clock::WireClock;
use crate::control::{Control, Ended, unix_time};
use crate::cores;
use crate::crew::{self, Crew, Member};
use crate::device::WireDevice;
use crate::device_mtu::DeviceMtus;
use crate::dpdk_telemetry::DpdkTelemetry;
use crate::event::Event;
use crate::journal::Journal;
use crate::kept_pauses::KeptPauses;
use crate::lateness::{self, Lateness};
use crate::line::{DpdkLine, Line};
use crate::link_agent::LinkAgents;
use crate::link_delay::LinkDelays;
use crate::look::Looks;
use crate::memory::{self, Buffers};
use crate::open::{Devices, Parts, open_all};
use crate::privileges::{self, Privileges};
use crate::reload::Reloads;
use crate::signals::{self, Leftover};
use crate::socket::Server;
use crate::socket_file::Access;
use crate::{RunError, kernel, metrics, notify, reload};

/// The options of `longspan run`.
#[derive(Clone, Debug)]
pub struct Options {
    /// The configuration file.
    pub path: PathBuf,
    /// The time after which the gateway ends.
    pub duration: Option<Duration>,
}

/// The calibration time of the time stamp counter at the start, for a precision of one millionth.
pub(crate) const CALIBRATION: Duration = Duration::from_millis(200);

/// The measuring time of cores at the start: several time slices of a scheduler, in case they are shared.
const WATCHED: Duration = Duration::from_millis(100);

/// Runs the gateway that the file of `options` describes, until it is asked to end.
///
/// # Errors
/// [`RunError`]: what keeps it from starting, or went wrong at the end.
pub fn run(options: Options, gateway: Gateway) -> Result<Ended, RunError> {
    // Without glibc there is nothing to limit.
    let _ = ResidentMemory::returns_what_is_freed();
    let (sender, events) = channel();
    let privileges = Privileges::prepare(&gateway.runtime.process)?;
    let leftover = Leftover::default();
    signals::hear(sender.clone(), leftover.clone()).map_err(RunError::Signals)?;
    let (gateway, drawn_seed, hash_key) = seeded(gateway)?;
    let sockets = Sockets::open(&gateway, &sender, &leftover)?;
    let (kernel, opened) = kernel::open(&gateway)?;
    let sum = gateway.memory().ok_or_else(|| RunError::NoDevice(without_device(&gateway)))?;
    let (posts, claims) = assign_cores(&gateway)?;
    let eal = memory::start_dpdk(&gateway, &sum)?;
    let buffers = Buffers::new(&eal, &sum)?;
    let Devices { lines, parts } = open_all(&eal, &gateway, &buffers, &sum, &events, spreading()?)?;
    let clock = calibrated()?;
    privileges.give_up(&gateway, &options.path, |uid, gid| sockets.hand_over(uid, gid))?;
    let privileges = Arc::new(privileges);
    let configured = gateway;
    let (gateway, lateness) = test_lateness(&configured, &posts)?;
    let device_mtus = DeviceMtus::of(&lines);
    let gateway = device_mtus.apply(&gateway);
    let plan =
        WorkerInputs { gateway: &gateway, posts: &posts, memory: &sum, clock, eal: &eal, privileges, kernel };
    let (ledgers, members, inlets) = ResidentMemory::around(|| plan.start(parts))?;
    let resident = memory::introduce();
    let (ports, names) = (lines.len(), gateway.port_names().map(str::to_owned).collect::<Vec<_>>());
    let passage = sockets.telemetry.as_ref().map(DpdkTelemetry::pass);
    tracing::info!("{}", readiness(&gateway, &lines));
    notify::ready(&gateway.name);
    let control = Control {
        journal: Journal::new(names.clone(), inlets, gateway.runtime.control.events),
        crew: Crew::new(members, names, Duration::from_nanos(gateway.runtime.control.stall.0)),
        path: options.path,
        started_as: configured.clone(),
        configured,
        gateway,
        lateness,
        device_mtus,
        kept_pauses: KeptPauses::of(&lines),
        link_delays: LinkDelays::new(ports),
        link_agents: LinkAgents::new(ports),
        widening: None,
        drawn_seed,
        hash_key,
        lines,
        ledgers,
        memory: buffers.clone().reporter(resident),
        events,
        started: unix_time(),
        tsc_hz: clock.0.ticks_per_second(),
        ending: options.duration.map(|duration| Instant::now() + duration),
        reloading: Reloads::new(Arc::new(|path| config::load(path)), sender.clone()),
        reloads: ReloadsReport::default(),
        refused_by_kernel: kernel::start(opened, &sender).map_err(RunError::KernelThread)?,
        looks: Looks::default(),
        captures: Captures::new(ports, sender),
    };
    let (ended, lines) = control.run();
    drop(passage);
    drop((lines, buffers, sockets, claims));
    Ok(ended)
}

/// The clock of all workers.
fn calibrated() -> Result<WireClock, RunError> {
    doubt_counter();
    Ok(WireClock(Tsc::calibrate(CALIBRATION)?))
}

/// The message that the gateway is ready, with the links that are down.
fn readiness(gateway: &Gateway, lines: &[DpdkLine]) -> String {
    let down: Vec<_> =
        gateway.port_names().zip(lines).filter(|(_, line)| !line.is_up()).map(|(name, _)| name).collect();
    match &down[..] {
        [] => format!("gateway \"{}\" is forwarding", gateway.name),
        [..] => format!("gateway \"{}\" is ready; links still down: {}", gateway.name, down.join(", ")),
    }
}

/// The access rights of the control socket.
fn access(control: &runtime::Control) -> Result<Access, RunError> {
    let find = |name: &String| {
        let found =
            privileges::group(name).map_err(|error| RunError::Group(name.clone(), error.to_string()))?;
        found.ok_or_else(|| RunError::Group(name.clone(), "there is no such group on this machine".into()))
    };
    Ok(Access { mode: control.mode, group: control.group.as_ref().map(find).transpose()? })
}

/// The sockets that go with the gateway.
struct Sockets {
    control: Server,
    telemetry: Option<DpdkTelemetry>,
}

impl Sockets {
    /// Opens these, and the port of the metrics.
    fn open(gateway: &Gateway, events: &Sender<Event>, leftover: &Leftover) -> Result<Self, RunError> {
        let settings = &gateway.runtime.control;
        let access = access(settings)?;
        let control = Server::start(&settings.socket, access, events.clone()).map_err(RunError::Socket)?;
        // It is still empty, so this cannot fail.
        let _ = leftover.set(control.file());
        let telemetry = start_telemetry(gateway, access, events)?;
        if let Some(address) = settings.metrics {
            metrics::serve(address, events.clone())?;
        }
        Ok(Self { control, telemetry })
    }

    /// Gives their files to the user that the process switches to.
    fn hand_over(&self, uid: u32, gid: u32) -> io::Result<()> {
        self.control.hand_over(uid, gid)?;
        self.telemetry.as_ref().map_or(Ok(()), |telemetry| telemetry.hand_over(uid, gid))
    }
}

/// The DPDK telemetry socket, if the gateway has one.
fn start_telemetry(
    gateway: &Gateway,
    access: Access,
    events: &Sender<Event>,
) -> Result<Option<DpdkTelemetry>, RunError> {
    if !gateway.runtime.control.dpdk_telemetry {
        return Ok(None);
    }
    let prefix = &gateway.runtime.dpdk.file_prefix;
    let Some(directory) = dpdk::claim_runtime_directory(prefix) else {
        tracing::warn!(
            "no DPDK telemetry: the gateway cannot have DPDK's directory for `{prefix}` to itself"
        );
        return Ok(None);
    };
    DpdkTelemetry::start(&directory, access, events.clone()).map(Some).map_err(RunError::Telemetry)
}

/// Warns if, according to the kernel, the time stamp counter may change its rate or stop.
pub(crate) fn doubt_counter() {
    let Ok(processors) = fs::read_to_string("/proc/cpuinfo") else { return };
    let missing = ["constant_tsc", "nonstop_tsc"].into_iter().find(|flag| !processors.contains(flag));
    if let (Some(flag), true) = (missing, cfg!(target_arch = "x86_64")) {
        tracing::warn!("the processor lacks {flag}: timing on the wire may be wrong");
    }
}

/// The gateway with a random key for its tables, and with a random seed if its file has none. Returns the
/// seed, if it was drawn, and the key.
pub(crate) fn seeded(gateway: Gateway) -> Result<(Gateway, Option<u64>, HashKey), RunError> {
    // Within the range of seeds in files.
    let seed = Some(u64::from_ne_bytes(drawn()?) >> 1).filter(|_| !gateway.seed_stated);
    let key = HashKey::new(drawn()?);
    Ok((reload::with_drawn(gateway, seed, key), seed, key))
}

/// A random key by which devices spread frames over lanes.
pub(crate) fn spreading() -> Result<PairHash, RunError> {
    Ok(PairHash::drawn(u64::from_ne_bytes(drawn()?)))
}

/// Random bytes.
pub(crate) fn drawn<const N: usize>() -> Result<[u8; N], RunError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| RunError::Seed(error.to_string()))?;
    Ok(bytes)
}

/// The names of ports without a device.
pub(crate) fn without_device(gateway: &Gateway) -> Vec<String> {
    let ports = gateway.port_names().zip(&gateway.runtime.devices);
    ports.filter(|(_, device)| device.is_none()).map(|(name, _)| name.to_owned()).collect()
}

/// A worker to start: its core, and its ports. Those of several lanes have the same ports, and the first one leads.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub core: usize,
    pub ports: Vec<PortId>,
}

/// Assigns a core to each port, or to each lane, and claims them.
pub(crate) fn assign_cores(gateway: &Gateway) -> Result<(Vec<Post>, Claims), RunError> {
    let allowed = worker::allowed_cores();
    let choice = Choice::begin(Path::new(Claim::DIRECTORY));
    let taken = choice.taken(&allowed);
    let posts = match gateway.runtime.dpdk.lanes {
        0 | 1 => posts_of_ports(gateway, &allowed, &taken)?,
        _ => posts_of_lanes(gateway, &allowed, &taken)?,
    };
    let (claims, shared) = choice.claim(&posts.iter().map(|post| post.core).collect::<Vec<_>>());
    for core in shared {
        tracing::warn!(
            "core {core} already runs a worker of another gateway, and both will be late; choose another core in dpdk.cores"
        );
    }
    Ok((posts, claims))
}

/// The cores that have ports, in order, each with its ports.
fn posts_of_ports(
    gateway: &Gateway,
    allowed: &[usize],
    taken: &BTreeSet<usize>,
) -> Result<Vec<Post>, RunError> {
    let settings = gateway.program.settings();
    let stated = &gateway.runtime.dpdk.cores;
    let chosen = cores::automatic(allowed, &cores::isolated(), taken, settings.ports.len());
    let cores = if stated.is_empty() { &chosen } else { stated };
    let placements = config::cores::placements(settings, &gateway.runtime);
    let mut by_core: BTreeMap<usize, Vec<PortId>> = BTreeMap::new();
    for (port, core) in (0..).map(PortId).zip(cores::assign(&placements, cores, allowed)?) {
        by_core.entry(core).or_default().push(port);
    }
    Ok(by_core.into_iter().map(|(core, ports)| Post { core, ports }).collect())
}

/// The lanes, each with all ports, on the first of the cores that the file names.
fn posts_of_lanes(
    gateway: &Gateway,
    allowed: &[usize],
    taken: &BTreeSet<usize>,
) -> Result<Vec<Post>, RunError> {
    let lanes = gateway.runtime.dpdk.lanes;
    let stated = &gateway.runtime.dpdk.cores;
    cores::check(stated.iter().copied(), allowed)?;
    let cores = match stated.len() {
        0 => cores::automatic_for_lanes(allowed, &cores::isolated(), taken, lanes),
        _ => stated.get(..lanes).map(<[_]>::to_vec),
    };
    let cores = cores.ok_or(RunError::FewCores { lanes, allowed: allowed.len() })?;
    let ports: Vec<_> = (0..).map(PortId).take(gateway.program.settings().ports.len()).collect();
    Ok(cores.into_iter().map(|core| Post { core, ports: ports.clone() }).collect())
}

/// Measures how long the cores of `posts` suspend a worker. Returns the gateway that covers it as far as
/// `configured` can.
pub(crate) fn test_lateness(configured: &Gateway, posts: &[Post]) -> Result<(Gateway, Lateness), RunError> {
    let gaps = lateness::measure(&posts.iter().map(|post| post.core).collect(), WATCHED);
    let gaps = gaps.map_err(|source| RunError::Thread { core: posts[0].core, source })?;
    let (mut lateness, mut late) = (Lateness::new(configured.program.settings().ports.len()), Vec::new());
    for (core, gap) in gaps {
        let (most, watched) = (nanos(gap.0), nanos(WATCHED.as_nanos() as u64));
        tracing::info!("core {core}: a polling thread was late by up to {most} during {watched}");
        let gap = gap.min(configured.runtime.control.stall);
        for post in posts.iter().filter(|post| post.core == core) {
            late.extend(lateness.see(core, &post.ports, gap, configured));
        }
    }
    let gateway = lateness.cover(configured, configured);
    lateness.tell(&late, &gateway, Instant::now());
    Ok((gateway, lateness))
}

/// The accounts of the switch, the workers, and the events of each core.
type Started = (Vec<Arc<Ledger>>, Vec<Member>, Vec<(usize, EventInlet)>);

/// A worker to be.
pub(crate) struct Hire {
    pub core: usize,
    /// Its number if it is a lane.
    pub lane: Option<usize>,
    pub ports: Vec<PortId>,
}

/// A worker, its events with their core, and the ledger of its shard; none if it has ended at once.
pub(crate) type Employed = (Member, Option<(usize, EventInlet)>, Option<Arc<Ledger>>);

/// The inputs for creating workers.
pub(crate) struct WorkerInputs<'a> {
    pub gateway: &'a Gateway,
    pub posts: &'a [Post],
    pub memory: &'a MemorySum,
    pub clock: WireClock,
    pub eal: &'a Eal,
    pub privileges: Arc<Privileges>,
    /// The end of the one worker of a router.
    pub kernel: Cell<Option<KernelPort>>,
}

impl WorkerInputs<'_> {
    /// Starts the workers of all posts. Each port has one device for each worker that has it.
    fn start(&self, Parts { devices, hash }: Parts) -> Result<Started, RunError> {
        if self.gateway.runtime.dpdk.lanes > 1 {
            return self.start_lanes(devices, hash);
        }
        let mut devices: Vec<_> = devices.into_iter().map(|mut device| device.pop()).collect();
        let ledger = Arc::new(Ledger::new(devices.len(), self.posts.len()));
        let (mut members, mut inlets) = (Vec::new(), Vec::new());
        for (id, post) in (0..).map(ShardId).zip(self.posts) {
            let (program, ledger) = (self.gateway.program.clone(), ledger.clone());
            let owned = post.ports.iter().copied().collect();
            let shard = move || Shard::new(id, program, ledger, owned);
            let devices = post.ports.iter().filter_map(|port| Some((*port, devices[port.index()].take()?)));
            let own: Vec<_> = devices.collect();
            let hire = Hire { core: post.core, lane: None, ports: post.ports.clone() };
            let (member, inlet, _) = self.employ(hire, shard, || own)?;
            members.push(member);
            inlets.extend(inlet);
        }
        Ok((vec![ledger], members, inlets))
    }

    /// The same for lanes, each with its queues of all ports, and a ledger of its own.
    fn start_lanes(
        &self,
        devices: Vec<Vec<WireDevice>>,
        hash: Option<PairHash>,
    ) -> Result<Started, RunError> {
        let (lanes, ports) = (self.posts.len(), devices.len());
        let program = Arc::new(self.gateway.program.for_lanes(lanes)?);
        let board = Arc::new(Board::new(lanes, ports).spread_by(hash));
        let mut devices: Vec<_> = devices.into_iter().map(Vec::into_iter).collect();
        let (mut ledgers, mut members, mut inlets) = (Vec::new(), Vec::new(), Vec::new());
        for (lane, post) in self.posts.iter().enumerate() {
            let own = post
                .ports
                .iter()
                .zip(&mut devices)
                .filter_map(|(port, queues)| Some((*port, queues.next()?)));
            let own: Vec<_> = own.collect();
            let hire = Hire { core: post.core, lane: Some(lane), ports: post.ports.clone() };
            let (program, board) = (program.clone(), board.clone());
            let shard = move || Shard::lane(lane, program, board);
            let (member, inlet, ledger) = self.employ(hire, shard, || own)?;
            members.push(member);
            inlets.extend(inlet);
            ledgers.extend(ledger);
        }
        Ok((ledgers, members, inlets))
    }

    /// The settings of a port's emulated link, and its size by the reserved memory. Each lane has a line of its own, which could
    /// hold all that the link holds.
    fn emulated(&self, port: PortId, lane: usize) -> Option<(EmulationSettings, Capacity)> {
        let emulation = self.gateway.runtime.emulations[port.index()].as_ref()?;
        let on_link = self.memory.on_link(port)?;
        let capacity = Capacity { frames: on_link.data as usize, data: on_link.bytes };
        let program = self.gateway.program.settings();
        let settings = EmulationSettings {
            delay: emulation.delay,
            rate: program.ports[port.index()].rate,
            loss: emulation.loss,
            duplicate: emulation.duplicate,
            reorder: emulation.reorder,
            reorder_by: emulation.reorder_by,
            control: emulation.control,
            // Different for each port and lane, or all would lose the same frames.
            seed: program.seed ^ u64::from(port.0) ^ (lane as u64) << 32,
        };
        Some((settings, capacity))
    }

    /// Starts the worker of one core, and returns it with its events and its ledger once it has its tables. It makes them itself,
    /// with `shard`, so that their memory is that of its NUMA node, and its devices.
    pub fn employ<D: Device<Frame = dpdk::Mbuf>>(
        &self,
        hire: Hire,
        shard: impl FnOnce() -> Shard<dpdk::Mbuf> + Send + 'static,
        devices: impl FnOnce() -> Vec<(PortId, D)> + Send + 'static,
    ) -> Result<Employed, RunError> {
        let Hire { core, lane, ports } = hire;
        let records = self.gateway.runtime.control.events > 0;
        let (events, inlet) = records.then(worker::event_ring).unzip();
        let (controls, mailbox) = mailbox();
        let monitor = Arc::new(Monitor::default());
        crew::promise(&monitor, &ports, self.gateway);
        let emulated = |port: &PortId| Some((*port, self.emulated(*port, lane.unwrap_or(0))?));
        let links: Vec<_> = ports.iter().filter_map(emulated).collect();
        let idle = match (self.gateway.runtime.dpdk.idle, lane) {
            // The lead speaks for the others, who cannot wake it.
            (runtime::Idle::Poll, _) | (_, Some(0)) => Idle::Poll,
            (runtime::Idle::Sleep, _) => Idle::Sleep,
        };
        let (clock, eal, pulse) = (self.clock, self.eal.clone(), monitor.clone());
        let (privileges, kernel) = (self.privileges.clone(), self.kernel.take());
        let (making, made) = channel();
        let thread = crew::spawn(core, move || {
            privileges.renounce();
            if !worker::pin(core) {
                tracing::warn!("cannot pin the worker to core {core}");
            }
            let registered = eal.register_thread();
            if let Err(error) = &registered {
                tracing::warn!(
                    "the worker on core {core} has no packet buffer cache and runs slower: {error}"
                );
            }
            let mut worker = ResidentMemory::around(|| {
                let worker = Worker::new(clock, shard(), devices(), mailbox, pulse);
                let worker = worker.while_idle(idle);
                let worker = if lane.is_some() { worker.as_lane() } else { worker };
                let worker = match kernel {
                    Some(kernel) => worker.with_kernel(kernel),
                    None => worker,
                };
                let worker = match events {
                    Some(outlet) => worker.with_events(outlet),
                    None => worker,
                };
                links.into_iter().fold(worker, |worker, (port, (settings, capacity))| {
                    worker.emulate(port, DelayLine::new(&settings, capacity))
                })
            });
            // The other end waits for it, unless the gateway does not start.
            let _ = making.send(worker.shard().shared_ledger());
            worker.run();
        });
        let thread = thread.map_err(|source| RunError::Thread { core, source })?;
        // The tables are made now, or the thread has ended.
        let ledger = made.recv().ok();
        let member = Member::new(core, ports, monitor, controls, thread);
        Ok((member, inlet.map(|inlet| (core, inlet)), ledger))
    }
}
