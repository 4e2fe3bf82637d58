//! Those who ask the gateway from outside: how many at once, for how long, and how much they may say.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What [`Limits::answer`] is for every caller: less than what `longspan show` waits.
pub const ANSWER: Duration = Duration::from_secs(9);

/// How long nobody is let in after one could not be, mostly for want of file descriptors: the system does not tell
/// when there are some again.
const RECOVERY: Duration = Duration::from_millis(100);

/// What one caller, and all of them together, may take of the gateway.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Callers that are served at the same time.
    pub at_once: usize,
    /// How long one may take in all to say what it wants, and then again to take its answer.
    pub patience: Duration,
    /// The longest request, in bytes.
    pub request_bytes: usize,
    /// How long the gateway itself may take for an answer, before one is told that there is none yet.
    pub answer: Duration,
}

/// Lets callers in, up to a number at the same time, and counts those that it turned away.
#[derive(Debug)]
pub struct Door {
    /// What is behind it, for the log.
    name: &'static str,
    at_once: usize,
    inside: Arc<AtomicUsize>,
    turned_away: u64,
}

/// The place of a caller that was let in; dropping it makes room for the next.
#[derive(Debug)]
struct Caller(Arc<AtomicUsize>);

impl Door {
    /// A door to `name` with nobody inside, for `at_once` callers at the same time.
    pub fn new(name: &'static str, at_once: usize) -> Self {
        Self { name, at_once, inside: Arc::default(), turned_away: 0 }
    }

    /// Receives all `arrivals`: who finds a place is served on a thread of its own, so that one that says nothing
    /// keeps nobody else waiting, and what goes wrong with one concerns only that one. `turn_away` must not wait.
    pub fn receive<S: Send + 'static>(
        mut self,
        arrivals: impl Iterator<Item = io::Result<S>>,
        serve: impl Fn(&S) -> io::Result<()> + Clone + Send + 'static,
        turn_away: impl Fn(&S),
    ) {
        for stream in arrivals {
            let Ok(stream) = stream else {
                thread::sleep(RECOVERY);
                continue;
            };
            match self.let_in() {
                Some(caller) => self.admit(stream, caller, serve.clone()),
                None => turn_away(&stream),
            }
        }
    }

    fn admit<S: Send + 'static>(
        &self,
        stream: S,
        caller: Caller,
        serve: impl Fn(&S) -> io::Result<()> + Send + 'static,
    ) {
        let name = self.name;
        let answer = move || {
            if let Err(error) = serve(&stream) {
                tracing::debug!("{name}: a caller went away: {error}");
            }
            drop(caller);
        };
        if let Err(error) = thread::Builder::new().name("caller".into()).spawn(answer) {
            tracing::warn!("{name}: a caller is turned away: {error}");
        }
    }

    /// A place, where there is one. It says so in the log where there is none: for the first time, and each
    /// time that there were twice as many, so that nobody can fill the log.
    fn let_in(&mut self) -> Option<Caller> {
        let caller = Caller(self.inside.clone());
        // Only this thread adds: the number of those inside can only have fallen meanwhile.
        if self.inside.fetch_add(1, Ordering::Relaxed) < self.at_once {
            return Some(caller);
        }
        self.turned_away += 1;
        if self.turned_away.is_power_of_two() {
            let Self { name, at_once, turned_away, .. } = self;
            tracing::warn!(
                "{name}: {at_once} callers are inside, others are turned away: {turned_away} by now"
            );
        }
        None
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection whose next read and write can be given a limit of time.
pub trait Timed {
    /// Reads and writes end after `limit`, which is not zero.
    ///
    /// # Errors
    /// What the system says.
    fn limit(&self, limit: Duration) -> io::Result<()>;
}

impl Timed for TcpStream {
    fn limit(&self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit)).and_then(|()| self.set_write_timeout(Some(limit)))
    }
}

impl Timed for UnixStream {
    fn limit(&self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit)).and_then(|()| self.set_write_timeout(Some(limit)))
    }
}

/// A connection that can be read and written until an instant, and no longer, however little at a time.
#[derive(Debug)]
pub struct Until<'a, S> {
    stream: &'a S,
    end: Instant,
}

impl<'a, S: Timed> Until<'a, S> {
    /// `stream` for `patience` from now.
    pub fn new(stream: &'a S, patience: Duration) -> Self {
        Self { stream, end: Instant::now() + patience }
    }

    fn limit(&self) -> io::Result<()> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.limit(left)
    }
}

impl<'a, S: Timed> Read for Until<'a, S>
where
    &'a S: Read,
{
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.limit()?;
        self.stream.read(into)
    }
}

impl<'a, S: Timed> Write for Until<'a, S>
where
    &'a S: Write,
{
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.limit()?;
        self.stream.write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Reads until what has come ends with `end`, or the caller says no more; at most `most` bytes.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`] where more than `most` bytes came without it, and what the system says.
pub fn read_to(end: &[u8], most: usize, from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    let mut chunk = [0; 512];
    loop {
        let count = match from.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            outcome => outcome?,
        };
        // The end may have begun in the chunk before.
        let look_from = read.len().saturating_sub(end.len() - 1);
        read.extend_from_slice(&chunk[..count]);
        if count == 0 || read[look_from..].windows(end.len()).any(|bytes| bytes == end) {
            return Ok(read);
        }
        if read.len() > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_let_in_as_may_be_inside_and_one_that_leaves_makes_room() {
        let mut door = Door::new("test", 2);
        let first = door.let_in().unwrap();
        let _second = door.let_in().unwrap();
        assert!(door.let_in().is_none() && door.let_in().is_none());
        assert_eq!(door.turned_away, 2);
        drop(first);
        let _third = door.let_in().unwrap();
        assert!(door.let_in().is_none());
    }

    #[test]
    fn a_connection_ends_with_its_time_however_little_is_said_at_a_time() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (&theirs).write_all(b"ab").unwrap();
        let mut until = Until { stream: &ours, end: Instant::now() + Duration::from_secs(60) };
        let mut byte = [0];
        assert_eq!(until.read(&mut byte).unwrap(), 1);
        until.end = Instant::now();
        assert_eq!(until.read(&mut byte).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(until.write(&byte).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn reading_stops_at_the_end_wherever_the_pieces_are_cut() {
        for cut in 0..8 {
            let (head, tail) = b"GET /\r\n\r\n".split_at(cut);
            let read = read_to(b"\r\n\r\n", 100, &mut head.chain(tail)).unwrap();
            assert_eq!(read, b"GET /\r\n\r\n");
        }
        assert_eq!(read_to(b"\n", 100, &mut &b"no end"[..]).unwrap(), b"no end");
        let error = read_to(b"\n", 100, &mut &[b'x'; 700][..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
