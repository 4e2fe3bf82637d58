//! Tests of the agent with announcements of made-up neighbours.

use super::*;
use std::sync::Arc;
use switch::Shard;
use units::{Interval, Nanos};
use wire::ethernet::MacAddress;
use wire::lldp::{Id, LONGEST_EMITTED, Message, Pfc};

const LH: PortId = PortId(0);
const THERE: MacAddress = MacAddress([2, 0, 0, 0, 9, 9]);
const SECOND: Duration = Duration::from_secs(1);

fn gateway(lldp: &str) -> Gateway {
    gateway_with(lldp, "3, 4")
}

/// The same, with these lossless priorities.
fn gateway_with(lldp: &str, lossless: &str) -> Gateway {
    let text = format!(
        "[buffer]\nshared = \"8MiB\"\n[control]\nrepeat = \"60s\"\n[[port]]\nname = \"lh0\"\nrate = \"10G\"\n\
         distance = \"1km\"\nlossless = [{{ priorities = [{lossless}] }}]\n[port.lldp]\n{lldp}\n\
         [[port]]\nname = \"dc0\"\nrate = \"10G\"\n"
    );
    config::parse(&text, "gw.toml").unwrap()
}

/// PFC for the priorities whose bits are set.
fn pfc(bits: u8) -> Pfc {
    Pfc { capability: 8, enabled: PrioritySet::from_bits(bits), ..Pfc::default() }
}

/// The report of each port after these neighbours announced their PFC at lh0.
fn heard(gateway: &Gateway, neighbours: &[(&str, Pfc)]) -> Vec<Option<LinkAgentReport>> {
    let message = |(port, pfc): &(&str, Pfc)| {
        let (chassis, port) = (Id::of_chassis(THERE), Id::of_port(port));
        Message { chassis, port, ttl_seconds: 120, pfc: Some(*pfc), ..Message::default() }
    };
    heard_of(gateway, &neighbours.iter().map(message).collect::<Vec<_>>())
}

/// The same after these announcements.
fn heard_of(gateway: &Gateway, messages: &[Message]) -> Vec<Option<LinkAgentReport>> {
    let (mut shard, now) = (Shard::single(Arc::clone(&gateway.program)), Nanos(1) + Interval::from_secs(9));
    for message in messages {
        let mut bytes = vec![0; LONGEST_EMITTED];
        let length = message.emit(THERE, &mut bytes).unwrap();
        bytes.truncate(length);
        shard.ingress(now, LH, &mut vec![bytes], &mut ());
    }
    vec![shard.link_agent(now, LH), None]
}

/// Agents, and the time of their looks.
struct Looks {
    agents: LinkAgents,
    configured: Gateway,
    began: Instant,
    seconds: u32,
}

impl Looks {
    fn new(lldp: &str) -> Self {
        Self { agents: LinkAgents::new(2), configured: gateway(lldp), began: Instant::now(), seconds: 0 }
    }

    /// Looks each second for `seconds`, and returns how often the PFC changed.
    fn look(&mut self, neighbours: &[(&str, Pfc)], seconds: u32) -> u32 {
        let heard = heard(&self.configured, neighbours);
        let changes = (0..seconds).filter(|_| {
            self.seconds += 1;
            self.agents.see(&heard, &self.configured, self.began + SECOND * self.seconds)
        });
        changes.count() as u32
    }

    fn enabled(&self) -> u8 {
        self.agents.apply(&self.configured).program.port(LH).lossless().bits()
    }

    fn report(&self) -> NegotiatedReport {
        let gateway = self.agents.apply(&self.configured);
        self.agents.reports(&self.configured, &gateway)[0].clone().unwrap()
    }
}

#[test]
fn a_listed_priority_is_turned_off_after_a_while_and_on_again() {
    let mut looks = Looks::new("willing = [4]");
    assert_eq!((looks.look(&[("a", pfc(0b1000))], 5), looks.enabled()), (0, 0b1_1000));
    assert_eq!((looks.look(&[("a", pfc(0b1000))], 60), looks.enabled()), (1, 0b1000));
    let (enabled, configured) = (vec![3], vec![3, 4]);
    let report = NegotiatedReport { enabled, configured, applied: 1, refused: 0, refusal: None };
    assert_eq!(looks.report(), report);
    assert_eq!((looks.look(&[("a", pfc(0b1_1000))], 60), looks.enabled()), (1, 0b1_1000));
    looks.look(&[("a", pfc(0b1000))], 60);
    assert_eq!((looks.look(&[], 60), looks.enabled()), (1, 0b1_1000), "without a neighbour the file holds");
}

