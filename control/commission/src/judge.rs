//! The verdict on a step, from what both ends have counted.

use crate::facts::Facts;
use crate::frame::KINDS;
use crate::report::{Fault, StepReport};
use crate::step::{Agreed, Counts, Step};
use units::human::{nanos, thousands};
use units::{BitRate, Bytes, Distance, Interval, WireBytes};

/// A figure that is not known.
pub const UNKNOWN: u64 = u64::MAX;
/// PFC frames of the passage step.
pub const PAUSES: u64 = 100;

/// The places of frames that came, and of those that came again, among the figures of the steps with load: sent,
/// received, missed, dropped on the way in and out, twice.
pub const RECEIVED: usize = 1;
pub const TWICE: usize = 5;

/// The facts besides the counts of the step.
pub struct Context<'a> {
    pub facts: &'a Facts,
    pub agreed: &'a Agreed,
    /// The lengths that both directions passed, one bit for each.
    pub passed: u64,
    /// Whether the sink of this end stopped.
    pub is_mine: bool,
}

/// The verdict on `step`.
pub fn judge(step: Step, context: &Context<'_>, near: &Counts, far: &Counts) -> StepReport {
    let both = [("to the other end", near, far), ("from the other end", far, near)];
    match step {
        Step::Meet => meet(near, far),
        Step::Delay => delay(context.facts, near[0]),
        Step::Lengths => lengths(&context.agreed.lengths, both.map(|(way, _, receiver)| (way, receiver[0]))),
        Step::Marks => marks(both.map(|(way, _, receiver)| (way, receiver))),
        Step::Passage => passage(both.map(|(way, _, receiver)| (way, receiver))),
        Step::Loss(_) | Step::Soak => {
            let Agreed { lengths, terms, .. } = context.agreed;
            let (length, time, name) = match step {
                Step::Loss(place) => {
                    (lengths[place], terms.loss, format!("loss of frames of {} bytes", lengths[place]))
                }
                _ => {
                    let longest = context.agreed.longest_of(context.passed);
                    (longest.unwrap_or_default(), terms.soak, "soak".into())
                }
            };
            let mut report = StepReport::new(name);
            if !context.agreed.tries(step, context.passed) {
                report.unknown("left out, since not all such frames pass");
                return report;
            }
            both.iter().for_each(|way| loss(&mut report, context.facts.rate, (length, time), way));
            report
        }
        Step::Obedience { .. } => obedience(context, if context.is_mine { near } else { far }),
        Step::Worker | Step::Over => worker([("this end", near), ("the other end", far)]),
    }
}

fn meet(near: &Counts, far: &Counts) -> StepReport {
    let mut report = StepReport::new("the files of both ends");
    let &[frame, rate, dscps, _, _, _, classes, _] = near;
    let &[far_frame, far_rate, far_dscps, _, _, _, far_classes, _] = far;
    let shown = |rate: u64| BitRate::new(rate).map_or_else(String::new, |it| it.to_string());
    report.measured(format!("{}, frames of up to {frame} bytes", shown(rate)));
    if rate != far_rate {
        report.fault(Fault::Rate, format!("this end has {}, the other one {}", shown(rate), shown(far_rate)));
    }
    if frame != far_frame {
        report.fault(Fault::MaxFrame, format!("this end has {frame} bytes, the other one {far_frame}"));
    }
    if dscps != far_dscps {
        let names = names(dscps ^ far_dscps);
        report.fault(Fault::Classes, format!("only one end has these DSCPs lossless: {names}"));
    } else if classes != far_classes {
        report.fault(Fault::Classes, "the ends map lossless DSCPs to different priorities");
    }
    report
}

fn delay(facts: &Facts, measured: u64) -> StepReport {
    let mut report = StepReport::new("delay");
    if measured == UNKNOWN {
        report.unknown("no exchange of peer delay was answered");
        return report;
    }
    let measured = Interval(measured);
    report.measured(format!("{} one way, at least (peer delay)", nanos(measured.0)));
    if let Some(stated) = facts.delay {
        report.measured(format!("{} follow from the file's distance", nanos(stated.0)));
        let more = Interval(2 * measured.0.saturating_sub(stated.0));
        if more > facts.covered {
            let seen = format!(
                "{} more than the file says, there and back, and headroom covers {}",
                nanos(more.0),
                nanos(facts.covered.0)
            );
            report.fault(Fault::Distance, seen);
        }
    }
    report
}

