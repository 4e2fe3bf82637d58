//! Ctrl-C: what is done ends there, and what came before is written.

use crate::failure::Failure;
use core::ops::ControlFlow;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked for the end.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Hears the first SIGINT from now on. A second one ends the program as if nobody heard it.
    ///
    /// # Errors
    /// [`Failure::Signal`].
    pub fn heard() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        // In this order: the second signal finds the flag that the first one has set.
        flag::register_conditional_default(SIGINT, asked.clone()).map_err(Failure::Signal)?;
        flag::register(SIGINT, asked.clone()).map_err(Failure::Signal)?;
        Ok(Self(asked))
    }

    /// On, or the end.
    pub fn flow(&self) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
