//! Pauses as intervals.

use super::line::utc;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use units::human::duration;

/// The port, the priority and the direction of a pause.
type Key = (String, u64, String);

/// One pause, from its first frame to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    key: Key,
    cause: Option<String>,
    from_ns: u64,
    /// `None` while it lasts, and if its end is not known.
    to_ns: Option<u64>,
    /// Whether its end was lost: a later pause of the same key has begun since.
    end_is_lost: bool,
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
            None if self.end_is_lost => format!("{:<30}  {:>12}", "its end was lost", "-"),
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
            "ran_out": self.ran_out, "end_is_lost": self.end_is_lost,
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
            let pause = Pause {
                key: key.clone(),
                cause,
                from_ns: at,
                to_ns: None,
                end_is_lost: false,
                ran_out: false,
            };
            let before = self.open.insert(key, pause);
            self.lose_end(before);
            return;
        }
        let Some(since) = number("since_ns") else { return };
        // Events may be lost: the beginning that is known may be that of another pause.
        let (begun, other) = match self.open.remove(&key) {
            Some(pause) if pause.from_ns == since => (Some(pause), None),
            other => (None, other),
        };
        self.lose_end(other.filter(|pause| pause.from_ns < since));
        self.over.push(Pause {
            key,
            cause: begun.and_then(|pause| pause.cause),
            from_ns: since,
            to_ns: Some(at),
            end_is_lost: false,
            ran_out: event.get("ran_out").and_then(Value::as_bool) == Some(true),
        });
    }

    /// Keeps a pause whose end was lost.
    fn lose_end(&mut self, pause: Option<Pause>) {
        self.over.extend(pause.map(|pause| Pause { end_is_lost: true, ..pause }));
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
        assert!(pauses.iter().all(|it| !it.end_is_lost));
        let intervals: Vec<_> = pauses.iter().map(|it| (it.from_ns, it.to_ns, it.cause.as_deref())).collect();
        assert_eq!(intervals, [(50, Some(90), None), (100, Some(300), Some("slot")), (150, None, None)]);
        assert!(pauses[2].shown().contains("still paused"), "{}", pauses[2].shown());
        assert!(pauses[1].shown().ends_with("200 ns  slot  ran out"), "{}", pauses[1].shown());
        assert!(pauses[1].json().contains(r#""paused_ns":200"#), "{}", pauses[1].json());
    }

    #[test]
    fn a_pause_whose_end_was_lost_is_kept_and_says_so() {
        let mut history = History::default();
        let common = r#""port":"lh0","priority":3,"direction":"sent""#;
        for (kind, times) in [
            ("pause", r#""at_ns":10,"cause":"slot""#),
            ("pause", r#""at_ns":100,"cause":"slot""#),
            ("resume", r#""at_ns":300,"since_ns":200"#),
        ] {
            history.take(&event(&format!(r#"{{"kind":"{kind}",{times},{common}}}"#)));
        }
        let pauses = history.finish();
        let ends: Vec<_> = pauses.iter().map(|it| (it.from_ns, it.to_ns, it.end_is_lost)).collect();
        assert_eq!(ends, [(10, None, true), (100, None, true), (200, Some(300), false)]);
        assert!(pauses[0].shown().contains("its end was lost"), "{}", pauses[0].shown());
    }
}
