//! LSCC: Qref, the step, and the list of rates in flight.

use units::{BitRate, WireBytes};

use crate::headroom::grouped;
use crate::lscc_sum::{LsccSum, rounded};
use crate::plan::built::Built;
use crate::plan::longest::{fixed, group};
use crate::plan::step::{Part, Quantity, Step};

/// The formulas of LSCC; `None` without it.
pub(in crate::plan) fn lscc(built: &Built) -> Option<Part> {
    let (_, sum) = built.gateways[0].lscc().next()?;
    let rate = built.request.rate;
    let mut steps = queue(&sum, rate);
    steps.extend(step(&sum, rate));
    steps.extend(halved(built, &sum));
    steps.push(table(&sum));
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

/// The longest queue, and what happens if the buffer is less than that.
fn halved(built: &Built, sum: &LsccSum) -> Vec<Step> {
    let LsccSum { interval, round_trip, reference, halved, follows, .. } = *sum;
    let rate = built.request.rate;
    let drop = BitRate::new(rate.bits_per_second().div_ceil(2)).unwrap_or(rate);
    let step = sum.step.unwrap_or(drop);
    let queue = halved + reference;
    let (level, most) = beneath(built);
    let then = match most.0 < queue.0 {
        true => "less than Q_halved: it pauses the senders, and nothing is lost",
        false => "no less than Q_halved: nothing is paused for that",
    };
    vec![
        Step::new(
            "drop",
            "rate / 2",
            format!("{rate} / 2"),
            Quantity::Rate(drop.bits_per_second()),
            "a bottleneck that halves for good",
        ),
        Step::new(
            "follows",
            "RTT + T x drop / dR, in whole steps",
            format!("{round_trip} + {interval} x {drop} / {step}"),
            Quantity::Time(follows),
            "until the advertised rate has followed",
        ),
        Step::new(
            "Q_halved",
            "Qref + drop x (RTT + T / 2 x (1 + max(1, drop / dR))) / 8",
            format!(
                "{} + {drop} x ({round_trip} + {interval} / 2 x (1 + max(1, {drop} / {step}))) / 8",
                grouped(reference.0)
            ),
            Quantity::Bytes(queue.0),
            "what LSCC alone would let gather: docs/plan.md",
        ),
        Step::new(
            "beneath",
            format!("{level}: from here on, {} holds the link back", built.request.scheme),
            "",
            Quantity::Bytes(most.0),
            then,
        ),
    ]
}

/// What the flow control beneath LSCC lets in, and its name.
fn beneath(built: &Built) -> (&'static str, WireBytes) {
    let (port, _) = built.long();
    // A byte of the link takes no less of the buffer.
    let xoff = || ("XOFF", WireBytes(fixed(group(port).xoff).0));
    built.request.scheme.planned().granted(port).unwrap_or_else(xoff)
}

/// The memory of the flow table.
fn table(sum: &LsccSum) -> Step {
    let (flows, table) = (u64::from(sum.flows), sum.flow_table().0);
    Step::new(
        "flow_table",
        "flows x (entries and index of each)",
        format!("{} x {} B", grouped(flows), grouped(table / flows.max(1))),
        Quantity::Bytes(table),
        "docs/configuration.md",
    )
}
