//! Members of bundles, and what is wrong with them.

use crate::liveness::Liveness;
use units::{Interval, PortId};

/// The membership of a port in a bundle: links to one neighbour that are one port to forwarding. They differ in device, rate
/// and distance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The name of the bundle.
    pub bundle: String,
    /// The first member, which stands for the bundle in forwarding. It is a member itself.
    pub head: PortId,
    /// The least time from the departure of a frame to its arrival at the other end of the link.
    pub delay: Interval,
    /// The time that a frame may take beyond that.
    pub jitter: Interval,
    /// How the link shows that it lives; `None` if it does as long as it has a carrier.
    pub liveness: Option<Liveness>,
}

impl Membership {
    /// A gateway asks the devices of members for their carrier this often, so it notices within this time that it is gone.
    pub const CARRIER_WATCH: Interval = Interval::from_millis(5);
}

/// An error in the members of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// It has one member only.
    #[error("it is the only member of its bundle; expected two or more")]
    Alone,
    /// A port names as its first member one that names another, or none.
    #[error("the first member of its bundle is not one")]
    Head,
    /// Its frames could not wait in the queues of the first member, or would be too long for them.
    #[error(
        "its {what} differ from those of port {head}; members of a bundle differ in device, rate and distance only"
    )]
    Differs {
        /// The setting.
        what: &'static str,
        /// The first member.
        head: String,
    },
    /// A scheme gives it queues of its own, which its siblings do not serve alike.
    #[error("{what} does not work in a bundle")]
    Scheme {
        /// The scheme.
        what: &'static str,
    },
    /// A patch names a member in place of the bundle.
    #[error("a patch names it; expected the name of its bundle")]
    Patched,
    /// A patch joins two members.
    #[error("it is patched to its own bundle")]
    PatchedWithin,
}
