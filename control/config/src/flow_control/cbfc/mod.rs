//! Builds credits on a port and the groups beneath them, and checks them against the link.

pub(crate) mod keys;
pub(crate) mod plan;

use switch::flow_control::cbfc::settings::{Cbfc, CbfcError};
use switch::program::{LosslessGroup, PortSettings};
use units::{Bytes, Cells, WireBytes};

use crate::flow_control::beneath;
use crate::keys::port::{FlowControlWord, PortDecl};
use crate::keys::queueing::LosslessDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::round_trip;
use crate::table::{Table, at};
use crate::value::SizeChoice;
use keys::CbfcDecl;

/// The table of a port that speaks credits, or an empty one.
fn declared(decl: &PortDecl) -> Option<CbfcDecl> {
    let place = decl.flow_control.as_ref().map_or(&decl.place, |word| &word.place);
    let empty =
        || CbfcDecl { place: Place { key: "port.cbfc".into(), ..place.clone() }, ..Default::default() };
    (decl.flow_control() == FlowControlWord::Cbfc).then(|| decl.cbfc.clone().unwrap_or_else(empty))
}

/// Builds credits on a port that is not complete yet. Returns `None` and notes an error if the round trip is unknown
/// and the buffer depends on it.
pub(super) fn build(
    decl: &PortDecl,
    port: &PortSettings,
    link: &Link,
    problems: &Problems<'_>,
) -> Option<Cbfc> {
    let decl = declared(decl)?;
    let mut cbfc = Cbfc { buffer: WireBytes(0), interval: decl.interval(), counter: decl.counter() };
    let stated = decl.round_trip.as_ref().map(|it| it.value);
    let fills = |round_trip| cbfc.for_line_rate(port.rate, round_trip, port.max_frame);
    let given = decl.buffer.as_ref().and_then(|choice| match choice.value {
        SizeChoice::Given(Bytes(size)) => Some((WireBytes(size), &choice.place)),
        SizeChoice::Auto => None,
    });
    cbfc.buffer = match given {
        Some((buffer, place)) => {
            if let Some(round_trip) = stated.or_else(|| round_trip::from_distance(port, link))
                && buffer < fills(round_trip)
            {
                let [buffer, fills] = [buffer, fills(round_trip)].map(|it| Bytes(it.0));
                problems.warning(place, ProblemKind::ShortCredits { buffer, fills, round_trip });
            }
            buffer
        }
        None => fills(stated.or_else(|| round_trip::needed(port, link, &decl.place, problems))?),
    };
    Some(cbfc)
}

/// The keys from which [`build`] builds the same credits.
pub(super) fn in_force(cbfc: &Cbfc) -> CbfcDecl {
    CbfcDecl {
        buffer: at(SizeChoice::Given(Bytes(cbfc.buffer.0))),
        interval: at(cbfc.interval),
        counter: at(cbfc.counter),
        round_trip: None,
        place: Place::default(),
    }
}

/// The group of a port with credits.
pub(super) fn group(decl: &LosslessDecl, cbfc: &Cbfc, port: &PortSettings) -> LosslessGroup {
    let (most, max_frame) = (Cells::of_any_mix(cbfc.buffer).bytes(), port.max_frame);
    beneath::group(decl, most, max_frame + max_frame, max_frame)
}

/// The place of the key that caused `error`.
pub(super) fn place(error: &CbfcError, decl: &PortDecl) -> Option<Place> {
    let keys: &[&str] = match error {
        CbfcError::NoLossless => &[],
        CbfcError::Interval { .. } => &["interval"],
        CbfcError::Buffer { .. } => &["buffer"],
    };
    Some(declared(decl)?.first(keys).clone())
}
