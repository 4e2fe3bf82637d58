//! One end of a course: what it sends, what it counts, and when it goes on.

use crate::facts::{Facts, Figures, Terms};
use crate::frame::{self, KINDS, Stamp, Way};
use crate::judge::{self, Context, PAUSES, UNKNOWN};
use crate::load::Load;
use crate::pauses;
use crate::report::{Fault, Report, StepReport, Verdict};
use crate::session::Session;
use crate::sink::Sink;
use crate::step::{Agreed, Counts, Phase, Step};
use crate::window::Window;
use switch::Frame;
use units::{Interval, Nanos, Priority};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::rate_feedback::Key;

/// How long it listens before it sends anything (RFC 6815).
const LISTENS: Interval = Interval::from_secs(2);
/// How long it waits for the other end.
const WAITS: Interval = Interval::from_secs(300);
/// How long it still answers once it has ended.
const LINGERS: Interval = Interval::from_secs(1);
/// How long the link is measured, and how many delays at least: an exchange begins every four delays.
const MEASURES: Interval = Interval::from_secs(5);
const DELAYS: u64 = 64;
/// A link that has brought nothing for this long after all was sent brings no more. Longer than the other end may stand
/// still without being silent: its queue may still hold frames.
const SETTLES: Interval = Interval::from_millis(600);
/// A step without a time of its own ends after this, whatever it has sent.
const LONGEST: Interval = Interval::from_secs(30);
/// The time between two frames that the course sends beside the gateway.
const APART: Interval = Interval::from_millis(1);
/// Frames of each other EtherType.
const OF_EACH_KIND: u64 = 5;
/// Frames for groups that a link may bring without carrying data: neighbours announce themselves.
const ANNOUNCEMENTS: u64 = 32;

/// Why a course has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps are done.
    Complete,
    /// The other end never came.
    NoOneCame,
    /// The other end fell silent.
    Silence,
    /// The link carries data of others.
    Data,
    /// The operator has ended it.
    Interrupted,
}

impl End {
    /// The text for a person.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Complete => "all steps are done",
            Self::NoOneCame => "the other end did not come; start the command there too, with the same key",
            Self::Silence => {
                "the other end fell silent: it has ended there, its worker stood still, or the link loses too many frames"
            }
            Self::Data => "the link carries data of others, and a course must stand beside nothing",
            Self::Interrupted => "it was interrupted",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listening,
    Open,
    Ended(End, Nanos),
}

/// One end of a course.
#[derive(Debug)]
pub struct Course {
    facts: Facts,
    session: Session,
    state: State,
    /// Whether it listened for long enough and heard no data. From then on it may send.
    opened: bool,
    began: Nanos,
    agreed: Option<Agreed>,
    steps: Vec<Step>,
    at: usize,
    phase: Phase,
    since: Nanos,
    /// When both ends had sent all of the step, and since when nothing has arrived.
    all_sent: Option<[Nanos; 2]>,
    counts: Counts,
    /// Those of the step before.
    last: Counts,
    load: Load,
    sink: Sink,
    window: Window,
    figures: Figures,
    /// Those at the beginning of the step, and of the course.
    before: [Figures; 2],
    delay: Option<Interval>,
    passed: u64,
    pauses_seen: u64,
    /// Frames beside the gateway that are still to be sent, and when.
    beside: (u64, Nanos),
    announcements: u64,
    reports: Vec<StepReport>,
    resumes: u8,
}

impl Course {
    /// The end that has drawn `number`, not zero, and begins at `now`.
    pub fn new(facts: Facts, key: Key, number: u64, now: Nanos) -> Self {
        Self {
            session: Session::new(key, number),
            state: State::Listening,
            opened: false,
            began: now,
            agreed: None,
            steps: vec![Step::Meet],
            at: 0,
            phase: Phase::Ready,
            since: now,
            all_sent: None,
            counts: Counts::default(),
            last: Counts::default(),
            load: Load::new(facts.rate, facts.max_frame),
            sink: Sink::new(now, 0, Interval::ZERO),
            window: Window::default(),
            figures: Figures::default(),
            before: [Figures::default(); 2],
            delay: None,
            passed: 0,
            pauses_seen: 0,
            beside: (0, now),
            announcements: 0,
            reports: Vec::new(),
            resumes: 0,
            facts,
        }
    }

