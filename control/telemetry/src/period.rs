//! A gateway over a time: counters as what was counted in it, levels as they were at its end.

use crate::interval::Restarted;
use crate::snapshot::{LevelsReport, Snapshot, WirePortReport, WorkerReport};
use report::{ByReason, PriorityReport};
use switch::Volume;
use switch::figure::LISTS;

/// A gateway between two snapshots, or from its start to one.
#[derive(Clone, Copy, Debug)]
pub struct Period<'a> {
    /// The snapshot at the end.
    pub now: &'a Snapshot,
    before: Option<&'a Snapshot>,
    /// The time, by the clock of the gateway.
    pub elapsed_ns: u64,
}

/// A port of it.
#[derive(Clone, Copy, Debug)]
pub struct PortPeriod<'a> {
    /// The port at the end.
    pub now: &'a WirePortReport,
    before: Option<&'a WirePortReport>,
    elapsed_ns: u64,
}

/// A priority of a port of it.
#[derive(Clone, Copy, Debug)]
pub struct PriorityPeriod<'a> {
    /// The priority at the end.
    pub now: &'a PriorityReport,
    /// Its levels at the end.
    pub levels: &'a LevelsReport,
    before: Option<&'a PriorityReport>,
    elapsed_ns: u64,
}

/// The share of the rate of a link above which the link itself is the bottleneck.
const FULL: f64 = 0.9;
/// Bytes of a frame on the wire that its length leaves out: preamble, FCS, gap.
const OVERHEAD: f64 = units::WireBytes::OVERHEAD as f64;

/// Frames that were dropped for one reason at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// `"in"` on the way in, `"out"` at the queue.
    pub at: &'static str,
    /// The name of the reason.
    pub reason: String,
    /// How many.
    pub frames: u64,
    /// Their length.
    pub bytes: u64,
}

impl<'a> Period<'a> {
    /// From the start of the gateway to `now`.
    pub fn since_start(now: &'a Snapshot) -> Self {
        Self { now, before: None, elapsed_ns: now.uptime_ns }
    }

    /// From `before` to `now`.
    ///
    /// # Errors
    /// [`Restarted`] if the gateway has started after `before`.
    pub fn between(before: &'a Snapshot, now: &'a Snapshot) -> Result<Self, Restarted> {
        if now.started_ns() != before.started_ns() {
            return Err(Restarted);
        }
        Ok(Self { now, before: Some(before), elapsed_ns: now.at_ns.saturating_sub(before.at_ns) })
    }

    /// The snapshot at its end, and the one at its start unless it began with the gateway.
    pub fn snapshots(&self) -> (&'a Snapshot, Option<&'a Snapshot>) {
        (self.now, self.before)
    }

    /// Whether it began with the gateway.
    pub fn is_since_start(&self) -> bool {
        self.before.is_none()
    }

    /// The ports, in the order of the configuration.
    pub fn ports(&self) -> impl Iterator<Item = PortPeriod<'a>> + use<'a> {
        let Self { now, before, elapsed_ns } = *self;
        now.ports.iter().map(move |port| PortPeriod {
            now: port,
            before: before.and_then(|it| it.ports.iter().find(|old| old.port.name == port.port.name)),
            elapsed_ns,
        })
    }

    /// The port called `name`.
    pub fn port(&self, name: &str) -> Option<PortPeriod<'a>> {
        self.ports().find(|port| port.now.port.name == name)
    }

    /// The worker of the port called `name`. Of several lanes, the one that was late most often, or never idle.
    pub fn worker_of(&self, name: &str) -> Option<&'a WorkerReport> {
        let has_port = |it: &&WorkerReport| it.ports.iter().any(|port| port == name);
        let late = |it: &&WorkerReport| {
            (self.of_worker(it, |it| it.late_turns), self.turns_without_idle(it).is_some())
        };
        // The last of equals counts, so the first one is to come last.
        self.now.workers.iter().filter(has_port).rev().max_by_key(late)
    }

    /// How much `read` grew for `worker`, a worker of the snapshot at the end.
    pub fn of_worker(&self, worker: &WorkerReport, read: impl Fn(&WorkerReport) -> u64) -> u64 {
        let old = self.before.and_then(|it| it.workers.iter().find(|old| old.core == worker.core));
        grown(worker, old, read)
    }

    /// The turns of `worker`, if frames came or went in each.
    pub fn turns_without_idle(&self, worker: &WorkerReport) -> Option<u64> {
        let idle = self.of_worker(worker, |it| it.runtime.since_start.counts.idle_turns);
        let busy = self.of_worker(worker, |it| it.runtime.since_start.counts.busy_turns);
        (busy > 0 && idle == 0).then_some(busy)
    }

    /// The share of time for which `worker` was busy, 0 to 1; `None` if it keeps no profile.
    pub fn load(&self, worker: &WorkerReport) -> Option<f64> {
        let busy = self.of_worker(worker, |it| it.runtime.since_start.counts.busy_ns);
        let all = self.of_worker(worker, |it| it.runtime.since_start.counts.elapsed_ns());
        (all > 0).then(|| busy as f64 / all as f64)
    }
}

