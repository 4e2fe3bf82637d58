//! The schemes for a long link, by name.

use core::fmt;
use core::str::FromStr;

use super::planned::{Planned, Unreached};
use crate::flow_control;

/// The scheme that keeps the long link lossless, by its word in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme(&'static str);

impl Scheme {
    /// PFC with headroom and thresholds for the distance.
    pub const PFC: Self = Self("pfc");
    /// Bifrost, the default.
    pub const BIFROST: Self = Self("bifrost");

    /// All of them, in the order of their comparison.
    pub fn all() -> impl Iterator<Item = Self> {
        flow_control::PLANNED.iter().map(|(word, _)| Self(word))
    }

    /// Its word in a configuration.
    pub const fn word(self) -> &'static str {
        self.0
    }

    /// Whether it divides time into slots.
    pub fn has_slots(self) -> bool {
        self.planned().has_slots()
    }

    /// Why no run comes to `figure`; `None` where a run could.
    pub fn never_reaches(self, figure: Unreached) -> Option<&'static str> {
        self.planned().never_reaches(figure)
    }

    pub(crate) fn planned(self) -> &'static dyn Planned {
        let found = flow_control::PLANNED.iter().find(|(word, _)| *word == self.0);
        found.expect("a scheme is one of the list").1
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// There is no such scheme for a long link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{word}\" is no scheme for a long link; expected one of {known}")]
pub struct UnknownScheme {
    /// The given word.
    pub word: String,
    /// The schemes.
    pub known: String,
}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(word: &str) -> Result<Self, UnknownScheme> {
        Self::all().find(|scheme| scheme.word() == word).ok_or_else(|| UnknownScheme {
            word: word.into(),
            known: Self::all().map(Self::word).collect::<Vec<_>>().join(", "),
        })
    }
}
