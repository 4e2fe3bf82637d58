//! Rounds until the time is over, and their totals.

use crate::disturbances::{Forger, flap, kill, reload, slow_lane};
use crate::gateways::{FAR, NAMES, NEAR, Pair, Scheme, Setting};
use crate::lab::{Lab, wait_until};
use crate::ledger::{Drops, Ledger};
use crate::load::Load;
use crate::watch::Watch;
use std::time::{Duration, Instant};

/// The far gateway is killed after the round with this number in every four.
const ROUNDS_PER_KILL: u64 = 4;
const KILLED_AFTER: u64 = 2;

/// One lane of each gateway runs at half speed in the first of so many rounds.
const ROUNDS_PER_SLOW_LANE: u64 = 4;

/// How much the resident memory of a gateway may grow after its first round, in KiB: pages that are touched for the
/// first time, and memory that the allocator keeps for readers and reloads. Buffers and tables do not grow.
const GROWTH_KIB: u64 = 2_048;

/// The totals of all rounds.
#[derive(Default)]
struct Sums {
    rounds: u64,
    reloads: u64,
    flaps: u64,
    slow_lanes: u64,
    kills: u64,
    lossless: u64,
    flood_sent: u64,
    flood_received: u64,
    malformed: u64,
    scraped: u64,
    shown: u64,
    /// Frames of the loads under which a gateway was killed, and those lost with it.
    sacrificed: (u64, u64),
    drops: Drops,
}

/// The resident memory of a process, in KiB.
#[derive(Clone, Copy)]
struct Memory {
    first: u64,
    /// After the last rounds, latest last.
    latest: [u64; 3],
}

struct Soak {
    watch: Watch,
    pair: Pair,
    /// Mbufs in use while nothing is inside.
    idle_mbufs: [u64; 2],
    /// `None` until a gateway has completed a round.
    memory: [Option<Memory>; 2],
    /// The totals of this pair.
    rounds: u64,
    kills: u64,
    sums: Sums,
    /// Last, so that it is dropped last.
    lab: Lab,
}

/// Soaks gateways with so many `lanes` for `time`, plus the rest of the last rounds: a third for each scheme, each with a
/// separate pair of gateways. Panics if any check fails.
pub fn run(time: Duration, lanes: usize) {
    let start = Instant::now();
    let parts = Scheme::ALL.len() as u32;
    let mut sums = Sums::default();
    for (scheme, part) in Scheme::ALL.into_iter().zip(1..) {
        let mut soak = Soak::start(Setting { scheme, lanes }, sums);
        loop {
            soak.round();
            if start.elapsed() >= time / parts * part {
                break;
            }
        }
        sums = soak.end();
    }
    sums.print(start.elapsed());
}

impl Soak {
    fn start(setting: Setting, sums: Sums) -> Self {
        let lab = Lab::new();
        let pair = Pair::start(&lab, setting);
        let watch = Watch::start(&lab, &pair);
        let idle_mbufs = at_rest(&pair).mbufs_in_use();
        Self { watch, pair, idle_mbufs, memory: [None; 2], rounds: 0, kills: 0, sums, lab }
    }

    fn round(&mut self) {
        self.sums.rounds += 1;
        self.rounds += 1;
        let round = self.sums.rounds;
        self.pair.learn();
        let before = self.settled();

        let mut load = Load::put_on(&self.lab, &self.pair.hosts);
        let forger = Forger::start(&self.lab, &self.pair, round);
        self.sums.reloads += reload(&self.pair, &mut load);
        flap(&self.lab, &self.pair, &mut load);
        self.sums.flaps += 1;
        if self.pair.setting.lanes > 1 && self.rounds % ROUNDS_PER_SLOW_LANE == 1 {
            slow_lane(&self.lab, &mut load);
            self.sums.slow_lanes += 1;
        }
        let malformed = forger.finished();
        let carried = load.take_off(|| {
            let ledger = self.settled();
            ledger.check_lateness();
            ledger.check_drops(&before, &[NEAR, FAR]);
        });
        let after = self.settled();
        let drops = after.check_since(&before, &carried);
        self.check_memory();
        self.pair.expect_running();
        self.watch.expect_running();

        let [near, far] = [NEAR, FAR].map(|side| self.pair.gateway(side).resident_kib());
        println!(
            "round {round:3} {:7} | lossless {} of {} | flood {} of {} | malformed {malformed} | drops: {drops} | \
             RSS {near} and {far} KiB | mbufs {:?} | worst lateness {:.1} ms",
            self.pair.setting.scheme.name(),
            carried.lossless,
            carried.lossless,
            carried.flood_received,
            carried.flood_sent,
            after.mbufs_in_use(),
            after.worst_lateness_ns() as f64 / 1e6,
        );
        self.sums.lossless += carried.lossless;
        self.sums.flood_sent += carried.flood_sent;
        self.sums.flood_received += carried.flood_received;
        self.sums.malformed += malformed;
        self.sums.drops.add(&drops);
        if self.rounds % ROUNDS_PER_KILL == KILLED_AFTER {
            self.kill(&after);
        }
    }

