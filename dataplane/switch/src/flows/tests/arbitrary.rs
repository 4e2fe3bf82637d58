//! Arbitrary connections, with loss on either side of the port, retransmission, and queue pairs that are used again:
//! no half-flow is ever given a wrong source.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

/// The making of a connection.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Between which of three hosts.
    hosts: (u8, u8),
    /// The PSNs at which the two sides start: zero, or a multiple of this many.
    starts: [u32; 2],
    managed: bool,
    /// Of which side packets take another way; 2 is neither.
    hidden: usize,
    /// Whether the source port follows from the queue pairs.
    usual_port: bool,
}

/// Distances of starting PSNs: so much that none is taken for more of another.
const SPACING: u32 = (1 << 20) + (1 << 16);
/// So many starts there are.
const STARTS: u32 = 15;
/// The first number of a connection whose queue pairs have been used before.
const FIRST_REPLACEMENT: u32 = 100;

/// The next event, of the connection of that number.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A side sends requests: so many, of which a READ takes so many PSNs. Bits tell which are lost before the port,
    /// and which behind it.
    Send { side: usize, count: u8, read: Option<u8>, lost_before: u8, lost_behind: u8 },
    /// A side's responses arrive, up to so many.
    Respond { side: usize, count: u8, lost_before: u8, lost_behind: u8 },
    /// A side sends again what was not acknowledged.
    Repeat { side: usize },
    /// The connection ends in good order, and both queue pairs are used by others at once.
    Replace { plan: Plan },
    /// The link becomes congested, or no longer is.
    Congest { awake: bool },
    /// Nothing goes by for so long.
    Wait { millis: u64 },
    /// Another host of the data center says something in the name of one of the two, to the queue pair of the other
    /// or to any.
    Forge { side: usize, what: u8, any: Option<u8>, psn: u32 },
}

/// One direction of a connection: a requester, and its responder on the other side.
#[derive(Clone, Debug, Default)]
struct Direction {
    next: u32,
    unacknowledged: u32,
    expected: u32,
    responses: VecDeque<(Opcode, u32, u8)>,
    /// Whether the port saw requests.
    requested: bool,
    /// Whether the port saw responses, unless they take another way.
    responded: bool,
    nak: bool,
}

#[derive(Clone, Debug)]
struct Connection {
    plan: Plan,
    id: u32,
    /// The queue pair of each side.
    qps: [u32; 2],
    directions: [Direction; 2],
}

impl Connection {
    fn open(port: &mut Port, plan: Plan, id: u32, qps: [u32; 2]) -> Self {
        let starting =
            |start| Direction { next: start, unacknowledged: start, expected: start, ..Direction::default() };
        let connection = Self { plan, id, qps, directions: plan.starts.map(starting) };
        if plan.managed {
            port.connect(connection.hosts(0), qps[0], qps[1], id);
        }
        connection
    }

    /// From this side to the other.
    fn hosts(&self, side: usize) -> Hosts {
        let both = [self.plan.hosts.0, self.plan.hosts.1].map(u64::from);
        hosts(both[side], both[1 - side])
    }

    /// A packet of this side passes the port, if it takes that way.
    fn show(&self, port: &mut Port, side: usize, opcode: Opcode, psn: u32, payload: &[u8]) {
        if self.plan.hidden != side {
            let source_port = match self.plan.usual_port {
                true => wire::roce::source_port_of_flow_label(fold(self.qps)),
                false => 0xc123,
            };
            let found = port.packet(self.hosts(side), opcode, self.qps[1 - side], psn, source_port, payload);
            // The sender that is notified now because of this packet.
            let source = found.and_then(|slot| port.flows.source_of(slot)).map(QueuePair::number);
            let is_data = opcode == Opcode::RC_WRITE_ONLY;
            port.misled |= is_data && source.is_some_and(|source| source != self.qps[side]);
        }
    }

    /// Whether the resolver sees a packet of this side.
    fn teaches(&self, port: &Port, side: usize, opcode: Opcode, psn: u32) -> bool {
        let psn = Psn::from_low_bits(psn);
        self.plan.hidden != side && port.attention(self.hosts(side), opcode, psn) == Attention::Learn
    }

