//! Properties of every text and of every configuration.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use std::sync::Arc;

use config::{Gateway, Link, Senders, diff, parse, render};
use proptest::prelude::*;
use switch::flow_control::capfc::settings::CaPfc;
use switch::flow_control::cbfc::settings::{Cbfc, Counter};
use switch::flow_control::p_pfc::settings::PPfc;
use switch::flow_control::relay::settings::Relay;
use switch::program::{
    Bifrost, BufferSettings, Classification, DynamicThreshold, Feedback, FlowControl, FlowSettings,
    GroupSettings, LosslessGroup, LossyQueue, Lscc, MarkAt, PfcSettings, PortSettings, Program,
    QueueSettings, RateCalculation, RateLimit, RateLimiting, Red, Scheduling, Settings, Threshold, Trust,
    VirtualIncoming, Watchdog, WatchdogAction,
};
use switch::{BridgeSettings, ForwardingSettings, Neighbour, Route, RouteSettings};
use units::{BitRate, Bytes, Distance, Interval, PauseQuanta, PortId, Priority, WireBytes};
use wire::ethernet::MacAddress;
use wire::int::LinkRate;
use wire::ip::Dscp;
use wire::rate_feedback::Key;

mod strategies;

fn priority() -> impl Strategy<Value = Priority> {
    (0_u8..8).prop_map(Priority::from_low_bits)
}

fn size() -> impl Strategy<Value = Bytes> {
    (0_u64..10_000_000).prop_map(Bytes)
}

fn rate() -> impl Strategy<Value = BitRate> {
    let common = prop::sample::select(vec![10, 25, 40, 100, 400]).prop_map(BitRate::gigabits);
    let any = (1_000_000_u64..1_000_000_000_000).prop_map(|rate| BitRate::new(rate).unwrap());
    prop_oneof![common, any]
}

fn dynamic() -> impl Strategy<Value = Threshold> {
    (-8_i8..=8).prop_map(|exponent| Threshold::Dynamic(DynamicThreshold::new(exponent).unwrap()))
}

fn rate_limit() -> impl Strategy<Value = RateLimit> {
    (rate(), size()).prop_map(|(rate, burst)| RateLimit { rate, burst })
}

fn classification() -> impl Strategy<Value = Classification> {
    let trust = prop_oneof![Just(Trust::Dscp), Just(Trust::Pcp), Just(Trust::Nothing)];
    (trust, prop::array::uniform32(priority()), prop::array::uniform8(priority()), priority()).prop_map(
        |(trust, dscp, pcp, default)| {
            let unread = Classification::default();
            let dscp = core::array::from_fn(|code| dscp[code / 2]);
            Classification {
                trust,
                dscp: if trust == Trust::Dscp { dscp } else { unread.dscp },
                pcp: if trust == Trust::Nothing { unread.pcp } else { pcp },
                default,
            }
        },
    )
}

/// A group whose thresholds fit each other and the pools of [`settings`].
fn group() -> impl Strategy<Value = GroupSettings> {
    let lossless = (0..20_000_u64, size(), prop::option::of(dynamic()), size(), size(), size()).prop_map(
        |(reserved, more, share, xon, xon_offset, headroom)| {
            let fixed = Bytes(reserved + 1 + more.0);
            let (xoff, xon, xon_offset) = match share {
                Some(share) => (share, xon, xon_offset),
                None => (Threshold::Static(fixed), xon.min(fixed), Bytes::ZERO),
            };
            let reserved = Bytes(reserved);
            // Less than a frame is an error.
            let headroom = headroom + PortSettings::LARGEST_FRAME;
            GroupSettings::Lossless(LosslessGroup { reserved, xoff, xon, xon_offset, headroom })
        },
    );
    prop_oneof![Just(GroupSettings::Lossy), lossless]
}

fn queue() -> impl Strategy<Value = QueueSettings> {
    let scheduling = prop_oneof![Just(Scheduling::Strict), (1_u8..).prop_map(Scheduling::Weighted)];
    let mark_at = prop_oneof![Just(MarkAt::Dequeue), Just(MarkAt::Enqueue)];
    let red = (size(), size(), 1_u32..=1_000, mark_at).prop_map(|(kmin, more, pmax, mark_at)| Red {
        kmin,
        kmax: kmin + more + Bytes(1),
        pmax: f64::from(pmax) / 1_000.0,
        mark_at,
        adaptive: None,
    });
    let lossy = (size(), prop_oneof![dynamic(), size().prop_map(Threshold::Static)])
        .prop_map(|(reserved, threshold)| LossyQueue { reserved, threshold });
    (scheduling, prop::option::of(rate_limit()), prop::option::of(red), lossy).prop_map(
        |(scheduling, rate_limit, red, lossy)| QueueSettings {
            priority: Priority::default(),
            scheduling,
            rate_limit,
            red,
            lossy,
        },
    )
}

