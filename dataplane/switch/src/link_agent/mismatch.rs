//! Where the two ends of a link are set differently, or cannot be told apart from others.

use super::neighbours::{Neighbour, Neighbours};
use core::fmt;
use units::{Priority, PrioritySet};
use wire::lldp::{Ets, Message, Selection};
use wire::roce::UDP_PORT;

/// Some devices count the FCS or a VLAN tag in the longest frame and others do not.
const FRAME_TOLERANCE: u16 = 8;

units::named! {
    /// One kind of mismatch.
    Mismatch [ALL] {
        /// Other priorities have PFC there: frames of some are lost, or no one pauses for them.
        PfcPriorities = "pfc_priorities",
        /// The neighbour can have PFC for fewer traffic classes than the port has lossless priorities.
        PfcCapability = "pfc_capability",
        /// The longest frame of one end is too long for the other.
        MaxFrame = "max_frame",
        /// Priorities share the link otherwise in the other direction.
        Ets = "ets",
        /// Another priority for RoCEv2.
        Application = "application",
        /// More than one neighbour speaks DCBX: no one can tell which one is the other end.
        SeveralNeighbours = "several_neighbours",
        /// The neighbour has the chassis ID of this end, so that no one can tell the two apart.
        SameChassis = "same_chassis",
        /// The neighbour speaks DCBX in its older form only, CEE, which is not read: whether its PFC fits is unknown.
        Cee = "cee",
    }
}

