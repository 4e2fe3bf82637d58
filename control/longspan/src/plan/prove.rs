//! The proof of a plan: the worst cases in simulation.

use config::plan::{Case, Plan, PlanError, Proof, Quantity, Run, RunEnd};
use core::fmt::Write;
use core::time::Duration;
use serde_json::{Value, json};
use std::time::Instant;
use units::Interval;

/// The longest time that all runs may take together.
const LIMIT: Duration = Duration::from_secs(90);

/// The runs of a proof.
pub struct Proved {
    proof: Proof,
    runs: Vec<Run>,
}

/// Runs all cases, one after the other.
///
/// # Errors
/// [`PlanError`] if the plan has no counterpart at a rate that can be simulated.
pub fn prove(plan: &Plan) -> Result<Proved, PlanError> {
    let begun = Instant::now();
    let proof = Proof::new(&plan.built)?;
    let run = |case| proof.run(case, || begun.elapsed() < LIMIT);
    let runs = Case::ALL.into_iter().map(run).collect::<Result<_, _>>()?;
    Ok(Proved { proof, runs })
}

impl Proved {
    /// The first run in which the plan does not hold, in words.
    pub fn failure(&self) -> Option<String> {
        let run = self.runs.iter().find(|run| !run.holds())?;
        let name = run.case.name();
        Some(match &run.end {
            RunEnd::Complete => format!("{name}: {}", broken_bounds(run).join("; ")),
            RunEnd::TooLong => {
                format!("{name}: the run did not end within {} s, so it shows nothing", LIMIT.as_secs())
            }
            RunEnd::Broken(why) => format!("{name}: {why}"),
        })
    }

    /// The proof as the end of a page. Writing to a string cannot fail, so no result is looked at.
    pub fn page(&self) -> String {
        let mut out = String::from(
            "\nProof: both gateways in simulation; four senders in phase, one receiver at the slowest drain, which\n\
             also stops for three round trips\n",
        );
        if self.proof.divisor > 1 {
            let _ = writeln!(
                out,
                "  at {}, the rate divided by {}, as the link holds too many frames for a minute",
                self.proof.rate(),
                self.proof.divisor
            );
        }
        if self.proof.other_slot {
            out.push_str("  with the usual slot, as that of the plan does not suit this rate\n");
        }
        for run in &self.runs {
            write_run(&mut out, run);
        }
        let verdict = match self.failure() {
            None => "the plan holds".to_owned(),
            Some(why) => format!("THE PLAN IS NOT PROVED: {why}"),
        };
        let _ = writeln!(out, "  verdict: {verdict}");
        out
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
                "pause_received_ns": run.received.0,
                "pause_long_ns": run.pause_long.0.0,
                "pause_long_limit_ns": run.pause_long.1.0,
                "pause_local_ns": run.pause_local.0.0,
                "pause_local_limit_ns": run.pause_local.1.0,
                "transmissions": run.transmissions,
            })
        });
        json!({
            "rate": self.proof.rate().bits_per_second(),
            "divisor": self.proof.divisor,
            "other_slot": self.proof.other_slot,
            "runs": runs.collect::<Value>(),
            "holds": self.failure().is_none(),
            "why": self.failure(),
        })
    }
}

/// The bounds of the plan that a complete run did not keep.
fn broken_bounds(run: &Run) -> Vec<String> {
    let buffer = (run.buffer.0 > run.buffer.1)
        .then(|| format!("a priority held {} of {} B", run.buffer.0.0, run.buffer.1.0));
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

fn write_run(out: &mut String, run: &Run) {
    let bytes = |bytes: units::Bytes| Quantity::Bytes(bytes.0).to_string();
    let lines = [
        ("peak buffer", bytes(run.buffer.0), format!("of {} planned", bytes(run.buffer.1))),
        ("peak headroom", bytes(run.headroom.0), format!("of {} planned", bytes(run.headroom.1))),
        ("lossless drops", run.drops.to_string(), String::new()),
        (
            "longest pause_long",
            run.pause_long.0.to_string(),
            format!("of {}: as planned, and {} received", run.pause_long.1, run.received),
        ),
        ("longest pause_local", run.pause_local.0.to_string(), format!("of {}", run.pause_local.1)),
    ];
    let _ = writeln!(out, "  {}", run.case.name());
    for (what, seen, planned) in lines {
        let line = format!("    {what:<20} {seen:>16}  {planned}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

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
            received: Interval::ZERO,
            transmissions: 1,
        };
        assert_eq!(broken_bounds(&run), ["pause_long lasted 5us of 4us"]);
        assert!(!run.holds());
        let worse = Run { drops: 7, buffer: (Bytes(11), Bytes(10)), ..run.clone() };
        assert_eq!(broken_bounds(&worse)[..2], ["lossless frames dropped: 7", "a priority held 11 of 10 B"]);
        let kept = Run { pause_long: (us(4), us(4)), ..run };
        assert!(kept.holds() && broken_bounds(&kept).is_empty());
    }
}
