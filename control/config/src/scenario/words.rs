//! Words that are values of a scenario's keys.

use units::Priority;

use crate::value::{quoted, value_types, words, wrong_type};

words! {
    /// Template of a network.
    pub(super) enum TemplateWord {
        "incast" => Incast, "dumbbell" => Dumbbell, "leaf-spine" => LeafSpine, "fat-tree" => FatTree,
        "two-data-centers" => TwoDataCenters, "free" => Free,
    }
    /// Template of the network at an end of a long link.
    pub(super) enum SiteWord {
        "hosts" => Hosts, "star" => Star, "leaf-spine" => LeafSpine, "fat-tree" => FatTree,
    }
    /// Traffic patterns.
    pub(super) enum PatternWord {
        "poisson" => Poisson, "pairs" => Pairs, "all-to-all" => AllToAll, "permutation" => Permutation,
        "list" => List,
    }
    /// The kind of a collective.
    pub(super) enum CollectiveWord {
        "ring-all-reduce" => RingAllReduce, "tree-all-reduce" => TreeAllReduce, "reduce-scatter" => ReduceScatter,
        "all-gather" => AllGather, "all-to-all" => AllToAll, "pipeline" => Pipeline,
        "hierarchical-all-reduce" => HierarchicalAllReduce, "goal" => Goal,
    }
    /// The capacity that a load is a share of.
    pub(super) enum LoadWord { "hosts" => Hosts, "long" => Long }
    /// The version of IP.
    pub(super) enum IpWord { "v4" => V4, "v6" => V6 }
    /// Congestion control of hosts.
    pub(super) enum ControlWord { "none" => None, "dcqcn" => Dcqcn, "timely" => Timely, "hpcc" => Hpcc }
    /// Transport of hosts, which retransmits what is lost.
    pub(super) enum TransportWord { "go-back-n" => GoBackN, "irn" => Irn, "new-reno" => NewReno }
    /// The direction in which a figure improves.
    pub enum Better {
        /// Less is better.
        "less" => Less,
        /// More is better.
        "more" => More,
    }
    /// The source of a claim.
    pub enum Source {
        /// That of a paper, a standard or a vendor.
        "paper" => Paper,
        /// Ours: an aim, or a figure of a variant of ours.
        "ours" => Ours,
    }
}

value_types! {
    /// The priority of acknowledgements and CNPs; `None` is that of the data.
    struct ControlPriority(Option<Priority>): "priority, 0 to 7, or `\"data\"`",
        |it| match it.as_str() {
            Some("data") => Ok(Self(None)),
            Some(_) => Err(wrong_type(it, "a priority, 0 to 7, or \"data\"")),
            None => Priority::read(it).map(|priority| Self(Some(priority))),
        },
        |it| it.0.map_or_else(|| quoted("data"), |it| it.write());
}
