//! An event on the screen.

use serde_json::{Map, Value};
use std::time::{Duration, UNIX_EPOCH};

/// The fields that every event has, which come first.
const COMMON: [&str; 6] = ["number", "at_ns", "core", "port", "priority", "kind"];

/// One line: the time, the port, the priority, the kind, and its fields.
pub fn shown(event: &Map<String, Value>) -> String {
    let at = utc(event.get("at_ns").and_then(Value::as_u64).unwrap_or(0));
    let port = event.get("port").and_then(Value::as_str).unwrap_or("-");
    let priority = event.get("priority").map_or("-".into(), Value::to_string);
    let kind = event.get("kind").and_then(Value::as_str).unwrap_or("-");
    let fields = event.iter().filter(|(key, value)| !COMMON.contains(&key.as_str()) && !value.is_null());
    let fields: Vec<_> = fields.map(|(key, value)| format!("{key}={}", plain(value))).collect();
    format!("{at}  {port:<8} {priority}  {kind:<14} {}", fields.join(" ")).trim_end().to_owned()
}

/// Unix time as RFC 3339 shows it, in UTC, to the nanosecond.
pub fn utc(unix_ns: u64) -> String {
    humantime::format_rfc3339_nanos(UNIX_EPOCH + Duration::from_nanos(unix_ns)).to_string()
}

/// A value without quotes where it is text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_a_line_with_its_time_to_the_nanosecond_and_its_fields_in_order() {
        let event = json!({
            "number": 7, "at_ns": 1_000_000_005_u64, "core": 1, "port": "lh0", "priority": 3, "kind": "pause",
            "direction": "sent", "cause": "threshold", "until_ns": 9
        });
        let line = shown(event.as_object().unwrap());
        assert_eq!(
            line,
            "1970-01-01T00:00:01.000000005Z  lh0      3  pause          direction=sent cause=threshold until_ns=9"
        );
    }

    #[test]
    fn a_field_that_is_not_known_is_left_out() {
        let event = json!({ "at_ns": 0, "kind": "lost", "events": 4, "cause": null });
        let line = shown(event.as_object().unwrap());
        assert_eq!(line, "1970-01-01T00:00:00.000000000Z  -        -  lost           events=4");
    }
}
