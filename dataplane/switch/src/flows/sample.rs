//! The sample of packets from which the resolver learns, and which packets of a quiet port are looked up at all.
//!
//! The sample has one of each so many successive PSNs (`learn`), which a secret key and both addresses draw. It is
//! the same for a request and for the response that repeats its PSN. So what the resolver sees is what it would see
//! if the other packets had taken another way, both requests and responses: the true candidate of a response in the
//! sample is in the table, whoever chooses the PSNs. Nothing else may decide what it learns from. If congestion did,
//! it would see responses to requests that it has never seen, and it excludes candidates for good.
//!
//! RDMA READ requests are always seen, because responses repeat any PSN of those that they take. After one, another
//! life of the queue pair may have sent the same PSNs unseen: so each request after a READ begins anew. A NAK for a
//! sequence error repeats a PSN that may never have come, and later ones that did come may be outside of the sample: so
//! it teaches nothing.
//!
//! All other packets are looked up only on a *watched* port: they count, and are listed and marked, and teach nothing.

use super::role::Role;
use crate::descriptor::{Descriptor, Network};
use crate::hash::{HashKey, Mixer};
use serde::{Deserialize, Serialize};
use units::Nanos;
use wire::ethernet;
use wire::roce::{self, Psn};

/// The attention to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attention {
    /// The resolver learns from it.
    Learn,
    /// Its flow is looked up.
    Look,
    /// It goes by.
    Pass,
}

/// The sample of a port.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sample {
    mixer: Mixer,
    /// One PSN of 2 to the power of this.
    bits: u32,
    /// These bits of a PSN are its place in its group.
    mask: u32,
}

impl Sample {
    /// The domain of its key.
    const DOMAIN: u64 = u64::from_le_bytes(*b"a sample");
    /// Bits of a PSN that number its group, at most.
    const GROUP_BITS: u32 = 24 - 1;

    /// One PSN of each `learn`, a power of two; `None` if that is all of them.
    pub fn new(learn: u32, key: HashKey) -> Option<Self> {
        let (bits, mask) = (learn.trailing_zeros(), learn - 1);
        (learn > 1).then(|| Self { mixer: Mixer::new(key, Self::DOMAIN), bits, mask })
    }

    /// Whether packets with this PSN are in the sample, between two hosts with this
    /// [difference](super::packet::Hosts::difference).
    #[inline(always)]
    pub fn takes(&self, difference: u64, psn: Psn) -> bool {
        let group = u64::from(psn.number() >> self.bits);
        let drawn = self.mixer.mix(difference.rotate_left(Self::GROUP_BITS) ^ group);
        (drawn as u32 ^ psn.number()) & self.mask == 0
    }

    /// Whether a packet is outside of the sample and of no kind that is always seen: an untagged one over IPv4 without
    /// options, which are nearly all. [`Flows::attention`] decides about all others.
    #[inline(always)]
    pub fn leaves_out(&self, descriptor: &Descriptor, headers: &[u8]) -> bool {
        let is_untagged = usize::from(descriptor.payload_offset) == ethernet::HEADER_LEN;
        let Some(packet) = headers.get(ethernet::HEADER_LEN..) else { return false };
        match roce::Head::parse(packet) {
            Some(head) if is_untagged && descriptor.network == Network::Ipv4 => {
                let is_in_sample = self.takes(head.address_difference().into(), head.psn());
                !is_in_sample && !Role::of(head.opcode()).always
            }
            _ => false,
        }
    }

    /// The number of PSNs of which one is in the sample.
    pub const fn learn(&self) -> u32 {
        1 << self.bits
    }

    /// The most by which a PSN in the sample can be ahead of the one before it in the sample, if none is lost.
    pub const fn longest_step(&self) -> u32 {
        2 * self.learn() - 1
    }
}

/// Whether packets of this port are looked up, and how they count.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Watch {
    /// Since when all packets are looked up; never while they are not.
    pub since: Nanos,
    /// Until when they are, because an origin seems to have changed.
    pub until: Nanos,
    /// The most packets that one in the sample counts for.
    pub most: u32,
}

impl Watch {
    /// All packets of a port without a sample are looked up.
    pub const ALWAYS: Self = Self { since: Nanos::ZERO, until: Nanos::NEVER, most: 1 };

    /// Of a port that is quiet.
    pub const fn quiet(sample: &Sample) -> Self {
        Self { since: Nanos::NEVER, until: Nanos::ZERO, most: sample.longest_step() }
    }
}
