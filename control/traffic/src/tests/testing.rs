//! A small scenario, and two players with a wire between them.

use crate::{HostPlan, Player, PlayerSettings};
use config::scenario::{Scenario, ScenarioFile};
use std::collections::{BTreeMap, VecDeque};
use units::{Interval, Nanos};

/// Two flows from each host on the left to one on the right.
pub const PAIRS: &str = r#"
[[traffic]]
group = "pairs"
pattern = "pairs"
sources = ["left*"]
destinations = ["right*"]
size = "100kB"
every = "1ms"
times = 2
"#;

/// A dumbbell of two hosts on either side.
pub fn scenario(traffic: &str) -> Scenario {
    let text = format!(
        "[scenario]\nuntil = \"5ms\"\n[topology]\ntemplate = \"dumbbell\"\nleft = 2\nrate = \"10G\"\n{traffic}"
    );
    ScenarioFile::parse(&text, "play").unwrap().build(&[]).unwrap()
}

/// How long a frame takes.
pub const DELAY: Interval = Interval::from_micros(10);

/// The fate of a frame on the wire: what arrives.
pub type Wire = Box<dyn FnMut(&[u8]) -> Option<Vec<u8>>>;

/// Two players on one wire, in virtual time.
pub struct Bench {
    pub players: [Player; 2],
    pub now: Nanos,
    pub wire: Wire,
    /// The frames that each of them has sent.
    pub sent: [Vec<(Nanos, Vec<u8>)>; 2],
    on_wire: [VecDeque<(Nanos, Vec<u8>)>; 2],
}

impl Bench {
    pub fn new(scenario: &Scenario, names: [&str; 2], pfc_delay: Interval) -> Self {
        Self::planned_apart([scenario, scenario], names, pfc_delay)
    }

    /// Two players that were planned on two machines, each with its scenario.
    pub fn planned_apart(scenarios: [&Scenario; 2], names: [&str; 2], pfc_delay: Interval) -> Self {
        let begin = Nanos(1_000_000);
        let players = [0, 1].map(|number| {
            let plan = HostPlan::new(scenarios[number], &[names[number].to_owned()]).unwrap();
            let settings = PlayerSettings { stations: plan.stations, router: None, pfc_delay };
            Player::new(&plan.parts[0], settings, begin)
        });
        let wire: Wire = Box::new(|frame| Some(frame.to_vec()));
        Self { players, now: begin, wire, sent: Default::default(), on_wire: Default::default() }
    }

    /// Puts a frame on the wire to a player, as its neighbour would.
    pub fn give(&mut self, to: usize, frame: Vec<u8>) {
        self.on_wire[1 - to].push_back((self.now + DELAY, frame));
    }

    /// Lets time pass until `until`, or until nothing is due any more.
    pub fn run(&mut self, until: Nanos) {
        loop {
            for from in 0..2 {
                while let Some((_, frame)) = self.on_wire[from].pop_front_if(|(at, _)| *at <= self.now) {
                    self.players[1 - from].arrive(self.now, &frame);
                }
            }
            for from in 0..2 {
                let (sent, on_wire, wire) = (&mut self.sent[from], &mut self.on_wire[from], &mut self.wire);
                let now = self.now;
                self.players[from].send(now, &mut |frame: &[u8]| {
                    sent.push((now, frame.to_vec()));
                    on_wire.extend(wire(frame).map(|frame| (now + DELAY, frame)));
                });
            }
            let arrivals = self.on_wire.iter().filter_map(|it| it.front()).map(|(at, _)| *at);
            let due = self.players.iter().map(Player::next_deadline).chain(arrivals).min();
            match due.filter(|due| *due <= until) {
                Some(due) => self.now = due.max(self.now),
                None => return,
            }
        }
    }

    /// The figures of the only group of a player.
    pub fn flows(&self, player: usize) -> crate::FlowsReport {
        let groups: BTreeMap<_, _> = self.players[player].report(&["pairs".into()]).groups;
        groups["pairs"].clone()
    }
}
