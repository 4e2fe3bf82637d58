//! The buffer: thresholds, headroom, pools and watermarks, to the cell (items 1 to 6).

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{
    HEADROOM, XOFF, XON, alpha, group_of, lossless, patched, routed, switch, two_ports,
};
use conformance::{A, B, C, D, Flow, P1, P3, P4, TestFrame, Testbench, cost};
use std::sync::Arc;
use switch::program::{GroupSettings, LosslessGroup, LossyQueue, Settings, Threshold};
use switch::{DropReason, ForwardingSettings, PauseCause, Program};
use units::{BitRate, Bytes, Cells, PauseQuanta, PortId, Priority};

/// A bench whose port B is paused for the lossless priorities.
fn blocked(settings: Settings) -> Testbench {
    let mut bench = Testbench::new(settings);
    bench.block(B, P3);
    bench.block(B, P4);
    bench
}

/// Frames of `length` bytes from A to B at priority 3.
fn frames(count: u64, length: usize) -> impl Iterator<Item = TestFrame> {
    Flow::new(A, B).at(P3).udps(count, length)
}

/// The bytes of the buffer that a frame of 1,000 bytes costs.
const COST: u64 = cost(1_000);

/// The bytes that the group of `priority` on `port` holds.
fn held(bench: &Testbench, port: PortId, priority: Priority) -> u64 {
    bench.shard.group(bench.now(), port, priority).occupancy.0
}

fn headroom_held(bench: &Testbench, port: PortId, priority: Priority) -> u64 {
    bench.shard.group(bench.now(), port, priority).headroom.0
}

/// How many frames of `length` bytes arrive, one by one, until the first pause leaves.
fn frames_until_xoff(bench: &mut Testbench, length: usize) -> u64 {
    let mut count = 0;
    while bench.pauses(A, P3).is_empty() {
        bench.inject_singly(A, frames(1, length));
        count += 1;
    }
    count
}

#[test]
fn the_first_pause_leaves_with_the_frame_that_reaches_xoff_and_not_one_earlier() {
    let at = |length, frames: u64| (length, frames * cost(length));
    let levels = [at(1_000, 100), at(64, 1), at(9_216, 10)].into_iter();
    let around = levels.flat_map(|(length, xoff)| [xoff - 1, xoff, xoff + 1].map(|xoff| (length, xoff)));
    for (length, xoff) in around.chain((1_490..1_500).map(|length| (length, 100_000))) {
        let mut settings = two_ports();
        settings.ports[0].groups[3] = lossless(xoff, xoff / 2, HEADROOM);
        let mut bench = blocked(settings);
        let count = frames_until_xoff(&mut bench, length as usize);
        assert_eq!(count, xoff.div_ceil(cost(length)), "XOFF {xoff}, frames of {length}");
        assert_eq!(bench.pauses(A, P3), [(bench.now(), PauseQuanta::MAX)]);
        assert_eq!(headroom_held(&bench, A, P3), (count * cost(length)).saturating_sub(xoff));
        assert_eq!(bench.dropped_in_all().frames, 0);
    }
}

#[test]
fn a_dynamic_threshold_pauses_when_the_group_holds_alpha_times_what_is_free() {
    for exponent in -8..=8_i8 {
        let mut settings = two_ports();
        group_of(&mut settings, A, P3).xoff = alpha(exponent);
        let mut bench = blocked(settings);
        let mut held_before = 0;
        while bench.pauses(A, P3).is_empty() {
            held_before = held(&bench, A, P3);
            bench.inject_singly(A, [Flow::new(A, B).at(P3).headers(9_000)]);
        }
        let ratio = 2.0_f64.powi(i32::from(exponent));
        let reached = |held: u64| held as f64 >= (ratio * (18_000_000 - held) as f64).floor();
        assert!(!reached(held_before), "2^{exponent}: at {held_before} it was not yet reached");
        assert!(reached(held(&bench, A, P3)), "2^{exponent}");
    }
}

