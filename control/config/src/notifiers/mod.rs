//! The schemes of a port that notify the senders of marked packets: from the keys of each to its settings, and back.

pub(crate) mod supplement;
pub(crate) mod themis;

use switch::congestion::{Notifiers, NotifiersError};
use switch::program::PortSettings;

use crate::keys::port::PortDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::table::Table;

/// Builds the schemes of a port whose flow control is known. Returns `None` if a setting is missing, after an error was noted.
pub(crate) fn build(
    decl: &PortDecl,
    port: &PortSettings,
    link: &Link,
    problems: &Problems<'_>,
) -> Option<Notifiers> {
    let mut notifiers = Notifiers::default();
    if let Some(declared) = &decl.themis {
        notifiers.themis = Some(themis::build(declared, port, link, problems)?);
    }
    if let Some(declared) = &decl.supplement {
        notifiers.supplement = Some(supplement::build(declared)?);
    }
    Some(notifiers)
}

/// The keys from which [`build`] builds the same schemes, and `others`.
pub(crate) fn in_force(notifiers: &Notifiers, others: PortDecl) -> PortDecl {
    PortDecl {
        themis: notifiers.themis.as_ref().map(themis::in_force),
        supplement: notifiers.supplement.as_ref().map(supplement::in_force),
        ..others
    }
}

/// Adds the queues that a scheme of one port wants at the others.
pub(crate) fn add_queues(ports: &mut [PortSettings]) {
    themis::add_slow_queues(ports);
}

/// The place of the key that caused `error`.
pub(crate) fn place(error: &NotifiersError, decl: &PortDecl) -> Option<Place> {
    let themis = |keys: &[&str]| Some(decl.themis.as_ref()?.first(keys).clone());
    let supplement = |keys: &[&str]| Some(decl.supplement.as_ref()?.first(keys).clone());
    match error {
        NotifiersError::Themis(error) => themis(themis::keys_at_fault(error)),
        NotifiersError::Supplement(error) => supplement(error.key().as_slice()),
        NotifiersError::Twice { .. } => themis(&["cnp_interval"]),
        NotifiersError::SupplementWithLscc => supplement(&[]),
    }
}
