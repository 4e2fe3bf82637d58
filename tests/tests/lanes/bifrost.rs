//! Bifrost at the lead: the buffer holds what all lanes take, and the link stays busy.

use super::*;
use core::num::NonZeroU32;
use switch::program::{Bifrost, FlowControl, VirtualIncoming};

/// The same pair with Bifrost at port A. XOFF is above all that Bifrost lets in.
fn with_bifrost(lanes: u64, slower: u64, virtual_incoming: VirtualIncoming) -> (Settings, Bifrost) {
    let mut settings = settings(lanes, slower);
    // Lanes with frames take turns, and the link must not run dry meanwhile.
    settings.ports[B.index()].tx_window = AWAY * 2;
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: Interval::from_micros(10),
        // There and back, a turn at each end, the window, and a frame at each end.
        round_trip: DELAY * 2 + AWAY * 2 + WINDOW + Interval(200),
        check_every: NonZeroU32::MIN,
        virtual_incoming,
        holdover: Interval::from_micros(5),
        lateness: AWAY,
    };
    bifrost.buffer =
        bifrost.buffer_terms(RATE, Bytes(LENGTH)).total() + WireBytes(RATE.bytes_in(bifrost.slot));
    let port = &mut settings.ports[A.index()];
    let most = Cells::of_any_mix(most_let_in(&bifrost)).bytes().0 + cost(LENGTH);
    let group = port.groups[P3.index()].lossless_mut().unwrap();
    // All but one frame is reserved.
    (group.reserved, group.xoff, group.xon) =
        (Bytes(most - cost(LENGTH)), Threshold::Static(Bytes(most)), Bytes(most / 2));
    port.flow_control = FlowControl::Bifrost(bifrost);
    (settings, bifrost)
}

/// What may be inside while the neighbour obeys, in bytes on the wire.
fn most_let_in(bifrost: &Bifrost) -> WireBytes {
    bifrost.buffer + bifrost.overrun(RATE, Bytes(LENGTH), Interval::ZERO)
}

const WAYS: [VirtualIncoming; 2] = [VirtualIncoming::History { jitter: AWAY }, VirtualIncoming::Counter];

/// The wire bytes inside at the worst instant, with the neighbour's frames, and the pauses that thresholds asked for.
fn run_bifrost(lanes: &mut Lanes, hosts: impl Iterator<Item = u16>) -> (u64, u64) {
    let Outcome { sent, most_held } = run_with_neighbour(lanes, hosts, Nanos(1_500_000));
    lanes.assert_conserved();
    let left = by_host(lanes);
    assert!(left.values().map(Vec::len).sum::<usize>() as u64 <= sent);
    assert!(left.values().all(|labels| labels.is_sorted()));
    let frames = most_held.0 / cost(LENGTH);
    let thresholds = lanes.lanes[0].group(lanes.now, A, P3).pauses.xoff;
    (frames * WireBytes::of_frame(Bytes(LENGTH)).0, thresholds)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn bifrost_keeps_to_its_buffer_and_the_link_busy_with_one_two_and_four_lanes(
        seed in any::<u64>(), hosts in 1_u16..40, slower in 2_u64..20,
    ) {
        for (count, way) in [1, 2, 4].into_iter().flat_map(|count| WAYS.map(|way| (count, way))) {
            let (settings, bifrost) = with_bifrost(count as u64, slower, way);
            let mut lanes = Lanes::new(settings, count, seed, STEP, AWAY);
            let (most, thresholds) = run_bifrost(&mut lanes, 0..hosts);
            prop_assert!(most <= most_let_in(&bifrost).0, "{} of {:?}, {} lanes", most, bifrost, count);
            prop_assert_eq!(thresholds, 0, "{:?}, {} lanes", way, count);
            prop_assert_eq!(lanes.dropped(), BTreeMap::new());
            let busy = lanes.sent[B.index()].iter().filter(|sent| !sent.control && sent.start < Nanos(1_400_000));
            let rate = RATE.bits_per_second() / slower;
            let time = busy.count() as u64 * 8 * WireBytes::of_frame(Bytes(LENGTH)).0 * 1_000_000_000 / rate;
            prop_assert!(time > 1_350_000, "{} of 1,400,000 ns, {:?}, {} lanes", time, way, count);
        }
    }
}

#[test]
fn bifrost_that_does_not_see_what_waits_on_other_lanes_overruns_its_buffer() {
    for way in WAYS {
        // All hosts on the follower.
        let run = |mut lanes: Lanes| run_bifrost(&mut lanes, (0..16).map(|host| 2 * host + 1));
        let (settings, bifrost) = with_bifrost(2, 10, way);
        let (most, thresholds) = run(Lanes::new(settings.clone(), 2, 7, STEP, AWAY));
        assert!(most <= most_let_in(&bifrost).0 && thresholds == 0, "{most}, {thresholds}");
        let (most, thresholds) = run(Lanes::blind(settings, 2, 7, STEP, AWAY));
        assert!(most > most_let_in(&bifrost).0 || thresholds > 0, "{most} of {bifrost:?}, {thresholds}");
    }
}
