//! The lines of events.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use switch::{EventKind, Happening, PauseCause, PauseDirection};
use telemetry::events::{Event, KINDS, What};
use units::{Nanos, PortId, Priority};

#[test]
fn an_event_of_a_switch_is_a_line_of_json_with_the_name_of_its_port() {
    let (direction, cause) = (PauseDirection::Sent, Some(PauseCause::Threshold));
    let event = switch::Event {
        at: Nanos(7),
        port: Some(PortId(1)),
        priority: Some(Priority::from_low_bits(3)),
        what: Happening::Paused { direction, cause, until: Nanos(9) },
    };
    let switch::Event { at, port, priority, .. } = event;
    let event = Event { number: 4, at_ns: at.0, core: Some(2), port, priority, what: What::from(&event) };
    let names = ["dc0".to_owned(), "lh0".to_owned()];
    assert_eq!(
        serde_json::to_string(&event.serializable(&names)).unwrap(),
        r#"{"number":4,"at_ns":7,"core":2,"port":"lh0","priority":3,"kind":"pause","direction":"sent","cause":"threshold","until_ns":9}"#
    );
}

#[test]
fn an_event_of_repair_says_whether_frames_are_numbered_and_if_not_why_and_what_is_given_up() {
    use switch::repair::{RepairChange, RepairLoss};
    let line = |change| {
        let (at, port, what) = (Nanos(7), Some(PortId(0)), Happening::Repair(change));
        serde_json::to_string(&What::from(&switch::Event { at, port, priority: None, what })).unwrap()
    };
    assert_eq!(line(RepairChange::Met), r#"{"kind":"repair","up":true,"cause":null,"abandoned_frames":0}"#);
    let lost = RepairChange::Lost { cause: RepairLoss::NewSession, abandoned: 9 };
    assert_eq!(line(lost), r#"{"kind":"repair","up":false,"cause":"new_session","abandoned_frames":9}"#);
}

#[test]
fn every_kind_of_event_of_a_switch_is_written_under_its_name() {
    for kind in EventKind::ALL {
        assert!(KINDS.iter().any(|it| it.name == kind.name()), "{}", kind.name());
    }
}
