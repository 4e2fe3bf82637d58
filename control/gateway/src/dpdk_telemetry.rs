//! The gateway's figures on a DPDK telemetry socket, where `dpdk-telemetry.py` and collectors of DPDK look for them.
//!
//! The protocol is that of DPDK 22.11 (How-to guides, "DPDK Telemetry User Guide"; `lib/telemetry/telemetry.c`). The server
//! greets a client with a JSON object; the client sends a command, and gets a JSON object whose key is the command. The
//! socket has the name that DPDK would give to its own, which therefore gets the suffix `:1`. Those of DPDK's commands that are
//! safe go there, so that a client finds both at one place.
//!
//! Registering commands with DPDK's library would not do: its answers cannot nest, have 256 entries at most and no
//! fractions, and ten silent clients keep all others from its socket.

mod messages;
mod passed;
mod upstream;

use std::collections::BTreeSet;
use std::io;
use std::iter;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use telemetry::commands::{self, Command, CommandError};
use units::Bytes;

use crate::callers::{ANSWER, Caller, Door, Limits};
use crate::event::{Event, snapshot};
use crate::socket_file::{Access, SocketFile, SocketFileError};
use messages::{Messages, Waits};
use passed::{GENERAL, NotPassed, is_passed};
use upstream::{Passage, SUFFIX, Upstream};

/// The name of the socket.
const NAME: &str = "dpdk_telemetry.v2";
/// A client may be a person at a prompt, or a collector that asks now and then. The longest command is DPDK's.
const LIMITS: Limits =
    Limits { at_once: 8, patience: Duration::from_secs(600), request_bytes: 1_024, answer: ANSWER };
/// The time for a client to make room for an answer.
const UNREAD: Duration = Duration::from_secs(2);
/// The longest answer. A client learns it from the greeting.
const ANSWER_BYTES: usize = 256 << 10;

/// A listening socket. Dropping it removes its file and that of DPDK, if they still exist.
pub struct DpdkTelemetry {
    file: SocketFile,
    upstream: Upstream,
}

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Command(#[from] CommandError),
    #[error("{0}")]
    NotPassed(#[from] NotPassed),
    #[error("a command has UTF-8 and up to {} bytes", LIMITS.request_bytes)]
    NoCommand,
    #[error("the gateway did not answer in time")]
    Late,
    #[error(
        "the answer has {}, and {} at most are sent; ask for one port, one worker or one key",
        Bytes(*.0 as u64), Bytes(ANSWER_BYTES as u64)
    )]
    TooLong(usize),
}

impl DpdkTelemetry {
    /// Listens in `directory`, DPDK's own, with the access rights `access`. Asks the gateway through `events`. Call this
    /// before DPDK starts, which takes the name otherwise.
    ///
    /// # Errors
    /// [`SocketFileError`] where another process listens there, there is a file that is no socket, or the system refuses.
    pub fn start(directory: &Path, access: Access, events: Sender<Event>) -> Result<Self, SocketFileError> {
        Self::start_with(LIMITS, upstream::WAITS, directory, access, events)
    }

    fn start_with(
        limits: Limits,
        waits: Waits,
        directory: &Path,
        access: Access,
        events: Sender<Event>,
    ) -> Result<Self, SocketFileError> {
        let path = directory.join(NAME);
        let (listener, file) = SocketFile::make(&path, access, messages::listen_at)?;
        let upstream = Upstream::new(file.beside(&format!("{NAME}{SUFFIX}")), waits);
        let telemetry = Self { file, upstream: upstream.clone() };
        let desk = Desk { events, upstream, patience: limits.answer };
        let door = Door::new("DPDK telemetry", limits.at_once);
        let serve = move |caller: &Caller<OwnedFd>| converse(caller, &desk, limits);
        let arrivals = iter::repeat_with(move || messages::accept(&listener));
        // Like DPDK, it closes a connection beyond the limit without a word.
        let accept = move || door.receive(arrivals, serve, |_| ());
        let spawned = thread::Builder::new().name("dpdk-telemetry".into()).spawn(accept);
        spawned.map_err(|source| SocketFileError::Make { path, source })?;
        Ok(telemetry)
    }

    /// Passes commands on to DPDK until what is returned is dropped. Drop it before any device or pool of DPDK is freed.
    pub fn pass(&self) -> Passage {
        self.upstream.pass()
    }

