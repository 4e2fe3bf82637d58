//! The network of a run: senders, a router, both gateways, a router, and one receiver that is slower.

use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use std::fmt::Write;
use std::sync::Arc;

use endpoint::{CongestionControl, Dcqcn, FlowId, GoBackN, HostSettings, Station, Transport};
use simulation::{Faults, FlowSpec, LinkEnd, LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec};
use switch::Program;
use units::{BitRate, Bytes, Distance, Interval, Nanos, PortId, Priority};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;

use crate::core_load::HEADERS;
use crate::load;
use crate::plan::built::Built;
use crate::plan::longest::{held, on_the_wire};
use crate::plan::pauses::Pauses;
use crate::plan::request::{PlanError, Request};
use crate::plan::text::code_point;

/// Senders of the worst cases, all at the rate of the long link.
const SENDERS: u8 = 4;
/// The length of the links to hosts.
const HOST_LINK: Distance = Distance(100);
/// The priority that stops the drain: a strictly higher one.
const BLOCKER: Priority = Priority::from_low_bits(7);
/// Frames at which a router pauses.
const ROUTER_FRAMES: u64 = 32;
/// The payload of the frames that cost most buffer for their wire bytes: with headers, 66 bytes.
const SMALL: u16 = 8;
/// The longest payload of a host.
pub(super) const LONGEST: u64 = 9_000;

units::named! {
    /// The frames of the senders. In each case they send in phase, to one receiver at the slowest drain, which also stops.
    Case [ALL] {
        /// The longest frames.
        Long = "longest frames",
        /// A storm of minimum-size frames.
        Short = "minimum-size frames",
        /// Two senders of each.
        Mixed = "both at once",
    }
}

impl Case {
    fn payload(self, sender: u8, max_frame: Bytes) -> u16 {
        let longest = max_frame.0.saturating_sub(HEADERS).clamp(4, LONGEST) as u16;
        let short = match self {
            Self::Long => false,
            Self::Short => true,
            Self::Mixed => sender.is_multiple_of(2),
        };
        if short { SMALL.min(longest) } else { longest }
    }
}

/// The nodes that are watched.
pub(super) const NEAR: NodeId = NodeId(1);
pub(super) const FAR: NodeId = NodeId(2);
/// The first host: the senders, the receiver, and the host that stops the drain.
const HOSTS: u32 = 4;
/// Links between routers and gateways, in front of those of hosts.
const TRUNKS: usize = 3;

/// When what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub round_trip: Interval,
    /// One priority alone fills both gateways.
    fills: Interval,
    /// For how long the drain stops, after the first round trip.
    pub stop: Interval,
    /// The queue drains while bursts go on, for longer than any pause may still last.
    pub drains: Interval,
}

impl Times {
    /// The drain stops until both gateways are full, the far one and then the near one, and for a round trip more; for
    /// three round trips at least. So the near one pauses its data center even where the link holds less than a buffer.
    pub fn new(built: &Built, pauses: &Pauses) -> Self {
        let round_trip = built.round_trip().total();
        let (long, local) = (built.long().0, built.local().0);
        let fills = long.rate.serialization().time_of(on_the_wire(held(long) + held(local)));
        let priorities = built.request.count();
        let stop = (fills * priorities + round_trip).max(round_trip * 3);
        let drains = round_trip * 4 + pauses.local.max(pauses.long) * 2;
        Self { round_trip, fills, stop, drains }
    }

    /// The drain goes on: at the far gateway, and when the near one can learn of it.
    pub fn drain_goes_on(self, built: &Built) -> [Nanos; 2] {
        let far = Nanos::ZERO + self.round_trip + self.stop;
        [far, far + built.request.distance.propagation()]
    }

    /// The end of the run.
    pub fn end(self) -> Nanos {
        Nanos::ZERO + self.stop + self.drains
    }
}

/// The hosts at both ends.
pub(super) struct Hosts {
    /// The longest payload of each sender.
    pub payloads: Vec<u16>,
    /// The rate of each sender's link.
    pub rate: BitRate,
    /// The rate of the receiver's link.
    pub drain: BitRate,
    /// DCQCN and the least interval between two CNPs, if the senders obey marks.
    pub dcqcn: Option<(Dcqcn, Interval)>,
}

impl Hosts {
    /// Those of a worst case.
    pub fn of(case: Case, built: &Built, drain: BitRate) -> Self {
        let frame = built.long().0.max_frame;
        let payloads = (0..SENDERS).map(|sender| case.payload(sender, frame)).collect();
        Self { payloads, rate: built.request.rate, drain, dcqcn: None }
    }

