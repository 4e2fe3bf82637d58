//! Limits for callers of the gateway: their number, time and request size.
//!
//! A caller is idle while it sends no request or does not read its answer. At the connection limit, the caller that has
//! been idle longest is disconnected to make room for the next one. Each has a moment before that, or callers that connect
//! again and again would disconnect one that is about to ask, or whose answer is being written.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{Shutdown, shutdown};

/// [`Limits::answer`] of all callers: less than the timeout of `longspan show`.
pub const ANSWER: Duration = Duration::from_secs(9);

/// The time in which an idle caller is not disconnected: longer than a busy machine keeps a process from running, and short
/// enough for many callers to take turns.
const MOMENT: Duration = Duration::from_millis(100);
/// The time between two looks for room while all idle callers have their moment.
const LOOK: Duration = Duration::from_millis(2);

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
    stage: Mutex<Stage>,
}

/// Which of gateway and caller waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The gateway has waited for the first request of the caller since then.
    Asks(Instant),
    /// The caller waits for the gateway.
    WaitsForUs,
    /// The gateway has waited since then for the caller to read its answer, or to send another request.
    Reads(Instant),
    /// The caller was evicted.
    Evicted,
}

/// Whether there is room for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Free,
    /// A caller has its moment, or its thread has something to do first.
    Soon,
    /// All callers wait for the gateway.
    None,
}

impl<S: AsFd> Caller<S> {
    fn new(stream: S) -> Self {
        Self { stream, stage: Mutex::new(Stage::Asks(Instant::now())) }
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
        self.change(|stage| (stage != Stage::Evicted).then_some(Stage::WaitsForUs))
            .ok_or(io::ErrorKind::ConnectionAborted)?;
        let result = work();
        self.change(|_| Some(Stage::Reads(Instant::now())));
        Ok(result)
    }

