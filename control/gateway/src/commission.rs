//! A port that is commissioned: the start of a gateway with a test device in the place of its other ports.
//!
//! The course runs on the worker, in the devices. The control thread tells it what it reads of device and worker, and
//! hears what it has found.

use core::cell::Cell;
use core::time::Duration;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use ::commission::{Bench, Course, End, Facts, Fault, Figures, Report, Terms};
use config::Gateway;
use dpdk::{Mbuf, PausesCounted, ResidentMemory, Tsc};
use switch::{Ledger, Shard, ShardId};
use units::{Interval, Nanos, PortId};
use wire::rate_feedback::Key;
use worker::{Clock, Device};

use crate::RunError;
use crate::clock::WireClock;
use crate::crew::{self, Crew};
use crate::device_mtu::DeviceMtus;
use crate::event::Event;
use crate::line::{DpdkLine, Line};
use crate::memory::{self, Buffers};
use crate::open::{Devices, open_all};
use crate::privileges::Privileges;
use crate::signals::{self, Leftover};
use crate::start::{self, CALIBRATION, Hire, Post, WorkerInputs};

/// The port that is commissioned, and the test device.
const LINK: PortId = PortId(0);
const TEST: PortId = PortId(1);
/// How often the control thread reads device and worker.
const LOOK: Duration = Duration::from_millis(20);

/// News of the control thread for the course: figures, or that the operator interrupts it.
type Told = Option<Figures>;

/// Commissions port 0 of `gateway`, which [`config::for_commission`] made of the file at `path`. Both ends share `key`.
///
/// # Errors
/// [`RunError`]: what keeps the gateway from starting, and [`RunError::Panicked`].
pub fn commission(path: &Path, key: Key, terms: Terms, gateway: Gateway) -> Result<Report, RunError> {
    // Without glibc there is nothing to limit.
    let _ = ResidentMemory::returns_what_is_freed();
    let (sender, events) = channel();
    let privileges = Privileges::prepare(&gateway.runtime.process)?;
    signals::hear(sender, Leftover::default()).map_err(RunError::Signals)?;
    let (gateway, ..) = start::seeded(gateway)?;
    let sum = gateway.memory().ok_or_else(|| RunError::NoDevice(start::without_device(&gateway)))?;
    let (posts, _claims) = start::assign_cores(&gateway)?;
    let eal = memory::start_dpdk(&gateway, &sum)?;
    let buffers = Buffers::new(&eal, &sum)?;
    let opened = open_all(&eal, &gateway, &buffers, &sum, &events, start::spreading()?)?;
    let Devices { mut lines, mut parts } = opened;
    start::doubt_counter();
    let clock = WireClock(Tsc::calibrate(CALIBRATION)?);
    privileges.give_up(&gateway, path, |_, _| Ok(()))?;
    // The lateness of the worker is that of the port: the test device waits for it.
    let own: Vec<_> = posts.iter().map(|post| Post { core: post.core, ports: vec![LINK] }).collect();
    let (gateway, _) = start::test_lateness(&gateway, &own)?;
    let gateway = DeviceMtus::of(&lines).apply(&gateway);
    let (Some(line), Some(device)) = (lines.first_mut(), parts.devices.first_mut().and_then(Vec::pop)) else {
        return Err(RunError::NoDevice(start::without_device(&gateway)));
    };
    let facts = Facts::of(&gateway, LINK, terms);
    let number = u64::from_ne_bytes(start::drawn()?) | 1;
    let privileges = Arc::new(privileges);
    let plan = WorkerInputs {
        gateway: &gateway,
        posts: &posts,
        memory: &sum,
        clock,
        eal: &eal,
        privileges,
        kernel: Cell::new(None),
    };
    let course = move |mut clock: WireClock| Course::new(facts, key, number, clock.now());
    if !wait_for_link(line, &events) {
        return Ok(course(clock).report());
    }
    let data = buffers.data.clone();
    let pool = move |bytes: &[u8]| data.frame(bytes);
    let pair = move |turn| Bench::pair(device, pool, course(clock), &clock, turn);
    let (crew, talk) = ResidentMemory::around(|| employ(&plan, pair))?;
    let (mut report, longest) = attend(crew, line, &talk, &events)?;
    if report.faults().any(|it| it == Fault::SlowCore) && longest > Interval::ZERO {
        let keys = gateway.keys_for_lateness(LINK, longest);
        report.suggested.extend(suggested(&keys));
    }
    Ok(report)
}

/// The lines for the table of a port that `keys` are, which [`Gateway::keys_for_lateness`] made.
fn suggested(keys: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let keys = keys.trim_start_matches("port.");
    let path = keys.split(' ').next().unwrap_or_default();
    // The table of the first key is that of the others.
    let (table, keys) = keys.split_at(path.rfind('.').map_or(0, |dot| dot + 1));
    keys.split(" and ").map(move |key| {
        (format!("{table}{key}"), "covers the longest turn; a core of its own is better".into())
    })
}