    fn send(&mut self, port: &mut Port, side: usize, psns: Option<u8>, lost_before: bool, lost_behind: bool) {
        let psn = self.directions[side].next;
        let taken = psns.map_or(1, u32::from).max(1);
        self.directions[side].next = add(psn, taken);
        let opcode = if psns.is_some() { Opcode::RC_READ_REQUEST } else { Opcode::RC_WRITE_ONLY };
        let teaches = self.teaches(port, side, opcode, psn);
        // Where the first requests of another connection are lost, the rest can look like more of those before.
        if lost_before && (self.directions[side].requested || !teaches) {
            return;
        }
        let mut reth = [0; Reth::LEN];
        reth[12..].copy_from_slice(&(taken * 1024).to_be_bytes());
        self.show(port, side, opcode, psn, if psns.is_some() { &reth } else { &[] });
        let direction = &mut self.directions[side];
        direction.requested |= teaches;
        if lost_behind {
            return;
        }
        let ahead = Psn::from_low_bits(psn).distance_from(Psn::from_low_bits(direction.expected));
        match ahead {
            0 => {
                direction.expected = add(psn, taken);
                direction.nak = false;
                direction.respond(psn, psns);
            }
            1.. if !direction.nak => {
                direction.nak = true;
                direction.responses.push_back((Opcode::RC_ACKNOWLEDGE, direction.expected, 0x60));
            }
            1.. => {}
            _ if psns.is_some() => direction.respond(psn, psns),
            _ => {
                direction.responses.push_back((Opcode::RC_ACKNOWLEDGE, add(direction.expected, u32::MAX), 0))
            }
        }
    }

    /// The responses to what `side` asked reach it.
    fn respond(&mut self, port: &mut Port, side: usize, lost_before: bool, lost_behind: bool) {
        let Some((opcode, psn, syndrome)) = self.directions[side].responses.pop_front() else { return };
        if !lost_before {
            let teaches = self.teaches(port, 1 - side, opcode, psn);
            self.show(port, 1 - side, opcode, psn, &[syndrome, 0, 0, 0]);
            self.directions[side].responded |= teaches || self.plan.hidden == 1 - side;
        }
        let direction = &mut self.directions[side];
        let acknowledged = add(psn, u32::from(syndrome == 0));
        let step =
            Psn::from_low_bits(acknowledged).distance_from(Psn::from_low_bits(direction.unacknowledged));
        if !lost_before && !lost_behind && step > 0 {
            direction.unacknowledged = acknowledged;
        }
    }

    fn repeat(&mut self, port: &mut Port, side: usize) {
        let direction = &mut self.directions[side];
        let count = Psn::from_low_bits(direction.next)
            .distance_from(Psn::from_low_bits(direction.unacknowledged))
            .max(0);
        direction.next = direction.unacknowledged;
        for _ in 0..count {
            self.send(port, side, None, false, false);
        }
    }

    /// A host behind this end, at another port, speaks in the name of a side.
    fn forge(&self, port: &mut Port, side: usize, what: u8, any: Option<u8>, psn: u32) {
        let hosts = Hosts { way: Way::Out, ..self.hosts(side) };
        let (own, other) = (self.qps[side], any.map_or(self.qps[1 - side], |qp| 0x10 + u32::from(qp % 0x30)));
        let psn = add(self.directions[side].next, psn);
        port.at(1, 9);
        match what % 8 {
            0..3 => drop(port.packet(hosts, Opcode::RC_WRITE_ONLY, other, psn, 0xc123, &[])),
            3..5 => drop(port.packet(hosts, Opcode::RC_ACKNOWLEDGE, other, psn, 0xc123, &[0; 4])),
            5 => port.request(hosts, other, self.id),
            6 => port.reply(hosts, other, self.id),
            _ => port.disconnect(hosts, if any.is_some() { other } else { own }, self.id),
        }
        port.at(0, 1);
    }

    /// The responses to what `side` asked that are under way arrive.
    fn arrive(&mut self, port: &mut Port, side: usize) {
        while !self.directions[side].responses.is_empty() {
            self.respond(port, side, false, false);
        }
    }