#[test]
fn a_priority_that_is_turned_off_or_on_again_is_told_once_with_the_neighbour_that_asks() {
    let mut looks = Looks::new("willing = [4]");
    let told = |looks: &mut Looks| {
        let gateway = looks.agents.apply(&looks.configured);
        looks.agents.tell_negotiated(&looks.configured, &gateway)
    };
    assert_eq!(told(&mut looks), []);
    looks.look(&[("a", pfc(0b1000))], 60);
    let (configured, neighbour) = (vec![3, 4], Some("02:00:00:00:09:09 (port a)".to_owned()));
    let off = What::Negotiated { enabled: vec![3], configured: configured.clone(), neighbour };
    assert_eq!((told(&mut looks), told(&mut looks)), (vec![(LH, off)], vec![]));
    looks.look(&[], 60);
    let on = What::Negotiated { enabled: vec![3, 4], configured, neighbour: None };
    assert_eq!((told(&mut looks), told(&mut looks)), (vec![(LH, on)], vec![]));
}

#[test]
fn a_reload_that_makes_a_priority_lossy_is_no_negotiation() {
    let mut looks = Looks::new("willing = [4]");
    looks.look(&[("a", pfc(0b1000))], 60);
    let gateway = looks.agents.apply(&looks.configured);
    assert_eq!(looks.agents.tell_negotiated(&looks.configured, &gateway).len(), 1);
    let reloaded = gateway_with("willing = [3]", "3");
    assert_eq!(looks.agents.tell_negotiated(&reloaded, &reloaded), []);
}

#[test]
fn a_line_says_which_priorities_are_off_and_which_are_left() {
    let of = PrioritySet::from_bits;
    assert_eq!(
        negotiated(of(0b1_0000), of(0b1000), Some("host7 (port b)")),
        "PFC is off for priority 4 (lossy now) and on for 3: the neighbour host7 (port b) asks for that, and \
         port.lldp.willing allows it"
    );
    let all = negotiated(of(0b1_1000), of(0), None);
    assert!(
        all.starts_with("PFC is off for priorities 3, 4 (lossy now) and on for none: the neighbour "),
        "{all}"
    );
    assert_eq!(negotiated(of(0), of(0b1_1000), None), "PFC is on again for priorities 3, 4, as in the file");
}

#[test]
fn nothing_is_applied_where_the_file_lists_nothing() {
    let mut looks = Looks::new("");
    assert_eq!((looks.look(&[("a", pfc(0))], 100), looks.enabled()), (0, 0b1_1000));
    assert_eq!(looks.agents.reports(&looks.configured, &looks.configured), [None, None]);
}

#[test]
fn what_the_file_does_not_allow_is_refused_with_its_reason_and_what_is_in_force_stays() {
    let mut looks = Looks::new("willing = [4]");
    looks.look(&[("a", pfc(0b1000))], 60);
    for (asked, reason) in [
        (0b10_1000, "the file reserves no memory for lossless priority 5"),
        (0b1_0000, "port.lldp.willing does not list lossless priority 3"),
        (0b1110_0001, "the file reserves no memory for lossless priority 0, 5, 6, 7"),
        (0, "port.lldp.willing does not list lossless priority 3"),
    ] {
        assert_eq!((looks.look(&[("a", pfc(asked))], 60), looks.enabled()), (0, 0b1000), "{asked:b}");
        assert_eq!(looks.report().refusal.as_deref(), Some(reason));
    }
    let two = [("a", pfc(0b1_1000)), ("b", pfc(0b1_1000))];
    assert_eq!((looks.look(&two, 60), looks.enabled()), (0, 0b1000));
    assert_eq!(looks.report().refusal.as_deref(), Some("several neighbours speak DCBX"));
    assert_eq!(looks.report().refused, 5);
}

#[test]
fn a_neighbour_that_changes_its_mind_all_the_time_changes_nothing() {
    let mut looks = Looks::new("willing = [4]");
    let changes: u32 = (0..300).map(|at| looks.look(&[("a", pfc(0b1000 << (at % 2)))], 4)).sum();
    assert_eq!((changes, looks.enabled(), looks.report().refused), (0, 0b1_1000, 0));
}

