//! `/metrics` for Prometheus, off the data path.
//!
//! Each connection gets one answer and ends. Connections are limited in number, requests in time and length.
//! At the connection limit, an idle reader is evicted for the next one; if all wait for the gateway, the next
//! one gets status 503. No more of HTTP is needed. Small servers limit neither connections nor requests
//! (`tiny_http` starts a thread for each and waits indefinitely for heads), and those that do require an
//! asynchronous runtime.

use core::net::SocketAddr;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use telemetry::metrics::Format;
use telemetry::{Period, Snapshot};

use rustix::net::sockopt::set_tcp_user_timeout;

use crate::callers::{ANSWER, Caller, Door, Limits, Until, read_to};
use crate::event::{Event, snapshot};

/// Prometheus uses one connection at a time, and there are rarely more than two instances.
const LIMITS: Limits =
    Limits { at_once: 8, patience: Duration::from_secs(2), request_bytes: 8_192, answer: ANSWER };
/// How long the kernel keeps unread data after the gateway closes the connection.
const UNTAKEN_MILLIS: u32 = 2_000;
/// Half of the longest time that a finding covers.
const HALF_NS: u64 = 30_000_000_000;
/// The content type of answers for people.
const PLAIN: &str = "text/plain; charset=utf-8";

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
#[error("control.metrics: cannot listen on {address}: {reason}")]
pub struct MetricsError {
    /// The address.
    pub address: SocketAddr,
    /// The system's error.
    pub reason: io::Error,
}

/// Serves `/metrics` at `address` from now on. Each request asks the gateway through `events`.
///
/// # Errors
/// [`MetricsError`] where it cannot listen.
pub fn serve(address: SocketAddr, events: Sender<Event>) -> Result<(), MetricsError> {
    let listener = listen_at(address);
    let serving = listener.and_then(|listener| serve_at(listener, events, LIMITS));
    serving.map_err(|reason| MetricsError { address, reason })
}

/// On Linux, connections inherit the listener's timeout.
fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    set_tcp_user_timeout(&listener, UNTAKEN_MILLIS)?;
    Ok(listener)
}

fn serve_at(listener: TcpListener, events: Sender<Event>, limits: Limits) -> io::Result<()> {
    let door = Door::new("metrics", limits.at_once);
    let source = Source { events, history: Arc::default() };
    let serve = move |caller: &Caller<TcpStream>| converse(caller, &source, limits);
    let listen = move || door.receive(listener.incoming(), serve, turn_away);
    thread::Builder::new().name("metrics".into()).spawn(listen).map(drop)
}

/// Answers that the connection limit is reached, without blocking.
fn turn_away(mut stream: &TcpStream) {
    let answer = Answer::plain(503, "too many connections at once\n");
    let told = stream.set_nonblocking(true).and_then(|()| {
        // Read the request if it is there: closing with unread data would discard the answer.
        let _asked = stream.read(&mut [0; 1_024]);
        stream.write_all(&answer.bytes())
    });
    if let Err(error) = told.and_then(|()| stream.shutdown(Shutdown::Write)) {
        tracing::debug!("a metrics client beyond the connection limit got no answer: {error}");
    }
}

fn converse(caller: &Caller<TcpStream>, source: &Source, limits: Limits) -> io::Result<()> {
    let stream = caller.stream();
    let head = read_to(b"\r\n\r\n", limits.request_bytes, &mut Until::new(stream, limits.patience));
    let answer = match head {
        Ok(head) => caller.while_it_waits(|| respond(&head, source, limits.answer))?,
        Err(error) => match error.kind() {
            io::ErrorKind::FileTooLarge => Answer::plain(431, "the request is too long\n"),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                Answer::plain(408, "the request did not come in time\n")
            }
            _ => return Err(error),
        },
    };
    deliver(stream, &answer, limits)
}

fn deliver(stream: &TcpStream, answer: &Answer, limits: Limits) -> io::Result<()> {
    Until::new(stream, limits.patience).write_all(&answer.bytes())?;
    stream.shutdown(Shutdown::Write)
}

/// An HTTP answer.
struct Answer {
    status: u16,
    content_type: &'static str,
    body: String,
}

impl Answer {
    fn plain(status: u16, body: &str) -> Self {
        Self { status, content_type: PLAIN, body: body.to_owned() }
    }

    /// The bytes of the response (RFC 9112 section 4).
    fn bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            431 => "Request Header Fields Too Large",
            _ => "Service Unavailable",
        };
        let Self { status, content_type, body } = self;
        let length = body.len();
        let allow = if *status == 405 { "Allow: GET\r\n" } else { "" };
        let response = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             {allow}Connection: close\r\n\r\n{body}"
        );
        response.into_bytes()
    }
}

