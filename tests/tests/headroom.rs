//! Automatic headroom against neighbours that stop at the last instant that they may.
//!
//! Every switch here is configured by the product's own sums. A neighbour takes all that the sums allow it: the frame
//! that crosses XOFF hardly fits below it, this port has just begun its longest frame and filled its window, the pause
//! is as late as `interface_delay` lets it be, and the neighbour goes on for the response time of IEEE 802.3 clause
//! 31B.3.7, or for the window of a gateway, and then begins the longest frame.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::{Gateway, HeadroomSum, response_quanta};
use conformance::{A, B, Flow, Network, P3, Peer, Testbench};
use proptest::prelude::*;
use switch::DropReason;
use switch::program::{Classification, Settings};
use units::{BitRate, Bytes, Cells, Distance, Interval, Nanos, Priority, WireBytes};
use wire::vlan::{Tag, VlanId};

const P0: Priority = Priority::from_low_bits(0);
/// What the clocks of a test round up: the arrival of the frame that crosses, and the start of the pause.
const ROUNDED: Interval = Interval(2);
/// The longest pause at 100 Mb/s is 335 ms.
const BLOCKED_FOR: Interval = Interval::from_millis(300);
/// The frames of which the link is made in a case; the time of a test grows with them.
const FRAMES_MAX: u64 = 50_000;

/// A link, and what the port adds to its headroom.
#[derive(Clone, Copy, Debug)]
struct Case {
    rate: BitRate,
    mtu: u64,
    /// A multiple of 198 m, on which light takes whole nanoseconds.
    distance: Distance,
    tx_window: Interval,
    interface_delay: Interval,
}

