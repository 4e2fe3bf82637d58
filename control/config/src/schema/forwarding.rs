//! `[forwarding]`.

use core::net::IpAddr;

use ipnet::IpNet;
use units::Interval;
use wire::ethernet::MacAddress;

use crate::problem::ProblemKind;
use crate::reader::{At, Place, Section};
use crate::value::Mode;

/// Where frames go.
pub(crate) struct ForwardingDecl {
    pub place: Place,
    pub mode: Mode,
    pub pairs: Option<At<Vec<PairDecl>>>,
    pub capacity: Option<At<u32>>,
    pub ageing: Option<At<Interval>>,
    pub routes: Vec<RouteDecl>,
    pub neighbours: Vec<NeighbourDecl>,
}

/// Two ports by name.
pub(crate) struct PairDecl {
    pub place: Place,
    pub ports: (String, String),
}

/// `[[forwarding.route]]`.
pub(crate) struct RouteDecl {
    pub prefix: At<IpNet>,
    pub next_hops: At<Vec<At<IpAddr>>>,
}

/// `[[forwarding.neighbour]]`.
pub(crate) struct NeighbourDecl {
    pub address: At<IpAddr>,
    pub mac: At<MacAddress>,
    pub port: At<String>,
}

impl ForwardingDecl {
    /// A file without the table: the two ports are wired to each other.
    pub fn absent(document: &Place) -> Self {
        Self {
            place: Place { key: "forwarding".into(), offset: document.offset },
            mode: Mode::Patch,
            pairs: None,
            capacity: None,
            ageing: None,
            routes: Vec::new(),
            neighbours: Vec::new(),
        }
    }

    pub fn read(section: &mut Section<'_, '_>) -> Self {
        let mode = section.optional("mode").map_or(Mode::Patch, |mode| mode.value);
        let pairs = pairs(section);
        let (capacity, ageing) = (section.optional("capacity"), section.optional("ageing"));
        let routes = section.tables("route", RouteDecl::read);
        let neighbours = section.tables("neighbour", NeighbourDecl::read);
        let given = [
            ("pairs", Mode::Patch, pairs.is_some()),
            ("capacity", Mode::Bridge, capacity.is_some()),
            ("ageing", Mode::Bridge, ageing.is_some()),
            ("route", Mode::Route, routes.is_some()),
            ("neighbour", Mode::Route, neighbours.is_some()),
        ];
        for (key, _, _) in given.into_iter().filter(|(_, of, given)| *given && *of != mode) {
            let with = match mode {
                Mode::Patch => "mode = \"patch\"",
                Mode::Bridge => "mode = \"bridge\"",
                Mode::Route => "mode = \"route\"",
            };
            let place = section.place_of_key(key);
            section.problems.error(&place, ProblemKind::Meaningless { with });
        }
        Self {
            place: section.place.clone(),
            mode,
            pairs,
            capacity,
            ageing,
            routes: routes.into_iter().flatten().flatten().collect(),
            neighbours: neighbours.into_iter().flatten().flatten().collect(),
        }
    }
}

fn pairs(section: &mut Section<'_, '_>) -> Option<At<Vec<PairDecl>>> {
    let lists = section.list::<Names>("pairs")?;
    let problems = section.problems;
    Some(lists.map(|lists| {
        let pairs = lists.into_iter().filter_map(|At { value: Names(mut names), place }| {
            let (second, first) = (names.pop(), names.pop());
            match (first, second, names.is_empty()) {
                (Some(first), Some(second), true) => Some(PairDecl { place, ports: (first, second) }),
                _ => {
                    let kind = ProblemKind::WrongType { got: "this".into(), want: Names::WANT };
                    problems.error(&place, kind);
                    None
                }
            }
        });
        pairs.collect()
    }))
}

/// An array of names.
struct Names(Vec<String>);

impl Names {
    const WANT: &str = "a pair of port names such as [\"dc0\", \"lh0\"]";
}

impl crate::value::Value for Names {
    const LIST: &'static str = "an array of pairs such as [[\"dc0\", \"lh0\"]]";

    fn read(value: &toml::de::DeValue<'_>) -> Result<Self, ProblemKind> {
        let wrong = || ProblemKind::WrongType { got: crate::value::described(value), want: Self::WANT };
        let names = value.as_array().ok_or_else(wrong)?.iter();
        names
            .map(|name| name.get_ref().as_str().map(Into::into).ok_or_else(wrong))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl RouteDecl {
    fn read(route: &mut Section<'_, '_>) -> Option<Self> {
        let prefix = route.required("prefix", "prefix = \"10.1.0.0/16\"");
        let next_hops = route.required_list("next_hops", "next_hops = [\"10.0.0.2\"]");
        Some(Self { prefix: prefix?, next_hops: next_hops? })
    }
}

impl NeighbourDecl {
    fn read(neighbour: &mut Section<'_, '_>) -> Option<Self> {
        let address = neighbour.required("address", "address = \"10.0.0.2\"");
        let mac = neighbour.required("mac", "mac = \"02:00:00:00:00:02\"");
        let port = neighbour.required("port", "port = \"dc0\"");
        Some(Self { address: address?, mac: mac?, port: port? })
    }
}
