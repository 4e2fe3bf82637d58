//! Limits for callers of the gateway: their number, time and request size.
//!
//! A caller is idle while it sends no request or does not read its answer. At the connection limit, the
//! longest-connected idle caller is disconnected to make room for the next one.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{Shutdown, shutdown};

/// [`Limits::answer`] of all callers: less than the timeout of `longspan show`.
pub const ANSWER: Duration = Duration::from_secs(9);

/// The pause after a failed accept, mostly for lack of file descriptors: the system does not notify when
/// there are free ones again.
const RECOVERY: Duration = Duration::from_millis(100);

/// Limits of each caller, and of all callers together.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The connection limit.
    pub at_once: usize,
    /// The total time for a caller to send its request, and again to read its answer.
    pub patience: Duration,
    /// The longest request, in bytes.
    pub request_bytes: usize,
    /// The time for the gateway to answer before the caller is notified that its request is pending.
    pub answer: Duration,
}

/// Admits callers up to the connection limit. Counts evicted and refused ones.
#[derive(Debug)]
pub struct Door<S> {
    /// The name of the service, for the log.
    name: &'static str,
    at_once: usize,
    /// Callers in order of arrival, each with its thread, which alone owns the connection.
    inside: Vec<(Weak<Caller<S>>, JoinHandle<()>)>,
    evicted: u64,
    turned_away: u64,
}

/// An admitted caller.
#[derive(Debug)]
pub struct Caller<S> {
    stream: S,
    stage: AtomicU8,
}

/// Which of gateway and caller waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// The gateway waits for the caller to send its request or to read its answer.
    KeepsUsWaiting,
    /// The caller waits for the gateway.
    WaitsForUs,
    /// The caller was evicted.
    Evicted,
}

impl<S: AsFd> Caller<S> {
    fn new(stream: S) -> Self {
        Self { stream, stage: AtomicU8::new(Stage::KeepsUsWaiting as u8) }
    }

    /// The connection.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Runs `work` on the caller's request. The caller is not evicted meanwhile.
    ///
    /// # Errors
    /// [`io::ErrorKind::ConnectionAborted`] where it had to leave.
    pub fn while_it_waits<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        if !self.step(Stage::KeepsUsWaiting, Stage::WaitsForUs) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let result = work();
        self.step(Stage::WaitsForUs, Stage::KeepsUsWaiting);
        Ok(result)
    }

    /// Evicts the caller if it is idle: hangs up, so that its thread's next use of the connection ends.
    fn evict(&self) -> bool {
        let evicted = self.step(Stage::KeepsUsWaiting, Stage::Evicted);
        if evicted && let Err(error) = shutdown(&self.stream, Shutdown::Both) {
            tracing::debug!("an evicted connection was already closed: {error}");
        }
        evicted
    }

    fn step(&self, from: Stage, to: Stage) -> bool {
        self.stage.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl<S: AsFd + Send + Sync + 'static> Door<S> {
    /// A door to `name` without callers, for at most `at_once` at a time.
    pub fn new(name: &'static str, at_once: usize) -> Self {
        Self { name, at_once, inside: Vec::new(), evicted: 0, turned_away: 0 }
    }

    /// Handles all `arrivals`. Each admitted caller is served on its own thread, so that a silent or failing
    /// one affects no other. `turn_away` must not block.
    pub fn receive(
        mut self,
        arrivals: impl Iterator<Item = io::Result<S>>,
        serve: impl Fn(&Caller<S>) -> io::Result<()> + Clone + Send + 'static,
        turn_away: impl Fn(&S),
    ) {
        for stream in arrivals {
            match stream {
                Ok(stream) if self.has_room() => self.admit(stream, serve.clone()),
                Ok(stream) => turn_away(&stream),
                Err(_) => thread::sleep(RECOVERY),
            }
        }
    }

    fn admit(&mut self, stream: S, serve: impl FnOnce(&Caller<S>) -> io::Result<()> + Send + 'static) {
        let name = self.name;
        let caller = Arc::new(Caller::new(stream));
        let place = Arc::downgrade(&caller);
        let answer = move || {
            if let Err(error) = serve(&caller) {
                tracing::debug!("{name}: connection lost: {error}");
            }
        };
        match thread::Builder::new().name("caller".into()).spawn(answer) {
            Ok(thread) => self.inside.push((place, thread)),
            Err(error) => tracing::warn!("{name}: cannot start a thread for a connection: {error}"),
        }
    }

    /// Whether there is room, if need be by eviction. Logs the first refusal, and then each time the count
    /// has doubled, so that nobody can fill the log.
    fn has_room(&mut self) -> bool {
        self.inside.retain(|(_, thread)| !thread.is_finished());
        if self.inside.len() < self.at_once || self.make_room() {
            return true;
        }
        self.turned_away += 1;
        if self.turned_away.is_power_of_two() {
            let Self { name, at_once, turned_away, .. } = self;
            tracing::warn!("{name}: all {at_once} connections are in use; {turned_away} refused so far");
        }
        false
    }

    /// Evicts the longest-connected idle caller.
    fn make_room(&mut self) -> bool {
        let evict = |(place, _): &(Weak<Caller<S>>, _)| place.upgrade().is_none_or(|caller| caller.evict());
        let Some(oldest) = self.inside.iter().position(evict) else { return false };
        let (_, thread) = self.inside.remove(oldest);
        // The connection is closed, so the thread ends at once. The panic hook has reported any panic.
        let _ = thread.join();
        self.evicted += 1;
        if self.evicted.is_power_of_two() {
            let Self { name, evicted, .. } = self;
            tracing::warn!("{name}: connection limit reached; {evicted} idle connections closed so far");
        }
        true
    }
}