    fn step(&self) -> Step {
        self.steps[self.at]
    }

    /// Whether the port may send anything.
    pub fn may_send(&self) -> bool {
        self.opened
    }

    /// Whether the sink takes no frames now.
    pub fn sink_is_stopped(&self) -> bool {
        self.state == State::Open && self.sink.is_stopped()
    }

    /// Whether it is over, and has said so.
    pub fn is_over(&self, now: Nanos) -> bool {
        matches!(self.state, State::Ended(_, at) if now.since(at) >= LINGERS)
    }

    /// Ends it. Nothing more is sent, but that all priorities may go on.
    pub fn end(&mut self, now: Nanos, end: End) {
        if !matches!(self.state, State::Ended(..)) {
            self.resumes = if self.may_send() { 3 } else { 0 };
            self.state = State::Ended(end, now);
        }
    }

    /// Takes what the control side has read.
    pub fn read(&mut self, figures: Figures) {
        self.figures = figures;
        if self.state != State::Open {
            self.before = [figures; 2];
        }
        if let (Step::Delay, Some(delay)) = (self.step(), figures.delay) {
            self.delay = Some(self.delay.map_or(delay, |known| known.min(delay)));
        }
    }

    /// Looks at a frame that the device of the port has received. Returns whether it ends here.
    pub fn arrive(&mut self, now: Nanos, frame: &impl Frame) -> bool {
        let headers = frame.headers();
        if self.session.hear(now, headers) {
            return true;
        }
        let Ok(view) = ethernet::View::parse(headers) else { return false };
        let ether_type = view.ether_type();
        if ether_type == EtherType::MAC_CONTROL {
            self.pauses_seen += u64::from(pauses::asks_for_nothing(headers));
            return false;
        }
        match frame::read(frame) {
            Some(it) if self.session.is_proven && it.stamp.session == self.session.yours => {
                self.session.frame_at = now;
                if let Err(kind) = it.marks {
                    let is_now = usize::from(it.stamp.step) == self.at && self.step() == Step::Marks;
                    self.counts[3] |= u64::from(is_now) << kind;
                    return true;
                }
                if usize::from(it.stamp.step) == self.at {
                    self.sink.see_frame(now);
                }
                false
            }
            // Of another run. Before a proof no run is known, and such a frame is data like any other.
            Some(it) if self.session.is_proven && it.marks.is_ok() => true,
            _ => {
                let is_control = KINDS.contains(&ether_type) || wire::grants::is_frame(headers);
                self.see_stranger(now, view.destination(), is_control);
                false
            }
        }
    }

    /// Judges a frame that is none of the course's.
    fn see_stranger(&mut self, now: Nanos, destination: MacAddress, is_control: bool) {
        if is_control {
            return;
        }
        self.announcements += 1;
        let may_announce = self.state == State::Open || self.announcements <= ANNOUNCEMENTS;
        if destination.is_unicast() || !may_announce {
            self.end(now, End::Data);
        }
    }

    /// Looks at a control frame that the gateway sends through the port.
    pub fn see_control(&mut self, now: Nanos, frame: &[u8]) {
        if pauses::asks_to_stop(frame, self.priority()) {
            self.sink.see_xoff(now);
        }
    }

    /// Obeys a control frame that the gateway sends to the test device.
    pub fn obey(&mut self, now: Nanos, frame: &[u8]) {
        if let Some(pfc) = pauses::read(frame) {
            self.load.obey(now, &pfc);
        }
    }

