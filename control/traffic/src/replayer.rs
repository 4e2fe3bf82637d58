//! A capture at one port: its frames at their times, unless the peer pauses their priority.

use core::time::Duration;
use replay::capture::{CaptureError, Captured, FrameSource, Merge, Merged, Pace, Splitter};
use serde::Serialize;
use std::collections::VecDeque;
use switch::program::Classification;
use units::{BitRate, Bytes, Interval, LinkClock, Nanos, PortId, Priority, WireBytes};
use wire::ethernet::{self, EtherType};
use wire::mac_control::Message;
use wire::{ipv4, ipv6, vlan};

/// The bytes of frames that may wait for the end of a pause. Beyond that, the capture waits.
const ROOM: usize = 64 << 20;
/// The longest frame that is sent: 9,216 bytes of payload with a VLAN tag. A longer one was captured in front of an offload.
pub(crate) const LONGEST: u32 = 9_216 + 18;
/// The most frames that are given away at once.
const BURST: usize = 32;
/// How long before its time on the link a frame may be given away, so that a burst goes at once.
const AHEAD: Interval = Interval::from_micros(5);
/// The most frames of other sources that are passed over before the pauses that came are read again.
const SKIPPED: usize = 256;

/// The figures of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayReport {
    /// Whether all frames were given to the device.
    pub complete: bool,
    /// How long it took.
    pub duration_ns: u64,
    /// Frames that were given to the device.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
    /// Of these, frames that the capture had truncated: zeros fill them.
    pub filled: u64,
    /// Frames of the capture that were not to be sent: MAC control, those of other sources, and those above 9,234 bytes.
    pub left_out: u64,
    /// PFC frames received.
    pub pauses_received: u64,
    /// Frames that waited for the end of a pause.
    pub paused: u64,
    /// How long after its time the latest frame was given to the device.
    pub latest_ns: u64,
    /// Frames that the device took and could not send.
    pub unsent: u64,
}

/// A frame that is to be sent.
#[derive(Debug)]
struct Waiting {
    due: Nanos,
    priority: Priority,
    bytes: Vec<u8>,
}

/// A capture at one port, sans-IO. Each priority has a queue, and frames leave in order of their times, no faster than the
/// link carries them.
pub struct Replayer<S> {
    merge: Merge<S>,
    sources: Option<Splitter>,
    begin: Nanos,
    rate: BitRate,
    link: LinkClock,
    paused_until: [Nanos; Priority::COUNT],
    /// The next frame of the capture, and whether there is none any more.
    next: Option<Waiting>,
    is_read: bool,
    queues: [VecDeque<Waiting>; Priority::COUNT],
    /// The bytes in the queues.
    held: usize,
    error: Option<CaptureError>,
    report: ReplayReport,
}

impl<S: FrameSource> Replayer<S> {
    /// Plays `source` from `begin` on at a link of `rate`; with `sources`, only the frames from there.
    ///
    /// # Errors
    /// The error that keeps the first frame from being read.
    pub fn new(
        source: S,
        sources: Option<Splitter>,
        rate: BitRate,
        begin: Nanos,
    ) -> Result<Self, CaptureError> {
        let mut replayer = Self {
            merge: Merge::new([(source, Pace::AsCaptured)])?,
            sources,
            begin,
            rate,
            link: LinkClock::new(rate),
            paused_until: [Nanos::ZERO; Priority::COUNT],
            next: None,
            is_read: false,
            queues: Default::default(),
            held: 0,
            error: None,
            report: ReplayReport::default(),
        };
        replayer.read();
        Ok(replayer)
    }

    /// Reads on to the next frame that is to be sent, if it is not far. An error ends the capture.
    fn read(&mut self) {
        let origin = self.merge.origin();
        for _ in 0..SKIPPED {
            if self.next.is_some() || self.is_read {
                return;
            }
            let Merged { now, frame, .. } = match self.merge.next_frame() {
                Ok(Some(merged)) => merged,
                Ok(None) => return self.is_read = true,
                Err(error) => return (self.is_read, self.error) = (true, Some(error)),
            };
            let Captured { data, original_length, .. } = frame;
            let is_control =
                ethernet::View::parse(data).is_ok_and(|it| it.ether_type() == EtherType::MAC_CONTROL);
            let is_other = self.sources.as_ref().is_some_and(|it| it.port_of(&frame) != Some(PortId(0)));
            if is_control || is_other || original_length > LONGEST {
                self.report.left_out += 1;
                continue;
            }
            let mut bytes = data.to_vec();
            bytes.resize(original_length as usize, 0);
            self.report.filled += u64::from(frame.is_cut());
            let (due, priority) = (self.begin + now.since(origin), priority(data));
            self.next = Some(Waiting { due, priority, bytes });
        }
    }

    /// Obeys a PFC frame; other frames are ignored.
    pub fn arrive(&mut self, now: Nanos, frame: &[u8]) {
        let Ok(view) = ethernet::View::parse(frame) else { return };
        if view.ether_type() != EtherType::MAC_CONTROL {
            return;
        }
        if let Ok(Message::Pfc(pfc)) = Message::parse(view.into_payload()) {
            self.report.pauses_received += 1;
            for priority in pfc.enabled().iter() {
                let time = pfc.time(priority).unwrap_or_default().interval_at(self.rate);
                self.paused_until[priority.index()] = now + time;
            }
        }
    }

