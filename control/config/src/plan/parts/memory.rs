//! The buffer of the gateway, its memory and hugepages.

use units::{Bytes, Cells};

use crate::headroom::grouped;
use crate::memory::MemorySum;
use crate::plan::built::Built;
use crate::plan::step::{Part, Quantity, Step, sum as sum_of};

/// The sizes of hugepages of x86-64.
const PAGES: [(&str, u64); 2] = [("pages_2M", 2 << 20), ("pages_1G", 1 << 30)];

/// Bytes that DPDK leaves free in front of a frame.
const MBUF_HEADROOM: u64 = 128;

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
    steps.extend(mbufs_of(built, &sum));
    let [mbufs, mbuf] = [sum.mbufs(), sum.mbuf().0];
    let beside = sum.total().0 - mbufs * mbuf;
    steps.push(Step::new(
        "memory",
        "mbufs x mbuf + control frames and rings of pools",
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

/// How many mbufs there are, and how large each is.
fn mbufs_of(built: &Built, sum: &MemorySum) -> Vec<Step> {
    let settings = built.with_devices.program.settings();
    let below = settings.buffer.packing.map_or(Bytes::ZERO, |packing| packing.below);
    let cells = Cells::of_frame(below).0.max(1);
    let packed = (sum.buffer.0 / Cells::SIZE).div_ceil(cells).min(sum.waiting);
    let rings = [sum.kept_free, sum.receive_rings, sum.transmit_rings];
    let caches = sum.mbufs() - sum.waiting - rings.iter().sum::<u64>();
    vec![
        Step::new(
            "in_buffer",
            "cells / cells of the longest packed frame, rounded up, + queues and cores",
            format!(
                "{} / {} + {}",
                grouped(sum.buffer.0 / Cells::SIZE),
                cells,
                grouped(sum.waiting - packed)
            ),
            Quantity::Count(sum.waiting),
            "frames below 3/4 of an mbuf share mbufs",
        ),
        Step::new(
            "mbufs",
            "in_buffer + kept free + receive rings + transmit rings + caches of cores",
            sum_of(&[sum.waiting, rings[0], rings[1], rings[2], caches]),
            Quantity::Count(sum.mbufs()),
            "none on links: nothing is emulated",
        ),
        Step::new(
            "mbuf",
            "frame and room of drivers + headroom + DPDK's own",
            sum_of(&[sum.data_room().0 - MBUF_HEADROOM, MBUF_HEADROOM, sum.mbuf().0 - sum.data_room().0]),
            Quantity::Bytes(sum.mbuf().0),
            "whole steps of 128 B, as drivers need them",
        ),
    ]
}
