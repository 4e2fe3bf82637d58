//! The schemes side by side, on the same link.

use units::{Bytes, Interval, WireBytes};

use super::built::Built;
use super::longest::{fixed, group};
use super::request::{PlanError, Request};
use super::scheme::Scheme;
use super::slot::within;
use crate::flow_control::bifrost::keys::BifrostDecl;
use crate::flow_control::bifrost::plan::held_with;
use crate::thresholds::may_hold;

/// A scheme on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The scheme.
    pub scheme: Scheme,
    /// All that frames from the long link can hold: XOFF and headroom of each lossless priority.
    pub buffer: Bytes,
    /// Bits per second of its own frames on the long link, at most in steady state.
    pub control: u64,
    /// From the moment at which the far side stops taking frames until the near side stops sending them.
    pub reaction: Interval,
    /// The other end of the link must do this.
    pub needs: &'static str,
}

/// Compares the schemes on the link of `request`. A scheme that cannot run there has the reason instead of a row.
pub fn compare(request: &Request) -> Vec<(Scheme, Result<Row, PlanError>)> {
    let row = |scheme| {
        // LSCC stands above any of them.
        let request = Request { scheme, lscc: false, ..request.clone() };
        Built::new(&request).map(|built| Row::new(&built))
    };
    Scheme::all().map(|scheme| (scheme, row(scheme))).collect()
}

impl Row {
    /// The row of a plan.
    pub fn new(built: &Built) -> Self {
        let (port, _) = built.long();
        let scheme = built.request.scheme;
        let (frame, every) = scheme.planned().control(port);
        Self {
            scheme,
            buffer: may_hold(port, &built.gateways[0].program.settings().buffer).unwrap_or_default(),
            control: rate_of(frame, every),
            reaction: reaction(built, every),
            needs: scheme.planned().needs(),
        }
    }
}

fn rate_of(frame: WireBytes, every: Interval) -> u64 {
    let bits = u128::from(frame.0) * 8_000_000_000 / u128::from(every.0.max(1));
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// From an empty buffer: what the scheme lets in beyond a BDP before it acts, its period, and half of a round trip.
fn reaction(built: &Built, every: Interval) -> Interval {
    let (port, _) = built.long();
    let round_trip = built.round_trip().total();
    let time = |bytes: u64| port.rate.serialization().time_of(WireBytes(bytes));
    let beyond = |buffer: WireBytes| time(buffer.0.saturating_sub(port.rate.bytes_in(round_trip)));
    let scheme = built.request.scheme.planned();
    let (slack, period) = match scheme.granted(port) {
        Some((_, buffer)) => (beyond(buffer), every),
        // The pause is passed on as it comes.
        None if scheme.passes_on() => (Interval::ZERO, Interval::ZERO),
        None => (time(fixed(group(port).xoff).0), Interval::ZERO),
    };
    slack + period + Interval(round_trip.0 / 2)
}

/// A slot, and the buffer that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRow {
    /// The slot.
    pub slot: Interval,
    /// All that frames from the long link can hold with it: XOFF and headroom of each lossless priority.
    pub buffer: Bytes,
}

/// What other slots would hold: a quarter to four times that of the plan, and the default of the key.
pub(super) fn curve(built: &Built) -> Vec<SlotRow> {
    let (port, _) = built.long();
    let Some(planned) = port.flow_control.bifrost().map(|slots| slots.slot) else { return Vec::new() };
    let priorities = built.request.count();
    let range = within(&built.round_trip(), port.rate);
    let around = [Interval(planned.0 / 4), Interval(planned.0 / 2), planned, planned * 2, planned * 4];
    let mut slots: Vec<_> = around.into_iter().chain([BifrostDecl::default().slot()]).collect();
    slots.retain(|slot| range.contains(slot));
    slots.sort();
    slots.dedup();
    let row = |slot| {
        let held = held_with(slot, port) + group(port).headroom;
        SlotRow { slot, buffer: Bytes(held.0.saturating_mul(priorities)) }
    };
    slots.into_iter().map(row).collect()
}
