//! The checks of [`super::Program::new`]: structure and order. Physics (such as headroom for the distance) is
//! checked in the configuration, where distances are known.

mod remap;

use super::{
    BufferSettings, GroupError, LosslessGroup, PortError, PortSettings, ProgramError, QueueError,
    QueueSettings, Scheduling, Settings, Threshold, Watchdog,
};
use crate::congestion::{self, NotifiersError, lscc};
use crate::flow_control::{self, FlowControlError};
use crate::link_agent::LinkAgent;
use crate::link_delay::LinkDelay;
use crate::repair::RepairError;
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
    let of_port = |port: &str, error| ProgramError::Port { port: port.into(), error };
    let others: Vec<_> = settings.ports.iter().map(|port| port.flow_control.listens_to()).collect();
    flow_control::validate_together(&others).map_err(|(port, error)| {
        let error: FlowControlError = error.into();
        of_port(&settings.ports[port.index()].name, error.into())
    })?;
    settings.forwarding.validate(&settings.ports)?;
    settings.validate_bundles()?;
    remap::validate(settings)?;
    let notifiers = settings.ports.iter().map(|port| (&*port.name, &port.notifiers));
    congestion::validate_together(notifiers).map_err(|(port, error)| of_port(port, error.into()))?;
    Ok(lscc::validate_together(settings)?)
}

fn validate_buffer(buffer: &BufferSettings) -> Result<(), ProgramError> {
    if buffer.egress_lossy > buffer.shared {
        let BufferSettings { egress_lossy, shared, .. } = *buffer;
        return Err(ProgramError::LossyAboveShared { egress_lossy, shared });
    }
    Ok(())
}

fn validate_port(port: &PortSettings, buffer: &BufferSettings) -> Result<(), ProgramError> {
    let of_port = |error| ProgramError::Port { port: port.name.clone(), error };
    let of_group = |priority, error| ProgramError::Group { port: port.name.clone(), priority, error };
    let of_queue = |priority, error| ProgramError::Queue { port: port.name.clone(), priority, error };
    validate_link(port).map_err(of_port)?;
    if let Some(priority) = port.pfc.obey.difference(port.lossless()).highest() {
        return Err(of_group(priority, GroupError::ObeysLossy));
    }
    validate_schemes(port).map_err(of_port)?;
    for priority in Priority::all() {
        if let Some(group) = port.groups[priority.index()].lossless() {
            validate_group(group, buffer).map_err(|error| of_group(priority, error))?;
        }
    }
    validate_first_queues(port).map_err(of_port)?;
    let mut queues = port.queues.iter();
    queues.try_for_each(|it| validate_queue(it).map_err(|error| of_queue(it.priority, error)))
}

fn validate_link(port: &PortSettings) -> Result<(), PortError> {
    let (given, least, most) = (port.max_frame, Bytes(64), PortSettings::LARGEST_FRAME);
    if given < least || given > most {
        return Err(PortError::MaxFrame { given, least, most });
    }
    if port.mac.is_multicast() {
        return Err(PortError::GroupAddress);
    }
    let tells = port.int || port.notifiers.lscc.is_some_and(|lscc| lscc.limiting.direct_int.is_some());
    if tells && LinkRate::of(port.rate).is_none() {
        return Err(PortError::TelemetryRate { rate: port.rate });
    }
    if port.pfc.pause == PauseQuanta::ZERO { Err(PortError::ZeroPause) } else { Ok(()) }
}

fn validate_schemes(port: &PortSettings) -> Result<(), PortError> {
    port.flow_control.validate(port.rate, port.max_frame, port.lossless())?;
    port.notifiers.validate(port.rate, port.lossless())?;
    port.slow.map_or(Ok(()), |slow| slow.validate(port)).map_err(NotifiersError::from)?;
    if let Some(watchdog) = &port.watchdog {
        validate_watchdog(watchdog)?;
    }
    validate_repair(port)?;
    if let Some(given) = port.link_delay.and_then(|it| it.interval)
        && !LinkDelay::INTERVALS.contains(&given)
    {
        let (least, most) = (*LinkDelay::INTERVALS.start(), *LinkDelay::INTERVALS.end());
        return Err(PortError::LinkDelayInterval { given, least, most });
    }
    if let Some(given) = port.link_agent.as_ref().map(|it| it.interval)
        && !LinkAgent::INTERVALS.contains(&given)
    {
        let (least, most) = (*LinkAgent::INTERVALS.start(), *LinkAgent::INTERVALS.end());
        return Err(PortError::LinkAgentInterval { given, least, most });
    }
    Ok(())
}

fn validate_repair(port: &PortSettings) -> Result<(), RepairError> {
    let Some(repair) = &port.repair else { return Ok(()) };
    if !port.flow_control.bounds_repair() {
        return Err(RepairError::FlowControl);
    }
    if port.bundle.is_some() {
        return Err(RepairError::Bundle);
    }
    repair.validate(port.lossless())
}

fn validate_watchdog(watchdog: &Watchdog) -> Result<(), PortError> {
    let times = [
        ("detection", watchdog.detection, Watchdog::DETECTION),
        ("restoration", watchdog.restoration, Watchdog::RESTORATION),
    ];
    match times.into_iter().find(|(_, given, range)| !range.contains(given)) {
        Some((what, given, range)) => {
            Err(PortError::WatchdogTime { what, given, least: *range.start(), most: *range.end() })
        }
        None => Ok(()),
    }
}

fn validate_group(group: &LosslessGroup, buffer: &BufferSettings) -> Result<(), GroupError> {
    let LosslessGroup { reserved, xon, headroom, .. } = *group;
    if let Threshold::Static(xoff) = group.xoff {
        if xoff <= reserved {
            return Err(GroupError::XoffWithinReserved { xoff, reserved });
        }
        if xon > xoff {
            return Err(GroupError::XonAboveXoff { xon, xoff });
        }
        if xoff - reserved > buffer.shared {
            return Err(GroupError::XoffAbovePool { xoff, shared: buffer.shared });
        }
    }
    let pool = buffer.headroom;
    if headroom > pool { Err(GroupError::HeadroomAbovePool { headroom, pool }) } else { Ok(()) }
}

fn validate_first_queues(port: &PortSettings) -> Result<(), PortError> {
    let (count, least, most) = (port.queues.len(), Priority::COUNT, QueueSet::CAPACITY);
    if count < least || count > most {
        return Err(PortError::QueueCount { count, least, most });
    }
    match Priority::all().zip(&port.queues).find(|(expected, queue)| queue.priority != *expected) {
        Some((expected, &QueueSettings { priority, .. })) => {
            Err(PortError::FirstQueues { queue: QueueId::from(expected), priority })
        }
        None => Ok(()),
    }
}

fn validate_queue(queue: &QueueSettings) -> Result<(), QueueError> {
    if queue.scheduling == Scheduling::Weighted(0) {
        return Err(QueueError::ZeroWeight);
    }
    Ok(queue.red.map_or(Ok(()), |red| red.validate())?)
}

#[cfg(test)]
mod tests;
