//! The replay: the loop around the switch.

use crate::capture::{CaptureError, CaptureSink, FrameSource, Merge, Merged};
use crate::carrier::{Carriers, LinkFault};
use crate::frame::OwnedFrame;
use crate::gateway::{EventSink, Gateway};
use crate::input::{Input, Side, split_inputs};
use crate::output::Outputs;
use crate::played::{Played, Progress};
use crate::report::Report;
use crate::series::{Sampling, Series};
use core::ops::ControlFlow;
use std::sync::Arc;
use switch::program::PortSettings;
use switch::{Event, Lanes, LanesRefusal, Program};
use units::Interval;

/// Frames between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 15;

/// The outcome of a replay.
#[derive(Debug)]
pub struct Outcome {
    /// The report on the gateway.
    pub report: Report,
    /// Why a capture could not be read to its end. Earlier frames were played and drained.
    pub input_error: Option<CaptureError>,
    /// Whether `progress` ended the replay.
    pub interrupted: bool,
    /// Whether a link was to fail only after all frames had left ([`Replay::fault`]).
    pub missed_faults: bool,
    /// The time series, if [`Replay::sample`] requested it.
    pub series: Option<Series>,
}

/// Captures to play through a gateway.
pub struct Replay<S> {
    switch: Lanes<OwnedFrame>,
    merge: Merge<S>,
    sides: Vec<Side>,
    faults: Vec<LinkFault>,
    sampling: Option<Sampling>,
    events: Option<EventSink>,
}

impl<S: FrameSource> Replay<S> {
    /// The maximum drain after the last arrival, in replay time: a gateway shaped to almost zero would
    /// otherwise send pause refreshes for years.
    pub const DRAIN_LIMIT: Interval = Interval::from_secs(60);

    /// Merges `inputs`. They must only name ports of `program`. No port asks for the delay of its link, as no one would
    /// answer.
    ///
    /// # Errors
    /// The error that keeps the first frame of an input from being read.
    pub fn new(program: Arc<Program>, inputs: Vec<Input<S>>) -> Result<Self, CaptureError> {
        let (sources, sides) = split_inputs(inputs);
        Ok(Self {
            switch: Lanes::new(without_requests(program), 1).expect("one lane runs every program"),
            merge: Merge::new(sources)?,
            sides,
            faults: Vec::new(),
            sampling: None,
            events: None,
        })
    }

    /// Plays the captures through a gateway of so many [lanes](switch::driver), whose turns the seed of the program orders. One
    /// lane, the default, draws nothing.
    ///
    /// # Errors
    /// [`LanesRefusal`]: the first setting of the program that works with one lane only.
    pub fn with_lanes(self, lanes: usize) -> Result<Self, LanesRefusal> {
        Ok(Self { switch: Lanes::new(self.switch.program().clone(), lanes)?, ..self })
    }

    /// Lets links fail. Faults of one link do not overlap.
    #[must_use]
    pub fn fault(mut self, faults: Vec<LinkFault>) -> Self {
        self.faults = faults;
        self
    }

    /// Samples the gateway over time, without affecting it.
    #[must_use]
    pub fn sample(mut self, sampling: Sampling) -> Self {
        self.sampling = Some(sampling);
        self
    }

    /// Gives each event of the gateway to `sink`, in order for each port and kind, without affecting the gateway.
    #[must_use]
    pub fn record_events(mut self, sink: impl FnMut(&Event) + 'static) -> Self {
        self.events = Some(Box::new(sink));
        self
    }

    /// Plays all frames, drains the gateway, and completes all outputs. `name` is the gateway's name in the
    /// report. `progress` is called every few ten thousand frames; if it breaks, the replay ends as at the
    /// end of the captures.
    ///
    /// # Errors
    /// The error that keeps an output from being written. The captures hold whole records up to there, and
    /// those of the other ports all that had left.
    ///
    /// # Panics
    /// If `outputs` does not match the ports of the program, a mistake of the caller.
    pub fn run<W: CaptureSink>(
        self,
        name: &str,
        outputs: Outputs<W>,
        progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, CaptureError> {
        let Self { switch, mut merge, sides, faults, sampling, events } = self;
        let carriers = Carriers::new(&faults, merge.origin());
        let mut gateway = Gateway::new(switch, carriers, outputs, sampling);
        gateway.record_events(events);
        let played = play(&mut merge, &sides, &mut gateway, progress);
        // A failed output ends the replay at once; the others are completed.
        let ended = played.and_then(|input| Ok((input, gateway.drain(gateway.now + Self::DRAIN_LIMIT)?)));
        let (input, ending) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                let _ = gateway.outputs.finish();
                return Err(error);
            }
        };
        gateway.take_last_events();
        let missed_faults = gateway.has_missed_faults();
        let report = Report::new(name, &gateway, &input, merge.clock_faults(), ending);
        let series = gateway.sampler.map(|sampler| sampler.finish(&gateway.switch, gateway.now));
        gateway.outputs.finish()?;
        Ok(Outcome {
            report,
            input_error: input.error,
            interrupted: input.interrupted,
            missed_faults,
            series,
        })
    }
}

