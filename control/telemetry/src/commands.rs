//! The commands of a DPDK telemetry socket that answer from a snapshot.
//!
//! They follow from the snapshot itself (`docs/show.md`), so each of its keys is a command, with the same name and meaning.

use crate::show::NoSuchPort;
use crate::snapshot::Snapshot;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use thiserror::Error;

/// The beginning of all names of these commands. Others are DPDK's own.
pub const PREFIX: &str = "/longspan/";
/// The command that lists the ports.
const PORTS: &str = "ports";
/// The command that returns all of a port.
const PORT: &str = "port";
/// The beginning of the commands that return one key of a port or of all ports.
const OF_PORT: &str = "port/";

/// A command as a client sends it: `NAME` or `NAME,PARAMETERS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// Its name, which begins with a slash if the client knows the protocol.
    pub name: &'a str,
    /// Its parameters; `None` if they are missing or empty.
    pub parameters: Option<&'a str>,
}

/// Why a command has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// There is no such command.
    #[error("the gateway has no command \"{0}\"; / lists all commands")]
    Unknown(String),
    /// The command needs the name of a port.
    #[error("{0} needs the name of a port, as in {0},NAME")]
    NeedsPort(String),
    /// The command takes no parameters.
    #[error("{0} takes no parameters")]
    TakesNone(String),
    /// There is no such port.
    #[error("{0}")]
    NoSuchPort(#[from] NoSuchPort),
    /// The port has none of this, because it does not run there.
    #[error("port {port} has no \"{key}\"")]
    NotThere {
        /// The port.
        port: String,
        /// The key.
        key: String,
    },
}

impl<'a> Command<'a> {
    /// Splits a message as DPDK does: at the first comma.
    pub fn parse(message: &'a str) -> Self {
        let (name, parameters) = message.split_once(',').unwrap_or((message, ""));
        Self { name, parameters: Some(parameters).filter(|it| !it.is_empty()) }
    }

    /// The answer of the gateway whose state is `snapshot`.
    ///
    /// # Errors
    /// [`CommandError`] where the command or its parameters have no meaning for this gateway.
    pub fn answer(&self, snapshot: &Snapshot) -> Result<Value, CommandError> {
        let unknown = || CommandError::Unknown(self.name.to_owned());
        let path = self.name.strip_prefix(PREFIX).ok_or_else(unknown)?;
        if let Some(key) = path.strip_prefix(OF_PORT) {
            return self.of_ports(key, snapshot).ok_or_else(unknown)?;
        }
        match path {
            PORT => self.port(snapshot),
            PORTS => self.alone(names(snapshot).map(Value::from).collect()),
            key => self.alone(tree(snapshot).remove(key).ok_or_else(unknown)?),
        }
    }

    /// `answer`, if there are no parameters.
    fn alone(&self, answer: Value) -> Result<Value, CommandError> {
        match self.parameters {
            Some(_) => Err(CommandError::TakesNone(self.name.to_owned())),
            None => Ok(answer),
        }
    }

    /// All of the port that the parameters name.
    fn port(&self, snapshot: &Snapshot) -> Result<Value, CommandError> {
        let name = self.parameters.ok_or_else(|| CommandError::NeedsPort(self.name.to_owned()))?;
        let port = ports(snapshot).find(|(its, _)| *its == name);
        port.map(|(_, port)| Value::Object(port)).ok_or_else(|| NoSuchPort::of(name, snapshot).into())
    }

    /// `key` of the port that the parameters name, or of each port that has it; `None` if no port has.
    fn of_ports(&self, key: &str, snapshot: &Snapshot) -> Option<Result<Value, CommandError>> {
        let values =
            ports(snapshot).filter_map(|(name, mut port)| Some((name.to_owned(), port.remove(key)?)));
        let mut values: Map<_, _> = values.filter(|(_, value)| !value.is_null()).collect();
        if values.is_empty() {
            return None;
        }
        let Some(wanted) = self.parameters else { return Some(Ok(values.into())) };
        Some(values.remove(wanted).ok_or_else(|| match names(snapshot).any(|name| name == wanted) {
            true => CommandError::NotThere { port: wanted.to_owned(), key: key.to_owned() },
            false => NoSuchPort::of(wanted, snapshot).into(),
        }))
    }
}

/// The names of all commands for `snapshot`, in order. A key that no port has is left out.
pub fn commands(snapshot: &Snapshot) -> BTreeSet<String> {
    let of_gateway = tree(snapshot).into_iter().map(|(key, _)| key);
    let of_ports = ports(snapshot).flat_map(|(_, port)| port);
    let of_ports = of_ports.filter(|(_, value)| !value.is_null()).map(|(key, _)| format!("{OF_PORT}{key}"));
    let paths = of_gateway.chain(of_ports).chain([PORT.to_owned()]);
    paths.map(|path| format!("{PREFIX}{path}")).collect()
}

/// The explanation of the command called `name`; `None` if its name is not that of one of these commands.
pub fn help(name: &str) -> Option<String> {
    let path = name.strip_prefix(PREFIX)?;
    Some(match (path.strip_prefix(OF_PORT), path) {
        (Some(key), _) => {
            format!(
                "Returns \"{key}\" of each port of `longspan show --json`, or of one. Parameters: string port"
            )
        }
        (None, PORTS) => "Returns the names of the ports. No parameters".to_owned(),
        (None, PORT) => "Returns a port of `longspan show --json`. Parameters: string port".to_owned(),
        (None, key) => format!("Returns \"{key}\" of `longspan show --json`. No parameters"),
    })
}

/// The keys of the snapshot that have a value.
fn tree(snapshot: &Snapshot) -> Map<String, Value> {
    let mut keys = object(serde_json::to_value(snapshot));
    keys.retain(|_, value| !value.is_null());
    keys
}

/// The names and the keys of the ports.
fn ports(snapshot: &Snapshot) -> impl Iterator<Item = (&str, Map<String, Value>)> {
    names(snapshot).zip(snapshot.ports.iter().map(|port| object(serde_json::to_value(port))))
}

fn names(snapshot: &Snapshot) -> impl Iterator<Item = &str> {
    snapshot.ports.iter().map(|it| it.port.name.as_str())
}

fn object(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value.expect("a snapshot has keys of text only") {
        Value::Object(members) => members,
        other => unreachable!("a snapshot and a port are objects, and not {other}"),
    }
}
