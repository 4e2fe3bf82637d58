//! `[[bundle]]`.

use crate::place::At;
use crate::table::{List, table, values};
use crate::value::Name;

table! {
    /// Links to one neighbour that are one port to forwarding.
    BundleDecl {
        /// A port name everywhere in `[forwarding]`. No port and no other bundle has it
        name: At<Name>, required("name = \"lh\""), restart;
        /// Two ports or more with the same frame length and lossless priorities, each in one bundle, with `distance`. Flows are spread by hash, in proportion to rates
        members: List<String>, required("members = [\"lh0\", \"lh1\"]"), restart;
    }
}

impl BundleDecl {
    /// The names of its members, in their order.
    pub fn names(&self) -> impl Iterator<Item = &At<String>> {
        values(&self.members)
    }

    /// Its name, or nothing if it has none.
    pub fn name(&self) -> &str {
        self.name.as_ref().map_or("", |name| &name.value.0)
    }
}
