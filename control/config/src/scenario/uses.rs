//! Tables that only a certain choice reads, such as those of schemes. Variants choose, so a table that one port does
//! not read is no mistake, and one that no port reads is.

use core::cell::RefCell;
use std::collections::BTreeMap;

use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;

/// The tables that were looked at, by the offset at which they begin.
#[derive(Debug, Default)]
pub(super) struct Uses(RefCell<BTreeMap<usize, Use>>);

#[derive(Debug)]
struct Use {
    place: Place,
    is_read: bool,
    unread: ProblemKind,
}

impl Uses {
    /// Notes whether a port or host reads the table at `place`, and the problem if none does.
    pub fn note(&self, place: &Place, is_read: bool, unread: ProblemKind) {
        let mut uses = self.0.borrow_mut();
        let of = uses.entry(place.offset).or_insert(Use { place: place.clone(), is_read, unread });
        of.is_read |= is_read;
    }

    /// Warns of the tables that nothing reads.
    pub fn warn(self, problems: &Problems<'_>) {
        for Use { place, unread, .. } in self.0.into_inner().into_values().filter(|it| !it.is_read) {
            problems.warning(&place, unread);
        }
    }
}
