//! Figures: the counters and levels of each part of the switch on a port, listed once, beside that part.
//!
//! A [`FigureList`] gives each figure its key, kind and meaning, and reads it from a [`PortInspection`] and the
//! settings of the port. Reports, metrics, the tables for people, the results of a simulation and the references in
//! `docs/` go through [`LISTS`] and name no figure themselves. So a figure is a line in the list of its owner, and an
//! owner is a line in [`LISTS`].
//!
//! A *path* names a figure within its list: its key, with its section and a dot before it where it is in one. For a
//! figure of [`Kind::Delay`], a dot and `p50_ns`, `p99_ns`, `p999_ns` or `max_ns` after it name a part of it.

mod lists;

pub use lists::LISTS;

use crate::histogram::DelayHistogram;
use crate::program::PortSettings;
use crate::shard::PortInspection;
use units::{BitRate, Bytes, Interval, WireBytes};

/// Declares a [`Section`]: its key, then each figure as `kind key = value;` below its meaning. The value reads the
/// [`Seen`] that the closure's parameter names, and may end early with `?`. After it come the other places of the
/// figure, as methods of [`Figure`].
macro_rules! figures {
    ($name:literal, |$seen:ident| $(
        #[doc = $about:literal]
        $kind:ident $key:ident = $value:expr $(, $place:ident($($argument:expr),+))*;
    )+) => {
        $crate::figure::Section {
            name: $name,
            figures: &[$(
                $crate::figure::Figure::$kind(stringify!($key), $about, |$seen| Some(($value).into()))
                    $(.$place($($argument),+))*
            ),+],
        }
    };
}

/// Declares a [`Metric`] with a sample for each value of a label: its meaning, its name and the label, then each value
/// with the path of its figure, and of those to subtract.
macro_rules! metric {
    (#[doc = $about:literal] $name:literal by $label:literal: $($value:literal: $of:literal $(- $less:literal)*;)+) => {
        $crate::figure::Metric {
            name: $name,
            samples: $crate::figure::Samples::By {
                label: $label,
                about: $about.trim_ascii(),
                samples: &[$(($value, $of, &[$($less),*])),+],
            },
        }
    };
}

/// Declares a [`Table`]: its title, then each heading with the paths of the figures whose sum stands below it.
macro_rules! table {
    ($title:literal: $($heading:literal: $($path:literal),+;)+) => {
        $crate::figure::Table::new($title, &[$(($heading, &[$($path),+])),+])
    };
}

pub(crate) use {figures, metric, table};

/// The figures of one owner.
#[derive(Debug)]
pub struct FigureList {
    /// The key of their object in the report of a port; stable.
    pub name: &'static str,
    /// The subject of the figures, as a sentence.
    pub about: &'static str,
    /// The view of `longspan show` that has the tables.
    pub view: &'static str,
    /// Whether the owner runs on a port with these settings.
    pub runs_on: fn(&PortSettings) -> bool,
    /// The figures of the report.
    pub report: &'static [Section],
    /// The figures of the moment, which a running gateway shows beside the report, under the port itself.
    pub now: &'static [Section],
    /// Metrics that have labels, or their own place. Those of [`Shown`] follow them.
    pub metrics: &'static [Metric],
    /// Tables. The columns of [`Shown`] follow those of the last one.
    pub tables: &'static [Table],
}

/// Figures that share an object.
#[derive(Debug)]
pub struct Section {
    /// Its key; empty where the figures stand in the object above.
    pub name: &'static str,
    /// The figures in order.
    pub figures: &'static [Figure],
}

/// One figure.
#[derive(Debug)]
pub struct Figure {
    /// Its key in JSON, which ends with its unit; stable.
    pub key: &'static str,
    /// Its meaning, as a sentence.
    pub about: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its metric and its column, where it has them to itself.
    pub shown: Option<Shown>,
    /// Its name in the results of a simulation, where it is among them; stable.
    pub of_run: Option<&'static str>,
    /// Its column in a series, where it has one.
    pub sampled: Option<Sampled>,
    /// The title of the plot of that column on the page of an experiment, where it has one.
    pub plotted: Option<&'static str>,
    read: Read,
}

