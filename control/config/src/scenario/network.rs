//! `[network]`: settings that all switches and hosts share.

use core::net::{IpAddr, Ipv4Addr};

use endpoint::GoBackN;
use ipnet::IpNet;
use simulation::topology::{IPV6_BITS, ipv6_of};
use units::{Interval, Priority, PrioritySet};
use wire::ip::Dscp;

use super::run::{MOST, SOME};
use super::words::IpWord;
use crate::place::At;
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{List, Shape, or, table, values};

table! {
    /// The settings that all switches and hosts share.
    NetworkDecl {
        /// Priorities that PFC protects at every switch and host; `[]` for none
        lossless: List<Priority>, auto("`[3]`");
        /// Code points that hosts write: `{ 3 = 26 }`, all different
        dscp: CodePoints, auto("8 p + 2 for priorities 1 to 5; 0, 48 and 56 for 0, 6 and 7");
        /// The IP version of all packets of hosts
        ip: At<IpWord>, default(IpWord::V4);
        /// Whether hosts open each queue pair by messages of the connection manager, before its first data. TCP has no such messages
        connection_management: At<bool>, default(false);
        /// A message of the connection manager is sent again after this time without an answer
        connection_timeout: At<Interval>, within(SOME..=MOST), only(connection_management, true), auto("as `retransmission_timeout` of hosts, for the longest path");
    }
}

impl NetworkDecl {
    /// The priorities that PFC protects.
    pub fn lossless(&self) -> PrioritySet {
        let stated = values(&self.lossless).map(|at| at.value).fold(PrioritySet::EMPTY, PrioritySet::with);
        if self.lossless.is_some() { stated } else { stated.with(Priority::from_low_bits(3)) }
    }

    /// The time after which a message of the connection manager is sent again, where the longest round trip is
    /// `round_trip`.
    pub fn connection_timeout(&self, round_trip: Interval) -> Interval {
        or(&self.connection_timeout, GoBackN::for_round_trip(round_trip).retransmission_timeout)
    }

    /// The address in packets of the host or port that has `address` in the plan.
    pub fn address(&self, address: Ipv4Addr) -> IpAddr {
        match self.ip() {
            IpWord::V4 => address.into(),
            IpWord::V6 => ipv6_of(address).into(),
        }
    }

    /// The prefix of packets' addresses whose first `bits` bits are those of `prefix` in the plan.
    pub fn prefix(&self, prefix: Ipv4Addr, bits: u8) -> IpNet {
        let more = if self.ip() == IpWord::V6 { IPV6_BITS } else { 0 };
        IpNet::new(self.address(prefix), bits + more)
            .expect("a prefix of the plan has a length of its version")
    }

    /// The code point that hosts write for each priority.
    pub fn dscp(&self) -> [Dscp; Priority::COUNT] {
        self.dscp.clone().unwrap_or_default().0
    }
}

/// The code point that hosts write for each priority.
#[derive(Clone, Debug)]
pub(super) struct CodePoints(pub [Dscp; Priority::COUNT]);

/// Data has the class selector plus 2, so that RDMA on priority 3 has DSCP 26. The network's own priorities have 48
/// and 56.
impl Default for CodePoints {
    fn default() -> Self {
        Self([0, 10, 18, 26, 34, 42, 48, 56].map(Dscp::from_low_bits))
    }
}

impl Shape for CodePoints {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        let entries = section.by_priority::<Dscp>(key);
        let mut codes = Self::default();
        for (priority, dscp) in &entries {
            codes.0[priority.index()] = dscp.value;
        }
        let twice = |dscp: &&Dscp| codes.0.iter().filter(|it| it == dscp).count() > 1;
        let (_, first) = entries.first()?;
        if let Some(dscp) = codes.0.iter().find(twice) {
            section.problems.error(&first.place, ProblemKind::SameCode { dscp: *dscp });
        }
        Some(codes)
    }

    fn kind() -> String {
        "table of code points".into()
    }
}
