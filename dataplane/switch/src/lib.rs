//! The switch core: admission, accounts, queues, schedulers, flow control, marking, forwarding.
//!
//! It is sans-IO: `now` and frames come in, frames and the next deadline go out. It reads no clock, opens no file,
//! spawns no thread, logs nothing, and its only randomness is a seeded generator. The same code runs on the wire,
//! in replay and in simulation; everything else is a thin shell around the calls of [`Shard`]:
//!
//! | call | what happens |
//! |---|---|
//! | [`Shard::ingress`] | frames that arrived are parsed, classified, forwarded, admitted, and queued or sent at once |
//! | [`Shard::egress`] | frames whose turn on the wire has come are marked and given out |
//! | [`Shard::set_carrier`] | frames of a member of a bundle move to the others, or no longer |
//! | [`Shard::next_deadline`] | when to call again if nothing arrives |
//! | [`Shard::take_events`] | rare changes are given out one by one, where someone records them |
//! | [`Shard::install`], [`Shard::succeed`] | another [`Program`] is in force from the next burst on |

mod admission;
mod allowance;
mod bundle;
pub mod congestion;
mod descriptor;
pub mod driver;
mod egress;
mod event;
pub mod figure;
pub mod flow_control;
mod flows;
mod forwarding;
mod frame;
mod hash;
mod histogram;
mod ingress;
pub mod lanes;
mod ledger;
pub mod link_agent;
pub mod link_delay;
pub mod liveness;
pub mod program;
mod queue;
mod reason;
pub mod receive_ring;
pub mod repair;
mod service;
mod shard;
mod source;
mod sync;
mod table;
mod watermark;

pub use bundle::{BundleReport, MemberState};
pub use congestion::lscc::{DirectIntCounters, FeedbackCounters, LimiterCounters, LsccReport, RateCounters};
pub use driver::Lanes;
pub use egress::{
    PausesReceived, QueueCounters, Restoration, RestorationCause, Storm, WatchdogChange, WatchdogCounters,
    WatchdogEvent, WatchdogLog,
};
pub use event::{Event, EventKind, Happening, PauseDirection, PortHalf};
pub use flow_control::bifrost::{BifrostReport, SlotCounters, SlotState};
pub use flow_control::pause_time::PauseMeter;
pub use flow_control::{PauseCause, PausesSent, SchemeReport};
pub use flows::{DataFlows, FlowChange, FlowChangeKind, FlowCounters, FlowsReport, ResolverCounters};
pub use forwarding::{BounceCounters, BridgeCounters, Punt};
pub use frame::{ControlFrame, Frame, Links, Transmitter};
pub use hash::HashKey;
pub use histogram::DelayHistogram;
pub use ingress::{HiddenCounters, IngressCounters, Stops};
pub use lanes::{Board, LanesRefusal};
pub use ledger::{Ledger, Load, ShardId, Volume};
pub use program::{
    BridgeSettings, ForwardingSettings, KernelPath, LearnedRoute, Neighbour, Program, Route, RouteSettings,
    Settings,
};
pub use reason::{Consumed, DropReason, PerReason};
pub use shard::{
    GroupReport, PauseState, PoolLevel, PoolReport, PortInspection, QueueReport, Shard, Successor,
};
pub use source::Source;
pub use watermark::Watermark;
