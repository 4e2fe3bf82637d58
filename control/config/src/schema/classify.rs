//! `[port.classify]`: from code points to priorities.

use core::ops::RangeInclusive;

use switch::program::Classification;
use toml::de::DeValue;
use units::Priority;

use crate::problem::ProblemKind;
use crate::reader::{At, Place, Section};
use crate::value::Value;

/// Reads the table over the default: the class selector of each DSCP, each PCP as it is.
pub(super) fn read(classify: &mut Section<'_, '_>) -> At<Classification> {
    let mut value = Classification::default();
    if let Some(trust) = classify.optional("trust") {
        value.trust = trust.value;
    }
    if let Some(default) = classify.optional("default") {
        value.default = default.value;
    }
    overlay(classify, "dscp", "a DSCP, 0 to 63, or a range such as \"8-15\"", &mut value.dscp);
    overlay(classify, "pcp", "a PCP, 0 to 7, or a range such as \"0-3\"", &mut value.pcp);
    At { value, place: classify.place.clone() }
}

struct Entry {
    codes: RangeInclusive<usize>,
    priority: Priority,
    place: Place,
}

/// Writes the entries of the table at `key` over `priorities`. Where two are for the same code
/// point the narrower range holds; two of the same width are an error.
fn overlay(
    classify: &mut Section<'_, '_>,
    key: &'static str,
    want: &'static str,
    priorities: &mut [Priority],
) {
    let problems = classify.problems;
    let mut entries = Vec::new();
    for (codes, place, value) in classify.entries(key) {
        match entry(codes, place.clone(), value, want, priorities.len()) {
            Ok(entry) => entries.push(entry),
            Err(kind) => problems.error(&place, kind),
        }
    }
    entries.sort_by_key(|entry| (core::cmp::Reverse(width(entry)), entry.place.offset));
    let mut owners: Vec<Option<usize>> = vec![None; priorities.len()];
    for (index, entry) in entries.iter().enumerate() {
        for code in entry.codes.clone() {
            if let Some(owner) = owners[code].map(|owner| &entries[owner])
                && width(owner) == width(entry)
            {
                let kind = ProblemKind::Twice {
                    what: format!("{} {code}", key.to_uppercase()),
                    line: problems.line(&owner.place),
                };
                problems.error(&entry.place, kind);
                break;
            }
            owners[code] = Some(index);
            priorities[code] = entry.priority;
        }
    }
}

fn width(entry: &Entry) -> usize {
    entry.codes.end() - entry.codes.start()
}

fn entry(
    codes: &str,
    place: Place,
    value: &DeValue<'_>,
    want: &'static str,
    count: usize,
) -> Result<Entry, ProblemKind> {
    let (first, last) = codes.split_once('-').unwrap_or((codes, codes));
    let code = |text: &str| text.trim().parse::<usize>().ok().filter(|code| *code < count);
    match (code(first), code(last)) {
        (Some(first), Some(last)) if first <= last => {
            Ok(Entry { codes: first..=last, priority: Priority::read(value)?, place })
        }
        _ => Err(ProblemKind::Malformed { got: codes.into(), want }),
    }
}
