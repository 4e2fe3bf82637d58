//! The next instant of each actor.

use crate::link::Direction;
use crate::nodes::Place;
use crate::tournament::Tournament;
use serde::{Deserialize, Serialize};

/// The next instant of each actor. A switch also has its own agenda, because one visit covers many events.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Calendar {
    /// Nodes by number, then the other actors.
    pub actors: Tournament,
    /// The agenda of each switch: the directions that lead to it, in the order of ports, then its own
    /// deadline.
    pub agendas: Vec<Tournament>,
    /// The directions to other parts that carry frames from here.
    pub leaving: Vec<usize>,
}

impl Calendar {
    /// Notes that a frame was sent through `direction` and may be the next to arrive.
    #[inline]
    pub fn note_arrival(&mut self, direction: &Direction) {
        let at = direction.next_arrival();
        match direction.place {
            Place::Switch(switch) => self.agendas[switch].set(direction.input, at),
            Place::Station(_) => {}
            Place::Elsewhere => return self.leaving.push(direction.input),
        }
        self.actors.lower(direction.to.node.0 as usize, at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Engine;
    use crate::flows::Flow;
    use crate::network::{Faults, FlowSpec, LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec};
    use crate::observer::{NetworkView, Observer, Tap};
    use crate::options::Options;
    use crate::outcome::{FlowRecord, Outcome};
    use crate::testing::{end, flow, host, host_settings, link, patched, switch};
    use endpoint::{FlowId, HostSettings};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use units::{BitRate, Bytes, Interval, Nanos};

    /// Two hosts with two switches between them, where the last link is slow, so that one switch pauses the other.
    fn bottleneck() -> NetworkSpec {
        let rate = BitRate::gigabits(10);
        let slow_host = HostSettings { rate, ..host_settings(1, 0) };
        let mut slow_end = patched(&[(0, 1)]);
        slow_end.ports[1].rate = rate;
        let slow_host = NodeSpec { name: "host1".to_owned(), kind: NodeKind::Host(Arc::new(slow_host)) };
        let slow_link = LinkSpec { rate, ..link(end(3, 1), end(1, 0)) };
        NetworkSpec {
            nodes: vec![host(0, 1), slow_host, switch(patched(&[(0, 1)])), switch(slow_end)],
            links: vec![link(end(0, 0), end(2, 0)), link(end(2, 1), end(3, 0)), slow_link],
            jobs: Arc::default(),
            reroutes: Arc::default(),
        }
    }

    /// The bottleneck with other delays and faults, where frames to host 1 may cross a link from switch 2 to itself.
    fn networks() -> impl Strategy<Value = NetworkSpec> {
        let (jitter, control_delay) =
            (prop_oneof![Just(0), 0_u64..3_000], prop_oneof![Just(0), 0_u64..5_000]);
        let faulty = (prop_oneof![Just(0.0), Just(0.02)], jitter, control_delay).prop_map(
            |(loss, jitter, control_delay)| {
                let [jitter, control_delay] = [jitter, control_delay].map(Interval);
                Faults { loss, control_loss: loss, jitter, control_delay, ..Faults::default() }
            },
        );
        let faults = prop_oneof![3 => Just(Faults::default()), 1 => faulty];
        let delay = prop_oneof![1 => Just(0), 9 => 1_u64..30_000];
        let links = prop::collection::vec((delay, [faults.clone(), faults]), 4);
        (any::<bool>(), links).prop_map(|(is_looped, changes)| {
            let mut network = bottleneck();
            if is_looped {
                network.nodes[2] = switch(patched(&[(0, 2), (3, 1)]));
                network.links.push(link(end(2, 2), end(2, 3)));
            }
            for (link, (delay, faults)) in network.links.iter_mut().zip(changes) {
                (link.delay, link.faults) = (Interval(delay), faults);
            }
            network
        })
    }

    /// Everything that an observer sees. Captures are kept by node, because those of different nodes have no
    /// defined order.
    #[derive(Debug, Default, PartialEq)]
    struct Log {
        samples: Vec<(Nanos, u64)>,
        records: Vec<FlowRecord>,
        frames: BTreeMap<u32, Vec<(bool, Nanos, Bytes)>>,
    }

    impl Observer for Log {
        fn sample(&mut self, at: Nanos, view: &NetworkView<'_>) {
            self.samples.push((at, view.progress().transmissions));
        }

        fn completed(&mut self, record: &FlowRecord) {
            self.records.push(record.clone());
        }

        fn captured(&mut self, tap: Tap, at: Nanos, _: &[u8], length: Bytes) {
            self.frames.entry(tap.node.0).or_default().push((tap.inbound, at, length));
        }
    }

    fn run(network: &NetworkSpec, flows: &[FlowSpec], ahead: bool) -> (Outcome, Log) {
        let options = Options {
            sampling: Some(Interval(7_300)),
            taps: (0..4).map(NodeId).collect(),
            limit: Nanos(5_000_000),
            tolerate_loss: true,
            ..Options::default()
        };
        let (mut engine, mut log) = (Engine::new(network.clone(), options), Log::default());
        if !ahead {
            engine.parts[0].lookahead = Interval::ZERO;
        }
        let outcome = engine.run(flows.iter().cloned(), &mut log).unwrap();
        (outcome, log)
    }

    fn flows() -> impl Strategy<Value = Vec<FlowSpec>> {
        let one = (0_u64..30_000, 1_u64..300_000, any::<bool>(), prop::option::of(1_u64..40_000));
        prop::collection::vec(one, 1..6).prop_map(|mut flows| {
            flows.sort();
            (0..)
                .zip(flows)
                .map(|(number, (start, bytes, forth, lasts))| {
                    let (one, other) = if forth { (0, 1) } else { (1, 0) };
                    FlowSpec {
                        id: FlowId(number),
                        start: Nanos(start),
                        source: NodeId(one),
                        destination: NodeId(other),
                        stop: lasts.map(|time| Nanos(start + time)),
                        ..flow(lasts.is_none().then_some(bytes))
                    }
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn switches_that_run_ahead_of_the_others_change_no_result(network in networks(), flows in flows()) {
            let (outcome, log) = run(&network, &flows, true);
            prop_assert_eq!(&(outcome, log), &run(&network, &flows, false));
        }
    }

    #[test]
    fn a_switch_runs_no_further_ahead_than_others_can_act_or_look() {
        let options = Options { limit: Nanos(1_000_000), ..Options::default() };
        let mut engine = Engine::new(bottleneck(), options);
        let horizon_before = |engine: &mut Engine, next_sample| {
            engine.next_sample = next_sample;
            let (window, now) = (engine.window(), engine.now);
            let part = &mut engine.parts[0];
            (part.window, part.now) = (window, now);
            part.horizon()
        };
        let horizon = |engine: &mut Engine| horizon_before(engine, Nanos::NEVER);
        engine.now = Nanos(5_000);
        assert_eq!(horizon(&mut engine), Nanos(5_001), "without flows the run ends now");
        engine.parts[0].flows.start(Flow::new(flow(None), [Some(0), Some(1)], Interval::ZERO));
        assert_eq!(horizon(&mut engine), Nanos(6_000), "the shortest link is 1,000 ns long");
        assert_eq!(
            horizon_before(&mut engine, Nanos(5_400)),
            Nanos(5_400),
            "a sample is taken before what happens then"
        );
        engine.now = Nanos(999_500);
        assert_eq!(horizon(&mut engine), Nanos(1_000_001), "what happens at the limit still counts");
        engine.parts[0].flows.note_sent(FlowId(0));
        assert_eq!(horizon(&mut engine), Nanos(999_501), "the last acknowledgement may end the run");
        engine.pending = [FlowSpec { start: Nanos(2_000_000), ..flow(None) }].into();
        assert_eq!(horizon(&mut engine), Nanos(1_000_001), "another flow will start");
        engine.pending = [FlowSpec { start: Nanos(999_700), ..flow(None) }].into();
        assert_eq!(
            horizon(&mut engine),
            Nanos(999_701),
            "its host may have no queue pair, which ends the run"
        );
    }
}
