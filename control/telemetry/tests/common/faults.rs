//! Faults staged on a real switch core, with a host, a peer or a far gateway around it, and the second in which they show.

use super::{Answers, device, packet};
use config::Gateway;
use replay::{FramePool, OwnedFrame};
use std::collections::VecDeque;
use switch::{Frame, Shard, Transmitter};
use telemetry::{
    CoveredDelayReport, HardwareReport, MemoryReport, Observation, ObservedPort, ObservedWorker, Passage,
    PfcPassage, ReloadsReport, Snapshot,
};
use units::{Bytes, Interval, Nanos, PortId};
use worker::{Inspection, Stage as TurnStage};

const DC0: PortId = PortId(0);
const LH0: PortId = PortId(1);
const START: Nanos = Nanos(1_700_000_000_000_000_000);
const STEP: Interval = Interval::from_micros(50);
/// The steps of a second.
const SECOND: u64 = 20_000;
/// One way of the link whose delay is measured, twice.
const ROUND_TRIP: u64 = 16;
/// The bytes of a frame, and the rate of the link of dc0.
const LENGTH: usize = 1_000;
const RATE: u64 = 100_000_000;

/// A fault, the rule that is to name it first, the port to explain, and two looks at a gateway that has it.
pub struct Fault {
    pub name: &'static str,
    pub rule: &'static str,
    pub port: &'static str,
    pub before: Snapshot,
    pub now: Snapshot,
}

/// All faults that a switch core and what surrounds it can show.
pub fn faults() -> Vec<Fault> {
    let fast = || Stage::of(gateway("100M", "1G", PLAIN));
    let slow = || Stage::of(gateway("100M", "20M", PLAIN));
    let watched = format!("{PLAIN}[port.watchdog]\ndetection = \"150ms\"\naction = \"alert\"\n");
    let measured = format!("{PLAIN}[port.link_delay]\n");
    let short_mtu = gateway("100M", "1G", PLAIN).with_device_mtus(&[None, Some(Bytes(576))]);
    let far = Some(gateway("20M", "1G", BIFROST));
    let far_end = Stage { far, ..Stage::of(gateway("100M", "1G", BIFROST)) };
    vec![
        slow().shows("overload", "overload", "dc0"),
        Stage { obeys: false, ..slow() }.shows("peer ignores pauses", "peer_ignores_pauses", "dc0"),
        Stage { pauses: Some((20, 10)), ..fast() }.shows("peer pauses us", "pauses_received", "lh0"),
        Stage { rate: RATE, stalls_for: 800, ..fast() }.shows("late worker", "late_worker", "dc0"),
        Stage { dscp: 0, ..slow() }.shows("wrong DSCP", "roce_in_lossy", "lh0"),
        Stage::of(short_mtu).shows("MTU", "short_mtu", "lh0"),
        Stage { link_up: false, ..fast() }.shows("link down", "link_down", "dc0"),
        Stage { pauses: Some((200, 200)), ..Stage::of(gateway("100M", "1G", &watched)) }.shows(
            "watchdog",
            "pause_storm",
            "lh0",
        ),
        far_end.shows("slow receiver behind the far end", "far_end_congested", "lh0"),
        Stage { reaction: 240, ..slow() }.shows("too little headroom", "headroom_short", "dc0"),
        Stage { is_measured: true, ..Stage::of(gateway("100M", "1G", &measured)) }.shows(
            "wrong round trip",
            "link_delay_refused",
            "lh0",
        ),
        Stage { keeps_pauses: true, ..fast() }.shows("card keeps pauses", "pfc_not_passed", "lh0"),
    ]
}

/// The rest of the table of lh0.
const PLAIN: &str = "distance = \"1km\"\nlossless = [{ priorities = [3], xoff = \"400kB\" }]\n";
const BIFROST: &str = "tx_window = \"0us\"\ninterface_delay = \"0us\"\nflow_control = \"bifrost\"\n\
                       lossless = [{ priorities = [3], xoff = \"400kB\" }]\n\
                       [port.bifrost]\nslot = \"50us\"\nround_trip = \"400us\"\n";

fn gateway(dc0: &str, lh0: &str, rest: &str) -> Gateway {
    let text = format!(
        "[gateway]\nname = \"staged\"\nseed = 1\n[buffer]\nshared = \"1MiB\"\negress_lossy = \"64KiB\"\n\
         [forwarding]\nmode = \"patch\"\npairs = [[\"dc0\", \"lh0\"]]\n\
         [[port]]\nname = \"dc0\"\nrate = \"{dc0}\"\nmtu = 1500\ndistance = \"100m\"\n\
         [[port.lossless]]\npriorities = [3]\nreserved = \"2kB\"\nxoff = \"24kB\"\nxon = \"16kB\"\n\
         headroom = \"20kB\"\n\
         [[port]]\nname = \"lh0\"\nrate = \"{lh0}\"\nmtu = 1500\n{rest}"
    );
    config::parse(&text, "staged.toml").unwrap()
}