    /// Gives `out` the frames that are due, of priorities that are not paused.
    pub fn send(&mut self, now: Nanos, out: &mut impl FnMut(&[u8])) {
        self.read();
        while self.held < ROOM
            && let Some(next) = self.next.take_if(|next| next.due <= now)
        {
            let place = next.priority.index();
            self.held += next.bytes.len();
            self.queues[place].push_back(next);
            self.read();
        }
        for _ in 0..BURST {
            if self.link.free_at() > now + AHEAD {
                return;
            }
            let open = self.queues.iter_mut().zip(self.paused_until).filter(|(_, until)| *until <= now);
            let fronts = open.filter_map(|(queue, _)| Some((queue.front()?.due, queue)));
            let Some(sent) = fronts.min_by_key(|(due, _)| *due).and_then(|(_, queue)| queue.pop_front())
            else {
                return;
            };
            let length = sent.bytes.len();
            self.held -= length;
            self.link.occupy(now, WireBytes::of_frame(Bytes(length as u64)));
            self.report.frames += 1;
            self.report.bytes += length as u64;
            self.report.paused += u64::from(sent.due < self.paused_until[sent.priority.index()]);
            self.report.latest_ns = self.report.latest_ns.max(now.since(sent.due).0);
            out(&sent.bytes);
        }
    }

    /// When to call [`Replayer::send`] if nothing arrives.
    pub fn next_deadline(&self) -> Nanos {
        let next = match &self.next {
            Some(next) if self.held < ROOM => next.due,
            None if !self.is_read => Nanos::ZERO,
            _ => Nanos::NEVER,
        };
        let opens = self.queues.iter().zip(self.paused_until).filter(|(queue, _)| !queue.is_empty());
        let opens = opens.map(|(_, until)| until.max(self.link.free_at())).min();
        next.min(opens.unwrap_or(Nanos::NEVER))
    }

    /// Whether all frames were sent.
    pub fn is_done(&self) -> bool {
        self.is_read && self.next.is_none() && self.held == 0
    }

    /// Its figures after `duration`, and why the capture could not be read to its end.
    pub fn end(self, duration: Duration) -> (ReplayReport, Option<CaptureError>) {
        let complete = self.is_done() && self.error.is_none();
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        (ReplayReport { complete, duration_ns, ..self.report }, self.error)
    }
}

