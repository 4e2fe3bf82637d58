//! A gateway as TOML, with every key written out.

use core::fmt::Write;

use switch::program::{
    Bifrost, Classification, LosslessGroup, Lscc, MarkAt, PortSettings, QueueSettings, RateLimit, Scheduling,
    Threshold, Trust, VirtualIncoming, Watchdog,
};
use switch::{ForwardingSettings, RouteSettings};
use units::{Bytes, PortId, Priority, PrioritySet, WireBytes};
use wire::rate_feedback::Key;

use crate::gateway::{Gateway, Link};
use crate::runtime::{
    Control, Device, DeviceKind, Dpdk, Emulation, Hugepages, Idle, PfcFrames, Privileges, Process, Runtime,
};

/// The TOML text that [`crate::parse`] reads as the same gateway, LSCC's secret keys in clear.
///
/// Every key is written, whatever its default, so that it shows what is in force and stays valid when a
/// default changes.
pub fn render(gateway: &Gateway) -> String {
    rendered(gateway, Keys::InClear)
}

/// The same text for others to see: each secret key is `"(hidden)"`, which [`crate::parse`] refuses.
pub fn render_without_keys(gateway: &Gateway) -> String {
    rendered(gateway, Keys::Hidden)
}

/// What becomes of secret keys.
#[derive(Clone, Copy)]
enum Keys {
    InClear,
    Hidden,
}

fn rendered(gateway: &Gateway, keys: Keys) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _written = write_gateway(&mut text, gateway, keys);
    text
}

fn write_gateway(out: &mut String, gateway: &Gateway, keys: Keys) -> core::fmt::Result {
    let settings = gateway.program.settings();
    let buffer = &settings.buffer;
    writeln!(out, "[gateway]\nname = \"{}\"\nseed = {}", gateway.name, settings.seed)?;
    writeln!(out, "\n[buffer]\nshared = \"{}\"\nheadroom = \"{}\"", buffer.shared, buffer.headroom)?;
    writeln!(out, "egress_lossy = \"{}\"", buffer.egress_lossy)?;
    writeln!(out, "cell_occupancy = {:?}", gateway.cell_occupancy)?;
    write_forwarding(out, &settings.forwarding, &settings.ports)?;
    write_dpdk(out, &gateway.runtime.dpdk)?;
    write_control(out, &gateway.runtime.control)?;
    write_process(out, &gateway.runtime.process)?;
    for (index, (port, link)) in settings.ports.iter().zip(&gateway.links).enumerate() {
        write_port(out, port, link, keys)?;
        let Runtime { devices, emulations, .. } = &gateway.runtime;
        devices[index].as_ref().map_or(Ok(()), |device| write_device(out, device))?;
        emulations[index].as_ref().map_or(Ok(()), |emulation| write_emulation(out, emulation))?;
    }
    Ok(())
}

/// A text with quotes around it, and whatever escapes it needs.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn write_dpdk(out: &mut String, dpdk: &Dpdk) -> core::fmt::Result {
    let hugepages = match dpdk.hugepages {
        Hugepages::Auto => "auto",
        Hugepages::Require => "require",
        Hugepages::Never => "never",
    };
    let idle = match dpdk.idle {
        Idle::Poll => "poll",
        Idle::Sleep => "sleep",
    };
    let cores = join(dpdk.cores.iter().map(ToString::to_string));
    let arguments = join(dpdk.arguments.iter().map(|argument| quoted(argument)));
    writeln!(out, "\n[dpdk]\nhugepages = \"{hugepages}\"\ncores = [{cores}]\nidle = \"{idle}\"")?;
    writeln!(out, "file_prefix = {}\narguments = [{arguments}]", quoted(&dpdk.file_prefix))?;
    match dpdk.pack_below {
        Some(length) => writeln!(out, "pack_below = {}", length.0),
        None => Ok(()),
    }
}

