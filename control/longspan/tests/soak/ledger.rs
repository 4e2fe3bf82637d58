//! The counters of the gateways, and their consistency.

use crate::configuration::{LOSSLESS, OTHER_LOSSLESS};
use crate::gateways::{FAR, LATENESS, NAMES, NEAR, Pair};
use crate::load::{Carried, FLOOD};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The two sides of a port at which frames are dropped, by the names in the report, and the paths of their drops.
const SIDES: [(&str, &str); 2] = [("dropped_at_ingress", "ingress"), ("dropped_at_egress", "egress")];

/// Counters of a device that stay at zero: such losses happen unseen by the switch.
const LOST_AT_DEVICE: [&str; 5] = ["missed", "no_mbuf", "receive_errors", "unsendable", "drained"];

/// Drops that the traffic of a round explains. Any other is a failure.
struct Explained {
    gateway: usize,
    port: &'static str,
    side: &'static str,
    reasons: &'static [&'static str],
    because: &'static str,
}

const EXPLAINED: [Explained; 9] = [
    Explained {
        gateway: NEAR,
        port: "dc5",
        side: "dropped_at_ingress",
        reasons: &[
            "runt",
            "invalid_source",
            "link_local",
            "malformed_control",
            "foreign_feedback",
            "same_port",
        ],
        because: "the forger sends what does not hold, or ends at the next hop",
    },
    Explained {
        gateway: FAR,
        port: "dc4",
        side: "dropped_at_egress",
        reasons: &["queue_threshold", "egress_pool_full"],
        because: "the flood brings more than the link of the flooded host carries",
    },
    deep_ring(NEAR, "dc1"),
    deep_ring(NEAR, "dc2"),
    deep_ring(NEAR, "dc5"),
    deep_ring(NEAR, "lh0"),
    deep_ring(FAR, "lh0"),
    deep_ring(FAR, "dc3"),
    deep_ring(FAR, "dc4"),
];

/// Lossless frames of such a port arrive nevertheless: their receivers count them.
const fn deep_ring(gateway: usize, port: &'static str) -> Explained {
    Explained {
        gateway,
        port,
        side: "dropped_at_ingress",
        reasons: &["receive_ring"],
        because: "after a late turn, best-effort frames make room for lossless ones",
    }
}

/// Where the flood can be dropped: gateway, port, side.
const WAY_OF_THE_FLOOD: [(usize, &str, &str); 4] =
    [(NEAR, "dc2", "ingress"), (NEAR, "lh0", "egress"), (FAR, "lh0", "ingress"), (FAR, "dc4", "egress")];

/// A kind of drop: gateway, port, side, reason.
type Drop = (usize, String, &'static str, String);

/// Frames by kind of drop.
#[derive(Clone, Default)]
pub struct Drops(BTreeMap<Drop, u64>);

impl Drops {
    pub fn add(&mut self, others: &Self) {
        for (drop, frames) in &others.0 {
            *self.0.entry(drop.clone()).or_default() += frames;
        }
    }

    /// The drops since `before`.
    fn since(&self, before: &Self) -> Self {
        let grown =
            self.0.iter().map(|(drop, frames)| (drop.clone(), frames - before.0.get(drop).unwrap_or(&0)));
        Self(grown.filter(|(_, frames)| *frames > 0).collect())
    }

    fn unexplained(&self) -> Self {
        let is_not = |(drop, _): &(&Drop, &u64)| explanation(drop).is_none();
        Self(self.0.iter().filter(is_not).map(|(drop, frames)| (drop.clone(), *frames)).collect())
    }

    /// Each kind of drop on a line, with its explanation.
    pub fn print_explained(&self) {
        for (drop @ (gateway, port, side, reason), frames) in &self.0 {
            let because = explanation(drop).unwrap_or("NOT EXPLAINED");
            println!("    {:4} {port} {side} {reason}: {frames}: {because}", NAMES[*gateway]);
        }
    }
}

impl fmt::Display for Drops {
    /// Sums by name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sums = BTreeMap::<&str, u64>::new();
        for ((_, _, _, reason), frames) in &self.0 {
            *sums.entry(reason).or_default() += frames;
        }
        let words: Vec<_> = sums.iter().map(|(reason, frames)| format!("{reason} {frames}")).collect();
        f.write_str(&if words.is_empty() { "none".to_owned() } else { words.join(", ") })
    }
}

