//! `longspan simulate`.

use crate::simulate::shard::Shard;
use clap::Args;
use config::scenario::Override;
use core::num::{NonZeroU32, NonZeroUsize};
use core::str::FromStr;
use core::time::Duration;
use std::path::PathBuf;

/// Simulate networks of switches and hosts in virtual time
///
/// A scenario describes a network, the traffic of its hosts, and the variants to compare. Each variant
/// runs with each seed at each point of the sweeps, several runs in parallel. The switches run the same
/// code as on the wire, each with a full configuration, and invariants are checked at every event.
/// Results are written below DIR, and the papers' claims are printed beside the measured figures. The
/// same scenario and seed always produce the same bytes. To resume an interrupted simulation, run the
/// same command again. Several machines can share a simulation: each runs one shard of it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  longspan simulate config/scenarios/incast.toml --out out
  longspan simulate config/scenarios/incast.toml --out out --quick --seeds 5

  Override values of the file:
    longspan simulate scenario.toml --out out --set topology.rate=400G --set scenario.until=5ms

  Run every combination of several values (array elements by name, or by index from 0):
    longspan simulate scenario.toml --out out --sweep traffic.web.load=0.3,0.5,0.7 \\
        --sweep long_haul.bifrost.slot=1us,10us --only-variant bifrost

  Print the results as JSON for another program:
    longspan simulate scenario.toml --out out --json | jq '.claims[] | {id, verdict}'

  Save a long run every ten minutes; after Ctrl-C, SIGTERM or a crash, the same command goes on from there:
    longspan simulate scenario.toml --out out --checkpoint 10m

  Keep the figures of claims across builds, with seeds that no one has tuned on:
    longspan simulate scenario.toml --out out --seed 1001 --seeds 20 --figures figures.csv

  Run a third of the runs in each of three jobs, then write the summary and the report:
    longspan simulate scenario.toml --out out --seeds 5 --shard 1/3     (also 2/3 and 3/3)
    longspan simulate scenario.toml --out out --seeds 5 --join

Exit status: 0 success, whatever the verdicts on the claims; 1 a run was interrupted (Ctrl-C, SIGTERM), is missing at
a join, is being run by another process, or failed: an invariant was violated, the network deadlocked or
livelocked though no claim says so, or a host had no free queue pair (reported with seed and time); 2 wrong usage or
configuration, reported before anything runs.")]
pub struct SimulateArgs {
    /// Scenario file
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,
    /// Write DIR/summary.json, and the results of each run to a directory below DIR
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Override a value of the file and its variants. KEY is a dotted path such as topology.rate; VALUE is
    /// TOML or a bare word. Repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<Override>,
    /// Run with each of these values. Several sweeps run in every combination
    #[arg(long = "sweep", value_name = "KEY=VALUE,VALUE...")]
    pub sweep: Vec<SweepArg>,
    /// Seed of all random choices, or the first of several. Default: the seed of the scenario
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run with N consecutive seeds
    #[arg(long, value_name = "N", default_value = "1")]
    pub seeds: NonZeroU32,
    /// Run N simulations in parallel. Default: one per core
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Threads of one simulation: up to N, if long links (10 us or more) divide its network, or
    /// if it is large. Results are the same
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZeroUsize,
    /// Run only this variant. Repeatable
    #[arg(long, value_name = "NAME")]
    pub only_variant: Vec<String>,
    /// Apply the `quick` values of the scenario, which make it short. If there are any, no claim is judged
    #[arg(long)]
    pub quick: bool,
    /// Repeat runs that are already complete
    #[arg(long)]
    pub again: bool,
    /// Keep what verdicts rest on in FILE (CSV), and repeat no run whose figures it has, whatever build ran it
    #[arg(long, value_name = "FILE", conflicts_with = "quick")]
    pub figures: Option<PathBuf>,
    /// Write a checkpoint of each run every TIME (30s, 10m, 2h) and on an interrupt, from which the same command
    /// goes on. Results are the same. Default: an interrupted run begins anew
    #[arg(long, value_name = "TIME", value_parser = clock_time)]
    pub checkpoint: Option<Duration>,
    /// Run only shard I of N, from 1 to N, and write only the directories of its runs. The shards of
    /// all I together are all runs. Write the summary with --join
    #[arg(long, value_name = "I/N", conflicts_with = "json")]
    pub shard: Option<Shard>,
    /// Run nothing: write DIR/summary.json and DIR/report.html from the runs that shards have left below
    /// DIR. Fails, and names what is missing, if not all runs are there
    #[arg(long, conflicts_with_all = ["shard", "again"])]
    pub join: bool,
    /// Write tables for data frames, too: DIR/runs.csv has a row for each run, DIR/flows.csv one for each
    /// flow of all runs. FORMAT is csv
    #[arg(long, value_name = "FORMAT", value_parser = ["csv"], conflicts_with = "shard")]
    pub tables: Option<String>,
    /// Print the summary as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Parses a time by the clock on the wall: `30s`, `10m`.
fn clock_time(text: &str) -> Result<Duration, &'static str> {
    let time = humantime::parse_duration(text).ok().filter(|time| !time.is_zero());
    time.ok_or("expected a time above 0 such as 30s, 10m or 2h")
}

/// `KEY=VALUE,VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepArg {
    /// The key.
    pub key: String,
    /// Its values, all different.
    pub values: Vec<String>,
}

impl FromStr for SweepArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected KEY=VALUE,VALUE, for example traffic.0.load=0.3,0.5".to_owned();
        let (_, list) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<String> = values(list).into_iter().map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        if let Some(twice) = (1..values.len()).find(|place| values[..*place].contains(&values[*place])) {
            return Err(format!("value {} is given twice", values[twice]));
        }
        let single: Override = text.parse().map_err(|_| wrong())?;
        Ok(Self { key: single.key, values })
    }
}

/// Splits a list at its commas, except those in brackets, braces and quotes.
fn values(list: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start) = (0_usize, None, 0);
    let mut values = Vec::new();
    for (place, letter) in list.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                values.push(&list[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    values.push(&list[start..]);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_a_unit_and_is_not_zero() {
        let millis = |text: &str| clock_time(text).map(|time| time.as_millis());
        assert_eq!(
            ["250ms", "30s", "10m", "2h", "1.5h"].map(millis),
            [Ok(250), Ok(30_000), Ok(600_000), Ok(7_200_000), Ok(5_400_000)]
        );
        for wrong in ["", "10", "m", "0s", "-1s", "10 parsecs", "18446744073709551615h"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_sweep_is_split_at_commas_that_are_not_inside_of_a_value() {
        let sweep: SweepArg = "a.b=1, [2,3],\"x,y\",{p=1,q=2}".parse().unwrap();
        assert_eq!(
            (sweep.key.as_str(), sweep.values),
            ("a.b", ["1", "[2,3]", "\"x,y\"", "{p=1,q=2}"].map(Into::into).to_vec())
        );
    }
}
