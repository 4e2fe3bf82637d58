//! Tests of pushes, with collectors on loopback that do what they should not.

use super::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Long enough for any collector that answers.
const PATIENT: Duration = Duration::from_secs(60);
/// Too short for a collector that never comes to an end, and long enough to connect.
const SHORT: Duration = Duration::from_millis(200);

/// An answer that accepts all points.
const ACCEPTED: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";

/// A snapshot of a gateway without ports.
fn snapshot(gateway: &str) -> Box<Snapshot> {
    let pool = serde_json::json!({ "size_bytes": 9, "held_bytes": 3, "watermark_bytes": 5 });
    let snapshot = serde_json::json!({
        "format": 1, "gateway": gateway, "version": "0.1.0", "at_ns": 1_700_000_009_000_000_000_u64,
        "uptime_ns": 9_000_000_000_u64, "reloads": { "applied": 1, "refused": 0 }, "workers": [],
        "memory": { "mbufs": 7, "mbufs_in_use": 1, "size_bytes": 70 },
        "pools": { "shared": pool, "headroom": pool, "egress_lossy": pool },
        "watchdog": { "events": [], "discarded_events": 0 }, "ports": [], "config": "",
    });
    Box::new(serde_json::from_value(snapshot).unwrap())
}

/// A pusher to the collector at `endpoint`, as the thread has it.
fn pusher(endpoint: &str, timeout: Duration) -> Pusher<impl FnMut() -> Option<Box<Snapshot>>> {
    Pusher {
        agent: agent(timeout),
        endpoint: endpoint.into(),
        resource: Resource { host: "edge1".into(), gateway: "gw".into() },
        snapshot: || Some(snapshot("gw")),
        counts: Counts::default(),
        trouble: None,
    }
}

/// A listener on loopback, and the URL of a collector there.
fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/v1/metrics", listener.local_addr().unwrap());
    (listener, endpoint)
}

/// The head and the body of a request.
fn request(mut stream: &TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

/// The outcome of a push to a collector that does this with its connection after the request.
fn outcome_of(timeout: Duration, answer: impl FnOnce(TcpStream) + Send + 'static) -> Result<(), PushError> {
    let (listener, endpoint) = listener();
    let collector = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        request(&stream);
        answer(stream);
    });
    let outcome = pusher(&endpoint, timeout).push();
    collector.join().unwrap();
    outcome
}

/// The outcome of a push to a collector that answers so.
fn outcome_of_answer(answer: &[u8]) -> Result<(), PushError> {
    let answer = answer.to_owned();
    outcome_of(PATIENT, move |mut stream| stream.write_all(&answer).unwrap())
}

/// The outcome of a push to a collector that sends `first` and then `again` without end.
fn outcome_of_endless(timeout: Duration, first: &'static [u8], again: &'static [u8]) -> PushError {
    let flood = |mut stream: TcpStream| {
        stream.write_all(first).unwrap();
        // It ends when the other end closes the connection.
        while stream.write_all(again).is_ok() {}
    };
    outcome_of(timeout, flood).unwrap_err()
}

#[test]
fn a_push_is_a_post_of_the_encoded_snapshot() {
    let (listener, endpoint) = listener();
    let collector = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = request(&stream);
        stream.write_all(ACCEPTED).unwrap();
        request
    });
    let mut pusher = pusher(&endpoint, PATIENT);
    pusher.push().unwrap();
    let (head, body) = collector.join().unwrap();
    assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\ncontent-type: application/x-protobuf\r\n"), "{head}");
    assert!(head.contains("\r\nuser-agent: longspan/"), "{head}");
    assert_eq!(body, otlp::encode(&snapshot("gw"), &pusher.resource));
}

#[test]
fn a_collector_that_rejects_points_or_refuses_the_request_is_told_apart() {
    // `partial_success`, with 7 `rejected_data_points`.
    let partial = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x0a\x02\x08\x07";
    assert!(matches!(outcome_of_answer(partial), Err(PushError::Partial)));
    for status in [400_u16, 404, 429, 500, 503] {
        let answer = format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n");
        let outcome = outcome_of_answer(answer.as_bytes());
        assert!(matches!(outcome, Err(PushError::Refused(it)) if it == status), "{outcome:?}");
    }
}