    /// Takes a frame that the gateway has forwarded to the test device.
    pub fn count(&mut self, now: Nanos, frame: &impl Frame) {
        let Some(frame::Arrived { stamp, marks: Ok((dscp, ecn)) }) = frame::read(frame) else { return };
        if stamp.session != self.session.yours || usize::from(stamp.step) != self.at {
            return;
        }
        if let Some([_, quiet_since]) = &mut self.all_sent {
            *quiet_since = now;
        }
        match (self.step(), &self.agreed) {
            (Step::Lengths, Some(agreed)) => {
                let is_whole = agreed.lengths.get(usize::from(stamp.value)) == Some(&frame.length().0);
                self.counts[0] |= u64::from(is_whole) << (stamp.value & 63);
            }
            (Step::Marks, _) => {
                let sent = (stamp.value >> 2, stamp.value & 3);
                self.counts[0] |= u64::from(dscp != sent.0) << sent.0;
                self.counts[1] |= u64::from(ecn != sent.1) << sent.0;
                self.counts[2] |= 1 << sent.0;
            }
            (Step::Loss(_) | Step::Soak, _) => {
                let is_new = self.window.see(stamp.number);
                self.counts[if is_new { judge::RECEIVED } else { judge::TWICE }] += 1;
            }
            _ => {}
        }
    }

    /// Gives `out` the frames that the test device sends, until it says no.
    pub fn send(&mut self, now: Nanos, out: &mut dyn FnMut(&[u8]) -> bool) {
        let (State::Open, Phase::Sending, Some(agreed)) = (self.state, self.phase, &self.agreed) else {
            return;
        };
        let step = self.step();
        if !agreed.tries(step, self.passed) {
            return;
        }
        let length = match step {
            Step::Loss(place) => agreed.lengths[place],
            Step::Marks => frame::SHORTEST as u64,
            _ => agreed.longest_of(self.passed).unwrap_or_default(),
        };
        let priority = self.priority();
        let (way, mine) = (self.way(), self.session.mine());
        self.load.send(now, (step, self.at as u8), (agreed, way, mine), (length, priority), out);
    }

    /// The priority of test frames.
    fn priority(&self) -> Priority {
        self.facts.priorities[self.agreed.as_ref().map_or(0, |it| usize::from(it.dscp))]
    }

    fn way(&self) -> Way {
        Way { source: self.facts.mac, destination: self.session.address.unwrap_or(self.facts.mac) }
    }

    /// Does what is due, and gives `out` the frames that it sends beside the gateway.
    pub fn poll(&mut self, now: Nanos, out: &mut dyn FnMut(&[u8])) {
        match self.state {
            State::Listening if now.since(self.began) >= LISTENS => {
                (self.state, self.opened) = (State::Open, true);
            }
            State::Listening => return,
            State::Open if self.session.is_silent(now) => self.end(now, End::Silence),
            State::Open if !self.session.is_proven && now.since(self.began) > WAITS => {
                self.end(now, End::NoOneCame);
            }
            State::Open if self.session.is_proven => self.go_on(now),
            State::Open => {}
            State::Ended(end, at) => {
                if self.resumes > 0 {
                    self.resumes -= 1;
                    out(&pauses::of_nothing(self.facts.mac));
                }
                if end != End::Complete || now.since(at) >= LINGERS {
                    return;
                }
            }
        }
        self.send_beside(now, out);
        let counts = if self.phase == Phase::Ready { self.last } else { self.counts };
        if let Some(message) = self.session.message(now, self.at as u8, self.phase, &counts) {
            let mut room = [0; wire::lldp::LONGEST_EMITTED];
            if let Ok(length) = message.emit(self.facts.mac, &mut room) {
                out(&room[..length]);
            }
        }
    }

    fn send_beside(&mut self, now: Nanos, out: &mut dyn FnMut(&[u8])) {
        let (left, due) = self.beside;
        if self.state != State::Open || self.phase != Phase::Sending || left == 0 || now < due {
            return;
        }
        self.beside = (left - 1, now + APART);
        if self.step() == Step::Passage {
            out(&pauses::of_nothing(self.facts.mac));
        } else {
            let kind = KINDS[left as usize % KINDS.len()];
            let stamp = Stamp { session: self.session.mine(), number: left, step: self.at as u8, value: 0 };
            out(&frame::of_kind(self.way(), kind, &stamp));
        }
    }

