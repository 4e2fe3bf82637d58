//! The short cuts of the path in [`Fabric::ingress`]. They leave the same state as the path, and save 62 and 95
//! instructions for each frame (callgrind, `benches/notes/performance.md`).
//!
//! - [`Fabric::pass`] is `carry_out` and the egress of the frame in one, for a lone frame that meets an idle port: no
//!   queue, no scheduler, no turn.
//! - [`Fabric::follow`] is `receive` and `add_to` in one, for the frames that follow in a run: it knows the decision
//!   that they must have, and writes into their queue. It is its own loop for each way in which schemes see the frames.

use super::Fabric;
use super::arrival::{Arrival, Decided, Entrance, Next};
use super::run::{Run, Way};
use super::services::is_rate_feedback;
use super::viewer::{Inward, Nobody, Outward, QuietInward, QuietOutward, Viewer};
use crate::congestion::senders::Refusal;
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::{Frame, Links};
use crate::ledger::{Load, Volume};
use units::{Bytes, Cells, Nanos, PortId, Priority, QueueId};

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
    /// Sends a lone frame at once if its egress port is idle and no threshold or pause is near, and returns its
    /// start on the link. The frame is charged and credited within the call, with the same totals, watermarks and
    /// histograms as a frame that waits.
    #[inline(always)]
    pub(super) fn pass(&mut self, arrival: &Arrival, egress: PortId, links: &impl Links<F>) -> Option<Nanos> {
        let Arrival { now, port, priority, queue, length, .. } = *arrival;
        let Self { ledger, ingress, egress: ports, pools, .. } = self;
        let from = &ingress[port.index()];
        let group = &from.groups[priority.index()];
        let (lossless, load) = (group.is_lossless(), Load::of_frame(length));
        let may_pass = self.paused.is_empty()
            && !ingress[egress.index()].is_due(now)
            && group.has_room(load.cells, pools)
            && ports[egress.index()].may_pass(now, length, queue, lossless, pools)
            && links.takes(egress);
        if !may_pass {
            return None;
        }
        ledger.admit(port, egress, priority, load);
        ledger.depart(port, egress, priority, load);
        ingress[port.index()].pass_within_room(priority, load, pools);
        Some(ports[egress.index()].pass(now, length, queue, lossless, pools))
    }

    /// Whether frames are only classified, forwarded, and shown to schemes that hold none of them up.
    #[inline]
    pub(super) fn is_plain(&self, entrance: &Entrance<'_>) -> bool {
        let Entrance { port, addresses, keeps_flows, detours, .. } = *entrance;
        addresses.is_none() && !detours && !(keeps_flows && self.may_hold_up(port))
    }

    /// Whether the frames that follow in `run` at a plain entrance go straight into their queue, and are seen by the
    /// schemes of one port at most.
    #[inline]
    pub(super) fn leads(&self, entrance: &Entrance<'_>, run: &Run) -> bool {
        let is_seen_once = || run.shown != self.notifying.contains(entrance.port);
        run.way == Way::Queue && (!entrance.keeps_flows || is_seen_once())
    }

    /// Queues the frames that follow in `run`, which adds to its queue directly, and charges the run. Returns the
    /// next frame, which does not belong to it.
    #[inline]
    pub(super) fn follow(
        &mut self,
        entrance: &Entrance<'_>,
        run: Run,
        frames: &mut impl Iterator<Item = F>,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
    ) -> Option<Next<F>> {
        let Entrance { now, port, settings, keeps_flows, .. } = *entrance;
        // The senders that see the frames are lent to the loop, which also changes the queue. Those of a bundle are here, as they
        // saw the first frame of the run.
        let seen_at = if run.shown { run.egress } else { port };
        let mut lent = if keeps_flows { self.senders[seen_at.index()].take() } else { None };
        let end = match lent.as_deref_mut() {
            None => self.follow_seen(entrance, run, frames, forward, Nobody),
            Some(senders) if run.shown => {
                let limited = self.ingress[seen_at.index()].lossless().contains(run.priority);
                let sample = senders.quiet_sample_at(now);
                let outward = Outward { now, from: (port, limited), senders };
                match sample {
                    None => self.follow_seen(entrance, run, frames, forward, outward),
                    Some(sample) => {
                        let outward = QuietOutward::new(outward, sample);
                        self.follow_seen(entrance, run, frames, forward, outward)
                    }
                }
            }
            Some(senders) => {
                let sample = senders.quiet_sample(now);
                let inward = Inward { now, port, senders };
                match sample {
                    None => self.follow_seen(entrance, run, frames, forward, inward),
                    Some(sample) => {
                        self.follow_seen(entrance, run, frames, forward, QuietInward { inward, sample })
                    }
                }
            }
        };
        if let Some(lent) = lent {
            self.senders[seen_at.index()] = Some(lent);
        }
        match end {
            End::Burst => None,
            End::Before(next) => Some(next),
            End::Refused(refusal, length) => {
                self.count_refusal(port, settings, refusal, length);
                frames.next().map(Next::Unread)
            }
        }
    }

    /// As [`Fabric::follow`], with the `viewer` of the frames, who does not change their way.
    #[inline(never)]
    fn follow_seen<V: Viewer<F>>(
        &mut self,
        entrance: &Entrance<'_>,
        mut run: Run,
        frames: &mut impl Iterator<Item = F>,
        forward: &mut impl FnMut(&Descriptor, Priority, &mut F) -> (Verdict, QueueId),
        mut viewer: V,
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
                    && !(V::KEEPS_FLOWS && is_rate_feedback(*it, headers))
            });
            let Some(descriptor) = descriptor else {
                end = End::Before(Next::Unread(frame));
                return None;
            };
            hidden.see(&descriptor);
            if let Err(refusal) = viewer.receive(&descriptor, headers, length) {
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
            viewer.queue(&descriptor, frame.headers(), length);
            Some(arrival.queued(egress, frame, charge))
        });
        viewer.sent(&mut self.store, added);
        run.load = Load { cells, volume: Volume { frames: before + added.items() as u64, bytes } };
        self.charge(port, run);
        end
    }
}
