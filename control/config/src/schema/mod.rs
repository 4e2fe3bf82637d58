//! The file as it is written: every value with its place, nothing computed yet.

mod bifrost;
mod classify;
mod control;
mod device;
mod dpdk;
mod emulation;
mod forwarding;
mod lossless;
mod lscc;
mod port;
mod process;
mod queue;
mod watchdog;

pub(crate) use bifrost::BifrostDecl;
pub(crate) use control::ControlDecl;
pub(crate) use device::{DeviceDecl, KindDecl, MemifDecl};
pub(crate) use dpdk::DpdkDecl;
pub(crate) use emulation::EmulationDecl;
pub(crate) use forwarding::{ForwardingDecl, NeighbourDecl, PairDecl, RouteDecl};
pub(crate) use lossless::LosslessDecl;
pub(crate) use lscc::{KeyWish, LsccDecl};
pub(crate) use port::{PfcDecl, PortDecl};
pub(crate) use process::ProcessDecl;
pub(crate) use queue::{QueueDecl, RateLimitDecl};
pub(crate) use watchdog::WatchdogWish;

use core::net::IpAddr;
use std::collections::BTreeMap;

use units::{Bytes, Priority};

use crate::problem::{ProblemKind, nearest};
use crate::reader::{At, Place, Section};
use crate::value::Name;

/// Profiles by name.
pub(crate) type Profiles<T> = BTreeMap<String, T>;

/// One gateway.
pub(crate) struct Document {
    pub name: Option<At<Name>>,
    pub seed: Option<At<u64>>,
    pub buffer: BufferDecl,
    pub forwarding: ForwardingDecl,
    pub dpdk: DpdkDecl,
    pub control: ControlDecl,
    pub process: ProcessDecl,
    pub ports: Vec<PortDecl>,
}

impl Document {
    pub fn read(document: &mut Section<'_, '_>) -> Self {
        let (name, seed) = document
            .table("gateway", |gateway| (gateway.optional("name"), gateway.optional("seed")))
            .unwrap_or_default();
        let buffer = document.table("buffer", BufferDecl::read).unwrap_or_default();
        let profiles = document.table("profile", AllProfiles::read).unwrap_or_default();
        let ports = document.tables("port", |port| PortDecl::read(port, &profiles));
        document.expect("port", "[[port]] with name = \"dc0\" and rate = \"100G\"");
        let ports = ports.unwrap_or_default();
        refuse_second_names(document, &ports);
        refuse_second_addresses(document, &ports);
        let forwarding = document
            .table("forwarding", ForwardingDecl::read)
            .unwrap_or_else(|| ForwardingDecl::absent(&document.place));
        let dpdk = document.table("dpdk", DpdkDecl::read).unwrap_or_default();
        let control = document.table("control", ControlDecl::read).unwrap_or_default();
        let process = document.table("process", ProcessDecl::read).unwrap_or_default();
        Self { name, seed, buffer, forwarding, dpdk, control, process, ports }
    }
}

fn refuse_second_names(document: &Section<'_, '_>, ports: &[PortDecl]) {
    let mut known: BTreeMap<&str, &Place> = BTreeMap::new();
    for name in ports.iter().filter_map(|port| port.name.as_ref()) {
        if let Some(first) = known.get(name.value.0.as_str()) {
            let what = format!("a port called \"{}\"", name.value.0);
            let line = document.problems.line(first);
            document.problems.error(&name.place, ProblemKind::Twice { what, line });
        } else {
            known.insert(&name.value.0, &name.place);
        }
    }
}

fn refuse_second_addresses(document: &Section<'_, '_>, ports: &[PortDecl]) {
    let mut known: BTreeMap<IpAddr, &Place> = BTreeMap::new();
    for At { value, place } in ports.iter().flat_map(|port| &port.addresses).flat_map(|list| &list.value) {
        if let Some(first) = known.get(&value.addr()) {
            let what = format!("the address {}", value.addr());
            let line = document.problems.line(first);
            document.problems.error(place, ProblemKind::Twice { what, line });
        } else {
            known.insert(value.addr(), place);
        }
    }
}