    /// Everything that is under way arrives, and is acknowledged.
    fn close(&mut self, port: &mut Port) {
        for side in [0, 1] {
            self.arrive(port, side);
            self.repeat(port, side);
            self.arrive(port, side);
        }
        if self.plan.managed {
            port.disconnect(self.hosts(0), self.qps[1], self.id);
        }
    }

    /// The sender of packets from this side to the other, if anything went by that shows it: a request or, where the
    /// queue pairs are used for the first time, a response.
    fn truth(&self, side: usize) -> Option<(Hosts, u32, u32)> {
        let responded = self.plan.hidden != side && self.directions[1 - side].responded;
        let shown = self.directions[side].requested || responded && self.id < FIRST_REPLACEMENT;
        shown.then(|| (self.hosts(side), self.qps[1 - side], self.qps[side]))
    }
}

impl Direction {
    fn respond(&mut self, psn: u32, read: Option<u8>) {
        match read {
            None => self.responses.push_back((Opcode::RC_ACKNOWLEDGE, psn, 0)),
            Some(0 | 1) => self.responses.push_back((Opcode::RC_READ_RESPONSE_ONLY, psn, 0)),
            Some(packets) => {
                self.responses.push_back((Opcode::RC_READ_RESPONSE_FIRST, psn, 0));
                for at in 1..u32::from(packets) - 1 {
                    self.responses.push_back((Opcode::RC_READ_RESPONSE_MIDDLE, add(psn, at), 0));
                }
                let last = add(psn, u32::from(packets) - 1);
                self.responses.push_back((Opcode::RC_READ_RESPONSE_LAST, last, 0));
            }
        }
    }
}

fn add(psn: u32, packets: u32) -> u32 {
    psn.wrapping_add(packets) & 0x00ff_ffff
}

fn fold(qps: [u32; 2]) -> u32 {
    let product = u64::from(qps[0]) * u64::from(qps[1]);
    let once = product ^ product >> 20;
    ((once ^ once >> 40) & 0xf_ffff) as u32
}

