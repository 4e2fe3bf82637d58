//! The paper's worked examples, number by number.
//!
//! The text has no table of slots, so the slots are computed here from what it does state: Rs, D, T,
//! H, when the drain stops, and what follows how many D later. Each test says which number is whose.

use super::model::{HISTORY, KINDS, Link, Model, Step};
use super::*;
use units::{Bytes, PauseQuanta};

const LINK: Link = Link::DEPLOYED;
/// Slots in D.
const ONE_WAY: usize = 40;

/// Algorithm 1 as it is printed: c is computed before what arrived in the slot is taken off F
/// (lines 10 and 15), and line 13 is not limited to an excess.
struct Printed {
    buffer: i64,
    incoming: i64,
}

impl Printed {
    fn new(buffer: u64) -> Self {
        Self { buffer: buffer as i64, incoming: (LINK.bdp() + LINK.line()) as i64 }
    }

    /// The c that F records, and the c that the upstream is told.
    fn end_slot(&mut self, queue: i64, received: i64) -> (i64, i64) {
        let granted = (LINK.line() as i64).min(self.buffer - queue - self.incoming);
        let told = (granted - (queue + self.incoming - self.buffer)).max(0);
        self.incoming = ((LINK.bdp() + LINK.line()) as i64).min(self.incoming - received + granted);
        (granted, told)
    }
}

/// The queue and the grants of each slot while the drain is open, stopped for 3 D, and open again.
fn figure_7(mut end_slot: impl FnMut(u64) -> (u64, u64)) -> Vec<(u64, u64)> {
    let drain = [(1_000, 10), (0, 3 * ONE_WAY), (1_000, 4 * ONE_WAY)];
    let drains = drain.into_iter().flat_map(|(level, slots)| core::iter::repeat_n(level, slots));
    drains.map(&mut end_slot).skip(10).collect()
}

fn figure_7_here(kind: Kind) -> Vec<(u64, u64)> {
    let buffer = WireBytes(LINK.bdp() + 3 * LINK.line());
    let mut model = Model::with(LINK, program::Bifrost { buffer, ..LINK.settings(kind) });
    let slots = figure_7(|drain| {
        model.step(Step { drain, used: 1_000, leaked: 0 });
        (model.queue, model.last_grant())
    });
    assert_eq!(model.starved, 0);
    slots
}

fn figure_7_printed() -> Vec<(u64, u64)> {
    let line = LINK.line();
    let mut printed = Printed::new(LINK.bdp() + 3 * line);
    let mut grants = std::collections::VecDeque::from(vec![line; 2 * ONE_WAY + 1]);
    let mut queue = 0;
    figure_7(|drain| {
        let arrived = grants.pop_front().unwrap();
        queue = (queue + arrived).checked_sub(line * drain / 1_000).expect("it does not starve");
        let (granted, _) = printed.end_slot(queue as i64, arrived as i64);
        grants.push_back(granted as u64);
        (queue, granted as u64)
    })
}

/// Section IV-A. Stated: pause frames of 5 us every 10 us for D, then none for D, leave 0.25 BDP and
/// 0.5 BDP, 0.75 BDP in all, to come in the next round trip.
#[test]
fn a_half_paused_and_a_free_one_way_delay_leave_three_quarters_of_a_bdp_to_come() {
    for kind in KINDS {
        let mut incoming = VirtualIncoming::new(&LINK.settings(kind), LINK.rate);
        incoming.refill(Nanos::ZERO);
        let mut now = Nanos::ZERO;
        let mut end_slot = |granted| {
            now += LINK.slot;
            incoming.settle(now, LINK.line());
            let to_come = incoming.bytes(now);
            incoming.grant(now, granted);
            to_come
        };
        for slot in 0..2 * ONE_WAY {
            end_slot(if slot < ONE_WAY { LINK.line() / 2 } else { LINK.line() });
        }
        assert_eq!(end_slot(0), LINK.bdp() / 4 + LINK.bdp() / 2, "{kind:?}");
    }
}

/// Figure 7 and section IV-C.2, H = BDP + 3 Rs T. Stated: at first the queue is empty and F is one
/// BDP; the upstream is told to pause at most 2 T after the drain stops; nothing arrives from 2 D on;
/// the pauses end with the third D; data comes again with the fifth. Computed: the rest, for 100G and
/// D = 400 us, and the paper's column by its printed lines 10 and 15.
///
/// As printed, what arrived in a slot counts in L and still in F, so the pause comes after 2 T, and
/// the last slot of H is granted only when nothing arrives any more. Here arrivals are taken off
/// first: the pause comes after 3 T, and H is filled to its last byte. Both grant two slots in all.
#[test]
fn figure_7_fills_the_buffer_once_and_resumes_before_the_queue_is_empty() {
    let line = LINK.line();
    let paper = (figure_7_printed(), 2, 10_250_000);
    let here = |kind| (figure_7_here(kind), 3, 10_375_000);
    for (slots, reaction, peak) in [paper, here(Kind::Counter), here(HISTORY)] {
        let (queues, grants): (Vec<_>, Vec<_>) = slots.into_iter().unzip();
        assert_eq!(queues[..3], [line, 2 * line, 3 * line], "from an empty queue");
        assert_eq!(grants.iter().position(|grant| *grant == 0), Some(reaction - 1), "T until the pause");
        assert_eq!(grants[..3 * ONE_WAY].iter().sum::<u64>(), 2 * line, "H less BDP and Rs T");
        // BDP + Rs T were to come, and what was granted before the pause.
        let filled = 2 * ONE_WAY + reaction;
        assert!(queues[..filled].iter().is_sorted_by(|a, b| **b == **a + line));
        assert!(queues[filled - 1..3 * ONE_WAY].iter().all(|queue| *queue == peak), "nothing arrives");
        assert_eq!(grants[3 * ONE_WAY], line, "the pauses end with the third D");
        assert_eq!(queues[3 * ONE_WAY..=5 * ONE_WAY].iter().min(), Some(&250_000), "it never runs dry");
        assert_eq!(queues[5 * ONE_WAY..][..2], [250_000; 2], "data comes again after the fifth D");
    }
}

