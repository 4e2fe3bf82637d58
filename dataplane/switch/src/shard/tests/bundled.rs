//! The members of a bundle with LSCC keep their flows together: the sender of a flow is found whichever of them its packets
//! and their answers cross.

use super::follow::{Form, Number, Numbers, Packet, Sent, long_haul};
use super::*;
use crate::flows::FlowsReport;
use units::Interval;
use wire::roce::Opcode;

const HOSTS: u8 = 2;
const QUEUE_PAIRS: u8 = 5;
const FLOWS: u32 = HOSTS as u32 * QUEUE_PAIRS as u32;

/// A gateway between hosts, which send along all flows, and the far side, which answers.
struct Scene {
    shard: Shard<Vec<u8>>,
    now: Nanos,
    numbers: Numbers,
}

impl Scene {
    fn new(program: Arc<Program>) -> Self {
        let mut scene =
            Self { shard: Shard::single(program), now: Nanos(1 << 30), numbers: Numbers::default() };
        // Those of two queue pairs are far apart, and those of an answer are those of its request.
        for numbers in &mut scene.numbers {
            for (number, last) in (0..).zip(numbers.iter_mut().flatten()) {
                *last = number << 16;
            }
        }
        scene
    }

    /// Each flow sends a packet, and a round trip later the answer comes in through the port that `through` chooses, which
    /// is given the number of the flow and of the packet.
    fn exchange(&mut self, packets: u32, through: impl Fn(u32, u32) -> PortId) {
        for packet in 0..packets {
            for (opcode, wait) in [(Opcode::RC_WRITE_ONLY, 3_000), (Opcode::RC_ACKNOWLEDGE, 1)] {
                for flow in 0..FLOWS {
                    let port = if opcode == Opcode::RC_WRITE_ONLY { A } else { through(flow, packet) };
                    let (host, qp) =
                        ((flow / u32::from(QUEUE_PAIRS)) as u8, (flow % u32::from(QUEUE_PAIRS)) as u8);
                    let frame = Packet { host, qp, opcode, psn: Number::Next, ecn: 2, form: Form::Usual };
                    let frame = frame.bytes(self.now, port, &mut self.numbers);
                    self.shard.ingress(self.now, port, &mut vec![frame], &mut Sent::default());
                }
                self.leave();
                self.now += Interval::from_micros(wait);
            }
        }
    }

    /// Lets all frames leave.
    fn leave(&mut self) {
        let until = self.now + Interval::from_micros(10);
        while self.shard.next_deadline() <= until {
            self.now = self.now.max(self.shard.next_deadline());
            [A, B, C].into_iter().for_each(|port| self.shard.egress(self.now, port, &mut Sent::default()));
        }
    }

    /// The flows of both long ports.
    fn flows(&self) -> [Option<FlowsReport>; 2] {
        [B, C].map(|port| self.shard.flows(port))
    }

    /// The number of flows of the first long port whose sender is known.
    fn resolved(&self) -> u32 {
        self.shard.flows(B).map_or(0, |it| it.data.resolved)
    }
}

#[test]
fn the_senders_behind_a_bundle_are_found_whichever_member_the_answers_come_through() {
    for learn in [1, 2] {
        for through in [B, C] {
            let mut bundle = Scene::new(long_haul(false, learn, true));
            bundle.exchange(60, |_, _| through);
            assert_eq!(bundle.resolved(), FLOWS, "learn = {learn}");
            assert!(bundle.flows()[1].is_none(), "those of the first member are those of both");
            let mut apart = Scene::new(long_haul(false, learn, false));
            apart.exchange(60, |_, _| through);
            assert_eq!(apart.resolved(), if through == B { FLOWS } else { 0 });
        }
    }
}

#[test]
fn answers_that_change_to_another_member_are_still_those_of_the_receiver() {
    let mut scene = Scene::new(long_haul(false, 1, true));
    let members = |flow: u32, packet: u32| if (flow + packet / 7).is_multiple_of(2) { B } else { C };
    scene.exchange(60, members);
    let flows = scene.flows()[0].unwrap();
    assert_eq!((flows.data.resolved, flows.data.unresolved), (FLOWS, 0));
    let counters = flows.resolver;
    assert_eq!((counters.resolved_by_psn, counters.suspended, counters.contradicted), (FLOWS.into(), 0, 0));
}

