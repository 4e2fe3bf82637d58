//! The links that fail while captures are played.

use super::ports::port_called;
use crate::cli::replay::PortFault;
use crate::failure::Failure;
use config::Gateway;
use replay::LinkFault;

/// The faults that were asked for.
///
/// # Errors
/// [`Failure::Usage`] if a port does not exist or belongs to no bundle, or if two faults of a port overlap.
pub fn of_links(asked: &[PortFault], gateway: &Gateway) -> Result<Vec<LinkFault>, Failure> {
    let mut faults: Vec<LinkFault> = Vec::new();
    for PortFault { port: name, times } in asked {
        let port = port_called(gateway, name)?;
        if gateway.program.port(port).bundle.is_none() {
            return Err(Failure::usage(format!(
                "--fault names port {name}, which belongs to no bundle; without one, no port asks for the carrier of its link"
            )));
        }
        let fault = LinkFault { port, from: times.start, to: times.end };
        if faults.iter().any(|it| it.port == port && it.from <= fault.to && fault.from <= it.to) {
            return Err(Failure::usage(format!(
                "two --fault of port {name} overlap or touch; make them one"
            )));
        }
        faults.push(fault);
    }
    Ok(faults)
}
