//! The senders behind a port: their flows, and the schemes that notify them.
//!
//! A [`Scheme`] sees each frame that crosses the port, with its flow, and makes notifications at its deadline. This
//! file lists the schemes, which run on one table of flows. Calls that each frame needs name their scheme, so that
//! they are inlined; the others go to all schemes that run.

use super::lscc::{LsccReport, RateAdvertiser, RateLimiter};
use super::notifiers::Notifiers;
use super::scheme::Scheme;
use super::supplement::{Supplement, SupplementCounters};
pub(crate) use super::themis::SlowQueue;
use super::themis::{Slowdown, Themis, ThemisCounters};
use crate::descriptor::Descriptor;
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Attention, Crossing, Flows, Origin, Sample, Seen, Sighting, Slot, Way};
use crate::hash::HashKey;
use crate::lanes::{Home, Pace};
use crate::program::{FlowSettings, PortSettings, Settings};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, PortId, PortSet, QueueId, QueueSet, WireBytes};
use wire::ip::Ecn;

/// The fate of a frame that came in through the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    Forward,
    /// Forwarded, and slowly if [`Senders::slow`] says so.
    MaySlow(Slot),
    /// Ended here, and counted.
    Consumed,
}

/// Why a frame that came in through the port is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another CNP to its sender was just before.
    SuppressedCnp,
    /// Direct INT from elsewhere, which no one sends but to deceive.
    ForeignDirectInt,
}

/// The counters of these schemes, where they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotifiersReport {
    /// LSCC.
    pub lscc: Option<LsccReport>,
    /// THEMIS.
    pub themis: Option<ThemisCounters>,
    /// Supplemental CNPs.
    pub supplement: Option<SupplementCounters>,
}

impl NotifiersReport {
    /// That of a port whose `limiter` is all that it has of its own.
    pub(crate) fn of_limiter(limiter: Option<&RateLimiter>, advertiser: Option<&RateAdvertiser>) -> Self {
        Self { lscc: limiter.map(|it| LsccReport::new(it, advertiser)), ..Self::default() }
    }

    /// Adds what the schemes of another lane have counted; the others do not run on lanes.
    pub(crate) fn add_lane(&mut self, lane: &Self) {
        if let (Some(lscc), Some(more)) = (&mut self.lscc, &lane.lscc) {
            lscc.add_lane(more);
        }
    }
}

/// The flows of one port, and its schemes. Each frame is seen once for all schemes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Senders {
    pub flows: Flows,
    /// LSCC.
    pub limiter: Option<RateLimiter>,
    themis: Option<Themis>,
    supplement: Option<Supplement>,
    /// The limiters of the other links of its bundle, whose flows are the same.
    others: Vec<(PortId, RateLimiter)>,
}

impl Senders {
    /// The senders of `port`; `None` if no scheme notifies them. `key` is the hash key of the tables, and `seed` goes into
    /// nonces. `others` are the members of its bundle that [share its flows](super::Notifiers::shared_flows).
    pub fn new(settings: &Settings, port: PortId, others: PortSet, key: HashKey) -> Option<Self> {
        let (port, seed) = (&settings.ports[port.index()], settings.seed);
        let of_others = others.iter().filter_map(|it| settings.ports[it.index()].flows());
        let flows = of_others.fold(port.flows()?, FlowSettings::bundled);
        let (capacity, Notifiers { lscc, themis, supplement }) = (flows.capacity, &port.notifiers);
        // Only the limiter in use needs entries of flows.
        let limiter = |number: PortId| {
            let it = &settings.ports[number.index()];
            Some((number, RateLimiter::new(it.notifiers.lscc.as_ref()?, 0, it.rate, seed)))
        };
        Some(Self {
            flows: Flows::new(flows, key),
            limiter: lscc.as_ref().map(|it| RateLimiter::new(it, capacity, port.rate, seed)),
            themis: themis.as_ref().map(|it| Themis::new(it, capacity)),
            supplement: supplement.as_ref().map(|it| Supplement::new(it, capacity)),
            others: others.iter().filter_map(limiter).collect(),
        })
    }

    /// Moves from the member `from` of a bundle to `to`, which has another rate and the same flows.
    pub fn move_to(&mut self, from: PortId, to: PortId) {
        let Self { flows, limiter, others, .. } = self;
        if let (Some(limiter), Some((port, other))) = (limiter, others.iter_mut().find(|(it, _)| *it == to)) {
            limiter.exchange(other, flows);
            *port = from;
        }
    }