/// Figure 2 and section III-B in the same model. Stated: XOFF is reached, what arrives for another
/// 2 D is one BDP; XON is reached, what is drained for another 2 D is one BDP; so 2 BDP in all, and
/// Bifrost tells the upstream D earlier. `tests/tests/bifrost.rs` has the same on the whole switch.
#[test]
fn figure_2_needs_two_bdp_and_reacts_later_by_more_than_one_way() {
    let (line, threshold) = (LINK.line(), LINK.bdp());
    let mut told = std::collections::VecDeque::from(vec![false; 2 * ONE_WAY + 1]);
    let mut queue = 0_u64;
    let queues: Vec<_> = (0..10 * ONE_WAY)
        .map(|slot| {
            let (paused, stopped) = (told.pop_front().unwrap(), slot < 5 * ONE_WAY);
            queue += if paused { 0 } else { line };
            queue = queue.checked_sub(if stopped { 0 } else { line }).expect("it does not starve");
            told.push_back(if stopped { queue >= threshold } else { queue > threshold });
            queue
        })
        .collect();
    assert_eq!(queues.iter().max(), Some(&(2 * LINK.bdp())), "XOFF and 2 Rs D");
    assert_eq!(queues[5 * ONE_WAY..].iter().min(), Some(&0), "XON and 2 Rd D, to the last byte");
    let xoff = 1 + queues.iter().position(|queue| *queue >= threshold).unwrap();
    assert_eq!(xoff, 2 * ONE_WAY, "slots until PFC pauses; Bifrost takes 3");
}

/// The same with the least H, BDP + 2 Rs T: 2 T are enough here, and T as printed.
#[test]
fn with_the_least_buffer_the_pause_follows_two_slots_after_the_drain_stops() {
    for kind in KINDS {
        let mut model = Model::new(LINK, kind);
        let grants: Vec<_> = (0..4)
            .map(|_| {
                model.step(Step { drain: 0, used: 1_000, leaked: 0 });
                model.last_grant()
            })
            .collect();
        assert_eq!(grants, [LINK.line(), 0, 0, 0]);
    }
    let mut printed = Printed::new(LINK.least_buffer());
    assert_eq!(printed.end_slot(LINK.line() as i64, LINK.line() as i64).0, 0);
}

/// Line 13 as printed deducts a negative excess too, which tells the upstream more than F records.
/// Computed: a drain at one half, k = 1.
#[test]
fn line_13_as_printed_lets_the_queue_grow_without_end() {
    let line = LINK.line();
    let mut printed = Printed::new(LINK.least_buffer());
    let mut grants = std::collections::VecDeque::from(vec![line; 2 * ONE_WAY + 1]);
    let mut queue = 0;
    let mut model = Model::new(LINK, HISTORY);
    for _ in 0..20_000 {
        let arrived = grants.pop_front().unwrap();
        queue = queue + arrived - (line / 2).min(queue + arrived);
        let (_, told) = printed.end_slot(queue as i64, arrived as i64);
        grants.push_back(line.min(told as u64));
        model.step(Step { drain: 500, used: 1_000, leaked: 0 });
    }
    assert!(queue > 100 * LINK.least_buffer(), "{queue}");
    assert!(model.queue <= LINK.least_buffer());
}

/// Sections V and VI-A. Stated: 7,813 quanta for a slot of 10 us at 400G; 65,535 quanta are 4 MB; a
/// pause frame a slot is at most 0.05 % of 100G; the BDP is 9.5 MB, H is BDP + 3 Rs T, 9.72 MB, 37 %
/// less than the 15.5 MB of PFC; with 400G and a round trip of 6 ms, the BDP is 286 MB and H 287 MB.
/// MB are MiB there. The 9.72 are those of a slot of 5 us; with the 10 us of section V it is 9.89.
#[test]
fn the_numbers_of_the_deployment_follow_from_the_formulas() {
    let mib = |bytes: u64, digits: u32| (bytes * 10_u64.pow(digits) + (1 << 19)) >> 20;
    let (rate, slot) = (BitRate::gigabits(400), Interval::from_micros(10));
    assert_eq!(PauseQuanta::covering(slot, rate), PauseQuanta(7_813));
    assert_eq!(u64::from(PauseQuanta::MAX.0) * PauseQuanta::BIT_TIMES / 8, (4 << 20) - 64);
    assert_eq!(64 * 10_000 / LINK.line(), 5, "in ten thousandths");
    assert_eq!(WireBytes::of_frame(Bytes(60)).0 * 10_000 / LINK.line(), 6, "with preamble and gap");

    let buffer = |slot| LINK.bdp() + 3 * LINK.rate.bytes_in(slot);
    assert_eq!((LINK.bdp() * 10) >> 20, 95);
    assert_eq!((mib(buffer(slot), 2), mib(buffer(Interval::from_micros(5)), 2)), (989, 972));
    let pfc = LINK.bdp() + (6 << 20);
    assert_eq!(100 - buffer(Interval::from_micros(5)) * 100 / pfc, 38);
    assert_eq!(100 - 972 * 100 / 1_550, 38);

    let long = Link { rate, slot, slots_per_round_trip: 600 };
    assert_eq!((mib(long.bdp(), 0), mib(long.least_buffer(), 0)), (286, 287));
}
