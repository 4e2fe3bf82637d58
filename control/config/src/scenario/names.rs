//! Nodes and ports by name, several at once: `h[0-15]`, `east-*`.

use toml::de::DeValue;

use crate::notes::Problems;
use crate::place::At;
use crate::problem::{ProblemKind, nearest};
use crate::value::{Value, quoted, texts, written};

/// One name or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names(pub String);

/// More are not written out.
const MOST: usize = 100_000;

impl Names {
    /// The names that it stands for, `[0-3]` written out; without end where there is a `*`, which is kept.
    pub fn expanded(&self) -> Vec<String> {
        let mut whole = vec![String::new()];
        let mut rest = self.0.as_str();
        while let Some((before, range, after)) = range_in(rest) {
            let (first, last) = range;
            if whole.len().saturating_mul(last - first + 1) > MOST {
                break;
            }
            let with = |name: &String| {
                let name = format!("{name}{before}");
                (first..=last).map(move |number| format!("{name}{number}"))
            };
            whole = whole.iter().flat_map(with).collect();
            rest = after;
        }
        whole.into_iter().map(|name| name + rest).collect()
    }

    /// The places of those of `known` that it means, in its order; complains where a name means none.
    pub fn find<'k>(
        at: &At<Self>,
        what: &'static str,
        known: impl Iterator<Item = &'k str> + Clone,
        problems: &Problems<'_>,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for name in at.value.expanded() {
            let before = found.len();
            let matching = known.clone().enumerate().filter(|(_, it)| matches(&name, it));
            found.extend(matching.map(|(index, _)| index));
            if found.len() == before {
                let kind = ProblemKind::Nobody { what, nearest: nearest(&name, known.clone()), got: name };
                problems.error(&at.place, kind);
                break;
            }
        }
        found
    }
}

/// `before[first-last]after`.
fn range_in(text: &str) -> Option<(&str, (usize, usize), &str)> {
    let (before, rest) = text.split_once('[')?;
    let (range, after) = rest.split_once(']')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < MOST).then_some((before, (first, last), after))
}

/// Whether `name` is `pattern`, where a `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            let Some(rest) = name.strip_prefix(before) else { return false };
            rest.char_indices()
                .map(|(index, _)| index)
                .chain([rest.len()])
                .any(|index| matches(after, &rest[index..]))
        }
    }
}

written! {
    Names: "name", |it| quoted(&it.0);
}

impl Value for Names {
    const LIST: &'static str = "an array of names such as [\"h0\", \"h[4-7]\", \"east-*\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str =
            "a name of letters, digits, - and _, with [0-15] for numbers and one * for anything";
        let got = crate::value::text(value, WANT)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/*[]".contains(c);
        let valid = (1..=64).contains(&got.len()) && got.chars().all(plain) && got.matches('*').count() <= 1;
        let ranges = got.matches('[').count();
        let closed = ranges == got.matches(']').count() && ranges <= 2 && {
            let expanded = Self(got.into()).expanded();
            expanded.iter().all(|name| !name.contains(['[', ']']))
        };
        if valid && closed {
            Ok(Self(got.into()))
        } else {
            Err(ProblemKind::Malformed { got: got.into(), want: WANT })
        }
    }
}

texts! {
    /// The name of a node. No dots or slashes, because names of metrics and links have them.
    NodeName, "name", "a name of 1 to 48 letters, digits, - and _", |got| {
        (1..=48).contains(&got.len()) && got.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_brackets_are_written_out_and_a_star_stands_for_anything() {
        assert_eq!(Names("h[0-2]".into()).expanded(), ["h0", "h1", "h2"]);
        assert_eq!(Names("a[0-1]-b[3-4]".into()).expanded(), ["a0-b3", "a0-b4", "a1-b3", "a1-b4"]);
        assert_eq!(Names("h".into()).expanded(), ["h"]);
        assert!(matches("east-*", "east-h0") && matches("*", "x") && matches("*-h0", "east-h0"));
        assert!(!matches("east-*", "west-h0") && !matches("h1", "h10"));
    }
}