    /// Kills the far gateway and starts it again. `before` has the earlier counters.
    fn kill(&mut self, before: &Ledger) {
        let idle_mbufs = self.idle_mbufs;
        let (sent, lost) = kill(&self.lab, &mut self.pair, &self.watch, |pair| _ = settled(pair, idle_mbufs));
        self.kills += 1;
        self.memory[FAR] = None;
        self.sums.kills += 1;
        self.sums.sacrificed.0 += sent;
        self.sums.sacrificed.1 += lost;
        // The other gateway has dropped nothing.
        let drops = self.settled().check_drops(before, &[NEAR]);
        println!(
            "          the far gateway was killed and is back | lossless {} of {sent}, {lost} went with it | \
             drops: {drops}",
            sent - lost
        );
    }

    fn settled(&self) -> Ledger {
        settled(&self.pair, self.idle_mbufs)
    }

    /// Asserts that memory is constant after the first round of a gateway. A reload creates new tables before it drops
    /// the old ones, and the allocator returns those at some time, so the minimum of some successive rounds counts.
    fn check_memory(&mut self) {
        for side in [NEAR, FAR] {
            let last = self.pair.gateway(side).resident_kib();
            let memory = self.memory[side].get_or_insert(Memory { first: last, latest: [last; 3] });
            memory.latest.rotate_left(1);
            memory.latest[2] = last;
            let Memory { first, latest } = *memory;
            let least = latest.into_iter().min().unwrap_or(last);
            assert!(
                least <= first + GROWTH_KIB,
                "{}: resident memory has grown from {first} to {latest:?} KiB",
                NAMES[side]
            );
        }
    }

    /// Ends the pair, and prints its memory.
    fn end(self) -> Sums {
        let Self { watch, pair, idle_mbufs, memory, rounds, kills, mut sums, lab } = self;
        let mbufs = settled(&pair, idle_mbufs).mbufs_in_use();
        let answers = watch.end(kills > 0);
        let scheme = pair.setting.scheme.name();
        pair.end();
        drop(lab);
        sums.scraped += answers.scraped;
        sums.shown += answers.shown;
        let of = |(name, memory): (&str, Option<Memory>)| match memory {
            Some(Memory { first, latest }) => format!("{name} {first} -> {latest:?} KiB"),
            None => format!("{name} was killed and started at the end"),
        };
        let memory: Vec<_> = NAMES.into_iter().zip(memory).map(of).collect();
        println!(
            "{scheme}: {rounds} rounds | RSS after the first round and at the end: {} | mbufs {idle_mbufs:?} -> {mbufs:?}",
            memory.join(", ")
        );
        sums
    }
}

impl Sums {
    fn print(&self, time: Duration) {
        let (of_kills, lost) = self.sacrificed;
        println!("\nsoaked for {} s, {} rounds", time.as_secs(), self.rounds);
        let Self { reloads, flaps, kills, slow_lanes, .. } = self;
        println!(
            "  {reloads} reloads, {flaps} flaps, {kills} kills, {slow_lanes} times a lane at half speed"
        );
        println!("  {} scrapes and {} answers of `show`, all whole", self.scraped, self.shown);
        println!("  lossless: {} sent, 0 lost, 0 reordered", self.lossless);
        println!("  lossless around a kill: {of_kills} sent, {lost} went with the gateway, 0 reordered");
        println!("  flood: {} sent, {} received", self.flood_sent, self.flood_received);
        println!("  malformed: {} sent", self.malformed);
        println!("  drops, all explained:");
        self.drops.print_explained();
    }
}

/// Waits until nothing is inside either gateway, and all counters add up.
fn at_rest(pair: &Pair) -> Ledger {
    let mut found = None;
    let mut inside = String::new();
    let start = Instant::now();
    wait_until("both gateways to be at rest", || match Ledger::at_rest(pair) {
        Ok(ledger) => {
            found = Some(ledger);
            true
        }
        Err(what) => {
            if inside != what && start.elapsed() > Duration::from_secs(30) {
                println!("still inside after {:?}: {what}", start.elapsed());
            }
            inside = what;
            false
        }
    });
    found.expect("it was found")
}

/// The same, and as many mbufs are in use as at the start.
fn settled(pair: &Pair, idle_mbufs: [u64; 2]) -> Ledger {
    let mut ledger = at_rest(pair);
    wait_until("all mbufs to come back", || {
        ledger = at_rest(pair);
        ledger.mbufs_in_use() == idle_mbufs
    });
    ledger
}
