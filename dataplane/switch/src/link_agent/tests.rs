//! An agent, with the announcements of neighbours that a test makes.

use super::*;
use proptest::prelude::*;
use units::{Priority, PrioritySet};
use wire::ethernet::HEADER_LEN;
use wire::lldp::{Application, Ets, Id, LONGEST_EMITTED, Octets, Pfc, Selection, Selector};

const HERE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const THERE: MacAddress = MacAddress([2, 0, 0, 0, 9, 9]);
const SECOND: Interval = Interval::from_secs(1);
const START: Nanos = Nanos(5_000_000_000);

fn message(port: &str, ttl_seconds: u16) -> Message {
    let (chassis, port) = (Id::of_chassis(THERE), Id::of_port(port));
    let pfc = Pfc { capability: 8, enabled: PrioritySet::from_bits(0b1000), ..Pfc::default() };
    Message { chassis, port, ttl_seconds, pfc: Some(pfc), ..Message::default() }
}

fn settings() -> LinkAgent {
    LinkAgent { interval: Interval::from_secs(30), message: message("here", 0) }
}

fn lldpdu(message: &Message) -> Vec<u8> {
    let mut out = [0; LONGEST_EMITTED];
    let length = message.emit(THERE, &mut out).unwrap();
    out[HEADER_LEN..length].to_vec()
}

/// An agent and its time.
struct Bench {
    agent: Agent,
    now: Nanos,
}

impl Bench {
    fn new() -> Self {
        Self { agent: Agent::new(&settings()), now: START }
    }

    fn hear(&mut self, message: &Message) {
        self.agent.receive(self.now, THERE, &lldpdu(message)).unwrap();
    }

    fn report(&self) -> LinkAgentReport {
        self.agent.report(self.now)
    }

    fn names(&self) -> Vec<String> {
        self.report().neighbours.iter().map(|it| it.message.port.port_text().to_string()).collect()
    }

    /// Sends what is due in the next `seconds`, and returns when.
    fn run(&mut self, seconds: u64) -> Vec<u64> {
        let end = self.now + SECOND * seconds;
        let mut sent = Vec::new();
        while self.agent.frame_due() <= end {
            self.now = self.now.max(self.agent.frame_due());
            assert!(self.agent.message(self.now).is_some());
            self.agent.sent(self.now);
            sent.push(self.now.since(START).0 / SECOND.0);
        }
        self.now = end;
        sent
    }
}

#[test]
fn a_port_is_announced_at_once_and_then_in_each_interval_for_four_intervals_and_a_second() {
    let mut bench = Bench::new();
    assert_eq!(bench.agent.message(bench.now).unwrap().ttl_seconds, 121);
    assert_eq!(bench.run(100), [0, 30, 60, 90]);
    assert_eq!(bench.agent.message(bench.now), None);
    let slow = LinkAgent { interval: *LinkAgent::INTERVALS.end(), ..settings() };
    assert_eq!(slow.announcement().ttl_seconds, 14_401);
}

#[test]
fn a_new_neighbour_is_answered_in_haste_and_a_known_one_is_not() {
    let mut bench = Bench::new();
    bench.run(10);
    bench.hear(&message("a", 120));
    assert_eq!(bench.run(10), [10, 11, 12, 13]);
    bench.hear(&message("a", 120));
    assert_eq!(bench.run(30), [43]);
}

#[test]
fn other_settings_are_announced_and_the_same_are_not() {
    let mut bench = Bench::new();
    bench.run(10);
    bench.agent.configure(&settings());
    assert_eq!(bench.run(10), []);
    bench.agent.configure(&LinkAgent { message: message("renamed", 0), ..settings() });
    assert_eq!(bench.agent.message(bench.now).unwrap(), message("renamed", 121));
    assert_eq!(bench.run(1), [20]);
}

#[test]
fn an_agent_that_shuts_down_says_so_at_once_and_nothing_after_that() {
    let mut bench = Bench::new();
    bench.run(10);
    bench.agent.sent(bench.now);
    bench.agent.shut_down();
    bench.agent.configure(&LinkAgent { interval: Interval::from_secs(20), ..settings() });
    let Message { chassis, port, .. } = settings().message;
    let last = Message { chassis, port, ttl_seconds: 0, ..Message::default() };
    assert_eq!(bench.agent.message(bench.now), Some(last), "neither a second later nor with other TLVs");
    bench.agent.sent(bench.now);
    bench.hear(&message("a", 120));
    bench.agent.configure(&settings());
    bench.agent.shut_down();
    assert_eq!(bench.run(1_000), []);
}

