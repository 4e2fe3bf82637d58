//! The buffer of the port to the data center: its headroom and thresholds.

use switch::program::FlowControl;

use super::flow_control::{headroom_terms, pfc, relay, whole};
use super::link::round_trip;
use crate::plan::built::Built;
use crate::plan::step::Part;

/// The formulas of dc0; `None` without a distance, which no plan leaves out.
pub(in crate::plan) fn local(built: &Built) -> Option<Part> {
    let (port, link) = built.local();
    let terms = crate::round_trip::RoundTripSum::new(port, link)?;
    let sum = crate::headroom::HeadroomSum::new(&link.terms(port, built.gateways[0].cell_occupancy)?);
    let mut steps = vec![round_trip(&terms, "to the switch of the data center and back")];
    steps.extend(headroom_terms(port, link, &sum));
    steps.push(whole(&sum));
    match &port.flow_control {
        FlowControl::Relay(_) => steps.extend(relay(port)),
        _ => steps.extend(pfc(port, terms.total())),
    }
    Some(Part { title: "Buffer of dc0, for each lossless priority".into(), steps })
}
