//! Ctrl-C, and for some commands SIGTERM and SIGHUP, which end a command after it has written its results so far.

use crate::failure::Failure;
use core::ops::ControlFlow;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user has interrupted the command.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Handles the first SIGINT from now on. A second one ends the program at once.
    ///
    /// # Errors
    /// [`Failure::Signal`].
    pub fn heard() -> Result<Self, Failure> {
        Self::of(&[SIGINT], &[SIGINT])
    }

    /// As [`Interrupt::heard`], and SIGTERM and SIGHUP are the same.
    ///
    /// # Errors
    /// [`Failure::Signal`].
    pub fn any_heard() -> Result<Self, Failure> {
        let signals = [SIGINT, SIGTERM, SIGHUP];
        Self::of(&signals, &signals)
    }

    /// As [`Interrupt::heard`], and SIGTERM is the same: for a command that never waits for a read.
    ///
    /// # Errors
    /// [`Failure::Signal`].
    pub fn or_termination_heard() -> Result<Self, Failure> {
        // Some batch systems send SIGTERM twice.
        Self::of(&[SIGINT, SIGTERM], &[SIGINT])
    }

    /// Handles `signals`. One of `urgent` that comes second ends the program.
    fn of(signals: &[i32], urgent: &[i32]) -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        // In this order: the second one finds the flag set.
        for signal in urgent {
            flag::register_conditional_default(*signal, asked.clone()).map_err(Failure::Signal)?;
        }
        for signal in signals {
            flag::register(*signal, asked.clone()).map_err(Failure::Signal)?;
        }
        Ok(Self(asked))
    }

    /// Breaks after an interrupt.
    pub fn flow(&self) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
