//! The buffer of the port to the data center: its headroom and thresholds.

use super::flow_control::{headroom_terms, whole};
use super::link::round_trip;
use crate::flow_control::pfc;
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
    let scheme = built.request.scheme.planned();
    steps.extend(match scheme.passes_on() {
        true => scheme.thresholds(port, terms.total()),
        false => pfc::thresholds(port, terms.total()),
    });
    Some(Part { title: "Buffer of dc0, for each lossless priority".into(), steps })
}