#[test]
fn an_eighth_of_an_18_mb_pool_is_reached_at_exactly_2_mb() {
    let almost = || {
        let mut settings = two_ports();
        group_of(&mut settings, A, P3).xoff = alpha(-3);
        let mut bench = blocked(settings);
        bench.inject(A, frames(1_952, 1_000));
        bench.turn();
        assert!(bench.pauses(A, P3).is_empty(), "1,998,848 bytes held, an eighth of 16,001,152 free");
        bench
    };
    let mut bench = almost();
    bench.inject(A, frames(1, 1_120));
    bench.turn();
    assert_eq!(bench.shard.pools().shared.held, Bytes(2_000_000 - 16), "a cell less");
    assert!(bench.pauses(A, P3).is_empty(), "an eighth of 16,000,016 free is 2,000,002");
    bench.inject(A, frames(1, 60));
    bench.turn();
    assert_eq!(bench.pauses(A, P3).len(), 1);
    assert_eq!(bench.shard.pools().shared.held, Bytes(2_000_002));
    assert_eq!(headroom_held(&bench, A, P3), cost(60) - 18);

    let mut bench = almost();
    bench.inject(A, frames(1, 1_136));
    bench.turn();
    assert_eq!(bench.pauses(A, P3).len(), 1);
    assert_eq!(bench.shard.pools().shared.held, Bytes(2_000_000));
    assert_eq!(headroom_held(&bench, A, P3), 0);
}

/// The listing of appendix A of "Empowering Azure Storage with RDMA".
fn azure(ports: u16) -> Settings {
    let mut settings = routed(ports);
    for port in &mut settings.ports {
        for priority in [P3, P4] {
            port.groups[priority.index()] = GroupSettings::Lossless(LosslessGroup {
                reserved: Bytes(1_248),
                xoff: alpha(-3),
                xon: Bytes(1_248),
                xon_offset: Bytes(2_496),
                headroom: Bytes(96_928),
            });
        }
        for queue in &mut port.queues {
            queue.lossy = LossyQueue { reserved: Bytes(1_664), threshold: alpha(-1) };
        }
    }
    settings
}

#[test]
fn the_azure_profile_pauses_takes_headroom_and_resumes_where_its_paper_says() {
    let mut bench = blocked(azure(2));
    bench.inject_singly(A, frames(1_954, 1_000));
    assert_eq!(held(&bench, A, P3), 2_000_896);
    assert!(bench.pauses(A, P3).is_empty(), "1,999,648 of the pool: an eighth of what is free is 2,000,044");
    bench.inject_singly(A, frames(1, 336));
    assert_eq!(bench.pauses(A, P3).len(), 1, "the reserved 1,248 and 2,000,000 of the pool");
    assert_eq!(headroom_held(&bench, A, P3), 0);
    assert_eq!(bench.shard.pools().shared.held, Bytes(2_000_000));

    bench.inject_singly(A, frames(94, 1_000));
    bench.inject_singly(A, frames(1, 656));
    assert_eq!(headroom_held(&bench, A, P3), 96_928, "all of the headroom");
    assert_eq!(bench.dropped_in_all().frames, 0);
    bench.inject_singly(A, frames(1, 60));
    assert_eq!(bench.dropped(A, P3, DropReason::HeadroomExceeded).frames, 1);

    // Resumed below reserved + free / 8 - 2,496, with free = 18 MB - what is held of it: held - 1,248
    // < (18 MB - (held - 1,248)) / 8 - 2,496, so held < 1,999,029.
    bench.release(B, P3);
    let resumed_at = loop {
        let before = held(&bench, A, P3);
        bench.run_until(bench.shard.next_deadline());
        if let Some((_, PauseQuanta::ZERO)) = bench.pauses(A, P3).last() {
            break (before, held(&bench, A, P3));
        }
    };
    assert!(resumed_at.0 >= 1_999_029 && resumed_at.1 < 1_999_029, "{resumed_at:?}");
}