#[test]
fn a_collector_cannot_send_the_metrics_elsewhere() {
    let (elsewhere, location) = listener();
    elsewhere.set_nonblocking(true).unwrap();
    for status in [301, 302, 303, 307, 308] {
        let answer = format!("HTTP/1.1 {status} There\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        let outcome = outcome_of_answer(answer.as_bytes());
        assert!(matches!(outcome, Err(PushError::Refused(it)) if it == status), "{outcome:?}");
    }
    assert_eq!(elsewhere.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// Whether the head of an answer had too many bytes or lines.
fn is_limit(error: &PushError) -> bool {
    matches!(error, PushError::Http(ureq::Error::LargeResponseHeader(..) | ureq::Error::Protocol(_)))
}

#[test]
fn an_answer_without_end_ends_at_a_limit_of_bytes() {
    let body = outcome_of_endless(PATIENT, b"HTTP/1.1 200 OK\r\n\r\n", &[0; 4_096]);
    assert!(matches!(body, PushError::Http(ureq::Error::BodyExceedsLimit(BODY_BYTES))), "{body:?}");
    let chunks =
        outcome_of_endless(PATIENT, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n");
    assert!(matches!(chunks, PushError::Http(ureq::Error::BodyExceedsLimit(BODY_BYTES))), "{chunks:?}");
    let line = outcome_of_endless(PATIENT, b"HTTP/1.1 200 OK\r\nX: ", &[b'x'; 4_096]);
    assert!(is_limit(&line), "{line:?}");
    let head = outcome_of_endless(PATIENT, b"HTTP/1.1 200 OK\r\n", b"X: x\r\n");
    assert!(is_limit(&head), "{head:?}");
}

#[test]
fn a_collector_that_never_comes_to_an_end_is_given_up_at_the_time_limit() {
    let silent = outcome_of(SHORT, |mut stream| {
        // Holds the connection until the other end closes it.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert!(matches!(silent, Err(PushError::Http(ureq::Error::Timeout(_)))), "{silent:?}");
    let slow = outcome_of(SHORT, |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert!(matches!(slow, Err(PushError::Http(ureq::Error::Timeout(_)))), "{slow:?}");
    let later = outcome_of_endless(SHORT, b"", b"HTTP/1.1 100 Continue\r\n\r\n");
    assert!(matches!(later, PushError::Http(_)), "{later:?}");
}

#[test]
fn a_collector_that_reads_nothing_is_given_up_at_the_time_limit() {
    let (_listener, endpoint) = listener();
    let mut pusher = Pusher {
        agent: agent(SHORT),
        endpoint,
        resource: Resource { host: "edge1".into(), gateway: "gw".into() },
        // More than the buffers of both ends hold.
        snapshot: || Some(snapshot(&"x".repeat(32 << 20))),
        counts: Counts::default(),
        trouble: None,
    };
    let outcome = pusher.push();
    assert!(matches!(outcome, Err(PushError::Http(ureq::Error::Timeout(_)))), "{outcome:?}");
}

#[test]
fn bytes_that_are_no_answer_are_a_failure() {
    for answer in [&b""[..], b"\0\xff\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 two hundred\r\n\r\n"] {
        let outcome = outcome_of_answer(answer);
        assert!(matches!(outcome, Err(PushError::Http(_))), "{outcome:?}");
    }
    let json = outcome_of_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    assert!(matches!(json, Err(PushError::Answer(_))), "{json:?}");
}

#[test]
fn without_a_collector_or_a_snapshot_a_push_fails_at_once() {
    let (listener, endpoint) = listener();
    listener.set_nonblocking(true).unwrap();
    let mut late = Pusher {
        agent: agent(PATIENT),
        endpoint: endpoint.clone(),
        resource: Resource { host: "edge1".into(), gateway: "gw".into() },
        snapshot: || None,
        counts: Counts::default(),
        trouble: None,
    };
    assert!(matches!(late.push(), Err(PushError::Skipped)));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(listener);
    let outcome = pusher(&endpoint, PATIENT).push();
    assert!(matches!(outcome, Err(PushError::Http(_))), "{outcome:?}");
}

#[test]
fn an_outcome_is_news_once_and_its_reason_is_short_and_plain() {
    let mut pusher = pusher("http://127.0.0.1:1/", PATIENT);
    let news = |pusher: &mut Pusher<_>, outcome| pusher.change(&outcome);
    assert!(!news(&mut pusher, Ok(())));
    assert!(news(&mut pusher, Err(PushError::Refused(503))));
    assert!(!news(&mut pusher, Err(PushError::Refused(503))));
    assert!(!news(&mut pusher, Err(PushError::Skipped)));
    assert!(news(&mut pusher, Err(PushError::Refused(404))));
    assert!(news(&mut pusher, Ok(())));
    assert!(!news(&mut pusher, Ok(())));
    let reason = format!("a\x1b[31m{}", "x".repeat(9_999));
    assert!(news(&mut pusher, Err(ureq::Error::BadUri(reason).into())));
    let trouble = pusher.trouble.unwrap();
    assert_eq!(trouble.chars().count(), REASON_CHARS);
    assert!(!trouble.contains(char::is_control), "{trouble}");
}

/// Settings for the collector at `endpoint`.
fn settings(endpoint: &str, interval_ns: u64) -> runtime::Otlp {
    let (interval, timeout) = (units::Interval(interval_ns), units::Interval(60_000_000_000));
    runtime::Otlp { endpoint: endpoint.parse().unwrap(), interval, timeout }
}

#[test]
fn pushes_are_counted_by_what_came_of_them() {
    let (listener, endpoint) = listener();
    let exporter = Exporter::start(&settings(&endpoint, 1_000_000), "gw", || Some(snapshot("gw"))).unwrap();
    let refused = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
    for answer in [ACCEPTED, refused, b"nonsense\r\n\r\n", ACCEPTED] {
        let (mut stream, _) = listener.accept().unwrap();
        request(&stream);
        stream.write_all(answer).unwrap();
    }
    // The fifth push begins when the fourth is counted.
    let (stream, _) = listener.accept().unwrap();
    let counts = exporter.counts().report();
    assert_eq!(counts, OtlpReport { accepted: 2, refused: 1, failed: 1, ..OtlpReport::default() });
    drop((exporter, stream));
}

#[test]
fn a_dropped_exporter_ends_its_thread_between_pushes_and_waits_for_none() {
    // The end of the thread drops all that it alone owns.
    let (owned, gone) = channel::<Infallible>();
    let waiting = move || {
        let _ = &owned;
        None
    };
    let hour = 3_600_000_000_000;
    drop(Exporter::start(&settings("http://127.0.0.1:1", hour), "gw", waiting).unwrap());
    assert!(gone.recv().is_err());

    let (listener, endpoint) = listener();
    let exporter = Exporter::start(&settings(&endpoint, 1_000_000), "gw", || Some(snapshot("gw"))).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    request(&stream);
    drop(exporter);
    // The push still waits for its answer, which a thread that was waited for would have given up.
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}
