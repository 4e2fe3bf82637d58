//! How far all runs have come: a bar on the terminal, where there is one.

use crate::interrupt::Interrupt;
use core::fmt::Display;
use core::ops::ControlFlow;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use simulation::Progress;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use units::Nanos;

/// Steps of a run on the bar.
const STEPS: u64 = 1_000;
/// As many are left for the flows that end when no more are started.
const LAST_STEPS: u64 = 50;

/// What all runs have come to, each in a place of its own.
pub struct Board<'a> {
    interrupt: &'a Interrupt,
    bar: Option<ProgressBar>,
    runs: Vec<Place>,
    done: AtomicUsize,
}

/// One run.
#[derive(Default)]
struct Place {
    steps: AtomicU64,
    transmissions: AtomicU64,
}

impl<'a> Board<'a> {
    /// For `runs` runs. Shows nothing where standard error is no terminal.
    pub fn new(runs: usize, interrupt: &'a Interrupt) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let length = Some(runs as u64 * STEPS);
            let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(10));
            // A template that did not parse would leave the default style, which serves too.
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3}%  {msg}  {eta} left") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        let runs = (0..runs).map(|_| Place::default()).collect();
        Self { interrupt, bar, runs, done: AtomicUsize::new(0) }
    }

    /// Run `index` has come so far; flows start up to `until`. Says whether it is to go on.
    pub fn show(&self, index: usize, progress: &Progress, until: Nanos) -> ControlFlow<()> {
        let place = &self.runs[index];
        let share = u128::from(progress.now.0) * u128::from(STEPS) / u128::from(until.0.max(1));
        let steps = u64::try_from(share).unwrap_or(u64::MAX).min(STEPS - LAST_STEPS);
        place.steps.store(steps, Ordering::Relaxed);
        place.transmissions.store(progress.transmissions, Ordering::Relaxed);
        self.draw();
        self.interrupt.flow()
    }

    /// Run `index` is done.
    pub fn done(&self, index: usize) {
        self.runs[index].steps.store(STEPS, Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
        self.draw();
    }

    /// Frames that run `index` had put on links when it last said so.
    pub fn transmissions(&self, index: usize) -> u64 {
        self.runs[index].transmissions.load(Ordering::Relaxed)
    }

    /// Whether another run may begin.
    pub fn goes_on(&self) -> bool {
        self.interrupt.flow().is_continue()
    }

    /// Says something on standard error, above the bar.
    pub fn complain(&self, problem: &impl Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| crate::console::complain(problem)),
            None => crate::console::complain(problem),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn draw(&self) {
        let Some(bar) = &self.bar else { return };
        let (steps, transmissions) = self.runs.iter().fold((0, 0), |(steps, transmissions), place| {
            let here = place.transmissions.load(Ordering::Relaxed);
            (steps + place.steps.load(Ordering::Relaxed), transmissions + here)
        });
        let (done, runs) = (self.done.load(Ordering::Relaxed), self.runs.len());
        let transmissions = telemetry::table::thousands(transmissions);
        bar.set_message(format!("{done} of {runs} runs  {transmissions} transmissions"));
        bar.set_position(steps);
    }
}
