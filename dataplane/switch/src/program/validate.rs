//! The checks of [`super::Program::new`]: structure and order. Physics (such as headroom for the distance) is
//! checked in the configuration, where distances are known.

mod lscc;
mod remap;

use super::{
    AdaptiveEcn, BufferSettings, LosslessGroup, PortSettings, ProgramError, QueueSettings, Red, Scheduling,
    Settings, Threshold, Watchdog,
};
use crate::congestion;
use crate::flow_control::relay;
use crate::link_agent::LinkAgent;
use crate::link_delay::LinkDelay;
use units::{Bytes, PauseQuanta, PortSet, Priority, QueueId, QueueSet};
use wire::int::LinkRate;

pub(super) fn validate(settings: &Settings) -> Result<(), ProgramError> {
    let count = settings.ports.len();
    if count == 0 || count > PortSet::CAPACITY {
        return Err(ProgramError::PortCount { count, most: PortSet::CAPACITY });
    }
    validate_buffer(&settings.buffer)?;
    for (index, port) in settings.ports.iter().enumerate() {
        if settings.ports[..index].iter().any(|other| other.name == port.name) {
            return Err(ProgramError::DuplicateName { port: port.name.clone() });
        }
        validate_port(port, &settings.buffer)?;
    }
    let relays: Vec<_> = settings.ports.iter().map(|port| port.flow_control.relay().copied()).collect();
    relay::settings::validate_together(&relays).map_err(|(port, error)| ProgramError::FlowControl {
        port: settings.ports[port.index()].name.clone(),
        error: error.into(),
    })?;
    settings.forwarding.validate(&settings.ports)?;
    remap::validate(settings)?;
    let notifiers = settings.ports.iter().map(|port| (&*port.name, &port.notifiers));
    congestion::validate_together(notifiers)
        .map_err(|(port, error)| ProgramError::Notifiers { port: port.into(), error })?;
    lscc::validate_together(settings)
}

fn validate_buffer(buffer: &BufferSettings) -> Result<(), ProgramError> {
    if buffer.egress_lossy > buffer.shared {
        let BufferSettings { egress_lossy, shared, .. } = *buffer;
        return Err(ProgramError::LossyAboveShared { egress_lossy, shared });
    }
    Ok(())
}

fn validate_port(port: &PortSettings, buffer: &BufferSettings) -> Result<(), ProgramError> {
    let name = || port.name.clone();
    let (least, most) = (Bytes(64), PortSettings::LARGEST_FRAME);
    if port.max_frame < least || port.max_frame > most {
        return Err(ProgramError::MaxFrame { port: name(), given: port.max_frame, least, most });
    }
    if port.mac.is_multicast() {
        return Err(ProgramError::GroupAddress { port: name() });
    }
    let tells = port.int || port.lscc.as_ref().is_some_and(|lscc| lscc.limiting.direct_int.is_some());
    if tells && LinkRate::of(port.rate).is_none() {
        return Err(ProgramError::TelemetryRate { port: name(), rate: port.rate });
    }
    if port.pfc.pause == PauseQuanta::ZERO {
        return Err(ProgramError::ZeroPause { port: name() });
    }
    if let Some(priority) = port.pfc.obey.difference(port.lossless()).highest() {
        return Err(ProgramError::ObeysLossy { port: name(), priority });
    }
    let valid = port.flow_control.validate(port.rate, port.max_frame, port.lossless());
    valid.map_err(|error| ProgramError::FlowControl { port: name(), error })?;
    if let Some(settings) = &port.lscc {
        lscc::validate(port, settings)?;
    }
    let slow = port.slow.map_or(Ok(()), |slow| slow.validate(port));
    let valid = port.notifiers.validate(port.lossless(), port.lscc.is_some());
    valid.and(slow.map_err(Into::into)).map_err(|error| ProgramError::Notifiers { port: name(), error })?;
    if let Some(watchdog) = &port.watchdog {
        validate_watchdog(port, watchdog)?;
    }
    if let Some(given) = port.link_delay.and_then(|it| it.interval)
        && !LinkDelay::INTERVALS.contains(&given)
    {
        let (least, most) = (*LinkDelay::INTERVALS.start(), *LinkDelay::INTERVALS.end());
        return Err(ProgramError::LinkDelayInterval { port: name(), given, least, most });
    }
    if let Some(agent) = &port.link_agent {
        let (interval, hold) = (agent.interval, agent.hold);
        if !LinkAgent::INTERVALS.contains(&interval) || !LinkAgent::HOLDS.contains(&hold) {
            return Err(ProgramError::LinkAgentTimes { port: name(), interval, hold });
        }
    }
    for priority in Priority::all() {
        if let Some(group) = port.groups[priority.index()].lossless() {
            validate_group(port, priority, group, buffer)?;
        }
    }
    validate_queues(port)
}

