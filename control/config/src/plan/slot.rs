//! The slot of a plan: the one with which frames from the long link hold the least buffer.

use core::ops::RangeInclusive;

use units::{BitRate, Interval, PauseQuanta};

use super::request::{PlanError, Request};
use super::scheme::Scheme;
use super::text::{Form, read};
use crate::flow_control::bifrost::keys::BifrostDecl;
use crate::flow_control::bifrost::plan::slot_of_least_buffer;
use crate::keys::long_haul::LONGEST;
use crate::round_trip::RoundTripSum;

/// T: as stated, or the slot with the least buffer. `None` for schemes without slots.
pub(super) fn slot(request: &Request) -> Result<Option<Interval>, PlanError> {
    // The round trip is that of PFC, which has no slot that could be wrong.
    let plain = Request { scheme: Scheme::PFC, lscc: false, ..request.clone() };
    let gateway = read(&plain, 0, &Form::default())?;
    let port = &gateway.program.settings().ports[1];
    let Some(terms) = RoundTripSum::new(port, &gateway.links[1]) else { return Ok(None) };
    let round_trip = terms.total();
    if round_trip > LONGEST {
        let valid = format!("up to {LONGEST}: raise the rate, or shorten the frames");
        return Err(PlanError::out_of_range(format!("a round trip of {round_trip}"), valid));
    }
    if !request.scheme.has_slots() {
        return Ok(None);
    }
    let (least, most) = within(&terms, port.rate).into_inner();
    let slot = match request.slot {
        Some(slot) => slot,
        None if most <= least => most,
        None => of_least_buffer(request, least, most)?,
    };
    if slot < least || slot > most {
        let most = format!("{most} (half a round trip, and at most two thirds of the longest pause)");
        return Err(PlanError::out_of_range(
            format!("a slot of {slot}"),
            format!("{least} (a frame) to {most}"),
        ));
    }
    Ok(Some(slot))
}

/// The slots that a link of `rate` can have. The holdover of half a slot must fit into a pause frame too.
pub(super) fn within(terms: &RoundTripSum, rate: BitRate) -> RangeInclusive<Interval> {
    let pause = PauseQuanta::MAX.interval_at(rate);
    let least = terms.frame.max(Interval::from_micros(1));
    least..=Interval(terms.total().0 / 2).min(Interval(pause.0 / 3 * 2))
}

/// No shorter slot than the default is taken: it would save little, and its pauses would take more of the link.
fn of_least_buffer(request: &Request, least: Interval, most: Interval) -> Result<Interval, PlanError> {
    let plain = Request { lscc: false, ..request.clone() };
    let gateway = read(&plain, 0, &Form { slot: Some(most), ..Form::default() })?;
    let least = least.max(BifrostDecl::default().slot()).min(most);
    Ok(slot_of_least_buffer(&gateway.program.settings().ports[1], least..=most))
}