    /// The delay of the link as measured, or else as the file has it.
    fn known_delay(&self) -> Interval {
        self.delay.or(self.facts.delay).unwrap_or_default()
    }

    /// Whether the other end has come at least so far in this step.
    fn other_is(&self, phase: Phase) -> bool {
        (usize::from(self.session.step), self.session.phase) >= (self.at, phase)
    }

    /// Whether the sink of this end is the one that stops.
    fn is_mine(&self) -> bool {
        let is_greater = self.session.mine() > self.session.yours;
        matches!(self.step(), Step::Obedience { of_greater } if of_greater == is_greater)
    }

    fn go_on(&mut self, now: Nanos) {
        if self.phase == Phase::Sending {
            self.sink.poll(now);
        }
        if self.phase == Phase::Sent && self.other_is(Phase::Sent) {
            self.all_sent.get_or_insert([now; 2]);
        }
        let settles = SETTLES + self.known_delay() * 2;
        // A loop may bring a frame again and again.
        let is_settled =
            |[at, quiet_since]: [Nanos; 2]| now.since(quiet_since) >= settles || now.since(at) >= LONGEST;
        let next = match self.phase {
            Phase::Ready if self.other_is(Phase::Ready) => Phase::Sending,
            Phase::Sending if self.has_sent(now) => Phase::Sent,
            Phase::Sent if self.all_sent.is_some_and(is_settled) => Phase::Counted,
            Phase::Counted if self.other_is(Phase::Counted) => Phase::Ready,
            _ => return,
        };
        match next {
            Phase::Sending => self.begin(now),
            Phase::Counted => self.sum_up(),
            Phase::Ready => self.close(now),
            Phase::Sent => self.all_sent = None,
        }
        (self.phase, self.since) = (next, now);
        self.session.hurry();
    }

    fn begin(&mut self, now: Nanos) {
        self.load.begin(now);
        self.window = Window::default();
        let left = match self.step() {
            Step::Passage => PAUSES,
            Step::Marks => OF_EACH_KIND * KINDS.len() as u64,
            _ => 0,
        };
        self.beside = (left, now);
        let stops = match &self.agreed {
            Some(agreed) if self.is_mine() && agreed.tries(self.step(), self.passed) => {
                if self.facts.has_slots { 0 } else { agreed.terms.stops }
            }
            _ => 0,
        };
        self.sink = Sink::new(now, stops, self.known_delay());
    }

    fn has_sent(&self, now: Nanos) -> bool {
        let took = now.since(self.since);
        let Some(agreed) = &self.agreed else { return true };
        match self.step() {
            step if !agreed.tries(step, self.passed) => true,
            Step::Delay => took >= MEASURES.max(self.known_delay() * DELAYS),
            Step::Loss(_) => took >= agreed.terms.loss,
            Step::Soak => took >= agreed.terms.soak,
            Step::Obedience { .. } if self.is_mine() => self.sink.is_done(),
            Step::Obedience { .. } => self.other_is(Phase::Sent),
            step => {
                let has_sent = Some(self.load.sent) >= Load::frames(step, agreed) && self.beside.0 == 0;
                has_sent || took >= LONGEST
            }
        }
    }

