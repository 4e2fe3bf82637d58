//! The words of a scenario.

use toml::de::DeValue;
use units::Priority;

use crate::problem::ProblemKind;
use crate::value::{Value, quoted, words, written};

words! {
    /// What a network is drawn by.
    pub(super) enum TemplateWord {
        "incast" => Incast, "dumbbell" => Dumbbell, "linear" => Linear, "leaf-spine" => LeafSpine,
        "fat-tree" => FatTree, "two-data-centers" => TwoDataCenters, "free" => Free,
    }
    /// What stands at an end of a long link.
    pub(super) enum SiteWord {
        "hosts" => Hosts, "star" => Star, "leaf-spine" => LeafSpine, "fat-tree" => FatTree,
    }
    /// Which switches of a row have hosts.
    pub(super) enum HostsAt { "ends" => Ends, "all" => All }
    /// Traffic patterns.
    pub(super) enum PatternWord {
        "poisson" => Poisson, "pairs" => Pairs, "all-to-all" => AllToAll, "permutation" => Permutation,
        "list" => List,
    }
    /// What a load is a share of.
    pub(super) enum LoadWord { "hosts" => Hosts, "long" => Long }
    /// How fast hosts send.
    pub(super) enum ControlWord { "none" => None, "dcqcn" => Dcqcn, "timely" => Timely, "hpcc" => Hpcc }
    /// How hosts send again what is lost.
    pub(super) enum TransportWord { "go-back-n" => GoBackN, "irn" => Irn, "new-reno" => NewReno }
    /// Which way a figure gets better.
    pub enum Better {
        /// As it falls.
        "less" => Less,
        /// As it rises.
        "more" => More,
    }
}

written! {
    ControlPriority: "priority, 0 to 7, or `\"data\"`", |it| it.0.map_or_else(|| quoted("data"), |it| it.write());
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