/// Settings of Bifrost except its buffer. At any rate here, one pause frame can pause for a whole slot.
fn bifrost() -> impl Strategy<Value = Bifrost> {
    let kind = prop_oneof![
        Just(VirtualIncoming::Counter),
        (0_u64..100_000).prop_map(|jitter| VirtualIncoming::History { jitter: Interval(jitter) })
    ];
    (1_000_u64..16_000, 16_000_u64..=1_000_000_000, 1_u32..=1_000, kind, 0_u64..=1_000, 0_u64..100_000)
        .prop_map(|(slot, round_trip, check_every, virtual_incoming, holdover, lateness)| Bifrost {
            buffer: WireBytes(0),
            slot: Interval(slot),
            round_trip: Interval(round_trip),
            check_every: NonZeroU32::new(check_every).unwrap(),
            virtual_incoming,
            holdover: Interval(holdover),
            lateness: Interval(lateness),
        })
}

/// PFC, a scheme that looks at egress queues, or a relay on port `index` of two.
fn other_scheme(index: u8) -> impl Strategy<Value = FlowControl> {
    let time = || (1_000_u64..=1_000_000_000).prop_map(Interval);
    let p_pfc = (time(), time(), 1_u16..=1_000, size()).prop_map(|(horizon, interval, coverage, kmax)| {
        FlowControl::PPfc(PPfc { horizon, coverage: f64::from(coverage) / 1_000.0, interval, kmax })
    });
    let capfc = (time(), size()).prop_map(|(interval, warn)| FlowControl::CaPfc(CaPfc { warn, interval }));
    let relay = FlowControl::Relay(Relay { from: PortId(1 - u16::from(index)) });
    prop_oneof![Just(FlowControl::Pfc), Just(relay), p_pfc, capfc]
}

fn watchdog() -> impl Strategy<Value = Watchdog> {
    let action =
        prop::sample::select(vec![WatchdogAction::Drop, WatchdogAction::Forward, WatchdogAction::Alert]);
    (100_000_000_u64..=5_000_000_000, 100_000_000_u64..=60_000_000_000, action).prop_map(
        |(detection, restoration, action)| Watchdog {
            detection: Interval(detection),
            restoration: Interval(restoration),
            action,
        },
    )
}

/// `port` with Bifrost, BifrostX or credits, where it has lossless groups and none pauses before the scheme does: a fixed
/// threshold becomes a share.
fn with_scheme(mut port: PortSettings, scheme: Option<(Bifrost, u8)>) -> PortSettings {
    let Some((mut bifrost, kind)) = scheme.filter(|_| !port.lossless().is_empty()) else { return port };
    // Messages of BifrostX may come a quarter of a slot early.
    let longer = Bifrost { round_trip: bifrost.round_trip + bifrost.slot, ..bifrost };
    bifrost.buffer = longer.buffer_terms(port.rate, port.max_frame).total();
    port.flow_control = match kind {
        0 => FlowControl::Bifrost(bifrost),
        1 => FlowControl::BifrostX(bifrost),
        _ => {
            let counter = if kind == 2 { Counter::Wide } else { Counter::Uec };
            let buffer = WireBytes(100_000 + bifrost.round_trip.0 % 100_000_000);
            FlowControl::Cbfc(Cbfc { buffer, interval: bifrost.slot, counter })
        }
    };
    for group in &mut port.groups {
        if let GroupSettings::Lossless(group) = group
            && matches!(group.xoff, Threshold::Static(_))
        {
            group.xoff = Threshold::Dynamic(DynamicThreshold::new(0).unwrap());
        }
    }
    port
}

/// `port` with `other`, where it has lossless groups and no Bifrost.
fn with_other(mut port: PortSettings, other: FlowControl) -> PortSettings {
    if port.flow_control == FlowControl::Pfc && !port.lossless().is_empty() {
        port.flow_control = other;
    }
    port
}

fn dscp() -> impl Strategy<Value = Dscp> {
    (0_u8..64).prop_map(Dscp::from_low_bits)
}