#[test]
fn a_reload_finds_the_flows_at_whichever_member_they_are() {
    let mut scene = Scene::new(long_haul(false, 1, true));
    scene.exchange(60, |_, _| C);
    for last in [B, C] {
        scene.exchange(1, |_, _| last);
        let now = scene.now;
        scene.shard.install(now, long_haul(false, 1, true)).unwrap();
        assert_eq!(scene.resolved(), FLOWS, "they stay");
    }
    let (now, program) = (scene.now, scene.shard.program().clone());
    let with = |change: &dyn Fn(&mut PortSettings)| {
        let mut settings = program.settings().clone();
        settings.ports[1..].iter_mut().for_each(change);
        Arc::new(program.with_settings(settings).unwrap())
    };
    scene.shard.install(now, with(&|port| port.notifiers.lscc = None)).unwrap();
    assert_eq!(scene.flows(), [None, None]);
    assert_eq!([B, C].map(|port| scene.shard.notifiers(port).lscc), [None, None]);
    scene.shard.install(now, with(&|_| {})).unwrap();
    assert!([B, C].map(|port| scene.shard.notifiers(port).lscc.is_some()) == [true; 2]);
    scene.exchange(60, |_, _| B);
    assert_eq!(scene.resolved(), FLOWS);
    let larger = with(&|port| port.notifiers.lscc.as_mut().unwrap().limiting.flows *= 2);
    scene.shard.install(now, larger).unwrap();
    assert_eq!(scene.flows()[0].map(|it| it.known), Some(0), "another table");
    scene.exchange(60, |_, _| C);
    assert_eq!(scene.resolved(), FLOWS);
}

/// This host sends so many packets at once.
fn send(scene: &mut Scene, host: u8, packets: u32) {
    for _ in 0..packets {
        let opcode = Opcode::RC_WRITE_ONLY;
        let frame = Packet { host, qp: 0, opcode, psn: Number::Next, ecn: 2, form: Form::Usual };
        let frame = frame.bytes(scene.now, A, &mut scene.numbers);
        scene.shard.ingress(scene.now, A, &mut vec![frame], &mut Sent::default());
    }
}

#[test]
fn a_bundle_looks_at_all_packets_while_one_of_its_links_may_have_to_notify_and_no_longer() {
    let mut scene = Scene::new(long_haul(false, 16, true));
    let at = |scene: &Scene, port: PortId| scene.shard.fabric.senders[port.index()].is_some();
    let [by_b, by_c] = [B, C].map(|member| {
        let mut hosts = 0..3;
        hosts.find(|host| {
            send(&mut scene, *host, 1);
            at(&scene, member)
        })
    });
    let (by_b, by_c) = (by_b.expect("a host by B"), by_c.expect("a host by C"));
    let watched = |scene: &Scene| {
        let senders = scene.shard.fabric.senders.iter().flatten().next().unwrap();
        senders.flows.is_watched(scene.now)
    };
    let rate = Packet { host: 0, qp: 0, opcode: Opcode::CNP, psn: Number::Next, ecn: 0, form: Form::Rate };
    let rate = rate.bytes(scene.now, B, &mut scene.numbers);
    scene.shard.ingress(scene.now, B, &mut vec![rate], &mut Sent::default());
    send(&mut scene, by_c, 4);
    assert!(!watched(&scene), "nothing has gone out by the link with a rate");
    send(&mut scene, by_b, 40);
    scene.now += Interval::from_micros(1);
    send(&mut scene, by_b, 1);
    assert!(watched(&scene));
    for (wait, looks) in [(1, true), (20, true), (1_000, false)] {
        scene.now += Interval::from_micros(wait);
        send(&mut scene, by_c, 4);
        assert_eq!((watched(&scene), at(&scene, C)), (looks, true), "{wait} us later");
    }
}
