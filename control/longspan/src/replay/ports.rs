//! Ports by name.

use crate::failure::Failure;
use config::Gateway;
use units::PortId;

/// The port called `name`.
///
/// # Errors
/// [`Failure::Usage`] with the names of all ports if there is none.
pub fn port_called(gateway: &Gateway, name: &str) -> Result<PortId, Failure> {
    gateway.port(name).ok_or_else(|| {
        let valid: Vec<_> = gateway.port_names().collect();
        let gateway = &gateway.name;
        Failure::usage(format!(
            "gateway \"{gateway}\" has no port \"{name}\"; its ports are {}",
            valid.join(", ")
        ))
    })
}
