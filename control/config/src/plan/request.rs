//! The link that a plan is for.

use switch::program::PortSettings;
use units::{BitRate, Bytes, Distance, Interval, Priority, PrioritySet};

use super::scheme::Scheme;
use crate::emulation::reach;
use crate::headroom::default_tx_window;
use crate::keys::port::{FARTHEST, MTU_OVERHEAD, PortDecl};
use crate::link::Senders;
use crate::lscc_sum::{StepBounds, exact};
use crate::problem::{ConfigError, Problem};

/// The least and the largest MTU: those of the shortest frame, and of the largest.
const MTUS: (Bytes, Bytes) =
    (Bytes(64 - MTU_OVERHEAD.0), Bytes(PortSettings::LARGEST_FRAME.0 - MTU_OVERHEAD.0));

/// The most long links. More would leave each of them little of a port to the data center.
const MOST_LINKS: u8 = 8;

/// The link, and what is wanted of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Length of the fibre, one way.
    pub distance: Distance,
    /// Rate of a long link. That of the link to the data center is the rate of all long links.
    pub rate: BitRate,
    /// The long links between both gateways, 1 to 8: several are a bundle.
    pub links: u8,
    /// Longest packet in a frame, in bytes.
    pub mtu: Bytes,
    /// The lossless priorities, 1 to 5.
    pub priorities: PrioritySet,
    /// The scheme on the long link.
    pub scheme: Scheme,
    /// T of Bifrost; `None` for the default.
    pub slot: Option<Interval>,
    /// Whether LSCC runs above the scheme.
    pub lscc: bool,
    /// Whether the gateways repair what the long link loses.
    pub repair: bool,
    /// The senders: the rate of their links, and their DCQCN.
    pub senders: Senders,
    /// The slowest rate at which the far side takes lossless frames, of all priorities together, which share it equally;
    /// `None` for a tenth of the rate of all links.
    pub drain: Option<BitRate>,
    /// Length of the fibre to the data center.
    pub local_distance: Distance,
    /// Delays of NICs, PHYs and worker turns, both ends together.
    pub interface_delay: Interval,
    /// How far ahead of the link the ports hand frames to the device.
    pub tx_window: Interval,
    /// The file with LSCC's key, as the configuration names it. The plan does not read it.
    pub key_file: String,
    /// The memory of a machine for frames, as hugepages; `None` if it is not known.
    pub memory: Option<Bytes>,
    /// How late a worker of a machine may be; `None` for a turn of full bursts.
    pub lateness: Option<Interval>,
    /// Lanes of each gateway, 1 to 16; 0 for as many as its cores need.
    pub lanes: u8,
    /// PCI addresses of dc0 and each long port: of both gateways, or of each; on cores 2 and 3, or from 2 on one for each lane; none for files without devices.
    pub pci: Vec<Vec<String>>,
    /// Further neighbours with a PFC watchdog: a name, and a detection time.
    pub watchdogs: Vec<(String, Interval)>,
}

impl Request {
    /// A link of that length and rate, with the defaults of the command for all else.
    pub fn new(distance: Distance, rate: BitRate) -> Self {
        let port = PortDecl::default();
        Self {
            distance,
            rate,
            links: 1,
            mtu: port.longest_frame() - MTU_OVERHEAD,
            priorities: PrioritySet::EMPTY.with(Priority::from_low_bits(3)),
            scheme: Scheme::BIFROST,
            slot: None,
            lscc: false,
            repair: false,
            senders: Senders::default(),
            drain: None,
            local_distance: Distance(300),
            interface_delay: port.interface_delay(),
            tx_window: default_tx_window(rate),
            key_file: "link.key".into(),
            memory: None,
            lateness: None,
            lanes: 0,
            pci: Vec::new(),
            watchdogs: Vec::new(),
        }
    }

    /// The length of fibre with that delay, one way.
    ///
    /// # Errors
    /// [`PlanError::OutOfRange`] if no fibre is that long.
    pub fn distance_of(delay: Interval) -> Result<Distance, PlanError> {
        let most = FARTHEST.propagation();
        if delay > most {
            let valid = format!("up to {most}, that of {FARTHEST} of fibre");
            return Err(PlanError::out_of_range(format!("a delay of {delay}"), valid));
        }
        Ok(reach(delay).min(FARTHEST))
    }

    /// The slowest rate at which the far side takes lossless frames.
    pub fn slowest_drain(&self) -> BitRate {
        let tenth = BitRate::new(self.whole_rate().bits_per_second() / 10);
        self.drain.or(tenth).unwrap_or(self.rate)
    }

    /// The rate of all long links together; saturates.
    pub fn whole_rate(&self) -> BitRate {
        let bits = self.rate.bits_per_second().saturating_mul(self.links.into());
        BitRate::new(bits).unwrap_or(self.rate)
    }