#[test]
fn the_azure_profile_lets_a_lossy_queue_have_a_third_of_its_pool() {
    let mut settings = azure(2);
    settings.ports[1].pfc.obey_global_pause = true;
    let mut bench = Testbench::new(settings);
    bench.inject_global_pause(B, PauseQuanta::MAX);
    bench.inject(A, Flow::new(A, B).at(P1).udps(6_000, 1_000));
    // A frame enters while pool bytes + 1,024 <= (14 MB - pool bytes) / 2. The second frame straddles
    // the 1,664 reserved bytes.
    let inside = bench.shard.queue(bench.now(), B, P1).waiting.frames;
    let pool = inside * COST - 1_664;
    assert!(pool <= (14_000_000 - (pool - COST)) / 2 && pool + COST > (14_000_000 - pool) / 2);
    assert_eq!(inside, 4_559);
    assert_eq!(bench.dropped(B, P1, DropReason::QueueThreshold).frames, 6_000 - 4_559);
    assert_eq!(bench.shard.pools().egress_lossy.held, Bytes(pool));
}

#[test]
fn a_paused_group_is_resumed_below_xon_and_not_at_it_and_nothing_flaps_in_between() {
    for length in [1_000, 999, 1_498] {
        let mut bench = blocked(two_ports());
        let count = frames_until_xoff(&mut bench, length as usize);
        // Up and down between the thresholds.
        for _ in 0..5 {
            bench.release(B, P3);
            while held(&bench, A, P3) >= XON + cost(length) {
                bench.egress(B, 1);
                bench.run_until(bench.shard.port_deadline(B).max(bench.now()));
                bench.turn();
            }
            bench.block(B, P3);
            assert!(held(&bench, A, P3) >= XON);
            let room = (HEADROOM - headroom_held(&bench, A, P3)) / cost(length);
            bench.inject_singly(A, frames(room, length as usize));
        }
        assert_eq!(bench.pauses(A, P3).len(), 1, "{count} frames of {length}: one XOFF and no XON");

        bench.release(B, P3);
        while bench.pauses(A, P3).len() == 1 {
            assert!(held(&bench, A, P3) >= XON, "still paused below XON");
            bench.run_until(bench.shard.next_deadline());
        }
        let (at, time) = bench.pauses(A, P3)[1];
        assert_eq!(time, PauseQuanta::ZERO);
        assert_eq!(at, bench.now(), "XON leaves with the frame that fell below");
        let below = held(&bench, A, P3);
        assert!(below < XON && below + cost(length) >= XON, "{below}");
        assert_eq!(bench.dropped_in_all().frames, 0);
    }
}

#[test]
fn a_group_that_holds_exactly_xon_stays_paused() {
    let mut bench = blocked(two_ports());
    bench.inject_singly(A, frames(100, 1_000));
    bench.release(B, P3);
    while held(&bench, A, P3) > XON {
        bench.run_until(bench.shard.next_deadline());
    }
    assert_eq!(held(&bench, A, P3), XON);
    assert_eq!(bench.pauses(A, P3).len(), 1);
    bench.run_until(bench.shard.next_deadline());
    assert_eq!(bench.pauses(A, P3).len(), 2);
}

#[test]
fn after_xoff_exactly_the_headroom_is_accepted_and_the_next_cell_is_dropped_by_name() {
    for length in [1_000, 983, 64, 1_500, 9_216] {
        let mut bench = blocked(two_ports());
        frames_until_xoff(&mut bench, 1_000);
        assert_eq!(headroom_held(&bench, A, P3), 0);
        bench.inject_singly(A, frames(HEADROOM / cost(length), length as usize));
        // Into what those leave goes one frame more, which costs a cell beside its bytes.
        let rest = HEADROOM % cost(length);
        if rest > 0 {
            bench.inject_singly(A, frames(1, (rest - Cells::SIZE) as usize));
        }
        assert_eq!(headroom_held(&bench, A, P3), HEADROOM);
        assert_eq!(bench.dropped_in_all().frames, 0);
        bench.inject_singly(A, frames(3, 64));
        assert_eq!(bench.dropped_in_all().frames, 3);
        assert_eq!(bench.dropped(A, P3, DropReason::HeadroomExceeded).bytes, Bytes(192));
        assert_eq!(bench.pauses(A, P3).len(), 1);
    }
}

