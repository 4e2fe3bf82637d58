//! The proof of a plan: the worst cases in simulation, and what its marks cost.

use config::plan::{Case, LinkPlan, PlanError, Proof, Run, RunEnd, Throughput, Unreached};
use core::fmt::Write;
use core::time::Duration;
use serde_json::{Value, json};
use std::time::Instant;
use telemetry::table::Table;
use units::human::{count_of, percent};
use units::{Bytes, Interval};

/// The longest time that all runs may take together.
const LIMIT: Duration = Duration::from_secs(90);

/// The runs of a proof.
pub struct Proved {
    proof: Proof,
    runs: Vec<Run>,
    /// The cost of the marks; `None` without marks, or if a run before has not ended.
    throughput: Option<Throughput>,
}

/// Runs all cases, one after the other, and then the load that is marked.
///
/// # Errors
/// [`PlanError`] if the plan has no counterpart at a rate that can be simulated.
pub fn prove(plan: &LinkPlan) -> Result<Proved, PlanError> {
    let begun = Instant::now();
    let proof = Proof::new(&plan.built)?;
    let mut runs = Vec::new();
    for case in Case::ALL {
        let run = proof.run(case, || begun.elapsed() < LIMIT)?;
        let is_whole = run.end == RunEnd::Complete;
        runs.push(run);
        if !is_whole {
            return Ok(Proved { proof, runs, throughput: None });
        }
    }
    let throughput = proof.throughput(|| begun.elapsed() < LIMIT)?;
    Ok(Proved { proof, runs, throughput })
}

impl Proved {
    /// The first run in which the plan does not hold, in words.
    pub fn failure(&self) -> Option<String> {
        let of_run = |run: &Run| why_not(run.case.name(), &run.end, || broken_bounds(run).join("; "));
        let broken = self.runs.iter().find(|run| !run.holds()).map(of_run);
        broken.or_else(|| self.throughput.as_ref().filter(|it| !it.holds()).map(costly))
    }

    /// The proof as the end of a page. Writing to a string cannot fail, so no result is looked at.
    pub fn page(&self) -> String {
        let mut out = String::from(
            "\nProof: both gateways in simulation; four senders in phase, one receiver at the slowest drain",
        );
        let _ =
            writeln!(out, ",\nwhich also stops for {:#}, enough to fill both gateways", self.proof.stop());
        if self.proof.divisor > 1 {
            let _ = writeln!(
                out,
                "  at {:#}, the rate divided by {}, as the link holds too many frames for a minute",
                self.proof.rate(),
                self.proof.divisor
            );
        }
        if self.proof.other_slot {
            out.push_str("  with the usual slot, as that of the plan does not suit this rate\n");
        }
        self.write_runs(&mut out);
        self.write_throughput(&mut out);
        match self.failure() {
            None => self.write_verdict(&mut out),
            Some(why) => {
                let _ = writeln!(out, "  verdict: THE PLAN IS NOT PROVED: {why}");
            }
        }
        out
    }

    /// The figures of the runs that are whole, in columns.
    fn write_runs(&self, out: &mut String) {
        let whole = self.runs.iter().filter(|run| run.end == RunEnd::Complete);
        let lines: Vec<_> = whole.flat_map(|run| self.lines(run)).collect();
        let mut seen = Table::new(1, ["", ""]);
        lines.iter().for_each(|line| seen.row([line.name.clone(), line.seen.clone()]));
        let mut left = String::new();
        seen.write_body_to(&mut left);
        for (left, line) in left.lines().zip(&lines) {
            if let Some(case) = line.begins {
                let _ = writeln!(out, "  {}", case.name());
            }
            let limit = line.limit.replace('\n', &format!("\n{:width$}", "", width = left.len() + 4));
            let _ = writeln!(out, "{}", format!("  {left}  {limit}").trim_end());
        }
    }

    /// The cost of the marks, if it was measured.
    fn write_throughput(&self, out: &mut String) {
        let Some(seen) = self.throughput.as_ref().filter(|it| it.end == RunEnd::Complete) else { return };
        let (count, sender) = seen.senders;
        let senders = count_of(count, "DCQCN sender");
        let [marked, unmarked] = shares(seen);
        let _ = writeln!(out, "  {senders} of {sender:#}, and a receiver of {:#}", seen.receiver);
        let _ = writeln!(
            out,
            "    throughput           {marked}  {unmarked} without marks, of which {} % must be left",
            seen.least()
        );
    }

    /// That the buffers hold, and what no run has shown.
    fn write_verdict(&self, out: &mut String) {
        let unreached = self.unreached();
        if unreached.is_empty() {
            out.push_str("  verdict: the buffers hold\n");
            return;
        }
        let names: Vec<_> = unreached.iter().map(|figure| figure.name()).collect();
        let _ = writeln!(out, "  verdict: the buffers hold; not reached: {}", names.join(", "));
        for figure in unreached {
            let why =
                self.proof.scheme().never_reaches(figure).unwrap_or("no run came to it, so nothing is shown");
            let _ = writeln!(out, "    {}: {why}", figure.name());
        }
    }

