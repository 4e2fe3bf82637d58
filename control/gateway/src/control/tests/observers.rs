//! Clients that follow events or capture frames.

use super::*;
use crate::socket::{CaptureClass, CaptureRequest, CaptureSession, EventsRequest, Subscription};

impl Running {
    fn follow(&self, kinds: &[&str]) -> Subscription {
        self.events_of(kinds, 0)
    }

    /// The `last` events of these kinds, and those to come.
    pub fn events_of(&self, kinds: &[&str], last: usize) -> Subscription {
        let (answer, answered) = channel();
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let request = EventsRequest { last, follow: true, kinds, ..EventsRequest::default() };
        self.events.send(Event::Subscribe(request, answer)).unwrap();
        answered.recv().unwrap().unwrap()
    }

    fn capture(&self, request: &CaptureRequest) -> Result<CaptureSession, Response> {
        let (answer, answered) = channel();
        self.events.send(Event::Capture(request.clone(), answer)).unwrap();
        answered.recv().unwrap()
    }
}

/// The next event.
fn next(subscription: &Subscription) -> telemetry::events::Event {
    loop {
        let mut batch = subscription.batches.recv().unwrap();
        assert!(batch.len() <= 1, "{batch:?}");
        if let Some(event) = batch.pop() {
            return event;
        }
    }
}

fn request(ports: &[&str]) -> CaptureRequest {
    CaptureRequest {
        ports: ports.iter().map(|port| (*port).to_owned()).collect(),
        received: true,
        sent: true,
        class: CaptureClass::All,
        priorities: vec![3],
        addresses: Vec::new(),
        queue_pair: None,
        snap_bytes: 100,
        for_ns: 1_000_000_000,
        frames_max: None,
        bytes_max: None,
    }
}

#[test]
fn a_follower_sees_reloads_that_were_refused_and_applied() {
    let gateway = Running::start(true);
    let follower = gateway.follow(&["reload"]);
    gateway.write("[gateway]\nname = \"a\"\nwrong = 1\n");
    assert!(matches!(gateway.ask(Request::Reload), Response::Refused(_)));
    let event = next(&follower);
    assert!(
        matches!(event.what, What::Reload { applied: false, ref lines } if !lines.is_empty()),
        "{event:?}"
    );
    assert_eq!((event.core, event.port), (None, None));
    gateway.write(&FILE.replace("stall = \"5s\"", "stall = \"4s\""));
    assert!(matches!(gateway.ask(Request::Reload), Response::Reloaded(_)));
    assert!(matches!(next(&follower).what, What::Reload { applied: true, .. }));
    gateway.write(FILE);
    assert!(matches!(gateway.ask(Request::Reload), Response::Reloaded(_)));
    gateway.end();
    let rest: Vec<_> = follower.batches.iter().flatten().map(|event| event.what).collect();
    assert!(
        matches!(rest[..], [What::Reload { applied: true, .. }]),
        "the stream ends with the gateway: {rest:?}"
    );
}

#[test]
fn a_link_that_goes_down_is_an_event_of_its_port() {
    let gateway = Running::start(true);
    let follower = gateway.follow(&["link"]);
    gateway.up.store(false, Ordering::Relaxed);
    let batch = loop {
        let batch = follower.batches.recv().unwrap();
        if !batch.is_empty() {
            break batch;
        }
    };
    assert_eq!(batch[0].what, What::Link { up: false });
    assert_eq!(batch[0].port, Some(PortId(0)));
    gateway.end();
}

#[test]
fn a_port_has_one_capture_at_a_time_and_one_that_has_ended_makes_room() {
    let gateway = Running::start(true);
    let session = gateway.capture(&request(&["lh0"])).unwrap();
    assert!(matches!(gateway.capture(&request(&["dc0", "lh0"])), Err(Response::Busy(_))));
    let other = gateway.capture(&request(&["dc0"])).unwrap();
    drop(session);
    let again = gateway.capture(&request(&["lh0"])).unwrap();
    drop((other, again));
    gateway.end();
}

#[test]
fn a_capture_beyond_its_limits_is_refused_and_leaves_no_port_taken() {
    let gateway = Running::start(true);
    for wrong in [
        request(&[]),
        request(&["lh7"]),
        request(&["lh0", "lh0"]),
        CaptureRequest { snap_bytes: 0, ..request(&["lh0"]) },
        CaptureRequest { snap_bytes: usize::MAX, ..request(&["lh0"]) },
        CaptureRequest { for_ns: u64::MAX, ..request(&["lh0"]) },
        CaptureRequest { priorities: vec![8], ..request(&["lh0"]) },
        CaptureRequest { addresses: vec![[1, 2, 3, 4].into(); 3], ..request(&["lh0"]) },
    ] {
        assert!(matches!(gateway.capture(&wrong), Err(Response::InvalidRequest(_))), "{wrong:?}");
    }
    assert!(gateway.capture(&request(&["lh0"])).is_ok());
    gateway.end();
}