#[test]
fn what_the_headroom_gives_back_can_be_taken_again_and_is_given_back_first() {
    let mut bench = blocked(two_ports());
    bench.inject_singly(A, frames(150, 1_000));
    assert_eq!(headroom_held(&bench, A, P3), HEADROOM);
    bench.release(B, P3);
    bench.turn();
    bench.block(B, P3);
    assert_eq!(held(&bench, A, P3), XOFF + HEADROOM - COST);
    assert_eq!(headroom_held(&bench, A, P3), HEADROOM - COST);
    bench.inject_singly(A, frames(2, 1_000));
    assert_eq!(bench.dropped_in_all().frames, 1);
    assert_eq!(headroom_held(&bench, A, P3), HEADROOM);
}

/// Four ports in two pairs, with a headroom pool of 80 frames of 1,000 bytes for groups of 50 each.
fn oversubscribed() -> Testbench {
    let mut settings = patched(4);
    settings.buffer.headroom = Bytes(80 * COST);
    let mut bench = blocked(settings);
    bench.block(D, P3);
    bench
}

#[test]
fn an_oversubscribed_headroom_pool_holds_to_its_sum_and_each_group_to_its_own_limit() {
    let mut bench = oversubscribed();
    let from_c = || Flow::new(C, D).at(P3);
    bench.inject_singly(A, frames(100, 1_000));
    bench.inject_singly(C, from_c().udps(100, 1_000));
    assert_eq!(bench.shard.pools().headroom.held, Bytes::ZERO);
    bench.inject_singly(A, frames(51, 1_000));
    assert_eq!(bench.dropped(A, P3, DropReason::HeadroomExceeded).frames, 1, "its own limit comes first");
    bench.inject_singly(C, from_c().udps(31, 1_000));
    assert_eq!(headroom_held(&bench, C, P3), 30 * COST);
    assert_eq!(bench.dropped(C, P3, DropReason::HeadroomPoolFull).frames, 1);
    let pool = bench.shard.pools().headroom;
    assert_eq!((pool.held, pool.watermark.persistent()), (Bytes(80 * COST), Bytes(80 * COST)));

    // One group may take the headroom that the other gives back: up to the pool, then up to its own limit.
    bench.release(B, P3);
    bench.egress(B, 5);
    bench.run_until(bench.shard.port_deadline(B));
    let freed = HEADROOM - headroom_held(&bench, A, P3);
    bench.block(B, P3);
    bench.inject_singly(C, from_c().udps(21, 1_000));
    assert_eq!(headroom_held(&bench, C, P3), 30 * COST + freed);
    assert_eq!(bench.shard.pools().headroom.watermark.persistent(), Bytes(80 * COST));
}

#[test]
fn reserved_bytes_are_there_when_the_shared_pool_is_used_up() {
    let mut settings = patched(4);
    settings.buffer.shared = Bytes(200 * COST);
    settings.buffer.egress_lossy = Bytes(200 * COST);
    *group_of(&mut settings, A, P3) = LosslessGroup {
        reserved: Bytes(10 * COST),
        xoff: Threshold::Static(Bytes(60 * COST)),
        xon: Bytes(20 * COST),
        xon_offset: Bytes::ZERO,
        headroom: Bytes(HEADROOM),
    };
    settings.ports[3].pfc.obey_global_pause = true;
    let mut bench = blocked(settings);
    bench.inject_global_pause(D, PauseQuanta::MAX);
    bench.inject(C, Flow::new(C, D).at(P1).udps(201, 1_000));
    assert_eq!(bench.dropped(C, P1, DropReason::SharedPoolFull).frames, 1);
    assert_eq!(bench.shard.pools().shared.held, Bytes(200 * COST));

    bench.inject_singly(A, frames(10, 1_000));
    assert!(bench.pauses(A, P3).is_empty(), "the reserved bytes are its own");
    assert_eq!(held(&bench, A, P3), 10 * COST);
    bench.inject_singly(A, frames(1, 1_000));
    assert_eq!(bench.shard.group(bench.now(), A, P3).paused, Some(PauseCause::PoolFull));
    assert_eq!(bench.pauses(A, P3).len(), 1);
    assert_eq!(headroom_held(&bench, A, P3), COST, "and beyond them it lives on headroom");
    bench.inject_singly(A, frames(50, 1_000));
    assert_eq!(bench.dropped(A, P3, DropReason::HeadroomExceeded).frames, 1);
    assert_eq!(bench.shard.pools().shared.held, Bytes(200 * COST));
}