    /// Completes the figures of the step.
    fn sum_up(&mut self) {
        let ([before, first], now, facts) = (self.before, self.figures, &self.facts);
        let priority = self.priority().index();
        let dropped_out = now.dropped_out[priority].saturating_sub(before.dropped_out[priority]);
        let dropped_in = now.dropped_in[priority].saturating_sub(before.dropped_in[priority]);
        // A device that restarts counts anew.
        let missed = now.missed.saturating_sub(before.missed);
        self.counts = match self.step() {
            Step::Meet => {
                let (Terms { loss, stops, soak }, rate) = (facts.terms, facts.rate.bits_per_second());
                [facts.max_frame.0, rate, facts.lossless, loss.0, stops, soak.0, facts.classes(), 0]
            }
            Step::Delay => [self.delay.map_or(UNKNOWN, |it| it.0), 0, 0, 0, 0, 0, 0, 0],
            Step::Passage => {
                let counted =
                    now.pauses_counted.map(|it| it.saturating_sub(before.pauses_counted.unwrap_or(0)));
                [self.pauses_seen, counted.unwrap_or(UNKNOWN), 0, 0, 0, 0, 0, 0]
            }
            Step::Loss(_) | Step::Soak => {
                let [_, received, _, _, _, twice, ..] = self.counts;
                [self.load.sent, received, missed, dropped_in, dropped_out, twice, 0, 0]
            }
            Step::Obedience { .. } => {
                let Sink { obeyed, ignored, worst, .. } = self.sink;
                let headroom = facts.headroom.unwrap_or_default().0;
                let (used, covered) = (now.headroom[priority], facts.covered.0);
                [obeyed, ignored, worst.0, dropped_in, used, covered, headroom, facts.has_slots.into()]
            }
            Step::Worker => {
                let late = now.late_turns.saturating_sub(first.late_turns);
                [late, now.longest_turn.0, now.missed.saturating_sub(first.missed), 0, 0, 0, 0, 0]
            }
            Step::Lengths | Step::Marks | Step::Over => self.counts,
        }
    }

    /// Judges the step, and goes to the next one.
    fn close(&mut self, now: Nanos) {
        let (near, far) = (self.counts, self.session.counts);
        let step = self.step();
        if step == Step::Meet {
            let agreed = Agreed::of(&near, &far);
            self.steps.extend(agreed.steps());
            self.agreed = Some(agreed);
        }
        if step == Step::Lengths {
            self.passed = near[0] & far[0];
        }
        if let Some(agreed) = &self.agreed {
            let (facts, passed, is_mine) = (&self.facts, self.passed, self.is_mine());
            let context = Context { facts, agreed, passed, is_mine };
            self.reports.push(judge::judge(step, &context, &near, &far));
        }
        (self.last, self.counts, self.at) = (near, Counts::default(), self.at + 1);
        self.before[0] = self.figures;
        self.pauses_seen = 0;
        if self.step() == Step::Over {
            self.end(now, End::Complete);
        }
    }

    /// How many steps are done.
    pub fn steps_done(&self) -> usize {
        self.reports.len()
    }

    /// Its findings.
    pub fn report(&self) -> Report {
        let end = match self.state {
            State::Ended(end, _) => end,
            State::Listening | State::Open => End::Interrupted,
        };
        let complete = end == End::Complete;
        let has = |verdict: Verdict| self.reports.iter().any(|it| it.verdict == verdict);
        let verdict = match has(Verdict::Fault) {
            true => Verdict::Fault,
            false if complete && !has(Verdict::Unknown) => Verdict::Pass,
            false => Verdict::Unknown,
        };
        let port = self.facts.port.clone();
        let (steps, ignored, suggested) = (self.reports.clone(), self.session.ignored, self.suggested());
        Report { port, complete, ended: end.about().into(), verdict, steps, suggested, ignored }
    }

    /// Lines for the file, as far as the steps bear them out.
    fn suggested(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        let faults = || self.reports.iter().flat_map(|it| it.faults.iter().map(|it| it.fault));
        let has = |fault: Fault| faults().any(|it| it == fault);
        if let (true, Some(delay)) = (has(Fault::Distance), self.delay) {
            let line = format!("distance = \"{}m\"", judge::distance(delay));
            lines.push((line, "from the measured delay".into()));
        }
        let longest = self.agreed.as_ref().and_then(|it| it.longest_of(self.passed));
        if let (true, Some(longest)) = (has(Fault::Length), longest) {
            let packet = longest - ethernet::HEADER_LEN as u64;
            lines.push((format!("mtu = {packet}"), "the longest that passed in both directions".into()));
        }
        let passage = self.reports.iter().find(|it| it.step.starts_with("passage"));
        if !self.facts.requires_pfc && passage.is_some_and(|it| it.verdict == Verdict::Pass) {
            let why = "PFC passes here; a card that is known not to pass it does not start";
            lines.push(("device.pfc_frames = \"require\"".into(), why.into()));
        }
        lines
    }
}
