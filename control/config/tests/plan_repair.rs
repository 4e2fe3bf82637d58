//! Plans of links that lose frames, with repair.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::plan::{Built, LinkPlan, PlanError, Proof, Quantity, Request, Scheme};
use units::{BitRate, Bytes, Distance, Interval};

fn request(kilometres: u64, gigabits: u64, scheme: Scheme) -> Request {
    Request { scheme, lanes: 1, ..Request::new(Distance(kilometres * 1_000), BitRate::gigabits(gigabits)) }
}

#[test]
fn a_plan_with_repair_shows_what_both_ends_keep_and_has_buffer_for_what_comes_again() {
    for scheme in [Scheme::PFC, Scheme::BIFROST] {
        let plain = request(3_000, 50, scheme);
        let request = Request { repair: true, ..plain.clone() };
        let parts = LinkPlan::new(&request).unwrap().parts;
        let step = |part: &str, name: &str| {
            let mut of = parts.iter().filter(|it| it.title.starts_with(part)).flat_map(|it| &it.steps);
            of.find(|step| step.name == name).unwrap_or_else(|| panic!("{scheme}: no {name}"))
        };
        let shown = |name: &str| step("Repair of lh0", name).result.number();
        let built = LinkPlan::new(&request).unwrap().built;
        let (port, plain) = (built.long().0, LinkPlan::new(&plain).unwrap().built);
        let repair = port.repair.unwrap();
        assert_eq!((shown("kept"), shown("frames")), (repair.retention.0, repair.frames.into()));
        assert_eq!(shown("numbers"), switch::repair::Repair::NUMBER.0 * shown("frames"));
        let more = port.repaired_in_flight();
        assert_eq!((shown("repaired"), shown("kept")), (more.0, more.0));
        assert_eq!(shown("overhead"), 12 * 1_000_000 / 4_178, "packets of 4 KiB");
        // Control: without it, what may come is smaller by as much.
        let group = |built: &Built| *built.long().0.groups[3].lossless().unwrap();
        match (port.bifrost(), plain.long().0.bifrost()) {
            (Some(with), Some(without)) => {
                assert_eq!((with.slot, with.buffer), (without.slot, without.buffer + more));
                let numbers = &step("Buffer of lh0", "H").numbers;
                let terms = numbers.split(" + ").map(|it| it.replace(' ', "").parse::<Bytes>().unwrap());
                let off = terms.fold(Bytes::ZERO, |sum, term| sum + term).0.abs_diff(with.buffer.0);
                assert!(off < with.buffer.0 / 100, "{numbers}");
            }
            _ => {
                let (with, without) = (group(&built), group(&plain));
                assert!(with.headroom.0 - without.headroom.0 >= more.0, "{with:?}");
                assert!(
                    with.xon.0 - without.xon.0 >= more.0,
                    "a pause ends while as much is queued: {with:?}"
                );
            }
        }
        assert!(!plain.texts[0].1.contains("repair") && built.texts[1].1.contains("\nrepair = {}\n"));
    }
}

#[test]
fn hosts_of_a_repaired_link_wait_for_a_silence_and_three_round_trips() {
    let timeout = |repair| {
        let plan = LinkPlan::new(&Request { repair, ..request(3_000, 50, Scheme::BIFROST) }).unwrap();
        let timeout = plan.hosts.part.steps.into_iter().find(|step| step.name == "ack_timeout").unwrap();
        timeout.result
    };
    assert_eq!(timeout(true), Quantity::Time(Interval(4_096 << 16)), "50 ms and 3 x 30 ms");
    assert!(timeout(false).number() < timeout(true).number(), "{}", timeout(false));
}

#[test]
fn a_plan_with_repair_where_nobody_has_shown_a_bound_is_refused_with_the_reason() {
    let base = Request { repair: true, ..request(80, 50, Scheme::BIFROST) };
    let refused = |request: &Request| LinkPlan::new(request).unwrap_err().to_string();
    let other = refused(&Request { scheme: "bifrostx".parse().unwrap(), ..base.clone() });
    assert!(other.contains("repair has no bound for this flow control"), "{other}");
    let links = refused(&Request { links: 2, ..base.clone() });
    assert!(links.contains("no member of a bundle is repaired"), "{links}");
    // What one lane cannot carry is said, as lanes cannot be had.
    let plan = LinkPlan::new(&Request { lanes: 0, rate: BitRate::gigabits(100), ..base.clone() }).unwrap();
    assert_eq!((plan.built.request.lanes, plan.lacks.first().map(|lack| lack.of)), (1, Some("cores")));
    let why = &plan.lacks[0].why;
    assert!(why.contains("--lanes 2 would carry this one, but") && why.contains("repair"), "{why}");
    let proof = Proof::new(&LinkPlan::new(&base).unwrap().built).unwrap_err();
    assert_eq!(proof, PlanError::ProofOfRepair);
}
