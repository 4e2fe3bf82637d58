//! The command line's side of the control socket.

use super::{Request, Response};
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum wait for a gateway.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a request to a gateway failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no socket, or no listener.
    #[error("{}: cannot connect to the gateway: {source}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The gateway hung up, or took too long.
    #[error("{}: the gateway did not answer: {source}", path.display())]
    Exchange {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The gateway has no answer yet and may still carry out the request.
    #[error("{}: {why}; it may still carry out the request", path.display())]
    Pending {
        /// The socket.
        path: PathBuf,
        /// The gateway's message.
        why: String,
    },
    /// The gateway's answer cannot be parsed: it may run another version.
    #[error("{}: cannot parse the answer of the gateway, which may run another version of Longspan: {source}", path.display())]
    Answer {
        /// The socket.
        path: PathBuf,
        /// The parse error.
        source: serde_json::Error,
    },
    /// No gateway was named, and there is not exactly one.
    #[error("{}: found {}; choose a gateway with --socket or --config", directory.display(), found(.sockets))]
    Which {
        /// The searched directory.
        directory: PathBuf,
        /// The sockets found.
        sockets: Vec<String>,
    },
}

fn found(sockets: &[String]) -> String {
    if sockets.is_empty() { "no control socket".into() } else { sockets.join(", ") }
}

/// Sends a request to the gateway that listens at `path`.
///
/// # Errors
/// [`ClientError`] where it does not answer, has no answer yet, or answers in no way that this version knows.
pub fn ask(path: &Path, request: Request) -> Result<Response, ClientError> {
    let connect = |source| ClientError::Connect { path: path.into(), source };
    let exchange = |source| ClientError::Exchange { path: path.into(), source };
    let mut stream = UnixStream::connect(path).map_err(connect)?;
    let mut answer = String::new();
    let request = serde_json::to_string(&request).expect("a request is an enum without content");
    stream.set_read_timeout(Some(PATIENCE)).map_err(exchange)?;
    let asked = writeln!(stream, "{request}").and_then(|()| stream.shutdown(Shutdown::Write));
    let answered = stream.read_to_string(&mut answer);
    // A busy gateway may have answered and hung up before it got the request.
    if !answer.ends_with('\n') {
        answered.and(asked).map_err(exchange)?;
        return Err(exchange(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "it closed the connection, probably because it is stopping",
        )));
    }
    match serde_json::from_str(&answer) {
        Ok(Response::Pending(why)) => Err(ClientError::Pending { path: path.into(), why }),
        Ok(response) => Ok(response),
        Err(source) => Err(ClientError::Answer { path: path.into(), source }),
    }
}

/// The only socket in `directory`.
///
/// # Errors
/// [`ClientError::Which`] where there is none, or several.
pub fn find(directory: &Path) -> Result<PathBuf, ClientError> {
    // A missing directory has no sockets.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut sockets: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "sock"))
        .collect();
    sockets.sort();
    match sockets.as_slice() {
        [socket] => Ok(socket.clone()),
        _ => {
            let names =
                sockets.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
            Err(ClientError::Which { directory: directory.into(), sockets: names.collect() })
        }
    }
}
