//! The ports and priorities that a request names.

use telemetry::NoSuchPort;
use units::{PortId, Priority};

use crate::socket::Response;

/// The port called `name`, one of `names`, which are in the order of their numbers.
///
/// # Errors
/// The refusal, if there is none.
pub fn port<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Result<PortId, Response> {
    let names: Vec<_> = names.into_iter().collect();
    match (0..).map(PortId).zip(&names).find(|(_, known)| **known == name) {
        Some((port, _)) => Ok(port),
        None => {
            let ports = names.into_iter().map(str::to_owned).collect();
            Err(Response::InvalidRequest(NoSuchPort { name: name.into(), ports }.to_string()))
        }
    }
}

/// The priority with this number.
///
/// # Errors
/// The refusal, if there is none.
pub fn priority(number: u8) -> Result<Priority, Response> {
    Priority::new(number).map_err(|_| Response::InvalidRequest(format!("there is no priority {number}")))
}
