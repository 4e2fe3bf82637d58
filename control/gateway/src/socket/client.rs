//! The command line's side of the control socket.

use super::{Request, Response};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
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
    let request = serde_json::to_string(&request).expect("a request has keys of text only");
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

/// The lines of a stream.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    stream: BufReader<UnixStream>,
}

/// Sends a request whose answer is a stream to the gateway that listens at `path`. Returns the first line, and what follows.
///
/// # Errors
/// As [`ask`].
pub fn listen(path: &Path, request: &Request) -> Result<(Response, Lines), ClientError> {
    let exchange = |source| ClientError::Exchange { path: path.into(), source };
    let stream =
        UnixStream::connect(path).map_err(|source| ClientError::Connect { path: path.into(), source })?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(exchange)?;
    let request = serde_json::to_string(request).expect("a request has keys of text only");
    writeln!(&stream, "{request}").map_err(exchange)?;
    let mut lines = Lines { path: path.into(), stream: BufReader::new(stream) };
    let first = lines.next_line()?.unwrap_or_default();
    match serde_json::from_str(&first) {
        Ok(Response::Pending(why)) => Err(ClientError::Pending { path: path.into(), why }),
        Ok(response) => Ok((response, lines)),
        Err(source) => Err(ClientError::Answer { path: path.into(), source }),
    }
}

impl Lines {
    /// Whether the next line is there already, or part of it.
    pub fn has_more(&self) -> bool {
        !self.stream.buffer().is_empty()
    }

    /// The next line without its end; `None` after the last one. Empty lines come several times a second while there is
    /// nothing to say.
    ///
    /// # Errors
    /// [`ClientError::Exchange`] where the gateway says nothing for longer.
    pub fn next_line(&mut self) -> Result<Option<String>, ClientError> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            // A line that is cut off is the end of a gateway.
            Ok(_) if !line.ends_with('\n') => Ok(None),
            Ok(_) => {
                line.pop();
                Ok(Some(line))
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(source) => Err(ClientError::Exchange { path: self.path.clone(), source }),
        }
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
