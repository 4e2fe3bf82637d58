//! The checks of LSCC: on a port by itself, and among the ports.

use core::net::Ipv4Addr;

use crate::program::{
    FlowSettings, ForwardingSettings, Lscc, PortSettings, ProgramError, RateCalculation, Settings,
};
use units::{Bytes, Interval, PortId, Priority, WireBytes};

/// The shortest times of LSCC.
const LEAST: Interval = Interval::from_micros(1);

pub(super) fn validate(port: &PortSettings, lscc: &Lscc) -> Result<(), ProgramError> {
    let name = || port.name.clone();
    if port.lossless().is_empty() {
        return Err(ProgramError::LsccWithoutLossless { port: name() });
    }
    let (interval, least, most) = (lscc.interval, LEAST, lscc.round_trip);
    if interval < least || interval > most {
        return Err(ProgramError::LsccInterval { port: name(), interval, least, most });
    }
    let (count, most) = (lscc.rates_in_flight(), Lscc::MOST_IN_FLIGHT);
    if count > most {
        return Err(ProgramError::LsccInFlight { port: name(), count, most });
    }
    validate_calculation(port, &lscc.calculation)?;
    validate_limiting(port, lscc)?;
    let (local, peer) = (lscc.feedback.local, lscc.feedback.peer);
    if let Some(address) = [local, peer].into_iter().find(|address| !is_of_a_host(*address)) {
        return Err(ProgramError::LsccAddress { port: name(), address });
    }
    if local == peer {
        return Err(ProgramError::LsccToItself { port: name(), address: peer });
    }
    Ok(())
}

fn validate_calculation(port: &PortSettings, calculation: &RateCalculation) -> Result<(), ProgramError> {
    let RateCalculation { reference, least, most, step: _ } = *calculation;
    if reference == WireBytes(0) {
        return Err(ProgramError::LsccReference { port: port.name.clone() });
    }
    if least > most || most > port.rate {
        return Err(ProgramError::LsccRates { port: port.name.clone(), least, most, rate: port.rate });
    }
    Ok(())
}

fn validate_limiting(port: &PortSettings, lscc: &Lscc) -> Result<(), ProgramError> {
    let name = || port.name.clone();
    let limiting = &lscc.limiting;
    if limiting.reference == WireBytes(0) {
        return Err(ProgramError::LsccPseudoReference { port: name() });
    }
    if let Some(limit) = limiting.limit.filter(|limit| *limit <= limiting.reference) {
        let (limit, reference) = (Bytes(limit.0), Bytes(limiting.reference.0));
        return Err(ProgramError::LsccPseudoLimit { port: name(), limit, reference });
    }
    let (interval, least) = (limiting.cnp_interval, LEAST);
    if interval < least {
        return Err(ProgramError::LsccCnpInterval { port: name(), interval, least });
    }
    let least = lscc.bdp(port.rate);
    if limiting.long_flow < least {
        let (long_flow, least) = (Bytes(limiting.long_flow.0), Bytes(least.0));
        return Err(ProgramError::LsccLongFlow { port: name(), long_flow, least });
    }
    let (flows, most) = (limiting.flows, FlowSettings::MOST);
    if flows == 0 || flows > most {
        return Err(ProgramError::LsccFlows { port: name(), flows, most });
    }
    if limiting.ageing == Interval::ZERO {
        return Err(ProgramError::LsccAgeing { port: name() });
    }
    Ok(())
}

/// Whether it can be the address of one host elsewhere.
fn is_of_a_host(address: Ipv4Addr) -> bool {
    !(address.is_unspecified() || address.is_multicast() || address.is_broadcast() || address.is_loopback())
}

pub(super) fn validate_together(settings: &Settings) -> Result<(), ProgramError> {
    for (index, long) in settings.ports.iter().enumerate() {
        let Some(lscc) = &long.lscc else { continue };
        let before = settings.ports[..index].iter().filter_map(|port| Some((port, port.lscc.as_ref()?)));
        for (other, known) in before {
            let (one, two) = (&lscc.feedback, &known.feedback);
            let shared = [(one.local, two.local), (one.peer, two.peer)].into_iter().find(|(a, b)| a == b);
            if let Some((address, _)) = shared {
                let (port, other) = (long.name.clone(), other.name.clone());
                return Err(ProgramError::LsccAddressTwice { port, other, address });
            }
        }
        validate_marking(settings, PortId(index as u16), long)?;
    }
    Ok(())
}

/// "Congestion marking needs to be disabled at this hop" (section III-B, deployment): frames from a long port wait
/// at their egress port, and Qref of them waits on purpose.
fn validate_marking(settings: &Settings, from: PortId, long: &PortSettings) -> Result<(), ProgramError> {
    for (index, port) in settings.ports.iter().enumerate() {
        if !feeds(&settings.forwarding, from, PortId(index as u16)) {
            continue;
        }
        let marks = |priority: &Priority| port.queues[priority.index()].red.is_some();
        if let Some(priority) = long.lossless().iter().find(marks) {
            let (port, long) = (port.name.clone(), long.name.clone());
            return Err(ProgramError::LsccMarking { port, long, priority });
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
