//! The thread that asks the gateway, so that one that takes its time does not keep keys waiting.

use crate::failure::Failure;
use std::mem;
use std::panic;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use telemetry::Snapshot;
use units::Interval;

/// The outcome of a question.
pub type News = Result<Snapshot, String>;

/// A gateway that is asked again and again.
pub struct Feed {
    news: Receiver<News>,
    pace: Sender<Interval>,
    thread: Option<JoinHandle<()>>,
}

impl Feed {
    /// Asks by `ask` now and after each `interval`. The thread ends after this is dropped.
    pub fn start(
        ask: impl FnMut() -> Result<Snapshot, Failure> + Send + 'static,
        interval: Interval,
    ) -> Self {
        let ((sender, news), (pace, paces)) = (channel(), channel());
        let thread = thread::spawn(move || ask_on(ask, interval, &sender, &paces));
        Self { news, pace, thread: Some(thread) }
    }

    /// Asks at another interval from now on.
    pub fn pace(&self, interval: Interval) {
        // It ends after this.
        let _ = self.pace.send(interval);
    }

    /// The next news since the last call. Panics if the thread did, whose message then is printed.
    pub fn news(&mut self) -> Option<News> {
        match self.news.try_recv() {
            Ok(news) => Some(news),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => match mem::take(&mut self.thread)?.join() {
                Ok(()) => None,
                Err(panicked) => panic::resume_unwind(panicked),
            },
        }
    }
}

fn ask_on(
    mut ask: impl FnMut() -> Result<Snapshot, Failure>,
    mut interval: Interval,
    news: &Sender<News>,
    paces: &Receiver<Interval>,
) {
    loop {
        let asked = Instant::now();
        if news.send(ask().map_err(|failure| failure.to_string())).is_err() {
            return;
        }
        loop {
            let left = Duration::from_nanos(interval.0).saturating_sub(asked.elapsed());
            match paces.recv_timeout(left) {
                Ok(other) => interval = other,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}