#[test]
fn watermarks_are_exact_persist_and_start_again_from_the_present_level_when_cleared() {
    let mut bench = blocked(two_ports());
    bench.inject_singly(A, frames(130, 1_000));
    let marks = |bench: &Testbench| {
        let group = bench.shard.group(bench.now(), A, P3);
        let (queue, pools) = (bench.shard.queue(bench.now(), B, P3), bench.shard.pools());
        [
            group.watermark,
            group.headroom_watermark,
            queue.watermark,
            pools.shared.watermark,
            pools.headroom.watermark,
            pools.egress_lossy.watermark,
        ]
    };
    let at_peak = [100 * COST, 30 * COST, 130_000, 100 * COST, 30 * COST, 0].map(Bytes);
    assert_eq!(marks(&bench).map(|mark| mark.since_cleared()), at_peak);
    bench.release(B, P3);
    while held(&bench, A, P3) > 90 * COST {
        bench.run_until(bench.shard.next_deadline());
    }
    assert_eq!(marks(&bench).map(|mark| mark.since_cleared()), at_peak, "what left does not lower them");
    bench.shard.clear_watermarks();
    let now = [90 * COST, 0, 90_000, 90 * COST, 0, 0].map(Bytes);
    assert_eq!(marks(&bench).map(|mark| mark.since_cleared()), now);
    assert_eq!(marks(&bench).map(|mark| mark.persistent()), at_peak);
    bench.run_dry();
    bench.shard.clear_watermarks();
    assert_eq!(marks(&bench).map(|mark| mark.since_cleared()), [Bytes::ZERO; 6]);
    bench.inject(A, frames(3, 1_000));
    assert_eq!(marks(&bench)[0].since_cleared(), Bytes(3 * COST));
    assert_eq!(marks(&bench).map(|mark| mark.persistent()), at_peak);
}

#[test]
fn a_lossy_queue_drops_at_egress_beyond_its_static_threshold_and_takes_no_headroom() {
    let mut settings = two_ports();
    settings.ports[1].pfc.obey_global_pause = true;
    settings.ports[1].queues[1].lossy =
        LossyQueue { reserved: Bytes(2 * COST), threshold: Threshold::Static(Bytes(50 * COST)) };
    let mut bench = Testbench::new(settings);
    bench.inject_global_pause(B, PauseQuanta::MAX);
    bench.inject_singly(A, Flow::new(A, B).at(P1).udps(60, 1_000));
    assert_eq!(bench.shard.queue(bench.now(), B, P1).waiting.frames, 50);
    assert_eq!(bench.dropped(B, P1, DropReason::QueueThreshold).frames, 10);
    assert_eq!(bench.shard.ledger().discarded(A, B, P1).frames, 10);
    assert_eq!(bench.shard.pools().egress_lossy.held, Bytes(48 * COST));
    assert_eq!(bench.shard.pools().headroom.watermark.persistent(), Bytes::ZERO);
    assert_eq!(held(&bench, A, P1), 50 * COST, "what was dropped at egress is no longer charged");
    assert!(bench.sent(A).is_empty(), "no one is paused for a lossy priority");
}

