//! The flow control of a port: from the keys of each scheme to its settings, and back.
//!
//! A scheme has a folder here, with its table of keys and what builds its settings. All others ask here and name no
//! scheme, but for LSCC, which has terms of its own with Bifrost beneath it.

pub(crate) mod bifrost;

use switch::program::{FlowControl, FlowControlError, LosslessGroup, PortSettings};
use units::{Interval, Priority, WireBytes};

use crate::keys::port::{FlowControlWord, PortDecl};
use crate::keys::queueing::LosslessDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::table::at;

/// What `decl` chooses for a port that is not built further than this; `None` where something is missing, which has been
/// said.
pub(crate) fn build(
    decl: &PortDecl,
    port: &PortSettings,
    link: &Link,
    problems: &Problems<'_>,
) -> Option<FlowControl> {
    match decl.flow_control() {
        FlowControlWord::Pfc => Some(FlowControl::Pfc),
        FlowControlWord::Bifrost => {
            let declared = bifrost::declared(decl)?;
            Some(FlowControl::Bifrost(bifrost::build(&declared, port, link, problems)?))
        }
    }
}

/// The keys with which [`build`] makes the same.
pub(crate) fn in_force(flow_control: &FlowControl) -> PortDecl {
    match flow_control {
        FlowControl::Pfc => PortDecl { flow_control: at(FlowControlWord::Pfc), ..PortDecl::default() },
        FlowControl::Bifrost(settings) => PortDecl {
            flow_control: at(FlowControlWord::Bifrost),
            bifrost: Some(bifrost::in_force(settings)),
            ..PortDecl::default()
        },
    }
}

/// The group of a scheme that knows what it lets in; `None` where headroom and thresholds bound it.
pub(crate) fn group(decl: &LosslessDecl, port: &PortSettings) -> Option<LosslessGroup> {
    match &port.flow_control {
        FlowControl::Pfc => None,
        FlowControl::Bifrost(settings) => Some(bifrost::group(decl, settings, port)),
    }
}

/// Where the key at fault stands.
pub(crate) fn place(error: &FlowControlError, decl: &PortDecl) -> Option<Place> {
    match error {
        FlowControlError::Bifrost(error) => bifrost::place(error, decl),
    }
}

/// Notes where a scheme does not suit its link.
pub(crate) fn check(port: &PortSettings, decl: &PortDecl, problems: &Problems<'_>) {
    match &port.flow_control {
        FlowControl::Pfc => {}
        FlowControl::Bifrost(settings) => bifrost::check_slot(settings, port, decl, problems),
    }
}

/// Notes where a group does not suit the scheme.
pub(crate) fn check_group(
    port: &PortSettings,
    group: (Priority, &LosslessGroup),
    decl: &LosslessDecl,
    problems: &Problems<'_>,
) {
    match &port.flow_control {
        FlowControl::Pfc => {}
        FlowControl::Bifrost(settings) => bifrost::check_group(settings, port, group, decl, problems),
    }
}

/// The round trip of a scheme that has one.
pub(crate) fn round_trip(flow_control: &FlowControl) -> Option<Interval> {
    match flow_control {
        FlowControl::Pfc => None,
        FlowControl::Bifrost(settings) => Some(settings.round_trip),
    }
}

/// For how late workers a scheme provides; `None` where the headroom does.
pub(crate) fn lateness(flow_control: &FlowControl) -> Option<Interval> {
    match flow_control {
        FlowControl::Pfc => None,
        FlowControl::Bifrost(settings) => Some(settings.lateness),
    }
}

/// The keys with which a scheme provides for `lateness`; `None` where the headroom does.
pub(crate) fn keys_for_lateness(port: &PortSettings, lateness: Interval) -> Option<String> {
    match &port.flow_control {
        FlowControl::Pfc => None,
        FlowControl::Bifrost(settings) => Some(bifrost::keys_for_lateness(settings, port.rate, lateness)),
    }
}

/// Has the scheme of `port` provide for a worker that is later by `more`, in which time so much is `arriving`.
pub(crate) fn provide(port: &mut PortSettings, more: Interval, arriving: WireBytes) {
    match &mut port.flow_control {
        FlowControl::Pfc => {}
        FlowControl::Bifrost(settings) => bifrost::provide(settings, port.rate, more, arriving),
    }
}