fn explanation((gateway, port, side, reason): &Drop) -> Option<&'static str> {
    let explains = |it: &&Explained| {
        (it.gateway, it.port, it.side) == (*gateway, port, side) && it.reasons.contains(&reason.as_str())
    };
    EXPLAINED.iter().find(explains).map(|it| it.because)
}

/// The counters of both gateways at an instant at which nothing is inside.
pub struct Ledger([Value; 2]);

impl Ledger {
    /// Reads both. Fails while anything is inside: frames in a queue, on the emulated link or in a pool, or a frame not
    /// yet accounted for.
    pub fn at_rest(pair: &Pair) -> Result<Self, String> {
        let ledger = Self([NEAR, FAR].map(|side| pair.gateway(side).show()));
        // The gateways are read one after the other, so frames that cross the link meanwhile are counted only once.
        let again = Self([pair.gateway(NEAR).show(), ledger.0[FAR].clone()]);
        if again.of_the_link(NEAR) != ledger.of_the_link(NEAR) {
            return Err("frames cross the link".to_owned());
        }
        for (shown, name) in ledger.0.iter().zip(NAMES) {
            what_is_inside(shown).map_or(Ok(()), |what| Err(format!("{name}: {what}")))?;
        }
        Ok(ledger)
    }

    pub fn mbufs_in_use(&self) -> [u64; 2] {
        self.0.each_ref().map(|shown| number(&shown["memory"]["mbufs_in_use"]))
    }

    /// The maximum lateness of the workers of both gateways since their start.
    pub fn worst_lateness_ns(&self) -> u64 {
        let workers = self.0.iter().flat_map(|shown| items(&shown["workers"]));
        workers.map(|worker| number(&worker["lateness"]["max_ns"])).max().expect("there are workers")
    }

    /// If a machine suspends a worker for longer than the bounds cover, frames are lost, and the result says nothing
    /// about the gateways.
    pub fn check_lateness(&self) {
        let worst = Duration::from_nanos(self.worst_lateness_ns());
        assert!(
            worst <= LATENESS,
            "a worker was {worst:?} late, and bounds are for {LATENESS:?}: too busy a machine"
        );
    }

    fn drops(&self) -> Drops {
        let mut drops = Drops::default();
        for (side, shown) in self.0.iter().enumerate() {
            for port in items(&shown["ports"]) {
                for (key, _) in SIDES {
                    for (reason, of) in port[key].as_object().expect("drops are by reason") {
                        let name = port["name"].as_str().expect("a port has a name").to_owned();
                        *drops.0.entry((side, name, key, reason.clone())).or_default() +=
                            number(&of["frames"]);
                    }
                }
            }
        }
        drops
    }

    /// Frames of one priority that were dropped at one side of a port, for any reason.
    fn dropped(&self, gateway: usize, port: &str, side: &str, priority: u8) -> u64 {
        let port = crate::lab::port(&self.0[gateway], port);
        let dropped = &port["priorities"][usize::from(priority)][side]["dropped"];
        dropped.as_object().expect("drops are by reason").values().map(|of| number(&of["frames"])).sum()
    }

    /// Frames that one end gave to the long link, and that the other end received from it.
    fn of_the_link(&self, gateway: usize) -> [u64; 2] {
        let port = crate::lab::port(&self.0[gateway], "lh0");
        let frames = |what: &str| number(&port[what]["frames"]);
        [frames("out") + frames("control_out"), frames("in")]
    }