#[test]
fn lossy_queues_share_their_pool_by_dynamic_thresholds() {
    let mut settings = patched(2);
    settings.ports[1].pfc.obey_global_pause = true;
    for queue in &mut settings.ports[1].queues {
        queue.lossy.threshold = alpha(0);
    }
    settings.buffer.egress_lossy = Bytes(900 * COST);
    let mut bench = Testbench::new(settings);
    bench.inject_global_pause(B, PauseQuanta::MAX);
    let waiting = |bench: &Testbench, priority| bench.shard.queue(bench.now(), B, priority).waiting.bytes;
    let at = |priority: u8| Priority::new(priority).unwrap();
    bench.inject_singly(A, Flow::new(A, B).at(at(1)).udps(900, 1_000));
    assert_eq!(waiting(&bench, at(1)), Bytes(450_000), "alone: half");
    bench.inject_singly(A, Flow::new(A, B).at(at(2)).udps(900, 1_000));
    assert_eq!(waiting(&bench, at(2)), Bytes(225_000), "half of the rest");
    bench.inject_singly(A, Flow::new(A, B).at(at(1)).udps(1, 60));
    assert_eq!(waiting(&bench, at(1)), Bytes(450_000), "the first is above the threshold now");
    assert_eq!(bench.dropped_in_all().frames, 450 + 675 + 1);
}

#[test]
fn a_full_egress_pool_drops_lossy_frames_by_name() {
    let mut settings = two_ports();
    settings.ports[1].pfc.obey_global_pause = true;
    settings.buffer.egress_lossy = Bytes(10 * COST + COST / 2);
    let mut bench = Testbench::new(settings);
    bench.inject_global_pause(B, PauseQuanta::MAX);
    bench.inject_singly(A, Flow::new(A, B).at(P1).udps(12, 1_000));
    assert_eq!(bench.dropped(B, P1, DropReason::EgressPoolFull).frames, 2);
}

#[test]
fn lossless_frames_pass_egress_admission_whatever_the_lossy_limit_says() {
    let mut settings = two_ports();
    settings.buffer.egress_lossy = Bytes::ZERO;
    for queue in &mut settings.ports[1].queues {
        queue.lossy.threshold = Threshold::Static(Bytes::ZERO);
    }
    let mut bench = blocked(settings);
    bench.inject_singly(A, frames(150, 1_000));
    assert_eq!(bench.shard.queue(bench.now(), B, P3).waiting.frames, 150);
    bench.inject_singly(A, Flow::new(A, B).at(P1).udps(1, 1_000));
    assert_eq!(bench.dropped(B, P1, DropReason::EgressPoolFull).frames, 1);
}

#[test]
fn a_group_whose_headroom_is_not_drained_stays_paused_when_its_threshold_rises() {
    // Port A is paused at a low dynamic threshold, because C holds most of the pool, and its headroom
    // fills with what was on the way. Then C drains: A's threshold rises far above what A holds.
    let mut settings = switch(4, BitRate::gigabits(100), ForwardingSettings::Patch(vec![(A, B), (C, D)]));
    settings.buffer.shared = Bytes(1_000 * COST);
    settings.buffer.egress_lossy = Bytes(1_000 * COST);
    for port in [A, C] {
        let group = group_of(&mut settings, port, P3);
        (group.xoff, group.xon, group.headroom) = (alpha(0), Bytes(COST), Bytes(HEADROOM));
    }
    group_of(&mut settings, C, P3).xoff = alpha(6);
    let mut bench = blocked(settings);
    bench.block(D, P3);
    bench.inject(C, Flow::new(C, D).at(P3).udps(980, 1_000));
    bench.turn();
    bench.inject_singly(A, frames(60, 1_000));
    assert_eq!((held(&bench, A, P3), headroom_held(&bench, A, P3)), (60 * COST, HEADROOM));
    bench.release(D, P3);
    while held(&bench, C, P3) > 0 {
        bench.run_until(bench.shard.next_deadline());
    }
    // If A was resumed, it may send until it is paused again, and then for a round trip more, for which the whole
    // headroom is there.
    let resumed = matches!(bench.pauses(A, P3).last(), Some((_, PauseQuanta::ZERO)));
    if resumed {
        let xoffs = |bench: &Testbench| bench.pauses(A, P3).iter().filter(|(_, time)| time.0 > 0).count();
        let before = xoffs(&bench);
        while xoffs(&bench) == before {
            bench.inject_singly(A, frames(1, 1_000));
        }
        bench.inject_singly(A, frames(HEADROOM / COST, 1_000));
    }
    assert_eq!(bench.dropped_in_all().frames, 0, "a lossless frame was dropped");
}