    /// What no run has come to.
    fn unreached(&self) -> Vec<Unreached> {
        let by_none = |figure: &Unreached| !self.runs.iter().any(|run| run.comes_to(*figure));
        Unreached::ALL.into_iter().filter(by_none).collect()
    }

    /// The figures of a run.
    fn lines(&self, run: &Run) -> Vec<Line> {
        let (long, local) = self.proof.planned_pauses();
        let planned = |most: Bytes| format!("of {most:#} planned");
        let limit = |most: Interval, planned: Interval| {
            let received = run.received;
            format!("limit {most:#} = {planned:#} planned\n+ {received:#} for which the far side then paused")
        };
        let seen =
            |is_nothing: bool, shown: String| if is_nothing { "not reached".to_owned() } else { shown };
        let line = |name: &str, seen, limit| Line { begins: None, name: name.into(), seen, limit };
        let headroom = seen(run.headroom.0 == Bytes::ZERO, format!("{:#}", run.headroom.0));
        let pause = |lasted: Interval| seen(lasted == Interval::ZERO, format!("{lasted:#}"));
        let (at_long, at_local) = (pause(run.pause_long.0), pause(run.pause_local.0));
        let unlimited = run.unlimited.map(|pause| {
            let limit = "no limit: higher priorities first".into();
            line("the same, lower priorities", format!("{pause:#}"), limit)
        });
        let first = line("peak buffer", format!("{:#}", run.buffer.0), planned(run.buffer.1));
        let limited = [
            Line { begins: Some(run.case), ..first },
            line("peak headroom", headroom, planned(run.headroom.1)),
            line("lossless drops", run.drops.to_string(), String::new()),
            line("longest pause_long", at_long, limit(run.pause_long.1, long)),
            line("longest pause_local", at_local, limit(run.pause_local.1, local)),
        ];
        limited.into_iter().chain(unlimited).collect()
    }

    /// The proof as JSON.
    pub fn json(&self) -> Value {
        let runs = self.runs.iter().map(|run| {
            json!({
                "case": run.case.name(),
                "ended": run.end == RunEnd::Complete,
                "holds": run.holds(),
                "peak_buffer_bytes": run.buffer.0.0,
                "planned_buffer_bytes": run.buffer.1.0,
                "peak_headroom_bytes": run.headroom.0.0,
                "planned_headroom_bytes": run.headroom.1.0,
                "lossless_drops": run.drops,
                "not_reached": names(Unreached::ALL.into_iter().filter(|figure| !run.comes_to(*figure))),
                "pause_received_ns": run.received.0,
                "pause_long_ns": run.pause_long.0.0,
                "pause_long_limit_ns": run.pause_long.1.0,
                "pause_local_ns": run.pause_local.0.0,
                "pause_local_limit_ns": run.pause_local.1.0,
                "pause_without_limit_ns": run.unlimited.map(|it| it.0),
                "transmissions": run.transmissions,
            })
        });
        json!({
            "rate": self.proof.rate().bits_per_second(),
            "divisor": self.proof.divisor,
            "other_slot": self.proof.other_slot,
            "stop_ns": self.proof.stop().0,
            "runs": runs.collect::<Value>(),
            "throughput": self.throughput.as_ref().map(throughput),
            "holds": self.failure().is_none(),
            "not_reached": names(self.unreached()),
            "why": self.failure(),
        })
    }
}

/// Why a run of that name shows no plan that holds; `broken` are the bounds that it broke if it is complete.
fn why_not(name: &str, end: &RunEnd, broken: impl FnOnce() -> String) -> String {
    match end {
        RunEnd::Complete => format!("{name}: {}", broken()),
        RunEnd::TooLong => {
            format!("{name}: the runs did not end within {} s, so they show nothing", LIMIT.as_secs())
        }
        RunEnd::Outlasts => format!("{name}: the pauses outlast the 4.9 hours that can be simulated"),
        RunEnd::Broken(why) => format!("{name}: {why}"),
    }
}

/// Why the throughput does not suffice.
fn costly(seen: &Throughput) -> String {
    let [marked, unmarked] = shares(seen);
    why_not("throughput", &seen.end, || {
        format!(
            "the marks leave {marked} of the receiver's {:#}; {unmarked} without marks, of which {} % must be left",
            seen.receiver,
            seen.least()
        )
    })
}

/// The carried bytes with and without marks, in percent.
fn shares(seen: &Throughput) -> [String; 2] {
    [seen.marked, seen.unmarked].map(|carried| percent(seen.share(carried)))
}

fn throughput(seen: &Throughput) -> Value {
    json!({
        "ended": seen.end == RunEnd::Complete,
        "holds": seen.holds(),
        "senders": seen.senders.0,
        "sender_rate": seen.senders.1.bits_per_second(),
        "receiver_rate": seen.receiver.bits_per_second(),
        "measured_ns": seen.measured.0,
        "share_with_marks": seen.share(seen.marked),
        "share_without_marks": seen.share(seen.unmarked),
        "least_percent_of_that": seen.least(),
    })
}

