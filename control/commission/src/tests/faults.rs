//! Planted faults.

use super::world::{KEY, World, faults, file};
use crate::frame::{self, Stamp, Way};
use crate::{Fault, Report, Terms, Verdict};
use core::cell::RefCell;
use std::rc::Rc;
use units::Interval;
use wire::ethernet::MacAddress;
use wire::rate_feedback::Key;

const TERMS: Terms = Terms { loss: Interval::from_millis(100), stops: 4, soak: Interval::ZERO };

fn text(reports: &[Report; 2]) -> String {
    reports.iter().map(Report::text).collect()
}

/// Runs `world`, and checks that both ends name `expected` and nothing else.
#[track_caller]
fn names(world: World, expected: &[Fault]) -> [Report; 2] {
    let reports = world.run();
    for report in &reports {
        assert!(report.complete, "{}", text(&reports));
    }
    assert_eq!(faults(&reports), expected, "{}", text(&reports));
    reports
}

fn is_pfc(frame: &[u8]) -> bool {
    frame[12..14] == [0x88, 0x08]
}

/// Whether a frame is one of the test device's.
fn is_data(frame: &[u8]) -> bool {
    frame[12..14] == [0x08, 0x00]
}

#[test]
fn a_link_without_a_fault_passes_every_step() {
    let world = World::new(Terms { soak: Interval::from_millis(200), ..TERMS });
    let reports = names(world, &[]);
    for report in &reports {
        assert!(report.steps.iter().all(|step| step.verdict == Verdict::Pass), "{}", report.text());
        assert_eq!(report.verdict, Verdict::Pass);
        let has = |part: &str| report.steps.iter().any(|step| step.step.contains(part));
        assert!(
            ["delay", "lengths", "marks", "passage", "loss", "obedience", "soak", "workers"]
                .into_iter()
                .all(has)
        );
        assert_eq!(report.suggested[0].0, "device.pfc_frames = \"require\"");
    }
}

#[test]
fn frames_that_are_too_long_for_something_on_the_way_are_named_with_the_mtu_that_remains() {
    let world = World::new(TERMS);
    world.plant(|_, frame| (frame.len() <= 1_400).then_some(Interval::ZERO));
    let reports = names(world, &[Fault::Length]);
    assert!(reports[0].suggested.iter().any(|(line, _)| line == "mtu = 1262"), "{}", text(&reports));
}

#[test]
fn swallowed_pfc_is_lost_or_kept_by_the_card_as_the_card_counts() {
    let world = World::new(TERMS);
    world.plant(|_, frame| (!is_pfc(frame)).then_some(Interval::ZERO));
    let reports = world.run();
    let named = faults(&reports);
    assert!(named.contains(&Fault::PfcLost) && named.contains(&Fault::LateObedience), "{}", text(&reports));

    let world = World::new(TERMS);
    let counted = world.counted();
    world.plant(move |_, frame| {
        counted.set(counted.get().map(|it| it + u64::from(is_pfc(frame))));
        (!is_pfc(frame)).then_some(Interval::ZERO)
    });
    let reports = world.run();
    let named = faults(&reports);
    assert!(named.contains(&Fault::PfcKept) && !named.contains(&Fault::PfcLost), "{}", text(&reports));
}

#[test]
fn a_card_that_counts_the_pauses_it_hands_over_is_no_fault() {
    let world = World::new(TERMS);
    let counted = world.counted();
    world.plant(move |_, frame| {
        counted.set(counted.get().map(|it| it + u64::from(is_pfc(frame))));
        Some(Interval::ZERO)
    });
    names(world, &[]);
}

#[test]
fn marks_that_something_rewrites_are_named() {
    let rewrite = |mask: u8, value: u8| {
        let world = World::new(TERMS);
        world.plant(move |_, frame| {
            if is_data(frame) && frame[15] >> 2 != 26 {
                frame[15] = frame[15] & !mask | value;
            }
            Some(Interval::ZERO)
        });
        world
    };
    names(rewrite(0xfc, 0), &[Fault::Dscp]);
    names(rewrite(0x03, 0), &[Fault::Ecn]);
}

#[test]
fn an_ether_type_that_something_keeps_is_named() {
    let world = World::new(TERMS);
    world.plant(|_, frame| (frame[12..14] != [0x88, 0xcc]).then_some(Interval::ZERO));
    names(world, &[Fault::EtherType]);
}

