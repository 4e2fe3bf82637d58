//! Plans of several links: a bundle that is valid, and what holds with one link less.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::plan::{LinkPlan, PlanError, Proof, Request, Scheme};
use config::{BundleSum, Gateway, parse};
use switch::program::Membership;
use units::{BitRate, Bytes, Distance, Interval, PortId};

fn request(kilometres: u64, gigabits: u64, links: u8) -> Request {
    let distance = Distance(kilometres * 1_000);
    Request { links, ..Request::new(distance, BitRate::gigabits(gigabits)) }
}

fn read(plan: &LinkPlan) -> [Gateway; 2] {
    plan.built.texts.each_ref().map(|(name, text)| parse(text, name).unwrap())
}

#[test]
fn the_files_of_several_links_are_bundles_that_check_accepts_or_the_scheme_is_named_that_cannot_be() {
    for (scheme, links) in Scheme::all().flat_map(|scheme| [2, 3, 8].map(|links| (scheme, links))) {
        let plan = match LinkPlan::new(&Request { scheme, ..request(80, 100, links) }) {
            Ok(plan) => plan,
            Err(error) => {
                let why = match scheme.word() {
                    "port-grants" => "a second queue of a priority does not work in a bundle".to_owned(),
                    "relay" => format!("relay passes on the pauses of one link, and the plan has {links}"),
                    other => panic!("{other}: {error}"),
                };
                assert!(error.to_string().ends_with(&why), "{error}");
                continue;
            }
        };
        for gateway in read(&plan) {
            assert_eq!(gateway.warnings, [], "{scheme}");
            let ports = &gateway.program.settings().ports;
            let members: Vec<_> = ports.iter().filter(|port| port.bundle.is_some()).collect();
            assert_eq!((ports.len(), members.len()), (1 + usize::from(links), links.into()), "{scheme}");
            assert_eq!(ports[0].rate, BitRate::gigabits(100 * u64::from(links)));
            assert!(members.iter().all(|port| port.rate == BitRate::gigabits(100)));
            let mut macs: Vec<_> = ports.iter().map(|port| port.mac).collect();
            macs.sort();
            macs.dedup();
            assert_eq!(macs.len(), ports.len());
        }
    }
}

#[test]
fn each_link_has_the_buffer_of_a_single_one_and_the_data_center_has_the_rate_of_all() {
    let [one, two] = [1, 2].map(|links| LinkPlan::new(&request(80, 100, links)).unwrap());
    let of = |plan: &LinkPlan, port: PortId| plan.built.gateways[0].program.port(port).clone();
    let long = of(&one, PortId(1));
    for port in [1, 2].map(PortId) {
        let member = of(&two, port);
        assert_eq!((member.bifrost(), member.flow_control), (long.bifrost(), long.flow_control));
        assert_eq!(member.groups.iter().collect::<Vec<_>>(), long.groups.iter().collect::<Vec<_>>());
    }
    let sum = two.built.bundle().unwrap();
    assert_eq!((sum.rate(), sum.buffer()), (200_000_000_000, Bytes(2 * sum.members[0].buffer.0)));
    assert_eq!(one.built.bundle(), None);
    let memory = |plan: &LinkPlan| plan.built.with_devices.memory().unwrap().total();
    assert!(memory(&two) > memory(&one) + sum.members[0].buffer);
    let lanes = |plan: &LinkPlan| plan.built.with_devices.cores().len();
    assert!((lanes(&one), lanes(&two)) == (2, 3), "{} {}", lanes(&one), lanes(&two));
}

#[test]
fn the_queues_of_all_links_leave_at_the_drain_of_one_data_center() {
    let stated = |links| {
        let drain = Some(BitRate::gigabits(10));
        LinkPlan::new(&Request { drain, lanes: 3, scheme: Scheme::PFC, ..request(80, 100, links) })
            .unwrap()
            .pauses
    };
    let [one, two] = [1, 2].map(|links| stated(links).long);
    assert!(two.0.abs_diff(2 * one.0) <= 1, "{one} {two}");
    // By default the drain grows with the links.
    let usual = LinkPlan::new(&Request { lanes: 3, scheme: Scheme::PFC, ..request(80, 100, 2) }).unwrap();
    assert_eq!(usual.built.request.slowest_drain(), BitRate::gigabits(20));
    assert_eq!(usual.pauses.long, one);
    let fast = Request { drain: Some(BitRate::gigabits(201)), ..request(80, 100, 2) };
    assert!(matches!(LinkPlan::new(&fast), Err(PlanError::Drain { .. })));
}

