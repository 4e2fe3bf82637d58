//! The schemes of a port that notify senders: from the keys of each to its settings, and back.

pub(crate) mod lscc;
pub(crate) mod supplement;
pub(crate) mod themis;

use std::path::Path;

use switch::congestion::{Notifiers, NotifiersError};
use switch::program::PortSettings;

use crate::keys::port::PortDecl;
use crate::link::Link;
use crate::notes::Problems;
use crate::place::Place;
use crate::table::Table;

/// Builds the schemes of a port whose flow control is known. Paths of key files begin in `directory`. Returns `None` if a
/// setting is missing, after an error was noted.
pub(crate) fn build(
    decl: &PortDecl,
    port: &mut PortSettings,
    link: &Link,
    directory: Option<&Path>,
    problems: &Problems<'_>,
) -> Option<Notifiers> {
    let mut notifiers = Notifiers::default();
    if let Some(declared) = &decl.lscc {
        let lscc = lscc::build(declared, port, link, directory, problems)?;
        lscc::make_room(port, &lscc, decl);
        notifiers.lscc = Some(lscc);
    }
    if let Some(declared) = &decl.themis {
        notifiers.themis = Some(themis::build(declared, port, link, problems)?);
    }
    if let Some(declared) = &decl.supplement {
        notifiers.supplement = Some(supplement::build(declared)?);
    }
    Some(notifiers)
}

/// The keys from which [`build`] builds the same schemes, and `others`.
pub(crate) fn in_force(notifiers: &Notifiers, link: &Link, others: PortDecl) -> PortDecl {
    PortDecl {
        lscc: notifiers.lscc.as_ref().map(|it| lscc::in_force(it, &link.senders)),
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
        NotifiersError::Lscc(error) => lscc::place(error, decl),
        NotifiersError::Themis(error) => themis(themis::keys_at_fault(error)),
        NotifiersError::Supplement(error) => supplement(supplement::keys_at_fault(error)),
        NotifiersError::Twice { .. } => themis(&["cnp_interval"]),
        NotifiersError::SupplementWithLscc => supplement(&[]),
    }
}

/// The place of the first scheme of the port, or of the port if it has none.
pub(crate) fn place_of_first(decl: &PortDecl) -> &Place {
    decl.first(&["lscc", "themis", "supplement"])
}

/// The keys to write instead, where the error does not say what would be valid.
pub(crate) fn remedy(error: &NotifiersError) -> String {
    match error {
        NotifiersError::Themis(error) => themis::remedy(error),
        NotifiersError::Twice { .. } => {
            "set cnp_interval = \"none\" in themis, or remove one of them".to_owned()
        }
        NotifiersError::SupplementWithLscc => "use far_cnp_interval of LSCC to thin CNPs".to_owned(),
        NotifiersError::Lscc(_) | NotifiersError::Supplement(_) => String::new(),
    }
}
