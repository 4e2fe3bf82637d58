//! The progress of all runs together.

use crate::interrupt::Interrupt;
use core::fmt::Display;
use core::ops::ControlFlow;
use indicatif::ProgressBar;
use simulation::Progress;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use units::Nanos;

/// Steps of the bar per run.
const STEPS: u64 = 1_000;
/// The last of them, for the flows that are still active when no more are started.
const LAST_STEPS: u64 = 50;

/// The progress of all runs, each in a separate entry.
pub struct Board<'a> {
    interrupt: &'a Interrupt,
    bar: ProgressBar,
    runs: Vec<Entry>,
    done: AtomicUsize,
}

/// One run.
#[derive(Default)]
struct Entry {
    steps: AtomicU64,
    transmissions: AtomicU64,
}

impl<'a> Board<'a> {
    /// A board for this number of runs.
    pub fn new(runs: usize, interrupt: &'a Interrupt) -> Self {
        let length = Some(runs as u64 * STEPS);
        let bar = crate::progress::bar(length, "{bar:40} {percent:>3}%  {msg}  {eta} left");
        let runs = (0..runs).map(|_| Entry::default()).collect();
        Self { interrupt, bar, runs, done: AtomicUsize::new(0) }
    }

    /// Shows the progress of run `index`, whose flows start up to `until`. Breaks after an interrupt.
    pub fn show(&self, index: usize, progress: &Progress, until: Nanos) -> ControlFlow<()> {
        let entry = &self.runs[index];
        let share = u128::from(progress.now.0) * u128::from(STEPS) / u128::from(until.0.max(1));
        let steps = u64::try_from(share).unwrap_or(u64::MAX).min(STEPS - LAST_STEPS);
        entry.steps.store(steps, Ordering::Relaxed);
        entry.transmissions.store(progress.transmissions, Ordering::Relaxed);
        self.draw();
        self.interrupt.flow()
    }

    /// Notes that run `index` goes on where it had put so many frames on links.
    pub fn goes_on_from(&self, index: usize, transmissions: u64) {
        self.runs[index].transmissions.store(transmissions, Ordering::Relaxed);
    }

    /// Shows that run `index` is done.
    pub fn done(&self, index: usize) {
        self.runs[index].steps.store(STEPS, Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
        self.draw();
    }

    /// Frames that run `index` has put on links, as of its last report.
    pub fn transmissions(&self, index: usize) -> u64 {
        self.runs[index].transmissions.load(Ordering::Relaxed)
    }

    /// Whether another run may start.
    pub fn goes_on(&self) -> bool {
        self.interrupt.flow().is_continue()
    }

    /// Prints a problem on standard error, above the bar.
    pub fn complain(&self, problem: &impl Display) {
        self.bar.suspend(|| crate::console::complain(problem));
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self) {
        if self.bar.is_hidden() {
            return;
        }
        let sum = |of: fn(&Entry) -> &AtomicU64| -> u64 {
            self.runs.iter().map(|entry| of(entry).load(Ordering::Relaxed)).sum()
        };
        let (done, runs) = (self.done.load(Ordering::Relaxed), self.runs.len());
        let transmissions = units::human::thousands(sum(|entry| &entry.transmissions));
        self.bar.set_message(format!("{done} of {runs} runs  {transmissions} transmissions"));
        self.bar.set_position(sum(|entry| &entry.steps));
    }
}