impl Case {
    /// A gateway with the link at its first port, whose lossless priorities have XOFF at `xoff`.
    fn gateway(&self, priorities: &[u8], xoff: u64, more: &str) -> Gateway {
        let Self { rate, mtu, distance, tx_window, interface_delay } = self;
        let text = format!(
            "[buffer]\nshared = \"64MiB\"\ncell_occupancy = 1.08\n\
             [forwarding]\nmode = \"patch\"\npairs = [[\"a\", \"b\"]]\n\
             [[port]]\nname = \"a\"\nrate = \"{rate}\"\nmtu = {mtu}\ndistance = \"{}m\"\n\
             tx_window = \"{tx_window}\"\ninterface_delay = \"{interface_delay}\"\n{more}\
             [[port.lossless]]\npriorities = {priorities:?}\nreserved = \"0B\"\nxoff = \"{xoff}B\"\n\
             [[port]]\nname = \"b\"\nrate = \"100M\"\nmtu = {mtu}\n\
             [[port.lossless]]\npriorities = {priorities:?}\nheadroom = \"100kB\"\n",
            distance.0
        );
        config::parse(&text, "gateway.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn longest(&self) -> Bytes {
        Bytes(self.mtu + 18)
    }

    /// The time of a frame of `length` on the link.
    fn time_of(&self, length: Bytes) -> Interval {
        self.rate.serialization().time_of(WireBytes::of_frame(length))
    }

    /// How long a neighbour may go on beginning frames.
    fn response(&self) -> Interval {
        let quanta = WireBytes(response_quanta(self.rate) * 64);
        self.rate.serialization().time_within(quanta).max(self.tx_window)
    }

    /// A neighbour that sends frames of `length` and is as late as it may be.
    fn peer(&self, length: Bytes) -> Peer {
        let frame = |length: Bytes| Flow::new(A, B).at(P3).headers(length.0 as usize);
        let lag = self.interface_delay - ROUNDED;
        Peer::new(frame(length), P3, self.rate, self.distance.propagation(), Nanos::NEVER)
            .starting_at(Nanos::ZERO + self.tx_window + self.time_of(self.longest()) * 4)
            .as_late_as(lag, self.response())
    }
}

/// The gateway's settings, with the DSCPs of the conformance tests.
fn settings_of(gateway: &Gateway) -> Settings {
    let mut settings = gateway.program.settings().clone();
    for port in &mut settings.ports {
        port.classification = Classification::default();
    }
    settings
}

/// Runs until all that the neighbours of port A send has arrived, while port B sends nothing of these priorities.
fn run_blocked(network: &mut Network, priorities: &[Priority], until: Nanos) {
    while network.bench.now() < until {
        for priority in priorities {
            network.bench.block(B, *priority);
        }
        let next = (network.bench.now() + BLOCKED_FOR).min(until);
        network.run_until(next);
    }
}

fn lost(network: &Network, priority: Priority) -> u64 {
    DropReason::ALL.map(|reason| network.bench.dropped(A, priority, reason).frames).iter().sum()
}

/// What a neighbour made of the headroom.
struct Outcome {
    sent: u64,
    most_held: Bytes,
    lost: u64,
}

/// Runs `case` with XOFF a byte above one longest frame and with `headroom`. The neighbour sends two longest frames, of which
/// the second crosses XOFF, then frames of `fill`, and last the longest one, which it begins when it still may.
fn attack(case: &Case, fill: Bytes, headroom: Bytes) -> Outcome {
    let Outcome { sent, .. } = attack_until(case, fill, headroom, u64::MAX);
    attack_until(case, fill, headroom, sent - 1)
}

/// The same with the longest frame as number `last`.
fn attack_until(case: &Case, fill: Bytes, headroom: Bytes, last: u64) -> Outcome {
    let longest = case.longest();
    let xoff = Cells::of_frame(longest).bytes().0 + 1;
    let mut settings = settings_of(&case.gateway(&[3], xoff, ""));
    settings.ports[A.index()].groups[P3.index()].lossless_mut().unwrap().headroom = headroom;
    settings.buffer.headroom = headroom + Bytes(100_000);
    let frame = |length: Bytes| Flow::new(A, B).at(P3).headers(length.0 as usize);
    let peer = case.peer(longest).then(2, frame(fill)).then(last, frame(longest));
    let begins = Nanos::ZERO + case.tx_window + case.time_of(longest) * 4;
    let crossing = begins
        + case.rate.serialization().time_of(WireBytes::of_frame(longest) + WireBytes::of_frame(longest))
        + case.distance.propagation();
    let mut network = Network::new(Testbench::new(settings), vec![(A, peer)]);
    // This port hands over its longest frame just before, and as many as its window holds.
    let (wire, link) = (WireBytes::of_frame(longest).0, case.rate.serialization());
    let in_window = case.rate.bytes_in(case.tx_window) / wire + 1;
    let first = crossing.0 + case.tx_window.0 - 1 - link.time_of(WireBytes(in_window * wire)).0;
    run_blocked(&mut network, &[P3], Nanos(first));
    let back = Flow::new(B, A).at(P0).headers(longest.0 as usize);
    network.bench.inject(B, std::iter::repeat_n(back, in_window as usize + 3));
    let after = HeadroomSum::new(&terms_of(case, 1.08)).on_the_wire();
    let all = link.time_of(after) + case.time_of(longest) * 8;
    run_blocked(&mut network, &[P3], crossing + all);
    let group = network.bench.shard.group(network.bench.now(), A, P3);
    let sent = network.peers[0].1.sent();
    Outcome { sent, most_held: group.headroom_watermark.persistent(), lost: lost(&network, P3) }
}

/// The terms of the headroom of port A, as the product has them.
fn terms_of(case: &Case, cell_occupancy: f64) -> config::HeadroomTerms {
    let gateway = case.gateway(&[3], 1_000_000, "");
    gateway.links[A.index()].terms(gateway.program.port(A), cell_occupancy).unwrap()
}

/// Frames of which the link is made after XOFF: the most expensive ones if their number allows, else the longest.
fn fill_of(case: &Case) -> Option<Bytes> {
    let wire = HeadroomSum::new(&terms_of(case, 1.08)).on_the_wire().0;
    let fits = |length: &Bytes| wire / WireBytes::of_frame(*length).0 <= FRAMES_MAX;
    [Bytes(65), case.longest()].into_iter().find(fits)
}

#[test]
fn automatic_headroom_holds_all_that_a_neighbour_may_send_and_with_a_frame_less_it_does_not() {
    let rates = [1, 10, 100, 1_000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000];
    let (mut cases, mut tight) = (0, 0);
    for (megabits, mtu) in
        rates.into_iter().flat_map(|rate| [64, 128, 1_500, 4_200, 9_198].map(|mtu| (rate, mtu)))
    {
        for (metres, micros) in
            [(0, [0, 1]), (198, [2, 1]), (1_980, [12, 4]), (79_200, [2, 1]), (9_999_000, [2, 10])]
        {
            let [tx_window, interface_delay] = micros.map(Interval::from_micros);
            let rate = BitRate::megabits(megabits);
            let case = Case { rate, mtu, distance: Distance(metres), tx_window, interface_delay };
            let Some(fill) = fill_of(&case) else { continue };
            let stated = case.gateway(&[3], 1_000_000, "");
            let auto = stated.program.port(A).groups[P3.index()].lossless().unwrap().headroom;
            assert_eq!(auto, HeadroomSum::new(&terms_of(&case, 1.08)).total());
            assert_eq!(attack(&case, fill, auto).lost, 0, "{case:?}: {fill} after XOFF, headroom {auto}");
            cases += 1;
            // A byte of these frames takes as much as this, and no less.
            let occupancy = Cells::of_frame(fill).bytes().0 as f64 / WireBytes::of_frame(fill).0 as f64;
            let exact = HeadroomSum::new(&terms_of(&case, occupancy)).total();
            let held = attack(&case, fill, exact);
            assert_eq!(held.lost, 0, "{case:?}: {fill} after XOFF, headroom {exact}");
            // What the clocks round is less than a frame, or nothing can be said about a single one. A port that sends
            // frames of 82 bytes could send a longer message, which this one has no reason to.
            let frame = Cells::of_frame(case.longest()).bytes();
            let rounded = WireBytes(rate.bytes_in(ROUNDED * 3) + 12).0 + Cells::of_frame(fill).bytes().0;
            println!(
                "{megabits:>7}M mtu {mtu:>4} {metres:>9} m: {exact} bytes, {} spare",
                exact - held.most_held
            );
            if rounded <= frame.0 && case.mtu > 64 {
                let less = attack(&case, fill, exact - frame);
                assert!(less.lost > 0, "{case:?}: {fill} after XOFF, {frame} less than {exact} is enough");
                tight += 1;
            }
        }
    }
    println!("{cases} links, tight to a frame: {tight}");
    assert!(cases > 100 && tight > 80, "{cases}, {tight}");
}

/// Lossless frames of priorities 3 to 5 with the default settings of `scheme`, in any lengths and with tags, while the receiver
/// stops now and then.
#[derive(Clone, Debug)]
struct Mix {
    case: Case,
    scheme: &'static str,
    lengths: Vec<Vec<u64>>,
    is_tagged: bool,
    /// In two-hundredths of the longest frame, above one of these.
    xoff: u64,
    /// For how many frames the receiver stops.
    stops: Vec<u64>,
}

fn mix() -> impl Strategy<Value = Mix> {
    let rate = prop::sample::select(vec![100_u64, 1_000, 10_000, 25_000, 100_000, 400_000]);
    let case = (rate, 64_u64..=9_198, 0_u64..60, 0_u64..12, 1_u64..8).prop_map(
        |(megabits, mtu, lengths_of_198_m, tx_window, interface_delay)| Case {
            rate: BitRate::megabits(megabits),
            mtu,
            distance: Distance(lengths_of_198_m * 198),
            tx_window: Interval::from_micros(tx_window),
            interface_delay: Interval::from_micros(interface_delay),
        },
    );
    let scheme = prop::sample::select(vec!["pfc", "p-pfc", "capfc", "bifrost"]);
    let length = prop_oneof![Just(65_u64), Just(81), 60..=9_216_u64, Just(9_216)];
    let lengths = prop::collection::vec(prop::collection::vec(length, 1..6), 1..=3);
    let (xoff, stops) = (0_u64..2_000, prop::collection::vec(40_u64..100, 1..4));
    (case, scheme, lengths, any::<bool>(), xoff, stops).prop_map(
        |(mut case, scheme, lengths, is_tagged, xoff, stops)| {
            if scheme == "bifrost" {
                // Its slot of 10 us is below the round trip.
                case.distance = case.distance.max(Distance(1_980));
            }
            Mix { case, scheme, lengths, is_tagged, xoff, stops }
        },
    )
}

/// Frames of `mix` that were lost, and how many pauses its senders were sent.
fn run(mix: &Mix) -> (u64, usize) {
    let case = &mix.case;
    let priorities = &[3_u8, 4, 5][..mix.lengths.len()];
    let longest = Cells::of_frame(case.longest()).bytes().0;
    let xoff = if mix.scheme == "bifrost" { 20_000_000 } else { longest + longest * mix.xoff / 200 };
    let gateway = case.gateway(priorities, xoff, &format!("flow_control = \"{}\"\n", mix.scheme));
    let priorities: Vec<_> = priorities.iter().map(|it| Priority::new(*it).unwrap()).collect();
    let each = case.time_of(case.longest());
    let until = Nanos::ZERO + case.tx_window + each * 100;
    let peer = |(priority, lengths): (&Priority, &Vec<u64>)| {
        let tag = Tag { priority: *priority, drop_eligible: false, id: VlanId::new(7).unwrap() };
        let flow = Flow::new(A, B).at(*priority);
        let flow = if mix.is_tagged { flow.tagged(tag) } else { flow };
        let frame = |length: &u64| flow.headers((*length).min(case.longest().0) as usize);
        let first = Peer::new(frame(&lengths[0]), *priority, case.rate, case.distance.propagation(), until)
            .as_late_as(case.interface_delay - ROUNDED, case.response());
        (A, lengths[1..].iter().fold(first, |peer, length| peer.in_turn_with(frame(length))))
    };
    let peers = priorities.iter().zip(&mix.lengths).map(peer).collect();
    let mut network = Network::new(Testbench::new(settings_of(&gateway)), peers);
    let back = Flow::new(B, A).at(P0).headers(case.longest().0 as usize);
    network.run_until(Nanos::ZERO + case.distance.propagation());
    for stop in &mix.stops {
        network.bench.inject(B, std::iter::repeat_n(back.clone(), 40));
        let next = network.bench.now() + each * *stop;
        run_blocked(&mut network, &priorities, next);
        priorities.iter().for_each(|priority| network.bench.release(B, *priority));
        network.run_until(next + each * (*stop / 2));
    }
    network.run_until(until + each * 100 + case.distance.propagation() * 4);
    let lost = priorities.iter().map(|priority| lost(&network, *priority)).sum();
    (lost, priorities.iter().map(|priority| network.bench.pauses(A, *priority).len()).sum())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn with_automatic_headroom_no_frames_of_neighbours_that_obey_are_lost(mix in mix()) {
        let (lost, pauses) = run(&mix);
        prop_assert_eq!(lost, 0, "{} pauses", pauses);
        prop_assert!(pauses > 0 || mix.scheme == "bifrost", "nothing was put to the test");
    }
}

/// One row of the comparison in `docs/headroom.md`.
fn compared(rate: BitRate, metres: u64, mtu: u64) -> String {
    let [tx_window, interface_delay] = [2, 1].map(Interval::from_micros);
    let case = Case { rate, mtu, distance: Distance(metres), tx_window, interface_delay };
    let ours = HeadroomSum::new(&terms_of(&case, 1.125));
    let frame = case.longest();
    let cells = Cells::of_frame(frame).bytes().0;
    let HeadroomSum { cable, waiting, interfaces, response, own_frame, pause, .. } = ours;
    let link = cable + waiting + interfaces + response;
    let needed = 2 * cells + Cells::of_any_mix(ours.on_the_wire()).bytes().0;
    // buffer_headroom_mellanox.lua of sonic-swss: the longest frame, and the occupancy of the rest, in whole KiB.
    let sonic = frame.0 + ((frame.0 + link.0) as f64 * 1.125).ceil() as u64;
    let sonic = sonic.next_multiple_of(1_024);
    // Annex N of 802.1Q counts bit times on the wire, so its sum takes the cells of the worst mix.
    let annex = Cells::of_any_mix(own_frame + pause + link + WireBytes::of_frame(frame)).bytes().0;
    let frames = |sum: u64| format!("{:+.1}", (sum as f64 - needed as f64) / cells as f64);
    let [sum, auto, sonic, annex] =
        [needed.to_string(), frames(ours.total().0), frames(sonic), frames(annex)];
    format!("| {rate}, {}, {mtu} | {sum} | {auto} | {sonic} | {annex} |", case.distance)
}

#[test]
fn the_page_has_the_margins_of_ten_ordinary_links() {
    let links = [
        (1_000, 100, 1_500),
        (1_000, 100, 9_100),
        (10_000, 300, 1_500),
        (10_000, 300, 9_100),
        (25_000, 100, 4_200),
        (100_000, 3, 4_200),
        (100_000, 300, 9_100),
        (100_000, 10_000, 9_100),
        (100_000, 80_000, 9_100),
        (400_000, 1_000_000, 9_100),
    ];
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/headroom.md")).unwrap();
    let rows = links.map(|(megabits, metres, mtu)| compared(BitRate::megabits(megabits), metres, mtu));
    let missing: Vec<_> = rows.iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "docs/headroom.md has other rows than these:\n{}", rows.join("\n"));
}