type Read = for<'a> fn(Seen<'a>) -> Option<Reading<'a>>;

/// The kind of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that never falls while the gateway runs.
    Counter,
    /// A level, a maximum or a setting.
    Gauge,
    /// A distribution of durations.
    Delay,
}

/// A metric and a column for one figure.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Its metric, without prefix and unit; stable.
    pub metric: &'static str,
    /// Its heading in a table.
    pub heading: &'static str,
}

/// A column of a series.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// Its name behind that of the port, which ends with its unit; stable.
    pub name: &'static str,
    /// A short label for legends.
    pub label: &'static str,
    /// Its unit and axis.
    pub kind: SeriesKind,
}

/// The unit of a column of a series. Columns of the same kind can share an axis. The columns of a port have this
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesKind {
    /// Bytes of frames that are inside.
    Queue,
    /// Wire bytes in the accounts of Bifrost.
    Slot,
    /// Bits per second.
    Rate,
    /// Something that is counted from the start.
    Count,
    /// The number of paused priorities, out of eight.
    Paused,
}

/// A metric. Its kind and unit are those of its first figure.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name without prefix and unit; stable.
    pub name: &'static str,
    /// Its values.
    pub samples: Samples,
}

/// The values of a metric.
#[derive(Clone, Copy, Debug)]
pub enum Samples {
    /// The figure with this path, whose meaning is also that of the metric.
    One(&'static str),
    /// One for each value of a label.
    By {
        /// The name of the label.
        label: &'static str,
        /// The meaning of the metric, as a sentence.
        about: &'static str,
        /// Its samples.
        samples: &'static [Sample],
    },
}

/// A value of a label, the path of its figure, and the paths of the figures to subtract.
pub type Sample = (&'static str, &'static str, &'static [&'static str]);

/// A table with a row for each port.
#[derive(Debug)]
pub struct Table {
    /// The line above it.
    pub title: &'static str,
    /// Whether the summary of a replay has it, too.
    pub in_summary: bool,
    /// Behind the name of the port: headings, and the paths of the figures whose sum stands below.
    pub columns: &'static [(&'static str, &'static [&'static str])],
}

/// The unit of a figure, which ends its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The key names the counted things.
    Number,
    /// `_ns`.
    Nanos,
    /// `_bytes`, also of bytes on the wire.
    Bytes,
    /// `_bits_per_second`.
    BitsPerSecond,
}

/// The source of figures.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The settings of the port.
    pub settings: &'a PortSettings,
    /// The inspection of the port.
    pub look: &'a PortInspection,
}

/// The value of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading<'a> {
    /// In the unit of the figure.
    Number(u64),
    /// A distribution of durations.
    Delay(&'a DelayHistogram),
}

impl Metric {
    /// The figure with `path`.
    pub(crate) const fn one(name: &'static str, path: &'static str) -> Self {
        Self { name, samples: Samples::One(path) }
    }
}

impl Table {
    /// A table for people, with these columns first.
    pub(crate) const fn new(
        title: &'static str,
        columns: &'static [(&'static str, &'static [&'static str])],
    ) -> Self {
        Self { title, in_summary: false, columns }
    }

    /// The same table, which is also in the summary of a replay.
    pub(crate) const fn summarized(self) -> Self {
        Self { in_summary: true, ..self }
    }
}

impl FigureList {
    /// A list without figures, to be filled.
    pub(crate) const EMPTY: Self = Self {
        name: "",
        about: "",
        view: "ports",
        runs_on: |_| true,
        report: &[],
        now: &[],
        metrics: &[],
        tables: &[],
    };