/// The bounds of the plan that a complete run did not keep.
fn broken_bounds(run: &Run) -> Vec<String> {
    let buffer = (run.buffer.0 > run.buffer.1)
        .then(|| format!("a priority held {} of {}", run.buffer.0, run.buffer.1));
    let pause = |name: &str, (seen, most): (Interval, Interval)| {
        (seen > most).then(|| format!("{name} lasted {seen} of {most}"))
    };
    let all = [
        (run.drops > 0).then(|| format!("lossless frames dropped: {}", run.drops)),
        buffer,
        pause("pause_long", run.pause_long),
        pause("pause_local", run.pause_local),
    ];
    all.into_iter().flatten().collect()
}

/// A figure of a run: its name, what was seen, and its limit in words.
struct Line {
    /// The run, on its first line.
    begins: Option<Case>,
    name: String,
    seen: String,
    limit: String,
}

fn names(figures: impl IntoIterator<Item = Unreached>) -> Value {
    figures.into_iter().map(Unreached::name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::plan::{Request, Scheme};
    use units::BitRate;

    fn proved(scheme: Scheme) -> Proved {
        let distance = Request::distance_of(Interval::from_micros(5)).unwrap();
        let request = Request { scheme, ..Request::new(distance, BitRate::gigabits(100)) };
        prove(&LinkPlan::new(&request).unwrap()).unwrap()
    }

    #[test]
    fn a_proof_says_of_each_figure_what_was_seen_or_that_it_was_not_reached() {
        let pfc = proved(Scheme::PFC).page();
        assert!(pfc.ends_with("  verdict: the buffers hold\n") && !pfc.contains("not reached"), "{pfc}");
        let cbfc = proved("cbfc".parse().unwrap());
        let page = cbfc.page();
        let end = "  verdict: the buffers hold; not reached: headroom, pause_long\n    \
                   headroom: credits end below XOFF\n    pause_long: credits are no pauses\n";
        assert!(page.ends_with(end), "{page}");
        assert_eq!(page.matches("  not reached  ").count(), 2 * Case::ALL.len(), "{page}");
        assert!(!page.contains(" 0 ns  limit"), "{page}");
        assert_eq!(cbfc.json()["not_reached"], json!(["headroom", "pause_long"]));
    }

    #[test]
    fn a_proof_says_what_the_marks_leave_and_fails_with_the_reason_if_that_is_too_little() {
        let mut proved = proved(Scheme::BIFROST);
        let (page, json) = (proved.page(), proved.json());
        assert!(
            page.contains("  4 DCQCN senders of 25 Gb/s, and a receiver of 50 Gb/s\n    throughput  "),
            "{page}"
        );
        assert!(
            page.contains("without marks, of which 75 % must be left\n  verdict: the buffers hold"),
            "{page}"
        );
        assert_eq!((&json["throughput"]["senders"], &json["throughput"]["holds"]), (&4.into(), &true.into()));
        let seen = proved.throughput.as_mut().unwrap();
        seen.marked = units::WireBytes(seen.unmarked.0 * 74 / 100);
        let why = proved.failure().unwrap();
        let end = "of the receiver's 50 Gb/s; 100.0 % without marks, of which 75 % must be left";
        assert!(why.starts_with("throughput: the marks leave 74.0 % ") && why.ends_with(end), "{why}");
        assert!(proved.page().ends_with(&format!("  verdict: THE PLAN IS NOT PROVED: {why}\n")));
        assert_eq!(proved.json()["holds"], false);
    }

    #[test]
    fn the_limit_of_a_pause_is_a_sum_of_what_was_planned_and_of_what_was_received() {
        let proved = proved(Scheme::PFC);
        let (run, (long, _)) = (&proved.runs[0], proved.proof.planned_pauses());
        assert_eq!(run.pause_long.1, long + run.received);
        let page = proved.page();
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let sum = format!(
            "limit {:#} = {long:#} planned + {:#} for which the far side then paused",
            run.pause_long.1, run.received
        );
        assert!(words.contains(&sum), "{page}");
        assert!(page.lines().all(|line| line.len() <= 100), "{page}");
    }

    #[test]
    fn a_run_that_does_not_hold_names_each_bound_that_it_broke() {
        let us = Interval::from_micros;
        let run = Run {
            case: Case::ALL[0],
            end: RunEnd::Complete,
            buffer: (Bytes(10), Bytes(10)),
            headroom: (Bytes(1), Bytes(2)),
            drops: 0,
            pause_long: (us(5), us(4)),
            pause_local: (us(3), us(4)),
            unlimited: None,
            received: Interval::ZERO,
            transmissions: 1,
        };
        assert_eq!(broken_bounds(&run), ["pause_long lasted 5us of 4us"]);
        assert!(!run.holds());
        let worse = Run { drops: 7, buffer: (Bytes(11), Bytes(10)), ..run.clone() };
        assert_eq!(broken_bounds(&worse)[..2], ["lossless frames dropped: 7", "a priority held 11B of 10B"]);
        let kept = Run { pause_long: (us(4), us(4)), ..run };
        assert!(kept.holds() && broken_bounds(&kept).is_empty());
    }
}