    /// Gives its file and that of DPDK to the user that the process switches to.
    ///
    /// # Errors
    /// The error of the system.
    pub fn hand_over(&self, uid: u32, gid: u32) -> io::Result<()> {
        self.file.hand_over(uid, gid)?;
        self.upstream.hand_over(uid, gid)
    }
}

impl Drop for DpdkTelemetry {
    fn drop(&mut self) {
        // DPDK removes its file by name, and can't if the user of the gateway has changed.
        if let Err(error) = self.upstream.remove() {
            tracing::warn!("cannot remove DPDK's telemetry socket: {error}");
        }
        self.file.remove_or_warn();
    }
}

fn converse(caller: &Caller<OwnedFd>, desk: &Desk, limits: Limits) -> io::Result<()> {
    let waits = Waits { receive: limits.patience, send: UNREAD };
    let client = Messages::new(caller.stream(), waits)?;
    client.make_room(ANSWER_BYTES)?;
    client.send(about().to_string().as_bytes())?;
    loop {
        let answer = match client.receive(limits.request_bytes) {
            Ok(Some(message)) => caller.while_it_waits(|| desk.answer(&message))?,
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => reply("", Err(Refusal::NoCommand)),
            Err(error) => return Err(error),
        };
        client.send(&answer)?;
    }
}

/// The greeting, and the answer to `/info`.
fn about() -> Value {
    let version = concat!("Longspan ", env!("CARGO_PKG_VERSION"));
    json!({ "version": version, "pid": std::process::id(), "max_output_len": ANSWER_BYTES })
}

/// The text of an answer. DPDK's clients take null for a failure; ours adds the reason.
fn reply(name: &str, answer: Result<Value, Refusal>) -> Vec<u8> {
    let failed = |refusal: Refusal| json!({ name: null, "error": refusal.to_string() }).to_string();
    let text = answer.map_or_else(failed, |answer| json!({ name: answer }).to_string());
    let text = if text.len() > ANSWER_BYTES { failed(Refusal::TooLong(text.len())) } else { text };
    text.into_bytes()
}

/// Answers commands.
#[derive(Clone)]
struct Desk {
    events: Sender<Event>,
    upstream: Upstream,
    /// How long the gateway may take.
    patience: Duration,
}

impl Desk {
    fn answer(&self, message: &[u8]) -> Vec<u8> {
        let Ok(text) = str::from_utf8(message) else { return reply("", Err(Refusal::NoCommand)) };
        let command = Command::parse(text);
        let answer = match (command.name, command.parameters.and_then(commands::help)) {
            ("/", _) => self.list(),
            ("/info", _) => Ok(about()),
            ("/help", Some(help)) => self.help(command.parameters.unwrap_or_default(), &help),
            (name, _) if name.starts_with(commands::PREFIX) => self.figures(command),
            _ => match self.pass_on(command) {
                Ok(answer) => return answer,
                Err(error) => Err(error.into()),
            },
        };
        reply(command.name, answer)
    }

    /// DPDK's answer to its own command.
    fn pass_on(&self, command: Command<'_>) -> Result<Vec<u8>, NotPassed> {
        let message = passed::message(command, |list| self.upstream.listed(list))?;
        Ok(self.upstream.ask(message.as_bytes())?)
    }

    /// All commands, in order.
    fn list(&self) -> Result<Value, Refusal> {
        let snapshot = snapshot(&self.events, self.patience).ok_or(Refusal::Late)?;
        let general = GENERAL.map(str::to_owned);
        // Only what DPDK has, and nothing while it does not answer.
        let of_dpdk =
            self.upstream.listed("/").unwrap_or_default().into_iter().filter(|name| is_passed(name));
        let names = commands::commands(&snapshot).into_iter().chain(general).chain(of_dpdk);
        Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// `help` on the command called `name`, if there is one.
    fn help(&self, name: &str, help: &str) -> Result<Value, Refusal> {
        let snapshot = snapshot(&self.events, self.patience).ok_or(Refusal::Late)?;
        match commands::commands(&snapshot).contains(name) {
            true => Ok(json!({ name: help })),
            false => Err(CommandError::Unknown(name.to_owned()).into()),
        }
    }

    fn figures(&self, command: Command<'_>) -> Result<Value, Refusal> {
        let snapshot = snapshot(&self.events, self.patience).ok_or(Refusal::Late)?;
        Ok(command.answer(&snapshot)?)
    }
}

#[cfg(test)]
pub(crate) mod tests;