fn validate_watchdog(port: &PortSettings, watchdog: &Watchdog) -> Result<(), ProgramError> {
    let times = [
        ("detection", watchdog.detection, Watchdog::DETECTION),
        ("restoration", watchdog.restoration, Watchdog::RESTORATION),
    ];
    for (what, given, range) in times {
        if !range.contains(&given) {
            let (least, most) = (*range.start(), *range.end());
            return Err(ProgramError::WatchdogTime { port: port.name.clone(), what, given, least, most });
        }
    }
    Ok(())
}

fn validate_group(
    port: &PortSettings,
    priority: Priority,
    group: &LosslessGroup,
    buffer: &BufferSettings,
) -> Result<(), ProgramError> {
    let name = || port.name.clone();
    if let Threshold::Static(xoff) = group.xoff {
        let LosslessGroup { reserved, xon, .. } = *group;
        if xoff <= reserved {
            return Err(ProgramError::XoffWithinReserved { port: name(), priority, xoff, reserved });
        }
        if xon > xoff {
            return Err(ProgramError::XonAboveXoff { port: name(), priority, xon, xoff });
        }
        if xoff - reserved > buffer.shared {
            return Err(ProgramError::XoffAbovePool { port: name(), priority, xoff, shared: buffer.shared });
        }
    }
    if group.headroom > buffer.headroom {
        let (headroom, pool) = (group.headroom, buffer.headroom);
        return Err(ProgramError::HeadroomAbovePool { port: name(), priority, headroom, pool });
    }
    Ok(())
}

fn validate_queues(port: &PortSettings) -> Result<(), ProgramError> {
    let (count, least, most) = (port.queues.len(), Priority::COUNT, QueueSet::CAPACITY);
    if count < least || count > most {
        return Err(ProgramError::QueueCount { port: port.name.clone(), count, least, most });
    }
    for (expected, &QueueSettings { priority, .. }) in Priority::all().zip(&port.queues) {
        if priority != expected {
            let (port, queue) = (port.name.clone(), QueueId::from(expected));
            return Err(ProgramError::FirstQueues { port, queue, priority });
        }
    }
    port.queues.iter().try_for_each(|queue| validate_queue(port, queue))
}

fn validate_queue(port: &PortSettings, queue: &QueueSettings) -> Result<(), ProgramError> {
    let (name, priority) = (|| port.name.clone(), queue.priority);
    if queue.scheduling == Scheduling::Weighted(0) {
        return Err(ProgramError::ZeroWeight { port: name(), priority });
    }
    if let Some(red) = &queue.red {
        if red.kmin >= red.kmax {
            return Err(ProgramError::RedOrder { port: name(), priority, kmin: red.kmin, kmax: red.kmax });
        }
        if !(red.pmax > 0.0 && red.pmax <= 1.0) {
            return Err(ProgramError::RedProbability { port: name(), priority, pmax: red.pmax });
        }
        if let Some(adaptive) = &red.adaptive {
            validate_adaptive_ecn(name(), priority, red, adaptive)?;
        }
    }
    Ok(())
}

fn validate_adaptive_ecn(
    port: String,
    priority: Priority,
    red: &Red,
    adaptive: &AdaptiveEcn,
) -> Result<(), ProgramError> {
    let (Red { kmin, kmax, .. }, AdaptiveEcn { kmin: least_kmin, kmax: least_kmax, .. }) = (*red, *adaptive);
    if least_kmin >= least_kmax || least_kmin > kmin || least_kmax > kmax {
        return Err(ProgramError::AdaptiveEcnOrder { port, priority, kmin, kmax, least_kmin, least_kmax });
    }
    let (given, range) = (adaptive.interval, AdaptiveEcn::INTERVALS);
    if !range.contains(&given) {
        let (least, most) = (*range.start(), *range.end());
        return Err(ProgramError::AdaptiveEcnInterval { port, priority, given, least, most });
    }
    if adaptive.incast < 2 {
        return Err(ProgramError::AdaptiveEcnIncast { port, priority, incast: adaptive.incast });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
