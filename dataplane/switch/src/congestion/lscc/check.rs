//! The check of LSCC among the ports.

use super::settings::LsccPortsError;
use crate::program::{ForwardingSettings, PortSettings, Settings};
use units::{PortId, Priority};

/// Checks LSCC among the ports.
///
/// # Errors
/// [`LsccPortsError`] where two ports have one address, or one marks what waits for another on purpose.
pub(crate) fn validate_together(settings: &Settings) -> Result<(), LsccPortsError> {
    for (index, long) in settings.ports.iter().enumerate() {
        let Some(lscc) = &long.notifiers.lscc else { continue };
        let before =
            settings.ports[..index].iter().filter_map(|port| Some((port, port.notifiers.lscc.as_ref()?)));
        for (other, known) in before {
            let (one, two) = (&lscc.feedback, &known.feedback);
            let shared = [(one.local, two.local), (one.peer, two.peer)].into_iter().find(|(a, b)| a == b);
            if let Some((address, _)) = shared {
                let (port, other) = (long.name.clone(), other.name.clone());
                return Err(LsccPortsError::AddressTwice { port, other, address });
            }
        }
        validate_marking(settings, PortId(index as u16), long)?;
    }
    Ok(())
}

/// "Congestion marking needs to be disabled at this hop" (section III-B, deployment): frames from a long port wait
/// at their egress port, and Qref of them waits on purpose.
fn validate_marking(settings: &Settings, from: PortId, long: &PortSettings) -> Result<(), LsccPortsError> {
    for (index, port) in settings.ports.iter().enumerate() {
        if !feeds(&settings.forwarding, from, PortId(index as u16)) {
            continue;
        }
        let marks = |priority: &Priority| port.queues[priority.index()].red.is_some();
        if let Some(priority) = long.lossless().iter().find(marks) {
            let (port, long) = (port.name.clone(), long.name.clone());
            return Err(LsccPortsError::Marking { port, long, priority });
        }
    }
    Ok(())
}

/// Whether frames that came in through `from` may leave through the other port `to`.
fn feeds(forwarding: &ForwardingSettings, from: PortId, to: PortId) -> bool {
    from != to
        && match forwarding {
            ForwardingSettings::Patch(pairs) => pairs.contains(&(from, to)) || pairs.contains(&(to, from)),
            ForwardingSettings::Bridge(_) | ForwardingSettings::Route(_) => true,
        }
}
