//! The commands of a DPDK telemetry socket that answer from a snapshot.
//!
//! They follow from the snapshot itself (`docs/show.md`), so each of its keys is a command, with the same name and meaning.

use crate::show::NoSuchPort;
use crate::snapshot::{Snapshot, WorkerReport};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use thiserror::Error;

/// The beginning of all names of these commands. Others are DPDK's own.
pub const PREFIX: &str = "/longspan/";
/// The command that lists the ports.
const PORTS: &str = "ports";

/// Parts of a gateway that have commands of their own: one returns all of a part, and one for each key returns that of a part
/// or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A port, by its name.
    Port,
    /// A worker, by the number of its core.
    Worker,
}

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
    /// The command needs the core of a worker.
    #[error("{0} needs the core of a worker, as in {0},CORE")]
    NeedsCore(String),
    /// The command takes no parameters.
    #[error("{0} takes no parameters")]
    TakesNone(String),
    /// There is no such port.
    #[error("{0}")]
    NoSuchPort(#[from] NoSuchPort),
    /// There is no worker on this core.
    #[error("the gateway has no worker on core \"{core}\"; its cores are {}", .cores.join(", "))]
    NoSuchCore {
        /// The requested core.
        core: String,
        /// The cores of its workers.
        cores: Vec<String>,
    },
    /// The port or the worker has none of this, because it does not run there.
    #[error("{part} has no \"{key}\"")]
    NotThere {
        /// The port or the worker.
        part: String,
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
        if let Some((kind, key)) = Kind::of(path) {
            return match key {
                None => self.whole(kind, snapshot),
                Some(key) => self.key(kind, key, snapshot).ok_or_else(unknown)?,
            };
        }
        match path {
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

    /// All of the part that the parameters name.
    fn whole(&self, kind: Kind, snapshot: &Snapshot) -> Result<Value, CommandError> {
        let name = self.parameters.ok_or_else(|| kind.needed(self.name))?;
        let part = kind.parts(snapshot).into_iter().find(|(its, _)| its == name);
        part.map(|(_, part)| Value::Object(part)).ok_or_else(|| kind.missing(name, snapshot))
    }

    /// `key` of the part that the parameters name, or of each part that has it; `None` if no part has.
    fn key(&self, kind: Kind, key: &str, snapshot: &Snapshot) -> Option<Result<Value, CommandError>> {
        let parts = kind.parts(snapshot);
        let exists = |wanted: &str| parts.iter().any(|(name, _)| name == wanted);
        let value =
            |(name, part): &(String, Map<String, Value>)| Some((name.clone(), part.get(key)?.clone()));
        let mut values: Map<_, _> = parts.iter().filter_map(value).filter(|(_, it)| !it.is_null()).collect();
        if values.is_empty() {
            return None;
        }
        let Some(wanted) = self.parameters else { return Some(Ok(values.into())) };
        Some(values.remove(wanted).ok_or_else(|| match exists(wanted) {
            true => CommandError::NotThere { part: kind.name(wanted), key: key.to_owned() },
            false => kind.missing(wanted, snapshot),
        }))
    }
}

impl Kind {
    const ALL: [Self; 2] = [Self::Port, Self::Worker];

    /// The command that returns all of a part. With a slash and a key behind it, it returns that key.
    const fn command(self) -> &'static str {
        match self {
            Self::Port => "port",
            Self::Worker => "worker",
        }
    }

    /// The kind that a command with this path is for, and its key unless it is for all of a part.
    fn of(path: &str) -> Option<(Self, Option<&str>)> {
        Self::ALL.into_iter().find_map(|kind| match path.strip_prefix(kind.command())? {
            "" => Some((kind, None)),
            rest => Some((kind, Some(rest.strip_prefix('/')?))),
        })
    }

    /// The names of the parts, and their keys.
    fn parts(self, snapshot: &Snapshot) -> Vec<(String, Map<String, Value>)> {
        match self {
            Self::Port => {
                let keys = snapshot.ports.iter().map(|it| object(serde_json::to_value(it)));
                names(snapshot).map(str::to_owned).zip(keys).collect()
            }
            Self::Worker => {
                let part = |it: &WorkerReport| (it.core.to_string(), object(serde_json::to_value(it)));
                snapshot.workers.iter().map(part).collect()
            }
        }
    }

    /// The name of a part in an error.
    fn name(self, part: &str) -> String {
        match self {
            Self::Port => format!("port {part}"),
            Self::Worker => format!("the worker on core {part}"),
        }
    }

    /// The error of `command` without parameters.
    fn needed(self, command: &str) -> CommandError {
        match self {
            Self::Port => CommandError::NeedsPort(command.to_owned()),
            Self::Worker => CommandError::NeedsCore(command.to_owned()),
        }
    }

    /// The error of a `name` that no part has.
    fn missing(self, name: &str, snapshot: &Snapshot) -> CommandError {
        match self {
            Self::Port => NoSuchPort::of(name, snapshot).into(),
            Self::Worker => {
                let cores = snapshot.workers.iter().map(|it| it.core.to_string()).collect();
                CommandError::NoSuchCore { core: name.to_owned(), cores }
            }
        }
    }
}

/// The names of all commands for `snapshot`, in order. A key that no port or worker has is left out.
pub fn commands(snapshot: &Snapshot) -> BTreeSet<String> {
    let of_gateway = tree(snapshot).into_iter().map(|(key, _)| key);
    let of_kind = |kind: Kind| {
        let keys = kind.parts(snapshot).into_iter().flat_map(|(_, part)| part);
        let keys = keys.filter(|(_, value)| !value.is_null());
        keys.map(move |(key, _)| format!("{}/{key}", kind.command())).chain([kind.command().to_owned()])
    };
    let paths = of_gateway.chain(Kind::ALL.into_iter().flat_map(of_kind));
    paths.map(|path| format!("{PREFIX}{path}")).collect()
}

/// The explanation of the command called `name`; `None` if its name is not that of one of these commands.
pub fn help(name: &str) -> Option<String> {
    let path = name.strip_prefix(PREFIX)?;
    Some(match (Kind::of(path), path) {
        (Some((Kind::Port, None)), _) => {
            "Returns a port of `longspan show --json`. Parameters: string port".to_owned()
        }
        (Some((Kind::Worker, None)), _) => {
            "Returns the worker of a core of `longspan show --json`. Parameters: int core".to_owned()
        }
        (Some((Kind::Port, Some(key))), _) => {
            format!(
                "Returns \"{key}\" of each port of `longspan show --json`, or of one. Parameters: string port"
            )
        }
        (Some((Kind::Worker, Some(key))), _) => {
            format!(
                "Returns \"{key}\" of each worker of `longspan show --json`, or of one. Parameters: int core"
            )
        }
        (None, PORTS) => "Returns the names of the ports. No parameters".to_owned(),
        (None, key) => format!("Returns \"{key}\" of `longspan show --json`. No parameters"),
    })
}

/// The keys of the snapshot that have a value.
fn tree(snapshot: &Snapshot) -> Map<String, Value> {
    let mut keys = object(serde_json::to_value(snapshot));
    keys.retain(|_, value| !value.is_null());
    keys
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