fn plan(
    starts: impl Strategy<Value = u32> + Clone,
    hidden: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Plan> {
    let hosts = prop_oneof![4 => Just((1, 2)), 1 => Just((2, 1)), 1 => Just((1, 3))];
    (hosts, [starts.clone(), starts], prop::bool::weighted(0.15), hidden, prop::bool::weighted(0.2)).prop_map(
        |(hosts, starts, managed, hidden, usual_port)| {
            // The messages of the connection manager go both ways.
            let managed = managed && hidden == 2;
            Plan { hosts, starts: starts.map(|start| start * SPACING), managed, hidden, usual_port }
        },
    )
}

fn step(plan: impl Strategy<Value = Plan>) -> impl Strategy<Value = Step> {
    let loss = || prop_oneof![3 => Just(0_u8), 1 => any::<u8>()];
    // Most of the traffic goes one way.
    let side = || prop_oneof![4 => Just(0_usize), 1 => Just(1_usize)];
    let read = prop_oneof![5 => Just(None), 1 => (1..20_u8).prop_map(Some)];
    prop_oneof![
        10 => (side(), 1..6_u8, read, loss(), loss()).prop_map(|(side, count, read, lost_before, lost_behind)| {
            Step::Send { side, count, read, lost_before, lost_behind }
        }),
        10 => (side(), 1..8_u8, loss(), loss()).prop_map(|(side, count, lost_before, lost_behind)| {
            Step::Respond { side, count, lost_before, lost_behind }
        }),
        2 => side().prop_map(|side| Step::Repeat { side }),
        1 => plan.prop_map(|plan| Step::Replace { plan }),
    ]
}

/// Runs the connections; calls `check` after each step.
fn run(
    plans: Vec<Plan>,
    steps: Vec<(usize, Step)>,
    check: impl FnMut(&Port, &[Connection]) -> Result<(), TestCaseError>,
) -> Result<Port, TestCaseError> {
    run_at(Port::new(), plans, steps, check)
}

/// As [`run`], at this port.
fn run_at(
    mut port: Port,
    plans: Vec<Plan>,
    steps: Vec<(usize, Step)>,
    mut check: impl FnMut(&Port, &[Connection]) -> Result<(), TestCaseError>,
) -> Result<Port, TestCaseError> {
    // The same numbers at both ends of different connections, and one for each at a host.
    let qps = |number: usize| [0x10 + number as u32, 0x30 + (number as u32 * 5) % 16];
    let open = |(number, plan): (usize, Plan)| (plan, number as u32 + 1, qps(number));
    let mut connections: Vec<Connection> = plans
        .into_iter()
        .enumerate()
        .map(open)
        .map(|(plan, id, qps)| Connection::open(&mut port, plan, id, qps))
        .collect();
    let mut id = FIRST_REPLACEMENT;
    for (number, step) in steps {
        let number = number % connections.len();
        let connection = &mut connections[number];
        match step {
            Step::Send { side, count, read, lost_before, lost_behind } => {
                for at in 0..count {
                    connection.send(
                        &mut port,
                        side,
                        read,
                        lost_before >> at & 1 == 1,
                        lost_behind >> at & 1 == 1,
                    );
                }
            }
            Step::Respond { side, count, lost_before, lost_behind } => {
                for at in 0..count {
                    connection.respond(
                        &mut port,
                        side,
                        lost_before >> at & 1 == 1,
                        lost_behind >> at & 1 == 1,
                    );
                }
            }
            Step::Repeat { side } => connection.repeat(&mut port, side),
            Step::Congest { awake } => port.awake = awake,
            Step::Wait { millis } => wait(&mut port, &mut connections, millis),
            Step::Forge { side, what, any, psn } => connection.forge(&mut port, side, what, any, psn),
            Step::Replace { plan } => {
                id += 2;
                replace(&mut port, &mut connections, number, plan, id);
            }
        }
        check(&port, &connections)?;
    }
    Ok(port)
}

/// Lets so much time pass. No response is under way for longer than a second, whatever it consists of.
fn wait(port: &mut Port, connections: &mut [Connection], millis: u64) {
    port.waited += millis;
    if port.waited >= 1_000 {
        port.waited = 0;
        for connection in connections {
            for side in [0, 1] {
                connection.arrive(port, side);
            }
        }
    }
    port.now += Interval::from_millis(millis);
}

/// Connection `number` and the next one swap the queue pairs of one side. `id` is that of the first of the two new
/// ones.
fn replace(port: &mut Port, connections: &mut [Connection], number: usize, plan: Plan, id: u32) {
    let other = (number + 1) % connections.len();
    for (place, id) in [(number, id), (other, id + 1)] {
        connections[place].close(port);
        connections[place].id = id;
    }
    let kept = connections[other].plan;
    if other != number && kept.hosts == connections[number].plan.hosts {
        let (one, two) = (connections[number].qps, connections[other].qps);
        let plan = Plan { hosts: kept.hosts, ..plan };
        connections[number] = Connection::open(port, plan, id, [one[0], two[1]]);
        connections[other] = Connection::open(port, kept, id + 1, [two[0], one[1]]);
    } else {
        for place in [number, other] {
            let Connection { plan, id, qps, .. } = connections[place];
            connections[place] = Connection::open(port, plan, id, qps);
        }
    }
}

/// The opening of the complaint of [`nothing_is_wrong`].
const WRONG: &str = "wrong binding:";

/// No half-flow that was seen is given another source than its own.
fn nothing_is_wrong(port: &Port, connections: &[Connection]) -> Result<(), TestCaseError> {
    for (hosts, destination, source) in
        connections.iter().flat_map(|connection| [0, 1].map(|side| connection.truth(side))).flatten()
    {
        let found = port.source(hosts, destination);
        prop_assert!(
            found.is_none_or(|found| found == source),
            "{WRONG} {destination:#x} from {found:x?}, not {source:#x}"
        );
    }
    Ok(())
}

fn zero_or_random() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![2 => Just(0_u32), 1 => 0..STARTS]
}

