//! The frames that follow in a run: a loop of its own for each way in which schemes see them.

use super::Fabric;
use super::arrival::{Arrival, Decided, Entrance, Next};
use super::lscc::is_rate_feedback;
use super::run::{Run, Way};
use crate::congestion::lscc::Outgoing;
use crate::congestion::senders::{Refusal, Senders};
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::Frame;
use crate::ledger::{Load, Volume};
use crate::queue::{Added, Store};
use units::{Bytes, Cells, Nanos, PortId, Priority, QueueId, WireBytes};

/// Sees the frames that follow in a run.
trait Witness<F> {
    /// Whether a frame is for this end of the link, and so no part of a run.
    #[inline(always)]
    fn keeps(&self, descriptor: &Descriptor, headers: &[u8]) -> bool {
        is_rate_feedback(*descriptor, headers)
    }

    /// Sees a frame that came in.
    ///
    /// # Errors
    /// The frame ends here: [`Refusal`].
    #[inline(always)]
    fn receive(&mut self, _: &Descriptor, _: &[u8], _: Bytes) -> Result<(), Refusal> {
        Ok(())
    }

    /// Sees the frames that were queued. It does not change what becomes of them here.
    #[inline(always)]
    fn send(&mut self, _: &mut Store<F>, _: Added) {}
}

/// No port keeps flows.
struct Nobody;

impl<F: Frame> Witness<F> for Nobody {
    #[inline(always)]
    fn keeps(&self, _: &Descriptor, _: &[u8]) -> bool {
        false
    }
}

/// The schemes of the port through which the frames came in from a long link.
struct FromFar<'a> {
    now: Nanos,
    port: PortId,
    senders: &'a mut Senders,
}

impl<F: Frame> Witness<F> for FromFar<'_> {
    #[inline(always)]
    fn receive(&mut self, descriptor: &Descriptor, headers: &[u8], length: Bytes) -> Result<(), Refusal> {
        let came = (self.port, WireBytes::of_frame(length));
        self.senders.receive(self.now, came, descriptor, headers).map(|_| ())
    }
}

/// The schemes of the port through which the frames go out to a long link.
struct ToFar<'a> {
    now: Nanos,
    /// The port through which the frames came in.
    port: PortId,
    /// Whether the rate applies to their priority.
    limited: bool,
    senders: &'a mut Senders,
}

impl<F: Frame> Witness<F> for ToFar<'_> {
    /// A loop of its own keeps in registers what the schemes need.
    #[inline(never)]
    fn send(&mut self, store: &mut Store<F>, added: Added) {
        let Self { now, port, limited, ref mut senders } = *self;
        store.for_each_added(added, |queued| {
            let length = queued.length();
            let outgoing = Outgoing { port, length: WireBytes::of_frame(length), limited };
            senders.send_unparsed(now, outgoing, queued.frame.headers_mut(), length);
        });
    }
}

/// The end of a run.
enum End<F> {
    /// The burst is over.
    Burst,
    /// This frame does not belong to it.
    Before(Next<F>),
    /// A frame of this length was refused.
    Refused(Refusal, Bytes),
}

impl<F: Frame> Fabric<F> {
    /// Whether frames are only classified, forwarded, and shown to schemes that hold none of them up.
    #[inline]
    pub(super) fn is_plain(&self, entrance: &Entrance<'_>) -> bool {
        let Entrance { port, addresses, keeps_flows, detours, .. } = *entrance;
        addresses.is_none() && !detours && !(keeps_flows && self.may_hold_up(port))
    }

    /// Whether the frames that follow in `run` at a plain entrance go straight into their queue, and are seen by the schemes
    /// of one port at most.
    #[inline]
    pub(super) fn leads(&self, entrance: &Entrance<'_>, run: &Run) -> bool {
        let is_seen_once = || run.shown != self.notifying.contains(entrance.port);
        run.way == Way::Queue && (!entrance.keeps_flows || is_seen_once())
    }

