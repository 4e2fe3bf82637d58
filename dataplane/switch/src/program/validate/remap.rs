//! The checks of the remap of frames that bounce.

use crate::program::{
    ForwardingSettings, PortError, PortSettings, ProgramError, RemapError, Settings, Trust,
};

pub(super) fn validate(settings: &Settings) -> Result<(), ProgramError> {
    for port in settings.ports.iter().filter(|port| !port.remap.is_empty()) {
        let named =
            |error: RemapError| ProgramError::Port { port: port.name.clone(), error: PortError::from(error) };
        if let ForwardingSettings::Bridge(_) = settings.forwarding {
            return Err(named(RemapError::Bridge));
        }
        validate_port(port).map_err(named)?;
        let bounces = |to: &&PortSettings| matches!((port.orientation, to.orientation), (Some(from), Some(to)) if from.bounces(to));
        for to in settings.ports.iter().filter(bounces) {
            validate_pair(port, to).map_err(named)?;
        }
    }
    Ok(())
}

fn validate_port(port: &PortSettings) -> Result<(), RemapError> {
    if port.orientation.is_none() {
        return Err(RemapError::Unoriented);
    }
    for (priority, isolated) in port.remap.iter() {
        if !port.lossless().contains(priority) {
            return Err(RemapError::Lossy { priority });
        }
        if port.remap.returns_to(priority) {
            return Err(RemapError::Ring { priority });
        }
        if port.classification.default == priority {
            return Err(RemapError::Default { priority });
        }
        let class = &port.classification;
        if class.trust == Trust::Dscp && class.dscp_of(isolated).is_none() {
            return Err(RemapError::NoCode { priority: isolated, field: "DSCP" });
        }
        if class.pcp_of(isolated).is_none() {
            return Err(RemapError::NoCode { priority: isolated, field: "PCP" });
        }
    }
    Ok(())
}

fn validate_pair(from: &PortSettings, to: &PortSettings) -> Result<(), RemapError> {
    let other = || to.name.clone();
    if from.classification != to.classification {
        return Err(RemapError::Classification { other: other() });
    }
    for (_, priority) in from.remap.iter() {
        if from.lossless().contains(priority) != to.lossless().contains(priority) {
            return Err(RemapError::Isolated { other: other(), priority });
        }
    }
    Ok(())
}