    /// The senders.
    pub fn senders(&self) -> impl Iterator<Item = NodeId> {
        (HOSTS..).take(self.payloads.len()).map(NodeId)
    }

    /// The receiver, behind the senders.
    pub fn receiver(&self) -> NodeId {
        NodeId(HOSTS + self.payloads.len() as u32)
    }

    /// The link of the receiver, by its number.
    pub fn last_link(&self) -> usize {
        TRUNKS + self.payloads.len()
    }

    fn settings(&self, request: &Request, router: u8, number: u8) -> NodeKind {
        let payload = |sender: usize| self.payloads.get(sender).copied();
        let of_receiver = payload(1).or(payload(0)).unwrap_or(SMALL);
        let (rate, mtu) = match router {
            0 => (self.rate, payload(number.into()).unwrap_or(of_receiver)),
            _ => (self.drain, of_receiver),
        };
        let quiet = GoBackN {
            ack_every: const { NonZeroU32::new(64).unwrap() },
            // Nothing is sent again within the run.
            retransmission_timeout: Interval::from_secs(3_600),
        };
        let dcqcn = |(settings, _)| CongestionControl::Dcqcn(settings);
        NodeKind::Host(Arc::new(HostSettings {
            station: Station { mac: mac(router, number), address: address(router, number).into() },
            next_hop: port_mac(router, 1 + number),
            rate,
            mtu,
            lossless: request.priorities,
            dscp: core::array::from_fn(|it| Dscp::from_low_bits(code(Priority::from_low_bits(it as u8)))),
            control_priority: Some(Priority::from_low_bits(6)),
            transport: Transport::GoBackN(quiet),
            congestion_control: self.dcqcn.map_or(CongestionControl::None, dcqcn),
            cnp_interval: self.dcqcn.map(|(_, interval)| interval),
            connection_management: None,
        }))
    }
}

/// The network of both gateways with these hosts.
pub(super) fn network(
    built: &Built,
    programs: [Arc<Program>; 2],
    hosts: &Hosts,
) -> Result<NetworkSpec, PlanError> {
    let request = &built.request;
    let frame = built.long().0.max_frame;
    let senders = hosts.payloads.len() as u8;
    let [near, far] = programs;
    let mut network = NetworkSpec::default();
    let switch = |program| NodeKind::Switch { program, lanes: 1 };
    let mut add = |name: String, kind| network.nodes.push(NodeSpec { name, kind });
    add("east".into(), switch(router(request, (0, senders), hosts.rate, frame)?));
    add("gw-east".into(), switch(near));
    add("gw-west".into(), switch(far));
    add("west".into(), switch(router(request, (1, 2), hosts.drain, frame)?));
    for sender in 0..senders {
        add(format!("sender{sender}"), hosts.settings(request, 0, sender));
    }
    add("receiver".into(), hosts.settings(request, 1, 0));
    add("blocker".into(), hosts.settings(request, 1, 1));
    let mut join = |ends: [(u32, u16); 2], rate, distance: Distance| {
        let ends = ends.map(|(node, port)| LinkEnd { node: NodeId(node), port: PortId(port) });
        let delay = distance.propagation();
        network.links.push(LinkSpec { ends, rate, delay, faults: [Faults::default(); 2] });
    };
    join([(0, 0), (NEAR.0, 0)], request.rate, request.local_distance);
    join([(NEAR.0, 1), (FAR.0, 1)], request.rate, request.distance);
    join([(FAR.0, 0), (3, 0)], request.rate, request.local_distance);
    for (port, sender) in (1..).zip(hosts.senders()) {
        join([(sender.0, 0), (0, port)], hosts.rate, HOST_LINK);
    }
    for host in 0..2 {
        join([(hosts.receiver().0 + u32::from(host), 0), (3, 1 + host)], hosts.drain, HOST_LINK);
    }
    Ok(network)
}

/// The most bursts of a run. A drain that is next to nothing would have more of them than memory has room for.
const BURSTS: usize = 4_096;

