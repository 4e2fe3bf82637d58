//! The link agent of a port: its keys, what it announces, and what a neighbour may change.

mod apply;

use switch::link_agent::LinkAgent;
use switch::program::{FlowControl, PortSettings, QueueSettings, Scheduling};
use units::{Bytes, Interval, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::lldp::{Application, Ets, Id, Message, Octets, Pfc, Selection, Selector};
use wire::roce::UDP_PORT;

use crate::link::Link;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::table::{List, at, list, table, values};

/// The frame check sequence, which the longest frame of LLDP has and ours does not.
const FCS: Bytes = Bytes(4);

table! {
    /// The link agent of a port: [LLDP and DCBX](link-agent.md).
    LldpDecl {
        /// The time between two announcements
        interval: At<Interval>, within(LinkAgent::INTERVALS), default(Interval::from_secs(30));
        /// Whether the port announces its PFC, its ETS and the priority of RoCEv2
        dcbx: At<bool>, default(true);
        /// The priority in which hosts are asked to send RoCEv2
        roce: At<Priority>, auto("not announced");
        /// The lossless priorities that a neighbour may turn off and on again by its own PFC. All others stay as this file has them. Needs `flow_control = "pfc"` and `dcbx`
        willing: List<Priority>, auto("none: nothing of a neighbour is applied");
    }
}

/// The agent of `port`, which is complete except for that, on a gateway with this name and first address.
pub(crate) fn build(decl: &LldpDecl, port: &PortSettings, gateway: &str, first: MacAddress) -> LinkAgent {
    let says_dcbx = decl.dcbx();
    let ets = says_dcbx.then(|| ets(&port.queues));
    let roce = decl.roce.as_ref().filter(|_| says_dcbx).map(|it| it.value);
    let message = Message {
        chassis: Id::of_chassis(first),
        port: Id::of_port(&port.name),
        ttl_seconds: 0,
        system_name: Octets::new(gateway.as_bytes()),
        management: port.addresses.first().map(|it| it.addr()),
        max_frame: u16::try_from((port.max_frame + FCS).0).ok(),
        ets,
        ets_recommendation: ets.map(|it| it.recommended()),
        pfc: says_dcbx.then(|| Pfc {
            willing: !willing(decl, port).is_empty(),
            macsec_bypass: false,
            capability: Priority::COUNT as u8,
            enabled: port.lossless(),
        }),
        applications: roce.into_iter().map(roce_in).collect(),
        cee: false,
    };
    LinkAgent { interval: decl.interval(), message }
}

/// The priorities of `port` that a neighbour may turn off.
pub(crate) fn willing(decl: &LldpDecl, port: &PortSettings) -> PrioritySet {
    let listed: PrioritySet = values(&decl.willing).map(|it| it.value).collect();
    let may_change = decl.dcbx() && matches!(port.flow_control, FlowControl::Pfc);
    if may_change { listed.intersection(port.lossless()) } else { PrioritySet::EMPTY }
}

/// Notes what `willing` lists in vain, and a lossy priority for RoCEv2.
pub(crate) fn check(decl: &LldpDecl, port: &PortSettings, problems: &Problems<'_>) {
    let announced = decl.roce.as_ref().filter(|_| decl.dcbx());
    if let Some(roce) = announced.filter(|it| !port.lossless().contains(it.value)) {
        let (priority, port) = (roce.value, port.name.clone());
        problems.warning(&roce.place, ProblemKind::LossyRoce { priority, port });
    }
    for listed in values(&decl.willing) {
        if !port.lossless().contains(listed.value) {
            let valid = "a priority of [[port.lossless]]: only for those the file reserves memory";
            problems.error(&listed.place, ProblemKind::out_of_range(listed.value, valid));
        }
    }
    let lists = values(&decl.willing).next();
    if let Some(listed) = lists.filter(|_| willing(decl, port).is_empty() && !port.lossless().is_empty()) {
        let with = "dcbx = false, or a flow control other than PFC".into();
        problems.warning(&listed.place, ProblemKind::Meaningless { with });
    }
}

/// RoCEv2 in `priority`.
fn roce_in(priority: Priority) -> Application {
    Application { selector: Selector::UDP, protocol: UDP_PORT, priority }
}

/// The queues of the eight priorities as traffic classes of their own.
fn ets(queues: &[QueueSettings]) -> Ets {
    let mut weights = [0; Priority::COUNT];
    for (weight, queue) in weights.iter_mut().zip(queues) {
        if let Scheduling::Weighted(of_queue) = queue.scheduling {
            *weight = of_queue;
        }
    }
    let mut classes = [0; Priority::COUNT];
    Priority::all().zip(&mut classes).for_each(|(priority, class)| *class = priority.number());
    Ets {
        classes,
        bandwidths: hundredths(weights),
        selections: weights.map(|weight| if weight > 0 { Selection::ETS } else { Selection::STRICT }),
        ..Ets::default()
    }
}

/// The shares of `weights` in hundredths, which add up to 100 if there are any. The first ones get what rounding leaves.
fn hundredths(weights: [u8; Priority::COUNT]) -> [u8; Priority::COUNT] {
    let sum: u32 = weights.iter().map(|it| u32::from(*it)).sum();
    // A share of at most 100.
    let mut shares = weights.map(|it| (u32::from(it) * 100).checked_div(sum).unwrap_or(0) as u8);
    let given: u8 = shares.iter().sum();
    let weighted = shares.iter_mut().zip(weights).filter(|(_, weight)| *weight > 0);
    let left = if sum > 0 { usize::from(100 - given) } else { 0 };
    weighted.take(left).for_each(|(share, _)| *share += 1);
    shares
}

/// The keys from which [`build`] builds the same agent.
pub(crate) fn in_force(port: &PortSettings, link: &Link) -> Option<LldpDecl> {
    let LinkAgent { interval, message } = &**port.link_agent.as_ref()?;
    Some(LldpDecl {
        interval: at(*interval),
        dcbx: at(message.pfc.is_some()),
        roce: message.applications.of_udp(UDP_PORT).and_then(at),
        willing: if link.willing.is_empty() { None } else { list(link.willing.iter()) },
        place: Place::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(keys: &str) -> (LinkAgent, PrioritySet) {
        let text = format!(
            "[gateway]\nname = \"near\"\n[buffer]\nshared = \"8MiB\"\n[[port]]\nname = \"dc0\"\nrate = \"10G\"\n\
             [[port]]\nname = \"lh0\"\nrate = \"10G\"\nmtu = 1500\ndistance = \"1km\"\n\
             addresses = [\"192.0.2.1/24\"]\nlossless = [{{ priorities = [3, 4] }}]\n\
             queue = [{{ priorities = [0, 3, 4], weight = 10 }}]\n[port.lldp]\n{keys}\n"
        );
        let gateway = crate::parse(&text, "gw.toml").unwrap();
        let port = &gateway.program.settings().ports[1];
        (*port.link_agent.clone().unwrap(), gateway.links[1].willing)
    }

    #[test]
    fn a_port_announces_what_the_file_says_of_it() {
        let (LinkAgent { message, .. }, willing) = agent("roce = 3");
        assert_eq!(message.chassis.chassis_text().to_string(), "02:00:00:00:00:01");
        assert_eq!(message.port.port_text().to_string(), "lh0");
        assert_eq!(message.system_name.to_string(), "near");
        assert_eq!(message.management.unwrap().to_string(), "192.0.2.1");
        assert_eq!(message.max_frame, Some(1_522));
        let pfc = message.pfc.unwrap();
        assert_eq!((pfc.enabled.bits(), pfc.willing, pfc.capability), (0b1_1000, false, 8));
        assert_eq!(message.applications.of_udp(4_791), Priority::new(3).ok());
        assert!(willing.is_empty());
        let ets = message.ets.unwrap();
        assert_eq!(ets.selections.map(|it| it.0).iter().filter(|it| **it == 2).count(), 6);
        assert_eq!(ets.bandwidths.iter().map(|it| u32::from(*it)).sum::<u32>(), 100);
        assert!(ets.bandwidths[3] > ets.bandwidths[1]);
    }

    #[test]
    fn a_port_without_dcbx_announces_nothing_of_it() {
        let (LinkAgent { message, .. }, _) = agent("dcbx = false\nroce = 3");
        assert_eq!((message.pfc, message.ets, message.ets_recommendation), (None, None, None));
        assert_eq!(message.applications.iter().count(), 0);
    }

    #[test]
    fn shares_add_up_to_a_hundred_or_to_nothing() {
        for weights in [[1; 8], [0; 8], [255, 1, 0, 0, 0, 0, 0, 1], [3, 3, 3, 0, 0, 0, 0, 0], [7; 8]] {
            let sum: u32 = hundredths(weights).iter().map(|it| u32::from(*it)).sum();
            assert_eq!(sum, if weights == [0; 8] { 0 } else { 100 }, "{weights:?}");
        }
    }

    #[test]
    fn a_neighbour_may_turn_off_what_is_listed_and_lossless() {
        let (LinkAgent { message, .. }, willing) = agent("willing = [4]");
        assert_eq!((message.pfc.unwrap().willing, willing.bits()), (true, 0b1_0000));
        let text = "[[port]]\nname = \"a\"\nrate = \"10G\"\n[port.lldp]\nwilling = [5]\n";
        let refused = crate::parse(text, "gw.toml").unwrap_err().to_string();
        assert!(refused.contains("a priority of [[port.lossless]]"), "{refused}");
    }

    #[test]
    fn a_priority_for_rocev2_that_is_lossy_is_a_warning() {
        let warnings = |keys: &str| {
            let text = format!(
                "[buffer]\nshared = \"8MiB\"\n[[port]]\nname = \"a\"\nrate = \"10G\"\ndistance = \"1km\"\n\
                 lossless = [{{ priorities = [3, 4] }}]\n[port.lldp]\n{keys}\n\
                 [[port]]\nname = \"b\"\nrate = \"10G\"\ndistance = \"1km\"\nlossless = [{{ priorities = [3, 4] }}]\n"
            );
            let problems = crate::parse(&text, "gw.toml").unwrap().warnings;
            problems.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let lossy = warnings("roce = 5");
        assert!(
            matches!(&lossy[..], [it] if it.starts_with("gw.toml:9:8: warning: port.lldp.roce: hosts would be asked")),
            "{lossy:?}"
        );
        assert_eq!(warnings("roce = 3"), [""; 0]);
        assert_eq!(warnings("roce = 5\ndcbx = false"), [""; 0], "nothing is announced");
    }

    #[test]
    fn a_list_that_nothing_can_follow_is_a_warning() {
        let (LinkAgent { message, .. }, willing) = agent("willing = [4]\ndcbx = false");
        assert!(message.pfc.is_none() && willing.is_empty());
    }
}
