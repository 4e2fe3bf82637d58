//! The figures of LSCC. Figures in `_wire_bytes` are bytes on the wire.

use super::{DirectIntCounters, LsccReport};
use crate::figure::{FigureList, Metric, Seen, SeriesKind, figures, metric, table};
use crate::program::Lscc;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "lscc",
    about: "[LSCC](lscc.md) on the port of a long link.",
    view: "flows",
    runs_on: |settings| settings.notifiers.lscc.is_some(),
    report: &[
        figures! { "", |it|
            /// T: the length of an interval.
            gauge interval_ns = settings(it)?.interval;
        },
        figures! { "advertised_rates", |it|
            /// Feedback messages sent to the far end, one at the end of each interval.
            counter intervals = lscc(it)?.rates.intervals;
            /// Rates clamped by Delta R.
            counter clamped_by_step = lscc(it)?.rates.clamped_by_step;
            /// Rates clamped to Rmin.
            counter clamped_to_min = lscc(it)?.rates.clamped_to_min;
            /// Rates clamped to Rmax.
            counter clamped_to_max = lscc(it)?.rates.clamped_to_max;
            /// Rate that the gateway last advertised to the far end.
            gauge last_bits_per_second = lscc(it)?.rates.last_rate?,
                sampled("lscc_advertised_rate_bits_per_second", "advertised to the far end", SeriesKind::Rate),
                plotted("LSCC advertised rate");
            /// Rate at which frames from this port left in the last interval; `null` if none did.
            gauge last_bottleneck_bits_per_second = lscc(it)?.rates.last_bottleneck_rate?;
            /// Qref: the length at which the queue is held.
            gauge reference_wire_bytes = settings(it)?.calculation.reference;
            /// Longest queue at the end of an interval.
            gauge longest_queue_wire_bytes = lscc(it)?.rates.longest_queue;
            /// How late LSCC intervals ended.
            delay lateness = it.look.advertiser_lateness.as_ref()?;
        },
        figures! { "feedback", |it|
            /// Messages from the other end whose rate was adopted.
            counter accepted = lscc(it)?.feedback.accepted;
            /// Malformed messages.
            counter malformed = lscc(it)?.feedback.malformed;
            /// Messages from or for another party.
            counter foreign = lscc(it)?.feedback.foreign;
            /// Messages of another version.
            counter other_version = lscc(it)?.feedback.other_version;
            /// Messages with a wrong or missing tag.
            counter forged = lscc(it)?.feedback.forged;
            /// Messages of a session that has not answered a [challenge](lscc.md#authentication).
            counter unconfirmed = lscc(it)?.feedback.unconfirmed;
            /// Late or replayed messages.
            counter stale = lscc(it)?.feedback.stale;
            /// Messages further ahead than time allows, without a key.
            counter ahead = lscc(it)?.feedback.ahead;
            /// Challenges from the peer.
            counter challenges_received = lscc(it)?.feedback.challenges_received;
            /// Challenges sent to the far end, which must prove that its messages are fresh.
            counter challenges_sent = lscc(it)?.feedback.challenges_sent;
            /// Times the limit lapsed because messages from the far end stopped arriving.
            counter lapsed = lscc(it)?.lapsed;
            /// Rate received from the far end that is in force; none while no limit applies.
            gauge last_bits_per_second = lscc(it)?.received_rate?,
                sampled("lscc_received_rate_bits_per_second", "received from the far end", SeriesKind::Rate),
                plotted("LSCC received rate");
        },
        figures! { "pseudo_queue", |it|
            /// Q\*ref: above it, senders are notified.
            gauge reference_wire_bytes = settings(it)?.limiting.reference;
            /// Most bytes that have been in the pseudo-queue, on the wire.
            gauge longest_wire_bytes = lscc(it)?.longest_pseudo_queue, of_run("longest_pseudo_queue_wire_bytes");
            /// Intervals that ended above the reference.
            counter congested_intervals = lscc(it)?.limiter.congested_intervals;
        },
        figures! { "cnps", |it|
            /// CNPs that the gateway generated.
            counter direct = lscc(it)?.limiter.direct_cnps, of_run("direct_cnps"),
                sampled("lscc_direct_cnps_total", "direct CNPs since the start", SeriesKind::Count),
                plotted("LSCC direct CNPs");
            /// Packets marked because their sender's queue pair is not known.
            counter marked_instead = lscc(it)?.limiter.marked_instead;
            /// Senders that could not be notified: unknown and not capable of ECN; without a way to them; of a forgotten flow.
            counter not_notified = lscc(it)?.limiter.not_notified;
            /// Marks removed because the gateway notifies the sender itself.
            counter marks_removed = lscc(it)?.limiter.marks_removed;
            /// CNPs from the far side, for known flows.
            counter far = lscc(it)?.limiter.far_cnps;
            /// CNPs from the far side for unknown flows, or not from the flow's receiver.
            counter far_unknown = lscc(it)?.limiter.far_cnps_unknown;
            /// CNPs from the far side that were not forwarded.
            counter far_suppressed = lscc(it)?.limiter.far_cnps_suppressed;
        },
        figures! { "direct_int", |it|
            /// [Direct INTs](int.md#direct-int) sent.
            counter sent = direct_int(it)?.sent, of_run("direct_ints");
            /// Packets whose telemetry began anew.
            counter replaced = direct_int(it)?.replaced;
            /// Packets that kept their telemetry: their sender's queue pair is not known, or too much waits.
            counter kept = direct_int(it)?.kept;
            /// Direct INTs that found no room or way to the sender.
            counter lost = direct_int(it)?.lost;
        },
    ],
    now: &[figures! { "", |it|
        /// Bytes in the pseudo-queue, on the wire.
        gauge pseudo_queue_wire_bytes = lscc(it)?.pseudo_queue,
            sampled("lscc_pseudo_queue_wire_bytes", "pseudo-queue (on the wire)", SeriesKind::Queue),
            plotted("LSCC pseudo-queue");
    }],
    metrics: &[
        Metric::one("lscc_advertised_rate", "advertised_rates.last_bits_per_second"),
        Metric::one("lscc_received_rate", "feedback.last_bits_per_second"),
        Metric::one("lscc_messages_sent", "advertised_rates.intervals"),
        metric! {
            /// Messages received from the far end, by outcome.
            "lscc_messages_received" by "result":
            "accepted": "feedback.accepted"; "malformed": "feedback.malformed"; "foreign": "feedback.foreign";
            "other_version": "feedback.other_version"; "forged": "feedback.forged";
            "unconfirmed": "feedback.unconfirmed"; "stale": "feedback.stale"; "ahead": "feedback.ahead";
            "challenge": "feedback.challenges_received";
        },
        Metric::one("lscc_challenges_sent", "feedback.challenges_sent"),
        Metric::one("lscc_lapses", "feedback.lapsed"),
        Metric::one("lscc_interval_lateness", "advertised_rates.lateness"),
        Metric::one("lscc_pseudo_queue", "pseudo_queue_wire_bytes"),
        Metric::one("lscc_pseudo_queue_watermark", "pseudo_queue.longest_wire_bytes"),
        metric! {
            /// CNPs generated by the gateway (direct), and CNPs from the far side, by whether they are of the receiver of a known flow.
            "lscc_cnps" by "kind":
            "direct": "cnps.direct"; "far": "cnps.far"; "far_unknown": "cnps.far_unknown";
        },
        Metric::one("lscc_cnps_suppressed", "cnps.far_suppressed"),
        metric! {
            /// Packets marked instead of sending a CNP, marks removed because a CNP was sent, senders not notified.
            "lscc_senders" by "result":
            "marked_instead": "cnps.marked_instead"; "mark_removed": "cnps.marks_removed";
            "not_notified": "cnps.not_notified";
        },
        metric! {
            /// Direct INTs sent and lost, and packets whose telemetry they replaced or that kept theirs.
            "lscc_direct_int" by "result":
            "sent": "direct_int.sent"; "lost": "direct_int.lost"; "replaced": "direct_int.replaced";
            "kept": "direct_int.kept";
        },
    ],
    tables: &[
        table! { "LSCC: rates advertised to the far end and received from it, and the pseudo-queue Q*":
            "sent": "advertised_rates.intervals"; "advertised": "advertised_rates.last_bits_per_second";
            "longest queue": "advertised_rates.longest_queue_wire_bytes";
            "Qref": "advertised_rates.reference_wire_bytes"; "accepted": "feedback.accepted";
            "refused": "feedback.malformed", "feedback.other_version", "feedback.foreign", "feedback.forged",
                "feedback.unconfirmed", "feedback.stale", "feedback.ahead";
            "received": "feedback.last_bits_per_second"; "longest Q*": "pseudo_queue.longest_wire_bytes";
            "Q*ref": "pseudo_queue.reference_wire_bytes";
        }
        .summarized(),
        table! { "CONGESTION NOTIFICATIONS of LSCC":
            "direct CNPs": "cnps.direct"; "marked instead": "cnps.marked_instead";
            "marks removed": "cnps.marks_removed"; "far CNPs": "cnps.far", "cnps.far_unknown";
            "suppressed": "cnps.far_suppressed";
        }
        .summarized(),
        table! { "PSEUDO-QUEUE Q* of LSCC":
            "Q* now": "pseudo_queue_wire_bytes"; "congested intervals": "pseudo_queue.congested_intervals";
        },
    ],
};

