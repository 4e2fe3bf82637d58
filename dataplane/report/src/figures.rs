//! The figures that [`switch::figure::LISTS`] lists, as JSON.

use crate::{DelayReport, Name};
use indexmap::IndexMap;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use switch::PortInspection;
use switch::figure::{FigureList, LISTS, Reading, Section, Seen};
use switch::program::PortSettings;

/// An object of figures, in the order of their list. Paths are those of [`switch::figure`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FiguresReport(IndexMap<Name, FigureReport>);

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum FigureReport {
    /// `None` if there is no value; also replaces an object without values.
    Number(Option<u64>),
    Delay(DelayReport),
    Section(FiguresReport),
    /// Something else, from a gateway of another version.
    #[serde(serialize_with = "null", deserialize_with = "anything")]
    Unknown(()),
}

/// The figures of one list on a port.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    report: &'a FiguresReport,
    now: Option<&'a FiguresReport>,
}

impl FiguresReport {
    /// The figures in the report of the port with `settings`, as `look` found it: an object for each list, or null
    /// where its owner does not run.
    pub(crate) fn new(settings: &PortSettings, look: &PortInspection) -> Self {
        let seen = Seen { settings, look };
        Self(LISTS.iter().map(|list| (list.name.into(), object(entries(list.report, seen)))).collect())
    }

    /// The figures that hold now on the port with `settings`, as `look` found it.
    pub fn now(settings: &PortSettings, look: &PortInspection) -> Self {
        let seen = Seen { settings, look };
        Self(LISTS.iter().flat_map(|list| entries(list.now, seen)).collect())
    }

    /// Reads what [`FiguresReport::new`] made from among the keys of a port.
    pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, |key| LISTS.iter().any(|list| list.name == key))
    }

    /// Reads what [`FiguresReport::now`] made from among the keys of a port.
    ///
    /// # Errors
    /// Those of `deserializer`.
    pub fn read_now<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let has = |section: &Section, key: &str| match section.name {
            "" => section.figures.iter().any(|figure| figure.key == key),
            name => name == key,
        };
        read(deserializer, |key| LISTS.iter().flat_map(|list| list.now).any(|section| has(section, key)))
    }

    /// The figures of `list`, together with the port's current ones in `now`; `None` where its owner does not run.
    pub fn of<'a>(&'a self, list: &FigureList, now: Option<&'a Self>) -> Option<Listed<'a>> {
        match self.0.get(list.name)? {
            FigureReport::Section(report) => Some(Listed { report, now }),
            _ => None,
        }
    }

    fn entry(&self, path: &str) -> Option<&FigureReport> {
        let Some((section, key)) = path.split_once('.') else { return self.0.get(path) };
        match self.0.get(section)? {
            FigureReport::Section(section) => section.entry(key),
            _ => None,
        }
    }

    fn delay(&self, path: &str) -> Option<&DelayReport> {
        match self.entry(path)? {
            FigureReport::Delay(delay) => Some(delay),
            _ => None,
        }
    }

    fn number(&self, path: &str) -> Option<u64> {
        if let Some(FigureReport::Number(number)) = self.entry(path) {
            return *number;
        }
        let (delay, part) = path.rsplit_once('.')?;
        self.delay(delay)?.part(part)
    }
}

impl<'a> Listed<'a> {
    /// The number with `path`; `None` where it means nothing.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.report.number(path).or_else(|| self.now?.number(path))
    }

    /// The delay with `path`.
    pub fn delay(&self, path: &str) -> Option<&'a DelayReport> {
        self.report.delay(path).or_else(|| self.now?.delay(path))
    }
}

fn null<S: Serializer>(_: &(), serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_none()
}

fn anything<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| ())
}

fn object(entries: impl IntoIterator<Item = (Name, FigureReport)>) -> FigureReport {
    let object: IndexMap<_, _> = entries.into_iter().collect();
    let is_empty = object.values().all(|value| *value == FigureReport::Number(None));
    if is_empty { FigureReport::Number(None) } else { FigureReport::Section(FiguresReport(object)) }
}

fn entries<'a>(
    sections: &'a [Section],
    seen: Seen<'a>,
) -> impl Iterator<Item = (Name, FigureReport)> + use<'a> {
    sections.iter().flat_map(move |section| {
        let figures = section.figures.iter().map(|figure| (figure.key.into(), value(figure.read(seen))));
        match section.name {
            "" => figures.collect::<Vec<_>>(),
            name => vec![(name.into(), object(figures))],
        }
    })
}

fn value(reading: Option<Reading<'_>>) -> FigureReport {
    match reading {
        None => FigureReport::Number(None),
        Some(Reading::Number(number)) => FigureReport::Number(Some(number)),
        Some(Reading::Delay(delay)) => FigureReport::Delay(delay.into()),
    }
}

fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
    is_listed: impl Fn(&str) -> bool,
) -> Result<FiguresReport, D::Error> {
    // Keys of others stand beside them.
    let mut found = IndexMap::<Name, FigureReport>::deserialize(deserializer)?;
    found.retain(|key, _| is_listed(key));
    Ok(FiguresReport(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_version_hides_no_other_figure() {
        let json = r#"{"name": "lh0", "bifrost": {"slots": 7, "lateness": {"p50_ns": 1}, "mode": "x", "granted_wire_bytes": -1}}"#;
        let report = FiguresReport::read(&mut serde_json::Deserializer::from_str(json)).unwrap();
        let list = LISTS.iter().find(|list| list.name == "bifrost").unwrap();
        let listed = report.of(list, None).unwrap();
        assert_eq!(listed.number("slots"), Some(7));
        assert_eq!((listed.number("granted_wire_bytes"), listed.number("mode")), (None, None));
        assert_eq!((listed.delay("lateness"), listed.number("lateness.p50_ns")), (None, Some(1)));
    }
}
