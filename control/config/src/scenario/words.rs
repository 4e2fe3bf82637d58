//! The words of a scenario.

use toml::de::DeValue;
use units::Priority;

use crate::problem::{ProblemKind, nearest};
use crate::value::{Value, text, words};

/// What a network is drawn by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateWord {
    Incast,
    Dumbbell,
    Linear,
    LeafSpine,
    FatTree,
    TwoDataCenters,
    Free,
}

/// What stands at an end of a long link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteWord {
    Hosts,
    Star,
    LeafSpine,
    FatTree,
}

/// Which switches of a row have hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostsAt {
    Ends,
    All,
}

/// Who sends when to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternWord {
    Poisson,
    Pairs,
    AllToAll,
    Permutation,
    List,
}

/// What a load is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadWord {
    Hosts,
    Long,
}

/// How fast hosts send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ControlWord {
    None,
}

/// How hosts send again what is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransportWord {
    GoBackN,
}

/// Which way a figure gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// As it falls.
    Less,
    /// As it rises.
    More,
}

words! {
    Better { "less" => Self::Less, "more" => Self::More }
    ControlWord { "none" => Self::None }
    TransportWord { "go-back-n" => Self::GoBackN }
    TemplateWord {
        "incast" => Self::Incast, "dumbbell" => Self::Dumbbell, "linear" => Self::Linear,
        "leaf-spine" => Self::LeafSpine, "fat-tree" => Self::FatTree,
        "two-data-centers" => Self::TwoDataCenters, "free" => Self::Free,
    }
    SiteWord {
        "hosts" => Self::Hosts, "star" => Self::Star, "leaf-spine" => Self::LeafSpine, "fat-tree" => Self::FatTree,
    }
    HostsAt { "ends" => Self::Ends, "all" => Self::All }
    PatternWord {
        "poisson" => Self::Poisson, "pairs" => Self::Pairs, "all-to-all" => Self::AllToAll,
        "permutation" => Self::Permutation, "list" => Self::List,
    }
    LoadWord { "hosts" => Self::Hosts, "long" => Self::Long }
}

/// The priority of acknowledgements and CNPs: a number, or that of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ControlPriority(pub Option<Priority>);

impl Value for ControlPriority {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        match value.as_str() {
            Some("data") => Ok(Self(None)),
            Some(_) => {
                let want = "a priority, 0 to 7, or \"data\"";
                Err(ProblemKind::WrongType { got: crate::value::described(value), want })
            }
            None => Priority::read(value).map(|priority| Self(Some(priority))),
        }
    }
}
