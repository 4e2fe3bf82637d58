//! The replay itself: the loop around the switch.

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

/// The most frames of one instant and port that the switch is given at once, as a network card
/// hands them over.
const BURST: usize = 32;
/// Frames between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 15;

/// How far a replay has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Frames read.
    pub frames: u64,
    /// Bytes of the captures that they took, record headers included (those of pcap).
    pub bytes: u64,
}

/// How a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything that could leave has left, and nothing is due any more.
    Drained,
    /// Nothing can leave, yet there are frames inside or groups paused: a deadlock.
    Deadlock,
    /// Frames still waited [`Replay::DRAIN_LIMIT`] after the last arrival.
    DrainLimit,
}

impl Ending {
    /// The name in reports; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drained => "drained",
            Self::Deadlock => "deadlock",
            Self::DrainLimit => "drain_limit",
        }
    }
}

/// What came of a replay.
#[derive(Debug)]
pub struct Outcome {
    /// What happened in the gateway.
    pub report: Report,
    /// Why a capture could not be read to its end. What was read before was played and drained.
    pub input_error: Option<CaptureError>,
    /// Whether `progress` ended the playing.
    pub interrupted: bool,
    /// What happened over time, where [`Replay::sample`] asked for it.
    pub series: Option<Series>,
}

/// Captures, ready to be played through a gateway.
pub struct Replay<S> {
    program: Arc<Program>,
    merge: Merge<S>,
    sides: Vec<Side>,
    sampling: Option<Sampling>,
}

impl<S: FrameSource> Replay<S> {
    /// How long after the last arrival frames may still leave, in time of the capture: a gateway
    /// that is shaped to almost nothing would otherwise send pause refreshes for years.
    pub const DRAIN_LIMIT: Interval = Interval::from_secs(60);

    /// Puts `inputs` in order. The ports that they name are ports of `program`.
    ///
    /// # Errors
    /// What keeps the first frame of an input from being read.
    pub fn new(program: Arc<Program>, inputs: Vec<Input<S>>) -> Result<Self, CaptureError> {
        let (sources, sides) = split_inputs(inputs);
        Ok(Self { program, merge: Merge::new(sources)?, sides, sampling: None })
    }

    /// Has the gateway looked at over time. That changes nothing in what it does.
    #[must_use]
    pub fn sample(mut self, sampling: Sampling) -> Self {
        self.sampling = Some(sampling);
        self
    }

    /// Plays all frames, drains the gateway, and writes everything to the end. `name` is that of
    /// the gateway in the report; `progress` is called every few ten thousand frames, and can end
    /// the playing as the end of the captures would.
    ///
    /// # Errors
    /// What keeps an output from being written. The captures hold whole records up to there, and
    /// those of the other ports all that had left.
    ///
    /// # Panics
    /// Where `outputs` was not made for the ports of the program: a mistake in the caller.
    pub fn run<W: CaptureSink>(
        mut self,
        name: &str,
        outputs: Outputs<W>,
        progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, CaptureError> {
        let mut gateway = Gateway::new(self.program.clone(), outputs, self.sampling);
        let played = self.play(&mut gateway, progress);
        // An output that failed ends the replay at once; the other ones are completed.
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

    /// Plays all frames. An input that breaks ends the playing, and is no error here.
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

/// What was played.
#[derive(Default)]
pub(crate) struct Played {
    pub progress: Progress,
    /// Of all frames that were read.
    pub volume: Volume,
    /// First and last instant of the captures.
    pub captured: Option<(Nanos, Nanos)>,
    /// First and last arrival, by the clock of the replay.
    pub arrivals: Option<(Nanos, Nanos)>,
    pub unassigned: Unassigned,
    pub error: Option<CaptureError>,
    /// Whether the playing was ended before the captures did.
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

/// A switch whose clock is moved by hand.
pub(crate) struct Gateway<W: CaptureSink> {
    pub shard: Shard<OwnedFrame>,
    pub outputs: Outputs<W>,
    pub now: Nanos,
    /// What was given to each port.
    pub offered: Vec<Volume>,
    ports: u16,
    pool: FramePool,
    /// Frames that arrived at `now` at `burst_port` and were not given to the switch yet.
    burst: Vec<OwnedFrame>,
    burst_port: PortId,
    /// The first instant after `now` at which a port wants to be called.
    next: Nanos,
    sampler: Option<Sampler>,
    /// When the sampler is to look; never without one.
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

    /// A frame arrives at `now`, which is never before the last one.
    #[inline]
    fn arrive(&mut self, now: Nanos, port: PortId, frame: &Captured<'_>) -> Result<(), CaptureError> {
        if now > self.now || port != self.burst_port || self.burst.len() == BURST {
            self.flush()?;
            if self.next < now {
                // What is due at the very instant of an arrival comes behind it.
                self.serve(Nanos(now.0 - 1))?;
            }
            self.move_clock(now);
            self.burst_port = port;
        }
        self.offered[port.index()].count(Bytes(u64::from(frame.original_length)));
        self.burst.push(self.pool.frame(frame.data, frame.original_length));
        Ok(())
    }

    /// Gives the switch what arrived, and takes what may leave at once.
    #[inline]
    fn flush(&mut self) -> Result<(), CaptureError> {
        if self.burst.is_empty() {
            return Ok(());
        }
        self.shard.ingress(self.now, self.burst_port, &mut self.burst, &mut self.outputs);
        self.outputs.check()?;
        self.serve(self.now)
    }

    /// Calls each port at each of its deadlines up to `until`, in the order of time and, at one
    /// instant, of the ports.
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
                // What left may have made another port due, by the end of a pause.
                continue;
            }
            self.next = next;
            if next > until {
                return Ok(());
            }
            self.move_clock(next);
        }
    }

    /// All that happens before `to` has happened, and the switch has what arrived.
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

    /// A frame that comes in nowhere passes by at `now`.
    fn pass_by(&mut self, now: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            sampler.begin(now);
        }
    }

    /// Lets leave what can leave after the last arrival.
    fn drain(&mut self, limit: Nanos) -> Result<Ending, CaptureError> {
        while self.next != Nanos::NEVER {
            let departs = |port| self.shard.departure(port) != Nanos::NEVER;
            if !self.ports().any(departs) && (self.holds_frames() || self.has_paused_group()) {
                // Only pauses are left, and they would be refreshed for ever. Slots come to rest.
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
