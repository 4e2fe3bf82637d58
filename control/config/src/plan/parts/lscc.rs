//! LSCC: Qref, the step, and the list of rates in flight.

use units::BitRate;

use crate::headroom::grouped;
use crate::lscc_sum::{LsccSum, rounded};
use crate::plan::built::Built;
use crate::plan::step::{Part, Quantity, Step};

/// The formulas of LSCC; `None` without it.
pub(in crate::plan) fn lscc(built: &Built) -> Option<Part> {
    let (_, sum) = built.gateways[0].lscc().next()?;
    let rate = built.request.rate;
    let mut steps = queue(&sum, rate);
    steps.extend(step(&sum, rate));
    steps.extend(cost(&sum));
    Some(Part { title: "LSCC above it".into(), steps })
}

/// T, the list of rates, and Qref.
fn queue(sum: &LsccSum, rate: BitRate) -> Vec<Step> {
    let LsccSum { interval, round_trip, reference, .. } = sum;
    vec![
        Step::new(
            "T",
            "from one rate to the next, at most RTT",
            "",
            Quantity::Time(*interval),
            "LSCC paper, III-C: 200 us",
        ),
        Step::new(
            "N",
            "RTT / T, rounded up",
            format!("{round_trip} / {interval}"),
            Quantity::Count(sum.rates_in_flight as u64),
            "LSCC paper, equation (2): the list of rates in flight",
        ),
        Step::new(
            "Qref",
            "0.1 x rate x (RTT + T) / 8",
            format!("0.1 x {rate} x ({round_trip} + {interval}) / 8"),
            Quantity::Bytes(reference.0),
            "LSCC paper, III-C: dBR_max x (N + 1) T",
        ),
    ]
}

/// The step, between its bounds by equation (12).
fn step(sum: &LsccSum, rate: BitRate) -> Vec<Step> {
    let LsccSum { interval, round_trip, reference, bounds, .. } = sum;
    let senders = bounds.senders;
    vec![
        Step::new(
            "M",
            "rate / rate of a sender",
            format!("{rate} / {}", senders.rate),
            Quantity::Count(bounds.flows.into()),
            "LSCC paper, III-C: flows that fill the link",
        ),
        Step::new(
            "dR_above",
            "dQ / (RTT + T), dQ = Qref / 100",
            format!("8 x {} / 100 / ({round_trip} + {interval})", grouped(reference.0)),
            Quantity::Rate(bounds.above),
            "LSCC paper, equation (12), left side",
        ),
        Step::new(
            "dR_below",
            "M T R_AI / T_i",
            format!("{} x {interval} x {} / {}", bounds.flows, senders.additive_increase, senders.rate_timer),
            Quantity::Rate(bounds.below),
            "LSCC paper, equation (12), right side",
        ),
        Step::new(
            "dR",
            "rate x T / 40 ms, between both",
            format!("{rate} x {interval} / 40ms, {} to {}", rounded(bounds.above), rounded(bounds.below)),
            Quantity::Rate(sum.step.map_or(0, BitRate::bits_per_second)),
            "the paper's steps: 1 Gb/s at 200G",
        ),
    ]
}

/// The longest queue, and the memory of the flow table.
fn cost(sum: &LsccSum) -> Vec<Step> {
    vec![
        Step::new(
            "Q_halved",
            "Qref + drop RTT + drop T / 2 + drop^2 T / (2 dR), drop = rate / 2",
            "",
            Quantity::Bytes((sum.halved + sum.reference).0),
            "docs/lscc.md: a bottleneck that halves",
        ),
        Step::new(
            "flow_table",
            "132 to 140 B for each flow",
            grouped(sum.flows.into()),
            Quantity::Bytes(sum.flow_table().0),
            "docs/configuration.md",
        ),
    ]
}
