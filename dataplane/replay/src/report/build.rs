//! The report, read off the switch.

use super::lscc::LsccReport;
use super::{
    BifrostReport, BucketReport, ByReason, ClockReport, Conservation, Count, DelayReport, EndingReport,
    FORMAT, GroupReport, InputReport, LimitsReport, PausedByCause, PausedReport, PausesReceivedReport,
    PausesSentReport, PoolReport, PoolsReport, PortReport, PriorityReport, ProgramReport, QueueReport,
    Report, SourceReport, UnassignedReport, WatchdogReport, watchdog,
};
use crate::capture::CaptureSink;
use crate::driver::{Ending, Gateway, Played};
use crate::input::Unassigned;
use switch::program::Threshold;
use switch::{Consumed, DelayHistogram, DropReason, PauseCause, PoolLevel, Volume};
use units::{Bytes, Nanos, PortId, Priority};

impl Report {
    pub(crate) fn new<W: CaptureSink>(
        name: &str,
        gateway: &Gateway<W>,
        played: &Played,
        clamped_timestamps: u64,
        ending: Ending,
    ) -> Self {
        let settings = gateway.shard.program().settings();
        let [first_ns, last_ns] = bounds(played.captured);
        let [first_arrival_ns, last_arrival_ns] = bounds(played.arrivals);
        Self {
            format: FORMAT,
            program: ProgramReport { name: name.into(), seed: settings.seed },
            input: InputReport {
                complete: played.error.is_none() && !played.interrupted,
                read: played.volume.into(),
                first_ns,
                last_ns,
                clamped_timestamps,
                unassigned: unassigned(&played.unassigned),
            },
            clock: ClockReport {
                first_arrival_ns,
                last_arrival_ns,
                end_ns: first_arrival_ns.map(|_| gateway.now.0),
            },
            ending: end(gateway, ending),
            conservation: Conservation::of(gateway),
            pools: pools(gateway),
            watchdog: WatchdogReport::of(gateway),
            ports: gateway.ports().map(|port| port_report(gateway, port)).collect(),
        }
    }
}

fn bounds(instants: Option<(Nanos, Nanos)>) -> [Option<u64>; 2] {
    [instants.map(|(first, _)| first.0), instants.map(|(_, last)| last.0)]
}

fn unassigned(unassigned: &Unassigned) -> UnassignedReport {
    let Count { frames, bytes } = unassigned.volume.into();
    let source = |(mac, frames): &(wire::ethernet::MacAddress, u64)| SourceReport {
        mac: mac.to_string(),
        frames: *frames,
    };
    UnassignedReport {
        frames,
        bytes,
        sources: unassigned.sources.iter().map(source).collect(),
        other_sources: unassigned.others,
    }
}

fn end<W: CaptureSink>(gateway: &Gateway<W>, ending: Ending) -> EndingReport {
    let shard = &gateway.shard;
    let (mut queued, mut paused) = (Count::default(), Vec::new());
    for port in gateway.ports() {
        for priority in Priority::all() {
            queued = queued + shard.ledger().egress_queue(port, priority).into();
            let group = shard.group(gateway.now, port, priority);
            if let Some(cause) = group.paused {
                paused.push(PausedReport {
                    port: shard.program().port(port).name.clone(),
                    priority: priority.number(),
                    cause: cause.name(),
                    occupancy_bytes: group.occupancy.0,
                });
            }
        }
    }
    EndingReport { state: ending.name(), queued, paused }
}

fn pools<W: CaptureSink>(gateway: &Gateway<W>) -> PoolsReport {
    let (sizes, levels) = (&gateway.shard.program().settings().buffer, gateway.shard.pools());
    let report = |size: Bytes, level: PoolLevel| PoolReport {
        size_bytes: size.0,
        held_bytes: level.held.0,
        watermark_bytes: level.watermark.persistent().0,
    };
    PoolsReport {
        shared: report(sizes.shared, levels.shared),
        headroom: report(sizes.headroom, levels.headroom),
        egress_lossy: report(sizes.egress_lossy, levels.egress_lossy),
    }
}

fn port_report<W: CaptureSink>(gateway: &Gateway<W>, port: PortId) -> PortReport {
    let shard = &gateway.shard;
    let settings = shard.program().port(port);
    let counters = shard.ingress_counters(port);
    let (data, control) = gateway.outputs.sent(port);
    let mut at_ingress = [Volume::default(); DropReason::COUNT];
    let mut at_egress = at_ingress;
    for priority in Priority::all() {
        add(&mut at_ingress, &counters.dropped[priority.index()]);
        add(&mut at_egress, &shard.queue(gateway.now, port, priority).dropped);
    }
    PortReport {
        name: settings.name.clone(),
        rate_bits_per_second: settings.rate.bits_per_second(),
        arrived: gateway.offered[port.index()].into(),
        out: data.into(),
        control_out: control.into(),
        consumed: by_reason(Consumed::ALL.map(Consumed::name), &counters.consumed),
        dropped_at_ingress: dropped(&at_ingress),
        dropped_at_egress: dropped(&at_egress),
        bifrost: bifrost(gateway, port),
        lscc: settings
            .lscc
            .as_ref()
            .zip(shard.lscc(port))
            .map(|(lscc, report)| LsccReport::new(lscc, &report)),
        priorities: Priority::all().map(|it| priority_report(gateway, port, it)).collect(),
    }
}

