//! The flow hash behind ECMP and bundles.

use crate::descriptor::{Descriptor, Network};
use core::hash::{BuildHasher, Hash, Hasher};
use foldhash::fast::FixedState;
use wire::ip::IpProtocol;
use wire::{ipv4, ipv6};

/// The addresses of both stations, at the start of a frame.
const STATIONS: usize = 12;

/// Hashes addresses, protocol and ports. All frames of a flow get the same value: fragments are hashed by addresses
/// and protocol alone, since only the first one has the ports. A frame that is not IP is hashed by its stations.
#[inline(always)]
pub(crate) fn flow_hash(state: &FixedState, descriptor: &Descriptor, headers: &[u8]) -> u64 {
    let packet = headers.get(usize::from(descriptor.payload_offset)..).unwrap_or_default();
    let mut hasher = state.build_hasher();
    match descriptor.network {
        Network::Ipv4 => {
            let ip = ipv4::View::known(packet);
            (ip.source(), ip.destination(), ip.protocol().0).hash(&mut hasher);
            let upper = packet.get(ip.header_len()..).unwrap_or_default();
            hash_ports(ip.protocol(), ip.is_fragment(), upper, &mut hasher);
        }
        Network::Ipv6 => {
            let ip = ipv6::View::known(packet);
            (ip.source(), ip.destination()).hash(&mut hasher);
            if let Ok(upper) = ip.upper_layer() {
                upper.protocol.0.hash(&mut hasher);
                let bytes = packet.get(upper.offset..).unwrap_or_default();
                hash_ports(upper.protocol, upper.fragment.is_some(), bytes, &mut hasher);
            }
        }
        Network::Other { .. } => headers.first_chunk::<STATIONS>().hash(&mut hasher),
    }
    hasher.finish()
}

fn hash_ports(protocol: IpProtocol, fragment: bool, upper: &[u8], hasher: &mut impl Hasher) {
    if !fragment
        && matches!(protocol, IpProtocol::TCP | IpProtocol::UDP)
        && let Some(ports) = upper.first_chunk::<4>()
    {
        ports.hash(hasher);
    }
}