proptest! {
    #[test]
    fn no_binding_is_wrong_where_both_directions_pass(
        plans in prop::collection::vec(plan(zero_or_random(), Just(2)), 1..8),
        steps in prop::collection::vec((0..8_usize, step(plan(zero_or_random(), Just(2)))), 0..250),
    ) {
        run(plans, steps, nothing_is_wrong)?;
    }

    #[test]
    fn no_binding_is_wrong_where_directions_are_hidden_and_no_two_start_alike(
        plans in prop::collection::vec(plan(Just(0), 0..3_usize), 1..8),
        starts in Just((0..STARTS).collect::<Vec<_>>()).prop_shuffle(),
        steps in prop::collection::vec((0..8_usize, step(plan(Just(0), Just(2)))), 0..250),
    ) {
        let distinct = |(plan, starts): (Plan, &[u32])| {
            Plan { starts: [starts[0] * SPACING, starts[1] * SPACING], ..plan }
        };
        let plans = plans.into_iter().zip(starts.chunks(2)).map(distinct).collect();
        let steps = steps.into_iter().filter(|(_, step)| !matches!(step, Step::Replace { .. })).collect();
        run(plans, steps, nothing_is_wrong)?;
    }

    /// The bound: where a wrong pair is made, one of the connections is hidden in one direction.
    #[test]
    fn only_a_hidden_direction_can_deceive(
        plans in prop::collection::vec(plan(zero_or_random(), 0..3_usize), 1..8),
        steps in prop::collection::vec((0..8_usize, step(plan(zero_or_random(), Just(2)))), 0..250),
    ) {
        let steps = steps.into_iter().filter(|(_, step)| !matches!(step, Step::Replace { .. })).collect();
        run(plans, steps, |port, connections| {
            let hides = |qp: u32| connections.iter().any(|it| it.qps.contains(&qp) && it.plan.hidden != 2);
            for (hosts, destination, source) in
                connections.iter().flat_map(|connection| [0, 1].map(|side| connection.truth(side))).flatten()
            {
                let found = port.source(hosts, destination);
                let right = found.is_none_or(|found| found == source);
                prop_assert!(right || hides(destination) || found.is_some_and(hides));
            }
            Ok(())
        })?;
    }
}

/// The same for packets of the true sender. Only a host that speaks in its name may get a wrong queue pair.
fn nothing_is_wrong_for_who_sends(port: &Port, connections: &[Connection]) -> Result<(), TestCaseError> {
    let forged = |slot: Slot| port.flows.cold(slot).origin().is_some_and(|origin| origin.port() != PortId(0));
    for (hosts, destination, source) in
        connections.iter().flat_map(|connection| [0, 1].map(|side| connection.truth(side))).flatten()
    {
        let Some(slot) = port.slot(hosts, destination) else { continue };
        if forged(slot) || port.flows.table.partner(slot).is_some_and(forged) {
            continue;
        }
        let found = port.source(hosts, destination);
        prop_assert!(
            found.is_none_or(|found| found == source),
            "{destination:#x} from {found:x?}, not {source:#x}"
        );
    }
    Ok(())
}

fn forgery() -> impl Strategy<Value = Step> {
    // Most are near to what is true.
    let behind = (0..40_u32).prop_map(|behind| add(0, 0_u32.wrapping_sub(behind)));
    let psn = prop_oneof![4 => 0..4_u32, 2 => behind, 1 => any::<u32>()];
    (0..2_usize, any::<u8>(), prop::option::of(any::<u8>()), psn)
        .prop_map(|(side, what, any, psn)| Step::Forge { side, what, any, psn })
}

fn congestion() -> impl Strategy<Value = Step> {
    any::<bool>().prop_map(|awake| Step::Congest { awake })
}

/// Events of the link: congestion, and silence that may be longer than a packet takes.
fn of_the_link() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => congestion(),
        1 => (0..3_000_u64).prop_map(|millis| Step::Wait { millis }),
    ]
}

/// Connections between hosts both of whose directions pass, and what they and others do on a link that is congested at
/// times.
fn sampled() -> impl Strategy<Value = (u64, Vec<Plan>, Vec<(usize, Step)>)> {
    let plans = prop::collection::vec(plan(zero_or_random(), Just(2)), 1..8);
    let step = prop_oneof![8 => step(plan(zero_or_random(), Just(2))), 2 => of_the_link()];
    (any::<u64>(), plans, prop::collection::vec((0..8_usize, step), 0..250))
}

/// No half-flow has another source than its own, and none was taken for another at any time.
fn nobody_is_misled(port: &Port, connections: &[Connection]) -> Result<(), TestCaseError> {
    prop_assert!(!port.misled, "a packet was taken as one of another sender");
    nothing_is_wrong(port, connections)
}

