//! Metrics of the gateway as a whole, of its workers and of its pools.

use super::metric::metrics;
use super::readers::{Part, each_worker, each_worker_by, of_gateway, of_gateway_by};
use super::samples::Value::{Delay, Info, Number};
use super::samples::{Label, Sample};
use crate::health::Health;
use crate::period::Period;
use crate::snapshot::{Snapshot, WorkerReport};
use report::PoolReport;
use worker::ProfileStage;

metrics! {
    /// Metrics of the gateway as a whole.
    metrics {
        Info "gateway": "Name of the gateway and version of Longspan.",
            Box::new(|it| vec![(vec![("name", (&*it.now.gateway).into()), ("version", (&*it.now.version).into())], Info)]);
        Gauge "finding":
            "A finding of `longspan show roce` over the last minute, and its place among them: 1 is the cause to begin with.",
            Box::new(findings);
        Gauge "start_time" in Nanos: "When the gateway started, in Unix time.",
            of_gateway(|it| it.at_ns.saturating_sub(it.uptime_ns));
        Counter "reloads": "Configuration reloads that were applied or refused.",
            of_gateway_by("result", |it| [("applied", it.reloads.applied), ("refused", it.reloads.refused)]);
        Counter "kernel_refused_frames": "Frames for the gateway itself that its kernel did not take.",
            of_gateway(|it| it.refused_by_kernel);
        Counter "worker_turns": "Completed turns of the worker.",
            each_worker(|at| Some(Number(at.turns)));
        Counter "worker_busy_turns": "Turns in which the worker received or sent a frame.",
            each_worker(|at| Some(Number(at.busy_turns)));
        Histogram "worker_turn" in Nanos: "Duration of the worker's turns.",
            each_worker(|at| Some(Delay(&at.turn)));
        Histogram "worker_lateness" in Nanos: "How late the worker served deadlines of the switch.",
            each_worker(|at| Some(Delay(&at.lateness)));
        Gauge "worker_covered_lateness" in Nanos:
            "Longest turn that the buffer covers; a longer one can lose lossless frames of the worker's ports.",
            each_worker(|at| at.covered_lateness_ns.map(Number));
        Counter "worker_late_turns": "Turns that took longer than the buffer covers.",
            each_worker(|at| Some(Number(at.late_turns)));
        Counter "worker_bursts": "Bursts of at least one frame that a device or another worker delivered.",
            each_worker(|at| Some(Number(at.runtime.since_start.counts.bursts)));
        Counter "worker_frames": "Frames of these bursts.",
            each_worker(|at| Some(Number(at.runtime.since_start.counts.frames)));
        Counter "worker_time" in Nanos: "Time of the worker, by what it did.",
            each_worker_by("activity", |at| {
                let counts = &at.runtime.since_start.counts;
                [("busy", counts.busy_ns), ("idle", counts.idle_ns), ("asleep", counts.asleep_ns)]
            });
        Counter "worker_sampled_turns": "Busy turns that were timed stage by stage.",
            each_worker(|at| Some(Number(at.runtime.since_start.counts.sampled_turns)));
        Counter "worker_sampled_stage" in Nanos: "Time of these turns, by stage.",
            each_worker_by("stage", stages);
        Gauge "tsc_hertz": "Rate of the time stamp counter, by which cycles are counted.",
            of_gateway(|it| it.tsc_hz);
        Gauge "mbufs": "Total number of packet buffers.", of_gateway(|it| it.memory.mbufs);
        Gauge "mbufs_in_use": "Packet buffers that hold a frame or wait in a receive ring.",
            of_gateway(|it| it.memory.mbufs_in_use);
        Gauge "mbuf_memory" in Bytes: "Memory used by all packet buffers.", of_gateway(|it| it.memory.size_bytes);
        Gauge "resident_memory" in Bytes: "Memory for tables and the rest of the process at its start, without packet buffers, by kind of page.",
            of_gateway_by("pages", |it| {
                let huge = it.memory.huge_page_bytes;
                [("huge", huge), ("ordinary", it.memory.resident_bytes.saturating_sub(huge))]
            });
        Gauge "pool_held" in Bytes: "Bytes currently held in a buffer pool.",
            of_gateway_by("pool", |it| pools(it, |pool| pool.held_bytes));
        Gauge "pool_watermark" in Bytes: "Most bytes held in a buffer pool since the start.",
            of_gateway_by("pool", |it| pools(it, |pool| pool.watermark_bytes));
        Gauge "pool_size" in Bytes: "Size of a buffer pool.",
            of_gateway_by("pool", |it| pools(it, |pool| pool.size_bytes));
    }
}

fn findings<'a>(period: &Period<'a>) -> Vec<Sample<'a>> {
    let health = Health::of(period, None);
    let ranked = health.ranked();
    let placed = (1..).zip(&ranked).flat_map(|(place, (finding, classes))| {
        let of_rule = [("rule", finding.rule.clone()), ("verdict", finding.verdict.name().into())];
        let rows: Vec<Vec<Label<'a>>> = match classes.as_slice() {
            [] => vec![of_rule.to_vec()],
            classes => classes
                .iter()
                .map(|class| {
                    let at = [
                        ("port", class.port.clone().into()),
                        ("priority", class.priority.to_string().into()),
                    ];
                    at.into_iter().chain(of_rule.clone()).collect()
                })
                .collect(),
        };
        rows.into_iter().map(move |labels| (labels, Number(place)))
    });
    placed.collect()
}

fn stages(worker: &WorkerReport) -> [Part; ProfileStage::COUNT] {
    let sampled_ns = worker.runtime.since_start.counts.sampled_ns;
    ProfileStage::ALL.map(|stage| (stage.name(), sampled_ns[stage as usize]))
}

fn pools(snapshot: &Snapshot, read: fn(&PoolReport) -> u64) -> [Part; 3] {
    let pools = &snapshot.pools;
    [("shared", &pools.shared), ("headroom", &pools.headroom), ("egress_lossy", &pools.egress_lossy)]
        .map(|(name, pool)| (name, read(pool)))
}