    /// The limiter of another member.
    pub fn limiter_of(&self, member: PortId) -> Option<&RateLimiter> {
        self.others.iter().find(|(port, _)| *port == member).map(|(_, limiter)| limiter)
    }

    /// Takes new settings, those of `spare`. The state stays, unless the table of flows needs another size, ageing or
    /// key. It is then exchanged with the table of `spare`, which is empty. A scheme that starts comes from `spare`,
    /// and one that stops is left there.
    pub fn configure(&mut self, spare: &mut Self) {
        let exchanged = self.flows.configure(&mut spare.flows);
        configure(&mut self.limiter, &mut spare.limiter, exchanged);
        configure(&mut self.themis, &mut spare.themis, exchanged);
        configure(&mut self.supplement, &mut spare.supplement, exchanged);
        if self.others.len() != spare.others.len() {
            return core::mem::swap(&mut self.others, &mut spare.others);
        }
        self.others.sort_by_key(|(port, _)| *port);
        for ((_, limiter), (_, spare)) in self.others.iter_mut().zip(&mut spare.others) {
            limiter.configure(spare, exchanged);
        }
    }

    /// Leaves pairs of hosts to other lanes.
    pub fn divide(&mut self, home: Home) {
        self.flows.divide(home);
    }

    /// Adds `bytes` that other lanes have taken, and returns what they are to go by. `None` without a rate.
    pub fn lead(&mut self, now: Nanos, bytes: WireBytes) -> Option<Pace> {
        Some(self.limiter.as_mut()?.lead(now, bytes, &mut self.flows))
    }

    /// Goes by what the lead has told.
    pub fn follow(&mut self, now: Nanos, pace: Pace) {
        if let Some(limiter) = &mut self.limiter {
            limiter.follow(now, pace);
        }
    }

    /// The schemes that run.
    fn running(&self) -> impl Iterator<Item = &dyn Scheme> {
        let Self { limiter, themis, supplement, .. } = self;
        let all: [Option<&dyn Scheme>; 3] = [as_scheme(themis), as_scheme(limiter), as_scheme(supplement)];
        all.into_iter().flatten()
    }

    /// The schemes that run, and the flows that they share.
    fn running_mut(&mut self) -> (&mut Flows, impl Iterator<Item = &mut dyn Scheme>) {
        let Self { flows, limiter, themis, supplement, .. } = self;
        let all: [Option<&mut dyn Scheme>; 3] =
            [as_scheme_mut(themis), as_scheme_mut(limiter), as_scheme_mut(supplement)];
        (flows, all.into_iter().flatten())
    }

    /// Whether notifications may wait in the schemes which `settings` turn off.
    pub fn may_wait(&self, settings: &PortSettings) -> bool {
        self.running().any(|it| !it.is_on(settings) && it.waiting() > 0)
    }

    /// The number of notifications that are lost with the schemes which `settings` turn off. A supplemental CNP is
    /// due in the queues in `severe` only, and to a sender that `is_reachable` by it.
    pub fn lose(
        &mut self,
        now: Nanos,
        settings: &PortSettings,
        severe: QueueSet,
        mut is_reachable: impl FnMut(PortId, Notification) -> bool,
    ) -> u64 {
        let (flows, running) = self.running_mut();
        let ending = running.filter(|it| !it.is_on(settings));
        ending.map(|it| it.lose(now, severe, flows, &mut is_reachable)).sum()
    }

