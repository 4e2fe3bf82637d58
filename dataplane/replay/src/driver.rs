//! The replay: the loop around the switch.

use crate::capture::{CaptureError, CaptureSink, Captured, FrameSource, Merge, Merged};
use crate::frame::{FramePool, OwnedFrame};
use crate::input::{Input, Side, Unassigned, split_inputs};
use crate::output::Outputs;
use crate::report::Report;
use crate::series::{Sampler, Sampling, Series};
use core::ops::ControlFlow;
use std::sync::Arc;
use switch::{Program, Shard, Volume};
use units::{Bytes, Interval, Nanos, PortId, Priority};

/// The maximum number of frames of one instant and port that the switch gets at once, like a NIC's burst.
const BURST: usize = 32;
/// Frames between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 15;

/// The progress of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Frames read.
    pub frames: u64,
    /// The bytes of these frames in the captures, including pcap record headers.
    pub bytes: u64,
}

/// The ending of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All frames that could leave have left, and nothing is due.
    Drained,
    /// A deadlock: nothing can leave, but frames are queued or groups paused.
    Deadlock,
    /// Frames were still queued [`Replay::DRAIN_LIMIT`] after the last arrival.
    DrainLimit,
}

impl Ending {
    /// The stable name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drained => "drained",
            Self::Deadlock => "deadlock",
            Self::DrainLimit => "drain_limit",
        }
    }
}

/// The outcome of a replay.
#[derive(Debug)]
pub struct Outcome {
    /// The report on the gateway.
    pub report: Report,
    /// Why a capture could not be read to its end. Earlier frames were played and drained.
    pub input_error: Option<CaptureError>,
    /// Whether `progress` ended the replay.
    pub interrupted: bool,
    /// The time series, if [`Replay::sample`] requested it.
    pub series: Option<Series>,
}

/// Captures to play through a gateway.
pub struct Replay<S> {
    program: Arc<Program>,
    merge: Merge<S>,
    sides: Vec<Side>,
    sampling: Option<Sampling>,
}

impl<S: FrameSource> Replay<S> {
    /// The maximum drain after the last arrival, in replay time: a gateway shaped to almost zero would
    /// otherwise send pause refreshes for years.
    pub const DRAIN_LIMIT: Interval = Interval::from_secs(60);

    /// Merges `inputs`. They must only name ports of `program`.
    ///
    /// # Errors
    /// What keeps the first frame of an input from being read.
    pub fn new(program: Arc<Program>, inputs: Vec<Input<S>>) -> Result<Self, CaptureError> {
        let (sources, sides) = split_inputs(inputs);
        Ok(Self { program, merge: Merge::new(sources)?, sides, sampling: None })
    }

    /// Samples the gateway over time, without affecting it.
    #[must_use]
    pub fn sample(mut self, sampling: Sampling) -> Self {
        self.sampling = Some(sampling);
        self
    }

    /// Plays all frames, drains the gateway, and completes all outputs. `name` is the gateway's name in the
    /// report. `progress` is called every few ten thousand frames; if it breaks, the replay ends as at the
    /// end of the captures.
    ///
    /// # Errors
    /// What keeps an output from being written. The captures hold whole records up to there, and
    /// those of the other ports all that had left.
    ///
    /// # Panics
    /// If `outputs` does not match the ports of the program, a mistake of the caller.
    pub fn run<W: CaptureSink>(
        mut self,
        name: &str,
        outputs: Outputs<W>,
        progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, CaptureError> {
        let mut gateway = Gateway::new(self.program.clone(), outputs, self.sampling);
        let played = self.play(&mut gateway, progress);
        // A failed output ends the replay at once; the others are completed.
        let ended = played.and_then(|input| Ok((input, gateway.drain(gateway.now + Self::DRAIN_LIMIT)?)));
        let (input, ending) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                let _ = gateway.outputs.finish();
                return Err(error);
            }
        };
        let clamped = (0..self.merge.sources()).map(|source| self.merge.clamped(source)).sum();
        let report = Report::new(name, &gateway, &input, clamped, ending);
        let series = gateway.sampler.map(|sampler| sampler.finish(&gateway.shard, gateway.now));
        gateway.outputs.finish()?;
        Ok(Outcome { report, input_error: input.error, interrupted: input.interrupted, series })
    }

    /// Plays all frames. A failing input ends the replay but is not an error here.
    fn play<W: CaptureSink>(
        &mut self,
        gateway: &mut Gateway<W>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Played, CaptureError> {
        let mut played = Played::default();
        loop {
            let Merged { source, now, frame } = match self.merge.next_frame() {
                Ok(Some(merged)) => merged,
                Ok(None) => break,
                Err(error) => {
                    played.error = Some(error);
                    break;
                }
            };
            played.count(now, &frame);
            match self.sides[source].port_of(frame.data) {
                Some(port) => gateway.arrive(now, port, &frame)?,
                None => {
                    gateway.pass_by(now);
                    played.unassigned.count(&frame);
                }
            }
            if played.progress.frames.is_multiple_of(PROGRESS_EVERY) && progress(played.progress).is_break() {
                played.interrupted = true;
                break;
            }
        }
        gateway.flush()?;
        Ok(played)
    }
}

/// The frames played.
#[derive(Default)]
pub(crate) struct Played {
    pub progress: Progress,
    /// The volume of all frames read.
    pub volume: Volume,
    /// First and last instant of the captures.
    pub captured: Option<(Nanos, Nanos)>,
    /// First and last arrival, by the replay clock.
    pub arrivals: Option<(Nanos, Nanos)>,
    pub unassigned: Unassigned,
    pub error: Option<CaptureError>,
    /// Whether the replay was ended before the captures.
    pub interrupted: bool,
}