/// A gateway whose bundle has two members of that length.
fn bundled(kilometres: u64, rates: [u64; 2], keys: &str) -> Gateway {
    let mut text = "[forwarding]\nmode = \"patch\"\npairs = [[\"dc0\", \"lh\"]]\n\
                    [[bundle]]\nname = \"lh\"\nmembers = [\"lh0\", \"lh1\"]\n"
        .to_owned()
        + keys;
    for (number, (name, rate)) in [("dc0", 100), ("lh0", rates[0]), ("lh1", rates[1])].into_iter().enumerate()
    {
        text += &format!("[[port]]\nname = \"{name}\"\nmac = \"02:00:5e:00:00:0{number}\"\n");
        text += &format!("rate = \"{rate}G\"\ndistance = \"{kilometres}km\"\n");
    }
    parse(&text, "gw.toml").unwrap()
}

const HELLOS: &str = "liveness = \"hello\"\nkey = \"00112233445566778899aabbccddeeff\"\n";
const HELD: &str = "hold_off = \"60ms\"\nliveness = \"hello\"\nkey = \"00112233445566778899aabbccddeeff\"\ninterval = \"5ms\"\n";

/// `R (2 D + T)`, with the few microseconds by which gateways hand frames over early.
#[test]
fn a_cut_destroys_what_was_sent_from_a_delay_before_it_until_a_delay_and_the_detection_after_it() {
    let cases = [
        (80, 100, "", "carrier", 5_000, 73, 5_404),
        (80, 100, HELLOS, "hello", 9_900, 134, 10_708),
        (500, 400, HELLOS, "hello", 9_900, 748, 14_950),
        (80, 100, HELD, "hello", 15_000, 198, 75_808),
    ];
    for (kilometres, gigabits, keys, by, within, megabytes, micros) in cases {
        let within = Interval::from_micros(within);
        let sum = BundleSum::all(&bundled(kilometres, [gigabits; 2], keys)).pop().unwrap();
        assert_eq!((sum.detection.by, sum.detection.within), (by, within));
        let (bytes, moves) = (sum.destroyed(), sum.moves_after());
        let delay = Distance(kilometres * 1_000).propagation();
        let least = BitRate::gigabits(gigabits).bytes_in(delay * 2 + within);
        let early = BitRate::gigabits(gigabits).bytes_in(Interval::from_micros(4));
        assert!((least..least + early).contains(&bytes.0), "{bytes} {least}");
        assert_eq!((bytes.0 + 500_000) / 1_000_000, megabytes, "{bytes}");
        assert!((micros..micros + 5).contains(&(moves.0 / 1_000)), "{moves}");
    }
}

#[test]
fn members_that_differ_have_figures_of_their_own_and_the_fastest_is_the_one_that_is_missed() {
    let gateway =
        config::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/gateways/bundle.toml")).unwrap();
    let sum = BundleSum::all(&gateway).pop().unwrap();
    assert_eq!(sum.detection.within, Membership::CARRIER_WATCH);
    let [near, far] = [&sum.members[0], &sum.members[1]];
    assert_eq!([&near.port, &far.port], ["lh0", "lh1"]);
    assert_eq!((sum.destroyed(), sum.fastest()), (far.destroyed, near));
    // Frames of the longer link may still be on it when they could leave through the other.
    let longer = Distance(95_000).propagation() - Distance(80_000).propagation();
    assert_eq!(far.moves_after - near.moves_after, longer * 2);
    let sum = BundleSum::all(&bundled(80, [40, 100], "")).pop().unwrap();
    assert_eq!((sum.rate(), sum.fastest().port.as_str()), (140_000_000_000, "lh1"));
}

#[test]
fn a_number_of_links_or_of_devices_that_cannot_be_is_refused_with_what_could_be() {
    for links in [0, 9] {
        let said = LinkPlan::new(&request(80, 100, links)).unwrap_err().to_string();
        assert_eq!(said, format!("a number of {links} links is out of range; expected 1 to 8"));
    }
    let addresses = |count: u8| vec![(0..count).map(|it| format!("0000:3b:00.{it}")).collect::<Vec<_>>()];
    let plan = |pci| LinkPlan::new(&Request { pci, ..request(80, 100, 2) });
    let said = plan(addresses(2)).unwrap_err().to_string();
    assert_eq!(
        said,
        "a list of 2 PCI addresses is out of range; expected that of dc0, and of each of 2 long ports"
    );
    let devices = read(&plan(addresses(3)).unwrap()).map(|it| it.runtime.devices.iter().flatten().count());
    assert_eq!(devices, [3, 3]);
    let refused = Proof::new(&LinkPlan::new(&request(80, 10, 2)).unwrap().built).unwrap_err();
    assert_eq!(refused, PlanError::ProofOfLinks { links: 2 });
}