impl Snapshot {
    /// The start of the gateway, in Unix time.
    pub fn started_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.uptime_ns)
    }
}

impl<'a> PortPeriod<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.now.port.name
    }

    /// How much a counter of the port grew.
    pub fn count(&self, read: impl Fn(&WirePortReport) -> u64) -> u64 {
        grown(self.now, self.before, read)
    }

    /// How much it grew by second.
    pub fn per_second(&self, read: impl Fn(&WirePortReport) -> u64) -> f64 {
        by_second(self.count(read), self.elapsed_ns)
    }

    /// Whether it sent nearly as much as its link carries, with the overhead of frames on the wire.
    pub fn is_full(&self) -> bool {
        let (bytes, frames) =
            (|it: &WirePortReport| it.port.out.bytes.0, |it: &WirePortReport| it.port.out.frames);
        let sent = (self.per_second(bytes) + self.per_second(frames) * OVERHEAD) * 8.0;
        sent > self.now.port.rate_bits_per_second as f64 * FULL
    }

    /// How much the sum of the counters at `paths` of the list of figures `list` grew. Zero where it does not run.
    pub fn counted(&self, list: &str, paths: &[&str]) -> u64 {
        self.count(|port| paths.iter().filter_map(|path| figure(port, list, path)).sum())
    }

    /// The figure at `path` of the list `list`, at the end; `None` where it does not run.
    pub fn figure(&self, list: &str, path: &str) -> Option<u64> {
        figure(self.now, list, path)
    }

    /// The eight priorities, in order.
    pub fn priorities(&self) -> impl Iterator<Item = PriorityPeriod<'a>> + use<'a> {
        let Self { now, before, elapsed_ns } = *self;
        now.port.priorities.iter().zip(&now.levels).map(move |(priority, levels)| {
            let same = |it: &&PriorityReport| it.priority == priority.priority;
            let before = before.and_then(|it| it.port.priorities.iter().find(same));
            PriorityPeriod { now: priority, levels, before, elapsed_ns }
        })
    }

    /// The priority of this number.
    pub fn priority(&self, number: u8) -> Option<PriorityPeriod<'a>> {
        self.priorities().find(|it| it.now.priority == number)
    }
}

impl PriorityPeriod<'_> {
    /// How much a counter of the priority grew.
    pub fn count(&self, read: impl Fn(&PriorityReport) -> u64) -> u64 {
        grown(self.now, self.before, read)
    }

    /// How much it grew by second.
    pub fn per_second(&self, read: impl Fn(&PriorityReport) -> u64) -> f64 {
        by_second(self.count(read), self.elapsed_ns)
    }

    /// The share of the time by which a duration grew, 0 to 1.
    pub fn share(&self, read: impl Fn(&PriorityReport) -> u64) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        self.time_ns(read) as f64 / self.elapsed_ns as f64
    }

    /// The time for which something lasted, no longer than the period: workers answer at instants of their own.
    pub fn time_ns(&self, read: impl Fn(&PriorityReport) -> u64) -> u64 {
        self.count(read).min(self.elapsed_ns)
    }

    /// The frames that were dropped, by place and reason.
    pub fn drops(&self) -> Vec<Dropped> {
        type Reasons = fn(&PriorityReport) -> &ByReason;
        let places: [(_, Reasons); 2] = [("in", |it| &it.ingress.dropped), ("out", |it| &it.egress.dropped)];
        let dropped = places.into_iter().flat_map(|(at, reasons)| {
            reasons(self.now).iter().map(move |(reason, now)| {
                let before = self.before.and_then(|it| reasons(it).get(reason)).copied().unwrap_or_default();
                let Volume { frames, bytes } = *now - before;
                Dropped { at, reason: reason.to_string(), frames, bytes: bytes.0 }
            })
        });
        dropped.filter(|it| it.frames > 0).collect()
    }

    /// The time of the period.
    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }
}

fn figure(port: &WirePortReport, list: &str, path: &str) -> Option<u64> {
    let list = LISTS.iter().find(|it| it.name == list)?;
    port.listed(list)?.number(path)
}

/// A counter that fell, as that of a part that was configured anew, has grown by nothing.
fn grown<T>(now: &T, before: Option<&T>, read: impl Fn(&T) -> u64) -> u64 {
    read(now).saturating_sub(before.map_or(0, read))
}

fn by_second(count: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { count as f64 * 1e9 / elapsed_ns as f64 }
}
