//! `[[port]]` and `[profile.port.NAME]`.

use ipnet::IpNet;
use switch::program::{Classification, PortSettings};
use units::{BitRate, Bytes, Distance, Interval, Priority};
use wire::ethernet::MacAddress;

use super::bifrost::{MOST, UP_TO, time};
use super::{
    AllProfiles, BifrostDecl, DeviceDecl, EmulationDecl, LosslessDecl, LsccDecl, QueueDecl, RateLimitDecl,
    WatchdogWish, classify, profile_of, refuse_second_priorities,
};
use crate::problem::ProblemKind;
use crate::reader::{At, Place, Section};
use crate::value::{Length, Name, PauseWish};

/// One port.
#[derive(Clone, Default)]
pub(crate) struct PortDecl {
    pub place: Option<Place>,
    pub name: Option<At<Name>>,
    pub mac: Option<At<MacAddress>>,
    pub addresses: Option<At<Vec<At<IpNet>>>>,
    pub rate: Option<At<BitRate>>,
    /// From `mtu` or `max_frame`.
    pub max_frame: Option<At<Bytes>>,
    pub distance: Option<At<Distance>>,
    pub interface_delay: Option<At<Interval>>,
    pub tx_window: Option<At<Interval>>,
    pub int: Option<At<bool>>,
    pub classify: Option<At<Classification>>,
    pub lossless: Option<Vec<LosslessDecl>>,
    pub queues: Option<Vec<QueueDecl>>,
    pub rate_limit: Option<RateLimitDecl>,
    pub pfc: Option<PfcDecl>,
    pub bifrost: Option<BifrostDecl>,
    pub lscc: Option<LsccDecl>,
    pub watchdog: Option<WatchdogWish>,
    pub device: Option<DeviceDecl>,
    pub emulation: Option<EmulationDecl>,
}

/// `[port.pfc]`.
#[derive(Clone)]
pub(crate) struct PfcDecl {
    pub pause: Option<At<PauseWish>>,
    pub obey: Option<At<Vec<At<Priority>>>>,
    pub global_pause: Option<At<bool>>,
}

/// Header and one VLAN tag: what a frame is longer than its MTU.
pub(crate) const MTU_OVERHEAD: Bytes = Bytes(18);

impl PortDecl {
    pub fn read(section: &mut Section<'_, '_>, profiles: &AllProfiles) -> Self {
        let name = section.required("name", "name = \"dc0\"");
        let profile = profile_of(section, "port profile", &profiles.port);
        let mac = section.optional("mac");
        let addresses = section.list("addresses");
        let device = section.table("device", DeviceDecl::read);
        let own = Self::read_values(section, profiles);
        let port = Self {
            place: own.place,
            name,
            mac,
            addresses,
            rate: own.rate.or(profile.rate),
            max_frame: own.max_frame.or(profile.max_frame),
            distance: own.distance.or(profile.distance),
            interface_delay: own.interface_delay.or(profile.interface_delay),
            tx_window: own.tx_window.or(profile.tx_window),
            int: own.int.or(profile.int),
            classify: own.classify.or(profile.classify),
            lossless: own.lossless.or(profile.lossless),
            queues: own.queues.or(profile.queues),
            rate_limit: own.rate_limit.or(profile.rate_limit),
            pfc: own.pfc.or(profile.pfc),
            bifrost: own.bifrost.or(profile.bifrost),
            lscc: own.lscc.or(profile.lscc),
            watchdog: own.watchdog.or(profile.watchdog),
            device,
            emulation: own.emulation.or(profile.emulation),
        };
        if port.rate.is_none() {
            section.expect("rate", "rate = \"100G\"");
        }
        port
    }

