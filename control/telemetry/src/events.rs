//! Events of a running gateway, as lines of JSON.
//!
//! A new kind is an entry in the list of kinds below: its line of JSON, its line on the screen, its history and the filter
//! for it follow. `docs/events.md` lists the kinds, and a test compares both.

use serde::Serialize;
use switch::liveness::{DownCause, LinkChange};
use switch::repair::RepairChange;
use switch::{FlowChange, Happening, WatchdogChange};
use units::{PortId, Priority};

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name; stable.
    pub name: &'static str,
    /// A sentence that explains it.
    pub about: &'static str,
    /// Its fields, in order.
    pub fields: &'static [&'static str],
}

/// Declares each kind of event once: the variant, its name, its meaning and its fields.
macro_rules! kinds {
    ($(#[doc = $about:literal] $variant:ident = $name:literal { $($field:ident: $type:ty),+ $(,)? })+) => {
        /// The event itself. The unit of a field ends its name.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(tag = "kind")]
        #[allow(missing_docs, reason = "docs/events.md describes the fields")]
        pub enum What {
            $(
                #[doc = $about]
                #[serde(rename = $name)]
                $variant { $($field: $type),+ },
            )+
        }

        /// All kinds of events.
        pub const KINDS: &[Kind] = &[
            $(Kind { name: $name, about: $about, fields: &[$(stringify!($field)),+] }),+
        ];

        impl What {
            /// The name of the kind.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// A priority is paused; refreshes are not events
    Pause = "pause" { direction: &'static str, cause: Option<&'static str>, until_ns: u64 }
    /// A priority is no longer paused
    Resume = "resume" { direction: &'static str, since_ns: u64, paused_ns: u64, ran_out: bool }
    /// A priority group reached its threshold
    Xoff = "xoff" { cause: &'static str, held_bytes: u64 }
    /// A priority group fell below its lower threshold
    Xon = "xon" { held_bytes: u64 }
    /// A paused priority group takes headroom
    Headroom = "headroom" { held_bytes: u64 }
    /// Headroom changed because of a late worker, a measured link, a neighbour or a reload
    HeadroomMoved = "headroom_moved" { reason: &'static str, from_bytes: u64, to_bytes: u64 }
    /// The watchdog found a queue stormed
    Storm = "storm" { action: &'static str, stalled_ns: u64, paused_ns: u64, waiting_frames: u64 }
    /// The watchdog restored a queue
    StormOver = "storm_over" { cause: &'static str, stormed_ns: u64 }
    /// Frames were dropped: the first at once, then a sum each second
    Drop = "drop" { reason: &'static str, half: &'static str, frames: u64, bytes: u64 }
    /// ECN thresholds moved by a step
    Ecn = "ecn" { step: &'static str, kmin_bytes: u64, kmax_bytes: u64 }
    /// The sender of a flow is known, or no longer, or moved
    Flow = "flow" { change: &'static str, source: String, destination: String, destination_qp: u32, source_qp: Option<u32> }
    /// A link of a bundle is up, held, out, proving or drained, as its liveness says
    Liveness = "liveness" { from: &'static str, to: &'static str, cause: Option<&'static str> }
    /// A link of a bundle that is up lost data frames on their way to this end
    LostOnLink = "lost_on_link" { frames: u64 }
    /// A hello of another link came: a cable is crossed
    Crossed = "crossed" { chassis: String, bundle: u8, member: u8 }
    /// Both ends of a repaired link have met, or repair was lost, and frames that were kept are given up
    Repair = "repair" { up: bool, cause: Option<&'static str>, abandoned_frames: u64 }
    /// Routes and neighbours of the kernel took effect, or it has more than the gateway takes, or a TAP is gone
    Kernel = "kernel" { routes: u64, refused: Option<String> }
    /// A link went up or down
    Link = "link" { up: bool }
    /// The MTU of a device changed
    DeviceMtu = "device_mtu" { mtu_bytes: u64, promised_bytes: u64 }
    /// A device keeps received pauses to itself, or no longer does
    PausesKept = "pauses_kept" { keeps: bool, frames: u64 }
    /// The two ends of a link have mismatches, or none any more
    Neighbour = "neighbour" { mismatches: Vec<String> }
    /// A neighbour turned PFC of priorities off or on again
    Negotiated = "negotiated" { enabled: Vec<u8>, configured: Vec<u8>, neighbour: Option<String> }
    /// A reload was applied or refused
    Reload = "reload" { applied: bool, lines: Vec<String> }
    /// Events found no room, on a core or on the way to this reader
    Lost = "lost" { events: u64 }
}

impl What {
    /// The place of its kind among [`KINDS`].
    pub fn index(&self) -> usize {
        KINDS.iter().position(|kind| kind.name == self.name()).expect("each variant is in the list")
    }
}

/// An event with the place where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number since the start of the gateway.
    pub number: u64,
    /// When it happened, in Unix time.
    pub at_ns: u64,
    /// The core of the worker that noted it; `None` for the control thread.
    pub core: Option<usize>,
    /// The port that it concerns.
    pub port: Option<PortId>,
    /// The priority that it concerns.
    pub priority: Option<Priority>,
    /// The event itself.
    pub what: What,
}

/// The JSON of an event, with the name of its port.
#[derive(Serialize)]
struct Line<'a> {
    number: u64,
    at_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    core: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    #[serde(flatten)]
    what: &'a What,
}

impl Event {
    /// Its JSON, in one line. `names` are those of the ports.
    pub fn serializable<'a>(&'a self, names: &'a [String]) -> impl Serialize + 'a {
        Line {
            number: self.number,
            at_ns: self.at_ns,
            core: self.core,
            port: self.port.and_then(|port| names.get(port.index())).map(String::as_str),
            priority: self.priority.map(|priority| priority.index() as u8),
            what: &self.what,
        }
    }
}

/// The contents of an event of a switch.
impl From<&switch::Event> for What {
    fn from(event: &switch::Event) -> Self {
        match event.what {
            Happening::Paused { direction, cause, until } => Self::Pause {
                direction: direction.name(),
                cause: cause.map(switch::PauseCause::name),
                until_ns: until.0,
            },
            Happening::Resumed { direction, since, ran_out } => Self::Resume {
                direction: direction.name(),
                since_ns: since.0,
                paused_ns: event.at.since(since).0,
                ran_out,
            },
            Happening::XoffReached { cause, held } => Self::Xoff { cause: cause.name(), held_bytes: held.0 },
            Happening::XonReached { held } => Self::Xon { held_bytes: held.0 },
            Happening::HeadroomEntered { held } => Self::Headroom { held_bytes: held.0 },
            Happening::Watchdog(change) => watchdog(&change),
            Happening::Dropped { reason, half, volume } => Self::Drop {
                reason: reason.name(),
                half: half.name(),
                frames: volume.frames,
                bytes: volume.bytes.0,
            },
            Happening::EcnThresholds { step, kmin, kmax } => {
                Self::Ecn { step: step.name(), kmin_bytes: kmin.0, kmax_bytes: kmax.0 }
            }
            Happening::Flow(change) => flow(&change),
            Happening::Link(change) => link(change),
            Happening::Repair(change) => repair(change),
            Happening::Lost { events } => Self::Lost { events },
        }
    }
}

fn link(change: LinkChange) -> What {
    match change {
        LinkChange::State { from, to, cause } => {
            What::Liveness { from: from.name(), to: to.name(), cause: cause.map(DownCause::name) }
        }
        LinkChange::Lost { frames } => What::LostOnLink { frames },
        LinkChange::Crossed { place } => {
            What::Crossed { chassis: place.chassis.to_string(), bundle: place.bundle, member: place.member }
        }
    }
}

fn repair(change: RepairChange) -> What {
    match change {
        RepairChange::Met => What::Repair { up: true, cause: None, abandoned_frames: 0 },
        RepairChange::Lost { cause, abandoned } => {
            What::Repair { up: false, cause: Some(cause.name()), abandoned_frames: abandoned }
        }
    }
}

fn watchdog(change: &WatchdogChange) -> What {
    match change {
        WatchdogChange::Detected(storm) => What::Storm {
            action: storm.action.name(),
            stalled_ns: storm.stalled_for.0,
            paused_ns: storm.paused_for.0,
            waiting_frames: storm.waiting.frames,
        },
        WatchdogChange::Restored(end) => {
            What::StormOver { cause: end.cause.name(), stormed_ns: end.stormed_for.0 }
        }
    }
}

fn flow(change: &FlowChange) -> What {
    What::Flow {
        change: change.kind.name(),
        source: change.source.to_canonical().to_string(),
        destination: change.destination.to_canonical().to_string(),
        destination_qp: change.destination_qp.number(),
        source_qp: change.source_qp.map(|qp| qp.number()),
    }
}
