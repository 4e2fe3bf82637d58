//! A bar on the terminal, where there is one.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use replay::Progress;
use std::io::{self, IsTerminal};

/// How far the replay has come. Shows nothing where standard error is no terminal.
pub struct Bar(Option<ProgressBar>);

impl Bar {
    /// A bar for captures of `total_bytes`, where that is known.
    pub fn new(total_bytes: Option<u64>) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(total_bytes, ProgressDrawTarget::stderr_with_hz(10));
        let template = match total_bytes {
            Some(_) => "{bar:40} {percent:>3}%  {msg} frames  {bytes_per_sec}  {eta} left",
            None => "{spinner} {msg} frames  {bytes}  {bytes_per_sec}",
        };
        // A template that did not parse would leave the default style, which serves too.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(Some(bar))
    }

    /// Moves it.
    pub fn show(&mut self, progress: Progress) {
        if let Some(bar) = &self.0 {
            bar.set_message(telemetry::table::thousands(progress.frames));
            bar.set_position(progress.bytes);
        }
    }

    /// Takes it away.
    pub fn end(self) {
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
        }
    }
}
