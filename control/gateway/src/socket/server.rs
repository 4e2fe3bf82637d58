//! The gateway's side of the control socket.

use super::{CaptureSession, Request, Response, Subscription};
use crate::callers::{ANSWER, Caller, Door, Limits, Until, read_to};
use crate::event::Event;
use crate::socket_file::{Access, SocketFile, SocketFileError};
use std::io::{self, BufWriter, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Clients are few: people and occasional scripts.
const LIMITS: Limits =
    Limits { at_once: 16, patience: Duration::from_secs(2), request_bytes: 4_096, answer: ANSWER };

/// The time for the reader of a capture to make room: often another program, which may just be starting. Frames are counted
/// as lost meanwhile.
const CAPTURE_UNREAD: Duration = Duration::from_secs(10);

/// A listening socket. Dropping it removes its file, if it still exists.
pub struct Server {
    file: Arc<SocketFile>,
}

impl Server {
    /// Listens at `path` with the access rights `access`, and sends requests of clients to `events`. Replaces
    /// the file of a killed gateway.
    ///
    /// # Errors
    /// [`SocketFileError`] where another gateway listens there, there is a file that is no socket, or the system
    /// refuses.
    pub fn start(path: &Path, access: Access, events: Sender<Event>) -> Result<Self, SocketFileError> {
        Self::start_with(LIMITS, path, access, events)
    }

    fn start_with(
        limits: Limits,
        path: &Path,
        access: Access,
        events: Sender<Event>,
    ) -> Result<Self, SocketFileError> {
        let (listener, file) = SocketFile::make(path, access, |path| UnixListener::bind(path))?;
        let server = Self { file: Arc::new(file) };
        let door = Door::new("control socket", limits.at_once);
        let serve = move |caller: &Caller<UnixStream>| converse(caller, &events, limits);
        let accept = move || door.receive(listener.incoming(), serve, |stream| turn_away(stream, limits));
        let spawned = thread::Builder::new().name("control-socket".into()).spawn(accept);
        spawned.map_err(|source| SocketFileError::Make { path: path.into(), source })?;
        Ok(server)
    }

    /// Its file, to remove if the process ends without dropping this.
    pub fn file(&self) -> Arc<SocketFile> {
        self.file.clone()
    }

    /// Gives it to the user that the process switches to, who can then remove it.
    ///
    /// # Errors
    /// The error of the system.
    pub fn hand_over(&self, uid: u32, gid: u32) -> io::Result<()> {
        self.file.hand_over(uid, gid)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.file.remove_or_warn();
    }
}

/// Answers that the connection limit is reached, without blocking.
fn turn_away(stream: &UnixStream, limits: Limits) {
    let busy = Response::Busy(format!("all {} connections of the control socket are in use", limits.at_once));
    if let Err(error) = stream.set_nonblocking(true).and_then(|()| say(stream, &busy)) {
        tracing::debug!("a client beyond the connection limit of the control socket got no answer: {error}");
    }
}

/// Writes one line of JSON.
fn say(to: impl Write, response: &Response) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    serde_json::to_writer(&mut to, response)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// The answer to a request.
enum Answer {
    /// A line.
    Line(Response),
    /// A line for each event.
    Events(Subscription),
    /// A line for each frame.
    Capture(CaptureSession),
}

fn converse(caller: &Caller<UnixStream>, events: &Sender<Event>, limits: Limits) -> io::Result<()> {
    let stream = caller.stream();
    let answer = match read_to(b"\n", limits.request_bytes, &mut Until::new(stream, limits.patience)) {
        Ok(line) => match caller.while_it_waits(|| answer(&line, events, limits.answer))? {
            Some(answer) => answer,
            // No answer means that the gateway is ending.
            None => return Ok(()),
        },
        Err(error) => Answer::Line(Response::InvalidRequest(match error.kind() {
            io::ErrorKind::FileTooLarge => "the request is too long".into(),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "the request did not come in time".into(),
            _ => return Err(error),
        })),
    };
    let write = |lines: &[u8]| Until::new(stream, limits.patience).write_all(lines);
    let say = |response: &Response| say(Until::new(stream, limits.patience), response);
    match answer {
        Answer::Line(response) => say(&response),
        // The past is no stream that goes on: whoever reads it slowly makes room for others.
        Answer::Events(subscription) if !subscription.follow => {
            say(&Response::Streaming)?;
            subscription.write(write)
        }
        // Few streams go on, so their clients keep their places.
        Answer::Events(subscription) => {
            say(&Response::Streaming)?;
            caller.while_it_waits(|| subscription.write(write))?
        }
        Answer::Capture(session) => {
            say(&Response::Streaming)?;
            let write = |lines: &[u8]| Until::new(stream, CAPTURE_UNREAD).write_all(lines);
            caller.while_it_waits(|| session.write(write))?
        }
    }
}

/// The gateway's answer to a request within `patience`; `None` if the gateway ends before it answers.
fn answer(line: &[u8], events: &Sender<Event>, patience: Duration) -> Option<Answer> {
    let refused = |answer: Result<_, Response>| answer.unwrap_or_else(Answer::Line);
    match serde_json::from_slice::<Request>(line) {
        Err(error) => Some(Answer::Line(Response::InvalidRequest(format!("unknown request: {error}")))),
        Ok(Request::Events(request)) => {
            let answer = wait(events, patience, |answer| Event::Subscribe(request, answer))?;
            Some(refused(answer.and_then(|it| it.map(Answer::Events))))
        }
        Ok(Request::Capture(request)) => {
            let answer = wait(events, patience, |answer| Event::Capture(request, answer))?;
            Some(refused(answer.and_then(|it| it.map(Answer::Capture))))
        }
        Ok(request) => {
            let answer = wait(events, patience, |answer| Event::Request(request, answer))?;
            Some(refused(answer.map(Answer::Line)))
        }
    }
}

/// Waits for the answer to the event that `ask` makes; [`Response::Pending`] if there is none within `patience`.
fn wait<T>(
    events: &Sender<Event>,
    patience: Duration,
    ask: impl FnOnce(Sender<T>) -> Event,
) -> Option<Result<T, Response>> {
    let (answer, answered) = channel();
    events.send(ask(answer)).ok()?;
    match answered.recv_timeout(patience) {
        Ok(answer) => Some(Ok(answer)),
        // The gateway has the request and will still handle it.
        Err(RecvTimeoutError::Timeout) => Some(Err(Response::Pending(format!(
            "no answer from the gateway within {} s",
            patience.as_secs_f64()
        )))),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::{
        CaptureClass, CaptureLine, CaptureRequest, ClientError, EventsRequest, ask, find, listen,
    };
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::mpsc::{Receiver, sync_channel};

    const PRIVATE: Access = Access { mode: 0o600, group: None };

    fn serving(path: &Path) -> (Server, Receiver<Event>) {
        let (sender, events) = channel();
        (Server::start(path, PRIVATE, sender).unwrap(), events)
    }

    /// Answers a request as a gateway would.
    fn answer(event: Event) -> Request {
        match event {
            Event::Request(request, answer) => {
                answer.send(Response::Reloaded(vec!["port.dc0.rate".into()])).unwrap();
                request
            }
            other => panic!("{other:?}"),
        }
    }

    /// Answers the next request.
    fn answer_next(events: Receiver<Event>) -> thread::JoinHandle<Request> {
        thread::spawn(move || answer(events.recv().unwrap()))
    }

    #[test]
    fn a_client_gets_its_answer_through_a_socket_with_the_permissions_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run/gw.sock");
        let (server, events) = serving(&path);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let gateway = answer_next(events);
        let response = ask(&find(path.parent().unwrap()).unwrap(), Request::Reload).unwrap();
        assert!(matches!(response, Response::Reloaded(lines) if lines == ["port.dc0.rate"]));
        assert_eq!(gateway.join().unwrap(), Request::Reload);
        drop(server);
        assert!(!path.exists(), "the socket goes with the gateway");
        assert!(matches!(ask(&path, Request::Show), Err(ClientError::Connect { .. })));
    }

    #[test]
    fn a_gateway_that_ends_before_it_answers_says_nothing_of_its_version() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (_server, events) = serving(&path);
        drop(events);
        assert!(matches!(ask(&path, Request::Show), Err(ClientError::Exchange { .. })));
    }

    #[test]
    fn a_client_whose_request_takes_longer_than_the_limit_is_told_that_it_may_still_be_done() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (sender, events) = channel();
        let limits = Limits { answer: Duration::from_millis(1), ..LIMITS };
        let _server = Server::start_with(limits, &path, PRIVATE, sender).unwrap();
        let error = ask(&path, Request::Reload).unwrap_err();
        assert!(matches!(error, ClientError::Pending { .. }), "{error}");
        let Ok(Event::Request(Request::Reload, answer)) = events.try_recv() else { panic!("it is there") };
        assert!(answer.send(Response::Reloaded(Vec::new())).is_err(), "the client has gone");
    }

    #[test]
    fn nonsense_is_answered_and_reaches_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (_server, events) = serving(&path);
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"{\"fly\":1}\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("invalid_request"), "{answer}");
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn a_request_that_is_too_long_is_answered_and_reaches_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (_server, events) = serving(&path);
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(&[b' '; 4_608]).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("too long"), "{answer}");
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn a_silent_client_is_disconnected_after_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (sender, _events) = channel();
        let limits = Limits { patience: Duration::from_millis(1), ..LIMITS };
        let _server = Server::start_with(limits, &path, PRIVATE, sender).unwrap();
        let mut answer = String::new();
        UnixStream::connect(&path).unwrap().read_to_string(&mut answer).unwrap();
        assert!(answer.contains("the request did not come in time"), "{answer}");
    }

    #[test]
    fn silent_clients_do_not_block_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (sender, events) = channel();
        let limits = Limits { patience: Duration::from_secs(60), ..LIMITS };
        let _server = Server::start_with(limits, &path, PRIVATE, sender).unwrap();
        let mut silent: Vec<_> = (0..24).map(|_| UnixStream::connect(&path).unwrap()).collect();
        let gateway = thread::spawn(move || events.iter().map(answer).count());
        let served = (0..30).filter(|_| {
            silent.push(UnixStream::connect(&path).unwrap());
            matches!(ask(&path, Request::Reload), Ok(Response::Reloaded(_)))
        });
        assert_eq!(served.count(), 30);
        drop(gateway);
    }

    #[test]
    fn a_client_is_refused_while_all_others_wait_for_the_gateway() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (sender, events) = channel();
        let limits = Limits { at_once: 2, patience: Duration::from_secs(60), ..LIMITS };
        let _server = Server::start_with(limits, &path, PRIVATE, sender).unwrap();
        let clients = [(); 2].map(|()| {
            let path = path.clone();
            thread::spawn(move || ask(&path, Request::Reload))
        });
        let asked = clients.each_ref().map(|_| events.recv().unwrap());
        assert!(matches!(ask(&path, Request::Show), Ok(Response::Busy(_))));
        assert_eq!(asked.map(answer), [Request::Reload, Request::Reload]);
        for client in clients {
            assert!(matches!(client.join().unwrap(), Ok(Response::Reloaded(_))));
        }
    }

    #[test]
    fn a_client_reads_events_line_by_line_until_there_are_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (_server, events) = serving(&path);
        let gateway = thread::spawn(move || {
            let Ok(Event::Subscribe(request, answer)) = events.recv() else { panic!("it wants events") };
            let (sender, batches) = sync_channel(2);
            let link = |number| telemetry::events::Event {
                number,
                at_ns: 5,
                core: None,
                port: Some(units::PortId(1)),
                priority: None,
                what: telemetry::events::What::Link { up: false },
            };
            sender.send((0..300).map(link).collect()).unwrap();
            let names = ["dc0".to_owned(), "lh0".to_owned()].into();
            answer.send(Ok(Subscription { names, batches, follow: false })).unwrap();
            request
        });
        let request = EventsRequest { last: 3, ..EventsRequest::default() };
        let (first, mut lines) = listen(&path, &Request::Events(request.clone())).unwrap();
        assert!(matches!(first, Response::Streaming), "{first:?}");
        let read: Vec<_> = core::iter::from_fn(|| lines.next_line().unwrap()).collect();
        assert_eq!(gateway.join().unwrap(), request);
        assert_eq!(read.len(), 300);
        assert_eq!(read[7], r#"{"number":7,"at_ns":5,"port":"lh0","kind":"link","up":false}"#);
    }

    #[test]
    fn a_capture_at_its_limit_ends_with_a_line_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (_server, events) = serving(&path);
        let gateway = thread::spawn(move || {
            let Ok(Event::Capture(request, answer)) = events.recv() else { panic!("it wants frames") };
            let session = CaptureSession { readers: Vec::new(), buffers: 0, request, end: Box::new(|| ()) };
            answer.send(Ok(session)).unwrap();
        });
        let request = CaptureRequest {
            ports: Vec::new(),
            received: true,
            sent: true,
            class: CaptureClass::All,
            priorities: Vec::new(),
            addresses: Vec::new(),
            queue_pair: None,
            snap_bytes: 1,
            for_ns: 1,
            frames_max: None,
            bytes_max: None,
        };
        let (_, mut lines) = listen(&path, &Request::Capture(request)).unwrap();
        let read: Vec<_> = core::iter::from_fn(|| lines.next_line().unwrap()).collect();
        let read: Vec<CaptureLine> = read.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(matches!(read[..], [CaptureLine::Lost(_), CaptureLine::End]), "{read:?}");
        gateway.join().unwrap();
    }

    #[test]
    fn a_refused_stream_is_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (_server, events) = serving(&path);
        let gateway = thread::spawn(move || match events.recv() {
            Ok(Event::Subscribe(_, answer)) => answer.send(Err(Response::Busy("enough".into()))).unwrap(),
            other => panic!("{other:?}"),
        });
        let (first, mut lines) = listen(&path, &Request::Events(EventsRequest::default())).unwrap();
        assert!(matches!(first, Response::Busy(_)), "{first:?}");
        assert_eq!(lines.next_line().unwrap(), None);
        gateway.join().unwrap();
    }

    #[test]
    fn a_client_that_reads_nothing_loses_its_stream_and_keeps_nobody_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (sender, events) = channel();
        // It is also the limit for the request of a client that has to wait for a core.
        let limits = Limits { patience: Duration::from_millis(500), ..LIMITS };
        let _server = Server::start_with(limits, &path, PRIVATE, sender).unwrap();
        let (_first, _unread) = {
            let asked = thread::spawn({
                let path = path.clone();
                move || listen(&path, &Request::Events(EventsRequest::default())).unwrap()
            });
            let Ok(Event::Subscribe(_, answer)) = events.recv() else { panic!("it wants events") };
            let (sender, batches) = sync_channel(1);
            answer.send(Ok(subscription(batches, true))).unwrap();
            let read = asked.join().unwrap();
            // The thread of the client gives up, and with it goes its end of the channel.
            while sender.send(vec![long_event()]).is_ok() {}
            read
        };
        let gateway = answer_next(events);
        assert!(matches!(ask(&path, Request::Reload), Ok(Response::Reloaded(_))));
        gateway.join().unwrap();
    }

    #[test]
    fn a_client_that_reads_past_events_slowly_makes_room_for_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (sender, events) = channel();
        let limits = Limits { at_once: 1, patience: Duration::from_secs(60), ..LIMITS };
        let _server = Server::start_with(limits, &path, PRIVATE, sender).unwrap();
        let gateway = thread::spawn(move || {
            let Ok(Event::Subscribe(_, answer)) = events.recv() else { panic!("it wants events") };
            let (sender, batches) = sync_channel(1);
            // More than a socket holds.
            sender.send(vec![long_event(); 100]).unwrap();
            answer.send(Ok(subscription(batches, false))).unwrap();
            events
        });
        let (_first, mut unread) = listen(&path, &Request::Events(EventsRequest::default())).unwrap();
        assert!(unread.next_line().unwrap().is_some(), "its events are being written");
        let gateway = answer_next(gateway.join().unwrap());
        assert!(matches!(ask(&path, Request::Reload), Ok(Response::Reloaded(_))));
        gateway.join().unwrap();
    }

    fn subscription(batches: Receiver<Vec<telemetry::events::Event>>, follow: bool) -> Subscription {
        Subscription { names: ["dc0".to_owned()].into(), batches, follow }
    }

    /// An event of 100 kB.
    fn long_event() -> telemetry::events::Event {
        let lines = vec!["x".repeat(100); 1_000];
        let what = telemetry::events::What::Reload { applied: true, lines };
        telemetry::events::Event { number: 0, at_ns: 0, core: None, port: None, priority: None, what }
    }

    #[test]
    fn the_only_gateway_is_the_default() {
        let directory = tempfile::tempdir().unwrap();
        let none = find(directory.path()).unwrap_err();
        assert!(none.to_string().contains("no control socket"), "{none}");
        let (_one, _events) = serving(&directory.path().join("one.sock"));
        assert_eq!(find(directory.path()).unwrap(), directory.path().join("one.sock"));
        let (_two, _events) = serving(&directory.path().join("two.sock"));
        let several = find(directory.path()).unwrap_err();
        assert!(several.to_string().contains("one.sock, two.sock"), "{several}");
    }
}