    /// Asserts the invariants of a round without a kill. Returns its drops, all of which are explained.
    pub fn check_since(&self, before: &Self, carried: &Carried) -> Drops {
        let drops = self.check_drops(before, &[NEAR, FAR]);
        for (from, to) in [(NEAR, FAR), (FAR, NEAR)] {
            let sent = self.of_the_link(from)[0] - before.of_the_link(from)[0];
            let received = self.of_the_link(to)[1] - before.of_the_link(to)[1];
            assert_eq!(sent, received, "frames on the long link from {} to {}", NAMES[from], NAMES[to]);
        }
        let dropped: u64 = WAY_OF_THE_FLOOD
            .iter()
            .map(|(gateway, port, side)| {
                let dropped = |ledger: &Self| ledger.dropped(*gateway, port, side, FLOOD.1);
                dropped(self) - dropped(before)
            })
            .sum();
        let Carried { flood_sent, flood_received, .. } = carried;
        assert_eq!(*flood_sent, flood_received + dropped, "the flood: sent = received + dropped by name");
        drops
    }

    /// Asserts that these gateways dropped no lossless frame, and no other frame without an explained reason.
    pub fn check_drops(&self, before: &Self, gateways: &[usize]) -> Drops {
        let mut drops = self.drops().since(&before.drops());
        drops.0.retain(|(gateway, ..), _| gateways.contains(gateway));
        let unexplained = drops.unexplained();
        if !unexplained.0.is_empty() {
            unexplained.print_explained();
            panic!("the traffic does not explain these drops: {unexplained}");
        }
        for gateway in gateways {
            for port in items(&self.0[*gateway]["ports"]) {
                self.expect_lossless(*gateway, port);
            }
        }
        drops
    }

    /// Asserts that no lossless frame was dropped, and that the device lost nothing unseen. Frames may still wait.
    fn expect_lossless(&self, gateway: usize, port: &Value) {
        let name = port["name"].as_str().expect("a port has a name");
        for (_, priority) in [LOSSLESS, OTHER_LOSSLESS] {
            let dropped = self.dropped(gateway, name, "egress", priority);
            assert_eq!(dropped, 0, "{} {name}: lossless frames dropped", NAMES[gateway]);
        }
        for result in ["lost", "overflowed"] {
            let lost = port["emulation"][result].as_u64().unwrap_or(0);
            assert_eq!(lost, 0, "{} {name}: {result} on the emulated link", NAMES[gateway]);
        }
        for counter in LOST_AT_DEVICE {
            let lost = number(&port["counters"][counter]);
            assert_eq!(lost, 0, "{} {name}: {counter}", NAMES[gateway]);
        }
    }
}

/// The frames that a gateway still holds, if any.
fn what_is_inside(shown: &Value) -> Option<String> {
    let mut unaccounted = 0_i128;
    for port in items(&shown["ports"]) {
        let name = &port["name"];
        let in_flight = port["emulation"]["in_flight"].as_u64().unwrap_or(0);
        if in_flight > 0 {
            return Some(format!("{in_flight} frames on the link of {name}"));
        }
        for (priority, level) in items(&port["priorities"]).iter().zip(items(&port["levels"])) {
            let [queued, held] =
                [&priority["egress"]["queued"]["frames"], &priority["ingress"]["occupancy_bytes"]];
            let headroom = number(&level["headroom_bytes"]);
            if number(queued) + number(held) + headroom > 0 {
                let number = &priority["priority"];
                return Some(format!(
                    "{queued} frames queued, {held} bytes held and {headroom} in the headroom of {name} {number}"
                ));
            }
            unaccounted += sum(&priority["ingress"]["copies"]) + sum(&priority["ingress"]["answers"]);
        }
        unaccounted += sum(&port["in"]);
        for kind in ["out", "consumed", "dropped_at_ingress", "dropped_at_egress"] {
            unaccounted -= sum(&port[kind]);
        }
    }
    for (pool, level) in shown["pools"].as_object().expect("pools are by name") {
        if number(&level["held_bytes"]) > 0 {
            return Some(format!("the pool {pool} holds {}", level["held_bytes"]));
        }
    }
    (unaccounted != 0).then(|| format!("{unaccounted} frames are not accounted for"))
}

/// The frames of a count, or of all counts in a map.
fn sum(value: &Value) -> i128 {
    match value["frames"].as_u64() {
        Some(frames) => i128::from(frames),
        None => value.as_object().into_iter().flat_map(|map| map.values()).map(sum).sum(),
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
