//! The rules. A rule is a name, a condition on a class, a sentence with figures, and what to do next.
//!
//! A rule looks at nothing but its class over the time in question, so that the same snapshots always give the same
//! verdict. `tests/health.rs` makes each rule true and keeps it silent.

use super::class::Class;
use super::verdict::{Finding, HealthVerdict};
use crate::explain::CNPS_MISSING;
use crate::neighbours::NeighbourReport;
use crate::period::PortPeriod;
use crate::snapshot::WorkerReport;
use switch::PauseCause;
use units::human::{bytes, count_of, duration, nanos, percent, rate, thousands};
use wire::repair::AGAIN_LEN;

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name; stable.
    pub name: &'static str,
    /// The verdict on a class for which it holds.
    pub verdict: HealthVerdict,
    /// The condition, as a sentence.
    pub holds_if: &'static str,
    /// Its finding; `None` unless it holds.
    finds: fn(&Class<'_>) -> Option<String>,
    /// Advice on the next step.
    pub next: &'static str,
}

impl Rule {
    /// Its finding about `class`; `None` unless it holds.
    pub fn judge(&self, class: &Class<'_>) -> Option<Finding> {
        let found = (self.finds)(class)?;
        Some(Finding { rule: self.name.into(), verdict: self.verdict, found, next: self.next.into() })
    }
}

/// The share of headroom above which little is left.
const HEADROOM_USED: f64 = 0.75;
/// The share of time above which pauses slow a class down, rather than catch a burst.
const MUCH_PAUSED: f64 = 0.1;
/// The share of packet buffers above which few are left.
const BUFFERS_USED: f64 = 0.95;
/// The reasons for which a lossless frame is dropped because a promise was broken. Others refuse a frame for what it is.
const BROKEN_PROMISES: [&str; 8] = [
    "headroom_exceeded",
    "headroom_pool_full",
    "shared_pool_full",
    "queue_threshold",
    "egress_pool_full",
    "memory_low",
    "no_buffer",
    "pfc_watchdog",
];

/// The reasons for which frames are dropped if a worker is behind.
pub const OF_LATE_WORKERS: [&str; 3] = ["headroom_exceeded", "headroom_pool_full", "receive_ring"];
/// Schemes that speak to a gateway at the other end of the link, with a figure that each has: those that close a queue by
/// pauses or marks, and those that close it by what they grant.
const WITH_PAUSES: [(&str, &str); 2] = [("bifrost", "slot_ns"), ("lscc", "interval_ns")];
const WITH_GRANTS: [(&str, &str); 3] =
    [("grants", "received.taken"), ("port_grants", "far_ports"), ("credits", "hears")];