proptest! {
    #[test]
    fn in_no_sample_is_any_binding_wrong_whoever_chooses_the_numbers((mask, plans, steps) in sampled()) {
        run_at(Port::taught(Taught::By(mask)), plans, steps, nobody_is_misled)?;
    }

    #[test]
    fn in_no_sample_is_any_binding_wrong_whatever_a_host_of_the_data_center_says_in_the_name_of_others(
        mask in any::<u64>(),
        plans in prop::collection::vec(plan(zero_or_random(), Just(2)), 1..8),
        steps in prop::collection::vec(
            (0..8_usize, prop_oneof![
                16 => step(plan(zero_or_random(), Just(2))), 8 => forgery(), 2 => of_the_link(),
            ]), 0..250
        ),
    ) {
        run_at(Port::taught(Taught::By(mask)), plans, steps, nothing_is_wrong_for_who_sends)?;
    }
}

/// The control: what is learnt must not depend on congestion.
#[test]
fn a_sample_that_follows_congestion_binds_wrongly() {
    use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
    let config = Config { cases: 4_096, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let result = runner.run(&sampled(), |(mask, plans, steps)| {
        run_at(Port::taught(Taught::ByCongestion(mask)), plans, steps, nothing_is_wrong).map(drop)
    });
    let Err(TestError::Fail(reason, _)) = result else { panic!("{result:?}") };
    assert!(reason.message().contains(WRONG), "{reason}");
}

/// A finding of the control, by hand. 0x10 sends to 0x20, and 0x11 to 0x21.
#[test]
fn who_misses_requests_while_it_sleeps_excludes_the_true_sender_and_binds_another() {
    for (taught, found) in
        [(Taught::ByCongestion(0), Some(0x10)), (Taught::By(0), None), (Taught::By(u64::MAX), None)]
    {
        let mut port = Port::taught(taught);
        let mut send = |awake, hosts, opcode, qp, psns: core::ops::Range<u32>| {
            port.awake = awake;
            for psn in psns {
                port.packet(hosts, opcode, qp, psn, 0, &[0; 4]);
            }
        };
        let (write, ack) = (Opcode::RC_WRITE_MIDDLE, Opcode::RC_ACKNOWLEDGE);
        send(true, X_TO_Y, write, 0x20, START..START + 1);
        send(true, X_TO_Y, write, 0x21, START..START + 10);
        send(false, X_TO_Y, write, 0x20, START + 1..START + 10);
        send(false, Y_TO_X, ack, 0x11, START..START + 10);
        send(true, Y_TO_X, ack, 0x10, START + 5..START + 10);
        assert_eq!(port.source(X_TO_Y, 0x21), found, "{taught:?}");
    }
}

proptest! {
    #[test]
    fn no_binding_is_wrong_whatever_a_host_of_the_data_center_says_in_the_name_of_others(
        plans in prop::collection::vec(plan(zero_or_random(), Just(2)), 1..8),
        steps in prop::collection::vec(
            (0..8_usize, prop_oneof![
                16 => step(plan(zero_or_random(), Just(2))), 8 => forgery(), 2 => of_the_link(),
            ]), 0..250
        ),
    ) {
        run(plans, steps, nothing_is_wrong_for_who_sends)?;
    }
}

/// Traffic of the kind above is not merely never resolved.
#[test]
fn orderly_connections_that_start_at_random_are_resolved() {
    let plan = |start: u32| Plan {
        hosts: (1, 2),
        starts: [start * SPACING, 0],
        managed: false,
        hidden: 2,
        usual_port: false,
    };
    let send = Step::Send { side: 0, count: 3, read: None, lost_before: 0, lost_behind: 0 };
    let respond = Step::Respond { side: 0, count: 3, lost_before: 0, lost_behind: 0 };
    let steps = (0..40).flat_map(|at| [(at % 5, send), (at % 5, respond)]).collect();
    let port = run((3..8).map(plan).collect(), steps, nothing_is_wrong).unwrap();
    assert_eq!(port.flows.report().data, DataFlows { resolved: 5, unresolved: 0 });
}
