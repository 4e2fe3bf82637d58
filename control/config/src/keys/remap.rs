//! `remap` of a port: isolated priorities of frames that bounce.

use switch::program::Remap;
use units::Priority;

use crate::place::Place;
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{Item, Shape};
use crate::value::Value;

/// The isolated priorities of some priorities, such as `{ 3 = 5 }`.
#[derive(Clone, Debug)]
pub(crate) struct RemapDecl {
    pub remap: Remap,
    place: Place,
}

impl RemapDecl {
    /// The key that stands for `remap`; none if it is empty.
    pub fn of(remap: Remap) -> Option<Self> {
        (!remap.is_empty()).then(|| Self { remap, place: Place::default() })
    }
}

impl Shape for RemapDecl {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        let problems = section.problems;
        let mut remap = Remap::default();
        for (name, place, value) in section.entries(key) {
            let from = name.parse().ok().and_then(|number| Priority::new(number).ok());
            match (from, Priority::read(value)) {
                (Some(from), Ok(to)) => remap = remap.with(from, to),
                (None, _) => {
                    problems.error(
                        &place,
                        ProblemKind::Malformed { got: name.into(), want: "a priority, 0 to 7" },
                    );
                }
                (_, Err(kind)) => problems.error(&place, kind),
            }
        }
        section.contains(key).then(|| Self { remap, place: section.place_of_key(key) })
    }

    fn item(&self) -> Item {
        let entries: Vec<_> = self.remap.iter().map(|(from, to)| format!("{from} = {to}")).collect();
        Item::Value(format!("{{ {} }}", entries.join(", ")))
    }

    fn place(&self) -> Option<&Place> {
        Some(&self.place)
    }

    fn kind() -> String {
        "table of priorities".into()
    }
}
