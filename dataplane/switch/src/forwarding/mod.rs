//! The forwarding decision: by patch, by learning bridge, or by routes.

mod address;
mod blocks;
mod bounce;
mod bridge;
pub(crate) mod figures;
mod flow;
mod local;
mod patch;
mod punt;
mod route;
mod verdict;

pub use bounce::BounceCounters;
pub use bridge::BridgeCounters;
pub use punt::Punt;

pub(crate) use bounce::Bounces;
pub(crate) use bridge::Bridge;
pub(crate) use flow::flow_hash;
pub(crate) use local::Addresses;
pub(crate) use patch::Patch;
pub(crate) use punt::PuntAllowance;
pub(crate) use route::RouteTable;
pub(crate) use verdict::Verdict;

use crate::bundle::Bundles;
use crate::program::{ForwardingSettings, Settings};
use std::sync::Arc;

/// The tables of a program, built with it and never changed.
pub(crate) enum Forwarding {
    Patch(Patch),
    /// The table of a bridge belongs to the shard.
    Bridge,
    /// A patch, or a bridge if that is `None`, which knows each bundle as one port. Routes name members.
    OfBundles(Option<Patch>, Arc<Bundles>),
    Route(Box<RouteTable>),
    /// The same, where each packet draws its next hop.
    Spray(Box<RouteTable>),
}

impl Forwarding {
    pub fn new(settings: &Settings, bundles: Option<&Arc<Bundles>>) -> Self {
        let patch = match &settings.forwarding {
            ForwardingSettings::Patch(pairs) => Some(Patch::new(pairs, settings)),
            ForwardingSettings::Bridge(_) => None,
            ForwardingSettings::Route(route) => {
                let bundles = bundles.map(|bundles| &**bundles);
                let table = Box::new(RouteTable::new(route, settings, bundles));
                return if route.sprays { Self::Spray(table) } else { Self::Route(table) };
            }
        };
        match (patch, bundles) {
            (patch, Some(bundles)) => Self::OfBundles(patch, bundles.clone()),
            (Some(patch), None) => Self::Patch(patch),
            (None, None) => Self::Bridge,
        }
    }

    /// The routes, where the switch is a router.
    pub fn routes(&self) -> Option<&RouteTable> {
        match self {
            Self::Route(table) | Self::Spray(table) => Some(table),
            Self::Bridge | Self::Patch(_) | Self::OfBundles(..) => None,
        }
    }
}
