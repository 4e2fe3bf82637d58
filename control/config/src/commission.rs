//! The file of a gateway, as it is while one of its ports is commissioned.

use std::path::Path;

use switch::program::PortSettings;
use toml::{Table, Value};
use units::{Bytes, Distance, Interval, PortId, Priority};
use wire::ip::Dscp;
use wire::rate_feedback::Key;

use crate::file::read_text;
use crate::flow_control;
use crate::gateway::Gateway;
use crate::link_key;
use crate::load::{gateway, load};
use crate::problem::ConfigError;

/// The port in the place of all other ports.
const TEST_PORT: &str = "commission";

/// Frames for which a group of the test port has headroom: the test device stops within a burst.
const BURSTS: u64 = 64;

/// The shortest time between two measurements of the delay.
const OFTEN: Interval = Interval::from_millis(20);

/// Why a port cannot be commissioned.
#[derive(Debug, thiserror::Error)]
pub enum CommissionError {
    /// The file, or what would remain of it, is not valid.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// There is no such port, it has no device, or the file with the key is of no use.
    #[error("{0}")]
    Refused(String),
}

/// The gateway in the file at `path`, of which only `port` remains, as port 0. Port 1, named `commission`, is patched to
/// it, without a device. The port measures its delay, and one worker serves both ports.
///
/// # Errors
/// [`CommissionError`]; the file itself must be valid too.
pub fn for_commission(path: &Path, port: &str) -> Result<Gateway, CommissionError> {
    let whole = load(path)?;
    let Some(number) = whole.port(port) else {
        let names = whole.port_names().collect::<Vec<_>>().join(", ");
        return Err(CommissionError::Refused(format!("there is no port \"{port}\"; there are {names}")));
    };
    if whole.runtime.devices[number.index()].is_none() {
        return Err(CommissionError::Refused(format!("port {port} has no device ([port.device])")));
    }
    let unreadable = |source| ConfigError::Unreadable { path: path.into(), source };
    let text = alone(&read_text(path).map_err(unreadable)?, &whole, number);
    Ok(gateway(&text, &path.display().to_string(), path.parent())?)
}

/// The key in the file at `path`.
///
/// # Errors
/// [`CommissionError::Refused`].
pub fn commission_key(path: &Path) -> Result<Key, CommissionError> {
    link_key::read_file(path).map_err(|kind| CommissionError::Refused(format!("--key-file: {kind}")))
}

/// What remains of the document in `text`, which describes `whole`.
fn alone(text: &str, whole: &Gateway, number: PortId) -> String {
    let settings = whole.program.port(number);
    let mut document: Table = text.parse().unwrap_or_default();
    document.remove("bundle");
    let ports = document.remove("port").and_then(|ports| ports.try_into::<Vec<Table>>().ok());
    let is_it = |port: &Table| port.get("name").and_then(Value::as_str) == Some(&settings.name);
    let mut link = ports.into_iter().flatten().find(is_it).unwrap_or_default();
    // An exchange is to end before the next one begins, even if the link is longer than the file says.
    let delay = whole.links[number.index()].distance.map(Distance::propagation).unwrap_or_default();
    let interval = (delay * 4).max(OFTEN).to_string();
    let measured = [("measure", true.into()), ("interval", interval.into()), ("apply", false.into())];
    link.insert("link_delay".into(), table(measured).into());
    flow_control::forget_other_ports(&mut link);
    document.insert("port".into(), vec![Value::from(link), test_port(settings).into()].into());
    let pairs: Value = vec![vec![settings.name.as_str(), TEST_PORT]].into();
    document.insert("forwarding".into(), table([("mode", "patch".into()), ("pairs", pairs)]).into());
    if let Some(dpdk) = document.get_mut("dpdk").and_then(Value::as_table_mut) {
        dpdk.remove("lanes");
    }
    document.to_string()
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The port that takes what `link` brings: alike in rate, lengths and classes.
fn test_port(link: &PortSettings) -> Table {
    let number = |priority: Priority| Value::from(priority.index() as i64);
    let classes = (0..64).map(|code| {
        let priority = link.classification.priority(Some(Dscp::from_low_bits(code)), None);
        (code.to_string(), number(priority))
    });
    let classes =
        [("trust", "dscp".into()), ("default", 0.into()), ("dscp", Value::Table(classes.collect()))];
    let lossless: Vec<Value> =
        Priority::all().filter(|it| link.groups[it.index()].lossless().is_some()).map(number).collect();
    let headroom = Bytes(BURSTS * link.max_frame.0).to_string();
    let group = [("priorities", lossless.clone().into()), ("headroom", headroom.into())];
    let groups = if lossless.is_empty() { Vec::new() } else { vec![Value::from(table(group))] };
    table([
        ("name", TEST_PORT.into()),
        ("rate", link.rate.to_string().into()),
        ("max_frame", link.max_frame.to_string().into()),
        ("distance", "0m".into()),
        ("classify", table(classes).into()),
        ("lossless", groups.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_gateway_there_remain_the_port_as_it_is_and_a_test_port_of_its_classes() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/gateways");
        let files = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
        let names = files.map(|file| file.to_string_lossy().into_owned());
        let is_tried = |it: &String| {
            it.starts_with("longhaul-")
                || ["bundle.toml", "route-ecmp.toml", "wire-memif-near.toml"].contains(&&**it)
        };
        for file in names.filter(is_tried) {
            let path = directory.join(&file);
            let whole = load(&path).unwrap();
            let number = whole.port("lh0").unwrap();
            let text = alone(&read_text(&path).unwrap(), &whole, number);
            let gateway = gateway(&text, &file, Some(&directory)).unwrap_or_else(|error| panic!("{error}"));
            let mut before = whole.program.port(number).clone();
            let [link, test] = [0, 1].map(|port| gateway.program.port(PortId(port)).clone());
            assert_eq!((link.name.as_str(), test.name.as_str()), ("lh0", TEST_PORT), "{file}");
            (before.link_delay, before.bundle, before.mac) = (link.link_delay, None, link.mac);
            // It may name another port, whose number is another now.
            let [now, then] = [&link, &before].map(|port| core::mem::discriminant(&port.flow_control));
            assert_eq!(now, then, "{file}");
            before.flow_control.clone_from(&link.flow_control);
            assert_eq!(link, before, "{file}");
            let classes = |port: &PortSettings| {
                port.groups.iter().map(|it| it.lossless().is_some()).collect::<Vec<_>>()
            };
            assert_eq!(classes(&test), classes(&link), "{file}");
            assert_eq!((test.rate, test.max_frame), (link.rate, link.max_frame), "{file}");
        }
    }

    #[test]
    fn a_port_that_is_not_there_and_one_without_a_device_are_refused_by_name() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/gateways");
        let refused =
            |file: &str, port: &str| for_commission(&path.join(file), port).unwrap_err().to_string();
        assert_eq!(
            refused("wire-memif-near.toml", "lh9"),
            "there is no port \"lh9\"; there are dc0, dc1, lh0"
        );
        assert_eq!(refused("longhaul-80km.toml", "lh0"), "port lh0 has no device ([port.device])");
    }
}