#[test]
fn a_loss_of_one_frame_in_a_hundred_thousand_is_named() {
    let world = World::new(Terms { loss: Interval::from_secs(1), stops: 1, ..TERMS });
    let mut passed = 0;
    world.plant(move |_, frame| {
        passed += u64::from(is_data(frame));
        (!is_data(frame) || passed % 100_000 != 99_999).then_some(Interval::ZERO)
    });
    names(world, &[Fault::Loss]);
}

#[test]
fn frames_that_the_other_end_holds_for_less_than_silence_are_not_lost() {
    let world = World::new(TERMS);
    let mut begun = None;
    // From the middle of the first step of loss on, whose sender says meanwhile that it has sent all.
    world.plant_back(move |now, frame| {
        let is_late = is_data(frame)
            && frame[56] == 5
            && now.since(*begun.get_or_insert(now)) >= Interval::from_millis(50);
        Some(if is_late { Interval::from_millis(550) } else { Interval::ZERO })
    });
    names(world, &[]);
}

#[test]
fn frames_that_come_twice_are_named() {
    let world = World::new(TERMS);
    let back = world.doubler();
    world.plant(move |now, frame| {
        if is_data(frame) {
            back(now, frame.clone());
        }
        Some(Interval::ZERO)
    });
    names(world, &[Fault::Duplicates]);
}

#[test]
fn a_loss_and_a_frame_that_comes_twice_are_both_named() {
    let world = World::new(TERMS);
    let back = world.doubler();
    let mut passed = 0;
    world.plant(move |now, frame| {
        passed += u64::from(is_data(frame) && frame[56] == 5);
        match passed {
            50 if is_data(frame) => return None,
            60 if is_data(frame) => back(now, frame.clone()),
            _ => {}
        }
        Some(Interval::ZERO)
    });
    names(world, &[Fault::Loss, Fault::Duplicates]);
}

#[test]
fn a_frame_that_circulates_does_not_keep_a_step_from_its_end() {
    let mut world = World::new(TERMS);
    let back = world.doubler();
    let kept = Rc::new(RefCell::new(None));
    let keep = Rc::clone(&kept);
    world.plant(move |_, frame| {
        // In the first step of loss.
        if is_data(frame) && frame[56] == 5 {
            keep.borrow_mut().get_or_insert_with(|| frame.clone());
        }
        Some(Interval::ZERO)
    });
    world.each = Box::new(move |asleep| {
        let is_due = asleep.now.0 % 50_000_000 == 0;
        if let (true, Some(frame)) = (is_due, &*kept.borrow()) {
            back(asleep.now, frame.clone());
        }
    });
    names(world, &[Fault::Duplicates]);
}

#[test]
fn a_direction_that_brings_no_frame_is_lossy_and_all_that_needs_frames_is_unknown() {
    let world = World::new(Terms { soak: Interval::from_millis(200), ..TERMS });
    world.plant(|_, frame| (!is_data(frame)).then_some(Interval::ZERO));
    let reports = names(world, &[Fault::Loss]);
    for report in &reports {
        let unknown = report.steps.iter().filter(|it| it.verdict == Verdict::Unknown);
        let unknown: Vec<_> = unknown.map(|it| it.step.split(' ').next().unwrap()).collect();
        let expected = ["loss"; 7].into_iter().chain(["obedience", "obedience", "soak"]);
        assert_eq!(unknown, expected.collect::<Vec<_>>(), "{}", report.text());
        assert!(report.suggested.iter().all(|(line, _)| !line.starts_with("mtu")), "{}", report.text());
    }
}

#[test]
fn ports_without_lossless_priorities_have_nothing_to_obey() {
    let lossless = "[[port.lossless]]\npriorities = [3]\nxoff = \"64KiB\"\nheadroom = \"64KiB\"\n";
    let lossy = file(&[(lossless, "")]);
    let reports = names(World::of([&lossy; 2], [KEY; 2], TERMS), &[]);
    assert_eq!(reports.each_ref().map(|it| it.verdict), [Verdict::Pass; 2], "{}", text(&reports));
}

