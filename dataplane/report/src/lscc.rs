//! LSCC on one port.

use crate::DelayReport;
use serde::{Deserialize, Serialize};
use switch::PortInspection;
use switch::program::PortSettings;
use units::BitRate;

/// LSCC on one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LsccReport {
    /// T.
    pub interval_ns: u64,
    /// The rates that were advertised to the far end.
    pub advertised_rates: RatesReport,
    /// The messages of the far end.
    pub feedback: FeedbackReport,
    /// What was sent, against the rate that the far end advertised.
    pub pseudo_queue: PseudoQueueReport,
    /// Congestion notifications.
    pub cnps: CnpReport,
    /// The flows that the port knows.
    pub flows: FlowsReport,
}

/// The rate calculation module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RatesReport {
    /// Rates that were calculated.
    pub intervals: u64,
    /// Rates that were limited to the largest step from the one before.
    pub clamped_by_step: u64,
    /// Rates that were raised to the lowest one.
    pub clamped_to_min: u64,
    /// Rates that were lowered to the highest one.
    pub clamped_to_max: u64,
    /// The last one; `None` before the first.
    pub last_bits_per_second: Option<u64>,
    /// What left in the last interval; `None` where nothing did.
    pub last_bottleneck_bits_per_second: Option<u64>,
    /// The queue that is aimed at, in bytes on the wire.
    pub reference_wire_bytes: u64,
    /// The longest queue at the end of an interval, in bytes on the wire.
    pub longest_queue_wire_bytes: u64,
    /// How late intervals ended.
    pub lateness: DelayReport,
}

/// The feedback messages that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackReport {
    /// Messages whose rate was adopted.
    pub accepted: u64,
    /// Messages that do not hold.
    pub malformed: u64,
    /// Messages from somebody else, or to somebody else.
    pub foreign: u64,
    /// Messages of another version of the format.
    pub other_version: u64,
    /// Messages with a wrong tag, or without the tag that is asked for.
    pub forged: u64,
    /// Messages of a session that has answered no challenge: the other end has just started, or they were
    /// recorded.
    pub unconfirmed: u64,
    /// Messages that were late or replayed.
    pub stale: u64,
    /// Messages whose sequence number was further ahead than the time since the last one allows.
    pub ahead: u64,
    /// Challenges received from the far end.
    pub challenges_received: u64,
    /// Challenges sent to the far end.
    pub challenges_sent: u64,
    /// How often a limit was given up because messages failed to come.
    pub lapsed: u64,
    /// The rate that holds; `None` where nothing is limited.
    pub last_bits_per_second: Option<u64>,
}

impl FeedbackReport {
    /// Messages that changed nothing.
    pub fn refused(&self) -> u64 {
        let bytes = self.malformed + self.other_version;
        bytes + self.foreign + self.forged + self.unconfirmed + self.stale + self.ahead
    }
}

/// The pseudo-queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PseudoQueueReport {
    /// Above this, senders are notified, in bytes on the wire.
    pub reference_wire_bytes: u64,
    /// The longest, in bytes on the wire.
    pub longest_wire_bytes: u64,
    /// Intervals that ended with more than the reference.
    pub congested_intervals: u64,
}

/// Congestion notifications at a port with LSCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CnpReport {
    /// CNPs that the gateway made.
    pub direct: u64,
    /// Packets that it marked because it could not notify their sender.
    pub marked_instead: u64,
    /// Senders that it could not notify in any way.
    pub not_notified: u64,
    /// Marks that it removed because it notifies the sender itself.
    pub marks_removed: u64,
    /// CNPs from the far side to a flow that is known.
    pub far: u64,
    /// CNPs from the far side to a flow that is not known.
    pub far_unknown: u64,
    /// CNPs from the far side that were not forwarded.
    pub far_suppressed: u64,
}

