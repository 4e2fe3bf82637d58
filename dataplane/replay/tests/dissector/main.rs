//! The dissector `config/wireshark/longspan.lua` against the parsers of the gateway: two readings of the same bytes, of
//! every seed of the fuzz targets, each of its truncations, each of its bit flips and more. A field, a format or a refusal
//! that one of them lacks fails a test.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod frames;
mod ours;
mod tshark;

use frames::Frame;
use ours::{Kind, Ours};
use std::collections::BTreeSet;
use tshark::{Row, dissected, dissected_with, text};

/// Whether the dissector refuses a frame for this reason, and finds no fault that hides the rest of the message besides.
fn is_refused(row: &Row, why: &str) -> bool {
    let errors: &[&str] = match why {
        _ if why.contains("bytes needed") => &["short"],
        "format is " => &["unknown_format"],
        // The version of a message, or that of the packet of BFD in it.
        "version is " => &["other_version", "invalid"],
        _ => &["invalid"],
    };
    let shown = |error: &str| row.fields.contains_key(error);
    row.messages.iter().any(|it| it.starts_with(why))
        && errors.iter().any(|error| shown(error))
        && ["other_version", "unknown_format"].iter().all(|error| errors.contains(error) || !shown(error))
}

/// The kind of the message that both readers read; what they disagree about.
fn compared(frame: &Frame, row: &Row) -> Result<Option<Kind>, String> {
    let (kind, agree, expected) = match ours::read(&frame.bytes) {
        Ours::Fields(kind, fields) => (Some(kind), row.fields == fields, format!("{fields:?}")),
        Ours::Refused(why) => (None, is_refused(row, &why), format!("refused: {why}")),
        Ours::Foreign => (None, row.fields.is_empty(), "no message".to_owned()),
        Ours::Unknown => (None, true, String::new()),
    };
    if agree { Ok(kind) } else { Err(format!("{:02x?}\nours   {expected}\ntshark {row:?}", frame.bytes)) }
}

/// Numbers of formats that the gateway knows.
fn formats() -> BTreeSet<Kind> {
    let is_known = |format: &u8| {
        let refused = ours::read(&frames::grant(&[1, 0, 0, *format]).bytes);
        !matches!(refused, Ours::Refused(why) if why.starts_with("format is "))
    };
    (0..=u8::MAX).filter(is_known).map(Kind::Grant).collect()
}

#[test]
fn the_dissector_reads_what_the_gateway_reads_and_refuses_what_it_refuses() {
    let frames = frames::seeds_and_what_becomes_of_them();
    let rows = dissected(&frames);
    let all = frames.iter().zip(&rows).map(|(frame, row)| compared(frame, row));
    let (read, apart): (Vec<_>, Vec<_>) = all.partition(Result::is_ok);
    let apart: Vec<_> = apart.into_iter().filter_map(Result::err).collect();
    assert!(apart.is_empty(), "{} of {} frames, such as\n{}", apart.len(), frames.len(), apart[0]);
    let read: BTreeSet<_> = read.into_iter().flatten().flatten().collect();
    let mut all = formats();
    all.extend([
        Kind::New,
        Kind::Copy,
        Kind::Rate,
        Kind::Challenge,
        Kind::Collected,
        Kind::Returned,
        Kind::DirectInt,
    ]);
    assert_eq!(read, all, "each kind of message has a seed, and was compared");
    assert!(frames.len() > 10_000, "{}", frames.len());
}

#[test]
fn a_message_that_the_capture_cut_is_not_taken_for_a_short_one() {
    let frames = frames::cut_seeds();
    let rows = dissected(&frames);
    let mut seen = 0;
    for (frame, row) in frames.iter().zip(&rows).filter(|(_, row)| !row.fields.is_empty()) {
        assert!(row.fields.contains_key("cut") && !row.fields.contains_key("short"), "{frame:02x?}\n{row:?}");
        seen += 1;
    }
    assert!(seen > 500, "{seen}");
}

#[test]
fn a_value_of_several_is_shown_with_the_number_of_its_priority_or_far_port() {
    let shown = text(&frames::grants());
    for line in [
        "Priorities with limits: 0x18 (3, 4)",
        "Bytes (c_i): 268435456 bytes on the wire (priority 0)",
        "Bytes (c_i): 268435463 bytes on the wire (priority 7)",
        "Total sent (FCTBS): 4294967299 bytes on the wire (priority 3)",
        "Credit limit (FCCL): 536870915 credits (priority 3)",
        "[Credit limit (FCCL), in bytes: 34359738560 bytes (priority 3)]",
        "Granted, modulo 2^32, or start: 60000 bytes on the wire (far port 1)",
        "Figure: 1 (0)",
        "Destination 1",
        "Repaired priorities: 0x08 (3)",
        "Gaps of copies: 0x02 (1)",
        "Gap 6",
    ] {
        assert!(shown.lines().any(|it| it.trim() == line), "{line}\n{shown}");
    }
}

#[test]
fn a_repaired_frame_is_shown_as_it_is_without_its_shim() {
    let plain = frames::of_telemetry();
    let repaired: Vec<_> = plain.iter().map(frames::repaired).collect();
    for (plain, mut repaired) in dissected(&plain).into_iter().zip(dissected(&repaired)) {
        repaired.fields.retain(|name, _| !name.starts_with("shim."));
        assert!(!plain.fields.is_empty());
        assert_eq!(repaired.fields, plain.fields);
    }
}

#[test]
fn frames_of_others_stay_as_they_are() {
    let frames = frames::of_others();
    let rows = dissected(&frames);
    for (frame, row) in frames.iter().zip(&rows) {
        assert!(row.fields.is_empty(), "{frame:02x?}\n{row:?}");
    }
    assert!(frames.len() > 500, "{}", frames.len());
}

/// The control of the tests above.
#[test]
#[should_panic(expected = "on purpose")]
fn an_error_in_lua_fails_a_test() {
    let script = "local p = Proto('broken', 'Broken')\n\
                  function p.dissector() error('on purpose') end\n\
                  register_postdissector(p)\n";
    dissected_with(&[frames::grant(&[1])], Some(script));
}