/// Plays all frames. A failing input ends the replay but is not an error here.
fn play<S: FrameSource, W: CaptureSink>(
    merge: &mut Merge<S>,
    sides: &[Side],
    gateway: &mut Gateway<W>,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Played, CaptureError> {
    let mut played = Played::default();
    loop {
        let Merged { source, now, frame } = match merge.next_frame() {
            Ok(Some(merged)) => merged,
            Ok(None) => break,
            Err(error) => {
                played.error = Some(error);
                break;
            }
        };
        played.count(now, &frame);
        match sides[source].port_of(&frame) {
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

/// `program`, with ports that answer peer delay at most.
fn without_requests(program: Arc<Program>) -> Arc<Program> {
    let asks = |port: &PortSettings| port.link_delay.is_some_and(|it| it.interval.is_some());
    if !program.settings().ports.iter().any(asks) {
        return program;
    }
    let mut settings = program.settings().clone();
    let measurements = settings.ports.iter_mut().filter_map(|port| port.link_delay.as_mut());
    measurements.for_each(|it| it.interval = None);
    Arc::new(program.with_settings(settings).expect("a port that asks for less is as valid as before"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{CaptureFile, CaptureWriter, Pace};
    use std::cell::Cell;
    use std::fs::File;
    use std::rc::Rc;
    use switch::Happening;
    use switch::link_delay::LinkDelay;
    use switch::program::{BufferSettings, ForwardingSettings, Settings};
    use units::{BitRate, Bytes, Nanos, PortId};
    use wire::ethernet::MacAddress;

    /// One port for each of `measurements`.
    fn program<const N: usize>(measurements: [Option<LinkDelay>; N]) -> Arc<Program> {
        let port = |(number, link_delay)| PortSettings {
            link_delay,
            ..PortSettings::lossy(
                format!("port{number}"),
                MacAddress([2, 0, 0, 0, 0, number]),
                BitRate::gigabits(1),
            )
        };
        let pool = Bytes(1 << 20);
        let settings = Settings {
            ports: (0..).zip(measurements).map(port).collect(),
            buffer: BufferSettings { shared: pool, headroom: pool, egress_lossy: pool, packing: None },
            forwarding: ForwardingSettings::Patch(Vec::new()),
            seed: 1,
        };
        Arc::new(Program::new(settings).unwrap())
    }

    #[test]
    fn a_port_that_measures_its_link_only_answers_in_a_replay() {
        let asks = LinkDelay { interval: Some(Interval::from_secs(1)), returns_up_to: None };
        let program = without_requests(program([Some(asks), None]));
        let measurements: Vec<_> = program.settings().ports.iter().map(|port| port.link_delay).collect();
        assert_eq!(measurements, [Some(LinkDelay { interval: None, returns_up_to: None }), None]);
        assert!(Arc::ptr_eq(&without_requests(program.clone()), &program), "nothing is left to change");
    }

    #[test]
    fn the_drop_events_of_a_replay_add_up_to_the_drops_of_its_report() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runts.pcap");
        let mut writer = CaptureWriter::create(&path).unwrap();
        (0..5).for_each(|at| writer.write(Nanos(at * 7_000_000), &[0; 10], 10).unwrap());
        writer.finish().unwrap();
        let source = CaptureFile::open(&path).unwrap();
        let input = Input { source, pace: Pace::AsCaptured, side: Side::Port(PortId(0)) };
        let told = Rc::new(Cell::new(0));
        let sum = told.clone();
        let replay = Replay::new(program([None, None]), vec![input]).unwrap().record_events(move |event| {
            if let Happening::Dropped { volume, .. } = event.what {
                sum.set(sum.get() + volume.frames);
            }
        });
        let outputs = Outputs::<File>::new([None, None]);
        let report = replay.run("gateway", outputs, |_| ControlFlow::Continue(())).unwrap().report;
        assert_eq!(told.get(), 5);
        assert_eq!(report.conservation.ports[0].ingress.dropped_at_ingress.frames, 5);
    }
}