/// The answer to a request with this head, of which only the first line and `Accept` matter. Waits for the gateway at
/// most `patience`.
fn respond(head: &[u8], source: &Source, patience: Duration) -> Answer {
    match asked_for(head) {
        Some(("GET", "/metrics")) => scrape(Format::accepted(&accepts(head)), source, patience),
        Some(("GET", _)) => Answer::plain(404, "metrics are at /metrics\n"),
        // A body in an answer to HEAD would be parsed as the next answer.
        Some(("HEAD", _)) => Answer::plain(405, ""),
        Some(_) => Answer::plain(405, "use GET to read metrics\n"),
        None => Answer::plain(400, "not an HTTP/1.1 request\n"),
    }
}

/// Method and path of a request line (RFC 9112 section 3), without the query.
fn asked_for(head: &[u8]) -> Option<(&str, &str)> {
    let line = head.split(|byte| *byte == b'\r').next().filter(|line| line.len() < head.len())?;
    let mut words = str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let path = target.split('?').next()?;
    (version.starts_with("HTTP/1.") && words.next().is_none()).then_some((method, path))
}

/// The value of the header `Accept`; empty without one.
fn accepts(head: &[u8]) -> String {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let mut lines = head.lines().filter_map(|line| line.strip_prefix("accept:"));
    lines.next().unwrap_or_default().to_owned()
}

fn scrape(format: Format, source: &Source, patience: Duration) -> Answer {
    match snapshot(&source.events, patience) {
        Some(now) => Answer {
            status: 200,
            content_type: format.content_type(),
            body: source.history.lock().unwrap_or_else(PoisonError::into_inner).encode(*now, format),
        },
        None => Answer::plain(503, "the gateway did not answer in time\n"),
    }
}

/// The gateway, and the snapshots of earlier scrapes.
#[derive(Clone)]
struct Source {
    events: Sender<Event>,
    history: Arc<Mutex<History>>,
}

/// What a finding compares the gateway with: its state up to a minute ago. Two servers that scrape in turn see every
/// finding, because the snapshots are no older than half of that apart.
#[derive(Default)]
struct History {
    older: Option<Snapshot>,
    newer: Option<Snapshot>,
}

