//! Whether a lossless class is healthy: each rule alone, and what a person sees.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{snapshot, snapshot_at_rest};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use telemetry::health::{Health, HealthVerdict, RULES, render};
use telemetry::{Period, Snapshot};

/// Values at places of a snapshot.
type Places = &'static [(&'static str, &'static str)];

/// A rule, what makes it true, and what comes near to that and leaves it silent.
const CASES: &[(&str, Places, Places)] = &[
    (
        "drops",
        &[("/ports/0/priorities/3/ingress/dropped", r#"{"headroom_pool_full": {"frames": 1, "bytes": 64}}"#)],
        &[("/ports/0/priorities/0/ingress/dropped", r#"{"shared_pool_full": {"frames": 1, "bytes": 64}}"#)],
    ),
    (
        "frames_refused",
        &[("/ports/0/priorities/3/ingress/dropped", r#"{"runt": {"frames": 1, "bytes": 9}}"#)],
        &[("/ports/0/priorities/0/ingress/dropped", r#"{"runt": {"frames": 1, "bytes": 9}}"#)],
    ),
    ("device_losses", &[("/ports/0/counters/missed", "1")], &[("/ports/0/counters/full", "9")]),
    ("link_errors", &[("/ports/0/counters/receive_errors", "1")], &[("/ports/0/counters/received", "1")]),
    (
        "pause_frames_lost",
        &[("/ports/0/counters/control/lost", "1")],
        &[("/ports/0/counters/control/sent", "1")],
    ),
    (
        // Of a second, the peer of 10 Gb/s was to be silent for 0.9 s: 125 MB may come, and two headrooms.
        "peer_ignores_pauses",
        &[
            ("/ports/0/priorities/3/pauses_sent/paused_ns", "900000000"),
            ("/ports/0/priorities/3/pauses_sent/paused_by_cause_ns/slot", "900000000"),
            ("/ports/0/priorities/3/pauses_sent/xoff", "1"),
            ("/ports/0/priorities/3/ingress/received/bytes", "125600000"),
            ("/ports/1/priorities/3/egress/ecn_marked", "1"),
        ],
        &[
            ("/ports/0/priorities/3/pauses_sent/paused_ns", "900000000"),
            ("/ports/0/priorities/3/pauses_sent/paused_by_cause_ns/slot", "900000000"),
            ("/ports/0/priorities/3/pauses_sent/xoff", "1"),
            ("/ports/0/priorities/3/ingress/received/bytes", "125500000"),
            ("/ports/1/priorities/3/egress/ecn_marked", "1"),
        ],
    ),
    (
        "pfc_not_passed",
        &[("/ports/0/device/pfc/receive", "\"no\"")],
        &[("/ports/0/device/pfc/receive", "\"unknown\"")],
    ),
    ("link_down", &[("/ports/0/device/link_up", "false")], &[("/ports/0/device/link_up", "true")]),
    ("short_mtu", &[("/ports/0/short_mtu", "1500")], &[("/ports/0/short_mtu", "null")]),
    (
        "pause_storm",
        &[("/ports/1/priorities/3/egress/watchdog/storms", "1")],
        &[("/ports/1/priorities/3/egress/watchdog/restored", "1")],
    ),
    (
        "far_end_silent",
        &[("/ports/1/credits/hears", "0")],
        &[("/ports/1/credits/missed", "3"), ("/ports/1/lscc/feedback/stale", "1")],
    ),
    ("buffers_low", &[("/memory/mbufs_in_use", "65000")], &[("/memory/mbufs_in_use", "60000")]),
    (
        // Of 262,144 bytes.
        "headroom_low",
        &[("/ports/0/priorities/3/ingress/headroom_watermark_bytes", "196609")],
        &[("/ports/0/priorities/3/ingress/headroom_watermark_bytes", "196608")],
    ),
    (
        "shared_pool_full",
        &[("/ports/0/priorities/3/pauses_sent/paused_by_cause_ns/pool_full", "1")],
        &[("/ports/0/priorities/3/pauses_sent/paused_by_cause_ns/threshold", "1")],
    ),
    (
        "pauses_received",
        &[("/ports/0/priorities/3/pauses_received/paused_ns", "100000001")],
        &[("/ports/0/priorities/3/pauses_received/paused_ns", "100000000")],
    ),
    (
        "pauses_sent",
        &[("/ports/0/priorities/3/pauses_sent/paused_ns", "100000001")],
        &[
            ("/ports/0/priorities/3/pauses_sent/paused_ns", "900000000"),
            ("/ports/0/priorities/3/pauses_sent/paused_by_cause_ns/slot", "800000000"),
        ],
    ),
    (
        "pauses_before_ecn",
        &[("/ports/0/priorities/3/pauses_sent/xoff", "7")],
        &[("/ports/0/priorities/3/pauses_sent/xoff", "7"), ("/ports/1/priorities/3/egress/ecn_marked", "1")],
    ),
    (
        // XOFF of dc0 is 24 kB.
        "xoff_below_kmin",
        &[("/ports/1/levels/3/ecn/kmin_bytes", "24000")],
        &[("/ports/1/levels/3/ecn/kmin_bytes", "23999")],
    ),
    (
        "senders_not_told",
        &[("/ports/1/lscc/cnps/not_notified", "1")],
        &[("/ports/1/lscc/cnps/marked_instead", "1"), ("/ports/1/flows/unresolved", "1")],
    ),
    ("flow_table_full", &[("/ports/1/flows/known", "1024")], &[("/ports/1/flows/known", "1023")]),
    (
        // It lets in 262,144 bytes and as much again, and what comes in a turn of 90 us at 10 Gb/s.
        "late_worker",
        &[("/workers/0/late_turns", "1"), ("/ports/0/priorities/3/ingress/dropped", REFUSED)],
        &[("/workers/0/late_turns", "1")],
    ),
    (
        "headroom_short",
        &[("/ports/0/priorities/3/ingress/dropped", REFUSED)],
        &[("/ports/0/priorities/0/ingress/dropped", REFUSED)],
    ),
    (
        // The longest turn took 90 us.
        "lateness_not_covered",
        &[
            ("/workers/0/late_turns", "1"),
            ("/workers/0/covered_lateness_ns", "80000"),
            ("/ports/0/priorities/3/ingress/received/frames", "1"),
        ],
        &[("/workers/0/late_turns", "1"), ("/workers/0/covered_lateness_ns", "80000")],
    ),
    (
        "roce_in_lossy",
        &[("/ports/0/priorities/0/dropped_roce", "1")],
        &[("/ports/0/priorities/0/ingress/dropped", r#"{"shared_pool_full": {"frames": 1, "bytes": 64}}"#)],
    ),
    (
        // lh0 has credits.
        "far_end_congested",
        &[("/ports/1/priorities/3/pauses_received/paused_ns", "100000001")],
        &[("/ports/1/priorities/3/pauses_received/paused_ns", "100000000")],
    ),
    (
        "overload",
        &[("/ports/0/priorities/3/pauses_sent/paused_ns", "100000001"), ("/waiting", WAITING)],
        &[("/ports/0/priorities/3/pauses_sent/paused_ns", "100000000"), ("/waiting", WAITING)],
    ),
    (
        "link_delay_refused",
        &[("/ports/1/covered_delay/refused", "1")],
        &[("/ports/1/covered_delay/applied", "9")],
    ),
    (
        "pfc_turned_off",
        &[
            ("/ports/1/priorities/3/ingress/lossless", "false"),
            (
                "/ports/1/negotiated",
                r#"{"enabled": [], "configured": [3], "applied": 1, "refused": 0, "refusal": null}"#,
            ),
        ],
        &[(
            "/ports/1/negotiated",
            r#"{"enabled": [3], "configured": [3], "applied": 2, "refused": 1, "refusal": null}"#,
        )],
    ),
    ("neighbour_differs", &[("/ports/1/neighbours", DIFFERS)], &[("/ports/1/neighbours", AGREES)]),
    (
        "pauses_ignored",
        &[("/ports/0/priorities/3/pauses_received/ignored", "1")],
        &[("/ports/0/priorities/3/pauses_received/xoff", "1")],
    ),
];

/// What a headroom refused.
const REFUSED: &str = r#"{"headroom_exceeded": {"frames": 1, "bytes": 64}}"#;

/// Frames of dc0 that wait for lh0.
const WAITING: &str = r#"[{
    "came_in": "dc0", "priority": 3, "leaves_by": "lh0", "queue": 3, "waiting": {"frames": 9, "bytes": 9000}
}]"#;

/// Rules whose cause is told by drops, which are a finding too.
const OF_DROPS: [&str; 2] = ["late_worker", "headroom_short"];

/// Neighbours of a port, one that differs from it and one that does not.
const DIFFERS: &str = r#"[{
    "system": "far", "chassis": "02:00:00:00:09:02", "port": "Ethernet0", "mac": "02:00:00:00:09:02",
    "ttl_ns": 9, "age_ns": 1, "known_ns": 1, "unchanged_ns": 1,
    "mismatches": [
        {"kind": "pfc_priorities", "sides": "PFC for priority 3 here, for priority 5 there"},
        {"kind": "max_frame", "sides": "max_frame = 1522 here, 9216 there"}
    ]
}]"#;
const AGREES: &str = r#"[{
    "system": "far", "chassis": "02:00:00:00:09:02", "port": "Ethernet0", "mac": "02:00:00:00:09:02",
    "ttl_ns": 9, "age_ns": 1, "known_ns": 1, "unchanged_ns": 1, "mismatches": []
}]"#;

/// A mismatch of settings and two others.
const OTHERS: &str = r#"[
    {"kind": "max_frame", "sides": "max_frame = 1522 here, 9216 there"},
    {"kind": "several_neighbours", "sides": "several neighbours speak DCBX"},
    {"kind": "same_chassis", "sides": "chassis 02:00:00:00:00:01 here and there"}
]"#;

/// The snapshot at rest, with `places` changed.
fn with(places: Places) -> Snapshot {
    let mut json = serde_json::to_value(snapshot_at_rest()).unwrap();
    for (pointer, value) in places {
        let place = json.pointer_mut(pointer).unwrap_or_else(|| panic!("a snapshot has no {pointer}"));
        *place = serde_json::from_str::<Value>(value).unwrap();
    }
    serde_json::from_value(json).unwrap()
}

/// The rules that hold of a snapshot since its start.
fn rules(snapshot: &Snapshot) -> BTreeSet<String> {
    let health = Health::of(&Period::since_start(snapshot), None);
    health.classes.iter().flat_map(|class| &class.findings).map(|it| it.rule.to_string()).collect()
}

#[test]
fn a_gateway_at_rest_is_healthy() {
    let snapshot = snapshot_at_rest();
    let health = Health::of(&Period::since_start(&snapshot), None);
    assert_eq!((rules(&snapshot), health.verdict), (BTreeSet::new(), HealthVerdict::Healthy));
    let classes: Vec<_> = health.classes.iter().map(|it| (it.port.as_str(), it.priority)).collect();
    assert_eq!(classes, [("dc0", 3), ("lh0", 3)], "lossy priorities are none");
}

#[test]
fn each_rule_holds_for_what_it_is_about_and_alone() {
    for (rule, holds, _) in CASES {
        let drops = OF_DROPS.contains(rule).then_some("drops");
        let expected = [*rule].into_iter().chain(drops).map(str::to_owned).collect();
        assert_eq!(rules(&with(holds)), expected, "{rule}");
        let health = Health::of(&Period::since_start(&with(holds)), None);
        assert_eq!(health.cause.unwrap().finding.rule, *rule);
    }
}

#[test]
fn each_rule_is_silent_of_what_only_comes_near() {
    for (rule, _, silent) in CASES {
        assert_eq!(rules(&with(silent)), BTreeSet::new(), "{rule}");
    }
}

#[test]
fn no_rule_is_without_its_cases() {
    let tested: BTreeSet<_> = CASES.iter().map(|(rule, ..)| *rule).collect();
    let all: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!((&tested, tested.len(), all.len()), (&all, CASES.len(), RULES.len()));
}

#[test]
fn what_was_before_the_period_is_not_held_against_a_class() {
    let (_, drops, _) = CASES[0];
    let before = with(drops);
    let mut now = before.clone();
    (now.at_ns, now.uptime_ns) = (now.at_ns + 1_000_000_000, now.uptime_ns + 1_000_000_000);
    let verdict = |period: Period<'_>| Health::of(&period, None).verdict;
    assert_eq!(verdict(Period::since_start(&now)), HealthVerdict::Unhealthy);
    assert_eq!(verdict(Period::between(&before, &now).unwrap()), HealthVerdict::Healthy);
    now.ports[0].port.priorities[3].ingress.dropped.get_mut("headroom_pool_full").unwrap().frames += 1;
    assert_eq!(verdict(Period::between(&before, &now).unwrap()), HealthVerdict::Unhealthy);
}

#[test]
fn rules_are_told_the_unhealthy_ones_first() {
    assert!(RULES.iter().map(|rule| rule.verdict).is_sorted_by(|one, other| one >= other));
}

#[test]
fn a_gateway_that_started_within_a_period_has_none() {
    let (before, mut now) = (snapshot_at_rest(), snapshot_at_rest());
    now.at_ns += 5;
    assert!(Period::between(&before, &now).is_err());
}

#[test]
fn a_device_that_kept_pauses_is_named_with_their_number_until_a_period_without_one() {
    let kept: Places = &[("/ports/0/counters/kept_pauses", "12")];
    let before = with(kept);
    let health = Health::of(&Period::since_start(&before), None);
    let [finding] = &health.classes[0].findings[..] else { panic!("{:?}", health.classes[0].findings) };
    assert_eq!((&*finding.rule, health.verdict), ("pfc_not_passed", HealthVerdict::Unhealthy));
    assert!(finding.found.contains("veth-dc kept 12 pauses of the peer to itself"), "{}", finding.found);
    let mut now = before.clone();
    (now.at_ns, now.uptime_ns) = (now.at_ns + 1_000_000_000, now.uptime_ns + 1_000_000_000);
    assert_eq!(Health::of(&Period::between(&before, &now).unwrap(), None).verdict, HealthVerdict::Healthy);
}

#[test]
fn a_short_mtu_of_a_repaired_port_names_what_repair_adds() {
    let found = |places| {
        let snapshot = with(places);
        let health = Health::of(&Period::since_start(&snapshot), None);
        let mut findings = health.classes.into_iter().flat_map(|class| class.findings);
        findings.find(|finding| finding.rule == "short_mtu").unwrap().found
    };
    let with = found(&[("/ports/1/short_mtu", "1500"), ("/ports/1/repair", r#"{"is_up": 0}"#)]);
    let without = found(&[("/ports/1/short_mtu", "1500")]);
    assert!(with.contains("promises longer packets, to which repair adds 16 bytes: these"), "{with}");
    assert!(without.contains("promises longer packets: these"), "{without}");
}

#[test]
fn a_finding_of_several_classes_is_told_once() {
    let snapshot = with(&[("/memory/mbufs_in_use", "65000")]);
    let page = render(&Health::of(&Period::since_start(&snapshot), None));
    assert!(page.contains("\nbuffers_low (unhealthy), dc0 priority 3, lh0 priority 3\n"), "{page}");
    assert_eq!(page.matches("packet buffers are in use").count(), 1, "{page}");
}

#[test]
fn a_priority_that_a_neighbour_turned_off_keeps_its_row_and_its_watermark_is_not_held_against_it() {
    let (_, places, _) = CASES.iter().find(|(rule, ..)| *rule == "pfc_turned_off").unwrap();
    let mut snapshot = with(places);
    let ingress = &mut snapshot.ports[1].port.priorities[3].ingress;
    (ingress.headroom_watermark_bytes, ingress.limits) = (9_000, None);
    // From when it was lossless.
    snapshot.ports[1].port.priorities[3].pauses_sent.frames.xoff = 1;
    assert_eq!(rules(&snapshot), BTreeSet::from(["pfc_turned_off".to_owned()]));
    let health = Health::of(&Period::since_start(&snapshot), Some("lh0"));
    assert_eq!((health.classes[0].priority, health.verdict), (3, HealthVerdict::Watch));
}

#[test]
fn a_neighbour_that_differs_is_named_with_all_that_differs() {
    let page = render(&Health::of(&Period::since_start(&with(&[("/ports/1/neighbours", DIFFERS)])), None));
    let told = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains(
            "The neighbour far (port Ethernet0) differs: PFC for priority 3 here, for priority 5 there \
             (pfc_priorities); max_frame = 1522 here, 9216 there (max_frame). Next:"
        ),
        "{page}"
    );
}

#[test]
fn a_mismatch_that_is_no_difference_of_settings_is_not_called_one() {
    let places: Places = &[("/ports/1/neighbours", DIFFERS), ("/ports/1/neighbours/0/mismatches", OTHERS)];
    let page = render(&Health::of(&Period::since_start(&with(places)), None));
    let told = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let of = "The neighbour far (port Ethernet0)";
    let expected = [
        format!("{of} differs: max_frame = 1522 here, 9216 there (max_frame)."),
        format!("{of} is not the only one: several neighbours speak DCBX (several_neighbours)."),
        format!(
            "{of} has the identity of this gateway: chassis 02:00:00:00:00:01 here and there (same_chassis)."
        ),
    ];
    assert!(told.contains(&format!("{} Next:", expected.join(" "))), "{page}");
}

#[test]
fn the_worst_finding_comes_first_and_is_the_verdict() {
    let snapshot = snapshot();
    let health = Health::of(&Period::since_start(&snapshot), Some("dc0"));
    let verdicts: Vec<_> = health.classes[0].findings.iter().map(|it| it.verdict).collect();
    assert!(verdicts.is_sorted_by(|a, b| a >= b) && verdicts.len() > 2, "{verdicts:?}");
    assert_eq!((health.verdict, health.classes.len()), (verdicts[0], 1));
}

#[test]
fn a_program_reads_verdicts_by_name() {
    let snapshot = with(&[("/ports/0/device/link_up", "false")]);
    let health = serde_json::to_value(Health::of(&Period::since_start(&snapshot), None)).unwrap();
    assert_eq!(health["verdict"], json!("unhealthy"));
    assert_eq!(health["classes"][0]["findings"][0]["rule"], json!("link_down"));
}