fn wire_size() -> impl Strategy<Value = WireBytes> {
    (1_u64..10_000_000).prop_map(WireBytes)
}

/// Settings of LSCC on port `index`. Its rates and its long flows fit no link yet: the rates are parts of 1000, and
/// the flows are what they have sent beyond a BDP.
fn lscc(index: u8) -> impl Strategy<Value = Lscc> {
    let share = || (1_u64..=1_000).prop_map(|share| BitRate::new(share).unwrap());
    let times = (16_000_u64..200_000, 200_000_u64..=1_000_000_000);
    let calculation = (wire_size(), prop::option::of(rate()), share(), share());
    let limiting = (
        (
            wire_size(),
            prop::option::of(wire_size()),
            prop::option::of(wire_size()),
            1_000_u64..=1_000_000_000,
        ),
        (prop::option::of(1_000_u64..=1_000_000_000), 1..=FlowSettings::MOST, 1_u64.., 0_u32..=4),
        (dscp(), priority(), prop::option::of(0..=1_000_000_000_u64)),
    );
    let feedback = (prop::option::of(any::<[u8; 16]>()), dscp());
    (times, calculation, limiting, feedback).prop_map(move |(times, calculation, limiting, feedback)| {
        let (reference, step, one, other) = calculation;
        let ((pseudo_reference, above, long_flow, cnp), far, direct) = limiting;
        let (cnp_dscp, cnp_priority, direct_int) = direct;
        let (far_cnp, flows, ageing, learn) = far;
        Lscc {
            interval: Interval(times.0),
            round_trip: Interval(times.1),
            calculation: RateCalculation { reference, step, least: one.min(other), most: one.max(other) },
            limiting: RateLimiting {
                reference: pseudo_reference,
                limit: above.map(|above| pseudo_reference + above),
                cnp_interval: Interval(cnp),
                direct_int: direct_int.map(Interval),
                long_flow,
                far_cnp_interval: far_cnp.map(Interval),
                flows,
                ageing: Interval(ageing),
                learn: 1 << learn,
                cnp_dscp,
                cnp_priority,
            },
            feedback: Feedback {
                local: Ipv4Addr::new(10, 255, index, 1),
                peer: Ipv4Addr::new(10, 255, index, 2),
                key: feedback.0.map(Key),
                dscp: feedback.1,
            },
        }
    })
}

/// `port` with LSCC, where it has lossless groups.
fn with_lscc(mut port: PortSettings, lscc: Option<Lscc>) -> PortSettings {
    let Some(mut lscc) = lscc.filter(|_| !port.lossless().is_empty()) else { return port };
    let of_rate = |share: BitRate| port.rate.bits_per_second() / 1_000 * share.bits_per_second();
    lscc.calculation.least = BitRate::new(of_rate(lscc.calculation.least)).unwrap();
    lscc.calculation.most = BitRate::new(of_rate(lscc.calculation.most)).unwrap();
    lscc.limiting.long_flow = lscc.limiting.long_flow.map(|beyond| lscc.bdp(port.rate) + beyond);
    lscc.limiting.direct_int = lscc.limiting.direct_int.filter(|_| LinkRate::of(port.rate).is_some());
    port.notifiers.lscc = Some(lscc);
    port
}

/// Takes the marks of either port from what is lossless at the other, if that has LSCC.
fn without_marks_on_lscc(ports: &mut [PortSettings]) {
    for index in 0..ports.len() {
        let other = &ports[1 - index];
        let lossless = other.lossless();
        let queue_of_lscc =
            |priority: &Priority| other.notifiers.lscc.is_some() && lossless.contains(*priority);
        for priority in Priority::all().filter(queue_of_lscc).collect::<Vec<_>>() {
            ports[index].queues[priority.index()].red = None;
        }
    }
}

fn senders() -> impl Strategy<Value = Senders> {
    (rate(), rate(), 1_u64..1_000_000_000).prop_map(|(rate, additive_increase, rate_timer)| Senders {
        rate,
        additive_increase,
        rate_timer: Interval(rate_timer),
    })
}