fn write_control(out: &mut String, control: &Control) -> core::fmt::Result {
    let Control { socket, mode, group, metrics, stall, drain } = control;
    let socket = quoted(&socket.display().to_string());
    writeln!(out, "\n[control]\nsocket = {socket}\nmode = \"{mode:03o}\"")?;
    if let Some(group) = group {
        writeln!(out, "group = {}", quoted(group))?;
    }
    writeln!(out, "metrics = \"{}\"\nstall = \"{stall}\"\ndrain = \"{drain}\"", or_none(*metrics))
}

fn write_process(out: &mut String, process: &Process) -> core::fmt::Result {
    let privileges = match process.privileges {
        Privileges::Drop => "drop",
        Privileges::Keep => "keep",
    };
    writeln!(out, "\n[process]\nprivileges = \"{privileges}\"")?;
    process.user.as_ref().map_or(Ok(()), |user| writeln!(out, "user = {}", quoted(user)))
}

fn write_device(out: &mut String, device: &Device) -> core::fmt::Result {
    writeln!(out, "\n[port.device]")?;
    match &device.kind {
        DeviceKind::Pci(address) => writeln!(out, "pci = {}", quoted(address))?,
        DeviceKind::Virtual(vdev) => writeln!(out, "vdev = {}", quoted(vdev))?,
    }
    if let Some(core) = device.core {
        writeln!(out, "core = {core}")?;
    }
    let pfc_frames = match device.pfc_frames {
        PfcFrames::Require => "require",
        PfcFrames::Warn => "warn",
    };
    writeln!(out, "receive_descriptors = {}", device.receive_descriptors)?;
    writeln!(out, "transmit_descriptors = {}", device.transmit_descriptors)?;
    writeln!(out, "pfc_frames = \"{pfc_frames}\"")
}

fn write_emulation(out: &mut String, emulation: &Emulation) -> core::fmt::Result {
    let Emulation { delay, loss, duplicate, reorder, reorder_by, control } = emulation;
    writeln!(out, "\n[port.emulation]\ndelay = \"{delay}\"\nloss = {loss:?}\nduplicate = {duplicate:?}")?;
    writeln!(out, "reorder = {reorder:?}\nreorder_by = \"{reorder_by}\"\ncontrol = {control}")
}

fn write_forwarding(
    out: &mut String,
    forwarding: &ForwardingSettings,
    ports: &[PortSettings],
) -> core::fmt::Result {
    let name = |port: &PortId| ports[port.index()].name.as_str();
    writeln!(out, "\n[forwarding]")?;
    match forwarding {
        ForwardingSettings::Patch(pairs) => {
            let pairs = pairs.iter().map(|(one, other)| format!("[\"{}\", \"{}\"]", name(one), name(other)));
            writeln!(out, "mode = \"patch\"\npairs = [{}]", join(pairs))
        }
        ForwardingSettings::Bridge(bridge) => {
            writeln!(out, "mode = \"bridge\"\ncapacity = {}\nageing = \"{}\"", bridge.capacity, bridge.ageing)
        }
        ForwardingSettings::Route(RouteSettings { routes, neighbours }) => {
            writeln!(out, "mode = \"route\"")?;
            for route in routes {
                let hops = route.next_hops.iter().map(|hop| format!("\"{hop}\""));
                writeln!(out, "\n[[forwarding.route]]\nprefix = \"{}\"", route.prefix)?;
                writeln!(out, "next_hops = [{}]", join(hops))?;
            }
            for it in neighbours {
                writeln!(out, "\n[[forwarding.neighbour]]\naddress = \"{}\"", it.address)?;
                writeln!(out, "mac = \"{}\"\nport = \"{}\"", it.mac, name(&it.port))?;
            }
            Ok(())
        }
    }
}

