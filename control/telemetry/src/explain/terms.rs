//! The terms of the schemes of a port: what Bifrost granted, what LSCC allows, what credits are missing.

use super::effect::{Effect, effect};
use crate::period::PortPeriod;
use units::human::{bytes, nanos, speed, thousands};

/// The counters of CNPs that the gateway made, by list.
pub const CNPS: [(&str, &str); 3] =
    [("lscc", "cnps.direct"), ("themis", "cnps.made"), ("supplement", "cnps.supplemented")];
/// The counters of CNPs that could not be made.
pub const CNPS_MISSING: [(&str, &str); 3] =
    [("lscc", "cnps.not_notified"), ("themis", "cnps.unreachable"), ("supplement", "cnps.not_notified")];

/// The terms of each scheme that runs on the port, as effects of the whole port.
pub fn of_port(port: PortPeriod<'_>) -> Vec<Effect> {
    let terms = [bifrost(port), grants(port), credits(port), lscc(port), themis(port), relay(port)];
    terms.into_iter().flatten().map(|text| effect("scheme", port, None, text, Vec::new())).collect()
}

/// The terms that slow down what the port sends.
pub fn of_sender(port: PortPeriod<'_>) -> Vec<String> {
    let credits = (port.figure("credits", "hears") == Some(0)).then(|| credits(port)).flatten();
    let limited = port.figure("lscc", "feedback.last_bits_per_second").and_then(|_| lscc(port));
    [credits, limited].into_iter().flatten().collect()
}

/// F, L and the grant of the last slot, by which the upstream is paused for the rest of it.
fn bifrost(port: PortPeriod<'_>) -> Option<String> {
    let of = |path| port.figure("bifrost", path);
    let slot = of("slot_ns")?;
    let paused = thousands(port.counted("bifrost", &["paused_slots"]));
    let slots = thousands(port.counted("bifrost", &["slots"]));
    let last =
        match (of("slot.queue_wire_bytes"), of("slot.incoming_wire_bytes"), of("slot.grant_wire_bytes")) {
            (Some(queue), Some(incoming), Some(grant)) => format!(
                "the last one found L {} queued and F {} on the way, and granted {}",
                bytes(queue),
                bytes(incoming),
                bytes(grant)
            ),
            _ => "none has ended".into(),
        };
    Some(format!("Bifrost: {paused} of {slots} slots of {} were paused; {last}", nanos(slot)))
}

fn grants(port: PortPeriod<'_>) -> Option<String> {
    port.figure("grants", "received.taken")?;
    let of = |path: &str| port.counted("grants", &[path]);
    Some(format!(
        "Grants: the peer granted {} to this port, {} grant frames went missing, {} silences",
        bytes(of("received.dealt_wire_bytes")),
        thousands(of("received.missed")),
        thousands(of("received.silences"))
    ))
}

fn credits(port: PortPeriod<'_>) -> Option<String> {
    let hears = port.figure("credits", "hears")?;
    let heard = if hears == 0 {
        "hears nothing of the other end and sends nothing lossless"
    } else {
        "hears the other end"
    };
    let (missed, repaired) =
        (port.counted("credits", &["missed"]), port.counted("credits", &["repaired_wire_bytes"]));
    Some(format!(
        "Credits: the port {heard}; {} messages missed, {} repaired",
        thousands(missed),
        bytes(repaired)
    ))
}

/// The pseudo-queue Q* against its reference, and the rates of both ends.
fn lscc(port: PortPeriod<'_>) -> Option<String> {
    let of = |path| port.figure("lscc", path);
    of("interval_ns")?;
    let speed = |path| of(path).map_or_else(|| "no rate".into(), speed);
    Some(format!(
        "LSCC: the far end allows {}, the gateway advertises {}; pseudo-queue {} of {}; {} direct CNPs",
        speed("feedback.last_bits_per_second"),
        speed("advertised_rates.last_bits_per_second"),
        bytes(of("pseudo_queue_wire_bytes").unwrap_or_default()),
        bytes(of("pseudo_queue.reference_wire_bytes").unwrap_or_default()),
        thousands(port.counted("lscc", &["cnps.direct"]))
    ))
}

fn themis(port: PortPeriod<'_>) -> Option<String> {
    port.figure("themis", "cnps.made")?;
    let of = |path: &str| thousands(port.counted("themis", &[path]));
    Some(format!(
        "THEMIS: {} CNPs made, {} frames slowed down, {} not",
        of("cnps.made"),
        of("slowing.slowed"),
        of("slowing.not_slowed")
    ))
}

fn relay(port: PortPeriod<'_>) -> Option<String> {
    port.figure("relay", "passed_on")?;
    let passed = thousands(port.counted("relay", &["passed_on"]));
    Some(format!("Relay: {passed} pauses of the other port were passed on"))
}