/// The length of a fibre of this delay, rounded up to 100 m.
pub fn distance(delay: Interval) -> u64 {
    let metres = u128::from(delay.0) * u128::from(Distance::FIBRE_SPEED) / 1_000_000_000;
    (metres as u64).next_multiple_of(100)
}

fn lengths(lengths: &[u64], ways: [(&str, u64); 2]) -> StepReport {
    let mut report = StepReport::new("lengths");
    for (way, mask) in ways {
        let is_there = |(place, _): &(usize, &u64)| mask & 1 << place != 0;
        let list = |wanted: bool| {
            let these = lengths.iter().enumerate().filter(|it| is_there(it) == wanted);
            these.map(|(_, length)| length.to_string()).collect::<Vec<_>>().join(", ")
        };
        report.measured(format!("{way}: frames of these bytes pass: {}", list(true)));
        let missing = list(false);
        // Something with a shorter MTU passes all that are shorter.
        let are_longest = mask != 0 && (mask + 1).is_power_of_two();
        let fault = if are_longest { Fault::Length } else { Fault::Loss };
        if !missing.is_empty() {
            report.fault(fault, format!("{way}, no frame of these bytes arrived: {missing}"));
        }
    }
    report
}

/// The numbers of the bits of `mask`.
fn names(mask: u64) -> String {
    let bits = (0..64).filter(|bit| mask & 1 << bit != 0).map(|bit: u32| bit.to_string());
    bits.collect::<Vec<_>>().join(", ")
}

fn marks(ways: [(&str, &Counts); 2]) -> StepReport {
    let mut report = StepReport::new("marks");
    for (way, [dscp, ecn, seen, kinds, ..]) in ways {
        report.measured(format!("{way}: {} of 64 DSCPs arrived", seen.count_ones()));
        for (fault, changed, what) in
            [(Fault::Dscp, *dscp, "another DSCP"), (Fault::Ecn, *ecn, "other ECN bits")]
        {
            if changed != 0 {
                report.fault(
                    fault,
                    format!("{way}, frames of these DSCPs came with {what}: {}", names(changed)),
                );
            }
        }
        if *seen != u64::MAX {
            report.fault(Fault::Loss, format!("{way}, no frame of these DSCPs arrived: {}", names(!seen)));
        }
        for (place, kind) in KINDS.iter().enumerate() {
            if kinds & 1 << place == 0 {
                report.fault(Fault::EtherType, format!("{way}, no frame of {kind} arrived"));
            }
        }
    }
    report
}

fn passage(ways: [(&str, &Counts); 2]) -> StepReport {
    let mut report = StepReport::new("passage of PFC");
    for (way, [seen, counted, ..]) in ways {
        let by_card = match *counted {
            UNKNOWN => "the card counts none".to_owned(),
            counted => format!("the card counted {counted}"),
        };
        report.measured(format!("{way}: {seen} of {PAUSES} reached the gateway; {by_card}"));
        if *seen >= PAUSES {
            if *counted != UNKNOWN && *counted > 0 {
                report.measured(format!("{way}: whether the card pauses as well, obedience shows"));
            }
        } else if *counted != UNKNOWN && *counted > *seen {
            report.fault(Fault::PfcKept, format!("{way}, {} PFC frames were kept", counted - seen));
        } else {
            report
                .fault(Fault::PfcLost, format!("{way}, {} of {PAUSES} PFC frames never came", PAUSES - seen));
        }
    }
    report
}