impl Mismatch {
    /// The predicate of a sentence about a neighbour with this mismatch. The subject is the neighbour's name.
    pub const fn predicate(self) -> &'static str {
        match self {
            Self::PfcPriorities | Self::PfcCapability | Self::MaxFrame | Self::Ets | Self::Application => {
                "differs"
            }
            Self::SeveralNeighbours => "is not the only one",
            Self::SameChassis => "has the identity of this gateway",
            Self::Cee => "speaks the older form of DCBX",
        }
    }

    /// Whether it is a setting in which the two ends differ.
    pub const fn is_of_settings(self) -> bool {
        !matches!(self, Self::SeveralNeighbours | Self::SameChassis | Self::Cee)
    }

    /// The two sides of it, as the rest of a sentence: what `ours` says, and what `theirs` does.
    pub fn sides(self, ours: &Message, theirs: &Message) -> String {
        let enabled = |it: &Message| Priorities(it.pfc.unwrap_or_default().enabled);
        match self {
            Self::PfcPriorities => format!("PFC for {} here, for {} there", enabled(ours), enabled(theirs)),
            Self::PfcCapability => {
                let capability = theirs.pfc.unwrap_or_default().capability;
                format!("PFC for {} here, for {capability} traffic classes at most there", enabled(ours))
            }
            Self::MaxFrame => {
                let length = |it: &Message| it.max_frame.unwrap_or_default();
                format!("max_frame = {} here, {} there", length(ours), length(theirs))
            }
            Self::Ets => {
                let shares = |it: &Message| Shares(it.ets.unwrap_or_default());
                format!("{} here, {} there", shares(ours), shares(theirs))
            }
            Self::Application => {
                let of = |it: &Message| it.applications.of_udp(UDP_PORT).unwrap_or_default();
                format!("RoCEv2 in priority {} here, in priority {} there", of(ours), of(theirs))
            }
            Self::SeveralNeighbours => "several neighbours speak DCBX".into(),
            Self::SameChassis => format!("chassis {} here and there", ours.chassis.chassis_text()),
            Self::Cee => "IEEE here, CEE there: set it to IEEE, since its PFC is unknown".into(),
        }
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mismatches(u8);

impl Mismatches {
    /// The differences between what `ours` says of this end of a link and what `theirs` says of the other. A setting
    /// that one of them does not have is no difference.
    pub fn between(ours: &Message, theirs: &Message) -> Self {
        let mut found = Self::default();
        let mut note = |mismatch, differs: Option<bool>| found.note(mismatch, differs == Some(true));
        let pfc = ours.pfc.zip(theirs.pfc);
        note(Mismatch::PfcPriorities, pfc.map(|(ours, theirs)| ours.enabled != theirs.enabled));
        note(Mismatch::PfcCapability, pfc.map(|(ours, theirs)| count(ours.enabled) > theirs.capability));
        let frames = ours.max_frame.zip(theirs.max_frame);
        note(Mismatch::MaxFrame, frames.map(|(ours, theirs)| ours.abs_diff(theirs) > FRAME_TOLERANCE));
        let ets = ours.ets.zip(theirs.ets);
        note(Mismatch::Ets, ets.map(|(ours, theirs)| differ(&ours, &theirs)));
        let priorities = ours.applications.of_udp(UDP_PORT).zip(theirs.applications.of_udp(UDP_PORT));
        note(Mismatch::Application, priorities.map(|(ours, theirs)| ours != theirs));
        found.note(Mismatch::SameChassis, ours.chassis == theirs.chassis);
        found.note(Mismatch::Cee, theirs.cee && ours.pfc.is_some() && theirs.pfc.is_none());
        found
    }

    /// The differences between `ours` and `neighbour`, which is one of `all`: those between the two, and whether others speak
    /// DCBX as it does.
    pub fn with(ours: &Message, neighbour: &Neighbour, all: &Neighbours) -> Self {
        let speaks = |it: &Neighbour| it.message.pfc.is_some();
        let mut found = Self::between(ours, &neighbour.message);
        let several = speaks(neighbour) && all.iter().filter(|it| speaks(it)).count() > 1;
        found.note(Mismatch::SeveralNeighbours, several);
        found
    }

    /// The differences between `ours` and all of `neighbours`.
    pub fn among(ours: &Message, neighbours: &Neighbours) -> Self {
        let each = neighbours.iter().map(|it| Self::with(ours, it, neighbours));
        Self(each.fold(0, |all, it| all | it.0))
    }

    /// Those of them that `others` does not have.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether it has `mismatch`.
    pub const fn contains(self, mismatch: Mismatch) -> bool {
        self.0 & 1 << mismatch as u8 != 0
    }

    /// Its members.
    pub fn iter(self) -> impl Iterator<Item = Mismatch> {
        Mismatch::ALL.into_iter().filter(move |it| self.contains(*it))
    }

    fn note(&mut self, mismatch: Mismatch, is_there: bool) {
        self.0 |= u8::from(is_there) << mismatch as u8;
    }
}

/// The number of priorities, eight at most.
fn count(priorities: PrioritySet) -> u8 {
    priorities.bits().count_ones() as u8
}

/// How each priority is selected, and its share of the bandwidth in hundredths: zero unless it is selected by that. Priorities
/// of one traffic class have its share together.
fn shares(ets: &Ets) -> [(Selection, u8); Priority::COUNT] {
    ets.classes.map(|class| {
        let class = usize::from(class);
        let selection = ets.selections.get(class).copied().unwrap_or_default();
        // Only a share has a bandwidth.
        let bandwidth = ets.bandwidths.get(class).copied().filter(|_| selection == Selection::ETS);
        (selection, bandwidth.unwrap_or(0))
    })
}

/// Whether a priority is selected differently, or has a share that differs by more than rounding.
fn differ(ours: &Ets, theirs: &Ets) -> bool {
    shares(ours)
        .iter()
        .zip(shares(theirs))
        .any(|(ours, theirs)| ours.0 != theirs.0 || ours.1.abs_diff(theirs.1) > 1)
}

struct Priorities(PrioritySet);

impl fmt::Display for Priorities {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.0.iter().map(|it| it.to_string()).collect();
        match &numbers[..] {
            [] => out.write_str("no priority"),
            [only] => write!(out, "priority {only}"),
            several => write!(out, "priorities {}", several.join(", ")),
        }
    }
}

struct Shares(Ets);

impl fmt::Display for Shares {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (priority, (selection, bandwidth)) in shares(&self.0).into_iter().enumerate() {
            let space = if priority > 0 { " " } else { "" };
            match selection {
                Selection::ETS => write!(out, "{space}{priority}:{bandwidth}%"),
                Selection::STRICT => write!(out, "{space}{priority}:strict"),
                Selection(other) => write!(out, "{space}{priority}:selection {other}"),
            }?;
        }
        Ok(())
    }
}
