//! What the rate calculation module tells the other end, and when.

use super::rate_calculator::{Advertised, RateCalculator, RateCounters};
use crate::histogram::DelayHistogram;
use crate::ledger::Volume;
use crate::program::{Feedback, Lscc};
use units::{Nanos, PortId};
use wire::ethernet::MacAddress;
use wire::rate_feedback::{Frame, Key, Message};

/// The rate calculation module of one port, and the message that waits for the link.
#[derive(Debug)]
pub(crate) struct RateAnnouncer {
    port: PortId,
    settings: Lscc,
    calculator: RateCalculator,
    /// The newest message, until it is sent: an older one would be stale.
    due: Option<Message>,
    identification: u16,
}

impl RateAnnouncer {
    /// For a port that starts.
    pub fn at_rest(port: PortId, settings: &Lscc) -> Self {
        Self::calculating(port, settings, RateCalculator::at_rest(settings, 0))
    }

    /// For a port that runs, through which `departed` lossless frames came that have left the switch.
    pub fn new(port: PortId, settings: &Lscc, departed: Volume) -> Self {
        Self::calculating(port, settings, RateCalculator::new(settings, departed.on_the_wire().0))
    }

    fn calculating(port: PortId, settings: &Lscc, calculator: RateCalculator) -> Self {
        Self { port, settings: settings.clone(), calculator, due: None, identification: 0 }
    }

    /// New settings. The calculation starts anew where it is concerned.
    pub fn configure(&mut self, settings: &Lscc, departed: Volume) {
        let (old, new) = (&self.settings, settings);
        let same = (old.interval, old.round_trip, old.calculation)
            == (new.interval, new.round_trip, new.calculation);
        if !same {
            let departed = departed.on_the_wire().0;
            // Silence goes on, and traffic is not cut down.
            self.calculator = match self.calculator.is_at_rest() {
                true => RateCalculator::at_rest(settings, departed),
                false => RateCalculator::new(settings, departed),
            };
        }
        self.settings = settings.clone();
    }

    /// Frames come in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        self.calculator.wake(now);
    }

    /// When the running interval ends.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.calculator.deadline()
    }

    /// Ends the interval while `queue` of the port's lossless frames is inside, and `departed` of them
    /// have left since the start.
    pub fn end_interval(&mut self, now: Nanos, queue: Volume, departed: Volume) {
        let (queue, departed) = (queue.on_the_wire(), departed.on_the_wire());
        let Advertised { rate, sequence } = self.calculator.end_interval(now, queue.0, departed.0);
        self.due = Some(Message { port: self.port.0, sequence, timestamp: now, rate });
    }

    /// Whether a message waits.
    #[inline]
    pub fn has_message(&self) -> bool {
        self.due.is_some()
    }

    /// Takes the message that waits, from the port with address `source_mac`, and the key for its tag.
    pub fn take_message(&mut self, source_mac: MacAddress) -> Option<(Frame, Option<Key>)> {
        let message = self.due.take()?;
        self.identification = self.identification.wrapping_add(1);
        let Feedback { local, peer, key, dscp } = self.settings.feedback;
        let identification = self.identification;
        let frame = Frame { source_mac, source: local, destination: peer, dscp, identification, message };
        Some((frame, key))
    }

    pub fn counters(&self) -> &RateCounters {
        self.calculator.counters()
    }

    /// How late intervals ended.
    pub fn lateness(&self) -> &DelayHistogram {
        self.calculator.lateness()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::RateCalculation;
    use units::{BitRate, Interval, WireBytes};

    #[test]
    fn new_settings_leave_a_port_at_rest_and_do_not_cut_down_one_with_traffic() {
        let settings = |micros| Lscc {
            interval: Interval::from_micros(micros),
            calculation: RateCalculation {
                reference: WireBytes(275_000),
                step: Some(BitRate::gigabits(1)),
                ..Lscc::PLAIN.calculation
            },
            ..Lscc::PLAIN
        };
        let first_rate_after = |wakes_before: bool| {
            let mut announcer = RateAnnouncer::at_rest(PortId(0), &settings(100));
            if wakes_before {
                announcer.wake(Nanos(1));
            }
            announcer.configure(&settings(375), Volume::ZERO);
            announcer.wake(Nanos(2));
            announcer.end_interval(announcer.deadline(), Volume::ZERO, Volume::ZERO);
            let (frame, _) = announcer.take_message(MacAddress::default()).unwrap();
            frame.message.rate
        };
        // 275 kB in 1.375 ms.
        assert_eq!(first_rate_after(false), BitRate::new(1_600_000_000).unwrap());
        assert_eq!(first_rate_after(true), BitRate::gigabits(199));
    }
}