fn loss(
    report: &mut StepReport,
    rate: BitRate,
    (length, time): (u64, Interval),
    (way, sender, receiver): &(&str, &Counts, &Counts),
) {
    let (&[sent, .., sender_dropped, _, _, _], &[_, received, missed, receiver_dropped, _, twice, ..]) =
        (*sender, *receiver);
    if sent == 0 {
        report.unknown(format!("{way}: nothing was sent"));
        return;
    }
    let dropped = sender_dropped + receiver_dropped;
    let lost = sent.saturating_sub(received);
    let could = rate.bytes_in(time) / WireBytes::of_frame(Bytes(length)).0;
    let share = 100.0 * sent as f64 / could.max(1) as f64;
    let sum =
        format!("{way}: {} of {} frames lost, at {share:.0}% of the link", thousands(lost), thousands(sent));
    report.measured(match lost {
        0 => format!("{sum}; with 95% confidence at most {:.1e} of all", 3.0 / sent as f64),
        _ => format!("{sum}; {:.1e} of all", lost as f64 / sent as f64),
    });
    if missed > 0 {
        report.fault(Fault::Missed, format!("{way}, the receiving device lost {}", thousands(missed)));
    }
    if dropped > 0 {
        report.fault(Fault::Dropped, format!("{way}, gateways dropped {}", thousands(dropped)));
    }
    let unexplained = lost.saturating_sub(missed + dropped);
    if unexplained > 0 {
        report.fault(Fault::Loss, format!("{way}, {} frames of {}", thousands(unexplained), thousands(sent)));
    }
    if twice > 0 {
        report.fault(Fault::Duplicates, format!("{way}, {} frames came again", thousands(twice)));
    }
}

fn obedience(context: &Context<'_>, counts: &Counts) -> StepReport {
    let &[obeyed, ignored, worst, dropped, used, covered, headroom, has_slots] = counts;
    let who = if context.is_mine { "the other end" } else { "this end" };
    let (mut report, stops) = (StepReport::new(format!("obedience of {who}")), obeyed + ignored);
    if context.facts.headroom.is_none() {
        report.measured("no priority is lossless, so there is nothing to obey");
        return report;
    }
    if stops == 0 {
        report.unknown(match (context.agreed.is_lossless, context.passed) {
            _ if has_slots != 0 => "pauses follow slots of time here, so a stop of the sink asks for none",
            (false, _) => "the ends have no lossless DSCP of one priority in common",
            (true, 0) => "left out, since frames of no length pass in both directions",
            _ => "no frame or no XOFF came, so nothing was asked of the other end",
        });
        return report;
    }
    report.measured(format!(
        "{stops} stops; the last frame came up to {} after XOFF, beyond the delay of the link; headroom covers {}",
        nanos(worst),
        nanos(covered)
    ));
    report.measured(format!("headroom used: {:#} of {:#}", Bytes(used), Bytes(headroom)));
    if ignored > 0 {
        report.fault(Fault::LateObedience, format!("{ignored} of {stops} pauses were not obeyed"));
    } else if worst > covered {
        let more = nanos(worst - covered);
        report.fault(Fault::LateObedience, format!("frames came {more} longer than headroom covers"));
    }
    if dropped > 0 {
        report.fault(Fault::Dropped, format!("{} frames", thousands(dropped)));
    }
    let wanted = context.agreed.terms.stops;
    if stops < wanted {
        report.unknown(format!("{} more stops brought no frame or no XOFF", wanted - stops));
    }
    report
}

fn worker(ends: [(&str, &Counts); 2]) -> StepReport {
    let mut report = StepReport::new("workers");
    for (end, &[late, longest, missed, ..]) in ends {
        let (turns, lost) = (thousands(late), thousands(missed));
        report.measured(format!("{end}: {turns} turns were late, and the device lost {lost} frames in all"));
        if late > 0 {
            let seen = format!("{end}: {turns} turns were late, the longest took {}", nanos(longest));
            report.fault(Fault::SlowCore, seen);
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_what_the_sender_drops_on_the_way_out_and_the_receiver_on_the_way_in() {
        let rate = BitRate::new(100_000_000).unwrap();
        let faults = |sender: &Counts, receiver: &Counts| {
            let mut report = StepReport::new("loss");
            loss(&mut report, rate, (60, Interval::from_secs(1)), &("this way", sender, receiver));
            report.faults.iter().map(|it| it.fault).collect::<Vec<_>>()
        };
        let (sent, received) = ([100, 0, 0, 0, 0, 0, 0, 0], [0, 95, 0, 0, 0, 0, 0, 0]);
        assert_eq!(faults(&sent, &received), [Fault::Loss]);
        let with = |mut counts: Counts, place: usize| {
            counts[place] = 5;
            counts
        };
        assert_eq!(faults(&with(sent, 4), &received), [Fault::Dropped]);
        assert_eq!(faults(&sent, &with(received, 3)), [Fault::Dropped]);
        // Those of the other direction.
        assert_eq!(faults(&with(sent, 3), &with(received, 4)), [Fault::Loss]);
        assert_eq!(faults(&sent, &with(received, 5)), [Fault::Loss, Fault::Duplicates]);
    }
}
