//! Fast CNPs on a port: their keys, and what builds their settings.

use core::net::IpAddr;

use ipnet::IpNet;
use switch::program::FastCnp;
use units::Interval;
use wire::roce::fast_cnp::OptionType;

use crate::keys::long_haul::{CnpDecl, SPANS};
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::table::{List, at, list, table, values};

/// As the interval of CNPs of receivers.
const INTERVAL: Interval = Interval::from_micros(50);
/// 100,000 notifications a second.
const PORT_INTERVAL: Interval = Interval::from_micros(10);
/// As for supplemental CNPs.
const ROUND_TRIP: Interval = Interval::from_millis(1);

table! {
    /// Fast CNPs.
    FastCnpDecl {
        /// Whether Fast CNPs that come in through the port are believed. If any port has this table, all other ports drop them
        accept: At<bool>, default(false);
        /// An IPv6 address of the gateway. If it is set, the port sends Fast CNPs from there to the senders of packets that its queues mark
        source: At<IpAddr>, auto("none: the port sends none");
        /// Prefixes of senders that understand Fast CNPs: they get no mark beside one, and theirs are passed on as they are. `["::/0"]` is all
        capable: List<IpNet>, auto("none");
        /// The number of the option, which is not assigned yet: 2 to 31. 30 is for experiments
        option: At<u8>, within(2..=31), default(30_u8);
        /// A flow gets at most one notification in this time
        interval: At<Interval>, within(SPANS), default(INTERVAL);
        /// The port makes at most one notification in this time in the long run, and 64 at once
        port_interval: At<Interval>, within(SPANS), default(PORT_INTERVAL);
        /// How many flows the port knows at once, in both directions, 1 to 4,194,304; each takes 136 to 144 bytes
        flows: At<u32>, default(1_u32 << 16);
        /// The port forgets a flow that is idle for this long
        ageing: At<Interval>, default(Interval::from_secs(10));
        /// Round trip to the receivers, queues included. A response counts for the search for queue pairs within it
        round_trip: At<Interval>, within(SPANS), default(ROUND_TRIP);
        cnp: CnpDecl, absent;
    }
}

/// Builds the settings. Returns `None` and notes an error if the source is no IPv6 address.
pub(crate) fn build(decl: &FastCnpDecl, problems: &Problems<'_>) -> Option<FastCnp> {
    let source = match &decl.source {
        None => None,
        Some(At { value: IpAddr::V6(address), .. }) => Some(*address),
        Some(At { value, place }) => {
            problems.error(place, ProblemKind::out_of_range(value, "an IPv6 address"));
            return None;
        }
    };
    Some(FastCnp {
        option: OptionType::new(decl.option())?,
        accept: decl.accept(),
        source,
        capable: values(&decl.capable).map(|it| it.value).collect(),
        interval: decl.interval(),
        port_interval: decl.port_interval(),
        notifier: decl.cnp().notifier(decl.flows(), decl.ageing(), decl.round_trip()),
    })
}

/// The keys from which [`build`] builds the same settings.
pub(crate) fn in_force(settings: &FastCnp) -> FastCnpDecl {
    FastCnpDecl {
        accept: at(settings.accept),
        source: settings.source.map(IpAddr::V6).and_then(at),
        capable: list(settings.capable.iter().copied()),
        option: at(settings.option.number()),
        interval: at(settings.interval),
        port_interval: at(settings.port_interval),
        flows: at(settings.notifier.flows),
        ageing: at(settings.notifier.ageing),
        round_trip: at(settings.notifier.round_trip),
        cnp: CnpDecl::in_force(settings.notifier.cnp_dscp, settings.notifier.cnp_priority),
        place: Place::default(),
    }
}