fn port(index: u8) -> impl Strategy<Value = (PortSettings, Link)> {
    let shape = (rate(), 64_u64..=9_216, 0_u64..=5_000, 0_u64..=5_000);
    // Boxed, for eight of each would be too much for the stack of a test.
    let (groups, queues) = (prop::array::uniform8(group().boxed()), prop::array::uniform8(queue().boxed()));
    let tables = (classification(), groups, queues);
    let rest = (prop::option::of(rate_limit()), any::<bool>(), 45_000_u16.., any::<bool>());
    let lscc = (prop::option::of(lscc(index)), senders());
    let schemes = (prop::option::of((bifrost(), 0_u8..4)), other_scheme(index));
    let rest =
        (rest, schemes, lscc, (prop::option::of(watchdog()), prop::option::of(strategies::supplement())));
    (shape, tables, rest).prop_map(move |(shape, tables, rest)| {
        let (rate, max_frame, tx_window, interface_delay) = shape;
        let (classification, groups, queues) = tables;
        let queues = Priority::all().zip(queues).map(|(priority, queue)| QueueSettings { priority, ..queue });
        let (rest, (scheme, other), (lscc, senders), (watchdog, supplement)) = rest;
        let (rate_limit, obey_global_pause, pause, int) = rest;
        let mut port = PortSettings {
            name: format!("port{index}"),
            mac: MacAddress([2, 0, 0, 1, 0, index]),
            addresses: vec![format!("10.0.{index}.1/24").parse().unwrap()],
            rate,
            max_frame: Bytes(max_frame),
            device_mtu: None,
            tx_window: Interval(tx_window),
            bundle: None,
            classification,
            orientation: None,
            remap: Default::default(),
            groups,
            queues: queues.collect(),
            rate_limit,
            pfc: PfcSettings { pause: PauseQuanta(pause), obey: Default::default(), obey_global_pause },
            flow_control: FlowControl::Pfc,
            notifiers: Default::default(),
            slow: None,
            watchdog,
            repair: None,
            link_delay: None,
            link_agent: None,
            int: int && LinkRate::of(rate).is_some(),
        };
        port.pfc.obey = port.lossless();
        let port = with_lscc(with_other(with_scheme(port, scheme), other), lscc);
        let port = strategies::with_supplement(port, supplement);
        // A distance would hold the headroom to what it needs, so only where nothing is lossless.
        let distance = port.lossless().is_empty().then_some(Distance(80_000));
        let senders = if port.notifiers.lscc.is_some() { senders } else { Senders::default() };
        (
            port,
            Link {
                distance,
                interface_delay: Interval(interface_delay),
                senders,
                delay: None,
                willing: Default::default(),
                lanes: 1,
            },
        )
    })
}

fn forwarding() -> impl Strategy<Value = ForwardingSettings> {
    let neighbour = |host: u8, port| Neighbour {
        address: format!("10.0.{port}.{host}").parse().unwrap(),
        mac: MacAddress([2, 0, 0, 2, 0, host]),
        port: PortId(port),
    };
    let route = move |(third, neighbours): (u8, Vec<u8>)| {
        let neighbours: Vec<_> = neighbours.into_iter().map(|host| neighbour(host, 1)).collect();
        let next_hops = neighbours.iter().map(|it| it.address).collect();
        let prefix = format!("172.16.{third}.0/24").parse().unwrap();
        ForwardingSettings::Route(RouteSettings {
            routes: vec![Route { prefix, next_hops }],
            neighbours,
            kernel: None,
            sprays: false,
        })
    };
    prop_oneof![
        Just(ForwardingSettings::Patch(vec![(PortId(1), PortId(0))])),
        (1_u32..100_000, 1_u64..).prop_map(|(capacity, ageing)| ForwardingSettings::Bridge(BridgeSettings {
            capacity,
            ageing: Interval(ageing)
        })),
        (any::<u8>(), prop::sample::subsequence(vec![2, 3, 4, 5], 1..4)).prop_map(route),
    ]
}

fn settings() -> impl Strategy<Value = (Settings, Vec<Link>)> {
    let buffer = (20_000_000_u64..50_000_000, 10_000_000_u64..50_000_000, 0..20_000_000_u64);
    (port(0), port(1), buffer, forwarding(), 0..u64::MAX / 2).prop_map(
        |(one, other, buffer, forwarding, seed)| {
            let (shared, headroom, egress_lossy) = buffer;
            let buffer = BufferSettings {
                shared: Bytes(shared),
                headroom: Bytes(headroom),
                egress_lossy: Bytes(egress_lossy),
                packing: None,
            };
            let mut ports = vec![one.0, other.0];
            without_marks_on_lscc(&mut ports);
            (Settings { ports, buffer, forwarding, seed }, vec![one.1, other.1])
        },
    )
}

