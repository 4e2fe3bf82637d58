//! Builds CaPFC on a port.

pub(crate) mod keys;

use switch::flow_control::capfc::settings::{CaPfc, CaPfcError};
use switch::program::PortSettings;
use units::{Bytes, Interval};

use crate::keys::port::PortDecl;
use crate::place::Place;
use crate::table::{Table, at};
use keys::CaPfcDecl;

/// WARN is what the link carries in this time.
const WARN: Interval = Interval::from_micros(40);

/// Builds CaPFC on a port that is not complete yet.
pub(super) fn build(decl: &CaPfcDecl, port: &PortSettings) -> CaPfc {
    let warn = decl.warn.as_ref().map_or(Bytes(port.rate.bytes_in(WARN)), |warn| warn.value);
    CaPfc { warn, interval: decl.interval() }
}

/// The keys from which [`build`] builds the same CaPFC.
pub(super) fn in_force(capfc: &CaPfc) -> CaPfcDecl {
    CaPfcDecl { warn: at(capfc.warn), interval: at(capfc.interval), place: Place::default() }
}

/// The place of the key that caused `error`.
pub(super) fn place(error: &CaPfcError, decl: &PortDecl) -> Place {
    let word = decl.flow_control.as_ref().map_or(&decl.place, |word| &word.place);
    let key = match error {
        CaPfcError::NoLossless => None,
        CaPfcError::Interval { .. } => decl.capfc().place_of("interval"),
    };
    key.unwrap_or(word).clone()
}
