//! The role of a packet between two queue pairs, by its opcode (InfiniBand specification volume 1, sections 9.2 and
//! 9.7).

use super::packet::Packet;
use wire::roce::extended::{Aeth, Reth};
use wire::roce::{Opcode, Psn, Transport};

/// The shortest path MTU of InfiniBand: an RDMA READ takes one PSN for at most this many bytes.
const SHORTEST_MTU: u32 = 256;

/// The kind of a packet to the resolver, and whether it carries data, so that its sender can slow down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub kind: Kind,
    pub data: bool,
    /// Whether it is a request with data, which takes one PSN.
    pub single: bool,
    /// Whether it is an RDMA READ request, which may take several.
    pub is_read: bool,
    /// Whether it is seen outside of a sample, too.
    pub always: bool,
}

impl Role {
    /// The role of packets with `opcode`.
    #[inline(always)]
    pub fn of(opcode: Opcode) -> Self {
        ROLES[usize::from(opcode.0)]
    }

    const fn derived(opcode: Opcode) -> Self {
        let data = opcode.is_send() || opcode.is_write() || opcode.is_read_response();
        let kind = Kind::of(opcode);
        let single = data && matches!(kind, Kind::Request);
        let is_read = opcode.is_read_request();
        let always = is_read || matches!(kind, Kind::Other);
        Self { kind, data, single, is_read, always }
    }
}

/// Roles by opcode, as a table, because every packet needs one.
const ROLES: [Role; 256] = {
    let mut roles = [Role::derived(Opcode(0)); 256];
    let mut opcode = 0;
    while opcode < roles.len() {
        roles[opcode] = Role::derived(Opcode(opcode as u8));
        opcode += 1;
    }
    roles
};

/// The kind of a packet to the resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// From a requester, over a reliable connection.
    Request,
    /// From a responder, over a reliable connection.
    Response,
    /// Over an unreliable connection.
    Unacknowledged,
    /// No part of a flow.
    Other,
}

impl Kind {
    const fn of(opcode: Opcode) -> Self {
        match opcode.transport() {
            Transport::ReliableConnection if opcode.is_response() => Self::Response,
            Transport::ReliableConnection if opcode.name().is_some() => Self::Request,
            Transport::UnreliableConnection if opcode.name().is_some() => Self::Unacknowledged,
            _ => Self::Other,
        }
    }
}

/// The most PSNs that a request may take.
#[inline]
pub(super) fn psns(packet: &Packet) -> u32 {
    if !packet.bth.opcode().is_read_request() {
        return 1;
    }
    // Without the length, it may be any number.
    Reth::parse(packet.bth.payload()).map_or(u32::MAX, |reth| reth.dma_length.div_ceil(SHORTEST_MTU))
}

/// The PSN that a response repeats, and the last request that it acknowledges (InfiniBand volume 1, section 9.7.5).
/// In all but the first packet of a READ response, the PSN is one of the response's own; a NAK repeats the PSN of the
/// request that it refuses or waits for. In a sample, one that waits says nothing: what came after the missing
/// request may not be in the sample.
#[inline]
pub(super) fn answered(packet: &Packet, in_sample: bool) -> Option<(Psn, Psn)> {
    let psn = packet.bth.psn();
    match packet.bth.opcode() {
        Opcode::RC_READ_RESPONSE_FIRST | Opcode::RC_READ_RESPONSE_ONLY | Opcode::RC_ATOMIC_ACKNOWLEDGE => {
            Some((psn, psn))
        }
        Opcode::RC_ACKNOWLEDGE => {
            let aeth = Aeth::parse(packet.bth.payload()).ok()?;
            let waits = in_sample && aeth.is_sequence_error();
            let refuses = (aeth.is_negative() || aeth.is_receiver_not_ready()) && !waits;
            match aeth.is_positive() {
                true => Some((psn, psn)),
                false => refuses.then(|| (psn, psn.advanced_by(u32::MAX))),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_psn_with_data_are_single_and_all_others_go_by_their_kind() {
        let (request, response) = (Kind::Request, Kind::Response);
        for (opcodes, kind, data, single) in [
            (0x00..=0x0b, request, true, true),
            (0x0c..=0x0c, request, false, false),
            (0x0d..=0x10, response, true, false),
            (0x11..=0x12, response, false, false),
            (0x13..=0x14, request, false, false),
            (0x15..=0x15, Kind::Other, false, false),
            (0x16..=0x17, request, true, true),
            (0x18..=0x1f, Kind::Other, false, false),
            (0x20..=0x2b, Kind::Unacknowledged, true, false),
            (0x2c..=0x63, Kind::Other, false, false),
            (0x64..=0x65, Kind::Other, true, false),
            (0x66..=0xff, Kind::Other, false, false),
        ] {
            for opcode in opcodes {
                let is_read = opcode == Opcode::RC_READ_REQUEST.0;
                assert_eq!(
                    Role::of(Opcode(opcode)),
                    Role { kind, data, single, is_read, always: is_read || kind == Kind::Other },
                    "{opcode:#x}"
                );
            }
        }
    }
}
