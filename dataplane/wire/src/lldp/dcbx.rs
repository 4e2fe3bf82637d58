//! The configuration of a port in DCBX: priority-based flow control, enhanced transmission selection, and priorities
//! of applications (IEEE 802.1Q-2018 clauses D.2.8 to D.2.11).

use serde::{Deserialize, Serialize};
use units::{Priority, PrioritySet};

/// The PFC configuration (clause D.2.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pfc {
    /// Whether the port takes over the configuration of its peer.
    pub willing: bool,
    /// Whether frames pass MACsec without further delay (`MBC`).
    pub macsec_bypass: bool,
    /// The traffic classes that can have PFC at a time: 0 to 15.
    pub capability: u8,
    /// The priorities that have PFC.
    pub enabled: PrioritySet,
}

impl Pfc {
    /// Bytes of the information.
    pub(super) const LEN: usize = 2;

    pub(super) fn read(&[flags, enabled]: &[u8; Self::LEN]) -> Self {
        Self {
            willing: flags & 0x80 != 0,
            macsec_bypass: flags & 0x40 != 0,
            capability: flags & 0xf,
            enabled: PrioritySet::from_bits(enabled),
        }
    }

    pub(super) fn bytes(&self) -> [u8; Self::LEN] {
        let flags = u8::from(self.willing) << 7 | u8::from(self.macsec_bypass) << 6 | self.capability & 0xf;
        [flags, self.enabled.bits()]
    }
}

/// How a traffic class is selected for transmission (table D-5); other numbers are reserved or of a vendor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Selection(pub u8);

impl Selection {
    /// Strict priority.
    pub const STRICT: Self = Self(0);
    /// Enhanced transmission selection: a share of the bandwidth.
    pub const ETS: Self = Self(2);
}

/// An ETS configuration or recommendation (clauses D.2.8 and D.2.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ets {
    /// Whether the port takes over the recommendation of its peer. `false` in a recommendation.
    pub willing: bool,
    /// Whether the port has a credit-based shaper. `false` in a recommendation.
    pub credit_based: bool,
    /// The most traffic classes: 0 stands for eight. Zero in a recommendation.
    pub max_classes: u8,
    /// The traffic class of each priority, 0 to 7.
    pub classes: [u8; Priority::COUNT],
    /// The bandwidth of each traffic class, in hundredths.
    pub bandwidths: [u8; Priority::COUNT],
    /// How each traffic class is selected.
    pub selections: [Selection; Priority::COUNT],
}

impl Ets {
    /// Bytes of the information.
    pub(super) const LEN: usize = 21;

    /// `None` if a traffic class is reserved.
    pub(super) fn read(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let [flags, a, b, c, d, rest @ ..] = bytes;
        let mut classes = [0; Priority::COUNT];
        for (pair, byte) in classes.chunks_exact_mut(2).zip([a, b, c, d]) {
            pair.copy_from_slice(&[byte >> 4, byte & 0xf]);
        }
        if classes.iter().any(|class| usize::from(*class) >= Priority::COUNT) {
            return None;
        }
        let (bandwidths, selections) = rest.split_at(Priority::COUNT);
        Some(Self {
            willing: flags & 0x80 != 0,
            credit_based: flags & 0x40 != 0,
            max_classes: flags & 0x7,
            classes,
            bandwidths: bandwidths.first_chunk().copied().unwrap_or_default(),
            selections: selections.first_chunk().copied().unwrap_or_default().map(Selection),
        })
    }

    /// The information of a configuration.
    pub(super) fn bytes(&self) -> [u8; Self::LEN] {
        let flags = u8::from(self.willing) << 7 | u8::from(self.credit_based) << 6 | self.max_classes & 0x7;
        let mut bytes = [flags; Self::LEN];
        for (byte, pair) in bytes.iter_mut().skip(1).zip(self.classes.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |byte, class| byte << 4 | class & 0xf);
        }
        let rest = self.bandwidths.into_iter().chain(self.selections.map(|it| it.0));
        bytes.iter_mut().skip(5).zip(rest).for_each(|(byte, value)| *byte = value);
        bytes
    }

    /// This configuration as a recommendation, which has no flags.
    #[must_use]
    pub fn recommended(&self) -> Self {
        Self { willing: false, credit_based: false, max_classes: 0, ..*self }
    }
}

/// The meaning of an application's protocol number (table D-8); other values are reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Selector(pub u8);

impl Selector {
    /// An EtherType; zero stands for everything else.
    pub const ETHER_TYPE: Self = Self(1);
    /// A port of TCP or SCTP.
    pub const TCP: Self = Self(2);
    /// A port of UDP or DCCP.
    pub const UDP: Self = Self(3);
    /// A port of any of these.
    pub const ANY_PORT: Self = Self(4);
    /// A DSCP.
    pub const DSCP: Self = Self(5);
}

/// The priority of an application (clause D.2.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Application {
    /// The meaning of `protocol`, 3 bits.
    pub selector: Selector,
    /// Its protocol.
    pub protocol: u16,
    /// Its priority.
    pub priority: Priority,
}

impl Application {
    /// Bytes of an entry.
    pub(super) const LEN: usize = 3;

    fn read(&[flags, high, low]: &[u8; Self::LEN]) -> Self {
        Self {
            selector: Selector(flags & 0x7),
            protocol: u16::from_be_bytes([high, low]),
            priority: Priority::from_low_bits(flags >> 5),
        }
    }

    fn bytes(&self) -> [u8; Self::LEN] {
        let [high, low] = self.protocol.to_be_bytes();
        [self.priority.number() << 5 | self.selector.0 & 0x7, high, low]
    }
}

/// The priorities of applications, [`Applications::CAPACITY`] at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applications {
    length: u8,
    entries: [Application; Self::CAPACITY],
}

impl Applications {
    /// The most entries. Of a longer table, the first ones are kept.
    pub const CAPACITY: usize = 16;

    /// The entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Application> {
        self.entries.iter().take(usize::from(self.length))
    }

    /// The priority that the table gives UDP port `port`, directly or with TCP.
    pub fn of_udp(&self, port: u16) -> Option<Priority> {
        let is_it = |it: &&Application| {
            matches!(it.selector, Selector::UDP | Selector::ANY_PORT) && it.protocol == port
        };
        self.iter().find(is_it).map(|it| it.priority)
    }

    /// `None` if the last entry is not all there.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (entries, rest) = bytes.as_chunks();
        rest.is_empty().then(|| entries.iter().map(Application::read).collect())
    }

    /// The bytes of all entries, and how many of them there are.
    pub(super) fn bytes(&self) -> ([u8; Self::CAPACITY * Application::LEN], usize) {
        let mut bytes = [0; Self::CAPACITY * Application::LEN];
        let (places, _) = bytes.as_chunks_mut();
        places.iter_mut().zip(self.iter()).for_each(|(place, entry)| *place = entry.bytes());
        (bytes, usize::from(self.length) * Application::LEN)
    }
}

impl FromIterator<Application> for Applications {
    /// The first entries.
    fn from_iter<T: IntoIterator<Item = Application>>(entries: T) -> Self {
        let mut applications = Self::default();
        for (place, entry) in applications.entries.iter_mut().zip(entries) {
            *place = entry;
            applications.length += 1;
        }
        applications
    }
}
