use super::*;
use wire::ethernet;
use wire::lldp::LONGEST_EMITTED;
use wire::rate_feedback::Key;

mod one_end;
mod two_ends;
mod world;

const KEY: Key = Key(*b"sixteen byte key");
const MILLI: Interval = Interval::from_millis(1);
const SECOND: Interval = Interval::from_secs(1);

/// The place of end 0 or 1.
fn place(end: usize) -> hello::Place {
    hello::Place { chassis: MacAddress([2, 0, 0, 0, 0, end as u8 + 1]), bundle: 1, member: 0 }
}

/// End 0 or 1 with this interval. It comes back at once.
fn settings(end: usize, interval: Interval) -> Liveness {
    let hellos = Hellos { place: place(end), interval, key: KEY, overtaken: 0 };
    let proof = Proof::Hellos(hellos);
    Liveness { proof, hold_off: Interval::ZERO, return_after: Interval::ZERO, is_drained: false }
}

/// The next hello of `monitor`, if one is due.
fn next_hello(monitor: &mut Monitor, now: Nanos) -> Option<hello::Message> {
    if monitor.frame_due() > now {
        return None;
    }
    let mut frame: FrameRoom = [0; LONGEST_EMITTED];
    let length = monitor.next_frame(now, MacAddress::ZERO, &Outgoing::default(), &mut frame)?;
    monitor.sent(now);
    match Message::parse(&frame[ethernet::HEADER_LEN..length]) {
        Ok(Message::Hello(hello)) => Some(hello),
        other => panic!("{other:?}"),
    }
}

impl Monitor {
    /// Drains this end, or puts it to use again, by a reload.
    fn set_drained(&mut self, now: Nanos, is_drained: bool) {
        self.configure(now, Liveness { is_drained, ..self.settings });
    }

    /// Whether the link carries data.
    fn carries_data(&self) -> bool {
        self.state() == LinkState::Up
    }
}