#[test]
fn a_neighbour_that_changes_its_mind_slowly_changes_the_port_every_half_minute_at_most() {
    let mut looks = Looks::new("willing = [4]");
    let changes: u32 = (0..100).map(|at| looks.look(&[("a", pfc([0b1000, 0b1_1000][at % 2]))], 6)).sum();
    assert!((1..=20).contains(&changes), "{changes} changes in 600 seconds");
}

#[test]
fn of_two_willing_ends_the_one_with_the_lower_address_is_followed() {
    let willing = |bits| Pfc { willing: true, ..pfc(bits) };
    let mut looks = Looks::new("willing = [4]");
    assert_eq!(looks.look(&[("a", willing(0b1000))], 60), 0, "02:00:00:00:00:01 is the lower one");
    let text = "[buffer]\nshared = \"8MiB\"\n[[port]]\nname = \"lh0\"\nrate = \"10G\"\nmac = \"02:00:00:00:ff:01\"\n\
                distance = \"1km\"\nlossless = [{ priorities = [3, 4] }]\n[port.lldp]\nwilling = [4]\n\
                [[port]]\nname = \"dc0\"\nrate = \"10G\"\n";
    looks.configured = config::parse(text, "gw.toml").unwrap();
    assert_eq!((looks.look(&[("a", willing(0b1000))], 60), looks.enabled()), (1, 0b1000));
}

#[test]
fn of_two_willing_ends_with_one_address_neither_follows_the_other() {
    let mut looks = Looks::new("willing = [4]");
    let text = "[buffer]\nshared = \"8MiB\"\n[[port]]\nname = \"lh0\"\nrate = \"10G\"\nmac = \"02:00:00:00:09:09\"\n\
                distance = \"1km\"\nlossless = [{ priorities = [3, 4] }]\n[port.lldp]\nwilling = [4]\n\
                [[port]]\nname = \"dc0\"\nrate = \"10G\"\n";
    looks.configured = config::parse(text, "gw.toml").unwrap();
    assert_eq!(looks.configured.program.port(LH).mac, THERE);
    let willing = Pfc { willing: true, ..pfc(0b1000) };
    assert_eq!((looks.look(&[("a", willing)], 60), looks.enabled()), (0, 0b1_1000));
}

#[test]
fn a_file_that_no_longer_lists_a_priority_ends_what_was_negotiated() {
    let mut looks = Looks::new("willing = [4]");
    looks.look(&[("a", pfc(0b1000))], 60);
    assert_eq!(looks.enabled(), 0b1000);
    looks.configured = gateway("willing = [3]");
    assert_eq!(looks.enabled(), 0b1_1000);
}

#[test]
fn a_difference_is_told_at_once_and_again_after_the_time_that_the_file_states() {
    let mut looks = Looks::new("");
    let heard = heard(&looks.configured, &[("a", pfc(0b1000))]);
    let told = |looks: &mut Looks, seconds| {
        let now = looks.began + SECOND * seconds;
        looks.agents.tell(&heard, &looks.configured, now);
        looks.agents.ports[LH.index()].told.is_some_and(|(_, at)| at == now)
    };
    assert_eq!(
        [0, 1, 59, 60, 61, 119, 120].map(|at| told(&mut looks, at)),
        [true, false, false, true, false, false, true]
    );
    let report = heard[0].unwrap();
    let agent = looks.configured.program.port(LH).link_agent.clone().unwrap();
    let found = Mismatches::among(&agent.message, &report.neighbours);
    let expected = "the neighbour 02:00:00:00:09:09 (port a) differs (pfc_priorities): \
                    PFC for priorities 3, 4 here, for priority 3 there";
    assert_eq!(differences(found, &report, &looks.configured, LH), [expected]);
}

