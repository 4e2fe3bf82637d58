//! Pushes the metrics to an OpenTelemetry collector, by the OpenTelemetry Protocol over HTTP (OTLP/HTTP, binary protobuf).
//!
//! A thread of its own asks for a snapshot at each interval, encodes it and sends it. Nobody waits for that thread. Totals
//! are cumulative, so the next push makes up for one that fails, and none is sent again.
//!
//! The collector is not trusted: a push has a time limit in total, its answer a limit of bytes, and redirects are not
//! followed.

use core::convert::Infallible;
use core::time::Duration;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use config::runtime;
use rustix::system::uname;
use telemetry::metrics::otlp::{self, AnswerError, Resource};
use telemetry::{OtlpReport, Snapshot};
use ureq::Agent;

/// The longest head of an answer, in bytes.
const HEAD_BYTES: usize = 8 << 10;
/// The longest body of an answer, in bytes. An answer has a number and a line of text.
const BODY_BYTES: u64 = 64 << 10;
/// The longest reason in the log, in characters.
const REASON_CHARS: usize = 200;

/// Pushes to a collector until it is dropped. A push that is under way ends by itself, within its time limit.
#[derive(Debug)]
pub struct Exporter {
    counts: Counts,
    _stop: Sender<Infallible>,
}

/// The pushes so far.
#[derive(Clone, Debug, Default)]
pub struct Counts(Arc<Mutex<OtlpReport>>);

/// Why a push did not succeed.
#[derive(Debug, thiserror::Error)]
enum PushError {
    #[error("it rejected some of the points")]
    Partial,
    #[error("it answered with status {0}")]
    Refused(u16),
    #[error("{0}")]
    Http(#[from] ureq::Error),
    #[error("{0}")]
    Answer(#[from] AnswerError),
    #[error("the gateway gave no snapshot in time")]
    Skipped,
}

impl Exporter {
    /// Pushes what `snapshot` returns to the collector of `settings` from now on, as the metrics of the gateway called
    /// `gateway`.
    ///
    /// # Errors
    /// The system's error if there is no thread for it.
    pub fn start(
        settings: &runtime::Otlp,
        gateway: &str,
        snapshot: impl FnMut() -> Option<Box<Snapshot>> + Send + 'static,
    ) -> io::Result<Self> {
        let host = uname().nodename().to_string_lossy().into_owned();
        let [interval, timeout] = [settings.interval, settings.timeout].map(|it| Duration::from_nanos(it.0));
        let pusher = Pusher {
            agent: agent(timeout),
            endpoint: settings.endpoint.to_string(),
            resource: Resource { host, gateway: gateway.into() },
            snapshot,
            counts: Counts::default(),
            trouble: None,
        };
        let counts = pusher.counts.clone();
        let (stop, stopped) = channel();
        thread::Builder::new().name("otlp".into()).spawn(move || pusher.run(interval, &stopped))?;
        Ok(Self { counts, _stop: stop })
    }

    /// The pushes, for whoever reports them.
    pub fn counts(&self) -> Counts {
        self.counts.clone()
    }
}

impl Counts {
    /// The counts so far.
    pub fn report(&self) -> OtlpReport {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, outcome: &Result<(), PushError>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match outcome {
            Ok(()) => &mut counts.accepted,
            Err(PushError::Partial) => &mut counts.partial,
            Err(PushError::Refused(_)) => &mut counts.refused,
            Err(PushError::Http(_) | PushError::Answer(_)) => &mut counts.failed,
            Err(PushError::Skipped) => &mut counts.skipped,
        };
        *count += 1;
    }
}

/// Speaks HTTP with one collector, and never longer than `timeout` at a time.
fn agent(timeout: Duration) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .max_response_header_size(HEAD_BYTES)
        // Any status is an answer, also one that points elsewhere.
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        // The environment must not lead the metrics elsewhere.
        .proxy(None)
        // A connection that was idle may be dead, and a new one costs little.
        .max_idle_connections(0)
        .user_agent(concat!("longspan/", env!("CARGO_PKG_VERSION")));
    config.build().into()
}

/// The thread that pushes.
struct Pusher<S> {
    agent: Agent,
    endpoint: String,
    resource: Resource,
    snapshot: S,
    counts: Counts,
    /// Why the last push to the collector failed, as it was logged.
    trouble: Option<String>,
}

impl<S: FnMut() -> Option<Box<Snapshot>>> Pusher<S> {
    fn run(mut self, interval: Duration, stopped: &Receiver<Infallible>) {
        let mut next = Instant::now() + interval;
        loop {
            match stopped.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(never) => match never {},
            }
            let outcome = self.push();
            self.counts.add(&outcome);
            match (self.change(&outcome), &self.trouble) {
                (true, Some(trouble)) => {
                    tracing::warn!("the OpenTelemetry collector gets no metrics: {trouble}")
                }
                (true, None) => tracing::info!("the OpenTelemetry collector gets the metrics again"),
                (false, _) => {}
            }
            // Pushes that a slow one has delayed are left out, except for one.
            next = (next + interval).max(Instant::now());
        }
    }

    fn push(&mut self) -> Result<(), PushError> {
        let snapshot = (self.snapshot)().ok_or(PushError::Skipped)?;
        let request = otlp::encode(&snapshot, &self.resource);
        let mut answer =
            self.agent.post(&self.endpoint).content_type(otlp::CONTENT_TYPE).send(&request[..])?;
        let status = answer.status();
        if !status.is_success() {
            return Err(PushError::Refused(status.as_u16()));
        }
        let body = answer.body_mut().with_config().limit(BODY_BYTES).read_to_vec()?;
        if otlp::rejected(&body)? == 0 { Ok(()) } else { Err(PushError::Partial) }
    }

    /// Remembers the outcome of a push. Returns whether it is another than before. One that was skipped says nothing of the
    /// collector, and is usual while the gateway drains.
    fn change(&mut self, outcome: &Result<(), PushError>) -> bool {
        if matches!(outcome, Err(PushError::Skipped)) {
            return false;
        }
        // The reason may hold what a collector sent.
        let shown = |error: &PushError| error.to_string().escape_debug().take(REASON_CHARS).collect();
        let trouble = outcome.as_ref().err().map(shown);
        let changes = trouble != self.trouble;
        self.trouble = trouble;
        changes
    }
}

#[cfg(test)]
mod tests;