    /// What runs above the scheme, in words.
    pub fn above(&self) -> &'static str {
        match (self.lscc, self.repair) {
            (false, false) => "",
            (true, false) => " and LSCC",
            (false, true) => " and repair",
            (true, true) => ", LSCC and repair",
        }
    }

    /// The number of lossless priorities.
    pub(super) fn count(&self) -> u64 {
        self.priorities.iter().count() as u64
    }

    /// Refuses what no link can be.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        for (distance, to) in [(self.distance, ""), (self.local_distance, " to the data center")] {
            if distance > FARTHEST {
                let what = format!("a distance of {distance}{to}");
                return Err(PlanError::out_of_range(what, format!("up to {FARTHEST}")));
            }
        }
        if !(1..=MOST_LINKS).contains(&self.links) {
            let what = format!("a number of {} links", self.links);
            return Err(PlanError::out_of_range(what, format!("1 to {MOST_LINKS}")));
        }
        if let Some(given) = self.pci.iter().map(Vec::len).find(|given| *given != 1 + usize::from(self.links))
        {
            let valid = format!("that of dc0, and of each of {} long ports", self.links);
            return Err(PlanError::out_of_range(format!("a list of {given} PCI addresses"), valid));
        }
        if self.links > 1 && self.scheme.planned().passes_on() {
            return Err(PlanError::PassesOn { scheme: self.scheme, links: self.links });
        }
        let (least, most) = MTUS;
        if self.mtu < least || self.mtu > most {
            let what = format!("an MTU of {}", self.mtu.0);
            return Err(PlanError::out_of_range(what, format!("{} to {}", least.0, most.0)));
        }
        let known = |priority: &Priority| (1..=5).contains(&priority.number());
        if let Some(priority) = self.priorities.iter().find(|priority| !known(priority)) {
            return Err(PlanError::Priority { priority });
        }
        if self.priorities.is_empty() {
            return Err(PlanError::NoPriority);
        }
        let (drain, rate) = (self.slowest_drain(), self.whole_rate());
        if drain > rate {
            return Err(PlanError::Drain { drain, rate });
        }
        if self.senders.rate_timer == Interval::ZERO {
            return Err(PlanError::out_of_range("a rate timer of 0ns", "at least 1ns"));
        }
        Ok(())
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A value that no link can have, or that does not suit this one.
    #[error("{what} is out of range; expected {valid}")]
    OutOfRange {
        /// The value, with its noun.
        what: String,
        /// Valid values.
        valid: String,
    },
    /// A lossless priority has another use.
    #[error(
        "priority {priority} cannot be lossless here; expected 1 to 5, as 0 has all other traffic, 6 CNPs, and 7 the network's own protocols"
    )]
    Priority {
        /// The given priority.
        priority: Priority,
    },
    /// Nothing is lossless.
    #[error("no priority is lossless; expected one or more of 1 to 5")]
    NoPriority,
    /// A scheme that passes on pauses does so for one link.
    #[error("{scheme} passes on the pauses of one link, and the plan has {links}")]
    PassesOn {
        /// The scheme.
        scheme: Scheme,
        /// The links of the plan.
        links: u8,
    },
    /// A proof is for one link.
    #[error("a proof simulates one link, and the plan has {links}")]
    ProofOfLinks {
        /// The links of the plan.
        links: u8,
    },
    /// A proof loses no frame on a link.
    #[error("a proof loses no frame on the link, so it shows nothing of repair; expected a plan without it")]
    ProofOfRepair,
    /// The drain is faster than the link.
    #[error("a drain of {drain} is faster than the link; expected up to {rate}")]
    Drain {
        /// The given drain.
        drain: BitRate,
        /// The rate of the link.
        rate: BitRate,
    },
    /// Equation (12) leaves no room.
    #[error(
        "LSCC has no step: by equation (12) dR is above {} and below {} for {}; possible with an additive increase of {least} or more, or without LSCC",
        exact(bounds.above), exact(bounds.below), bounds.assumed()
    )]
    NoStep {
        /// The bounds.
        bounds: StepBounds,
        /// The least additive increase that leaves room.
        least: BitRate,
    },
    /// The configuration is refused, or would run with warnings. Each problem says what would be possible.
    #[error("{}", lines(problems))]
    Refused {
        /// The problems.
        problems: Vec<Problem>,
    },
}

impl PlanError {
    pub(super) fn out_of_range(what: impl Into<String>, valid: impl Into<String>) -> Self {
        Self::OutOfRange { what: what.into(), valid: valid.into() }
    }
}

impl From<ConfigError> for PlanError {
    fn from(error: ConfigError) -> Self {
        let problems = match error {
            ConfigError::Invalid { problems } => problems,
            ConfigError::Unreadable { .. } => Vec::new(),
        };
        Self::Refused { problems }
    }
}

/// The problems without places, which are in a text that no one has seen.
fn lines(problems: &[Problem]) -> String {
    // Both ports have the same keys.
    let mut lines: Vec<_> =
        problems.iter().map(|problem| format!("{}: {}", problem.key, problem.kind)).collect();
    lines.dedup();
    lines.join("\n")
}
