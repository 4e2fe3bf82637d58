//! Shards of one switch with a pair of ports each: they share the pools, and nothing else.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::bench::{Recorder, Sent};
use conformance::conservation::assert_conserved;
use conformance::settings::{lossless, patched};
use conformance::{Flow, TestFrame};
use proptest::prelude::*;
use std::sync::Arc;
use switch::program::{LossyQueue, Settings, Threshold};
use switch::{DropReason, Ledger, Program, Shard, ShardId, Volume};
use units::{Bytes, Interval, Nanos, PortId, Priority};

const SHARDS: u16 = 4;

/// Pools that are far too small for all of them at once.
fn settings() -> Settings {
    let mut settings = patched(2 * SHARDS);
    settings.buffer.shared = Bytes(60_000);
    settings.buffer.headroom = Bytes(20_000);
    settings.buffer.egress_lossy = Bytes(30_000);
    for port in &mut settings.ports {
        port.groups[3] = lossless(15_000, 5_000, 10_000);
        port.groups[4] = lossless(15_000, 15_000, 20_000);
        port.queues[1].lossy =
            LossyQueue { reserved: Bytes(500), threshold: Threshold::Static(Bytes(8_000)) };
    }
    settings
}

/// A driver of all shards, turn by turn.
struct Switch {
    shards: Vec<Shard<TestFrame>>,
    sent: Vec<Vec<Sent>>,
    now: Nanos,
}

impl Switch {
    fn new() -> Self {
        let (program, ledger) = (
            Arc::new(Program::new(settings()).unwrap()),
            Ledger::new(2 * usize::from(SHARDS), SHARDS.into()),
        );
        let ledger = Arc::new(ledger);
        let shard = |id: u16| {
            let owned = [2 * id, 2 * id + 1].into_iter().map(PortId).collect();
            Shard::new(ShardId(id), program.clone(), ledger.clone(), owned)
        };
        let sent = (0..2 * SHARDS).map(|_| Vec::new()).collect();
        Self { shards: (0..SHARDS).map(shard).collect(), sent, now: Nanos::ZERO }
    }

    fn ports() -> impl Iterator<Item = PortId> + Clone {
        (0..2 * SHARDS).map(PortId)
    }

    fn owner(&self, port: PortId) -> &Shard<TestFrame> {
        &self.shards[port.index() / 2]
    }

    fn inject(&mut self, port: PortId, mut frames: Vec<TestFrame>) {
        self.shards[port.index() / 2].ingress(self.now, port, &mut frames, &mut ());
    }

    /// Lets everything leave that is due by `until`.
    fn run_until(&mut self, until: Nanos) {
        loop {
            for port in Self::ports() {
                let shard = &mut self.shards[port.index() / 2];
                shard.look_at_other_shards();
                if shard.port_deadline(port) <= self.now {
                    let out = &mut self.sent[port.index()];
                    shard.egress(self.now, port, &mut Recorder::new(out, usize::MAX));
                }
            }
            let due = self.shards.iter().map(Shard::next_deadline).min().unwrap();
            if due > until {
                break;
            }
            self.now = self.now.max(due);
        }
        self.now = self.now.max(until);
    }

    fn assert_conserved(&self) {
        assert_conserved(Self::ports(), self.now, |port| self.owner(port));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn shards_that_run_out_of_buffer_lose_nothing_unnamed_and_settle_all_accounts(
        bursts in proptest::collection::vec(
            (0..2 * SHARDS, 0_u64..100, proptest::collection::vec((0_u8..8, 60_usize..2_000), 0..12)),
            20..120,
        ),
    ) {
        let mut switch = Switch::new();
        let mut arrived = 0;
        for (port, gap, frames) in bursts {
            arrived += frames.len() as u64;
            let flow = Flow::new(PortId(port), PortId(port ^ 1));
            let frames = frames.into_iter().map(|(priority, length)| {
                flow.at(Priority::from_low_bits(priority)).headers(length)
            });
            switch.inject(PortId(port), frames.collect());
            switch.run_until(switch.now + Interval(gap));
            switch.assert_conserved();
        }
        switch.run_until(switch.now + Interval::from_millis(10));
        switch.assert_conserved();
        let left = switch.sent.iter().flatten().filter(|sent| !sent.control).count() as u64;
        let mut lost = Volume::ZERO;
        for port in Switch::ports() {
            for priority in Priority::all() {
                let shard = switch.owner(port);
                let group = shard.group(switch.now, port, priority);
                prop_assert_eq!((group.occupancy, group.paused), (Bytes::ZERO, None), "{} {}", port, priority);
                let dropped = shard.ingress_counters(port).dropped[priority.index()];
                let queue = shard.queue(switch.now, port, priority);
                lost += dropped.iter().chain(&queue.dropped).copied().sum();
                if group.lossless {
                    let named =
                        dropped[DropReason::HeadroomExceeded.index()] + dropped[DropReason::HeadroomPoolFull.index()];
                    prop_assert_eq!(dropped.iter().copied().sum::<Volume>(), named);
                }
            }
        }
        prop_assert_eq!(left + lost.frames, arrived);
        for shard in &switch.shards {
            let pools = shard.pools();
            prop_assert_eq!((pools.shared.held, pools.headroom.held), (Bytes::ZERO, Bytes::ZERO));
        }
    }
}
