//! The destinations behind the ports of a gateway: what it tells the other end of a long link.

use core::hash::BuildHasher;
use core::hash::Hasher;
use foldhash::fast::FixedState;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use units::{BitRate, PortId};
use wire::grants::behind::{Destination, Message, PAGES, PER_PAGE};

/// The ports behind a gateway that have grants of their own, and the pages about them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Behind {
    /// The far ports, the first of which has number one, with the rates of their links.
    pub ports: Vec<(PortId, BitRate)>,
    pub(super) pages: Vec<Message>,
    /// Destinations for which there is no page left.
    pub left_out: usize,
}

impl Behind {
    /// The destinations behind a gateway, for the other end of the link at `long`: of all, those that one port alone
    /// of `reached` leads to, for `far_ports` ports at most. A port that shares all of its destinations with others, as
    /// equal paths do, has no grants of its own.
    pub fn new(
        far_ports: u8,
        long: PortId,
        reached: &BTreeMap<IpNet, BTreeSet<PortId>>,
        rate: impl Fn(PortId) -> BitRate,
    ) -> Self {
        let alone = |ports: &BTreeSet<PortId>| match ports.first() {
            Some(&port) if ports.len() == 1 && port != long => Some(port),
            _ => None,
        };
        let numbers: BTreeSet<PortId> = reached.values().filter_map(alone).collect();
        let numbered: Vec<PortId> = numbers.into_iter().take(far_ports.into()).collect();
        let number = |ports: &BTreeSet<PortId>| {
            let port = alone(ports)?;
            Some(1 + numbered.iter().position(|it| *it == port)? as u8)
        };
        let mut destinations = Vec::new();
        let mut told: Vec<IpNet> = Vec::new();
        // Shorter prefixes first: those that are left out at the end are parts of others, or alone.
        let mut prefixes: Vec<_> = reached.iter().collect();
        prefixes.sort_by_key(|(prefix, _)| (prefix.prefix_len(), prefix.addr()));
        for (prefix, ports) in prefixes {
            let port = number(ports);
            // A part of a prefix that was told must be told, too.
            if port.is_none() && !told.iter().any(|it| it.contains(prefix)) {
                continue;
            }
            told.push(*prefix);
            let (address, length) = (prefix.addr(), prefix.prefix_len());
            destinations.push(Destination { address, length, port: port.unwrap_or(0) });
        }
        let most = usize::from(PAGES) * PER_PAGE;
        let left_out = destinations.len().saturating_sub(most);
        destinations.truncate(most);
        let ports = numbered.iter().map(|port| (*port, rate(*port))).collect();
        Self { ports, pages: pages(&destinations), left_out }
    }

    /// Page `number`; `None` if there are fewer.
    pub fn page(&self, number: usize) -> Option<Message> {
        self.pages.get(number).copied()
    }
}

fn pages(destinations: &[Destination]) -> Vec<Message> {
    // Equal lists have the same edition, also after a restart.
    let mut hasher = FixedState::with_seed(0).build_hasher();
    for it in destinations {
        hasher.write_u128(Destination::key(it.address).0);
        hasher.write(&[Destination::key(it.address).1, it.length, it.port]);
    }
    let edition = hasher.finish() as u32;
    let chunks = destinations.chunks(PER_PAGE);
    let count = chunks.len() as u8;
    chunks.zip(0..).map(|(chunk, page)| Message::new(edition, page, count, chunk)).collect()
}
