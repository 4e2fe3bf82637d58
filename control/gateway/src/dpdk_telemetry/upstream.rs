//! DPDK's own telemetry socket, which answers DPDK's commands.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustix::fs::FileType;
use serde_json::Value;

use crate::ownership::Own;

use super::messages::{Messages, Waits, connect_to};

/// The suffix that DPDK adds to the name of its socket if the first name is taken.
pub const SUFFIX: &str = ":1";
/// The time limits of DPDK. A device may answer slowly.
pub const WAITS: Waits = Waits { receive: Duration::from_secs(4), send: Duration::from_secs(2) };
/// The longest answer, and greeting: `MAX_OUTPUT_LEN` of DPDK 22.11 is 16 KiB.
const ANSWER_BYTES: usize = 64 << 10;

/// DPDK's socket. Nothing of it is kept between two commands. Clones refer to the same one.
#[derive(Clone, Debug)]
pub struct Upstream {
    path: PathBuf,
    /// The time limits of DPDK.
    waits: Waits,
    gate: Arc<Gate>,
}

/// Whether commands pass.
#[derive(Debug, Default)]
struct Gate {
    open: AtomicBool,
    /// Each command that has passed reads it until it has its answer.
    passing: RwLock<()>,
}

/// Lets commands pass to DPDK until it is dropped. The drop waits for those that have passed, each for as long as the
/// time limits of DPDK allow.
#[derive(Debug)]
#[must_use]
pub struct Passage(Arc<Gate>);

/// Why DPDK has no answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// Nothing passes now.
    #[error("DPDK is asked only while the gateway forwards")]
    Closed,
    /// It does not listen, hangs up or takes too long.
    #[error("DPDK's own telemetry does not answer: {0}")]
    Silent(#[from] io::Error),
    /// The socket is that of another process.
    #[error("DPDK's own telemetry does not run in this process")]
    Foreign,
}

impl Upstream {
    /// DPDK's socket at `path`, which has the time limits `waits`. No command passes yet.
    pub fn new(path: PathBuf, waits: Waits) -> Self {
        Self { path, waits, gate: Arc::default() }
    }

    /// Lets commands pass. DPDK's handlers for devices take no lock, and crash if their device closes meanwhile.
    pub fn pass(&self) -> Passage {
        self.gate.open.store(true, Ordering::SeqCst);
        Passage(Arc::clone(&self.gate))
    }

    /// DPDK's answer to `message`, as it is.
    ///
    /// # Errors
    /// [`UpstreamError`] where there is none.
    pub fn ask(&self, message: &[u8]) -> Result<Vec<u8>, UpstreamError> {
        let _passing = self.gate.passing.try_read().map_err(|_| UpstreamError::Closed)?;
        // Under the lock, which the passage takes once this is no longer true.
        if !self.gate.open.load(Ordering::SeqCst) {
            return Err(UpstreamError::Closed);
        }
        let socket = self.connect()?;
        let messages = Messages::new(&socket, self.waits)?;
        messages.send(message)?;
        Ok(next(&messages)?)
    }

    /// Gives the file, if there is one, to the user that the process switches to, who can then connect to it.
    ///
    /// # Errors
    /// The error of the system.
    pub fn hand_over(&self, uid: u32, gid: u32) -> io::Result<()> {
        match Own::open(&self.path, FileType::Socket) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            file => file?.give(Some(uid), Some(gid)),
        }
    }

    /// Removes the file, unless it is that of another process.
    pub fn remove(&self) -> io::Result<()> {
        if self.connect().is_ok() { fs::remove_file(&self.path) } else { Ok(()) }
    }

    /// A connection to DPDK, which has greeted.
    fn connect(&self) -> Result<OwnedFd, UpstreamError> {
        let socket = connect_to(&self.path, self.waits)?;
        let greeting = next(&Messages::new(&socket, self.waits)?)?;
        if is_ours(&greeting) { Ok(socket) } else { Err(UpstreamError::Foreign) }
    }

    /// The entries, as texts, that DPDK's command called `list` lists.
    ///
    /// # Errors
    /// [`UpstreamError`] where there is no answer.
    pub fn listed(&self, list: &str) -> Result<Vec<String>, UpstreamError> {
        let answer: Value = serde_json::from_slice(&self.ask(list.as_bytes())?).unwrap_or_default();
        let text = |entry: &Value| entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
        Ok(answer[list].as_array().into_iter().flatten().map(text).collect())
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        self.0.open.store(false, Ordering::SeqCst);
        drop(self.0.passing.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The next message, which must come.
fn next(messages: &Messages<'_>) -> io::Result<Vec<u8>> {
    messages.receive(ANSWER_BYTES)?.ok_or(io::ErrorKind::UnexpectedEof.into())
}

/// Whether a greeting comes from this process.
fn is_ours(greeting: &[u8]) -> bool {
    serde_json::from_slice::<Value>(greeting).is_ok_and(|it| it["pid"] == std::process::id())
}
