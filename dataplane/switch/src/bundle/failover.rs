//! The members of bundles that do not send: those without a carrier, and those that wait to return.
//!
//! The frames of a member that fails move to its siblings, in their order. A frame stays behind those of its flow that went
//! before: frames move once those that left through the dead member have arrived, and a member that returns sends once
//! everything has left and arrived that waits at its siblings.

use super::Bundles;
use crate::ledger::Volume;
use crate::liveness::{LinkState, Monitor};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos, PortId, PortSet, Priority, QueueId};

/// The time after which a member gives up to return, because its siblings are stopped, and its frames move again.
pub(crate) const PATIENCE: Interval = Interval::from_secs(1);

units::named! {
    /// What a member of a bundle does.
    MemberState [serde] {
        /// It sends.
        Up = "up",
        /// Its frames move to its siblings.
        Out = "out",
        /// Its link has failed a moment ago, and may come back as if nothing had been. Its frames wait.
        Held = "held",
        /// It waits until its siblings have sent what was moved to them.
        Returning = "returning",
    }
}

/// The counters of one member, and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleReport {
    /// What it does.
    pub state: MemberState,
    /// Its frames that left through siblings instead, or wait there.
    pub moved_out: Volume,
    /// Frames of siblings that it got.
    pub moved_in: Volume,
    /// The times when it failed.
    pub failures: u64,
    /// The times when it sent again.
    pub returns: u64,
    /// The times when it could not return because its siblings were stopped.
    pub gave_up: u64,
}

impl BundleReport {
    const NEW: Self = Self {
        state: MemberState::Up,
        moved_out: Volume::ZERO,
        moved_in: Volume::ZERO,
        failures: 0,
        returns: 0,
        gave_up: 0,
    };
}

impl core::ops::AddAssign for BundleReport {
    /// Frames add up. A link fails once for all lanes, and the state is that of the lane that is furthest from sending.
    fn add_assign(&mut self, other: Self) {
        let far = |state| match state {
            MemberState::Up => 0,
            MemberState::Held => 1,
            MemberState::Returning => 2,
            MemberState::Out => 3,
        };
        self.state = if far(other.state) > far(self.state) { other.state } else { self.state };
        self.moved_out += other.moved_out;
        self.moved_in += other.moved_in;
        self.failures = self.failures.max(other.failures);
        self.returns = self.returns.max(other.returns);
        self.gave_up = self.gave_up.max(other.gave_up);
    }
}

/// The state of a member's link, as its monitor or its carrier tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// It carries data.
    Lives,
    /// It has failed a moment ago.
    Held,
    /// It carries no data.
    Failed,
}

impl Verdict {
    pub fn of(monitor: &Monitor) -> Self {
        match monitor.state() {
            LinkState::Up => Self::Lives,
            LinkState::Held => Self::Held,
            LinkState::Out | LinkState::Proving | LinkState::Drained => Self::Failed,
        }
    }

    pub fn of_carrier(is_up: bool) -> Self {
        if is_up { Self::Lives } else { Self::Failed }
    }
}

/// What a member has to wait for at one of its siblings.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Behind {
    pub sibling: PortId,
    /// By queue, the frames that it has to have sent in all, unless none waits.
    pub frames: [u64; Priority::COUNT],
}

/// One member.
#[derive(Debug, Serialize, Deserialize)]
struct Member {
    has_carrier: bool,
    verdict: Verdict,
    /// When its frames may move; or when it sends, once its siblings have sent theirs, and never before.
    acts_at: Nanos,
    /// The end of its patience, while it returns.
    until: Nanos,
    /// The number of its failure, or of the return that it has begun: a later one has a higher number.
    number: u64,
    behind: Vec<Behind>,
    report: BundleReport,
}

/// The members of all bundles of a shard.
#[derive(Default, Debug, Serialize, Deserialize)]
pub(crate) struct Failover {
    /// By port; `None` for those in no bundle.
    members: Vec<Option<Box<Member>>>,
    /// The members that do not send.
    stopped: PortSet,
    /// The last number.
    numbers: u64,
}

