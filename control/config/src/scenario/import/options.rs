//! `config.txt`: an option and its values on each line. Text in braces is a comment.

use core::fmt::Display;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::collections::BTreeMap;

use units::{BitRate, Interval};

use super::words::{Reader, number, short, time, words};
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::{ProblemKind, nearest};

/// Options that are translated, and their defaults in the model.
const DEFAULTS: [(&str, &str); 14] = [
    ("ENABLE_PFC", "1"),
    ("ENABLE_IRN", "0"),
    ("CC_MODE", "1"),
    ("ENABLE_QCN", "1"),
    ("PACKET_PAYLOAD_SIZE", "1000"),
    ("SIMULATOR_STOP_TIME", "3.01"),
    ("ALPHA_RESUME_INTERVAL", "55"),
    ("RATE_DECREASE_INTERVAL", "4"),
    ("CLAMP_TARGET_RATE", "0"),
    ("FAST_RECOVERY_TIMES", "5"),
    ("MIN_RATE", "100Mb/s"),
    ("ERROR_RATE_PER_LINK", "0"),
    ("U_TARGET", "0.95"),
    ("MI_THRESH", "5"),
];

/// Further ones that are translated, which have no default in the model, or none that works, with examples.
const REQUIRED: [(&str, &str); 8] = [
    ("RP_TIMER", "RP_TIMER 300"),
    ("EWMA_GAIN", "EWMA_GAIN 0.00390625"),
    ("RATE_AI", "RATE_AI 50Mb/s"),
    ("RATE_HAI", "RATE_HAI 100Mb/s"),
    ("KMAX_MAP", "KMAX_MAP 1 100000000000 1600"),
    ("KMIN_MAP", "KMIN_MAP 1 100000000000 400"),
    ("PMAX_MAP", "PMAX_MAP 1 100000000000 0.2"),
    ("BUFFER_SIZE", "BUFFER_SIZE 32"),
];

/// Options that have no effect on the results: names of files, what is recorded, settings of schemes that are not
/// translated, and what the model reads and does not use.
const IDLE: &str = "DATA_RATE DCTCP_RATE_AI ENABLE_TRACE FCT_OUTPUT_FILE FLOW_FILE INT_MULTI L2_CHUNK_SIZE LINK_DELAY \
    PAUSE_TIME PFC_OUTPUT_FILE PINT_LOG_BASE PINT_PROB QLEN_MON_END QLEN_MON_FILE QLEN_MON_START \
    TOPOLOGY_FILE TRACE_FILE TRACE_OUTPUT_FILE";

/// An option without a counterpart.
struct Lost {
    name: &'static str,
    default: &'static str,
    /// The value that describes what happens here anyway.
    same: &'static str,
    /// The behaviour here, as a warning states it.
    here: &'static str,
}

const fn lost(name: &'static str, default: &'static str, same: &'static str, here: &'static str) -> Lost {
    Lost { name, default, same, here }
}

/// Options without a counterpart under any congestion control.
const LOST: [Lost; 6] = [
    lost("USE_DYNAMIC_PFC_THRESHOLD", "1", "1", "XOFF has a dynamic threshold, as in the model at any value"),
    lost("L2_BACK_TO_ZERO", "0", "0", "hosts go back to the missing packet, not to the start of a chunk"),
    lost("L2_ACK_INTERVAL", "0", "1", "every packet is acknowledged"),
    lost("RATE_BOUND", "1", "1", "hosts keep to their rate"),
    lost("ACK_HIGH_PRIO", "0", "0", "acknowledgements have the priority of the data, and stop with it"),
    lost("LINK_DOWN", "0 0 0", "0 0 0", "the link stays up"),
];

/// Options without a counterpart under HPCC, which has a window.
const LOST_WITH_HPCC: [Lost; 6] = [
    lost("HAS_WIN", "1", "1", "HPCC has its window"),
    lost("GLOBAL_T", "1", "1", "all flows have the round trip of the longest path"),
    lost("VAR_WIN", "0", "1", "the window follows the rate"),
    lost("FAST_REACT", "1", "1", "the window follows every acknowledgement"),
    lost("MULTI_RATE", "1", "0", "a flow has one rate for all hops"),
    lost("SAMPLE_FEEDBACK", "0", "0", "every acknowledgement brings telemetry"),
];

/// The window of other schemes, for which the options of windows do nothing without `HAS_WIN`.
const LOST_WITHOUT_HPCC: [Lost; 1] =
    [lost("HAS_WIN", "1", "0", "only HPCC has a window, and in the model all have one, unless HAS_WIN is 0")];

/// The options of a file.
pub(super) struct Options<'t, 'p> {
    stated: BTreeMap<&'t str, (Place, &'t str)>,
    /// The offset of an option that is not stated: the end of the file.
    end: usize,
    problems: &'p Problems<'p>,
}

impl<'t, 'p> Options<'t, 'p> {
    /// Reads the lines of `text`. An unknown option is a warning.
    pub fn read(text: &'t str, problems: &'p Problems<'p>) -> Self {
        let mut stated = BTreeMap::new();
        let mut next = 0;
        for line in text.split_inclusive('\n') {
            let start = next;
            next += line.len();
            let line = line.split('{').next().unwrap_or_default().trim_end();
            let Some((offset, name)) = words(line).next().filter(|(_, name)| !name.starts_with('#')) else {
                continue;
            };
            let place = Place { key: short(name).trim_matches('"').into(), offset: start + offset };
            let values = &line[offset + name.len()..];
            if !known().any(|known| known == name) {
                problems.warning(&place, ProblemKind::UnknownOption { nearest: nearest(name, known()) });
            } else if let Some((first, _)) = stated.insert(name, (place.clone(), values)) {
                let line = problems.line(&first);
                problems.error(&place, ProblemKind::Twice { what: "this option".into(), line });
            }
        }
        Self { stated, end: text.len(), problems }
    }

