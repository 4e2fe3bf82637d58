//! `[port.emulation]`.

use units::Interval;

use super::bifrost::{LEAST, time};
use crate::reader::{At, Place, Section};
use crate::value::Probability;

/// A long link behind a port.
#[derive(Clone)]
pub(crate) struct EmulationDecl {
    pub place: Place,
    pub delay: Option<At<Interval>>,
    pub loss: Option<At<Probability>>,
    pub duplicate: Option<At<Probability>>,
    pub reorder: Option<At<Probability>>,
    pub reorder_by: Option<At<Interval>>,
    pub control: Option<At<bool>>,
}

/// What light needs for the longest `distance` is a little more.
const LONGEST: Interval = Interval::from_millis(200);

impl EmulationDecl {
    pub fn read(emulation: &mut Section<'_, '_>) -> Self {
        Self {
            place: emulation.place.clone(),
            delay: time(emulation, "delay", Interval::ZERO..=LONGEST, "up to 200ms"),
            loss: emulation.optional("loss"),
            duplicate: emulation.optional("duplicate"),
            reorder: emulation.optional("reorder"),
            reorder_by: time(emulation, "reorder_by", LEAST..=LONGEST, "1us to 200ms"),
            control: emulation.optional("control"),
        }
    }
}
