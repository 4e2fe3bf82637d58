//! Headroom that follows the measured delay of a link.

use super::*;
use std::collections::VecDeque;
use wire::ethernet::{HEADER_LEN, MacAddress};
use wire::ptp::{Body, FRAME_LEN, Message, PortIdentity, Ptp, Timestamp};

/// A link to an end that answers each request at once. Its answers arrive when the time of a round trip has passed.
pub struct PeerDelayLink {
    round_trip: Duration,
    under_way: VecDeque<(Instant, Vec<u8>)>,
}

impl PeerDelayLink {
    fn new(round_trip: Duration) -> Self {
        Self { round_trip, under_way: VecDeque::new() }
    }

    pub fn carry(&mut self, frame: &[u8]) {
        let Ok(Ptp::PeerDelay(request)) = Ptp::parse(&frame[HEADER_LEN..]) else { return };
        let (Body::Request { .. }, requester) = (request.body, request.source) else { return };
        let at = Timestamp { seconds: 1, nanoseconds: 0 };
        for body in [Body::Response { received: at, requester }, Body::FollowUp { sent: at, requester }] {
            let source = PortIdentity { clock: 9, port: 1 };
            let mut bytes = vec![0; FRAME_LEN];
            let answer = Message { source, sequence: request.sequence, correction: 0, body };
            answer.emit(MacAddress([2, 0, 0, 0, 9, 9]), &mut bytes).unwrap();
            self.under_way.push_back((Instant::now() + self.round_trip, bytes));
        }
    }

    pub fn arrived(&mut self) -> Vec<Vec<u8>> {
        let has_arrived = |it: &mut (Instant, Vec<u8>)| it.0 <= Instant::now();
        core::iter::from_fn(|| self.under_way.pop_front_if(has_arrived)).map(|(_, frame)| frame).collect()
    }
}

/// A link of 4 ms, one way, where the file believes in 50 us.
fn running(link_delay: &str) -> Running {
    let port = format!(
        "rate = \"1G\"\ndistance = \"9900m\"\nlossless = [{{ priorities = [3] }}]\n\
         link_delay = {{ interval = \"20ms\", {link_delay} }}\n"
    );
    let (dc0, lh0) = FILE.split_at(FILE.rfind("rate").unwrap());
    let file = format!("[buffer]\nshared = \"256MiB\"\n{dc0}{}", lh0.replace("rate = \"10G\"\n", &port));
    Running::start_on(&file, true, Some(PeerDelayLink::new(Duration::from_millis(8))))
}

/// The first snapshot of which `holds`.
pub fn wait_until(gateway: &Running, holds: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let shown = gateway.show();
        if holds(&shown) {
            return shown;
        }
        assert!(Instant::now() < deadline, "{:?}", shown.ports[1]);
        thread::yield_now();
    }
}

/// A figure of the measurement, as a report shows it.
fn figure(shown: &Snapshot, key: &str) -> u64 {
    let port = serde_json::to_value(&shown.ports[1]).unwrap();
    port["link_delay"][key].as_u64().unwrap_or_default()
}

/// The delay that headroom covers. Headroom itself also grows while a busy machine makes the worker late.
fn covered(shown: &Snapshot) -> CoveredDelayReport {
    shown.ports[1].covered_delay.unwrap()
}

#[test]
fn headroom_follows_a_longer_link_out_of_the_shared_pool_and_a_reload_keeps_that() {
    let gateway = running("most = \"200ms\"");
    let before = gateway.show();
    assert_eq!(covered(&before).covered_ns, 50_000);
    let after = wait_until(&gateway, |shown| covered(shown).covered_ns >= 4_000_000);
    assert!(covered(&after).applied >= 1 && covered(&after).refused == 0);
    // 4 ms both ways at 1G.
    assert!(figure(&after, "headroom_bytes") > 1_000_000);
    assert_eq!(after.config, before.config, "the file is shown as it is");
    let [was, is] = [&before, &after].map(|shown| shown.pools);
    assert!(is.shared.size_bytes < was.shared.size_bytes);
    assert_eq!(
        is.shared.size_bytes + is.headroom.size_bytes,
        was.shared.size_bytes + was.headroom.size_bytes
    );
    assert!(matches!(gateway.ask(Request::Reload), Response::Reloaded(_)));
    assert!(covered(&gateway.show()).covered_ns >= 4_000_000);
    gateway.end();
}

#[test]
fn a_delay_outside_of_the_bounds_is_refused_and_headroom_stays() {
    for bounds in ["most = \"3ms\"", "most = \"60us\""] {
        let gateway = running(bounds);
        let after = wait_until(&gateway, |shown| covered(shown).refused > 0);
        assert!(figure(&after, "delay_ns") >= 4_000_000);
        assert_eq!((covered(&after).applied, covered(&after).covered_ns), (0, 50_000));
        gateway.end();
    }
}

#[test]
fn a_delay_that_is_measured_and_not_applied_changes_nothing() {
    let gateway = running("apply = false");
    let after = wait_until(&gateway, |shown| figure(shown, "delay_ns") >= 4_000_000);
    assert_eq!(after.ports[1].covered_delay, None);
    gateway.end();
}
