//! Pauses as intervals.

use super::utc::utc;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use telemetry::table::duration;

/// The port, the priority and the direction of a pause.
type Key = (String, u64, String);

/// One pause, from its first frame to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    key: Key,
    cause: Option<String>,
    from_ns: u64,
    /// `None` while it lasts.
    to_ns: Option<u64>,
    /// Whether its time ran out, rather than a frame ending it.
    ran_out: bool,
}

impl Pause {
    /// A line of text.
    pub fn shown(&self) -> String {
        let (port, priority, direction) = &self.key;
        let from = utc(self.from_ns);
        let cause = self.cause.as_deref().unwrap_or("-");
        let end = match self.to_ns {
            None => format!("{:<30}  {:>12}", "still paused", "-"),
            Some(to) => format!("{}  {:>12}", utc(to), duration(to.saturating_sub(self.from_ns))),
        };
        let ran_out = if self.ran_out { "  ran out" } else { "" };
        format!("{port:<8} {priority}  {direction:<8}  {from}  {end}  {cause}{ran_out}")
    }

    /// A line of JSON.
    pub fn json(&self) -> String {
        let (port, priority, direction) = &self.key;
        json!({
            "port": port, "priority": priority, "direction": direction, "cause": self.cause, "from_ns": self.from_ns,
            "to_ns": self.to_ns, "paused_ns": self.to_ns.map(|to| to.saturating_sub(self.from_ns)),
            "ran_out": self.ran_out,
        })
        .to_string()
    }
}

/// The pauses in a sequence of events. The end of a pause has its beginning, so an interval is exact even if the event of
/// its beginning is no longer kept.
#[derive(Debug, Default)]
pub struct History {
    over: Vec<Pause>,
    open: BTreeMap<Key, Pause>,
}

impl History {
    /// Takes the next event.
    pub fn take(&mut self, event: &Map<String, Value>) {
        let text = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| event.get(key).and_then(Value::as_u64);
        let (Some(kind), Some(port), Some(priority), Some(direction), Some(at)) =
            (text("kind"), text("port"), number("priority"), text("direction"), number("at_ns"))
        else {
            return;
        };
        let key = (port, priority, direction);
        if kind == "pause" {
            let cause = text("cause");
            let pause = Pause { key: key.clone(), cause, from_ns: at, to_ns: None, ran_out: false };
            self.open.insert(key, pause);
            return;
        }
        let Some(since) = number("since_ns") else { return };
        // The beginning may be that of a later pause, if events were lost.
        let begun = self.open.remove(&key).filter(|pause| pause.from_ns == since);
        self.over.push(Pause {
            key,
            cause: begun.and_then(|pause| pause.cause),
            from_ns: since,
            to_ns: Some(at),
            ran_out: event.get("ran_out").and_then(Value::as_bool) == Some(true),
        });
    }

    /// All pauses in the order of their beginning; the last of a port, a priority and a direction may not be over.
    pub fn finish(self) -> Vec<Pause> {
        let mut all: Vec<_> = self.over.into_iter().chain(self.open.into_values()).collect();
        all.sort_by(|one, other| one.from_ns.cmp(&other.from_ns).then_with(|| one.key.cmp(&other.key)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn pauses_are_intervals_from_their_first_frame_to_their_end_whatever_was_lost_before() {
        let mut history = History::default();
        let common = r#""port":"lh0","priority":3,"direction":"sent""#;
        for text in [
            // The beginning of this one is lost.
            format!(r#"{{"kind":"resume","at_ns":90,"since_ns":50,"ran_out":false,{common}}}"#),
            format!(r#"{{"kind":"pause","at_ns":100,"cause":"slot","until_ns":300,{common}}}"#),
            r#"{"kind":"pause","at_ns":150,"port":"lh0","priority":3,"direction":"received"}"#.into(),
            format!(r#"{{"kind":"resume","at_ns":300,"since_ns":100,"ran_out":true,{common}}}"#),
            r#"{"kind":"lost","at_ns":400,"events":4}"#.into(),
        ] {
            history.take(&event(&text));
        }
        let pauses = history.finish();
        let intervals: Vec<_> = pauses.iter().map(|it| (it.from_ns, it.to_ns, it.cause.as_deref())).collect();
        assert_eq!(intervals, [(50, Some(90), None), (100, Some(300), Some("slot")), (150, None, None)]);
        assert!(pauses[2].shown().contains("still paused"), "{}", pauses[2].shown());
        assert!(pauses[1].shown().ends_with("200 ns  slot  ran out"), "{}", pauses[1].shown());
        assert!(pauses[1].json().contains(r#""paused_ns":200"#), "{}", pauses[1].json());
    }
}