    /// The figure with `path`.
    pub fn figure(&self, path: &str) -> Option<&'static Figure> {
        let (name, key) = path.split_once('.').unwrap_or(("", path));
        let mut sections = self.report.iter().chain(self.now);
        sections.find_map(|it| it.figures.iter().find(|figure| it.name == name && figure.key == key))
    }

    /// The columns of `table`, one of its tables: headings, and the paths of the figures whose sum stands below.
    pub fn columns(&self, table: &Table) -> Vec<(&'static str, Vec<String>)> {
        let placed = table
            .columns
            .iter()
            .map(|(heading, paths)| (*heading, paths.iter().map(|path| (*path).to_owned()).collect()));
        let is_last = self.tables.last().is_some_and(|last| core::ptr::eq(last, table));
        let shown = self.figures().filter(|_| is_last);
        let shown = shown.filter_map(|(path, figure)| Some((figure.shown?.heading, vec![path])));
        placed.chain(shown).collect()
    }

    /// All of its figures, with their paths.
    pub fn figures(&self) -> impl Iterator<Item = (String, &'static Figure)> {
        let sections = self.report.iter().chain(self.now);
        sections.flat_map(|it| it.figures.iter().map(|figure| (it.path(figure), figure)))
    }
}

impl Section {
    fn path(&self, figure: &Figure) -> String {
        if self.name.is_empty() { figure.key.into() } else { format!("{}.{}", self.name, figure.key) }
    }
}

impl Figure {
    /// `about` is a doc comment: its line begins with a space.
    const fn new(key: &'static str, about: &'static str, kind: Kind, read: Read) -> Self {
        let about = about.trim_ascii();
        Self { key, about, kind, shown: None, of_run: None, sampled: None, plotted: None, read }
    }

    /// A figure that never falls.
    pub(crate) const fn counter(key: &'static str, about: &'static str, read: Read) -> Self {
        Self::new(key, about, Kind::Counter, read)
    }

    /// A level, a maximum or a setting.
    pub(crate) const fn gauge(key: &'static str, about: &'static str, read: Read) -> Self {
        Self::new(key, about, Kind::Gauge, read)
    }

    /// A distribution of durations.
    pub(crate) const fn delay(key: &'static str, about: &'static str, read: Read) -> Self {
        Self::new(key, about, Kind::Delay, read)
    }

    /// The same figure, with a metric and a column to itself.
    pub(crate) const fn shown(self, metric: &'static str, heading: &'static str) -> Self {
        Self { shown: Some(Shown { metric, heading }), ..self }
    }

    /// The same figure, among the results of a simulation under `name`.
    pub(crate) const fn of_run(self, name: &'static str) -> Self {
        Self { of_run: Some(name), ..self }
    }

    /// The same figure, with a column of a series.
    pub(crate) const fn sampled(self, name: &'static str, label: &'static str, kind: SeriesKind) -> Self {
        Self { sampled: Some(Sampled { name, label, kind }), ..self }
    }

    /// The same figure, with a plot of that column on the page of an experiment.
    pub(crate) const fn plotted(self, title: &'static str) -> Self {
        Self { plotted: Some(title), ..self }
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        Unit::of(self.key)
    }

    /// Its value; `None` if its owner does not run, or it has no meaning yet.
    pub fn read<'a>(&self, seen: Seen<'a>) -> Option<Reading<'a>> {
        (self.read)(seen)
    }
}

impl Unit {
    /// The unit at the end of a key or path.
    pub fn of(path: &str) -> Self {
        let units =
            [("_ns", Self::Nanos), ("_bytes", Self::Bytes), ("_bits_per_second", Self::BitsPerSecond)];
        units.into_iter().find(|(suffix, _)| path.ends_with(suffix)).map_or(Self::Number, |(_, unit)| unit)
    }
}

/// Numbers in the unit of their figure; a flag is 1 or 0.
macro_rules! numbers {
    ($($type:ty: |$value:ident| $number:expr;)+) => {
        $(impl From<$type> for Reading<'_> {
            fn from($value: $type) -> Self {
                Self::Number($number)
            }
        })+
    };
}

numbers! {
    u64: |number| number;
    u32: |number| number.into();
    usize: |number| number as u64;
    bool: |flag| flag.into();
    Bytes: |bytes| bytes.0;
    WireBytes: |bytes| bytes.0;
    Interval: |time| time.0;
    BitRate: |rate| rate.bits_per_second();
}

impl<'a> From<&'a DelayHistogram> for Reading<'a> {
    fn from(delay: &'a DelayHistogram) -> Self {
        Self::Delay(delay)
    }
}

#[cfg(test)]
mod tests;