fn write_port(out: &mut String, port: &PortSettings, link: &Link, keys: Keys) -> core::fmt::Result {
    writeln!(out, "\n[[port]]\nname = \"{}\"\nmac = \"{}\"\nrate = \"{}\"", port.name, port.mac, port.rate)?;
    writeln!(out, "max_frame = {}\ntx_window = \"{}\"", port.max_frame.0, port.tx_window)?;
    writeln!(out, "int = {}", port.int)?;
    if port.watchdog.is_none() && !port.pfc.obeyed().is_empty() {
        writeln!(out, "watchdog = \"none\"")?;
    }
    if let Some(distance) = link.distance {
        writeln!(out, "distance = \"{distance}\"")?;
    }
    writeln!(out, "interface_delay = \"{}\"", link.interface_delay)?;
    let addresses = port.addresses.iter().map(|address| format!("\"{address}\""));
    writeln!(out, "addresses = [{}]", join(addresses))?;
    write_rate_limit(out, port.rate_limit)?;
    write_classify(out, &port.classification)?;
    for priority in Priority::all() {
        if let Some(group) = port.groups[priority.index()].lossless() {
            write_group(out, priority, group)?;
        }
    }
    for priority in Priority::all() {
        write_queue(out, priority, &port.queues[priority.index()])?;
    }
    writeln!(out, "\n[port.pfc]\npause = {}\nobey = {}", port.pfc.pause.0, set(port.pfc.obey))?;
    writeln!(out, "global_pause = {}", port.pfc.obey_global_pause)?;
    port.bifrost.as_ref().map_or(Ok(()), |bifrost| write_bifrost(out, bifrost))?;
    port.lscc.as_ref().map_or(Ok(()), |lscc| write_lscc(out, lscc, keys))?;
    port.watchdog.as_ref().map_or(Ok(()), |watchdog| write_watchdog(out, watchdog))
}

fn write_watchdog(out: &mut String, watchdog: &Watchdog) -> core::fmt::Result {
    let Watchdog { detection, restoration, action } = *watchdog;
    writeln!(out, "\n[port.watchdog]\ndetection = \"{detection}\"\nrestoration = \"{restoration}\"")?;
    writeln!(out, "action = \"{}\"", action.name())
}

fn write_bifrost(out: &mut String, bifrost: &Bifrost) -> core::fmt::Result {
    let Bifrost { buffer: WireBytes(buffer), slot, round_trip, .. } = *bifrost;
    writeln!(out, "\n[port.bifrost]\nslot = \"{slot}\"\nbuffer = \"{}\"", Bytes(buffer))?;
    writeln!(out, "round_trip = \"{round_trip}\"\ncheck_every = {}", bifrost.check_every)?;
    match bifrost.virtual_incoming {
        VirtualIncoming::Counter => writeln!(out, "virtual_incoming = \"counter\"")?,
        VirtualIncoming::History { jitter } => {
            writeln!(out, "virtual_incoming = \"history\"\njitter = \"{jitter}\"")?;
        }
    }
    writeln!(out, "holdover = \"{}\"\nlateness = \"{}\"", bifrost.holdover, bifrost.lateness)
}

fn write_lscc(out: &mut String, lscc: &Lscc, keys: Keys) -> core::fmt::Result {
    let Lscc { interval, round_trip, calculation, limiting, feedback } = lscc;
    writeln!(out, "\n[port.lscc]\nlocal = \"{}\"\npeer = \"{}\"", feedback.local, feedback.peer)?;
    match (feedback.key, keys) {
        (None, _) => writeln!(out, "key = \"none\"")?,
        (Some(Key(key)), Keys::InClear) => writeln!(out, "key = \"{:032x}\"", u128::from_be_bytes(key))?,
        (Some(_), Keys::Hidden) => writeln!(out, "key = \"(hidden)\"")?,
    }
    writeln!(out, "interval = \"{interval}\"\nround_trip = \"{round_trip}\"")?;
    writeln!(out, "reference = \"{}\"", Bytes(calculation.reference.0))?;
    writeln!(out, "step = \"{}\"", or_none(calculation.step))?;
    writeln!(out, "least = \"{}\"\nmost = \"{}\"", calculation.least, calculation.most)?;
    writeln!(out, "pseudo_reference = \"{}\"", Bytes(limiting.reference.0))?;
    writeln!(out, "cnp_interval = \"{}\"", limiting.cnp_interval)?;
    writeln!(out, "long_flow = \"{}\"", Bytes(limiting.long_flow.0))?;
    writeln!(out, "far_cnp_interval = \"{}\"", or_none(limiting.far_cnp_interval))?;
    writeln!(out, "flows = {}\nageing = \"{}\"", limiting.flows, limiting.ageing)?;
    writeln!(out, "cnp = {{ dscp = {}, priority = {} }}", limiting.cnp_dscp, limiting.cnp_priority)?;
    writeln!(out, "feedback_dscp = {}", feedback.dscp)
}