#[test]
fn obedience_ends_and_is_unknown_if_frames_come_no_longer() {
    let world = World::new(TERMS);
    // Step 12 and 13, after seven lengths of loss.
    world.plant(|_, frame| (!is_data(frame) || frame[56] < 12).then_some(Interval::ZERO));
    let reports = names(world, &[]);
    assert_eq!(reports.each_ref().map(|it| it.verdict), [Verdict::Unknown; 2], "{}", text(&reports));
}

#[test]
fn a_link_that_loses_half_of_all_frames_is_lossy_and_not_silent() {
    let world = World::new(Terms { loss: Interval::from_secs(1), ..TERMS });
    let mut state = 1_u64;
    world.plant(move |_, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 63 == 0).then_some(Interval::ZERO)
    });
    let reports = world.run();
    assert!(reports.iter().all(|it| it.complete), "{}", text(&reports));
    assert!(faults(&reports).contains(&Fault::Loss), "{}", text(&reports));
}

#[test]
fn a_peer_that_obeys_later_than_headroom_covers_is_named() {
    let world = World::new(TERMS);
    // 64 KiB are 5 ms at 100 Mb/s.
    world.plant(|_, frame| Some(if is_pfc(frame) { Interval::from_millis(40) } else { Interval::ZERO }));
    let reports = names(world, &[Fault::Dropped, Fault::LateObedience]);
    let steps = |report: &Report| {
        let late =
            report.steps.iter().filter(|it| it.faults.iter().any(|it| it.fault == Fault::LateObedience));
        late.map(|it| it.step.clone()).collect::<Vec<_>>()
    };
    assert_eq!(steps(&reports[0]), ["obedience of the other end"]);
    assert_eq!(steps(&reports[1]), ["obedience of this end"]);
}

#[test]
fn a_link_longer_than_the_file_says_is_named_with_its_length() {
    let world = World::of([&file(&[("20km", "1km")]); 2], [KEY; 2], TERMS);
    world.plant(|_, _| Some(Interval::from_millis(12)));
    // There are 6 ms each way, since the first direction alone is longer.
    let reports = names(world, &[Fault::Distance, Fault::Dropped]);
    let line = &reports[0].suggested[0].0;
    assert!(line.starts_with("distance = \"12"), "{line}");
}

#[test]
fn a_core_that_is_taken_away_is_named_at_its_end() {
    let mut world = World::new(TERMS);
    let begin = world.now.get();
    // In the step of marks, so that no frame is lost for it.
    world.each = Box::new(move |asleep| {
        if asleep.now == begin + Interval::from_micros(6_500_000) {
            asleep.until = asleep.now + Interval::from_millis(200);
        }
    });
    let reports = names(world, &[Fault::SlowCore]);
    let texts = reports.each_ref().map(|it| it.steps.last().unwrap().faults[0].text.clone());
    assert!(texts[0].starts_with("the other end") && texts[1].starts_with("this end"), "{texts:?}");
}

#[test]
fn the_book_has_every_fault() {
    const PAGE: &str = include_str!("../../../../docs/commission.md");
    let missing: Vec<_> =
        Fault::ALL.iter().filter(|it| !PAGE.contains(&format!("`{}`", it.name()))).collect();
    assert!(missing.is_empty(), "docs/commission.md lacks {missing:?}");
}

#[test]
fn files_that_differ_are_named() {
    let other = file(&[("mtu = 1500", "mtu = 1400"), ("\"26\" = 3", "\"26\" = 3, \"27\" = 3")]);
    let world = World::of([&file(&[]), &other], [KEY; 2], TERMS);
    names(world, &[Fault::Classes, Fault::MaxFrame]);

    let other = file(&[("\"26\" = 3", "\"26\" = 4"), ("priorities = [3]", "priorities = [4]")]);
    let reports = names(World::of([&file(&[]), &other], [KEY; 2], TERMS), &[Fault::Classes]);
    assert!(reports[0].steps[0].faults[0].text.contains("different priorities"), "{}", text(&reports));
}

#[test]
fn obedience_is_unknown_where_pauses_follow_slots() {
    let bifrost = file(&[(
        "link_delay = {",
        "flow_control = \"bifrost\"\nbifrost = { lateness = \"1ms\" }\nlink_delay = {",
    )]);
    let reports = names(World::of([&bifrost; 2], [KEY; 2], TERMS), &[]);
    assert_eq!(reports.each_ref().map(|it| it.verdict), [Verdict::Unknown; 2], "{}", text(&reports));
    assert!(reports[0].text().contains("slots of time"), "{}", text(&reports));
}