impl Failover {
    /// Takes the members of `bundles`, who keep their state: no reload changes who is a member. New ones send at once, but for
    /// those that are `watched`: their links have yet to show that they live.
    pub fn configure(&mut self, bundles: Option<&Bundles>, ports: usize, watched: PortSet) {
        self.members.resize_with(ports, || None);
        for (port, member) in (0..).map(PortId).zip(&mut self.members) {
            let siblings = bundles.map_or(PortSet::EMPTY, |bundles| bundles.members(port));
            if siblings.is_empty() {
                *member = None;
                self.stopped.remove(port);
                continue;
            }
            if member.is_none() && watched.contains(port) {
                self.stopped.insert(port);
            }
            let new = || {
                let others = siblings.iter().filter(|it| *it != port);
                let others = others.map(|sibling| Behind { sibling, frames: [0; Priority::COUNT] });
                let (verdict, state) = match watched.contains(port) {
                    true => (Verdict::Failed, MemberState::Out),
                    false => (Verdict::Lives, MemberState::Up),
                };
                Box::new(Member {
                    has_carrier: true,
                    verdict,
                    acts_at: Nanos::ZERO,
                    until: Nanos::NEVER,
                    number: 0,
                    behind: others.collect(),
                    report: BundleReport { state, ..BundleReport::NEW },
                })
            };
            member.get_or_insert_with(new);
        }
    }

    /// The members that do not send.
    #[inline]
    pub fn stopped(&self) -> PortSet {
        self.stopped
    }

    pub fn report(&self, port: PortId) -> Option<BundleReport> {
        self.member(port).map(|member| member.report)
    }

    fn member(&self, port: PortId) -> Option<&Member> {
        self.members.get(port.index())?.as_deref()
    }

    fn member_mut(&mut self, port: PortId) -> Option<&mut Member> {
        self.members.get_mut(port.index())?.as_deref_mut()
    }

    /// Whether `port` is out: its frames move, and no frame moves to it.
    pub fn is_out(&self, port: PortId) -> bool {
        self.member(port).is_some_and(|member| member.report.state == MemberState::Out)
    }

    /// Whether the device of `port` sends, if only control frames.
    pub fn has_carrier(&self, port: PortId) -> bool {
        self.member(port).is_none_or(|member| member.has_carrier)
    }

    /// Sets whether the device of `port` sends.
    pub fn set_carrier(&mut self, port: PortId, up: bool) {
        self.member_mut(port).iter_mut().for_each(|member| member.has_carrier = up);
    }

    /// The state of the link of `port`.
    pub fn verdict(&self, port: PortId) -> Verdict {
        self.member(port).map_or(Verdict::Lives, |member| member.verdict)
    }

    /// Stops `port`, of whose link `verdict` says that it does not live. Its frames move from `moves_at` on.
    pub fn fail(&mut self, port: PortId, verdict: Verdict, moves_at: Nanos) {
        let is_out = self.is_out(port);
        if !is_out {
            self.put_out(port, moves_at);
        }
        let Some(member) = self.member_mut(port) else { return };
        member.report.failures += u64::from(verdict == Verdict::Failed && member.verdict != Verdict::Failed);
        member.verdict = verdict;
    }

    /// Whether `port` is held: its frames wait for its own link.
    pub fn is_held(&self, port: PortId) -> bool {
        self.member(port).is_some_and(|member| member.report.state == MemberState::Held)
    }

    /// Lets the frames of `port` move from `moves_at` on, and before those of members that are out already.
    pub fn put_out(&mut self, port: PortId, moves_at: Nanos) {
        let number = self.next_number();
        let Some(member) = self.member_mut(port) else { return };
        member.report.state = MemberState::Out;
        (member.acts_at, member.until, member.number) = (moves_at, Nanos::NEVER, number);
        self.stopped.insert(port);
    }

    fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// The number of the last failure or return of `port`.
    pub fn number(&self, port: PortId) -> u64 {
        self.member(port).map_or(0, |member| member.number)
    }