/// Declares the rules: what holds, in a line; the function that finds it, which has the name of the rule; the
/// verdict; and what to do next.
macro_rules! rules {
    ($(#[doc = $holds_if:literal] $name:ident: $verdict:ident, $next:literal;)+) => {
        /// All rules in the order in which they are told, the first one as the cause: unhealthy ones first, and of two that may
        /// hold for the same reason the one that is closer to it.
        pub static RULES: &[Rule] = &[$(Rule {
            name: stringify!($name),
            verdict: HealthVerdict::$verdict,
            holds_if: $holds_if.trim_ascii(),
            finds: $name,
            next: $next,
        }),+];
    };
}

rules! {
    /// The link is down.
    link_down: Unhealthy, "Bring the link up. Lossless frames for the port wait, and their senders are paused.";
    /// The device does not pass PFC frames in one direction, by its driver or by its [own counters](deployment.md#pauses-that-a-card-keeps).
    pfc_not_passed: Unhealthy, "Turn off flow control in the device, or use a device that passes PFC frames (docs/deployment.md).";
    /// The device sends shorter packets than [`mtu`](running.md#mtu) promises.
    short_mtu: Unhealthy, "Raise the MTU of the device (ip link set IF mtu N), at both ends of the link, or set a smaller mtu of the port.";
    /// The watchdog detected a storm, or the queue is stormed now.
    pause_storm: Unhealthy, "Find who pauses behind this port: longspan show pfc, longspan explain. A host that hangs is the usual cause.";
    /// The other end grants no credits, or its grants or LSCC rates stayed away.
    far_end_silent: Unhealthy, "Check that the other end runs the same scheme, and that the link passes its frames (longspan show slots).";
    /// 95% of the packet buffers are in use, or low memory paused the peer.
    buffers_low: Unhealthy, "Compare the sum that longspan check prints with what the drivers keep (docs/configuration.md, memory).";
    /// A measured delay was outside the bounds.
    link_delay_refused: Unhealthy, "Check the route of the link. If it is right, correct distance or the bounds of port.link_delay.";
    /// More came than the link carries outside of pauses, plus one headroom for each pause and what came while the worker was late; or a full headroom refused more than that.
    peer_ignores_pauses: Unhealthy, "Turn PFC on for this priority at the peer, or correct the distance if the link is longer.";
    /// The device took control frames too late or never.
    pause_frames_lost: Unhealthy, "Look at the device's link and driver: a pause that is lost costs headroom.";
    /// Frames were lost while turns took longer than the buffer covers, or no turn was idle.
    late_worker: Unhealthy, "Keep other work off this core (docs/running.md, lateness), or give its ports several cores.";
    /// The device lost frames before the gateway saw them.
    device_losses: Unhealthy, "Give the port's core less to do (longspan show runtime), or longer receive rings.";
    /// A full headroom refused frames of a peer that obeys pauses, and no turn was late.
    headroom_short: Unhealthy, "Correct the distance if the link is longer, raise headroom, or have the delay of the link measured (docs/headroom.md).";
    /// Frames arrived broken, or could not be sent.
    link_errors: Unhealthy, "Check the cable, the optics and the FEC of the link.";
    /// Lossless frames were dropped: headroom, a pool, a stalled core, a watchdog.
    drops: Unhealthy, "Find the reason in docs/drops.md.";
    /// RoCEv2 frames were dropped in a lossy priority of the port.
    roce_in_lossy: Watch, "Compare the DSCP of the senders with port.classify: no pause protects frames of a lossy priority.";
    /// A [neighbour](link-agent.md#negotiation) turned off PFC for a priority that is lossless by the file.
    pfc_turned_off: Watch, "Turn PFC on for this priority at the neighbour, or take it out of port.lldp.willing (docs/link-agent.md).";
    /// There is a [mismatch](link-agent.md#mismatches) with the other end of the link.
    neighbour_differs: Watch, "Correct one end of the link: longspan show neighbours, docs/link-agent.md (mismatches).";
    /// The peer pauses a priority that the port does not obey.
    pauses_ignored: Watch, "Make the priority lossless here too, or turn PFC off for it at the peer.";
    /// A gateway at the other end paused the queue for more than 10% of the time, or granted less than waits.
    far_end_congested: Watch, "The congestion is behind the other gateway: ask it (longspan explain, longspan show roce).";
    /// The peer paused the queue for more than 10% of the time.
    pauses_received: Watch, "The congestion is behind this port: look at the peer, and at its ECN thresholds.";
    /// The gateway paused the peer for more than 10% of the time, and the frames wait for a link that sends as fast as it can.
    overload: Watch, "Give that link more rate, or slow the senders down: ECN there, with kmin well below XOFF.";
    /// A full shared pool paused the peer.
    shared_pool_full: Watch, "Raise buffer.shared, or lower the XOFF thresholds of the groups that hold it (longspan explain).";
    /// The gateway paused the peer, and no queue of another port marked a frame, although one is set to.
    pauses_before_ecn: Watch, "Lower kmin and kmax, or raise XOFF, and check that senders set ECT and run DCQCN.";
    /// A static XOFF is not above the lowest kmin of the other ports.
    xoff_below_kmin: Watch, "Set kmin well below XOFF: else the group pauses before its queue marks a frame.";
    /// The group has used more than three quarters of its headroom, and the peer obeys pauses.
    headroom_low: Watch, "Raise headroom or distance of the port, or have the delay of the link measured (docs/headroom.md).";
    /// A notification had no known sender.
    senders_not_told: Watch, "See longspan show flows: senders stay unknown if the gateway saw neither their CM exchange nor their ACKs.";
    /// The table of flows is full, or gave up flows for others.
    flow_table_full: Watch, "Raise the number of flows in the tables of the schemes that notify senders at this port.";
    /// Frames of the class came, and a turn took longer than the buffer covers even now.
    lateness_not_covered: Watch, "Keep other work off this core (docs/running.md, lateness), or give its ports several cores.";
    /// The gateway paused the peer for more than 10% of the time, slots of Bifrost not counted, and no link is the bottleneck.
    pauses_sent: Watch, "See where the frames wait: longspan explain. ECN there should slow the senders down first.";
    /// Frames of the class were dropped for what they are, such as `runt`, or as copies of a flooded frame.
    frames_refused: Watch, "Find the reason in docs/drops.md. The frames are not lost to congestion, or were copies of a flooded frame.";
}

fn drops(class: &Class<'_>) -> Option<String> {
    let dropped = dropped(class, |reason| BROKEN_PROMISES.contains(&reason))?;
    let frames = if class.is_turned_off() {
        "Frames of a priority that the file has as lossless"
    } else {
        "Lossless frames"
    };
    Some(format!("{frames} were dropped: {dropped}."))
}

fn frames_refused(class: &Class<'_>) -> Option<String> {
    let dropped = dropped(class, |reason| !BROKEN_PROMISES.contains(&reason))?;
    Some(format!("Frames were refused: {dropped}."))
}

/// The drops for reasons that `is_wanted` selects.
fn dropped(class: &Class<'_>, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
    let drops = class.priority.drops();
    let wanted = drops.iter().filter(|it| is_wanted(&it.reason));
    let told: Vec<_> =
        wanted.map(|it| format!("{} for {} ({})", thousands(it.frames), it.reason, it.at)).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn device_losses(class: &Class<'_>) -> Option<String> {
    let missed = class.port.count(|it| it.counters.hardware.missed);
    let no_mbuf = class.port.count(|it| it.counters.hardware.no_mbuf);
    (missed + no_mbuf > 0).then(|| {
        let (missed, no_mbuf) = (thousands(missed), thousands(no_mbuf));
        format!("The device lost frames before the gateway saw them: {missed} found its ring full, {no_mbuf} no buffer.")
    })
}

fn link_errors(class: &Class<'_>) -> Option<String> {
    let received = class.port.count(|it| it.counters.hardware.receive_errors);
    let sent = class.port.count(|it| it.counters.hardware.transmit_errors);
    (received + sent > 0).then(|| {
        format!("{} arrived broken, {} could not be sent.", count_of(received, "frame"), thousands(sent))
    })
}

fn pause_frames_lost(class: &Class<'_>) -> Option<String> {
    let lost = class.port.count(|it| it.counters.control.lost);
    (lost > 0).then(|| format!("Control frames that the device took too late or never: {}.", thousands(lost)))
}

fn peer_ignores_pauses(class: &Class<'_>) -> Option<String> {
    // A priority that a neighbour turned off is not paused any more, and has no headroom that would tell who obeyed before.
    if class.is_turned_off() {
        return None;
    }
    // Bytes that a scheme granted earlier may be under way for a round trip.
    if class.priority.count(|it| it.pauses_sent.frames.timed + it.pauses_sent.frames.slot) > 0 {
        return None;
    }
    came_while_paused(class).or_else(|| dropped_while_paused(class))
}

/// A link that obeys sends for as long as it is not paused, and for each pause no more than the headroom covers.
fn came_while_paused(class: &Class<'_>) -> Option<String> {
    let sent = &class.priority;
    let paused_ns = sent.time_ns(|it| it.pauses_sent.paused_ns);
    let open_ns = sent.elapsed_ns() - paused_ns;
    let line_rate = class.port.now.port.rate_bits_per_second;
    let open_bytes = line_rate as f64 / 8e9 * open_ns as f64;
    let allowed = open_bytes + allowance(class);
    let came = sent.count(|it| it.ingress.received.bytes.0);
    (paused_ns > 0 && came as f64 > allowed).then(|| {
        format!(
            "The peer sent {} although it was paused for {} of {}: at most {} could come if it obeyed.",
            bytes(came),
            duration(paused_ns),
            duration(sent.elapsed_ns()),
            bytes(allowed as u64)
        )
    })
}

/// Over a long time, what came in pauses is little beside what could come outside of them. What a full headroom refused
/// came in pauses only, unless a late worker paused the peer too late.
fn dropped_while_paused(class: &Class<'_>) -> Option<String> {
    let beyond = refused_by_headroom(class);
    (beyond > 0 && beyond as f64 > allowance(class)).then(|| {
        let pauses = class.priority.count(|it| it.pauses_sent.frames.xoff);
        format!(
            "{} came on top of {} headroom in {}: a peer that obeys sends no more than that in each on a link of this distance.",
            bytes(beyond),
            bytes(class.headroom_size()),
            count_of(pauses.max(1), "pause")
        )
    })
}

/// The bytes that a full headroom refused.
fn refused_by_headroom(class: &Class<'_>) -> u64 {
    let drops = class.priority.drops();
    drops.iter().filter(|it| it.reason == "headroom_exceeded").map(|it| it.bytes).sum()
}

/// One headroom for each pause that began in the time or lasted at its start, and what the link carries while the worker
/// is late.
fn allowance(class: &Class<'_>) -> f64 {
    let pauses = class.priority.count(|it| it.pauses_sent.frames.xoff);
    let late_ns = class
        .worker()
        .map_or(0, |it| class.gateway.of_worker(it, |it| it.late_turns).saturating_mul(it.turn.max_ns));
    let line_rate = class.port.now.port.rate_bits_per_second as f64;
    class.headroom_size() as f64 * (pauses + 1) as f64 + line_rate / 8e9 * late_ns as f64
}

fn short_mtu(class: &Class<'_>) -> Option<String> {
    let mtu = class.port.now.short_mtu?;
    let device = &class.port.now.device.name;
    let added = match class.port.figure("repair", "is_up") {
        Some(_) => format!(", to which repair adds {AGAIN_LEN} bytes"),
        None => String::new(),
    };
    Some(format!(
        "{device} has an MTU of {mtu}, and the port promises longer packets{added}: these are dropped as oversize."
    ))
}

fn pfc_not_passed(class: &Class<'_>) -> Option<String> {
    use crate::snapshot::Passage::No;
    let pfc = class.port.now.device.pfc;
    let what = match (pfc.receive, pfc.transmit) {
        (No, No) => "neither passes received PFC frames nor sends any",
        (_, No) => "does not send PFC frames",
        (No, _) => return kept_pauses(class.port).or_else(|| Some(keeps_pauses(class.port))),
        _ => return kept_pauses(class.port),
    };
    Some(format!("The device {} {what}.", class.port.now.device.name))
}

fn keeps_pauses(port: PortPeriod<'_>) -> String {
    format!("The device {} does not pass received PFC frames to the gateway.", port.now.device.name)
}

/// Pauses that the device of a port kept to itself.
pub fn kept_pauses(port: PortPeriod<'_>) -> Option<String> {
    let kept = port.count(|it| it.counters.hardware.kept_pauses);
    (kept > 0).then(|| {
        format!(
            "The device {} kept {} of the peer to itself, so the port sent while the peer had no room.",
            port.now.device.name,
            count_of(kept, "pause")
        )
    })
}

fn link_down(class: &Class<'_>) -> Option<String> {
    (!class.port.now.device.link_up).then(|| {
        let waiting = class.priority.now.egress.queued.bytes.0;
        format!("The link is down, and {} wait for it.", bytes(waiting))
    })
}

fn pause_storm(class: &Class<'_>) -> Option<String> {
    let storms = class.priority.count(|it| it.egress.watchdog.map_or(0, |watchdog| watchdog.counters.storms));
    let stormed = class.priority.now.egress.watchdog.is_some_and(|watchdog| watchdog.stormed);
    (storms > 0 || stormed).then(|| {
        let now = if stormed { "the queue is stormed now" } else { "none lasts" };
        format!("Pause storms that the watchdog detected: {}; {now}.", thousands(storms))
    })
}

fn far_end_silent(class: &Class<'_>) -> Option<String> {
    let port = &class.port;
    if port.figure("credits", "hears") == Some(0) {
        return Some("The other end grants no credits, so nothing lossless is sent.".into());
    }
    let silences = port.counted("grants", &["received.silences", "sent.fallbacks"])
        + port.counted("port_grants", &["received.silences", "sent.fallbacks"]);
    let lapsed = port.counted("lscc", &["feedback.lapsed"]);
    (silences + lapsed > 0).then(|| {
        format!(
            "Times at which messages of the other end stayed away: {} of grants, {} of LSCC.",
            thousands(silences),
            thousands(lapsed)
        )
    })
}

fn buffers_low(class: &Class<'_>) -> Option<String> {
    let memory = class.gateway.now.memory;
    let paused_ns = class.priority.count(|it| it.pauses_sent.paused_by(PauseCause::MemoryLow));
    let is_low = memory.mbufs > 0 && memory.mbufs_in_use as f64 > memory.mbufs as f64 * BUFFERS_USED;
    (is_low || paused_ns > 0).then(|| {
        format!(
            "{} of {} packet buffers are in use; low memory paused the peer for {}.",
            thousands(memory.mbufs_in_use),
            thousands(memory.mbufs),
            nanos(paused_ns)
        )
    })
}

fn headroom_low(class: &Class<'_>) -> Option<String> {
    // A priority that is turned off has none, although its watermark stays.
    let (used, size) = (class.headroom_used(), class.headroom_size());
    let is_low = size > 0 && used as f64 > size as f64 * HEADROOM_USED;
    // No headroom is enough for a peer that does not stop.
    (is_low && peer_ignores_pauses(class).is_none()).then(|| {
        let left = size.saturating_sub(used);
        format!("The group has used {} of {} headroom; {} were left.", bytes(used), bytes(size), bytes(left))
    })
}

fn shared_pool_full(class: &Class<'_>) -> Option<String> {
    let paused_ns = class.priority.count(|it| it.pauses_sent.paused_by(PauseCause::PoolFull));
    let pool = class.gateway.now.pools.shared;
    (paused_ns > 0).then(|| {
        let (held, size) = (bytes(pool.held_bytes), bytes(pool.size_bytes));
        format!("A full shared pool paused the peer for {}; it holds {held} of {size}.", nanos(paused_ns))
    })
}

fn pauses_received(class: &Class<'_>) -> Option<String> {
    let share = class.priority.share(|it| it.pauses_received.paused_ns);
    let waiting = class.priority.now.egress.queued.bytes.0;
    (share > MUCH_PAUSED && far_end_congested(class).is_none()).then(|| {
        let paused = percent(share);
        format!("The peer paused the queue for {paused} of the time; {} wait in it.", bytes(waiting))
    })
}

fn pauses_sent(class: &Class<'_>) -> Option<String> {
    let share = pausing(class);
    (share > MUCH_PAUSED && overload(class).is_none()).then(|| {
        let holds = bytes(class.priority.now.ingress.occupancy_bytes);
        format!("The gateway paused the peer for {} of the time; the group holds {holds}.", percent(share))
    })
}

/// The share of time for which the gateway paused the peer. Pauses of a slot are how Bifrost works, whether or not
/// anything is congested.
fn pausing(class: &Class<'_>) -> f64 {
    class
        .priority
        .share(|it| it.pauses_sent.paused_ns.saturating_sub(it.pauses_sent.paused_by(PauseCause::Slot)))
}

fn pauses_before_ecn(class: &Class<'_>) -> Option<String> {
    let pauses = class.priority.count(|it| it.pauses_sent.frames.xoff);
    let mut marking = class.elsewhere().filter(|(_, it)| it.levels.ecn.is_some()).peekable();
    marking.peek()?;
    let marked: u64 =
        marking.map(|(_, it)| it.count(|it| it.egress.ecn_marked + it.egress.ecn_already_marked)).sum();
    (pauses > 0 && marked == 0).then(|| {
        format!("Pauses sent: {}. Frames marked by the queues of the other ports: none.", thousands(pauses))
    })
}

fn xoff_below_kmin(class: &Class<'_>) -> Option<String> {
    let xoff = class.priority.now.ingress.limits?.xoff_bytes?;
    let queues = class.elsewhere().filter_map(|(_, it)| Some(it.levels.ecn?.kmin_bytes));
    let kmin = queues.min()?;
    (xoff <= kmin).then(|| {
        format!("XOFF is {}, and the first egress queue begins to mark at {}.", bytes(xoff), bytes(kmin))
    })
}

fn senders_not_told(class: &Class<'_>) -> Option<String> {
    let port = &class.port;
    let lost: u64 = CNPS_MISSING.iter().map(|(list, path)| port.counted(list, &[path])).sum();
    (lost > 0).then(|| {
        let unresolved = port.figure("flows", "unresolved").unwrap_or_default();
        format!(
            "Congestion notifications without a known sender: {}. Flows unresolved now: {}.",
            thousands(lost),
            thousands(unresolved)
        )
    })
}

fn flow_table_full(class: &Class<'_>) -> Option<String> {
    let (known, capacity) = (class.port.figure("flows", "known")?, class.port.figure("flows", "capacity")?);
    let evicted = class.port.counted("flows", &["evicted"]);
    (evicted > 0 || known >= capacity).then(|| {
        let (known, capacity, evicted) = (thousands(known), thousands(capacity), thousands(evicted));
        format!("The table holds {known} of {capacity} flows, and gave up {evicted} for others.")
    })
}

/// A late turn that lost nothing is one that the buffer covered after all.
fn late_worker(class: &Class<'_>) -> Option<String> {
    let worker = class.worker()?;
    let drops = class.priority.drops();
    let refused = drops.iter().filter(|it| OF_LATE_WORKERS.contains(&it.reason.as_str()));
    let lost = refused.map(|it| it.frames).sum::<u64>() + class.port.count(|it| it.counters.hardware.missed);
    if lost == 0 || peer_ignores_pauses(class).is_some() {
        return None;
    }
    match class.gateway.of_worker(worker, |it| it.late_turns) {
        0 => class.gateway.turns_without_idle(worker).map(|busy| {
            format!(
                "Core {} was never idle in {}, and frames were lost: {}.",
                worker.core,
                count_of(busy, "turn"),
                thousands(lost)
            )
        }),
        late => Some(format!("{} Frames lost: {}.", late_turns(worker, late), thousands(lost))),
    }
}

fn lateness_not_covered(class: &Class<'_>) -> Option<String> {
    let worker = class.worker()?;
    let late = class.gateway.of_worker(worker, |it| it.late_turns);
    let is_covered = worker.covered_lateness_ns.is_none_or(|covered| covered >= worker.turn.max_ns);
    let came = class.priority.count(|it| it.ingress.received.frames);
    (late > 0 && !is_covered && came > 0 && late_worker(class).is_none()).then(|| late_turns(worker, late))
}

fn late_turns(worker: &WorkerReport, late: u64) -> String {
    format!(
        "Turns of core {} that took longer than the buffer then covered: {}. The longest ever took {}; the buffer \
         now covers {}.",
        worker.core,
        thousands(late),
        nanos(worker.turn.max_ns),
        nanos(worker.covered_lateness_ns.unwrap_or_default())
    )
}

fn headroom_short(class: &Class<'_>) -> Option<String> {
    let refused = refused_by_headroom(class);
    let explained = [peer_ignores_pauses, late_worker].iter().any(|rule| rule(class).is_some());
    (refused > 0 && !explained && !class.is_turned_off()).then(|| {
        let pauses = class.priority.count(|it| it.pauses_sent.frames.xoff).max(1);
        let size = bytes(class.headroom_size());
        format!("The headroom of {size} refused {} in {}.", bytes(refused), count_of(pauses, "pause"))
    })
}

/// RoCEv2 of a port with a lossless priority is meant for that.
fn roce_in_lossy(class: &Class<'_>) -> Option<String> {
    let dropped = class.port.priorities().map(|it| (it.now.priority, it.count(|it| it.dropped_roce)));
    let told: Vec<_> = dropped
        .filter(|(_, frames)| *frames > 0)
        .map(|(priority, frames)| format!("{} of priority {priority}", thousands(frames)))
        .collect();
    let number = class.priority.now.priority;
    (!told.is_empty()).then(|| {
        format!(
            "RoCEv2 frames found no room, as they were lossy: {}. Priority {number} is lossless.",
            told.join(", ")
        )
    })
}

fn far_end_congested(class: &Class<'_>) -> Option<String> {
    let port = &class.port;
    let speaks = |(list, path): &(&str, &str)| port.figure(list, path).is_some();
    let waiting = class.priority.now.egress.queued.bytes.0;
    let share = class.priority.share(|it| it.pauses_received.paused_ns);
    let grants = WITH_GRANTS.iter().any(speaks);
    // The rate since the start says nothing about the queue of now.
    // What the link carries in this time may wait without any congestion.
    let usual = port.now.port.rate_bits_per_second / 8 / 10_000;
    let is_short = grants && waiting > usual && !class.gateway.is_since_start() && !port.is_full();
    let holds = is_short || share > MUCH_PAUSED && (grants || WITH_PAUSES.iter().any(speaks));
    holds.then(|| {
        let waiting = bytes(waiting);
        format!("The other end paused the queue for {} of the time; {waiting} wait in it.", percent(share))
    })
}

fn overload(class: &Class<'_>) -> Option<String> {
    let (gateway, number) = (&class.gateway, class.priority.now.priority);
    let rows = gateway.now.waiting.iter();
    let own = rows.filter(|it| it.came_in == class.port.name() && it.priority == number);
    let row = own.max_by_key(|it| it.waiting.bytes.0)?;
    let far = gateway.port(&row.leaves_by)?;
    let held = far.priority(row.queue)?.share(|it| it.pauses_received.paused_ns) > MUCH_PAUSED;
    // The average since the start says little about the link.
    let is_full = far.is_full() || gateway.is_since_start() && far.now.device.link_up;
    let share = pausing(class);
    (share > MUCH_PAUSED && is_full && !held).then(|| {
        format!(
            "More came than {} carries at {}: {} wait for it, and the gateway paused the peer for {} of the time.",
            far.name(),
            rate(far.now.port.rate_bits_per_second),
            bytes(row.waiting.bytes.0),
            percent(share)
        )
    })
}

fn link_delay_refused(class: &Class<'_>) -> Option<String> {
    let refused = class.port.count(|it| it.covered_delay.map_or(0, |covered| covered.refused));
    (refused > 0).then(|| {
        let measured = class.port.figure("link_delay", "delay_ns").map_or("unknown".into(), nanos);
        let covered = class.port.now.covered_delay.map_or(0, |covered| covered.covered_ns);
        format!(
            "Measured delays outside the bounds: {}. The last one is {measured}; headroom covers {}.",
            thousands(refused),
            nanos(covered)
        )
    })
}

fn pfc_turned_off(class: &Class<'_>) -> Option<String> {
    class.is_turned_off().then(|| {
        "The file has PFC for the priority, and a neighbour turned it off: frames that find no room are dropped.".into()
    })
}

fn neighbour_differs(class: &Class<'_>) -> Option<String> {
    let told: Vec<_> = class.port.now.neighbours.iter().filter_map(NeighbourReport::mismatched).collect();
    (!told.is_empty()).then(|| format!("{}.", told.join(". ")))
}

fn pauses_ignored(class: &Class<'_>) -> Option<String> {
    let ignored = class.priority.count(|it| it.pauses_received.frames.ignored);
    (ignored > 0).then(|| {
        format!("Pauses received for a priority that the port does not obey: {}.", thousands(ignored))
    })
}