    /// Queues the frames that follow in `run`, which adds to its queue directly, and charges the run. Returns the next frame,
    /// which does not belong to it.
    #[inline]
    pub(super) fn follow(
        &mut self,
        entrance: &Entrance<'_>,
        run: Run,
        frames: &mut impl Iterator<Item = F>,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> Option<Next<F>> {
        let end = match entrance.keeps_flows {
            false => self.follow_before(Nobody, entrance, run, frames, forward),
            true => self.follow_seen(entrance, run, frames, forward),
        };
        match end {
            End::Burst => None,
            End::Before(next) => Some(next),
            End::Refused(refusal, length) => {
                self.count_refusal(entrance.port, entrance.settings, refusal, length);
                frames.next().map(Next::Unread)
            }
        }
    }

    /// As [`Fabric::follow`], before the schemes of the port that sees the frames.
    #[inline]
    fn follow_seen(
        &mut self,
        entrance: &Entrance<'_>,
        run: Run,
        frames: &mut impl Iterator<Item = F>,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> End<F> {
        let (shown, priority) = (run.shown, run.priority);
        let port = if shown { run.egress } else { entrance.port };
        // They are lent to the loop, which also changes the queue.
        let Some(mut lent) = self.senders[port.index()].take() else {
            return self.follow_before(Nobody, entrance, run, frames, forward);
        };
        let (senders, now) = (&mut *lent, entrance.now);
        let end = if shown {
            let limited = self.ingress[port.index()].lossless().contains(priority);
            let witness = ToFar { now, port: entrance.port, limited, senders };
            self.follow_before(witness, entrance, run, frames, forward)
        } else {
            self.follow_before(FromFar { now, port, senders }, entrance, run, frames, forward)
        };
        self.senders[port.index()] = Some(lent);
        end
    }

    /// As [`Fabric::follow`], before the eyes of `witness`.
    #[inline(never)]
    fn follow_before(
        &mut self,
        mut witness: impl Witness<F>,
        entrance: &Entrance<'_>,
        mut run: Run,
        frames: &mut impl Iterator<Item = F>,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> End<F> {
        let Entrance { now, port, settings, .. } = *entrance;
        let Run { egress, queue, priority, room, charge, .. } = run;
        let longest = run.longest.min(settings.max_frame);
        let Load { mut cells, volume: Volume { frames: before, mut bytes } } = run.load;
        let (mut end, hidden) = (End::Burst, &mut self.ingress[port.index()].hidden);
        let added = self.store.push_run(&mut run.lent, || {
            let mut frame = frames.next()?;
            let (headers, length) = (frame.headers(), frame.length());
            let descriptor = Descriptor::parse(headers, length).filter(|it| {
                !it.is_control(headers)
                    && length <= longest
                    && settings.classification.priority(it.dscp(), it.pcp) == priority
                    && !witness.keeps(it, headers)
            });
            let Some(descriptor) = descriptor else {
                end = End::Before(Next::Unread(frame));
                return None;
            };
            hidden.see(&descriptor);
            if let Err(refusal) = witness.receive(&descriptor, headers, length) {
                end = End::Refused(refusal, length);
                return None;
            }
            let (verdict, chosen) = forward(&descriptor, priority, &mut frame);
            let arrival = Arrival { now, port, priority, queue: chosen, length, descriptor };
            let cells_with = cells + Cells::of_frame(length);
            if verdict != Verdict::Forward(egress) || chosen != queue || cells_with > room {
                end = End::Before(Next::Decided(Decided { frame, arrival, verdict }));
                return None;
            }
            (cells, bytes) = (cells_with, bytes + length);
            Some(arrival.queued(egress, frame, charge))
        });
        witness.send(&mut self.store, added);
        run.load = Load { cells, volume: Volume { frames: before + added.items() as u64, bytes } };
        self.charge(port, run);
        end
    }
}