    /// Stops `port`, which sends, for a while. Its frames stay.
    pub fn hold(&mut self, port: PortId) {
        let Some(member) = self.member_mut(port) else { return };
        member.verdict = Verdict::Held;
        member.report.state = MemberState::Held;
        (member.acts_at, member.until) = (Nanos::NEVER, Nanos::NEVER);
        self.stopped.insert(port);
    }

    /// Notes that the link of `port` lives. A port that was held sends.
    pub fn recover(&mut self, port: PortId) {
        let Some(member) = self.member_mut(port) else { return };
        member.verdict = Verdict::Lives;
        if member.report.state == MemberState::Held {
            member.report.state = MemberState::Up;
            self.stopped.remove(port);
        }
    }

    /// The members that are out.
    pub fn out(&self) -> PortSet {
        self.stopped.iter().filter(|port| self.is_out(*port)).collect()
    }

    /// Lets `port` return, which is out. `behind` says what a queue of a sibling has to have sent before.
    pub fn begin_return(&mut self, now: Nanos, port: PortId, behind: impl Fn(QueueId, PortId) -> u64) {
        let (out, number) = (self.out(), self.next_number());
        let Some(member) = self.member_mut(port) else { return };
        member.report.state = MemberState::Returning;
        (member.acts_at, member.until, member.number) = (Nanos::NEVER, now + PATIENCE, number);
        for Behind { sibling, frames } in &mut member.behind {
            // A sibling that is out holds no frame that has to leave first.
            let waits = !out.contains(*sibling);
            let of = |queue| if waits { behind(queue, *sibling) } else { 0 };
            *frames = core::array::from_fn(|index| of(QueueId::from_low_bits(index as u8)));
        }
    }

    /// What `port` waits for, while it returns and it is not known when that ends.
    pub fn awaits(&self, port: PortId) -> Option<&[Behind]> {
        let member = self.member(port)?;
        let awaits = member.report.state == MemberState::Returning && member.acts_at == Nanos::NEVER;
        awaits.then_some(&member.behind)
    }

    /// Sets the time when `port` sends, which returns: its siblings have sent all that it waited for, or there is none.
    pub fn return_at(&mut self, port: PortId, at: Nanos) {
        self.member_mut(port).iter_mut().for_each(|member| member.acts_at = at);
    }

    /// Whether the time has come at which `port`, which returns, sends.
    pub fn ends_return(&self, now: Nanos, port: PortId) -> bool {
        self.member(port).is_some_and(|it| it.report.state == MemberState::Returning && it.acts_at <= now)
    }

    /// Whether the patience of `port`, which returns, is over.
    pub fn is_impatient(&self, now: Nanos, port: PortId) -> bool {
        self.member(port).is_some_and(|it| it.until <= now)
    }

    /// Lets `port` send.
    pub fn let_send(&mut self, port: PortId) {
        let Some(member) = self.member_mut(port) else { return };
        member.report.state = MemberState::Up;
        member.report.returns += 1;
        member.until = Nanos::NEVER;
        self.stopped.remove(port);
    }

    /// Counts that `port` gave up to return.
    pub fn count_gave_up(&mut self, port: PortId) {
        self.member_mut(port).iter_mut().for_each(|member| member.report.gave_up += 1);
    }

    /// The time when `port`, which is stopped, has frames to move, or sends again, or gives up.
    pub fn deadline(&self, port: PortId) -> Nanos {
        self.member(port).map_or(Nanos::NEVER, |member| member.acts_at.min(member.until))
    }

    /// Whether frames of `port` wait until those of `other` have moved, which failed later and may have got some of them.
    pub fn is_behind(&self, port: PortId, other: PortId) -> bool {
        let out = |port| self.member(port).filter(|member| member.report.state == MemberState::Out);
        out(port).zip(out(other)).is_some_and(|(own, other)| other.number > own.number)
    }

    pub fn count_moved(&mut self, from: PortId, to: PortId, volume: Volume) {
        self.member_mut(from).iter_mut().for_each(|member| member.report.moved_out += volume);
        self.member_mut(to).iter_mut().for_each(|member| member.report.moved_in += volume);
    }
}
