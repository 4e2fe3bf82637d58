//! Builds a relay on a port, and the group beneath it.

pub(crate) mod keys;
pub(crate) mod plan;

use switch::flow_control::relay::settings::{Relay, RelayError};
use switch::program::{LosslessGroup, PortSettings};
use units::PortId;

use crate::flow_control::beneath;
use crate::headroom::HeadroomSum;
use crate::keys::port::PortDecl;
use crate::keys::queueing::LosslessDecl;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::table::{Table, at};
use keys::RelayDecl;

/// Builds a relay on `port`, one of `ports`. Returns `None` and notes an error if there is no port of that name.
pub(super) fn build(
    decl: &PortDecl,
    port: &PortSettings,
    ports: &[PortDecl],
    problems: &Problems<'_>,
) -> Option<Relay> {
    let named = |name: &str| ports.iter().position(|port| port.name() == name);
    let stated = decl.relay.as_ref().and_then(|relay| relay.from.as_ref());
    let index = match stated {
        Some(from) => named(&from.value).or_else(|| {
            let kind = ProblemKind::undefined("port", &from.value, ports.iter().map(PortDecl::name));
            problems.error(&from.place, kind);
            None
        }),
        None if ports.len() == 2 => ports.iter().position(|other| other.name() != port.name),
        None => {
            let when = "with flow_control = \"relay\" unless there are two ports; for example, write from = \"dc0\" in [port.relay]";
            let place = decl.relay.as_ref().map_or(&decl.place, |relay| &relay.place);
            problems.error(
                &Place { key: "port.relay.from".into(), ..place.clone() },
                ProblemKind::Needed { when },
            );
            None
        }
    };
    Some(Relay { from: PortId(u16::try_from(index?).ok()?) })
}

/// The keys from which [`build`] builds the same relay among `ports`.
pub(super) fn in_force(relay: &Relay, ports: &[PortSettings]) -> RelayDecl {
    let from = ports.get(relay.from.index()).and_then(|port| at(port.name.clone()));
    RelayDecl { from, place: Place::default() }
}

/// The group of a port with a relay: the buffer takes what arrives in a round trip, and the headroom takes the same
/// once more, if pauses are lost. Without a distance, the group is that of PFC.
pub(super) fn group(
    decl: &LosslessDecl,
    port: &PortSettings,
    sum: Option<&HeadroomSum>,
) -> Option<LosslessGroup> {
    let round_trip = sum?.total();
    Some(beneath::group(decl, round_trip, round_trip, port.max_frame))
}

/// The place of the key that caused `error`.
pub(super) fn place(error: &RelayError, decl: &PortDecl) -> Place {
    let word = decl.flow_control.as_ref().map_or(&decl.place, |word| &word.place);
    let from = decl.relay.as_ref().and_then(|relay| relay.place_of("from"));
    match error {
        RelayError::NoLossless => word,
        RelayError::NoSuchPort { .. } | RelayError::Itself | RelayError::NotAPair => from.unwrap_or(word),
    }
    .clone()
}