/// The flow table and its resolver. A flow is everything that goes to one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowsReport {
    /// Flows that the table has room for.
    pub capacity: u32,
    /// Flows that it holds, in both directions.
    pub known: u32,
    /// Of these, how many carry data and have a known sender.
    pub resolved: u32,
    /// How many carry data and have no known sender.
    pub unresolved: u32,
    /// Flows that were entered.
    pub entered: u64,
    /// Flows that were forgotten because they were idle.
    pub aged: u64,
    /// Flows that were forgotten because the table was full.
    pub evicted: u64,
    /// Pairs that were resolved by connection management.
    pub resolved_by_cm: u64,
    /// Pairs that were resolved by their sequence numbers.
    pub resolved_by_psn: u64,
    /// Pairs that were given up because sequence numbers went back or leapt ahead.
    pub suspended: u64,
    /// Pairs that were given up because a response contradicted them.
    pub contradicted: u64,
    /// Responses that several flows could have caused.
    pub ambiguous: u64,
    /// Pairs that connection management ended.
    pub ended: u64,
}

impl LsccReport {
    /// `None` where it does not run.
    pub(crate) fn new(settings: &PortSettings, look: &PortInspection) -> Option<Self> {
        let (settings, lscc) = settings.lscc.as_ref().zip(look.lscc.as_ref())?;
        let rate = |rate: Option<BitRate>| rate.map(BitRate::bits_per_second);
        let (rates, feedback, limiter, flows) = (&lscc.rates, &lscc.feedback, &lscc.limiter, &lscc.flows);
        let (data, resolver) = (&lscc.data_flows, &lscc.resolver);
        Some(Self {
            interval_ns: settings.interval.0,
            advertised_rates: RatesReport {
                intervals: rates.intervals,
                clamped_by_step: rates.clamped_by_step,
                clamped_to_min: rates.clamped_to_min,
                clamped_to_max: rates.clamped_to_max,
                last_bits_per_second: rate(rates.last_rate),
                last_bottleneck_bits_per_second: rate(rates.last_bottleneck_rate),
                reference_wire_bytes: settings.calculation.reference.0,
                longest_queue_wire_bytes: rates.longest_queue.0,
                lateness: look.lscc_lateness.as_ref().map(DelayReport::from)?,
            },
            feedback: FeedbackReport {
                accepted: feedback.accepted,
                malformed: feedback.malformed,
                foreign: feedback.foreign,
                other_version: feedback.other_version,
                forged: feedback.forged,
                unconfirmed: feedback.unconfirmed,
                stale: feedback.stale,
                ahead: feedback.ahead,
                challenges_received: feedback.challenges_received,
                challenges_sent: feedback.challenges_sent,
                lapsed: lscc.lapsed,
                last_bits_per_second: rate(lscc.received_rate),
            },
            pseudo_queue: PseudoQueueReport {
                reference_wire_bytes: settings.limiting.reference.0,
                longest_wire_bytes: lscc.longest_pseudo_queue.0,
                congested_intervals: limiter.congested_intervals,
            },
            cnps: CnpReport {
                direct: limiter.direct_cnps,
                marked_instead: limiter.marked_instead,
                not_notified: limiter.not_notified,
                marks_removed: limiter.marks_removed,
                far: limiter.far_cnps,
                far_unknown: limiter.far_cnps_unknown,
                far_suppressed: limiter.far_cnps_suppressed,
            },
            flows: FlowsReport {
                capacity: settings.limiting.flows,
                known: lscc.known_flows,
                resolved: data.resolved,
                unresolved: data.unresolved,
                entered: flows.entered,
                aged: flows.aged,
                evicted: flows.evicted,
                resolved_by_cm: resolver.resolved_by_cm,
                resolved_by_psn: resolver.resolved_by_psn,
                suspended: resolver.suspended,
                contradicted: resolver.contradicted,
                ambiguous: resolver.ambiguous,
                ended: resolver.ended,
            },
        })
    }
}