    /// Prefetches the flows of `frames` that cross this `way`, before they are taken one by one.
    #[inline]
    pub fn look_ahead<'a>(&mut self, way: Way, frames: impl Iterator<Item = &'a [u8]>) {
        let limiter = self.limiter.as_ref();
        self.flows.look_ahead(way, frames, |slot, hot| limiter.map_or(0, |it| it.peek(slot, hot)));
    }

    /// Takes a frame that goes out through the port.
    #[inline(always)]
    pub fn send(&mut self, frame: Crossing<'_>, headers: &mut [u8]) {
        if self.flows.samples() {
            return self.send_sampled(frame, headers);
        }
        match self.flows.see_next::<false>(Way::Out, frame, headers, true) {
            Some(seen) => self.send_seen(frame, seen, headers),
            None => self.send_unusual(frame, headers, true),
        }
    }

    /// As [`Senders::send`], where the resolver learns from a sample.
    #[inline(never)]
    fn send_sampled(&mut self, frame: Crossing<'_>, headers: &mut [u8]) {
        let Some(limiter) = &mut self.limiter else { return };
        let looks = limiter.looks(frame, &mut self.flows);
        let learns = match self.flows.attention(Way::Out, looks, frame.descriptor, headers) {
            Attention::Learn => true,
            Attention::Look => false,
            Attention::Pass if frame.limited => return limiter.pass(frame.length),
            Attention::Pass => return,
        };
        match self.flows.see_next::<true>(Way::Out, frame, headers, learns) {
            Some(seen) => self.send_seen(frame, seen, headers),
            None => self.send_unusual(frame, headers, learns),
        }
    }

    /// The sample of a port that is quiet as frames go out `now`: those outside of it and without a congestion mark
    /// pass without a look. Their bytes [count](Self::pass).
    pub fn quiet_sample_at(&mut self, now: Nanos) -> Option<Sample> {
        let Self { flows, limiter, .. } = self;
        if flows.samples() {
            limiter.as_mut()?.look_at_queue(now, flows);
        }
        flows.quiet_sample(now)
    }

    /// As [`Senders::quiet_sample_at`], for frames that come in.
    pub fn quiet_sample(&self, now: Nanos) -> Option<Sample> {
        self.flows.quiet_sample(now)
    }

    /// Counts frames to which a rate applies, and which passed without a look.
    pub fn pass(&mut self, bytes: WireBytes) {
        if let Some(limiter) = &mut self.limiter {
            limiter.pass(bytes);
        }
    }

    /// As [`Senders::send`], for a frame of `length` whose headers are to be parsed. `from` is the
    /// port at which it came in, and whether a rate applies to it.
    #[inline(always)]
    pub fn send_unparsed(&mut self, now: Nanos, from: (PortId, bool), headers: &mut [u8], length: Bytes) {
        match Descriptor::parse_usual(headers, length) {
            Some(descriptor) => {
                self.send(Crossing::new(now, from.0, length, from.1, &descriptor), headers);
            }
            None => self.send_other(now, from, headers, length),
        }
    }

    #[inline(never)]
    fn send_other(&mut self, now: Nanos, from: (PortId, bool), headers: &mut [u8], length: Bytes) {
        if let Some(descriptor) = Descriptor::parse(headers, length) {
            self.send(Crossing::new(now, from.0, length, from.1, &descriptor), headers);
        }
    }

    #[inline(never)]
    fn send_unusual(&mut self, frame: Crossing<'_>, headers: &mut [u8], learns: bool) {
        let seen = self.flows.see(Way::Out, frame, headers, learns);
        self.send_seen(frame, seen, headers);
    }

    /// Shows the schemes a frame that goes out, with its flow.
    #[inline(always)]
    fn send_seen(&mut self, frame: Crossing<'_>, seen: Seen, headers: &mut [u8]) {
        if let Some(themis) = &mut self.themis {
            themis.send(frame, seen, &mut self.flows, headers);
        }
        if let Some(limiter) = &mut self.limiter {
            limiter.send(frame, seen, &mut self.flows, headers);
        }
    }

    /// Takes a frame that came in through the port.
    ///
    /// # Errors
    /// The frame ends here: [`Refusal`].
    #[inline(always)]
    pub fn receive(&mut self, frame: Crossing<'_>, headers: &[u8]) -> Result<Disposition, Refusal> {
        let frame = Crossing { port: Origin::FAR, ..frame };
        if self.flows.samples() {
            return self.receive_sampled(frame, headers);
        }
        match self.flows.see_next::<false>(Way::In, frame, headers, true) {
            Some(seen) => self.receive_seen(frame, seen, headers),
            None => self.receive_unusual(frame, headers, true),
        }
    }

    /// As [`Senders::receive`], where the resolver learns from a sample.
    #[inline(never)]
    fn receive_sampled(&mut self, frame: Crossing<'_>, headers: &[u8]) -> Result<Disposition, Refusal> {
        let looks = self.flows.is_watched(frame.now);
        let learns = match self.flows.attention(Way::In, looks, frame.descriptor, headers) {
            Attention::Learn => true,
            Attention::Look => false,
            Attention::Pass => return Ok(Disposition::Forward),
        };
        match self.flows.see_next::<true>(Way::In, frame, headers, learns) {
            Some(seen) => self.receive_seen(frame, seen, headers),
            None => self.receive_unusual(frame, headers, learns),
        }
    }

    #[inline(never)]
    fn receive_unusual(
        &mut self,
        frame: Crossing<'_>,
        headers: &[u8],
        learns: bool,
    ) -> Result<Disposition, Refusal> {
        let seen = self.flows.see(Way::In, frame, headers, learns);
        self.receive_seen(frame, seen, headers)
    }

    /// Shows the schemes a frame that came in, with its flow.
    #[inline(always)]
    fn receive_seen(
        &mut self,
        frame: Crossing<'_>,
        Seen { sighting, .. }: Seen,
        headers: &[u8],
    ) -> Result<Disposition, Refusal> {
        if let Sighting::Notification(_) | Sighting::DirectInt = sighting {
            self.receive_notification(frame.now, sighting, frame.origin(headers))?;
        }
        let slot = self.themis.as_ref().and_then(|it| it.receive(sighting, &self.flows));
        Ok(slot.map_or(Disposition::Forward, Disposition::MaySlow))
    }

    /// Shows the schemes a notification from the far side.
    #[cold]
    fn receive_notification(
        &mut self,
        now: Nanos,
        sighting: Sighting,
        origin: Origin,
    ) -> Result<(), Refusal> {
        let (flows, mut running) = self.running_mut();
        match sighting {
            Sighting::Notification(flow) if !running.all(|it| it.receive_cnp(now, flow, flows, origin)) => {
                Err(Refusal::SuppressedCnp)
            }
            Sighting::DirectInt if !running.all(|it| it.takes_direct_int()) => Err(Refusal::ForeignDirectInt),
            _ => Ok(()),
        }
    }

    /// The length of a queue from which a scheme follows the marked packets that leave it; `None` if none does.
    #[inline]
    pub fn severe_from(&self) -> Option<Bytes> {
        self.supplement.as_ref().and_then(Supplement::threshold)
    }

    /// Takes a frame that leaves the port from `queue`.
    pub fn depart(&mut self, now: Nanos, queue: QueueId, headers: &[u8], length: Bytes) {
        if let Some(supplement) = &mut self.supplement
            && let Some(descriptor) = Descriptor::parse(headers, length)
            && descriptor.ecn() == Ecn::Ce
        {
            supplement.depart(now, queue, &descriptor, headers, &mut self.flows);
        }
    }

    /// Whether a scheme may hold up frames that come in.
    pub fn may_slow(&self) -> bool {
        self.themis.is_some()
    }

    /// The counters of the schemes; `advertiser` is the other module of LSCC.
    pub fn report(&self, advertiser: Option<&RateAdvertiser>) -> NotifiersReport {
        let Self { limiter, themis, supplement, .. } = self;
        NotifiersReport {
            lscc: limiter.as_ref().map(|it| LsccReport::new(it, advertiser)),
            themis: themis.as_ref().map(|it| it.counters),
            supplement: supplement.as_ref().map(|it| it.counters),
        }
    }

    /// Whether the next frame of a flow that [may be slowed](Disposition::MaySlow) takes the slow queue, and the
    /// way in which that queue must be slow.
    pub fn slow(&mut self, now: Nanos, slot: Slot, queue: &SlowQueue) -> Option<Slowdown> {
        self.themis.as_mut()?.slow(now, slot, &mut self.flows, queue)
    }

    /// The time of the next call of [`Senders::notify`].
    #[inline]
    pub fn deadline(&self) -> Nanos {
        let Self { limiter, themis, supplement, .. } = self;
        deadline(limiter).min(deadline(themis)).min(deadline(supplement))
    }

    /// Whether notifications wait until a port that has room again calls [`Senders::notify`].
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.running().any(|it| it.is_blocked())
    }

    /// Lets the schemes make the notifications that are due, as long as `send` takes them. The queues in `severe` are
    /// [that long](Self::severe_from).
    pub fn notify(
        &mut self,
        now: Nanos,
        severe: QueueSet,
        mut send: impl FnMut(PortId, Notification) -> Offer,
    ) {
        let (flows, running) = self.running_mut();
        running.for_each(|it| it.notify(now, severe, flows, &mut send));
    }
}

fn configure<S: Scheme>(running: &mut Option<S>, spare: &mut Option<S>, exchanged: bool) {
    match (running, spare) {
        (Some(running), Some(spare)) => running.configure(spare, exchanged),
        (running, spare) => core::mem::swap(running, spare),
    }
}

#[inline]
fn deadline(scheme: &Option<impl Scheme>) -> Nanos {
    scheme.as_ref().map_or(Nanos::NEVER, Scheme::deadline)
}

fn as_scheme(scheme: &Option<impl Scheme>) -> Option<&dyn Scheme> {
    scheme.as_ref().map(|it| it as &dyn Scheme)
}

fn as_scheme_mut(scheme: &mut Option<impl Scheme>) -> Option<&mut dyn Scheme> {
    scheme.as_mut().map(|it| it as &mut dyn Scheme)
}
