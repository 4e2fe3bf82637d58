//! Builds P-PFC on a port, and checks it against the buffer and the links.

pub(crate) mod keys;

use switch::flow_control::p_pfc::settings::{PPfc, PPfcError};
use switch::program::{PortSettings, Settings};
use units::{Bytes, Interval};

use crate::keys::port::PortDecl;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::table::{Table, at};
use crate::thresholds::capacity;
use keys::PPfcDecl;

/// The time that the paper's Kmax of 200 KB takes at 40 Gb/s.
const KMAX: Interval = Interval::from_micros(40);
/// The factor between T and T_min from which they are far apart.
const FAR: u64 = 4;

/// Builds P-PFC on a port that is not complete yet.
pub(super) fn build(decl: &PPfcDecl, port: &PortSettings) -> PPfc {
    PPfc {
        horizon: decl.horizon(),
        coverage: decl.coverage(),
        interval: decl.interval(),
        kmax: decl.kmax.as_ref().map_or(Bytes(port.rate.bytes_in(KMAX)), |kmax| kmax.value),
    }
}

/// The keys from which [`build`] builds the same P-PFC.
pub(super) fn in_force(p_pfc: &PPfc) -> PPfcDecl {
    PPfcDecl {
        horizon: at(p_pfc.horizon),
        coverage: at(p_pfc.coverage),
        interval: at(p_pfc.interval),
        kmax: at(p_pfc.kmax),
        place: Place::default(),
    }
}

/// Warns if the horizon is far from the time in which all ports fill the buffer (equation 5).
pub(super) fn check_horizon(p_pfc: &PPfc, settings: &Settings, decl: &PortDecl, problems: &Problems<'_>) {
    let buffer = capacity(&settings.buffer, &settings.ports);
    let least = PPfc::shortest_fill(buffer, settings.ports.iter().map(|port| port.rate));
    let horizon = p_pfc.horizon;
    if horizon.0 < least.0 / FAR || horizon.0 / FAR > least.0 {
        let stated = decl.p_pfc().horizon.as_ref();
        let place = stated.map_or_else(|| place_of_word(decl), |At { place, .. }| place);
        problems.warning(place, ProblemKind::FarHorizon { horizon, buffer, least });
    }
}

/// The place of the key that caused `error`.
pub(super) fn place(error: &PPfcError, decl: &PortDecl) -> Place {
    let key = match error {
        PPfcError::NoLossless => None,
        PPfcError::Interval { .. } => decl.p_pfc().place_of("interval"),
        PPfcError::Coverage { .. } => decl.p_pfc().place_of("coverage"),
    };
    key.unwrap_or_else(|| place_of_word(decl)).clone()
}

fn place_of_word(decl: &PortDecl) -> &Place {
    decl.flow_control.as_ref().map_or(&decl.place, |word| &word.place)
}
