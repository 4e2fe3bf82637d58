//! The ports and priorities that a request names.

use units::{PortId, Priority};

use crate::socket::Response;

/// The port called `name`, one of `names`, which are in the order of their numbers.
///
/// # Errors
/// The refusal, if there is none.
pub fn port<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Result<PortId, Response> {
    let found = (0..).map(PortId).zip(names).find(|(_, known)| *known == name);
    found.map(|(port, _)| port).ok_or_else(|| Response::InvalidRequest(format!("there is no port {name}")))
}

/// The priority with this number.
///
/// # Errors
/// The refusal, if there is none.
pub fn priority(number: u8) -> Result<Priority, Response> {
    Priority::new(number).map_err(|_| Response::InvalidRequest(format!("there is no priority {number}")))
}
