//! `[kernel]`.

use units::Priority;

use crate::place::At;
use crate::table::{List, table};

table! {
    /// A kernel that speaks for the addresses of the gateway and knows further routes. Needs `mode = "route"`; see [kernel](kernel.md)
    KernelDecl {
        /// The network namespace with its TAPs: a name as `ip netns` has it, or a path
        namespace: At<String>, auto("the gateway's own"), restart;
        /// The priority in which its frames leave, lossy at every port
        priority: At<Priority>, default(Priority::from_low_bits(6)), restart;
        /// The ports and bundles whose neighbours it may find by itself; of others it takes permanent ones only
        learn: List<String>, auto("those without `distance`"), restart;
    }
}