/// A gateway and its surroundings.
struct Stage {
    gateway: Gateway,
    /// The gateway at the other end of lh0, if one is there.
    far: Option<Gateway>,
    /// The bits by second that the host at dc0 sends while it is not paused, and their DSCP.
    rate: u64,
    dscp: u8,
    /// Whether the host obeys pauses, and the steps that it takes to.
    obeys: bool,
    reaction: u64,
    /// The steps between two pauses of the peer of lh0, and from a pause to its end.
    pauses: Option<(u64, u64)>,
    /// The steps for which the worker is away in the second that is looked at.
    stalls_for: u64,
    link_up: bool,
    /// Whether the peer of lh0 answers requests of peer delay, and the delay is refused.
    is_measured: bool,
    /// Whether the card of lh0 keeps the pauses of the peer, which it counts.
    keeps_pauses: bool,
}

impl Stage {
    fn of(gateway: Gateway) -> Self {
        Self {
            gateway,
            far: None,
            rate: 41_000_000,
            dscp: 26,
            obeys: true,
            reaction: 2,
            pauses: None,
            stalls_for: 0,
            link_up: true,
            is_measured: false,
            keeps_pauses: false,
        }
    }

    /// Runs for two seconds, and looks at the second one.
    fn shows(self, name: &'static str, rule: &'static str, port: &'static str) -> Fault {
        let mut run = Run {
            shard: Shard::single(self.gateway.program.clone()),
            far: self.far.as_ref().map(|it| Shard::single(it.program.clone())),
            stage: &self,
            pool: FramePool::new(),
            step: 0,
            owed: 0,
            pauses: VecDeque::new(),
            paused_until: 0,
            for_dc0: Vec::new(),
            for_lh0: VecDeque::new(),
        };
        run.second();
        let before = self.look(&run, false);
        run.second();
        let now = self.look(&run, true);
        Fault { name, rule, port, before, now }
    }

    /// A snapshot, without or with what the second changed beyond the switch core.
    fn look(&self, run: &Run<'_>, is_over: bool) -> Snapshot {
        let mut inspections = [Inspection::default(), Inspection::default()];
        for (port, inspection) in [DC0, LH0].into_iter().zip(&mut inspections) {
            run.shard.inspect(run.now(), port, &mut inspection.port);
        }
        inspections[0].pools = run.shard.pools();
        let is_late = self.stalls_for > 0 && is_over;
        if is_late {
            inspections[0].turns.record(Interval(STEP.0 * self.stalls_for));
        }
        let pfc = PfcPassage { receive: Passage::Yes, transmit: Passage::Yes };
        let port = |port: PortId, name, link_up| ObservedPort {
            port,
            device: device(name, link_up, pfc),
            hardware: HardwareReport {
                kept_pauses: (self.keeps_pauses && is_over && port == LH0).into(),
                ..HardwareReport::default()
            },
            emulated: false,
            inspection: &inspections[port.index()],
        };
        let covered = CoveredDelayReport { covered_ns: 5_000, applied: 0, refused: is_over.into() };
        Snapshot::new(&Observation {
            gateway: &self.gateway,
            configured: &self.gateway,
            started: START,
            now: run.now(),
            tsc_hz: 0,
            reloads: ReloadsReport::default(),
            refused_by_kernel: 0,
            covered_delays: vec![None, self.is_measured.then_some(covered)],
            negotiated: vec![None, None],
            memory: MemoryReport::default(),
            ledgers: vec![run.shard.ledger()],
            ports: vec![port(DC0, "veth-dc", true), port(LH0, "veth-lh", self.link_up)],
            workers: vec![ObservedWorker {
                core: 2,
                turns: 1,
                busy_turns: 0,
                late_turns: is_late.into(),
                stage: TurnStage::Idle,
                ports: vec![DC0, LH0],
                inspection: &inspections[0],
            }],
        })
    }
}

/// A stage on which time passes.
struct Run<'s> {
    stage: &'s Stage,
    shard: Shard<OwnedFrame>,
    far: Option<Shard<OwnedFrame>>,
    pool: FramePool,
    step: u64,
    /// The bits that the host may send, times the steps of a second.
    owed: u64,
    /// Pauses on their way to the host: the step from which one acts, and that of its end.
    pauses: VecDeque<(u64, u64)>,
    paused_until: u64,
    /// Frames that wait in the receive ring of dc0, and those on their way to lh0 with the step of their arrival.
    for_dc0: Vec<Vec<u8>>,
    for_lh0: VecDeque<(u64, Vec<u8>)>,
}

