//! The settings of Fast CNPs.

use super::{Notifier, NotifierError};
use core::net::{IpAddr, Ipv6Addr};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use units::Interval;
use wire::roce::fast_cnp::OptionType;

/// Fast CNPs on a port: [`wire::roce::fast_cnp`] has the format and the draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FastCnp {
    /// The type of the option.
    pub option: OptionType,
    /// Whether Fast CNPs that come in through the port are believed. All others are dropped.
    pub accept: bool,
    /// The address from which the port sends Fast CNPs when a queue of it marks; `None` sends none.
    pub source: Option<Ipv6Addr>,
    /// The senders that understand Fast CNPs: they get no mark beside one, and theirs are passed on untranslated.
    pub capable: Vec<IpNet>,
    /// The least time between two notifications of a flow, sent or translated.
    pub interval: Interval,
    /// The least time between two notifications of the port in the long run.
    pub port_interval: Interval,
    /// Its flows, and what it sends: Fast CNPs, and CNPs that they are translated into.
    pub notifier: Notifier,
}

/// A setting of Fast CNPs that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FastCnpError {
    /// LSCC on the same port.
    #[error(
        "a sender could get two CNPs, because LSCC on this port notifies the same senders; remove one of them"
    )]
    BesideLscc,
    /// An IPv4 prefix.
    #[error("{prefix} is not an IPv6 prefix; Fast CNPs are for IPv6 alone")]
    Capable {
        /// As configured.
        prefix: IpNet,
    },
    /// An address that no node can have.
    #[error("Fast CNPs cannot be sent from {address}, which no node can have")]
    Source {
        /// As configured.
        address: Ipv6Addr,
    },
    /// A time out of range.
    #[error("an interval of {given} is out of range; expected {least} to {most}")]
    Interval {
        /// The key.
        key: &'static str,
        /// As configured.
        given: Interval,
        /// The least.
        least: Interval,
        /// The most.
        most: Interval,
    },
    /// Marks that are made where the port does not see them.
    #[error(
        "a queue marks at its tail; Fast CNPs are sent for marks at the head, so write mark_at = \"dequeue\""
    )]
    MarkAtEnqueue,
    /// A setting that every scheme checks is wrong.
    #[error(transparent)]
    Notifier(#[from] NotifierError),
}

impl FastCnpError {
    /// The key at fault, if it is one of the table.
    pub const fn key(&self) -> Option<&'static str> {
        match self {
            Self::Capable { .. } => Some("capable"),
            Self::Source { .. } => Some("source"),
            Self::Interval { key, .. } => Some(key),
            Self::BesideLscc | Self::MarkAtEnqueue => None,
            Self::Notifier(error) => Some(error.key()),
        }
    }
}

impl FastCnp {
    /// Whether this sender understands Fast CNPs.
    pub fn is_capable(&self, sender: Ipv6Addr) -> bool {
        self.capable.iter().any(|prefix| prefix.contains(&IpAddr::V6(sender)))
    }

    /// Whether the port has a role of Fast CNPs, and so notifies senders.
    pub const fn notifies(&self) -> bool {
        self.accept || self.source.is_some()
    }

    /// Checks the settings of a port that has LSCC or not, and of which any queue marks at its tail or not.
    pub(super) fn validate(&self, beside_lscc: bool, marks_at_enqueue: bool) -> Result<(), FastCnpError> {
        const LEAST: Interval = Interval(1);
        const MOST: Interval = Interval::from_secs(1);
        if beside_lscc {
            return Err(FastCnpError::BesideLscc);
        }
        if let Some(prefix) = self.capable.iter().find(|prefix| prefix.addr().is_ipv4()) {
            return Err(FastCnpError::Capable { prefix: *prefix });
        }
        if let Some(address) =
            self.source.filter(|it| it.is_unspecified() || it.is_multicast() || it.is_loopback())
        {
            return Err(FastCnpError::Source { address });
        }
        for (key, given) in [("interval", self.interval), ("port_interval", self.port_interval)] {
            if given < LEAST || given > MOST {
                return Err(FastCnpError::Interval { key, given, least: LEAST, most: MOST });
            }
        }
        if self.source.is_some() && marks_at_enqueue {
            return Err(FastCnpError::MarkAtEnqueue);
        }
        Ok(self.notifier.validate()?)
    }
}

#[cfg(test)]
impl FastCnp {
    /// Settings for tests: both roles, nobody is capable.
    pub(crate) const PLAIN: Self = Self {
        option: OptionType::EXPERIMENTAL,
        accept: true,
        source: Some(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x99)),
        capable: Vec::new(),
        interval: Interval::from_micros(50),
        port_interval: Interval::from_micros(1),
        notifier: Notifier::PLAIN,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(change: impl FnOnce(&mut FastCnp)) -> Result<(), FastCnpError> {
        let mut settings = FastCnp::PLAIN;
        change(&mut settings);
        settings.validate(false, false)
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_with_their_reason() {
        use FastCnpError as E;
        assert_eq!(checked(|_| ()), Ok(()));
        let prefix: IpNet = "10.0.0.0/8".parse().unwrap();
        assert_eq!(checked(|it| it.capable = vec![prefix]), Err(E::Capable { prefix }));
        for address in ["::", "::1", "ff02::1"].map(|it| it.parse().unwrap()) {
            assert_eq!(checked(|it| it.source = Some(address)), Err(E::Source { address }));
        }
        let (given, least, most) = (Interval::ZERO, Interval(1), Interval::from_secs(1));
        let refused = |key| Err(E::Interval { key, given, least, most });
        assert_eq!(checked(|it| it.interval = given), refused("interval"));
        assert_eq!(checked(|it| it.port_interval = given), refused("port_interval"));
        assert_eq!(FastCnp::PLAIN.validate(true, false), Err(E::BesideLscc));
        assert_eq!(FastCnp::PLAIN.validate(false, true), Err(E::MarkAtEnqueue));
        let proxy = FastCnp { source: None, ..FastCnp::PLAIN };
        assert_eq!(proxy.validate(false, true), Ok(()), "a proxy sends none for marks");
        assert_eq!(checked(|it| it.notifier.ageing = Interval::ZERO), Err(NotifierError::Ageing.into()));
    }

    #[test]
    fn a_sender_is_capable_if_a_prefix_has_it() {
        let settings = FastCnp { capable: vec!["2001:db8:a::/48".parse().unwrap()], ..FastCnp::PLAIN };
        let capable = |address: &str| settings.is_capable(address.parse().unwrap());
        assert!(capable("2001:db8:a:7::1") && !capable("2001:db8:b::1"));
        assert!(!FastCnp::PLAIN.is_capable("2001:db8:a::1".parse().unwrap()));
    }
}
