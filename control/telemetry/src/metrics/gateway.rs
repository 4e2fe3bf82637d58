//! Metrics of the gateway as a whole.

use super::kind::{Kind, Measure};
use super::metric::Metric;
use super::samples::Value;
use crate::snapshot::{Snapshot, WorkerReport};
use report::PoolReport;

pub static METRICS: &[Metric] = &[
    Metric {
        kind: Kind::Info,
        name: "gateway",
        measure: Measure::Number,
        help: "Name of the gateway and version of Longspan.",
        read: |it, out| out.add([("name", &it.gateway), ("version", &it.version)], Value::Info),
    },
    Metric {
        kind: Kind::Gauge,
        name: "start_time",
        measure: Measure::Seconds,
        help: "When the gateway started, in Unix time.",
        read: |it, out| out.add([], Value::Nanos(it.at_ns.saturating_sub(it.uptime_ns))),
    },
    Metric {
        kind: Kind::Counter,
        name: "reloads",
        measure: Measure::Number,
        help: "Configuration reloads that were applied or refused.",
        read: |it, out| {
            out.add([("result", "applied")], Value::Whole(it.reloads.applied));
            out.add([("result", "refused")], Value::Whole(it.reloads.refused));
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "worker_turns",
        measure: Measure::Number,
        help: "Completed turns of the worker.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Whole(at.turns))),
    },
    Metric {
        kind: Kind::Counter,
        name: "worker_busy_turns",
        measure: Measure::Number,
        help: "Turns in which the worker received or sent a frame.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Whole(at.busy_turns))),
    },
    Metric {
        kind: Kind::Histogram,
        name: "worker_turn",
        measure: Measure::Seconds,
        help: "Duration of the worker's turns.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Delay(&at.turn))),
    },
    Metric {
        kind: Kind::Histogram,
        name: "worker_lateness",
        measure: Measure::Seconds,
        help: "How late the worker served deadlines of the switch.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Delay(&at.lateness))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "worker_covered_lateness",
        measure: Measure::Seconds,
        help: "Longest turn that the buffer covers; a longer one can lose lossless frames of the worker's ports.",
        read: |it, out| {
            for worker in &it.workers {
                if let Some(covered) = worker.covered_lateness_ns {
                    out.add_of_core(worker.core, Value::Nanos(covered));
                }
            }
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "worker_late_turns",
        measure: Measure::Number,
        help: "Turns that took longer than the buffer covers.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Whole(at.late_turns))),
    },
    Metric {
        kind: Kind::Counter,
        name: "worker_held_back_frames",
        measure: Measure::Number,
        help: "Frames that waited because another worker had fallen behind.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Whole(at.held_back))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "mbufs",
        measure: Measure::Number,
        help: "Total number of packet buffers.",
        read: |it, out| out.add([], Value::Whole(it.memory.mbufs)),
    },
    Metric {
        kind: Kind::Gauge,
        name: "mbufs_in_use",
        measure: Measure::Number,
        help: "Packet buffers that hold a frame or wait in a receive ring.",
        read: |it, out| out.add([], Value::Whole(it.memory.mbufs_in_use)),
    },
    Metric {
        kind: Kind::Gauge,
        name: "mbuf_memory",
        measure: Measure::Bytes,
        help: "Memory used by all packet buffers.",
        read: |it, out| out.add([], Value::Whole(it.memory.size_bytes)),
    },
    Metric {
        kind: Kind::Gauge,
        name: "pool_held",
        measure: Measure::Bytes,
        help: "Bytes currently held in a buffer pool.",
        read: |it, out| {
            for (name, pool) in pools(it) {
                out.add([("pool", name)], Value::Whole(pool.held_bytes));
            }
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "pool_watermark",
        measure: Measure::Bytes,
        help: "Most bytes held in a buffer pool since the start.",
        read: |it, out| {
            for (name, pool) in pools(it) {
                out.add([("pool", name)], Value::Whole(pool.watermark_bytes));
            }
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "pool_size",
        measure: Measure::Bytes,
        help: "Size of a buffer pool.",
        read: |it, out| {
            for (name, pool) in pools(it) {
                out.add([("pool", name)], Value::Whole(pool.size_bytes));
            }
        },
    },
];

fn workers(snapshot: &Snapshot) -> impl Iterator<Item = (usize, &WorkerReport)> {
    snapshot.workers.iter().map(|worker| (worker.core, worker))
}

fn pools(snapshot: &Snapshot) -> [(&'static str, &PoolReport); 3] {
    let pools = &snapshot.pools;
    [("shared", &pools.shared), ("headroom", &pools.headroom), ("egress_lossy", &pools.egress_lossy)]
}