#[test]
fn the_end_of_one_difference_is_told_while_another_lasts() {
    let mut looks = Looks::new("");
    let (several, one, none) = (
        heard(&looks.configured, &[("a", pfc(0b1000)), ("b", pfc(0b1000))]),
        heard(&looks.configured, &[("a", pfc(0b1000))]),
        heard(&looks.configured, &[("a", pfc(0b1_1000))]),
    );
    let ours = looks.configured.program.port(LH).link_agent.clone().unwrap().message;
    let mut over = |heard: &[Option<LinkAgentReport>], seconds| {
        let (it, found) =
            (&mut looks.agents.ports[0], Mismatches::among(&ours, &heard[0].unwrap().neighbours));
        let over = it.note_if_due(found, SECOND * 60, looks.began + SECOND * seconds)?;
        Some(no_longer(over, found))
    };
    assert_eq!(over(&several, 0), Some(vec![]));
    assert_eq!(over(&one, 9), None, "not within ten seconds");
    let told = |line: &str| Some(vec![line.to_owned()]);
    assert_eq!(over(&one, 10), told("no more than one neighbour speaks DCBX now"));
    assert_eq!(over(&one, 70), Some(vec![]), "what lasts is told again, and what has ended is not");
    assert_eq!(over(&none, 80), told("the two ends of the link no longer differ"));
}

#[test]
fn the_end_of_each_kind_of_mismatch_is_told_in_words_that_are_true_of_it() {
    let ours = gateway("").program.port(LH).link_agent.clone().unwrap().message;
    let other = Message { chassis: Id::of_chassis(THERE), ..ours };
    let between = |theirs: &Message| Mismatches::between(&ours, theirs);
    let (frames, twin) = (between(&Message { max_frame: Some(9_216), ..other }), between(&ours));
    let twin_with_frames = between(&Message { max_frame: Some(9_216), ..ours });
    let (none, same) = (Mismatches::default(), "no neighbour has the identity of this gateway any more");
    let differ = "the two ends of the link no longer differ";
    assert_eq!(no_longer(twin, none), [same]);
    assert_eq!(no_longer(twin, frames), [same]);
    assert_eq!(no_longer(frames, twin), [differ]);
    assert_eq!(no_longer(twin_with_frames, none), [differ, same]);
    let both = between(&Message { max_frame: Some(9_216), pfc: Some(pfc(0b1000)), ..other });
    assert_eq!(no_longer(both.without(frames), frames), [format!("{differ} in pfc_priorities")]);
    assert_eq!(no_longer(none, frames), [""; 0]);
}

#[test]
fn a_neighbour_with_the_chassis_of_this_gateway_is_told_as_such() {
    let gateway = gateway("");
    let ours = gateway.program.port(LH).link_agent.clone().unwrap().message;
    let message = Message { port: Id::of_port("a"), ttl_seconds: 120, ..ours };
    let twin = heard_of(&gateway, &[message])[0].unwrap();
    let found = Mismatches::among(&ours, &twin.neighbours);
    assert_eq!(
        differences(found, &twin, &gateway, LH),
        ["the neighbour gw (port a) has the identity of this gateway (same_chassis): \
          chassis 02:00:00:00:00:01 here and there"]
    );
}

#[test]
fn several_neighbours_are_told_in_a_line_about_none_of_them() {
    let gateway = gateway("");
    let heard = heard(&gateway, &[("a", pfc(0b1_1000)), ("b", pfc(0b1_1000))])[0].unwrap();
    let ours = gateway.program.port(LH).link_agent.clone().unwrap().message;
    let found = Mismatches::among(&ours, &heard.neighbours);
    assert_eq!(
        differences(found, &heard, &gateway, LH),
        ["several neighbours speak DCBX (several_neighbours)"]
    );
}

#[test]
fn a_flapping_difference_fills_no_log() {
    let mut looks = Looks::new("");
    let both = [pfc(0b1000), pfc(0b1_1000)].map(|it| heard(&looks.configured, &[("a", it)]));
    let mut lines = 0;
    for second in 0..1_000 {
        let now = looks.began + SECOND * second;
        looks.agents.tell(&both[second as usize % 2], &looks.configured, now);
        lines += u32::from(looks.agents.ports[LH.index()].told.is_some_and(|(_, at)| at == now));
    }
    assert!(lines <= 100, "{lines} lines in 1,000 seconds");
}

#[test]
fn ports_are_looked_at_now_and_then_and_never_without_a_link_agent() {
    let (mut agents, now) = (LinkAgents::new(2), Instant::now());
    let ports = ["a", "b"].map(|name| format!("[[port]]\nname = \"{name}\"\nrate = \"10G\"\n"));
    let without = config::parse(&ports.concat(), "gw.toml").unwrap();
    assert!(!agents.is_due(&without, now));
    let looks = [0, 499, 500].map(|after| agents.is_due(&gateway(""), now + Duration::from_millis(after)));
    assert_eq!(looks, [true, false, true]);
}