/// `[buffer]`.
#[derive(Default)]
pub(crate) struct BufferDecl {
    pub place: Option<Place>,
    pub shared: Option<At<Bytes>>,
    pub headroom: Option<At<Bytes>>,
    pub egress_lossy: Option<At<Bytes>>,
    pub cell_occupancy: Option<At<f64>>,
}

impl BufferDecl {
    fn read(buffer: &mut Section<'_, '_>) -> Self {
        let mut size = |key| {
            let size: At<Bytes> = buffer.optional(key)?;
            if size.value > Self::MOST {
                let got = size.value.to_string();
                buffer.problems.error(&size.place, ProblemKind::OutOfRange { got, valid: "up to 1024GiB" });
            }
            Some(size)
        };
        let (shared, headroom, egress_lossy) = (size("shared"), size("headroom"), size("egress_lossy"));
        let cell_occupancy = buffer.optional::<f64>("cell_occupancy").filter(|factor| {
            let valid = (Self::CELL_OCCUPANCY_LEAST..=4.0).contains(&factor.value);
            if !valid {
                let kind = ProblemKind::OutOfRange { got: factor.value.to_string(), valid: "1.08 to 4" };
                buffer.problems.error(&factor.place, kind);
            }
            valid
        });
        let place = Some(buffer.place.clone());
        Self { place, shared, headroom, egress_lossy, cell_occupancy }
    }

    /// What cells may take more than the link, at the least: 96 bytes for 89 ([`units::Cells`]), rounded up.
    const CELL_OCCUPANCY_LEAST: f64 = 1.08;
    /// Far beyond any buffer, and small enough that no sum or multiple of sizes overflows.
    pub const MOST: Bytes = Bytes(1 << 40);
}

/// `[profile]`.
#[derive(Default)]
pub(crate) struct AllProfiles {
    pub lossless: Profiles<LosslessDecl>,
    pub queue: Profiles<QueueDecl>,
    pub port: Profiles<PortDecl>,
}

impl AllProfiles {
    fn read(profile: &mut Section<'_, '_>) -> Self {
        let mut all = Self {
            lossless: profile.named("lossless", LosslessDecl::read_values).into_iter().collect(),
            queue: profile.named("queue", QueueDecl::read_values).into_iter().collect(),
            port: BTreeMap::new(),
        };
        all.port = profile.named("port", |port| PortDecl::read_values(port, &all)).into_iter().collect();
        all
    }
}

/// The profile that the section names; an empty one where it names none, or one that is not there.
fn profile_of<T: Clone + Default>(
    section: &mut Section<'_, '_>,
    what: &'static str,
    profiles: &Profiles<T>,
) -> T {
    let Some(name) = section.optional::<String>("profile") else { return T::default() };
    profiles.get(&name.value).cloned().unwrap_or_else(|| {
        let kind = ProblemKind::Undefined {
            what,
            nearest: nearest(&name.value, profiles.keys().map(String::as_str)),
            valid: profiles.keys().cloned().collect(),
            got: name.value,
        };
        section.problems.error(&name.place, kind);
        T::default()
    })
}

/// The priorities that a group or queue is for.
fn priorities(section: &mut Section<'_, '_>) -> Vec<At<Priority>> {
    let list = section.required_list::<Priority>("priorities", "priorities = [3, 4]");
    list.map_or_else(Vec::new, |list| list.value)
}

/// Complains about each priority that a group or queue before had already.
fn refuse_second_priorities<'a>(
    section: &Section<'_, '_>,
    priorities: impl Iterator<Item = &'a At<Priority>>,
) {
    let mut taken: [Option<&Place>; Priority::COUNT] = [None; Priority::COUNT];
    for At { value, place } in priorities {
        if let Some(first) = taken[value.index()] {
            let what = format!("priority {value} of this port");
            let kind = ProblemKind::Twice { what, line: section.problems.line(first) };
            section.problems.error(place, kind);
        } else {
            taken[value.index()] = Some(place);
        }
    }
}