#[test]
fn nothing_is_sent_beside_data_and_the_course_ends() {
    let data = {
        let mut frame = vec![0; 64];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        frame[12..14].copy_from_slice(&[8, 0]);
        frame
    };
    let mut of_another_course = Vec::new();
    let way = Way { source: MacAddress([2, 0, 0, 0, 0, 8]), destination: MacAddress([2, 0, 0, 0, 0, 9]) };
    frame::write(
        &mut of_another_course,
        way,
        60,
        (26, 0),
        &Stamp { session: 9, number: 0, step: 5, value: 0 },
    );
    for data in [data.clone(), of_another_course] {
        let mut world = World::new(TERMS);
        world.plant(|_, _| panic!("the first end sends while it listens"));
        world.plant_back(|_, _| panic!("the second end sends beside data"));
        world.pass(Interval::from_millis(1_900));
        world.plant(|_, _| Some(Interval::ZERO));
        world.inject(data);
        world.pass(Interval::from_secs(2));
        let reports = world.reports();
        assert!(reports[1].ended.contains("data of others"), "{}", reports[1].text());
        assert_eq!((reports[1].verdict, reports[1].steps.len()), (Verdict::Unknown, 0));
    }

    // In the middle, too.
    let mut world = World::new(TERMS);
    world.pass(Interval::from_secs(8));
    world.inject(data);
    let reports = world.run();
    assert!(reports[1].ended.contains("data of others"), "{}", reports[1].text());
    assert!(reports[0].ended.contains("silent"), "{}", reports[0].text());
}

#[test]
fn an_end_that_hears_no_more_of_the_other_one_lets_all_go_on_and_stops() {
    let mut world = World::new(TERMS);
    world.pass(Interval::from_secs(9));
    world.end(1);
    let (resumed, seen) =
        (std::rc::Rc::new(std::cell::Cell::new(0)), std::rc::Rc::new(std::cell::Cell::new(0)));
    let counters = (resumed.clone(), seen.clone());
    let silent = world.now.get() + Interval::from_millis(600);
    world.plant(move |now, frame| {
        let (resumed, seen) = &counters;
        seen.set(seen.get() + u64::from(is_data(frame) && now > silent));
        let resumes = is_pfc(frame) && frame[16..18] == [0, 0xff] && frame[18..34].iter().all(|it| *it == 0);
        resumed.set(resumed.get() + u64::from(resumes));
        Some(Interval::ZERO)
    });
    world.pass(Interval::from_millis(2_600));
    assert!(world.is_over());
    assert_eq!((resumed.get(), seen.get()), (3, 0), "all may go on, and no frame is sent any more");
    let reports = world.reports();
    assert!(reports[0].ended.contains("silent") && !reports[0].complete, "{}", reports[0].text());
    assert!(reports[1].ended.contains("interrupted"), "{}", reports[1].text());
}

#[test]
fn a_stranger_with_another_key_starts_nothing() {
    let mut world = World::of([&file(&[]); 2], [KEY, Key([8; 16])], TERMS);
    world.plant(|_, frame| {
        assert!(!is_data(frame), "no frame starts anything");
        Some(Interval::ZERO)
    });
    world.pass(Interval::from_secs(10));
    let reports = world.reports();
    assert!(reports[0].ignored.forged > 50 && reports[0].steps.is_empty(), "{}", reports[0].text());
}

#[test]
fn forged_and_recorded_messages_change_nothing_and_are_counted() {
    let world = World::new(TERMS);
    let doubled = world.doubler();
    let mut count = 0;
    world.plant(move |now, frame| {
        if frame[12..18] == [0x88, 0xb5, 1, 0, 0, 5] {
            count += 1;
            let mut copy = frame.clone();
            if count % 2 == 0 {
                copy[60] ^= 1;
            }
            doubled(now, copy);
        }
        Some(Interval::ZERO)
    });
    let reports = names(world, &[]);
    let ignored = reports[1].ignored;
    assert!(ignored.forged > 10 && ignored.replayed > 10 && ignored.strange == 0, "{ignored:?}");
}