fn or_none<T: ToString>(limit: Option<T>) -> String {
    limit.map_or_else(|| "none".into(), |limit| limit.to_string())
}

fn write_rate_limit(out: &mut String, limit: Option<RateLimit>) -> core::fmt::Result {
    match limit {
        Some(RateLimit { rate, burst }) => {
            writeln!(out, "rate_limit = {{ rate = \"{rate}\", burst = \"{burst}\" }}")
        }
        None => Ok(()),
    }
}

fn write_classify(out: &mut String, class: &Classification) -> core::fmt::Result {
    let trust = match class.trust {
        Trust::Dscp => "dscp",
        Trust::Pcp => "pcp",
        Trust::Nothing => "nothing",
    };
    writeln!(out, "\n[port.classify]\ntrust = \"{trust}\"\ndefault = {}", class.default)?;
    writeln!(out, "dscp = {{ {} }}\npcp = {{ {} }}", runs(&class.dscp), runs(&class.pcp))
}

/// Code points in runs of the same priority.
fn runs(priorities: &[Priority]) -> String {
    let mut first = 0;
    let runs = priorities.chunk_by(|one, other| one == other).map(|run| {
        let last = first + run.len() - 1;
        let codes = if first == last { first.to_string() } else { format!("{first}-{last}") };
        first = last + 1;
        format!("\"{codes}\" = {}", run[0])
    });
    join(runs)
}

fn write_group(out: &mut String, priority: Priority, group: &LosslessGroup) -> core::fmt::Result {
    writeln!(out, "\n[[port.lossless]]\npriorities = [{priority}]\nreserved = \"{}\"", group.reserved)?;
    write_threshold(out, "xoff", group.xoff)?;
    writeln!(out, "xon = \"{}\"", group.xon)?;
    if matches!(group.xoff, Threshold::Dynamic(_)) {
        writeln!(out, "xon_offset = \"{}\"", group.xon_offset)?;
    }
    writeln!(out, "headroom = \"{}\"", group.headroom)
}

fn write_threshold(out: &mut String, fixed: &str, threshold: Threshold) -> core::fmt::Result {
    match threshold {
        Threshold::Static(level) => writeln!(out, "{fixed} = \"{level}\""),
        Threshold::Dynamic(share) => writeln!(out, "dynamic_th = {}", share.exponent()),
    }
}

fn write_queue(out: &mut String, priority: Priority, queue: &QueueSettings) -> core::fmt::Result {
    writeln!(out, "\n[[port.queue]]\npriorities = [{priority}]")?;
    match queue.scheduling {
        Scheduling::Strict => writeln!(out, "scheduling = \"strict\"")?,
        Scheduling::Weighted(weight) => writeln!(out, "weight = {weight}")?,
    }
    write_rate_limit(out, queue.rate_limit)?;
    if let Some(red) = &queue.red {
        let mark_at = match red.mark_at {
            MarkAt::Dequeue => "dequeue",
            MarkAt::Enqueue => "enqueue",
        };
        writeln!(out, "[port.queue.ecn]\nkmin = \"{}\"\nkmax = \"{}\"", red.kmin, red.kmax)?;
        writeln!(out, "pmax = {:?}\nmark_at = \"{mark_at}\"", red.pmax)?;
    }
    writeln!(out, "[port.queue.lossy]\nreserved = \"{}\"", queue.lossy.reserved)?;
    write_threshold(out, "static", queue.lossy.threshold)
}

fn set(priorities: PrioritySet) -> String {
    format!("[{}]", join(priorities.iter().map(|priority| priority.to_string())))
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