    /// The place and the values of an option, those by default if it is not stated.
    fn find(&self, name: &'static str, default: &'t str) -> (Place, &'t str) {
        let place = Place { key: name.into(), offset: self.end };
        self.stated.get(name).cloned().unwrap_or((place, default))
    }

    /// The place of an option; the end of the file if it is not stated.
    pub fn place(&self, name: &'static str) -> Place {
        self.find(name, "").0
    }

    /// Whether the file states an option.
    pub fn states(&self, name: &str) -> bool {
        self.stated.contains_key(name)
    }

    /// The value of an option, by `parse`. Notes an error if it is missing or invalid.
    pub fn value<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, ProblemKind>,
    ) -> Option<T> {
        let default = DEFAULTS.iter().find(|(known, _)| *known == name).map_or("", |(_, default)| default);
        let (place, values) = self.find(name, default);
        let mut words = words(values).map(|(_, word)| word);
        let parsed = match (words.next(), words.next()) {
            (Some(word), None) => parse(word),
            (Some(_), Some(_)) => Err(ProblemKind::Malformed {
                got: values.trim().chars().take(40).collect(),
                want: "one value",
            }),
            (None, _) => Err(self.missing(name)),
        };
        parsed.map_err(|kind| self.problems.error(&place, kind)).ok()
    }

    /// Notes a warning at an option.
    pub fn warn(&self, name: &'static str, kind: ProblemKind) {
        self.problems.warning(&self.place(name), kind);
    }

    fn missing(&self, name: &'static str) -> ProblemKind {
        let example = REQUIRED.iter().find(|(known, _)| *known == name).map_or(name, |(_, example)| example);
        ProblemKind::Missing { example }
    }

    pub fn number<T: Copy + FromStr + PartialOrd + Display + Default>(
        &self,
        name: &'static str,
        range: RangeInclusive<T>,
    ) -> Option<T> {
        self.value(name, |word| number(word, &range))
    }

    pub fn flag(&self, name: &'static str) -> Option<bool> {
        self.number(name, 0..=1_u8).map(|number| number == 1)
    }

    pub fn rate(&self, name: &'static str) -> Option<BitRate> {
        self.value(name, |word| Ok(word.parse()?))
    }

    /// An interval above zero that the file states in microseconds.
    pub fn micros(&self, name: &'static str) -> Option<Interval> {
        self.value(name, |word| match time(word, 1e3)? {
            0 => Err(ProblemKind::out_of_range(short(word), "above 0")),
            nanos => Ok(Interval(nanos)),
        })
    }

    /// A table of values by the rate of a link: their number, and pairs of rate and value.
    pub fn by_rate<T: Copy + FromStr + PartialOrd + Display + Default>(
        &self,
        name: &'static str,
        range: RangeInclusive<T>,
    ) -> Option<ByRate<T>> {
        let (place, values) = self.find(name, "");
        if values.trim().is_empty() {
            self.problems.error(&place, self.missing(name));
            return None;
        }
        let start = place.offset + name.len();
        let words = words(values).map(|(offset, word)| (start + offset, word));
        let mut reader = Reader::new(words, start + values.len(), self.problems);
        let count = reader.number(name, 1..=1_000_u32)?.value;
        let mut pairs = BTreeMap::new();
        for _ in 0..count {
            let rate = reader.number(name, 1..=u64::MAX)?.value;
            pairs.insert(rate, reader.number(name, range.clone())?.value);
        }
        Some(ByRate { pairs, place })
    }

    /// Warns of the options whose values have no counterpart.
    pub fn note_lost(&self, is_hpcc: bool) {
        let more = if is_hpcc { &LOST_WITH_HPCC[..] } else { &LOST_WITHOUT_HPCC };
        for Lost { name, default, same, here } in LOST.iter().chain(more) {
            let (place, values) = self.find(name, default);
            if !words(values).map(|(_, word)| word).eq(words(same).map(|(_, word)| word)) {
                self.problems.warning(&place, ProblemKind::Untranslated { here });
            }
        }
    }
}

/// Values by the rate of a link.
pub(super) struct ByRate<T> {
    pairs: BTreeMap<u64, T>,
    place: Place,
}

impl<T: Copy> ByRate<T> {
    /// The value for links of `rate`. Notes an error if there is none, as the model does.
    pub fn of(&self, rate: BitRate, problems: &Problems<'_>) -> Option<T> {
        let value = self.pairs.get(&rate.bits_per_second()).copied();
        if value.is_none() {
            problems.error(&self.place, ProblemKind::NoThreshold { rate });
        }
        value
    }
}

/// The names of all options of the model.
fn known() -> impl Iterator<Item = &'static str> + Clone {
    let lost = LOST.iter().chain(&LOST_WITH_HPCC).map(|lost| lost.name);
    let translated = DEFAULTS.iter().chain(&REQUIRED).map(|(name, _)| *name);
    translated.chain(lost).chain(IDLE.split(' '))
}