    fn stage(&self) -> Stage {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When it became idle; `None` if it is not.
    fn idle_since(&self) -> Option<Instant> {
        match self.stage() {
            // Its thread has not seen the request yet.
            Stage::Asks(_) if self.has_said_something() => None,
            Stage::Asks(since) | Stage::Reads(since) => Some(since),
            Stage::WaitsForUs | Stage::Evicted => None,
        }
    }

    /// Whether there is something to read, or it has hung up.
    fn has_said_something(&self) -> bool {
        let mut polled = [PollFd::new(&self.stream, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Evicts the caller if it is still idle since then: hangs up, so that its thread's next use of the connection ends.
    fn evict(&self, since: Instant) -> bool {
        let idle = [Stage::Asks(since), Stage::Reads(since)];
        let evicted = self.change(|stage| idle.contains(&stage).then_some(Stage::Evicted)).is_some();
        if evicted && let Err(error) = shutdown(&self.stream, Shutdown::Both) {
            tracing::debug!("an evicted connection was already closed: {error}");
        }
        evicted
    }

    /// Changes the stage to what `next` returns, if anything.
    fn change(&self, next: impl FnOnce(Stage) -> Option<Stage>) -> Option<()> {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        next(*stage).map(|next| *stage = next)
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
                Ok(stream) if self.waits_for_room() => self.admit(stream, serve.clone(), &turn_away),
                Ok(stream) => turn_away(&stream),
                Err(_) => thread::sleep(RECOVERY),
            }
        }
    }

    fn admit(
        &mut self,
        stream: S,
        serve: impl FnOnce(&Caller<S>) -> io::Result<()> + Send + 'static,
        turn_away: impl Fn(&S),
    ) {
        let name = self.name;
        let caller = Arc::new(Caller::new(stream));
        let (place, theirs) = (Arc::downgrade(&caller), caller.clone());
        let answer = move || {
            if let Err(error) = serve(&theirs) {
                tracing::debug!("{name}: connection lost: {error}");
            }
        };
        match thread::Builder::new().name("caller".into()).spawn(answer) {
            Ok(thread) => self.inside.push((place, thread)),
            Err(error) => {
                tracing::warn!("{name}: cannot start a thread for a connection: {error}");
                turn_away(caller.stream());
            }
        }
    }

    /// Waits until there is room, or no one is idle. Logs the first refusal, and then each time the count
    /// has doubled, so that no one can fill the log.
    fn waits_for_room(&mut self) -> bool {
        loop {
            match self.room(Instant::now()) {
                Room::Free => return true,
                Room::Soon => thread::sleep(LOOK),
                Room::None => break,
            }
        }
        self.turned_away += 1;
        if self.turned_away.is_power_of_two() {
            let Self { name, at_once, turned_away, .. } = self;
            tracing::warn!("{name}: all {at_once} connections are in use; {turned_away} refused so far");
        }
        false
    }

    /// Whether there is room, if need be by eviction of the caller that has been idle longest.
    fn room(&mut self, now: Instant) -> Room {
        self.inside.retain(|(_, thread)| !thread.is_finished());
        if self.inside.len() < self.at_once {
            return Room::Free;
        }
        let callers: Vec<_> = self.inside.iter().map(|(place, _)| place.upgrade()).collect();
        let waits = |it: &Caller<S>| it.stage() == Stage::WaitsForUs;
        if callers.iter().all(|it| it.as_deref().is_some_and(waits)) {
            return Room::None;
        }
        let idle = callers.iter().enumerate();
        let idle = idle.filter_map(|(index, it)| Some((it.as_ref()?.idle_since()?, index)));
        let Some((since, oldest)) = idle.min() else { return Room::Soon };
        let is_over = now.saturating_duration_since(since) >= MOMENT;
        if !is_over || !callers[oldest].as_ref().is_some_and(|it| it.evict(since)) {
            return Room::Soon;
        }
        // The thread closes the connection.
        drop(callers);
        let (_, thread) = self.inside.remove(oldest);
        // It ends at once. The panic hook has reported any panic.
        let _ = thread.join();
        self.evicted += 1;
        if self.evicted.is_power_of_two() {
            let Self { name, evicted, .. } = self;
            tracing::warn!("{name}: connection limit reached; {evicted} idle connections closed so far");
        }
        Room::Free
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

    /// Admits a caller if there is room once all have had their moment. Returns the far end of its connection, and the gate
    /// that it waits for after its request.
    fn let_in(door: &mut Door<UnixStream>, asked: &Sender<()>) -> Option<(UnixStream, Sender<()>)> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (gate, shut) = channel();
        let asked = asked.clone();
        let room = loop {
            match door.room(Instant::now() + MOMENT) {
                Room::Soon => thread::yield_now(),
                room => break room,
            }
        };
        let serve = move |caller: &Caller<UnixStream>| serve(caller, &shut, &asked);
        (room == Room::Free).then(|| door.admit(ours, serve, |_| panic!("it has a thread")))?;
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
        assert!(let_in(&mut door, &asked).is_none() && !door.waits_for_room());
        assert_eq!((door.evicted, door.turned_away), (1, 1));
        drop(gate);
        while !is_over(&waits) {
            thread::yield_now();
        }
        assert!(let_in(&mut door, &asked).is_some());
        drop(other_gate);
    }

    #[test]
    fn whoever_has_just_come_has_a_moment_to_ask() {
        let (asked, _has_asked) = channel();
        let mut door = Door::new("test", 1);
        let came = Instant::now();
        let (silent, _) = let_in(&mut door, &asked).unwrap();
        assert_eq!(door.room(came), Room::Soon);
        assert!(!is_over(&silent));
        assert_eq!(door.room(Instant::now() + MOMENT), Room::Free);
        assert!(is_over(&silent));
    }

    #[test]
    fn a_request_that_its_thread_has_not_read_yet_keeps_its_place() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let caller = Caller::new(ours);
        assert!(caller.idle_since().is_some());
        theirs.write_all(b"a").unwrap();
        assert!(caller.idle_since().is_none(), "the gateway keeps it waiting");
        caller.while_it_waits(|| ()).unwrap();
        assert!(caller.idle_since().is_some(), "what follows the request is none");
    }

    #[test]
    fn whoever_has_waited_for_an_answer_has_a_moment_to_read_it() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let caller = Caller::new(ours);
        let came = caller.idle_since().unwrap();
        let answered = caller.while_it_waits(Instant::now).unwrap();
        assert!(caller.idle_since().unwrap() >= answered);
        assert!(!caller.evict(came) && caller.while_it_waits(|| ()).is_ok());
    }

    #[test]
    fn one_that_had_to_leave_is_not_served() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let caller = Caller::new(ours);
        let since = caller.idle_since().unwrap();
        assert!(caller.evict(since) && !caller.evict(since));
        let error = caller.while_it_waits(|| panic!("its request reaches no one")).unwrap_err();
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
