//! `[forwarding]`.

use core::net::IpAddr;

use ipnet::IpNet;
use toml::de::DeValue;
use units::Interval;
use wire::ethernet::MacAddress;

use crate::place::At;
use crate::problem::ProblemKind;
use crate::table::{List, table};
use crate::value::{Mode, SpreadWord, Value, described, quoted, written};

table! {
    /// Where frames go.
    ForwardingDecl {
        /// `"patch"` wires pairs of ports to each other; `"bridge"` is a learning bridge, each VLAN by itself; `"route"` has IPv4 and IPv6 routes with static neighbours, or with those of a [kernel](kernel.md)
        mode: At<Mode>, default(Mode::Patch);
        /// `[["dc0", "lh0"]]`: each port is in one pair at most; a port in none drops what comes in
        pairs: List<Pair>, only(mode, Mode::Patch), auto("the two ports, where there are two");
        /// Addresses that the bridge remembers, 1 to 1,048,576. When it is full, a new address replaces the oldest of 16
        capacity: At<u32>, only(mode, Mode::Bridge), default(8_192_u32);
        /// How long the bridge remembers an address that it does not see
        ageing: At<Interval>, only(mode, Mode::Bridge), default(Interval::from_secs(300));
        /// `"flow"`: all packets of a flow take the same of equal next hops. `"packet"`: [each draws one](spraying.md), so that hosts have to bear packets out of order. Not with LSCC, THEMIS or supplemental CNPs
        spread: At<SpreadWord>, only(mode, Mode::Route), default(SpreadWord::Flow);
        route: Vec<RouteDecl>, only(mode, Mode::Route);
        neighbour: Vec<NeighbourDecl>, only(mode, Mode::Route);
    }

    /// A route.
    RouteDecl {
        /// Destinations, `"10.1.0.0/16"`, with no bits behind the length; each prefix once
        prefix: At<IpNet>, required("prefix = \"10.1.0.0/16\"");
        /// Neighbours; several share the flows by hash (ECMP), or the packets by `spread`
        next_hops: List<IpAddr>, required("next_hops = [\"10.0.0.2\"]");
    }

    /// A static neighbour.
    NeighbourDecl {
        /// Its address; each once
        address: At<IpAddr>, required("address = \"10.0.0.2\"");
        /// Its MAC address, not a group address
        mac: At<MacAddress>, required("mac = \"02:00:00:00:00:02\"");
        /// The name of the port that leads to it
        port: At<String>, required("port = \"dc0\"");
    }
}

/// Two ports by name.
#[derive(Clone, Debug)]
pub(crate) struct Pair(pub String, pub String);

impl Value for Pair {
    const LIST: &'static str = "an array of pairs such as [[\"dc0\", \"lh0\"]]";

    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "a pair of port names such as [\"dc0\", \"lh0\"]";
        let wrong = |got: String| ProblemKind::WrongType { got, want: WANT };
        let names = value.as_array().ok_or_else(|| wrong(described(value)))?;
        let names: Option<Vec<_>> = names.iter().map(|name| name.get_ref().as_str()).collect();
        match names.as_deref() {
            Some([one, other]) => Ok(Self((*one).into(), (*other).into())),
            Some(_) => Err(wrong("this array".into())),
            None => Err(wrong(described(value))),
        }
    }
}

written! {
    Pair: "pair of ports", |it| format!("[{}, {}]", quoted(&it.0), quoted(&it.1));
}