#[test]
fn a_full_pool_never_resumes_a_group_that_still_needs_its_headroom() {
    let mut settings = patched(4);
    settings.buffer.shared = Bytes(200 * COST);
    settings.buffer.egress_lossy = Bytes(200 * COST);
    settings.ports[0].groups[3] = lossless(XOFF, 90 * COST, HEADROOM);
    settings.ports[3].pfc.obey_global_pause = true;
    let mut bench = blocked(settings);
    bench.inject_global_pause(D, PauseQuanta::MAX);
    bench.inject(C, Flow::new(C, D).at(P1).udps(200, 1_000));
    // The pool is full of lossy frames: A is paused by its first frame, and below XON from the start.
    bench.inject_singly(A, frames(1, 1_000));
    assert_eq!(bench.shard.group(bench.now(), A, P3).paused, Some(PauseCause::PoolFull));
    // Each time that A is resumed, it sends for a round trip more.
    for _ in 0..20 {
        let resumed = matches!(bench.pauses(A, P3).last(), Some((_, PauseQuanta::ZERO)));
        if resumed {
            bench.inject_singly(A, frames(10, 1_000));
        }
        bench.inject_global_pause(D, PauseQuanta::ZERO);
        bench.egress(D, 1);
        bench.inject_global_pause(D, PauseQuanta::MAX);
        bench.run_until(bench.shard.port_deadline(D).min(bench.now() + units::Interval(200)));
        bench.inject(C, Flow::new(C, D).at(P1).udps(1, 1_000));
    }
    assert_eq!(bench.dropped(A, P3, DropReason::HeadroomExceeded).frames, 0);
    assert_eq!(bench.dropped(A, P3, DropReason::HeadroomPoolFull).frames, 0);
}

#[test]
fn nobody_stays_paused_by_a_switch_that_holds_nothing() {
    // A frame that fits neither the threshold nor the headroom is dropped. There is nothing inside
    // whose departure could end a pause, so there must be none.
    let mut settings = two_ports();
    settings.ports[0].groups[3] = lossless(5_000, 2_000, 0);
    let mut bench = Testbench::new(settings);
    bench.inject_singly(A, frames(1, 6_000));
    assert_eq!(bench.dropped(A, P3, DropReason::HeadroomExceeded).frames, 1);
    bench.run_for(units::Interval::from_millis(10));
    assert_eq!(bench.shard.group(bench.now(), A, P3).paused, None);
    let last = bench.pauses(A, P3).last().copied();
    assert!(matches!(last, None | Some((_, PauseQuanta::ZERO))), "{last:?}");
}

#[test]
fn a_priority_that_becomes_lossless_while_memory_is_low_is_paused() {
    let mut bench = Testbench::new(patched(2));
    bench.shard.set_memory_low(true);
    let mut settings = bench.shard.program().settings().clone();
    assert_eq!(settings.ports[A.index()].groups[P1.index()].lossless(), None);
    settings.ports[A.index()].groups[P1.index()] = lossless(8_000, 4_000, 15_000);
    bench.shard.install(bench.now(), Arc::new(Program::new(settings).unwrap())).unwrap();
    assert_eq!(bench.shard.group(bench.now(), A, P1).paused, Some(PauseCause::MemoryLow));
}