fn gateway() -> impl Strategy<Value = Gateway> {
    settings()
        .prop_flat_map(|(settings, links)| {
            (Just(settings), strategies::runtime::runtime(links.clone()), Just(links))
        })
        .prop_map(|(settings, mut runtime, links)| {
            let team = settings.team(PortId(0));
            if let [Some(one), Some(other)] = &mut runtime.devices[..]
                && team.contains(PortId(1))
            {
                // Ports that exchange frames have one core.
                other.core = one.core;
            }
            let (name, program) = ("gw".into(), Arc::new(Program::new(settings).unwrap()));
            Gateway {
                name,
                seed_stated: true,
                program,
                links,
                cell_occupancy: 1.25,
                runtime,
                warnings: Vec::new(),
            }
        })
}

/// Tables and keys of which files are made.
const KEYS: &str = "
    [gateway] [buffer] [forwarding] [[forwarding.route]] [[forwarding.neighbour]] [[port]]
    [port.classify] [[port.lossless]] [[port.queue]] [port.pfc] [profile.port.x]
    [[profile.port.x.lossless]] [profile.lossless.x] [profile.queue.x] name seed shared headroom
    egress_lossy cell_occupancy mode pairs capacity ageing prefix next_hops address mac
    port rate mtu max_frame distance tx_window int interface_delay addresses classify lossless queue
    rate_limit pfc trust default dscp pcp priorities reserved xoff dynamic_th xon xon_offset profile
    scheduling weight ecn lossy pause obey global_pause flow_control bifrost slot buffer round_trip check_every
    virtual_incoming jitter holdover lateness [port.bifrost] [profile.port.x.bifrost] p_pfc horizon coverage kmax [port.p_pfc] capfc warn [port.capfc] relay from [port.relay] local peer key key_file
    interval reference step least most pseudo_reference pseudo_limit cnp_interval direct int_interval long_flow far_cnp_interval flows learn
    cnp feedback_dscp lscc [port.lscc] [profile.port.x.lscc] [port.lscc.cnp] [port.lscc.senders]
    senders additive_increase rate_timer
    watchdog detection restoration action [port.watchdog] [profile.port.x.watchdog]
    [dpdk] [control] [process] [port.device] [port.emulation] [profile.port.x.emulation] [port.device.memif]
    hugepages cores lanes idle file_prefix arguments pack_below socket mode metrics stall drain device pci vdev
    interface driver memif core receive_descriptors transmit_descriptors pfc_frames id role emulation
    delay loss duplicate reorder reorder_by control group user privileges";

/// Values, between bars.
const VALUES: &str = r#"1 | -3 | 0.5 | nan | true | [3, 4] | [] | "x" | "dc0" | "100G" | "1bps" | "16MiB" | "0B"
"400us" | "18446744073709551615ns" | "40000km" | "auto" | "patch" | "bridge" | "route"
"strict" | "counter" | "history" | "pfc" | "bifrost" | "p-pfc" | "capfc" | "relay" | { from = "dc0" } | "drop" | "1s" | "10.0.0.0/8" | "::1" | ["::1"] | "02:00:00:00:00:01" | [["dc0", "x"]]
{ "0-63" = 3 } | { kmin = "1B", kmax = "1TB" } | {} | 1979-05-27 | 0xff | 9223372036854775808
"é́" | "none" | "10.0.0.1" | "10.0.0.2" | "000102030405060708090a0b0c0d0e0f" | { dscp = 1 }
{ local = "10.0.0.1", peer = "10.0.0.2", round_trip = "1ms" } | { round_trip = "1ms" }
"net_ring0" | "veth0" | "0000:3b:00.0" | 1024 | "660" | "127.0.0.1:9464" | "/run/a.sock" | "server"
"keep" | "nobody" | ["--log-level=7"] | { delay = "400us" } | { interface = "veth0" }"#;

/// A file of pieces that belong in files, so that it gets past the parser.
fn toml_like() -> impl Strategy<Value = String> {
    let key = prop::sample::select(KEYS.split_whitespace().collect::<Vec<_>>());
    let value = prop::sample::select(VALUES.split(['|', '\n']).map(str::trim).collect::<Vec<_>>());
    let line = (key, value).prop_map(|(key, value)| match key.starts_with('[') {
        true => format!("{key}\n"),
        false => format!("{key} = {value}\n"),
    });
    let port = Just("[[port]]\nname = \"dc0\"\nrate = \"100G\"\n".to_owned());
    prop::collection::vec(prop_oneof![9 => line, 1 => port], 0..40).prop_map(|lines| lines.concat())
}

