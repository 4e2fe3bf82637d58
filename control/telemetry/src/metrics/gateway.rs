//! Metrics of the gateway as a whole.

use super::catalogue::{Kind, Measure, Metric};
use super::samples::Value;
use crate::snapshot::{Snapshot, WorkerReport};
use report::PoolReport;

pub static METRICS: &[Metric] = &[
    Metric {
        kind: Kind::Info,
        name: "gateway",
        measure: Measure::Number,
        help: "The name of the gateway and the version of Longspan.",
        read: |it, out| out.add([("name", &it.gateway), ("version", &it.version)], Value::Info),
    },
    Metric {
        kind: Kind::Gauge,
        name: "start_time",
        measure: Measure::Seconds,
        help: "When the gateway was started, Unix time.",
        read: |it, out| out.add([], Value::Nanos(it.at_ns.saturating_sub(it.uptime_ns))),
    },
    Metric {
        kind: Kind::Counter,
        name: "reloads",
        measure: Measure::Number,
        help: "Changes of the configuration that were applied or refused.",
        read: |it, out| {
            out.add([("result", "applied")], Value::Whole(it.reloads.applied));
            out.add([("result", "refused")], Value::Whole(it.reloads.refused));
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "worker_turns",
        measure: Measure::Number,
        help: "Turns of the worker that have ended.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Whole(at.turns))),
    },
    Metric {
        kind: Kind::Counter,
        name: "worker_busy_turns",
        measure: Measure::Number,
        help: "Turns of the worker in which a frame came or went.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Whole(at.busy_turns))),
    },
    Metric {
        kind: Kind::Histogram,
        name: "worker_turn",
        measure: Measure::Seconds,
        help: "How long turns of the worker took.",
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
        help: "How long a turn of the worker may take before lossless frames of its ports are lost.",
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
        help: "Turns of the worker that took longer than its ports cover.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Whole(at.late_turns))),
    },
    Metric {
        kind: Kind::Counter,
        name: "worker_held_back_frames",
        measure: Measure::Number,
        help: "Frames that waited because another worker was behind.",
        read: |it, out| workers(it).for_each(|(core, at)| out.add_of_core(core, Value::Whole(at.held_back))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "mbufs",
        measure: Measure::Number,
        help: "Packet buffers.",
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
        help: "What all packet buffers take.",
        read: |it, out| out.add([], Value::Whole(it.memory.size_bytes)),
    },
    Metric {
        kind: Kind::Gauge,
        name: "pool_held",
        measure: Measure::Bytes,
        help: "What is held of a buffer pool.",
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
        help: "The most that was held of a buffer pool.",
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
        help: "The size of a buffer pool.",
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