fn settings(seen: Seen<'_>) -> Option<&Lscc> {
    seen.settings.notifiers.lscc.as_ref().filter(|_| seen.look.notifiers.lscc.is_some())
}

fn direct_int(seen: Seen<'_>) -> Option<&DirectIntCounters> {
    settings(seen)?.limiting.direct_int?;
    Some(&lscc(seen)?.limiter.direct_int)
}

fn lscc(seen: Seen<'_>) -> Option<&LsccReport> {
    seen.look.notifiers.lscc.as_ref().filter(|_| seen.settings.notifiers.lscc.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Notifiers, NotifiersReport};
    use crate::figure::Reading;
    use crate::program::PortSettings;
    use crate::shard::PortInspection;
    use units::{BitRate, WireBytes};
    use wire::ethernet::MacAddress;

    #[test]
    fn figures_are_those_of_lscc_where_it_runs_and_is_configured() {
        let plain = PortSettings::lossy("a", MacAddress::default(), BitRate::gigabits(10));
        let configured = PortSettings {
            notifiers: Notifiers { lscc: Some(Lscc::PLAIN), ..Default::default() },
            ..plain.clone()
        };
        let report = LsccReport {
            rates: Default::default(),
            feedback: Default::default(),
            received_rate: None,
            lapsed: 0,
            pseudo_queue: WireBytes(7),
            longest_pseudo_queue: WireBytes(8),
            limiter: Default::default(),
        };
        let running = PortInspection {
            notifiers: NotifiersReport { lscc: Some(report), ..Default::default() },
            ..Default::default()
        };
        let silent = PortInspection::default();
        let number = |path, settings, look| match FIGURES.figure(path).unwrap().read(Seen { settings, look })
        {
            Some(Reading::Number(number)) => Some(number),
            _ => None,
        };
        for (settings, look, is_there) in
            [(&configured, &running, true), (&configured, &silent, false), (&plain, &running, false)]
        {
            assert_eq!(number("interval_ns", settings, look), is_there.then_some(Lscc::PLAIN.interval.0));
            assert_eq!(number("pseudo_queue_wire_bytes", settings, look), is_there.then_some(7));
        }
    }
}