#[test]
fn nesting_as_deep_as_the_text_allows_is_refused_without_panic() {
    const DEPTH: usize = 20_000;
    for text in [
        format!("port = {}{}", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        format!("port = {}", "{ a = ".repeat(DEPTH)),
        format!("{}a = 1", "a.".repeat(DEPTH)),
        format!("[{}a]", "a.".repeat(DEPTH)),
        format!("[[port]]\n[port.{}a]", "a.".repeat(DEPTH)),
    ] {
        assert!(parse(&text, "deep.toml").is_err());
    }
}

/// All that the buffer holds.
fn capacity(gateway: &Gateway) -> Bytes {
    let Settings { ports, buffer, .. } = gateway.program.settings();
    let groups = ports.iter().flat_map(|port| &port.groups).filter_map(GroupSettings::lossless);
    groups.map(|group| group.reserved).sum::<Bytes>() + buffer.shared + buffer.headroom
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_panic(text in "\\PC{0,200}") {
        let _ = parse(&text, "any.toml");
    }

    #[test]
    fn any_toml_is_read_or_refused_without_panic(text in toml_like()) {
        match parse(&text, "any.toml") {
            Ok(gateway) => prop_assert!(Program::new(gateway.program.settings().clone()).is_ok()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_gateway_that_covers_later_workers_is_valid_and_needs_no_more_memory(
        gateway in gateway(),
        micros in prop::collection::vec(0_u64..100_000, 64),
    ) {
        let wanted: Vec<_> = micros.into_iter().map(Interval::from_micros).collect();
        let wider = gateway.covering(&wanted, &vec![Interval::ZERO; 64]);
        prop_assert!(wider.program.can_replace(&gateway.program).is_ok());
        prop_assert_eq!(capacity(&wider), capacity(&gateway));
        for port in (0..gateway.links.len() as u16).map(PortId) {
            prop_assert!(wider.covered_lateness(port) >= gateway.covered_lateness(port));
        }
        let [was, is] = [&gateway, &wider].map(|it| it.program.settings().buffer);
        prop_assert!(is.shared.0 >= was.shared.0 / 2 && is.egress_lossy <= is.shared);
        prop_assert!(is.headroom >= was.headroom);
        // The pool is used up where a port is short: there is no room for 6 us more at all of those.
        let micros = Interval::from_micros;
        let covered = |gateway: &Gateway| -> Vec<Interval> {
            let ports = (0..64).map(PortId).take(gateway.links.len());
            ports.map(|port| gateway.covered_lateness(port).unwrap_or_default()).collect()
        };
        let held = covered(&wider);
        let lossless = |port: &usize| gateway.covered_lateness(PortId(*port as u16)).is_some();
        // Rounding takes a microsecond at most of what headroom has beyond its formula.
        let wants = |port: &usize| lossless(port) && held[*port] + micros(2) < wanted[*port];
        let mut more = held.clone();
        let wanting: Vec<usize> = (0..held.len()).filter(wants).collect();
        wanting.iter().for_each(|port| more[*port] = wanted[*port].min(held[*port] + micros(6)));
        // A port whose pauses cannot be longer is short of time, and not of room.
        let short: Vec<_> =
            wanting.into_iter().filter(|port| gateway.can_cover(PortId(*port as u16), more[*port])).collect();
        let further = covered(&gateway.covering(&more, &held));
        let reached = short.iter().all(|port| further[*port] + micros(1) >= more[*port]);
        prop_assert!(short.is_empty() || !reached, "{short:?} of {held:?} wanted {wanted:?}");
    }

    #[test]
    fn a_valid_gateway_survives_being_written_and_read(gateway in gateway()) {
        let text = render(&gateway);
        let again = parse(&text, "rendered.toml")
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        // How frames share memory follows from the devices, which the settings here were made without.
        let mut settings = again.program.settings().clone();
        prop_assert_eq!(settings.buffer.packing.take().is_some(), again.memory().is_some());
        prop_assert_eq!(&settings, gateway.program.settings());
        prop_assert_eq!(&again.links, &gateway.links);
        prop_assert_eq!(again.cell_occupancy, gateway.cell_occupancy);
        prop_assert_eq!(&again.runtime, &gateway.runtime);
        prop_assert_eq!(diff(&gateway, &again), Vec::new());
    }
}