/// The priority that a frame has by default: that of its DSCP, or else of its VLAN tag.
fn priority(frame: &[u8]) -> Priority {
    let Ok(view) = ethernet::View::parse(frame) else { return Priority::default() };
    let (mut ether_type, mut payload, mut pcp) = (view.ether_type(), view.into_payload(), None);
    while ether_type.is_vlan()
        && let Ok(tag) = vlan::View::parse(payload)
    {
        pcp = pcp.or(Some(tag.priority()));
        (ether_type, payload) = (tag.ether_type(), payload.get(vlan::TAG_LEN..).unwrap_or_default());
    }
    let dscp = match ether_type {
        EtherType::IPV4 => ipv4::View::parse_head(payload, usize::MAX).ok().map(|it| it.dscp()),
        EtherType::IPV6 => ipv6::View::parse_head(payload, usize::MAX).ok().map(|it| it.dscp()),
        _ => None,
    };
    Classification::default().priority(dscp, pcp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use replay::capture::Interface;
    use units::{PauseQuanta, PrioritySet};
    use wire::ethernet::MacAddress;
    use wire::pfc;

    /// Frames of 1,000 bytes, each with its time in microseconds and its DSCP.
    struct Frames(Vec<(u64, u8)>, Option<Vec<u8>>, u64);

    impl FrameSource for Frames {
        fn advance(&mut self) -> Result<bool, CaptureError> {
            if self.0.is_empty() {
                self.1 = None;
                return Ok(false);
            }
            let (at, dscp) = self.0.remove(0);
            let mut frame = vec![2; 12];
            frame.extend([0x08, 0x00, 0x45, dscp << 2, 0x03, 0xda]);
            frame.resize(1_000, 0);
            (self.1, self.2) = (Some(frame), at);
            Ok(true)
        }

        fn current(&self) -> Option<Captured<'_>> {
            let (data, at) = (self.1.as_ref()?, Nanos(1_000_000_000 + self.2 * 1_000));
            Some(Captured { at, data: &data[..60], original_length: 1_000, interface: Interface::default() })
        }
    }

    const BEGIN: Nanos = Nanos(5_000);
    const LOSSLESS: u8 = 26;

    fn replayer(frames: &[(u64, u8)]) -> Replayer<Frames> {
        let source = Frames(frames.to_vec(), None, 0);
        Replayer::new(source, None, BitRate::gigabits(1), BEGIN).unwrap()
    }

    /// Pauses priority 3 for these quanta of 512 ns.
    fn pause(replayer: &mut Replayer<Frames>, now: Nanos, quanta: u16) {
        let mut frame = [0; 60];
        let lossless = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
        let pause = pfc::Frame::uniform(MacAddress([2, 0, 0, 0, 0, 9]), lossless, PauseQuanta(quanta));
        pause.emit(&mut frame).unwrap();
        replayer.arrive(now, &frame);
    }

    /// The microsecond after the begin at which each frame leaves, and its DSCP.
    fn played(replayer: &mut Replayer<Frames>) -> Vec<(u64, u8)> {
        let mut sent = Vec::new();
        while !replayer.is_done() {
            let now = replayer.next_deadline();
            assert_ne!(now, Nanos::NEVER);
            replayer.send(now, &mut |frame: &[u8]| {
                assert_eq!(frame.len(), 1_000);
                sent.push((now.since(BEGIN).0 / 1_000, frame[15] >> 2));
            });
        }
        sent
    }

    #[test]
    fn frames_leave_at_the_times_of_their_capture_and_no_faster_than_the_link() {
        // A frame takes 8.192 us.
        let mut replayer = replayer(&[(0, 0), (100, LOSSLESS), (250, 0), (251, 0)]);
        assert_eq!(played(&mut replayer), [(0, 0), (100, LOSSLESS), (250, 0), (258, 0)]);
        let (report, error) = replayer.end(Duration::from_micros(260));
        assert!(report.complete && error.is_none());
        assert_eq!((report.frames, report.bytes, report.filled, report.paused), (4, 4_000, 4, 0));
    }

    #[test]
    fn a_paused_priority_waits_and_the_others_go_on() {
        let mut replayer =
            replayer(&[(0, LOSSLESS), (100, LOSSLESS), (110, 0), (120, LOSSLESS), (900, LOSSLESS)]);
        replayer.send(BEGIN, &mut |_: &[u8]| {});
        pause(&mut replayer, BEGIN, 1_000);
        assert_eq!(
            played(&mut replayer),
            [(110, 0), (512, LOSSLESS), (520, LOSSLESS), (900, LOSSLESS)],
            "the pause lasts 512 us"
        );
        let (report, _) = replayer.end(Duration::ZERO);
        assert_eq!((report.pauses_received, report.paused), (1, 2));
        assert_eq!(report.latest_ns / 1_000, 412);
    }

    #[test]
    fn frames_that_a_fast_link_carries_at_once_are_given_away_together() {
        let source = Frames(vec![(0, 0); 40], None, 0);
        let mut replayer = Replayer::new(source, None, BitRate::gigabits(100), BEGIN).unwrap();
        let mut sent = 0;
        replayer.send(BEGIN, &mut |_: &[u8]| sent += 1);
        assert_eq!(sent, BURST);
        assert_eq!(played(&mut replayer).len(), 40 - BURST);
    }

    #[test]
    fn a_long_run_of_other_frames_is_passed_over_in_parts() {
        let mut replayer = replayer(&[(0, 0)]);
        replayer.merge = Merge::new([(Frames(vec![(1, 0); 600], None, 0), Pace::AsCaptured)]).unwrap();
        (replayer.next, replayer.sources) = (None, Some(Splitter::new([])));
        replayer.send(BEGIN, &mut |_: &[u8]| unreachable!("no source has these frames"));
        assert_eq!(replayer.report.left_out, SKIPPED as u64);
        assert!(!replayer.is_done() && replayer.next_deadline() <= BEGIN);
    }

    #[test]
    fn a_resume_ends_a_pause() {
        let mut replayer = replayer(&[(0, LOSSLESS)]);
        pause(&mut replayer, BEGIN, u16::MAX);
        assert!(replayer.next_deadline() <= BEGIN, "it is due, and then waits");
        replayer.send(BEGIN, &mut |_: &[u8]| unreachable!("it is paused"));
        assert!(replayer.next_deadline() > BEGIN + Interval::from_millis(30));
        pause(&mut replayer, BEGIN + Interval(1), 0);
        assert_eq!(played(&mut replayer), [(0, LOSSLESS)]);
    }

    #[test]
    fn a_frame_has_the_priority_of_its_dscp_or_of_its_tag() {
        let of = |bytes: &[u8]| priority(&[&[2; 12], bytes].concat()).number();
        let ip = [&[0x08, 0x00, 0x45, LOSSLESS << 2, 0, 20][..], &[0; 16]].concat();
        let tagged = [&[0x81, 0x00, 0xa0, 5][..], &ip].concat();
        assert_eq!([of(&ip), of(&tagged), of(&[0x81, 0x00, 0xa0, 5, 0x08, 0x06])], [3, 3, 5]);
        assert_eq!([of(&[0x88, 0xcc]), priority(&[1]).number()], [0, 0]);
    }

    proptest::proptest! {
        #[test]
        fn no_frame_makes_a_replayer_panic(frame: Vec<u8>) {
            let mut replayer = replayer(&[(0, LOSSLESS)]);
            replayer.arrive(BEGIN, &frame);
            priority(&frame);
        }
    }
}
