//! `[port.classify]`, from code points to priorities, and `remap` of a port, from priorities to those of frames that bounce.

use core::ops::RangeInclusive;

use switch::program::{Remap, Trust};
use toml::de::DeValue;
use units::Priority;

use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{Item, Shape, table};
use crate::value::Value;

table! {
    /// How frames get their priority.
    ClassifyDecl {
        /// `"dscp"`: IP frames by DSCP, others by the PCP of their tag. `"pcp"`: by the PCP of the outer tag
        trust: At<Trust>, default(Trust::default());
        /// The priority of a frame that shows neither and, where it is written, of each code point that a written `dscp` or `pcp` does not name
        default: At<Priority>, auto("0");
        /// `{ 26 = 3, "8-15" = 1 }`. Without a written `default`, other DSCPs keep theirs, which is a warning if one of them leads to a lossless or strict priority
        dscp: Codes<64>, only(trust, Trust::Dscp), auto("DSCP / 8: 24 to 31 are priority 3");
        /// The same for PCP
        pcp: Codes<8>, unless(trust, Trust::Nothing), auto("PCP n is priority n");
    }
}

/// Priorities of some of `N` code points, such as `{ 26 = 3, "8-15" = 1 }`.
#[derive(Clone, Debug)]
pub(crate) struct Codes<const N: usize> {
    entries: Vec<Entry>,
    place: Place,
}

#[derive(Clone, Debug)]
struct Entry {
    codes: RangeInclusive<usize>,
    priority: Priority,
    place: Place,
}

impl Entry {
    fn width(&self) -> usize {
        self.codes.end() - self.codes.start()
    }
}

impl<const N: usize> Codes<N> {
    const WANT: &str = if N == 64 {
        "a DSCP, 0 to 63, or a range such as \"8-15\""
    } else {
        "a PCP, 0 to 7, or a range such as \"0-3\""
    };

    /// All code points, in runs of the same priority.
    pub fn new(priorities: &[Priority; N]) -> Self {
        let mut first = 0;
        let runs = priorities.chunk_by(|one, other| one == other).map(|run| {
            let codes = first..=first + run.len() - 1;
            first += run.len();
            Entry { codes, priority: run[0], place: Place::default() }
        });
        Self { entries: runs.collect(), place: Place::default() }
    }

    /// Writes the entries to `priorities`, and `others` to all code points that no entry names. A narrower range
    /// overrides a wider one.
    pub fn apply(&self, priorities: &mut [Priority; N], others: Option<Priority>) {
        if let Some(others) = others {
            priorities.fill(others);
        }
        for entry in &self.entries {
            priorities[entry.codes.clone()].fill(entry.priority);
        }
    }

    /// The code points that no entry names, as a list of ranges, among those that `is_meant` accepts; `None` if there are
    /// none.
    pub fn unnamed(&self, is_meant: impl Fn(usize) -> bool) -> Option<String> {
        let is_named = |code: &usize| self.entries.iter().any(|entry| entry.codes.contains(code));
        let codes: Vec<usize> = (0..N).filter(|code| !is_named(code) && is_meant(*code)).collect();
        let runs = codes.chunk_by(|one, other| one + 1 == *other).map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            _ => run[0].to_string(),
        });
        let runs: Vec<_> = runs.collect();
        (!runs.is_empty()).then(|| runs.join(", "))
    }

    fn entry(codes: &str, place: &Place, value: &DeValue<'_>) -> Result<Entry, ProblemKind> {
        let (first, last) = codes.split_once('-').unwrap_or((codes, codes));
        let code = |text: &str| text.trim().parse::<usize>().ok().filter(|code| *code < N);
        match (code(first), code(last)) {
            (Some(first), Some(last)) if first <= last => {
                Ok(Entry { codes: first..=last, priority: Priority::read(value)?, place: place.clone() })
            }
            _ => Err(ProblemKind::Malformed { got: codes.into(), want: Self::WANT }),
        }
    }
}

impl<const N: usize> Shape for Codes<N> {
    /// Reads the entries, widest first. Two entries of the same width for one code point are an error.
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        let problems = section.problems;
        let mut entries: Vec<Entry> = Vec::new();
        for (codes, place, value) in section.entries(key) {
            match Self::entry(codes, &place, value) {
                Ok(entry) => entries.push(entry),
                Err(kind) => problems.error(&place, kind),
            }
        }
        entries.sort_by_key(|entry| (core::cmp::Reverse(entry.width()), entry.place.offset));
        for (index, entry) in entries.iter().enumerate() {
            let alike = entries[..index].iter().filter(|other| other.width() == entry.width());
            let clash = |other: &Entry| entry.codes.clone().find(|code| other.codes.contains(code));
            if let Some((code, first)) = alike.rev().find_map(|other| Some((clash(other)?, &other.place))) {
                let what = format!("{} {code}", key.to_uppercase());
                problems.error(&entry.place, ProblemKind::Twice { what, line: problems.line(first) });
            }
        }
        section.contains(key).then(|| Self { entries, place: section.place_of_key(key) })
    }

    fn item(&self) -> Item {
        let shown = |entry: &Entry| match (entry.codes.start(), entry.codes.end()) {
            (first, last) if first == last => format!("\"{first}\" = {}", entry.priority),
            (first, last) => format!("\"{first}-{last}\" = {}", entry.priority),
        };
        Item::Value(format!("{{ {} }}", self.entries.iter().map(shown).collect::<Vec<_>>().join(", ")))
    }

    fn place(&self) -> Option<&Place> {
        Some(&self.place)
    }

    fn kind() -> String {
        "table of priorities".into()
    }
}

/// The isolated priorities of some priorities, such as `{ 3 = 5 }`.
#[derive(Clone, Debug)]
pub(crate) struct RemapDecl {
    pub remap: Remap,
    place: Place,
}

impl RemapDecl {
    /// The key that stands for `remap`; none if it is empty.
    pub fn of(remap: Remap) -> Option<Self> {
        (!remap.is_empty()).then(|| Self { remap, place: Place::default() })
    }
}

impl Shape for RemapDecl {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        let entries = section.by_priority(key).into_iter();
        let remap = entries.fold(Remap::default(), |remap, (from, to)| remap.with(from, to.value));
        section.contains(key).then(|| Self { remap, place: section.place_of_key(key) })
    }

    fn item(&self) -> Item {
        let entries: Vec<_> = self.remap.iter().map(|(from, to)| format!("{from} = {to}")).collect();
        Item::Value(format!("{{ {} }}", entries.join(", ")))
    }

    fn place(&self) -> Option<&Place> {
        Some(&self.place)
    }

    fn kind() -> String {
        "table of priorities".into()
    }
}