/// A connection with a deadline for all reads and writes together.
#[derive(Debug)]
pub struct Until<'a, S> {
    stream: &'a S,
    end: Instant,
}

impl<'a, S: AsFd> Until<'a, S> {
    /// Wraps `stream`, with a deadline `patience` from now.
    pub fn new(stream: &'a S, patience: Duration) -> Self {
        Self { stream, end: Instant::now() + patience }
    }

    fn limit(&self) -> io::Result<()> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        set_socket_timeout(self.stream, Timeout::Recv, Some(left))?;
        Ok(set_socket_timeout(self.stream, Timeout::Send, Some(left))?)
    }
}

impl<'a, S: AsFd> Read for Until<'a, S>
where
    &'a S: Read,
{
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.limit()?;
        self.stream.read(into)
    }
}

impl<'a, S: AsFd> Write for Until<'a, S>
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

/// Reads until the input ends with `end` or the caller stops sending; at most `most` bytes.
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
        // `end` may span two chunks.
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
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Reads the caller's request, and then lets it wait until `gate` is dropped.
    fn serve(caller: &Caller<UnixStream>, gate: &Receiver<()>, asked: &Sender<()>) -> io::Result<()> {
        if caller.stream().read(&mut [0])? == 0 {
            return Ok(());
        }
        caller.while_it_waits(|| {
            asked.send(()).unwrap();
            gate.recv().unwrap_err();
        })
    }

    /// Admits a caller if there is room. Returns the far end of its connection, and the gate that it waits
    /// for after its request.
    fn let_in(door: &mut Door<UnixStream>, asked: &Sender<()>) -> Option<(UnixStream, Sender<()>)> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (gate, shut) = channel();
        let asked = asked.clone();
        door.has_room().then(|| door.admit(ours, move |caller| serve(caller, &shut, &asked)))?;
        Some((theirs, gate))
    }

    /// Whether the gateway has hung up.
    fn is_over(mut stream: &UnixStream) -> bool {
        stream.set_nonblocking(true).unwrap();
        matches!(stream.read(&mut [0]), Ok(0))
    }

    #[test]
    fn whoever_keeps_the_gateway_waiting_longest_makes_room_for_the_next() {
        let (asked, _has_asked) = channel();
        let mut door = Door::new("test", 2);
        let mut streams = Vec::new();
        for came in 1..=5 {
            streams.push(let_in(&mut door, &asked).unwrap().0);
            let over: Vec<_> = streams.iter().map(is_over).collect();
            let left = came - came.min(2);
            assert_eq!(over, [vec![true; left], vec![false; came.min(2)]].concat());
        }
        assert_eq!((door.evicted, door.turned_away, door.inside.len()), (3, 0, 2));
    }

    #[test]
    fn callers_that_wait_for_the_gateway_keep_their_places() {
        let (asked, has_asked) = channel();
        let mut door = Door::new("test", 2);
        let (mut waits, gate) = let_in(&mut door, &asked).unwrap();
        waits.write_all(b"a").unwrap();
        has_asked.recv().unwrap();
        let (silent, _) = let_in(&mut door, &asked).unwrap();
        let (mut other, other_gate) = let_in(&mut door, &asked).unwrap();
        assert!(is_over(&silent) && !is_over(&waits), "the older one is served");
        other.write_all(b"a").unwrap();
        has_asked.recv().unwrap();
        assert!(let_in(&mut door, &asked).is_none() && let_in(&mut door, &asked).is_none());
        assert_eq!((door.evicted, door.turned_away), (1, 2));
        drop(gate);
        while !is_over(&waits) {
            thread::yield_now();
        }
        assert!(let_in(&mut door, &asked).is_some());
        drop(other_gate);
    }

    #[test]
    fn one_that_had_to_leave_is_not_served() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let caller = Caller::new(ours);
        assert!(caller.evict() && !caller.evict());
        let error = caller.while_it_waits(|| panic!("its request reaches nobody")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
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