impl History {
    /// The metrics at `now`, with the findings since the older snapshot, or those of this instant at the first scrape.
    fn encode(&mut self, now: Snapshot, format: Format) -> String {
        let newer = self.newer.get_or_insert_with(|| now.clone());
        let before = self.older.get_or_insert_with(|| newer.clone());
        let period = Period::between(before, &now).unwrap_or_else(|_| Period::since_start(&now));
        let page = telemetry::metrics::encode(&period, format);
        if now.at_ns.saturating_sub(newer.at_ns) >= HALF_NS {
            self.older = self.newer.replace(now);
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dpdk_telemetry::tests::observed;
    use rustix::net::sockopt::tcp_user_timeout;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, channel};

    /// Long enough for any reader that sends a request.
    const PATIENT: Limits = Limits { patience: Duration::from_secs(60), ..LIMITS };

    /// A metrics server with the test as its gateway.
    fn serving(limits: Limits) -> (SocketAddr, Receiver<Event>) {
        let (sender, events) = channel();
        let listener = listen_at("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        serve_at(listener, sender, limits).unwrap();
        (address, events)
    }

    fn connect(address: SocketAddr) -> TcpStream {
        TcpStream::connect(address).unwrap()
    }

    /// The answer until the connection ends. It ends with a reset if the server closes it before reading the
    /// request.
    fn answer_to(mut stream: TcpStream, request: &[u8]) -> String {
        let asked = stream.write_all(request);
        let mut answer = Vec::new();
        for error in [asked.err(), stream.read_to_end(&mut answer).err()].into_iter().flatten() {
            let closed = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
            assert!(closed.contains(&error.kind()), "{error}");
        }
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn findings_look_back_for_half_a_minute_to_a_minute_however_often_a_server_scrapes() {
        for every in [1, 5, 15, 30] {
            let mut history = History::default();
            for seconds in (0..600).step_by(every) {
                let mut now = observed();
                (now.at_ns, now.uptime_ns) = (seconds as u64 * 1_000_000_000, seconds as u64 * 1_000_000_000);
                let covered = history.older.as_ref().map_or(0, |older| now.at_ns - older.at_ns);
                assert!(seconds < 60 || (HALF_NS..=2 * HALF_NS).contains(&covered), "{every}: {covered}");
                history.encode(now, Format::OpenMetrics);
            }
        }
    }

    #[test]
    fn an_answer_that_its_reader_does_not_take_is_given_up() {
        let listener = listen_at("127.0.0.1:0".parse().unwrap()).unwrap();
        let _reader = connect(listener.local_addr().unwrap());
        let (connection, _) = listener.accept().unwrap();
        // More than the buffers of both ends hold, so that only the limit can end it.
        let answer = Answer::plain(200, &"x".repeat(64 << 20));
        let error = deliver(&connection, &answer, Limits { patience: Duration::from_millis(1), ..LIMITS })
            .unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
    }

    #[test]
    fn connections_have_the_limit_for_what_their_readers_leave_in_the_kernel() {
        let listener = listen_at("127.0.0.1:0".parse().unwrap()).unwrap();
        let _reader = connect(listener.local_addr().unwrap());
        let (connection, _) = listener.accept().unwrap();
        assert_eq!(tcp_user_timeout(&connection).unwrap(), UNTAKEN_MILLIS);
    }

    #[test]
    fn other_requests_get_a_status_and_do_not_reach_the_gateway() {
        let (address, events) = serving(PATIENT);
        for (request, status) in [
            (&b"GET / HTTP/1.1\r\nHost: it\r\n\r\n"[..], "404 Not Found"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            (b"HEAD /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            (b"GET /metrics\r\n\r\n", "400 Bad Request"),
            (b"\xff\xfe\r\n\r\n", "400 Bad Request"),
        ] {
            let answer = answer_to(connect(address), request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        }
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn a_gateway_that_ends_before_it_answers_is_unavailable() {
        let (address, events) = serving(PATIENT);
        drop(events);
        let answer = answer_to(connect(address), b"GET /metrics?name=x HTTP/1.0\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nthe gateway did not answer in time\n"), "{answer}");
    }

    #[test]
    fn a_request_that_is_too_long_is_refused_before_its_end() {
        let (address, _events) = serving(Limits { request_bytes: 100, ..PATIENT });
        let answer = answer_to(connect(address), &[b'x'; 512]);
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }

    #[test]
    fn a_silent_reader_is_disconnected_after_the_limit() {
        let (address, _events) = serving(Limits { patience: Duration::from_millis(1), ..LIMITS });
        let answer = answer_to(connect(address), b"");
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
    }

    /// More than the limit of them connect again as soon as they are disconnected.
    #[test]
    fn no_scrape_gets_an_empty_answer_beside_silent_readers_that_come_back() {
        let (address, events) = serving(PATIENT);
        drop(events);
        let is_over = Arc::new(AtomicBool::new(false));
        let silent = [(); LIMITS.at_once + 2].map(|()| {
            let is_over = is_over.clone();
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    // The connection may end with a reset.
                    let _ = connect(address).read(&mut [0]);
                }
            })
        });
        let scrape = || answer_to(connect(address), b"GET /metrics HTTP/1.1\r\n\r\n");
        let answers = thread::scope(|scope| {
            let readers = [(); 4].map(|()| scope.spawn(|| [(); 15].map(|()| scrape())));
            readers.map(|reader| reader.join().unwrap()).concat()
        });
        assert_eq!(answers.len(), 60);
        for answer in answers {
            assert!(answer.ends_with("the gateway did not answer in time\n"), "{answer:?}");
        }
        is_over.store(true, Ordering::Relaxed);
        // Their connections end with those of others, or with the limit.
        drop(silent);
    }

    #[test]
    fn silent_readers_do_not_block_others() {
        let (address, events) = serving(PATIENT);
        drop(events);
        let request = b"GET /metrics HTTP/1.1\r\n\r\n";
        let mut silent: Vec<_> = (0..24).map(|_| connect(address)).collect();
        let served = (0..30).filter(|_| {
            // The reader that was evicted connects again.
            silent.push(connect(address));
            answer_to(connect(address), request).ends_with("the gateway did not answer in time\n")
        });
        assert_eq!(served.count(), 30);
    }

    #[test]
    fn a_reader_is_refused_while_all_others_wait_for_the_gateway() {
        let limits = Limits { at_once: 2, answer: Duration::from_secs(60), ..PATIENT };
        let (address, events) = serving(limits);
        let request = b"GET /metrics HTTP/1.1\r\n\r\n";
        let readers = [connect(address), connect(address)];
        let asked = readers.each_ref().map(|mut reader| {
            reader.write_all(request).unwrap();
            events.recv().unwrap()
        });
        let answer = answer_to(connect(address), b"");
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("too many connections"), "{answer}");
        drop((asked, events));
        for reader in readers {
            assert!(answer_to(reader, b"").ends_with("the gateway did not answer in time\n"));
        }
    }
}
