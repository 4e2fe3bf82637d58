//! Plans of long links: what they emit is valid, and holds what it promises.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::plan::{
    Case, LinkPlan, Part, PlanError, Proof, Quantity, Request, Run, RunEnd, Scheme, Step, Unreached,
    WatchdogVerdict,
};
use config::runtime::DeviceKind;
use config::{Severity, parse};
use proptest::prelude::*;
use switch::Program;
use switch::program::{FlowControl, GroupSettings, Threshold};
use units::{BitRate, Bytes, Cells, Distance, Interval, Priority, PrioritySet, WireBytes, human};

fn request(kilometres: u64, gigabits: u64, scheme: Scheme) -> Request {
    Request { scheme, lanes: 1, ..Request::new(Distance(kilometres * 1_000), BitRate::gigabits(gigabits)) }
}

fn scheme(word: &str) -> Scheme {
    word.parse().unwrap()
}

fn prioritised(count: u8) -> PrioritySet {
    (1..=count).map(|it| Priority::new(it).unwrap()).collect()
}

fn any_request() -> impl Strategy<Value = Request> {
    let rate = prop::sample::select(vec![1_u64, 10, 25, 40, 100, 200, 400, 800]);
    let mtu = prop::sample::select(vec![1_500_u64, 4_200, 9_000, 9_100]);
    let scheme = prop::sample::select(Scheme::all().collect::<Vec<_>>());
    let metres = prop_oneof![0_u64..2_000, 0_u64..200_000, 0_u64..=20_000_000];
    (metres, rate, mtu, 1_u8..=3, scheme, any::<bool>()).prop_map(
        |(metres, rate, mtu, count, scheme, lscc)| Request {
            mtu: Bytes(mtu),
            priorities: prioritised(count),
            scheme,
            lscc,
            lanes: 1,
            ..Request::new(Distance(metres), BitRate::gigabits(rate))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_link_has_a_plan_without_warnings_or_the_reason_why_lscc_has_none(request in any_request()) {
        let plain = Request { lscc: false, ..request.clone() };
        let plan = LinkPlan::new(&plain);
        prop_assert!(plan.is_ok(), "{:?}", plan.err().map(|error| error.to_string()));
        for (name, text) in &plan.unwrap().built.texts {
            let gateway = parse(text, name);
            prop_assert!(gateway.is_ok(), "{:?}", gateway.err().map(|error| error.to_string()));
            let gateway = gateway.unwrap();
            prop_assert_eq!(&gateway.warnings, &[]);
            for port in &gateway.program.settings().ports {
                // One code point for each lossless priority, and that of CNPs.
                let unlike = port.classification.dscp.iter().filter(|it| **it != port.classification.default);
                prop_assert_eq!(unlike.count(), port.lossless().iter().count() + 1);
            }
        }
        let text = match LinkPlan::new(&request) {
            Ok(plan) => plan.built.texts[0].1.clone(),
            // Equation (12) and sequence numbers have no solution on every link.
            Err(error @ (PlanError::NoStep { .. } | PlanError::Refused { .. })) if request.lscc => {
                let said = error.to_string();
                prop_assert!(said.contains("equation (12)") || said.contains("packets in flight"), "{}", said);
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        // The key file is not there, so a key takes its place.
        let text = text.replace("key_file = \"link.key\"", "key = \"ffeeddccbbaa99887766554433221100\"");
        let gateway = parse(&text, "gateway.toml");
        prop_assert!(gateway.is_ok(), "{:?}", gateway.err().map(|error| error.to_string()));
        prop_assert_eq!(gateway.unwrap().warnings, []);
    }
}

#[test]
fn a_plan_shows_the_numbers_of_the_examples() {
    let step = |request: &Request, part: &str, name: &str| {
        let plan = LinkPlan::new(request).unwrap();
        let part = plan.parts.iter().find(|it| it.title.starts_with(part)).unwrap().clone();
        part.steps.into_iter().find(|it| it.name == name).unwrap().result
    };
    let pfc = request(80, 100, Scheme::PFC);
    // As config/gateways/longhaul-80km.toml adds it up.
    assert_eq!(step(&pfc, "Headroom", "headroom"), Quantity::Bytes(11_462_845));
    // As longhaul-bifrost-80km.toml does.
    let bifrost = request(80, 100, Scheme::BIFROST);
    assert_eq!(step(&bifrost, "The long link", "RTT"), Quantity::Time(Interval(814_564)));
    assert_eq!(step(&bifrost, "Buffer of lh0", "T"), Quantity::Time(Interval(28_100)));
    assert_eq!(step(&bifrost, "Buffer of lh0", "H"), Quantity::Bytes(11_319_942));
    assert_eq!(step(&bifrost, "Buffer of lh0", "XOFF"), Quantity::Bytes(13_359_456));
    // As longhaul-lscc-80km.toml does.
    let lscc = Request { lscc: true, ..bifrost };
    assert_eq!(step(&lscc, "LSCC", "N"), Quantity::Count(5));
    assert_eq!(step(&lscc, "LSCC", "Qref"), Quantity::Bytes(1_268_205));
    assert_eq!(step(&lscc, "LSCC", "dR"), Quantity::Rate(500_000_000));
    assert_eq!(step(&lscc, "Buffer of lh0", "H"), Quantity::Bytes(12_588_147));
    let built = LinkPlan::new(&lscc).unwrap().built;
    let limiting = built.long().0.notifiers.lscc.unwrap().limiting;
    assert_eq!(limiting.long_flow, None, "the default, which measured best");
}

/// What frames from the long link can hold, by scheme.
fn buffer(plan: &LinkPlan, wanted: Scheme) -> Bytes {
    plan.schemes.iter().find(|(scheme, _)| *scheme == wanted).unwrap().1.as_ref().unwrap().buffer
}

#[test]
fn the_slot_of_a_plan_needs_least_buffer_and_less_than_pfc_does_unless_frames_fill_the_link() {
    for gigabits in [1, 10, 25, 100, 400, 800, 1_600] {
        for kilometres in [80, 300, 1_000, 3_000, 10_000] {
            let base = request(kilometres, gigabits, Scheme::BIFROST);
            let plan = LinkPlan::new(&base).unwrap();
            let slot = plan.built.long().0.bifrost().unwrap().slot;
            let [least, pfc] = [Scheme::BIFROST, Scheme::PFC].map(|scheme| buffer(&plan, scheme));
            println!("{gigabits}G, {kilometres}km: {slot}, {least} of buffer, {pfc} with PFC");
            // On a link that holds few frames, one in each slot is more than a round trip.
            let holds_few = gigabits * kilometres < 300;
            assert!(least < pfc || holds_few, "{gigabits}G, {kilometres}km: {least}, {pfc}");
            for other in [slot - Interval(100), slot + Interval(100), Interval::from_micros(10)] {
                // A slot may be the longest that a pause allows.
                let Ok(other) = LinkPlan::new(&Request { slot: Some(other), ..base.clone() }) else {
                    continue;
                };
                assert!(buffer(&other, Scheme::BIFROST) >= least, "{gigabits}G, {kilometres}km: {other:?}");
            }
            let curve = plan.slots.iter().map(|row| row.buffer);
            assert!(plan.slots.len() >= 3 && curve.min() == Some(least), "{:?}", plan.slots);
        }
    }
}

#[test]
fn the_table_of_slots_in_the_book_is_that_of_plans() {
    const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bifrost.md");
    const BEGIN: &str =
        "<!-- slots -->\n| link | slot | buffer | with slots of 10 us | PFC |\n|---|---|---|---|---|\n";
    const END: &str = "<!-- end of slots -->";
    let shown = |bytes: Bytes| human::bytes(bytes.0);
    let row = |(gigabits, kilometres)| {
        let base = request(kilometres, gigabits, Scheme::BIFROST);
        let plan = LinkPlan::new(&base).unwrap();
        let other = LinkPlan::new(&Request { slot: Some(Interval::from_micros(10)), ..base }).unwrap();
        let slot = plan.built.long().0.bifrost().unwrap().slot;
        let [planned, pfc] = [Scheme::BIFROST, Scheme::PFC].map(|scheme| shown(buffer(&plan, scheme)));
        let default = shown(buffer(&other, Scheme::BIFROST));
        let (kilometres, slot) = (human::thousands(kilometres), human::nanos(slot.0));
        format!("| {gigabits}G, {kilometres} km | {slot} | {planned} | {default} | {pfc} |\n")
    };
    let rows: String = [(100, 80), (100, 1_000), (400, 1_000), (400, 3_000)].into_iter().map(row).collect();
    let docs = std::fs::read_to_string(DOCS).unwrap();
    let (before, rest) = docs.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let anew = format!("{before}{BEGIN}{rows}{END}{after}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(DOCS, &anew).unwrap();
    }
    assert!(std::fs::read_to_string(DOCS).unwrap() == anew, "docs/bifrost.md is old: run with BLESS=1");
}

/// The buffer on the wire, where headroom is what PFC reserves.
#[test]
fn over_3000_km_at_400g_bifrost_holds_less_than_the_headroom_of_pfc_and_with_slots_of_10_us_more() {
    let sum = |request: &Request, names: &[&str]| {
        let steps = steps(request);
        let of = |name: &&str| steps.iter().find(|(_, step)| step.name == *name).unwrap().1.result.number();
        names.iter().map(of).sum::<u64>()
    };
    let headroom = sum(&request(3_000, 400, Scheme::PFC), &["headroom"]);
    let planned = request(3_000, 400, Scheme::BIFROST);
    let default = Request { slot: Some(Interval::from_micros(10)), ..planned.clone() };
    let [planned, default] = [planned, default].map(|request| sum(&request, &["H", "leaked"]));
    println!("planned {planned}, slots of 10us {default}, headroom of PFC {headroom}");
    assert!(planned < headroom && headroom < default, "{planned}, {headroom}, {default}");
}

#[test]
fn a_plan_lacks_what_its_cores_memory_or_late_workers_do_not_allow() {
    let lacks = |request: &Request| {
        let lacks = LinkPlan::new(request).unwrap().lacks;
        lacks.into_iter().map(|lack| lack.to_string()).collect::<Vec<_>>()
    };
    let base = request(80, 50, Scheme::BIFROST);
    assert_eq!(lacks(&base), [""; 0]);
    let cores = lacks(&request(1_000, 200, Scheme::BIFROST));
    assert!(cores.len() == 1 && cores[0].starts_with("cores: 400 Gb/s bring 11,967,450 frames"), "{cores:?}");
    let lanes = "takes 5,000,000; links of up to 83.5 Gb/s hold, and so does this one with --lanes 3";
    assert!(cores[0].contains(lanes), "{cores:?}");
    let holds = |gigabits| lacks(&request(80, gigabits, Scheme::BIFROST)).is_empty();
    assert_eq!([83, 84].map(holds), [true, false]);
    let memory = |bytes| lacks(&Request { memory: Some(Bytes(bytes)), ..base.clone() });
    let needed = LinkPlan::new(&base).unwrap().built.with_devices.memory().unwrap().total();
    assert_eq!(memory(needed.0), [""; 0]);
    let short = memory(needed.0 - 1);
    assert!(short.len() == 1 && short[0].starts_with("memory: "), "{short:?}");
    let late = |micros| lacks(&Request { lateness: Some(Interval::from_micros(micros)), ..base.clone() });
    let most =
        LinkPlan::new(&base).unwrap().built.with_devices.lateness().map(|(_, _, most)| most).min().unwrap();
    let most = most.0 / 1_000;
    assert_eq!(late(most), [""; 0]);
    let later = late(most + 1);
    assert!(!later.is_empty() && later.iter().all(|lack| lack.starts_with("lateness: ")), "{later:?}");
}

#[test]
fn both_files_have_other_addresses_and_the_devices_that_are_stated() {
    let addresses = |end: &str| vec![format!("0000:{end}:00.0"), format!("0000:{end}:00.1")];
    for scheme in Scheme::all() {
        let base = request(80, 100, scheme);
        for pci in [vec![addresses("3b")], vec![addresses("3b"), addresses("af")]] {
            let plan = LinkPlan::new(&Request { pci: pci.clone(), ..base.clone() }).unwrap();
            let mut macs = Vec::new();
            for (end, (name, text)) in plan.built.texts.iter().enumerate() {
                let gateway = parse(text, name).unwrap();
                let wanted = pci.get(end).unwrap_or(&pci[0]);
                for (device, wanted) in gateway.runtime.devices.iter().zip(wanted) {
                    assert_eq!(device.as_ref().unwrap().kind, DeviceKind::Pci(wanted.clone()), "{scheme}");
                }
                macs.extend(gateway.program.settings().ports.iter().map(|port| port.mac));
            }
            macs.sort();
            macs.dedup();
            assert_eq!(macs.len(), 4, "{scheme}");
        }
    }
    let twice = vec![vec!["0000:3b:00.0".to_owned(); 2]];
    let wrong = vec![vec!["eth0".to_owned(), "0000:3b:00.0".to_owned()]];
    for pci in [twice, wrong] {
        let refused = LinkPlan::new(&Request { pci, ..request(80, 100, Scheme::BIFROST) });
        assert!(matches!(refused, Err(PlanError::Refused { .. })));
    }
}

fn steps(request: &Request) -> Vec<(String, Step)> {
    let plan = LinkPlan::new(request).unwrap();
    let named = |part: Part| part.steps.into_iter().map(move |step| (part.title.clone(), step));
    plan.parts.into_iter().chain([plan.pauses.part]).flat_map(named).collect()
}

#[test]
fn each_value_of_the_configuration_has_a_formula_on_the_page() {
    for scheme in Scheme::all() {
        let request = request(80, 100, scheme);
        let steps = steps(&request);
        let shown = |part: &str, name: &str| {
            let mut of = steps.iter().filter(|(title, step)| title.starts_with(part) && step.name == name);
            match of.next().unwrap_or_else(|| panic!("{scheme}: no {name} in {part}")).1.result {
                Quantity::Bytes(bytes) => Bytes(bytes),
                other => panic!("{scheme}: {name} is {other}"),
            }
        };
        let built = LinkPlan::new(&request).unwrap().built;
        for (name, port) in [("dc0", built.local().0), ("lh0", built.long().0)] {
            let group = port.groups[3].lossless().unwrap();
            let Threshold::Static(xoff) = group.xoff else { panic!("{group:?}") };
            let buffer = format!("Buffer of {name}");
            assert_eq!(shown(&buffer, "XOFF"), xoff, "{scheme}: {name}");
            let headroom = match (name, scheme) {
                ("lh0", it) if ["pfc", "relay"].contains(&it.word()) => "Headroom of lh0",
                _ => &buffer,
            };
            assert_eq!(shown(headroom, "headroom"), group.headroom, "{scheme}: {name}");
            if group.xon != Bytes::ZERO && port.flow_control == FlowControl::Pfc {
                assert_eq!(shown(&buffer, "XON"), group.xon, "{scheme}: {name}");
            }
            let marks = format!("Marks (ECN) of the queue of {name}");
            if let Some(red) = port.queues.iter().find(|queue| queue.priority.number() == 3).unwrap().red {
                assert_eq!((shown(&marks, "Kmin"), shown(&marks, "Kmax")), (red.kmin, red.kmax), "{scheme}");
                assert!(steps.iter().any(|(_, it)| it.name == "Pmax" && matches!(it.result, Quantity::Millionths(pmax) if pmax == (red.pmax * 1e6).round() as u64)));
            }
        }
    }
}

#[test]
fn the_mbufs_are_the_sum_that_is_shown() {
    for repair in [false, true] {
        mbufs_are_the_sum(&Request { repair, ..request(80, 100, Scheme::BIFROST) });
    }
}

fn mbufs_are_the_sum(request: &Request) {
    let steps = steps(request);
    let step = |name: &str| &steps.iter().find(|(_, step)| step.name == name).unwrap().1;
    let terms = |text: &str| text.split(" + ").map(|it| it.replace(',', "").parse::<u64>().unwrap()).sum();
    assert_eq!(step("mbufs").result.number(), terms(&step("mbufs").numbers), "{:?}", step("mbufs"));
    // The first term of an mbuf is rounded to ten bytes.
    let of_mbuf = step("mbuf").numbers.split(" + ").map(|it| it.replace(' ', "").parse::<Bytes>().unwrap());
    let off = of_mbuf.fold(Bytes::ZERO, |sum, term| sum + term).0.abs_diff(step("mbuf").result.number());
    assert!(off <= 5, "{:?}", step("mbuf"));
    let waiting = step("in_buffer");
    let (packed, others) = waiting.numbers.split_once(" + ").unwrap();
    let (cells, each) = packed.split_once(" / ").unwrap();
    let packed = terms(cells).div_ceil(terms(each));
    assert_eq!(waiting.result.number(), packed + terms(others), "{waiting:?}");
    let memory = &step("memory").numbers;
    assert!(memory.starts_with(&format!("{} x ", step("mbufs").result)), "{memory}");
}

#[test]
fn a_queue_that_lscc_alone_would_let_gather_has_numbers_and_what_happens_then() {
    for (scheme, level) in [(Scheme::BIFROST, "H"), (scheme("cbfc"), "credits"), (Scheme::PFC, "XOFF")] {
        let mut request = Request { lscc: true, ..request(80, 100, scheme) };
        request.senders.rate = BitRate::gigabits(100);
        request.senders.additive_increase = BitRate::megabits(400);
        let steps = steps(&request);
        let step = |name: &str| &steps.iter().rfind(|(_, step)| step.name == name).unwrap().1;
        let halved = step("Q_halved");
        assert!(halved.numbers.contains(" + 50 Gb/s x (815 us + 200 us / 2 x"), "{halved:?}");
        assert!(halved.result.number() > 60_000_000, "{halved:?}");
        let beneath = step("beneath");
        assert!(beneath.formula.starts_with(level) && beneath.result.number() < halved.result.number());
        assert_eq!(beneath.source, "less than Q_halved: it pauses the senders, and nothing is lost");
        assert_eq!(step("flow_table").numbers, "65,536 x 132 B");
        // Nothing is shown without its numbers but what the plan chooses, and what only stands for a level.
        let bare: Vec<_> = steps.iter().filter(|(_, step)| step.numbers.is_empty()).collect();
        assert!(bare.iter().all(|(_, step)| step.formula.split(" x ").count() == 1), "{bare:?}");
    }
}

#[test]
fn numbers_of_a_thousand_and_more_have_separators() {
    for scheme in Scheme::all() {
        for (_, step) in steps(&Request { lscc: false, ..request(20_000, 1_600, scheme) }) {
            let bare = |word: &str| word.len() > 3 && word.bytes().all(|letter| letter.is_ascii_digit());
            let mut words = step.numbers.split([' ', '(', ')']);
            assert!(!words.any(bare), "{scheme}: {step:?}");
        }
    }
}

#[test]
fn what_no_link_can_be_is_refused_with_what_would_be_possible() {
    let base = request(80, 100, Scheme::BIFROST);
    let refused = |request: Request| LinkPlan::new(&request).unwrap_err().to_string();
    let slot = refused(Request { slot: Some(Interval::from_millis(1)), ..base.clone() });
    assert_eq!(
        slot,
        "a slot of 1ms is out of range; expected 1us (a frame) to 223.692us (half a round trip, and at most two thirds of the longest pause)"
    );
    let far = refused(Request { distance: Distance(90_000_000), ..base.clone() });
    assert_eq!(far, "a distance of 90000km is out of range; expected up to 40000km");
    let drain = refused(Request { drain: Some(BitRate::gigabits(200)), ..base.clone() });
    assert_eq!(drain, "a drain of 200G is faster than the link; expected up to 100G");
    let priorities = PrioritySet::EMPTY.with(Priority::new(6).unwrap());
    assert!(refused(Request { priorities, ..base.clone() }).contains("expected 1 to 5"));
    for (mtu, is_possible) in [(0, false), (45, false), (46, true), (9_198, true), (9_199, false)] {
        match LinkPlan::new(&Request { mtu: Bytes(mtu), ..base.clone() }) {
            Err(error) => assert!(!is_possible && error.to_string().starts_with("an MTU of"), "{error}"),
            Ok(_) => assert!(is_possible, "{mtu}"),
        }
    }
    let most = Distance(40_000_000).propagation();
    assert_eq!(Request::distance_of(most), Ok(Distance(40_000_000)));
    let beyond = Request::distance_of(most + Interval(1)).unwrap_err().to_string();
    assert!(
        beyond.starts_with("a delay of 202.0202")
            && beyond.contains(&format!("up to {most}, that of 40000km"))
    );
    // The least additive increase that the error names is enough.
    let mut slow = Request { lscc: true, ..base };
    slow.senders.additive_increase = BitRate::megabits(1);
    let Err(PlanError::NoStep { least, .. }) = LinkPlan::new(&slow) else { panic!("a step was found") };
    slow.senders.additive_increase = least;
    assert!(LinkPlan::new(&slow).is_ok());
}

#[test]
fn a_watchdog_trips_where_the_longest_pause_lasts_and_the_drain_that_is_named_is_enough() {
    let far = request(5_000, 100, Scheme::PFC);
    let plan = LinkPlan::new(&far).unwrap();
    let sonic = plan.pauses.neighbours.iter().find(|it| it.name == "SONiC").unwrap().clone();
    let WatchdogVerdict::Trips { drain: Some(drain) } = sonic.verdict else { panic!("{sonic:?}") };
    let verdict = |drain: u64| {
        let plan = LinkPlan::new(&Request { drain: BitRate::new(drain), ..far.clone() }).unwrap();
        plan.pauses.neighbours.iter().find(|it| it.name == "SONiC").unwrap().verdict
    };
    assert_eq!(verdict(drain.bits_per_second()), WatchdogVerdict::Calm);
    assert_ne!(verdict(drain.bits_per_second() - 1_000_000), WatchdogVerdict::Calm, "and no less is");
    // A stated time takes the place of the default.
    let stated = Request { watchdogs: vec![("sonic".into(), Interval::from_secs(5))], ..far };
    let plan = LinkPlan::new(&stated).unwrap();
    let named = |name: &str| plan.pauses.neighbours.iter().filter(|it| it.name == name).count();
    assert_eq!((named("SONiC"), named("sonic")), (0, 1));
}

#[test]
fn a_name_of_a_key_file_stays_a_string() {
    let key_file = "a\"\nkey = \"none".to_owned();
    let request = Request { lscc: true, key_file, ..request(80, 100, Scheme::BIFROST) };
    let text = LinkPlan::new(&request).unwrap().built.texts[0].1.clone();
    let error = parse(&text, "gateway.toml").unwrap_err();
    let config::ConfigError::Invalid { problems } = error else { panic!("{error}") };
    let errors: Vec<_> = problems.iter().filter(|it| it.severity == Severity::Error).collect();
    assert!(errors.len() == 1 && errors[0].key == "port.lscc.key_file", "{errors:?}");
}

fn proof(request: &Request) -> Proof {
    Proof::new(&LinkPlan::new(request).unwrap().built).unwrap()
}

fn run(proof: &Proof, case: Case) -> Run {
    let run = proof.run(case, || true).unwrap();
    println!("{} / {run:?}", proof.rate());
    run
}

#[test]
fn the_headroom_suffices_in_the_worst_case_and_half_of_it_does_not() {
    let request = request(20, 10, Scheme::PFC);
    let proof = proof(&request);
    for case in Case::ALL {
        let run = run(&proof, case);
        assert!(run.holds(), "{run:?}");
        assert!(run.headroom.0.0 * 10 > run.headroom.1.0 * 7, "the case is bad enough: {run:?}");
    }
    let run = run(&with_half_of_the_headroom(proof), Case::Long);
    assert!(run.drops > 0 && !run.holds(), "{run:?}");
}

/// The proof with half of the headroom on the long links, in groups and pools.
fn with_half_of_the_headroom(mut proof: Proof) -> Proof {
    for program in &mut proof.programs {
        let mut settings = program.settings().clone();
        for group in settings.ports[1].groups.iter_mut().filter_map(GroupSettings::lossless_mut) {
            let half = Bytes(group.headroom.0 / 2);
            settings.buffer.headroom -= half;
            group.headroom -= half;
        }
        *program = Program::new(settings).unwrap().into();
    }
    proof
}

/// The proof with a receiver that is half as fast as planned.
fn with_half_of_the_drain(proof: &Proof) -> Proof {
    let mut slower = proof.clone();
    slower.drain = BitRate::new(proof.drain.bits_per_second() / 2).unwrap();
    slower
}

/// Credits, relays and a single priority of Bifrost have no such control: their pauses end long before the plan's.
#[test]
fn pauses_outlast_a_plan_whose_far_side_is_half_as_fast_as_stated() {
    let proof_of = |scheme, priorities: &[u8]| {
        let priorities = priorities.iter().map(|it| Priority::from_low_bits(*it)).collect();
        proof(&Request { priorities, ..request(20, 10, scheme) })
    };
    let pfc = proof_of(Scheme::PFC, &[3]);
    let slower = with_half_of_the_drain(&pfc);
    for case in Case::ALL {
        assert!(run(&pfc, case).holds());
        let run = run(&slower, case);
        assert!(run.end == RunEnd::Complete && run.drops == 0 && !run.holds(), "{run:?}");
        assert!(run.pause_long.0 > run.pause_long.1 && run.pause_local.0 > run.pause_local.1, "{run:?}");
    }
    for scheme in [Scheme::BIFROST, scheme("port-grants")] {
        let run = run(&with_half_of_the_drain(&proof_of(scheme, &[2, 3, 4])), Case::Mixed);
        assert!(run.end == RunEnd::Complete && run.pause_local.0 > run.pause_local.1, "{scheme}: {run:?}");
    }
}

/// Such pauses outlast the virtual time of the simulator, so no run is whole.
#[test]
fn pauses_that_outlast_the_simulator_are_not_proved() {
    let request = Request {
        priorities: prioritised(5),
        drain: Some(BitRate::megabits(1)),
        ..request(20_000, 400, Scheme::PFC)
    };
    let run = run(&proof(&request), Case::Long);
    assert!(run.end == RunEnd::Outlasts && !run.holds(), "{run:?}");
}

#[test]
fn priorities_that_share_a_link_hold_their_plan_and_those_of_bifrostx_below_the_highest_have_no_limit() {
    let priorities = (2..=4).map(Priority::from_low_bits).collect();
    for scheme in Scheme::all() {
        let request = Request { priorities, ..request(20, 10, scheme) };
        let plan = LinkPlan::new(&request).unwrap();
        let proof = proof(&request);
        let starves = scheme.word() == "bifrostx";
        let below = priorities.without(Priority::from_low_bits(4));
        assert_eq!(plan.pauses.unlimited, if starves { below } else { PrioritySet::EMPTY }, "{scheme}");
        for case in Case::ALL {
            let run = run(&proof, case);
            assert!(run.holds(), "{scheme}: {run:?}");
            assert_eq!(run.unlimited.is_some(), starves, "{scheme}");
            // They wait until the run ends, as higher ones go on; with any other scheme they would have broken the limit.
            assert!(run.unlimited.is_none_or(|pause| pause > run.pause_local.1), "{scheme}: {run:?}");
        }
        let local = plan.pauses.neighbours.iter().filter(|it| it.port.0 == 0);
        assert!(
            local.into_iter().all(|it| (it.verdict == WatchdogVerdict::Unlimited) == starves),
            "{scheme}"
        );
    }
}

/// Frames that a gateway has handed to its device leave in spite of a pause, in each slot that grants a little. With short
/// frames they once overran the group.
#[test]
fn bifrost_holds_its_plan_where_frames_are_short_and_slots_grant_little() {
    let base = request(80, 100, Scheme::BIFROST);
    let slot = Some(Interval::from_micros(10));
    let request = Request { mtu: Bytes(1_500), drain: Some(BitRate::gigabits(20)), slot, ..base };
    let run = run(&proof(&request), Case::Short);
    assert!(run.holds(), "{run:?}");
    let (held, leaked) = (run.buffer.0.0, 84 * 1_542);
    assert!(
        held > Cells::of_any_mix(WireBytes(10_641_192 + leaked)).bytes().0,
        "a frame in each slot: {held}"
    );
}

#[test]
fn every_scheme_holds_its_plan_in_the_worst_case() {
    for scheme in Scheme::all() {
        let proof = proof(&request(20, 10, scheme));
        let run = run(&proof, Case::Mixed);
        assert!(run.holds(), "{scheme}: {run:?}");
    }
}

#[test]
fn a_proof_of_a_short_link_comes_to_every_pause_and_to_the_headroom_but_by_design() {
    for scheme in Scheme::all() {
        let distance = Request::distance_of(Interval::from_micros(5)).unwrap();
        let request = Request { scheme, lanes: 1, ..Request::new(distance, BitRate::gigabits(100)) };
        let proof = proof(&request);
        let runs = Case::ALL.map(|case| run(&proof, case));
        assert!(runs.iter().all(Run::holds), "{scheme}: {runs:?}");
        for figure in Unreached::ALL {
            let reached = runs.iter().any(|run| run.comes_to(figure));
            assert!(reached || scheme.never_reaches(figure).is_some(), "{scheme}: {figure:?} in {runs:?}");
        }
    }
}

#[test]
fn a_link_with_too_many_frames_is_proved_at_a_lower_rate() {
    let proof = proof(&request(1_000, 400, Scheme::BIFROST));
    assert!(proof.divisor > 1 && proof.rate() < BitRate::gigabits(400));
    assert!(!proof.run(Case::Short, || false).unwrap().holds(), "a run that was stopped says nothing");
}