/// Everybody sends until a round trip after the stop, then in bursts of a quarter of a round trip, two in each. Frames of
/// both kinds begin at all priorities at once. With those of one kind, each priority has the link for itself for as long as
/// it could fill both gateways, from the lowest or from the highest on; their bursts are of all priorities.
pub(super) fn flows(request: &Request, times: Times, case: Case, hosts: &Hosts) -> Vec<FlowSpec> {
    let receiver = hosts.receiver();
    let at = |quarters: u64| Nanos::ZERO + Interval(times.round_trip.0 / 4) * quarters;
    let after = |quarters: u64| at(quarters) + times.stop;
    let bursts: Vec<_> = (5..)
        .map(|burst| (after(2 * burst), after(2 * burst + 1)))
        .take_while(|(_, stop)| *stop < times.end())
        .take(BURSTS)
        .collect();
    let flow = |source, span, priority| endless([source, receiver], span, priority);
    let mut flows = vec![flow(NodeId(receiver.0 + 1), (at(4), after(4)), BLOCKER)];
    for (turn, priority) in (0..).zip(request.priorities.iter()) {
        let turn = match case {
            Case::Long => turn,
            Case::Short => request.count() - 1 - turn,
            Case::Mixed => 0,
        };
        let first = (at(0) + times.fills * turn, after(8));
        for span in core::iter::once(first).chain(bursts.iter().copied()) {
            flows.extend(hosts.senders().map(|sender| flow(sender, span, priority)));
        }
    }
    flows.sort_by_key(|flow| flow.start);
    for (number, flow) in flows.iter_mut().enumerate() {
        flow.id = FlowId(number as u32);
    }
    flows
}

/// A flow without end from a source to a destination, from its start until it is stopped.
pub(super) fn endless(
    [source, destination]: [NodeId; 2],
    (start, stop): (Nanos, Nanos),
    priority: Priority,
) -> FlowSpec {
    FlowSpec {
        id: FlowId(0),
        start,
        source,
        destination,
        bytes: None,
        stop: Some(stop),
        again_until: None,
        priority,
        group: 0,
    }
}

/// The address of a host behind router 0 or 1.
fn address(router: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 1 + router, 0, 1 + host)
}

/// The MAC address of a host.
fn mac(router: u8, host: u8) -> MacAddress {
    MacAddress([2, 0, 10, 1 + router, 0, 1 + host])
}

/// The MAC address of a port of a router.
fn port_mac(router: u8, port: u8) -> MacAddress {
    MacAddress([2, 1, 0, router, 0, port])
}

/// The code point of a priority: those of the gateways, and that of the host that stops the drain.
fn code(priority: Priority) -> u8 {
    match priority.number() {
        6 => 48,
        7 => 56,
        _ => code_point(priority),
    }
}

/// A router of a data center whose hosts have links of `rate`, with small thresholds, so that what they do reaches the
/// gateway soon.
fn router(
    request: &Request,
    (end, hosts): (u8, u8),
    rate: BitRate,
    frame: Bytes,
) -> Result<Arc<Program>, PlanError> {
    let other = 1 - end;
    let mut text = format!(
        "[buffer]\nshared = \"1GiB\"\n[forwarding]\nmode = \"route\"\n\
         [[forwarding.neighbour]]\naddress = \"172.16.0.{}\"\nmac = \"{}\"\nport = \"up\"\n\
         [[forwarding.route]]\nprefix = \"10.{}.0.0/16\"\nnext_hops = [\"172.16.0.{}\"]\n",
        1 + other,
        port_mac(other, 0),
        1 + other,
        1 + other
    );
    for host in 0..hosts {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[[forwarding.neighbour]]\naddress = \"{}\"\nmac = \"{}\"\nport = \"h{host}\"\n",
            address(end, host),
            mac(end, host)
        );
    }
    let xoff = Bytes(ROUTER_FRAMES * frame.0);
    port(&mut text, request, ("up", port_mac(end, 0)), (request.rate, request.local_distance), xoff);
    for host in 0..hosts {
        port(&mut text, request, (&format!("h{host}"), port_mac(end, 1 + host)), (rate, HOST_LINK), xoff);
    }
    Ok(load::parse(&text, "router")?.program)
}

fn port(
    out: &mut String,
    request: &Request,
    (name, mac): (&str, MacAddress),
    (rate, distance): (BitRate, Distance),
    xoff: Bytes,
) {
    let codes = Priority::all().map(|it| format!("\"{}\" = {it}", code(it)));
    let codes: Vec<_> = codes.filter(|it| !it.ends_with("= 0")).collect();
    let list: Vec<_> = request.priorities.iter().map(|it| it.to_string()).collect();
    let _ = write!(
        out,
        "[[port]]\nname = \"{name}\"\nmac = \"{mac}\"\nrate = \"{rate}\"\ndistance = \"{distance}\"\nmtu = {}\n\
         tx_window = \"0us\"\nwatchdog = \"none\"\n\
         [port.classify]\ntrust = \"dscp\"\ndefault = 0\ndscp = {{ {} }}\n\
         [[port.lossless]]\npriorities = [{}]\nxoff = \"{xoff}\"\n",
        request.mtu.0,
        codes.join(", "),
        list.join(", ")
    );
}
