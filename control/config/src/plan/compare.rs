//! The schemes side by side, on the same link.

use switch::program::{FlowControl, PortSettings};
use units::{Bytes, Interval, WireBytes};
use wire::ethernet::{HEADER_LEN, MIN_FRAME_LEN};
use wire::grants::{credit, far_port, slot};

use super::built::{Built, fixed, group};
use super::pauses::held;
use super::request::{PlanError, Request, Scheme};

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

/// Compares the schemes on the link of `request`. A scheme that cannot run there has the reason in place of a row.
pub fn compare(request: &Request) -> Vec<(Scheme, Result<Row, PlanError>)> {
    let row = |scheme| {
        // LSCC stands above any of them.
        let request = Request { scheme, lscc: false, ..request.clone() };
        Built::new(&request).map(|built| Row::new(&built))
    };
    Scheme::ALL.into_iter().map(|scheme| (scheme, row(scheme))).collect()
}

impl Row {
    /// The row of a plan.
    pub fn new(built: &Built) -> Self {
        let (port, _) = built.long();
        let scheme = built.request.scheme;
        let priorities = built.request.count();
        let (frame, every) = control(port);
        Self {
            scheme,
            buffer: Bytes(held(port).0.saturating_mul(priorities)),
            control: rate_of(frame, every),
            reaction: reaction(built, every),
            needs: needs(scheme),
        }
    }
}

/// The scheme's frame on the wire, and how often it is sent: a pause is refreshed when half of it has passed.
fn control(port: &PortSettings) -> (WireBytes, Interval) {
    let message = |length: usize| WireBytes::of_frame(Bytes((HEADER_LEN + length) as u64));
    let pause = WireBytes::of_frame(Bytes(MIN_FRAME_LEN as u64));
    match &port.flow_control {
        FlowControl::Bifrost(slots) => (pause, slots.slot),
        FlowControl::BifrostX(slots) => (message(slot::MESSAGE_LEN), slots.slot),
        FlowControl::PortGrants(it) => (message(far_port::MESSAGE_LEN), it.slots.slot),
        FlowControl::Cbfc(it) => (message(credit::MESSAGE_LEN), it.interval),
        _ => (pause, Interval(port.pfc.pause.interval_at(port.rate).0 / 2)),
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
    let (slack, period) = match &port.flow_control {
        FlowControl::Bifrost(slots) | FlowControl::BifrostX(slots) => (beyond(slots.buffer), every),
        FlowControl::PortGrants(it) => (beyond(it.slots.buffer), every),
        FlowControl::Cbfc(it) => (beyond(it.buffer), every),
        // A relay passes the pause on as it comes.
        FlowControl::Relay(_) => (Interval::ZERO, Interval::ZERO),
        _ => (time(fixed(group(port).xoff).0), Interval::ZERO),
    };
    slack + period + Interval(round_trip.0 / 2)
}

const fn needs(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Pfc | Scheme::Bifrost => "a switch that obeys PFC",
        Scheme::BifrostX => "BifrostX, or else PFC",
        Scheme::PortGrants => "port grants, or else PFC",
        Scheme::Cbfc => "credits: no PFC will do",
        Scheme::Relay => "a relay, and PFC behind both",
    }
}