    /// What a profile can say too.
    pub fn read_values(section: &mut Section<'_, '_>, profiles: &AllProfiles) -> Self {
        let max_frame = max_frame(section);
        let tx_window = section.optional("tx_window").filter(|window| short(section, window));
        let interface_delay = time(section, "interface_delay", Interval::ZERO..=MOST, UP_TO);
        let lossless = section.tables("lossless", |it| LosslessDecl::read(it, &profiles.lossless));
        let queues = section.tables("queue", |it| QueueDecl::read(it, &profiles.queue));
        refuse_second_priorities(section, lossless.iter().flatten().flat_map(|it| &it.priorities));
        refuse_second_priorities(section, queues.iter().flatten().flat_map(|it| &it.priorities));
        Self {
            place: Some(section.place.clone()),
            name: None,
            mac: None,
            addresses: None,
            rate: section.optional("rate"),
            max_frame,
            distance: section.optional("distance").filter(|distance| on_earth(section, distance)),
            interface_delay,
            tx_window,
            int: section.optional("int"),
            classify: section.table("classify", classify::read),
            lossless,
            queues,
            rate_limit: RateLimitDecl::read(section),
            pfc: section.table("pfc", PfcDecl::read),
            bifrost: section.table("bifrost", BifrostDecl::read),
            lscc: section.table("lscc", LsccDecl::read).flatten(),
            watchdog: WatchdogWish::read(section),
            device: None,
            emulation: section.table("emulation", EmulationDecl::read),
        }
    }

    /// The group that is declared for `priority`.
    pub fn group(&self, priority: Priority) -> Option<&LosslessDecl> {
        let mut groups = self.lossless.iter().flatten();
        groups.find(|group| group.priorities.iter().any(|it| it.value == priority))
    }

    /// The queue that is declared for `priority`.
    pub fn queue(&self, priority: Priority) -> Option<&QueueDecl> {
        let mut queues = self.queues.iter().flatten();
        queues.find(|queue| queue.priorities.iter().any(|it| it.value == priority))
    }

    /// Its name; empty where it has none, which is an error of its own.
    pub fn name(&self) -> &str {
        self.name.as_ref().map_or("", |name| name.value.0.as_str())
    }
}

fn max_frame(section: &mut Section<'_, '_>) -> Option<At<Bytes>> {
    const FRAME: &str = "64 to 9216 bytes";
    const MTU: &str = "46 to 9198 bytes, which are frames of 64 to 9216";
    let mtu = section.optional::<Length>("mtu");
    let frame = section.optional::<Length>("max_frame");
    if let (Some(_), Some(frame)) = (&mtu, &frame) {
        section.problems.error(&frame.place, ProblemKind::Conflict { other: "mtu" });
    }
    let (length, more, valid) = match (mtu, frame) {
        (Some(mtu), _) => (mtu, MTU_OVERHEAD, MTU),
        (None, Some(frame)) => (frame, Bytes::ZERO, FRAME),
        (None, None) => return None,
    };
    let got = length.value.0.0;
    let length = length.map(|length| length.0 + more);
    if (Bytes(64)..=PortSettings::LARGEST_FRAME).contains(&length.value) {
        return Some(length);
    }
    section.problems.error(&length.place, ProblemKind::OutOfRange { got: got.to_string(), valid });
    None
}

/// Whether the time is up to 1 ms; longer is no property of an interface.
fn short(section: &Section<'_, '_>, time: &At<Interval>) -> bool {
    let valid = time.value <= Interval::from_millis(1);
    if !valid {
        let kind = ProblemKind::OutOfRange { got: time.value.to_string(), valid: "up to 1ms" };
        section.problems.error(&time.place, kind);
    }
    valid
}

/// Whether fibre of this length could be laid around the equator.
fn on_earth(section: &Section<'_, '_>, distance: &At<Distance>) -> bool {
    let valid = distance.value <= Distance(40_000_000);
    if !valid {
        let kind = ProblemKind::OutOfRange { got: distance.value.to_string(), valid: "up to 40000km" };
        section.problems.error(&distance.place, kind);
    }
    valid
}

impl PfcDecl {
    fn read(pfc: &mut Section<'_, '_>) -> Self {
        Self {
            pause: pfc.optional("pause"),
            obey: pfc.list("obey"),
            global_pause: pfc.optional("global_pause"),
        }
    }
}
