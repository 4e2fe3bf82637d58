//! The numbers of nodes.

use serde::{Deserialize, Serialize};

/// A node: its index in [`crate::NetworkSpec::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);
