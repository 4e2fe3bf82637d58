//! The configuration of a gateway as text.

use core::fmt::Write;

use units::{BitRate, Distance, Interval, Priority};

use super::levels::{Levels, PortLevels};
use super::marks::Marks;
use super::request::{PlanError, Request};
use crate::gateway::Gateway;
use crate::load;

/// The port to the data center.
pub(super) const LOCAL: &str = "dc0";
/// The port on the long link, the first one of several.
pub(super) const LONG: &str = "lh0";
/// The bundle of several long links.
const BUNDLE: &str = "lh";
/// The gateways.
pub(super) const ENDS: [&str; 2] = ["gw-east", "gw-west"];
/// The code point of CNPs and of the network's own messages.
const NETWORK: u8 = 48;

/// How a text differs from the one for people.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form<'a> {
    /// The levels; before they are known, a pool that is large enough for anything.
    pub levels: Option<&'a Levels>,
    /// The slot.
    pub slot: Option<Interval>,
    /// Whether the ports have devices and cores: those of the request, or any, for the sum of memory and cores.
    pub devices: bool,
    /// LSCC's key instead of the file that has it.
    pub key: Option<&'a str>,
}

/// The gateway at `end` that a text of this `form` makes.
pub(super) fn read(request: &Request, end: usize, form: &Form<'_>) -> Result<Gateway, PlanError> {
    Ok(load::parse(&text(request, end, form), "plan")?)
}

/// The code point of frames of a lossless priority: 26 for 3, as most RoCE networks have it, and 8 more for each.
pub(super) fn code_point(priority: Priority) -> u8 {
    8 * priority.number() + 2
}

/// The text of gateway 0 or 1. Writing to a string cannot fail, so no result is looked at.
pub(super) fn text(request: &Request, end: usize, form: &Form<'_>) -> String {
    let mut out = String::new();
    let Request { distance, rate, scheme, links, .. } = request;
    let each = if *links > 1 { format!("{links} x ") } else { String::new() };
    let _ = write!(
        out,
        "# A gateway with {} to the data center and {each}{rate} over {distance}, with {scheme}{} on the long link.\n\
         # longspan plan has written it, and shows the formula of each value.\n\n\
         [gateway]\nname = \"{}\"\n\n[buffer]\n",
        request.whole_rate(),
        request.above(),
        ENDS[end]
    );
    let _ = match form.levels {
        Some(levels) => {
            writeln!(out, "shared = \"{}\"\negress_lossy = \"{}\"", levels.shared, levels.lossy)
        }
        None => writeln!(out, "shared = \"1024GiB\""),
    };
    let far = if *links > 1 { BUNDLE } else { LONG };
    let _ = write!(out, "\n[forwarding]\nmode = \"patch\"\npairs = [[\"{LOCAL}\", \"{far}\"]]\n");
    if *links > 1 {
        let members: Vec<_> = (0..*links).map(|link| format!("\"{BUNDLE}{link}\"")).collect();
        let _ = write!(out, "\n[[bundle]]\nname = \"{BUNDLE}\"\nmembers = [{}]\n", members.join(", "));
    }
    dpdk(&mut out, request, form);
    local(&mut out, request, end, form);
    (0..*links).for_each(|link| long(&mut out, request, (end, link), form));
    out
}

/// Cores and lanes.
fn dpdk(out: &mut String, request: &Request, form: &Form<'_>) {
    let cores: Vec<_> = (2..2 + request.lanes.max(1)).map(|core| core.to_string()).collect();
    if form.devices || request.lanes != 1 {
        out.push_str("\n[dpdk]\n");
    }
    if form.devices {
        let _ = writeln!(out, "cores = [{}]", cores.join(", "));
    }
    if request.lanes != 1 {
        let _ = writeln!(out, "lanes = {}", request.lanes);
    }
}

fn local(out: &mut String, request: &Request, end: usize, form: &Form<'_>) {
    port(out, request, (LOCAL, end, 1), (request.whole_rate(), request.local_distance));
    if request.scheme.planned().passes_on() {
        let _ = writeln!(out, "flow_control = \"{}\"", request.scheme);
    }
    common(out, request, form.levels.map(|levels| &levels.ports[0]));
    if form.devices {
        device(out, request, (0, end));
    }
}

