//! Names of nodes and ports that may stand for several: `h[0-15]`, `east-*`.

use crate::notes::Problems;
use crate::place::At;
use crate::problem::{ProblemKind, nearest};
use crate::value::{parsed, quoted, texts, value_types};

/// Maximum number of names that a pattern expands to.
const MOST: usize = 100_000;

impl Names {
    fn is_valid(&self) -> bool {
        let text = &self.0;
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:/*[]".contains(c);
        let plain =
            (1..=64).contains(&text.len()) && text.chars().all(allowed) && text.matches('*').count() <= 1;
        let ranges = text.matches('[').count();
        let closed = ranges == text.matches(']').count() && ranges <= 2;
        plain && closed && self.expanded().iter().all(|name| !name.contains(['[', ']']))
    }

    /// The names that it stands for, with `[0-3]` expanded. A `*` is kept.
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

    /// The indices of the `known` names that it stands for. Reports an error if a name matches none.
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
                let kind = ProblemKind::NoMatch { what, nearest: nearest(&name, known.clone()), got: name };
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

value_types! {
    /// A name, or several: `[0-3]` stands for numbers, `*` for anything.
    struct Names(String): "name" in "an array of names such as [\"h0\", \"h[4-7]\", \"east-*\"]",
        |it| {
            const WANT: &str = "a name of letters, digits, - and _, with [0-15] for numbers and one * for anything";
            parsed(it, WANT, |got| {
                let names = Self(got.into());
                names.is_valid().then_some(names)
            })
        },
        |it| quoted(&it.0);
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