#[test]
fn a_neighbour_goes_when_its_time_runs_out_or_when_it_shuts_down() {
    let mut bench = Bench::new();
    bench.hear(&message("a", 10));
    bench.hear(&message("b", 20));
    bench.run(9);
    assert_eq!(bench.names(), ["a", "b"]);
    bench.run(1);
    assert_eq!(bench.names(), ["b"]);
    bench.hear(&message("b", 0));
    bench.hear(&message("c", 0));
    assert_eq!(bench.names(), [""; 0]);
    let expected = NeighbourCounters { new: 2, left: 1, aged: 1, ..NeighbourCounters::default() };
    assert_eq!(bench.report().counters, expected);
}

#[test]
fn a_neighbour_that_says_something_else_has_changed_and_another_time_to_live_is_no_change() {
    let mut bench = Bench::new();
    bench.hear(&message("a", 10));
    bench.hear(&message("a", 20));
    assert_eq!(bench.report().counters.changed, 0);
    bench.run(1);
    bench.hear(&Message { system_name: Octets::new(b"x"), ..message("a", 20) });
    let (report, now) = (bench.report(), bench.now);
    assert_eq!(report.counters.changed, 1);
    let it = report.neighbours.only().unwrap();
    assert_eq!((it.since, it.changed, it.heard), (START, now, now));
}

#[test]
fn endless_new_neighbours_take_four_places_and_leave_the_known_one_its_own() {
    let mut bench = Bench::new();
    bench.hear(&message("known", 120));
    for number in 0..3_000 {
        bench.hear(&message(&number.to_string(), u16::MAX));
        if number % 30 == 0 {
            bench.hear(&message("known", 120));
        }
        bench.run(1);
        assert!(bench.names().len() <= Neighbours::CAPACITY);
        assert!(bench.names().contains(&"known".to_owned()), "{number}");
    }
    let counters = bench.report().counters;
    assert!(counters.refused > 2_800, "{counters:?}");
    assert!(bench.report().sent <= 3_001, "one announcement a second at most");
}

#[test]
fn a_forged_time_to_live_holds_a_place_only_while_its_owner_speaks() {
    let mut bench = Bench::new();
    ["a", "b", "c", "d"].iter().for_each(|name| bench.hear(&message(name, u16::MAX)));
    bench.run(60);
    bench.hear(&message("honest", 120));
    assert_eq!(bench.report().counters.refused, 1);
    bench.hear(&message("d", u16::MAX));
    bench.run(61);
    bench.hear(&message("honest", 120));
    assert!(bench.names().contains(&"honest".to_owned()));
    assert_eq!((bench.report().counters.displaced, bench.names().len()), (1, 4));
}

#[test]
fn a_flood_is_not_read_beyond_its_limit() {
    let mut bench = Bench::new();
    for _ in 0..1_000 {
        bench.hear(&message("a", 120));
    }
    assert_eq!((bench.report().received, bench.report().unread), (BURST, 1_000 - BURST));
    bench.run(1);
    for _ in 0..1_000 {
        bench.hear(&message("a", 120));
    }
    assert_eq!(bench.report().received, BURST + 8);
}

#[test]
fn a_malformed_lldpdu_is_an_error_and_changes_nothing() {
    let mut bench = Bench::new();
    assert!(bench.agent.receive(bench.now, THERE, &[2, 7, 4]).is_err());
    assert_eq!(bench.report(), LinkAgentReport::default());
}

/// Our announcement.
fn ours() -> Message {
    let mut ets = Ets { classes: [0, 1, 2, 3, 4, 5, 6, 7], ..Ets::default() };
    (ets.bandwidths[0], ets.bandwidths[3]) = (40, 60);
    (ets.selections[0], ets.selections[3]) = (Selection::ETS, Selection::ETS);
    let roce = |priority| Application {
        selector: Selector::UDP,
        protocol: 4_791,
        priority: Priority::from_low_bits(priority),
    };
    Message {
        chassis: Id::of_chassis(HERE),
        max_frame: Some(1_522),
        ets: Some(ets),
        applications: [roce(3)].into_iter().collect(),
        ..message("here", 120)
    }
}

/// That of a neighbour that is set as we are.
fn theirs() -> Message {
    Message { chassis: Id::of_chassis(THERE), ..ours() }
}

fn found(theirs: &Message) -> Vec<(&'static str, String)> {
    let mismatches = Mismatches::between(&ours(), theirs);
    mismatches.iter().map(|it| (it.name(), it.sides(&ours(), theirs))).collect()
}