fn long(out: &mut String, request: &Request, (end, link): (usize, u8), form: &Form<'_>) {
    port(out, request, (&format!("{BUNDLE}{link}"), end, 2 + link), (request.rate, request.distance));
    let _ = writeln!(out, "flow_control = \"{}\"", request.scheme);
    if request.repair {
        out.push_str("repair = {}\n");
    }
    common(out, request, form.levels.map(|levels| &levels.ports[1]));
    if let Some(slot) = form.slot.filter(|_| request.scheme.has_slots()) {
        let _ = write!(out, "\n[port.bifrost]\nslot = \"{slot}\"\n");
    }
    if request.lscc {
        lscc(out, request, (end, link), form.key);
    }
    if form.devices {
        device(out, request, (1 + usize::from(link), end));
    }
}

/// The head of a port, which is the `number`th. Its address tells both gateways apart, whose link would have one address at
/// both ends otherwise.
fn port(
    out: &mut String,
    request: &Request,
    (name, end, number): (&str, usize, u8),
    (rate, distance): (BitRate, Distance),
) {
    let Request { mtu, interface_delay, tx_window, .. } = request;
    let _ = write!(
        out,
        "\n[[port]]\nname = \"{name}\"\nmac = \"02:00:00:00:{:02x}:{number:02x}\"\nrate = \"{rate}\"\nmtu = {}\n\
         distance = \"{distance}\"\ninterface_delay = \"{interface_delay}\"\ntx_window = \"{tx_window}\"\n",
        end + 1,
        mtu.0
    );
}

/// Classes, groups and queues of a port.
fn common(out: &mut String, request: &Request, levels: Option<&PortLevels>) {
    let codes = request.priorities.iter().map(|it| format!("\"{}\" = {it}", code_point(it)));
    let codes: Vec<_> = codes.chain([format!("\"{NETWORK}\" = 6")]).collect();
    let list: Vec<_> = request.priorities.iter().map(|it| it.to_string()).collect();
    let list = list.join(", ");
    let _ = write!(
        out,
        "\n[port.classify]\ntrust = \"dscp\"\ndefault = 0   # and of every DSCP that the map does not name\ndscp = {{ {} }}\n\
         \n[[port.lossless]]\npriorities = [{list}]\n",
        codes.join(", ")
    );
    if let Some((xoff, xon)) = levels.and_then(|levels| levels.thresholds) {
        let _ = write!(out, "xoff = \"{xoff}\"\nxon = \"{xon}\"\nheadroom = \"auto\"\n");
    }
    let _ = write!(out, "\n[[port.queue]]\npriorities = [{list}]\nweight = 50\n");
    if let Some(Marks { kmin, kmax, pmax }) = levels.and_then(|levels| levels.marks) {
        let _ = writeln!(
            out,
            "ecn = {{ kmin = \"{kmin}\", kmax = \"{kmax}\", pmax = {pmax}, mark_at = \"dequeue\" }}"
        );
    }
}

fn lscc(out: &mut String, request: &Request, (end, link): (usize, u8), key: Option<&str>) {
    let [local, peer] = [end, 1 - end].map(|end| format!("10.255.{link}.{}", end + 1));
    let key = match key {
        Some(key) => format!("key = \"{key}\""),
        // As a TOML string, whatever the name holds.
        None => format!("key_file = {}", crate::value::quoted(&request.key_file)),
    };
    let senders = request.senders;
    let _ = write!(
        out,
        "\n[port.lscc]\nlocal = \"{local}\"\npeer = \"{peer}\"\n{key}\n\
         senders = {{ rate = \"{}\", additive_increase = \"{}\", rate_timer = \"{}\" }}\n",
        senders.rate, senders.additive_increase, senders.rate_timer
    );
}

/// The device of port `number`.
fn device(out: &mut String, request: &Request, (number, end): (usize, usize)) {
    let stated = request.pci.get(end).or(request.pci.first()).map(|pci| pci[number].clone());
    // As a TOML string, whatever it holds.
    let pci = crate::value::quoted(stated.unwrap_or_else(|| format!("0000:00:{number:02x}.0")));
    let _ = write!(out, "\n[port.device]\npci = {pci}\n");
}