/// What left a port.
#[derive(Default)]
struct Sent(Vec<Vec<u8>>);

impl Transmitter<OwnedFrame> for Sent {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn frame(&mut self, _: Nanos, frame: OwnedFrame) {
        self.0.push(frame.headers().to_vec());
    }

    fn control(&mut self, _: Nanos, frame: &[u8]) {
        self.0.push(frame.to_vec());
    }
}

impl Run<'_> {
    fn now(&self) -> Nanos {
        START + Interval(STEP.0 * self.step)
    }

    fn second(&mut self) {
        for _ in 0..SECOND {
            self.step += 1;
            self.host();
            self.peer();
            let stall = SECOND + SECOND / 2..SECOND + SECOND / 2 + self.stage.stalls_for;
            if !stall.contains(&self.step) {
                self.turn();
            }
        }
    }

    /// The host at dc0 sends what it may.
    fn host(&mut self) {
        while let Some((_, until)) = self.pauses.pop_front_if(|(from, _)| *from <= self.step) {
            self.paused_until = until;
        }
        if self.stage.obeys && self.step < self.paused_until {
            return;
        }
        self.owed += self.stage.rate;
        let frame = LENGTH as u64 * 8 * SECOND;
        while self.owed >= frame {
            self.owed -= frame;
            self.for_dc0.push(roce(self.stage.dscp));
        }
    }

    /// The peer of lh0 pauses it, and lets it go on.
    fn peer(&mut self) {
        let Some((every, open_after)) = self.stage.pauses else { return };
        match self.step % every {
            0 => self.for_lh0.push_back((self.step, super::pfc())),
            it if it == open_after => {
                let mut open = super::pfc();
                open[24..26].fill(0);
                self.for_lh0.push_back((self.step, open));
            }
            _ => {}
        }
    }

    fn turn(&mut self) {
        let now = self.now();
        let frames = std::mem::take(&mut self.for_dc0);
        take_in(&mut self.shard, &self.pool, now, DC0, frames);
        let mut came = Vec::new();
        while let Some((_, bytes)) = self.for_lh0.pop_front_if(|(at, _)| *at <= self.step) {
            came.push(bytes);
        }
        take_in(&mut self.shard, &self.pool, now, LH0, came);
        let mut to_host = Sent::default();
        self.shard.egress(now, DC0, &mut to_host);
        let quanta = to_host.0.iter().filter_map(|frame| pause_of(frame));
        let reaction = self.stage.reaction;
        self.pauses.extend(quanta.map(|quanta| {
            let time = u64::from(quanta) * 512 * SECOND / RATE;
            (self.step + reaction, self.step + reaction + time)
        }));
        if self.stage.link_up {
            let mut to_peer = Sent::default();
            self.shard.egress(now, LH0, &mut to_peer);
            self.hear(now, to_peer.0);
        }
    }

    /// The other end of lh0 takes `frames`, and answers.
    fn hear(&mut self, now: Nanos, frames: Vec<Vec<u8>>) {
        if self.stage.is_measured {
            let mut answers = Answers::default();
            frames.iter().for_each(|frame| Transmitter::<OwnedFrame>::control(&mut answers, now, frame));
            self.for_lh0.extend(answers.0.into_iter().map(|it| (self.step + ROUND_TRIP, it)));
        }
        if let Some(far) = &mut self.far {
            take_in(far, &self.pool, now, LH0, frames);
            far.egress(now, DC0, &mut Sent::default());
            let mut back = Sent::default();
            far.egress(now, LH0, &mut back);
            self.for_lh0.extend(back.0.into_iter().map(|it| (self.step + 1, it)));
        }
    }
}

fn take_in(shard: &mut Shard<OwnedFrame>, pool: &FramePool, now: Nanos, port: PortId, frames: Vec<Vec<u8>>) {
    for bytes in frames {
        shard.ingress(now, port, &mut vec![pool.frame(&bytes, bytes.len() as u32)], &mut ());
    }
}

/// A RoCEv2 packet.
fn roce(dscp: u8) -> Vec<u8> {
    let mut frame = packet(dscp, LENGTH);
    frame[36..38].copy_from_slice(&4_791_u16.to_be_bytes());
    frame[38..40].copy_from_slice(&(LENGTH as u16 - 34).to_be_bytes());
    frame
}

/// The quanta for which a PFC frame pauses priority 3, if it says so.
fn pause_of(frame: &[u8]) -> Option<u16> {
    let names_it = frame[12..16] == [0x88, 0x08, 0x01, 0x01] && frame[17] & 0b1000 != 0;
    names_it.then(|| u16::from_be_bytes([frame[24], frame[25]]))
}
