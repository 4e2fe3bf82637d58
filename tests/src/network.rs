//! A switch among neighbours that obey it.

use crate::bench::Testbench;
use crate::peer::Peer;
use units::{Nanos, PortId};

/// A bench whose ports have neighbours.
pub struct Network {
    /// The switch.
    pub bench: Testbench,
    /// Its neighbours, with the port behind which each is. Several at one port are as many
    /// priorities of one neighbour.
    pub peers: Vec<(PortId, Peer)>,
}

impl Network {
    /// `bench` among `peers`.
    pub fn new(bench: Testbench, peers: Vec<(PortId, Peer)>) -> Self {
        Self { bench, peers }
    }

    /// Lets everything happen up to `time`, in its order.
    pub fn run_until(&mut self, time: Nanos) {
        loop {
            let peers = self.peers.iter().map(|(_, peer)| peer.next_event()).min().unwrap_or(Nanos::NEVER);
            let next = peers.min(self.bench.shard.next_deadline()).max(self.bench.now());
            if next > time {
                break;
            }
            self.step(next);
        }
        self.bench.run_until(time);
    }

    /// Lets everything happen until nothing more does.
    pub fn run_dry(&mut self) {
        loop {
            let peers = self.peers.iter().map(|(_, peer)| peer.next_event()).min().unwrap_or(Nanos::NEVER);
            let next = peers.min(self.bench.shard.next_deadline());
            if next == Nanos::NEVER {
                break;
            }
            self.step(next.max(self.bench.now()));
        }
    }

    fn step(&mut self, now: Nanos) {
        self.bench.run_until(now);
        for (port, peer) in &mut self.peers {
            let arrived = peer.live(now);
            if !arrived.is_empty() {
                self.bench.inject(*port, arrived);
            }
        }
        self.bench.run_until(now);
        for port in self.bench.ports() {
            for sent in self.bench.newly_sent(port) {
                let Some(times) = sent.pfc() else { continue };
                for (_, peer) in self.peers.iter_mut().filter(|(behind, _)| *behind == port) {
                    peer.hear(sent.start, times);
                }
            }
        }
    }
}
