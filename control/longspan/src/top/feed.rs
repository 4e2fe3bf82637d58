//! The thread that asks the gateway, so that one that takes its time does not keep keys waiting.

use crate::ask;
use gateway::socket::Request;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use telemetry::Snapshot;
use units::Interval;

/// The outcome of a question.
pub type News = Result<Snapshot, String>;

/// A gateway that is asked again and again.
pub struct Feed {
    news: Receiver<News>,
    pace: Sender<Interval>,
}

impl Feed {
    /// Asks the gateway behind `socket` now and after each `interval`. The thread ends after this is dropped.
    pub fn start(socket: PathBuf, interval: Interval) -> Self {
        let ((sender, news), (pace, paces)) = (channel(), channel());
        thread::spawn(move || ask_on(&socket, interval, &sender, &paces));
        Self { news, pace }
    }

    /// Asks at another interval from now on.
    pub fn pace(&self, interval: Interval) {
        // It ends after this.
        let _ = self.pace.send(interval);
    }

    /// The news since the last call, the oldest first.
    pub fn news(&self) -> impl Iterator<Item = News> {
        self.news.try_iter()
    }
}

fn ask_on(socket: &Path, mut interval: Interval, news: &Sender<News>, paces: &Receiver<Interval>) {
    loop {
        let asked = Instant::now();
        if news.send(ask::look(socket, Request::Show).map_err(|failure| failure.to_string())).is_err() {
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