/// Waits for the link; returns false if the operator ends it before.
fn wait_for_link(line: &mut DpdkLine, events: &Receiver<Event>) -> bool {
    if !line.is_up() {
        tracing::info!("waiting for the link");
    }
    while !line.is_up() {
        line.bring_up();
        if let Ok(Event::Terminate) = events.recv_timeout(LOOK) {
            return false;
        }
    }
    true
}

/// Both ends of what control thread and course tell each other.
struct Talk {
    told: Sender<Told>,
    found: Receiver<Report>,
    /// Steps that are done.
    steps: Arc<AtomicUsize>,
}

/// Starts the worker of both devices, which `pair` makes of what it does in each turn.
fn employ<D: Device<Frame = Mbuf>>(
    plan: &WorkerInputs<'_>,
    pair: impl FnOnce(Box<dyn FnMut(Nanos, &mut Course)>) -> [D; 2] + Send + 'static,
) -> Result<(Crew, Talk), RunError> {
    let (told, hears) = channel();
    let (finds, found) = channel();
    let steps = Arc::new(AtomicUsize::new(0));
    let done = steps.clone();
    let devices = move || {
        let [link, test] = pair(Box::new(converse(hears, finds, done)));
        vec![(LINK, link), (TEST, test)]
    };
    let core = plan.posts.first().map_or(0, |post| post.core);
    let ports = vec![LINK, TEST];
    let (program, ledger) = (plan.gateway.program.clone(), Arc::new(Ledger::new(ports.len(), 1)));
    let owned = ports.iter().copied().collect();
    let shard = move || Shard::new(ShardId(0), program, ledger, owned);
    let (member, ..) = plan.employ(Hire { core, lane: None, ports }, shard, devices)?;
    crew::promise(&member.monitor, &[LINK], plan.gateway);
    let names = plan.gateway.port_names().map(str::to_owned).collect();
    let patience = Duration::from_nanos(plan.gateway.runtime.control.stall.0);
    Ok((Crew::new(vec![member], names, patience), Talk { told, found, steps }))
}

/// What the worker does in each turn to talk with the control thread: nothing that waits.
fn converse(
    hears: Receiver<Told>,
    finds: Sender<Report>,
    steps: Arc<AtomicUsize>,
) -> impl FnMut(Nanos, &mut Course) {
    let mut is_told = false;
    move |now, course| {
        match hears.try_recv() {
            Ok(Some(figures)) => course.read(figures),
            Ok(None) => course.end(now, End::Interrupted),
            Err(_) => {}
        }
        steps.store(course.steps_done(), Ordering::Relaxed);
        if !is_told && course.is_over(now) {
            is_told = true;
            // No one hears it if the process is ending.
            let _ = finds.send(course.report());
        }
    }
}

/// Reads figures, and hears what the course finds, until it is over.
fn attend(
    mut crew: Crew,
    line: &DpdkLine,
    talk: &Talk,
    events: &Receiver<Event>,
) -> Result<(Report, Interval), RunError> {
    let first = line.pauses_counted();
    let (mut steps, mut longest) = (0, Interval::ZERO);
    let report = loop {
        match talk.found.recv_timeout(LOOK) {
            Ok(report) => break Ok(report),
            Err(RecvTimeoutError::Disconnected) => break Err(RunError::Panicked),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let done = talk.steps.load(Ordering::Relaxed);
        if done != steps {
            steps = done;
            // Each step has watermarks of its own.
            crew.clear_watermarks();
            tracing::info!("step {steps} is done");
        }
        if let Ok(Event::Terminate) = events.try_recv() {
            let _ = talk.told.send(None);
        }
        if let Some(figures) = read(&mut crew, line, first) {
            longest = longest.max(figures.longest_turn);
            let _ = talk.told.send(Some(figures));
        }
    };
    crew.stop();
    Ok((report?, longest))
}

/// Reads worker and device; `None` if the worker does not answer in time.
fn read(crew: &mut Crew, line: &DpdkLine, first: Option<PausesCounted>) -> Option<Figures> {
    let hardware = line.hardware();
    let counted = line.pauses_counted().zip(first).map(|(now, first)| now.since(first));
    let seen = crew.inspect_each();
    let monitor = &crew.members.first()?.monitor;
    let mut figures = Figures {
        missed: hardware.missed + hardware.no_mbuf,
        pauses_counted: counted,
        late_turns: monitor.late_turns(),
        longest_turn: monitor.longest_turn(),
        ..Figures::default()
    };
    let mut ports = seen.into_iter().next()?.into_iter();
    let (link, test) = (ports.next()??, ports.next()??);
    figures.add([&link, &test]);
    Some(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_lateness_are_lines_of_toml_for_each_scheme() {
        for (keys, lines) in [
            ("port.interface_delay = \"2ms\"", "interface_delay = \"2ms\""),
            (
                "port.bifrost.lateness = \"2ms\" and holdover = \"1ms\"",
                "bifrost.lateness = \"2ms\"\nbifrost.holdover = \"1ms\"",
            ),
        ] {
            assert_eq!(suggested(keys).map(|(line, _)| line).collect::<Vec<_>>().join("\n"), lines);
        }
    }
}