fn bifrost<W: CaptureSink>(gateway: &Gateway<W>, port: PortId) -> Option<BifrostReport> {
    let settings = gateway.shard.program().port(port).bifrost.as_ref()?;
    let slots = gateway.shard.slots(port)?;
    Some(BifrostReport {
        slot_ns: settings.slot.0,
        buffer_wire_bytes: settings.buffer.0,
        slots: slots.slots,
        paused_slots: slots.paused,
        fully_paused_slots: slots.fully_paused,
        granted_wire_bytes: slots.granted.0,
        granted_late_wire_bytes: slots.granted_late.0,
        longest_queue_wire_bytes: slots.longest_queue.0,
        fullest_wire_bytes: slots.fullest.0,
        lateness: delay(&slots.lateness),
    })
}

fn add(sums: &mut [Volume], volumes: &[Volume]) {
    for (sum, volume) in sums.iter_mut().zip(volumes) {
        *sum += *volume;
    }
}

fn dropped(volumes: &[Volume; DropReason::COUNT]) -> ByReason {
    by_reason(DropReason::ALL.map(DropReason::name), volumes)
}

fn by_reason<const N: usize>(names: [&'static str; N], volumes: &[Volume; N]) -> ByReason {
    let occurred = names.into_iter().zip(volumes).filter(|(_, volume)| volume.frames > 0);
    occurred.map(|(name, volume)| (name, Count::from(*volume))).collect()
}

fn priority_report<W: CaptureSink>(gateway: &Gateway<W>, port: PortId, priority: Priority) -> PriorityReport {
    let queue = gateway.shard.queue(gateway.now, port, priority);
    PriorityReport {
        priority: priority.number(),
        ingress: group(gateway, port, priority),
        pauses_sent: pauses_sent(gateway, port, priority),
        egress: QueueReport {
            transmitted: queue.counters.transmitted.into(),
            queued: queue.waiting.into(),
            dropped: dropped(&queue.dropped),
            watermark_bytes: queue.watermark.persistent().0,
            ecn_marked: queue.counters.marked,
            ecn_already_marked: queue.counters.already_marked,
            delay: delay(gateway.shard.queue_delay(port, priority)),
            watchdog: watchdog::queue(gateway, port, priority),
        },
        pauses_received: PausesReceivedReport {
            xoff: queue.pauses.xoff,
            xon: queue.pauses.xon,
            ignored: queue.pauses.ignored,
            paused_ns: queue.paused_for.0,
        },
    }
}

fn group<W: CaptureSink>(gateway: &Gateway<W>, port: PortId, priority: Priority) -> GroupReport {
    let shard = &gateway.shard;
    let counters = shard.ingress_counters(port);
    let group = shard.group(gateway.now, port, priority);
    let settings = shard.program().port(port).groups[priority.index()];
    let limits = settings.lossless().map(|lossless| {
        let (xoff_bytes, xoff_dynamic_th) = match lossless.xoff {
            Threshold::Static(xoff) => (Some(xoff.0), None),
            Threshold::Dynamic(alpha) => (None, Some(alpha.exponent())),
        };
        LimitsReport {
            reserved_bytes: lossless.reserved.0,
            xoff_bytes,
            xoff_dynamic_th,
            xon_bytes: lossless.xon.0,
            headroom_bytes: lossless.headroom.0,
        }
    });
    GroupReport {
        lossless: group.lossless,
        received: counters.received[priority.index()].into(),
        copies: counters.copies[priority.index()].into(),
        answers: counters.answers[priority.index()].into(),
        dropped: dropped(&counters.dropped[priority.index()]),
        limits,
        occupancy_bytes: group.occupancy.0,
        watermark_bytes: group.watermark.persistent().0,
        headroom_watermark_bytes: group.headroom_watermark.persistent().0,
    }
}

fn pauses_sent<W: CaptureSink>(gateway: &Gateway<W>, port: PortId, priority: Priority) -> PausesSentReport {
    let group = gateway.shard.group(gateway.now, port, priority);
    let paused_for = |cause: PauseCause| {
        let place = PauseCause::ALL.iter().position(|other| *other == cause);
        place.map_or(0, |place| group.paused_for[place].0)
    };
    PausesSentReport {
        xoff: group.pauses.xoff,
        refresh: group.pauses.refresh,
        xon: group.pauses.xon,
        slot: group.pauses.slot,
        paused_ns: group.paused_for.iter().map(|time| time.0).sum(),
        paused_by_cause_ns: PausedByCause {
            threshold: paused_for(PauseCause::Threshold),
            pool_full: paused_for(PauseCause::PoolFull),
            slot: paused_for(PauseCause::Slot),
        },
        paused_at_end: group.paused.map(PauseCause::name),
    }
}

pub(super) fn delay(histogram: &DelayHistogram) -> DelayReport {
    let bucket = |(up_to, frames): (units::Interval, u64)| BucketReport { up_to_ns: up_to.0, frames };
    DelayReport {
        p50_ns: histogram.quantile(0.5).0,
        p99_ns: histogram.quantile(0.99).0,
        p999_ns: histogram.quantile(0.999).0,
        max_ns: histogram.longest().0,
        buckets: histogram.buckets().map(bucket).collect(),
    }
}