#[test]
fn each_difference_is_found_and_told_with_both_sides() {
    let pfc =
        |bits, capability| Some(Pfc { capability, enabled: PrioritySet::from_bits(bits), ..Pfc::default() });
    let told = |theirs: &Message, name, text: &str| assert_eq!(found(theirs), [(name, text.to_owned())]);
    assert_eq!(found(&theirs()), []);
    told(
        &Message { pfc: pfc(0b11_0000, 8), ..theirs() },
        "pfc_priorities",
        "PFC for priority 3 here, for priorities 4, 5 there",
    );
    told(
        &Message { pfc: pfc(0b1000, 0), ..theirs() },
        "pfc_capability",
        "PFC for priority 3 here, for 0 traffic classes at most there",
    );
    told(&Message { max_frame: Some(9_216), ..theirs() }, "max_frame", "max_frame = 1522 here, 9216 there");
    let mut ets = ours().ets.unwrap();
    ets.bandwidths[3] = 50;
    told(
        &Message { ets: Some(ets), ..theirs() },
        "ets",
        "0:40% 1:strict 2:strict 3:60% 4:strict 5:strict 6:strict 7:strict here, \
         0:40% 1:strict 2:strict 3:50% 4:strict 5:strict 6:strict 7:strict there",
    );
    let roce =
        Application { selector: Selector::ANY_PORT, protocol: 4_791, priority: Priority::from_low_bits(5) };
    told(
        &Message { applications: [roce].into_iter().collect(), ..theirs() },
        "application",
        "RoCEv2 in priority 3 here, in priority 5 there",
    );
}

#[test]
fn devices_that_count_a_frame_differently_and_ends_that_say_nothing_agree() {
    for max_frame in [1_514, 1_518, 1_530] {
        assert_eq!(found(&Message { max_frame: Some(max_frame), ..theirs() }), []);
    }
    assert_eq!(found(&Message::default()), []);
    let mut ets = ours().ets.unwrap();
    // Two strict classes, one behind the other.
    (ets.classes[1], ets.bandwidths[7]) = (2, 9);
    assert_eq!(found(&Message { ets: Some(ets), ..theirs() }), []);
}

#[test]
fn a_neighbour_with_our_chassis_is_a_mismatch_whatever_its_port() {
    let twin = Message { port: Id::of_port("another"), ..ours() };
    assert_eq!(found(&twin), [("same_chassis", "chassis 02:00:00:00:00:01 here and there".to_owned())]);
}

#[test]
fn a_neighbour_that_speaks_only_the_older_form_of_dcbx_is_a_mismatch() {
    let older = Message { pfc: None, cee: true, ..theirs() };
    let expected = "IEEE here, CEE there: set it to IEEE, since its PFC is unknown";
    assert_eq!(found(&older), [("cee", expected.to_owned())]);
    assert_eq!(found(&Message { cee: true, ..theirs() }), [], "it speaks both");
    let without = Message { pfc: None, ..ours() };
    assert_eq!(Mismatches::between(&without, &older), Mismatches::default(), "this end speaks neither");
}

#[test]
fn each_neighbour_that_speaks_dcbx_beside_another_has_the_mismatch_of_several() {
    let mut bench = Bench::new();
    bench.hear(&message("a", 120));
    bench.hear(&Message { pfc: None, ..message("b", 120) });
    bench.hear(&message("c", 120));
    let all = bench.report().neighbours;
    let has = |it: &Neighbour| Mismatches::with(&ours(), it, &all).contains(Mismatch::SeveralNeighbours);
    assert_eq!(all.iter().map(has).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn several_neighbours_that_speak_dcbx_are_a_mismatch_and_one_beside_another_agent_is_not() {
    let mut bench = Bench::new();
    bench.hear(&message("a", 120));
    bench.hear(&Message { pfc: None, ..message("b", 120) });
    let among = |bench: &Bench| Mismatches::among(&ours(), &bench.report().neighbours);
    assert_eq!(among(&bench), Mismatches::default());
    assert!(bench.report().neighbours.only().is_none());
    bench.hear(&message("b", 120));
    assert!(among(&bench).contains(Mismatch::SeveralNeighbours));
    assert_eq!(among(&bench).iter().count(), 1);
}

proptest! {
    /// Whatever neighbours do, no two announcements leave within a second, and none is later than an interval.
    #[test]
    fn announcements_keep_their_distance(
        steps in proptest::collection::vec((0..3_000_u64, 0..6_u8, 0..3_u16), 1..200),
    ) {
        let mut bench = Bench::new();
        let mut last: Option<Nanos> = None;
        for (millis, name, ttl) in steps {
            bench.now += Interval::from_millis(millis);
            bench.hear(&message(&name.to_string(), ttl));
            if bench.agent.message(bench.now).is_some() {
                if let Some(last) = last {
                    prop_assert!(bench.now.since(last) >= SECOND);
                }
                bench.agent.sent(bench.now);
                last = Some(bench.now);
            }
            prop_assert!(bench.agent.frame_due() <= bench.now + settings().interval);
        }
    }
}
