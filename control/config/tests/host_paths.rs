//! The timers of hosts follow the path of their flows, and a stated value with which it cannot work is a warning.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::scenario::{Scenario, ScenarioFile};
use endpoint::{CongestionControl, GoBackN, HostSettings, Hpcc, Irn, NewReno, Timely, Transport};
use simulation::{FlowRecord, NodeKind, Observer, Simulation};
use units::{BitRate, Bytes, Interval};

/// Two hosts at either end of 1,000 km: east-h0 sends over it, and west-h1 to its neighbour.
const FAR: &str = "
    [topology]
    template = \"two-data-centers\"
    data_center = { template = \"hosts\", hosts = 2 }
    long_link = { distance = \"1000km\" }

    [[traffic]]
    group = \"far\"
    pattern = \"pairs\"
    sources = [\"east-h0\"]
    destinations = [\"west-h0\"]

    [[traffic]]
    group = \"near\"
    pattern = \"pairs\"
    sources = [\"west-h1\"]
    destinations = [\"west-h0\"]
";

/// Light over 1,000 km and two links of 1 us, there and back.
const LIGHT: Interval = Interval(2 * (5_050_506 + 2_000));

fn built(text: &str) -> Scenario {
    let file = ScenarioFile::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    file.build(&[]).unwrap_or_else(|error| panic!("{error}"))
}

fn far(host: &str) -> Scenario {
    built(&format!("{FAR}\n{host}"))
}

fn host<'a>(scenario: &'a Scenario, name: &str) -> &'a HostSettings {
    let id = scenario.topology.find(name).unwrap().0 as usize;
    let NodeKind::Host(host) = &scenario.network.nodes[id].kind else { panic!("{name} is a host") };
    host
}

/// Light, and the time in which three links carry a packet and its acknowledgement.
fn is_a_round_trip(time: Interval) -> bool {
    (LIGHT + Interval(200)..LIGHT + Interval(400)).contains(&time)
}

#[test]
fn hpcc_begins_with_the_round_trip_of_its_path_and_the_papers_within_a_data_center() {
    let scenario = far("[host]\ncongestion_control = \"hpcc\"");
    let of = |name| match host(&scenario, name).congestion_control {
        CongestionControl::Hpcc(hpcc) => hpcc,
        _ => panic!("{name} has HPCC"),
    };
    let Hpcc { base_rtt, additive, .. } = of("east-h0");
    assert!(is_a_round_trip(base_rtt), "{base_rtt}");
    assert_eq!(additive, Bytes(80 * base_rtt.0 / 13_000), "W_AI grows with T");
    assert_eq!(of("west-h1"), Hpcc::default());
}

#[test]
fn the_thresholds_of_timely_stand_above_the_round_trip_of_its_path() {
    let scenario = far("[host]\ncongestion_control = \"timely\"");
    let of = |name| match host(&scenario, name).congestion_control {
        CongestionControl::Timely(timely) => timely,
        _ => panic!("{name} has TIMELY"),
    };
    let Timely { t_low, t_high, min_rtt, .. } = of("east-h0");
    assert!(is_a_round_trip(min_rtt), "{min_rtt}");
    assert_eq!((t_low - min_rtt, t_high - min_rtt), (Interval::from_micros(30), Interval::from_micros(480)));
    assert_eq!(of("west-h1"), Timely::default());
}

#[test]
fn the_window_and_the_timeouts_of_irn_hold_what_its_path_holds() {
    let scenario = far("[host]\ncongestion_control = \"none\"\ntransport = \"irn\"");
    let of = |name| match host(&scenario, name).transport {
        Transport::Irn(irn) => irn,
        _ => panic!("{name} has IRN"),
    };
    let Irn { window, rto_low, rto_high } = of("east-h0");
    assert!(u64::from(window) * 1_106 >= BitRate::gigabits(100).bytes_in(LIGHT), "{window}");
    assert!(rto_low > LIGHT && rto_high == rto_low + Interval::from_micros(220), "{rto_low} {rto_high}");
    let near = of("west-h1");
    assert_eq!((near.rto_low, near.rto_high), (Interval::from_micros(100), Interval::from_micros(320)));
}

#[test]
fn a_resend_waits_for_four_round_trips_of_the_path_or_of_the_one_that_is_stated() {
    let usual = GoBackN::default().retransmission_timeout;
    let of = |text: &str| match host(&far(text), "east-h0").transport {
        Transport::GoBackN(it) => it.retransmission_timeout,
        _ => panic!("it has go-back-N"),
    };
    assert_eq!(of(""), usual, "67 ms outlast four of 10.1 ms");
    assert_eq!(of("[host]\nround_trip = \"100ms\""), usual * 8);
    let opened = far("[host]\nround_trip = \"100ms\"\n[network]\nconnection_management = true");
    assert_eq!(host(&opened, "west-h0").connection_management, Some(usual * 8), "receivers answer too");
    let tcp = far("[host]\ntransport = \"new-reno\"\nround_trip = \"2s\"");
    let Transport::NewReno(NewReno { rto_initial, .. }) = host(&tcp, "east-h0").transport else { panic!() };
    assert_eq!(rto_initial, Interval::from_secs(4));
}

/// The warnings of a scenario with these hosts.
fn warnings(host: &str) -> String {
    far(host).warnings.iter().map(|it| format!("{it}\n")).collect()
}

#[test]
fn a_value_that_the_path_makes_impossible_is_a_warning_with_the_number() {
    let hpcc = "congestion_control = \"hpcc\"\nhpcc.base_rtt = \"13us\"";
    let cases = [
        (hpcc, "HPCC sends at 0.1 % of the rate of its link at most"),
        ("congestion_control = \"timely\"\ntimely.t_high = \"500us\"", "TIMELY takes the path for a queue"),
        ("go_back_n.retransmission_timeout = \"1ms\"", "every packet is sent again"),
        ("transport = \"irn\"\nirn.rto_low = \"100us\"", "every packet is sent again"),
        ("transport = \"irn\"\nirn.rto_high = \"320us\"", "every packet is sent again"),
        ("transport = \"new-reno\"\nnew_reno.rto_initial = \"1ms\"", "segments are sent again"),
        ("[network]\nconnection_management = true\nconnection_timeout = \"1ms\"", "messages are repeated"),
    ];
    for (text, effect) in cases {
        let said = warnings(&if text.starts_with('[') { text.to_owned() } else { format!("[host]\n{text}") });
        assert!(said.contains(effect), "{text}: {said:?}");
        assert!(said.contains(&format!("less than the {LIGHT} that a round trip from east-h0")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let window = warnings("[host]\ntransport = \"irn\"\nirn.window = 110");
    assert!(window.contains("110 packets fill 0.1 % of the path from east-h0"), "{window}");
}

#[test]
fn defaults_and_values_of_hosts_whose_path_is_short_are_no_warning() {
    for control in ["none", "dcqcn", "timely", "hpcc"] {
        for transport in ["go-back-n", "irn", "new-reno"] {
            let hosts = format!("[host]\ncongestion_control = \"{control}\"\ntransport = \"{transport}\"");
            assert_eq!(warnings(&hosts), "", "{hosts}");
        }
    }
    let own =
        "[[node]]\nname = \"west-h1\"\nhost.congestion_control = \"hpcc\"\nhost.hpcc.base_rtt = \"13us\"";
    assert_eq!(warnings(own), "");
    let real = "[host]\nround_trip = \"100us\"\ngo_back_n.retransmission_timeout = \"1ms\"";
    assert_eq!(warnings(real), "", "a stated round trip holds instead of the topology's");
}

/// How long the flow took.
#[derive(Default)]
struct Took(Option<Interval>);

impl Observer for Took {
    fn completed(&mut self, record: &FlowRecord) {
        self.0 = Some(record.end.since(record.flow.start));
    }
}

/// Data packets that one flow of 4 MB over 250 km of 10G needs, and how long it takes.
fn over_250_km(hosts: &str) -> (u64, Interval) {
    let scenario = built(&format!(
        "[scenario]\nlimit = \"2s\"\n[topology]\ntemplate = \"two-data-centers\"\nrate = \"10G\"\n\
         data_center = {{ template = \"hosts\", hosts = 1 }}\nlong_link = {{ distance = \"250km\" }}\n\
         [switch.port]\nint = true\n[[traffic]]\ngroup = \"one\"\npattern = \"pairs\"\nsize = \"4MB\"\n\
         sources = [\"east-h0\"]\ndestinations = [\"west-h0\"]\n[host]\n{hosts}\n"
    ));
    let run = Simulation::new(scenario.network.clone(), scenario.options());
    let mut took = Took::default();
    let outcome = run.run(scenario.flows(), &mut took).unwrap();
    let sent = outcome.hosts.iter().map(|host| host.counters.data_sent).sum();
    (sent, took.0.unwrap())
}

#[test]
fn hosts_fill_a_long_path_by_default_and_not_with_the_values_of_a_data_center() {
    // 3.2 ms of data, and 2.5 ms of light.
    let quick = Interval::from_millis(8);
    for hosts in ["congestion_control = \"hpcc\"", "congestion_control = \"timely\""] {
        let (sent, took) = over_250_km(hosts);
        assert!(sent == 3_907 && took < quick, "{hosts}: {sent} packets in {took}");
    }
    let (_, took) = over_250_km("congestion_control = \"hpcc\"\nhpcc.base_rtt = \"13us\"");
    assert!(took > quick * 4, "{took}");
    let resend = "congestion_control = \"none\"\ngo_back_n.retransmission_timeout";
    assert!(over_250_km(&format!("{resend} = \"1ms\"")).0 > 5_000);
    assert_eq!(over_250_km("congestion_control = \"none\"").0, 3_907);
}