impl Played {
    #[inline]
    fn count(&mut self, now: Nanos, frame: &Captured<'_>) {
        const RECORD_HEADER: u64 = 16;
        self.progress.frames += 1;
        self.progress.bytes += RECORD_HEADER + frame.data.len() as u64;
        self.volume.count(Bytes(u64::from(frame.original_length)));
        let (first, last) = self.captured.unwrap_or((frame.at, frame.at));
        self.captured = Some((first.min(frame.at), last.max(frame.at)));
        self.arrivals = Some((self.arrivals.map_or(now, |(first, _)| first), now));
    }
}

/// A switch driven by the replay clock.
pub(crate) struct Gateway<W: CaptureSink> {
    pub shard: Shard<OwnedFrame>,
    pub outputs: Outputs<W>,
    pub now: Nanos,
    /// The volume given to each port.
    pub offered: Vec<Volume>,
    ports: u16,
    pool: FramePool,
    /// Frames that arrived at `now` at `burst_port` and are not yet given to the switch.
    burst: Vec<OwnedFrame>,
    burst_port: PortId,
    /// The first port deadline after `now`.
    next: Nanos,
    sampler: Option<Sampler>,
    /// The next sample; never without a sampler.
    next_sample: Nanos,
}

impl<W: CaptureSink> Gateway<W> {
    fn new(program: Arc<Program>, outputs: Outputs<W>, sampling: Option<Sampling>) -> Self {
        let ports = program.settings().ports.len();
        assert_eq!(outputs.len(), ports, "there is one output for each port");
        let shard = Shard::single(program);
        let sampler = sampling.map(|sampling| Sampler::new(sampling, &shard));
        Self {
            next_sample: if sampler.is_some() { Nanos::ZERO } else { Nanos::NEVER },
            sampler,
            shard,
            outputs,
            now: Nanos::ZERO,
            offered: vec![Volume::default(); ports],
            ports: ports as u16,
            pool: FramePool::new(),
            burst: Vec::with_capacity(BURST),
            burst_port: PortId(0),
            next: Nanos::NEVER,
        }
    }

    /// The numbers of all ports.
    pub fn ports(&self) -> impl Iterator<Item = PortId> + use<W> {
        (0..self.ports).map(PortId)
    }

    /// Handles a frame that arrives at `now`, which never goes back.
    #[inline]
    fn arrive(&mut self, now: Nanos, port: PortId, frame: &Captured<'_>) -> Result<(), CaptureError> {
        if now > self.now || port != self.burst_port || self.burst.len() == BURST {
            self.flush()?;
            if self.next < now {
                // Deadlines at the instant of an arrival are served after it.
                self.serve(Nanos(now.0 - 1))?;
            }
            self.move_clock(now);
            self.burst_port = port;
        }
        self.offered[port.index()].count(Bytes(u64::from(frame.original_length)));
        self.burst.push(self.pool.frame(frame.data, frame.original_length));
        Ok(())
    }

    /// Gives the burst to the switch, and takes frames that may leave at once.
    #[inline]
    fn flush(&mut self) -> Result<(), CaptureError> {
        if self.burst.is_empty() {
            return Ok(());
        }
        self.shard.ingress(self.now, self.burst_port, &mut self.burst, &mut self.outputs);
        self.outputs.check()?;
        self.serve(self.now)
    }

    /// Calls each port at each of its deadlines up to `until`, in time order and, at one instant, in port
    /// order.
    #[inline]
    fn serve(&mut self, until: Nanos) -> Result<(), CaptureError> {
        loop {
            let (mut next, mut served) = (Nanos::NEVER, false);
            for port in (0..self.ports).map(PortId) {
                let deadline = self.shard.port_deadline(port);
                if deadline > self.now {
                    next = next.min(deadline);
                    continue;
                }
                let output = self.outputs.port(port);
                self.shard.egress(self.now, port, output);
                output.check()?;
                served = true;
            }
            if served {
                // A departed frame may have made another port due, by ending a pause.
                continue;
            }
            self.next = next;
            if next > until {
                return Ok(());
            }
            self.move_clock(next);
        }
    }

    /// Moves the clock to `to`. All earlier events are done, and the switch has all arrived frames.
    #[inline]
    fn move_clock(&mut self, to: Nanos) {
        if self.next_sample <= to {
            self.look(to);
        }
        self.now = to;
    }

    #[cold]
    fn look(&mut self, to: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            self.next_sample = sampler.catch_up(&self.shard, self.next_sample, to);
        }
    }

    /// Notes a frame at `now` that no port receives.
    fn pass_by(&mut self, now: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            sampler.begin(now);
        }
    }

    /// Drains the switch after the last arrival.
    fn drain(&mut self, limit: Nanos) -> Result<Ending, CaptureError> {
        while self.next != Nanos::NEVER {
            let departs = |port| self.shard.departure(port) != Nanos::NEVER;
            if !self.ports().any(departs) && (self.holds_frames() || self.has_paused_group()) {
                // Only pauses remain, and they would be refreshed forever. Slots come to rest.
                return Ok(Ending::Deadlock);
            }
            if self.next > limit {
                return Ok(Ending::DrainLimit);
            }
            self.serve(self.next)?;
        }
        Ok(if self.holds_frames() { Ending::Deadlock } else { Ending::Drained })
    }

    fn has_paused_group(&self) -> bool {
        let paused = |port, priority| self.shard.group(self.now, port, priority).paused.is_some();
        self.ports().any(|port| Priority::all().any(|priority| paused(port, priority)))
    }

    fn holds_frames(&self) -> bool {
        let ledger = self.shard.ledger();
        let holds = |port| Priority::all().any(|priority| ledger.egress_queue(port, priority).frames > 0);
        self.ports().any(holds)
    }
}
