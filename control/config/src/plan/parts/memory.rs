//! The buffer of the gateway, its memory and hugepages.

use units::Bytes;

use crate::headroom::grouped;
use crate::plan::built::Built;
use crate::plan::step::{Part, Quantity, Step, sum as sum_of};

/// The sizes of hugepages of x86-64.
const PAGES: [(&str, u64); 2] = [("pages_2M", 2 << 20), ("pages_1G", 1 << 30)];

/// The formulas of the memory, with a device at each port.
pub(in crate::plan) fn memory(built: &Built) -> Part {
    let mut steps = Vec::new();
    let buffer = built.gateways[0].program.settings().buffer;
    let Some(sum) = built.with_devices.memory() else { return Part { title: String::new(), steps } };
    let reserved = sum.buffer - buffer.shared - buffer.headroom;
    let lossless = buffer.shared - buffer.egress_lossy;
    steps.push(Step::new(
        "shared",
        "(XOFF - reserved) of each group + lossy",
        sum_of(&[lossless.0, buffer.egress_lossy.0]),
        Quantity::Bytes(buffer.shared.0),
        "lossy frames: 100 us at the rate",
    ));
    steps.push(Step::new(
        "buffer",
        "shared + headroom + reserved",
        sum_of(&[buffer.shared.0, buffer.headroom.0, reserved.0]),
        Quantity::Bytes(sum.buffer.0),
        "whole cells of 16 B",
    ));
    steps.push(Step::new(
        "cells",
        "buffer / 16 B",
        format!("{} / 16", grouped(sum.buffer.0)),
        Quantity::Count(sum.buffer.0 / 16),
        "docs/configuration.md: a frame has one more than its bytes",
    ));
    let [mbufs, mbuf] = [sum.mbufs(), sum.mbuf().0];
    let beside = sum.total().0 - mbufs * mbuf;
    steps.push(Step::new(
        "memory",
        "mbufs x size + control frames and pools",
        format!("{} x {} + {}", grouped(mbufs), grouped(mbuf), grouped(beside)),
        Quantity::Bytes(sum.total().0),
        "as longspan check adds it up; two devices, 1,024 descriptors",
    ));
    for (name, size) in PAGES {
        steps.push(Step::new(
            name,
            "memory / page, rounded up",
            format!("{} / {}", grouped(sum.total().0), Bytes(size)),
            Quantity::Count(sum.total().0.div_ceil(size)),
            "without what DPDK needs for itself",
        ));
    }
    Part { title: "The buffer of the gateway, its memory and hugepages".into(), steps }
}
