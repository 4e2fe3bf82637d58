//! `longspan simulate`.

mod claims;
mod digest;
mod distribution;
mod export;
mod figure;
mod join;
mod known;
pub mod page;
mod plan;
mod pool;
mod progress;
mod run;
mod sets;
pub mod shard;
mod summary;
mod tables;

use crate::cli::simulate::SimulateArgs;
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use known::KnownFigures;
use plan::RunPlan;
use progress::Board;
use run::SUMMARY;
use std::fs;
use std::num::NonZeroUsize;
use std::thread;
use summary::{ClaimSummary, EndingName, RunSummary, Summary};
use units::human::count_of;

/// Runs all variants, sweeps and seeds of a scenario, or a shard of them, or joins their results.
///
/// # Errors
/// All [`Failure`]s except those of `check`, `replay` and running gateways. If a run fails, the others are still
/// done first.
pub fn run(args: &SimulateArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::or_termination_heard()?;
    let plan = RunPlan::new(args)?;
    plan.warnings.iter().for_each(console::complain);
    let known = args.figures.as_deref().map(|path| KnownFigures::open(path, &plan)).transpose()?;
    let done = match &known {
        known if args.join => join::join(&plan, &args.out, known.as_ref())?,
        known => simulated(&plan, args, known.as_ref(), &interrupt)?,
    };
    let planned = done.len();
    if let Some(shard) = args.shard {
        let (runs, directory) = (count_of(planned as u64, "run"), args.out.display());
        console::print(&format!("Shard {shard} has {runs}, with results in {directory}\n"))?;
        return verdict(&plan, &done.into_iter().flatten().collect::<Vec<_>>(), planned);
    }
    let mut claims = claims::judge(&plan.file.claims, &plan.runs, &done);
    if args.quick && !plan.file.quick.is_empty() {
        claims.iter_mut().for_each(ClaimSummary::withdraw);
    }
    let runs = done.into_iter().flatten().collect();
    let summary = Summary::new(plan.file.name.clone(), plan.title.clone(), args.quick, runs, claims);
    summary::write(&args.out.join(SUMMARY), &summary)?;
    if args.json {
        console::print(&console::json(&summary))?;
    } else {
        console::print(&tables::page(&summary, &args.out))?;
    }
    page::write(&args.out, &summary)?;
    if args.tables.is_some() {
        export::write(&args.out, &summary)?;
    }
    verdict(&plan, &summary.runs, planned)
}

/// Runs what has no results yet. A run that an interrupt prevented has none.
fn simulated(
    plan: &RunPlan,
    args: &SimulateArgs,
    known: Option<&KnownFigures<'_>>,
    interrupt: &Interrupt,
) -> Result<Vec<Option<RunSummary>>, Failure> {
    fs::create_dir_all(&args.out).map_err(Failure::uncreated(&args.out))?;
    let board = Board::new(plan.runs.len(), interrupt);
    let jobs = args.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let work = |index| board.goes_on().then(|| one(plan, index, args, known, &board));
    let done = pool::work(plan.runs.len(), jobs, work);
    board.end();
    done.into_iter().map(|run| run.flatten().transpose()).collect()
}

/// The results of one run: those of an earlier command if they still apply, or those of a new run.
fn one(
    plan: &RunPlan,
    index: usize,
    args: &SimulateArgs,
    known: Option<&KnownFigures<'_>>,
    board: &Board<'_>,
) -> Result<RunSummary, Failure> {
    let planned = &plan.runs[index];
    let directory = args.out.join(&planned.name);
    let earlier = summary::read(&directory.join(SUMMARY), planned).ok();
    let earlier = earlier.filter(|run| run.ending.is_complete() && !args.again);
    let of_table = || known.filter(|_| !args.again).and_then(|known| known.results(planned));
    let done = match earlier {
        Some(run) => run::forget_checkpoint(&directory).map(|()| run),
        None => of_table().map_or_else(|| run::run(plan, index, args, &directory, board), Ok),
    };
    if let (Some(known), Ok(run)) = (known, &done) {
        known.keep(planned, run)?;
    }
    if let Some(failure) = done.as_ref().ok().and_then(|run| claims::failure(&plan.file.claims, run)) {
        board.complain(&failure);
    }
    board.done(index);
    done
}

fn verdict(plan: &RunPlan, runs: &[RunSummary], planned: usize) -> Result<(), Failure> {
    let complete = runs.iter().filter(|run| run.ending != EndingName::Interrupted).count();
    if complete < planned {
        return Err(Failure::Unfinished { complete, planned });
    }
    match runs.iter().filter(|run| claims::failure(&plan.file.claims, run).is_some()).count() {
        0 => Ok(()),
        failed => Err(Failure::FailedRuns { failed, planned }),
    }
}
