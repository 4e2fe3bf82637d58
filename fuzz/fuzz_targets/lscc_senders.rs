//! The true senders of the target `lscc`, and what a packet says of its sender.

use crate::*;

/// Which end of the long link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Near,
    Far,
}

/// One of the real connections.
pub(crate) fn real(number: usize) -> Connection {
    let flow = Flow::new(SENDER, RECEIVER).bridged().at(P3).ecn(Ecn::Ect0);
    Connection::new(flow, 0x51 + number as u32)
}

/// Whether the frame, which comes in at `port`, is one of the real connections and as it should be.
pub(crate) fn is_real(frame: &[u8], port: PortId) -> bool {
    let (from, to) = if port == B { (RECEIVER, SENDER) } else { (SENDER, RECEIVER) };
    let Ok(link) = ethernet::View::parse(frame) else { return false };
    let Some((source, destination, bth)) = transport(frame) else { return false };
    let host = |port: PortId| host_v4(port).to_ipv6_mapped();
    let ports = [real(0), real(1)].map(|it| it.flow.source_port);
    (link.source(), link.destination()) == (host_mac(from), host_mac(to))
        && (source, destination) == (host(from), host(to))
        && (port == A || port == B)
        && source_port(frame).is_some_and(|port| ports.contains(&port))
        && (real_psns(&bth) || bth.opcode() == Opcode::UD_SEND_ONLY)
}

/// Whether a packet of a real connection is data or an acknowledgement.
pub(crate) fn real_psns(bth: &bth::View<&[u8]>) -> bool {
    let pair = bth.destination_qp();
    (0..2).map(real).any(|it| match bth.opcode() {
        Opcode::RC_WRITE_ONLY => pair == it.destination_qp,
        Opcode::RC_ACKNOWLEDGE => pair == it.source_qp,
        _ => false,
    })
}

pub(crate) fn addresses(host: PortId) -> [Ipv6Addr; 2] {
    [host_v4(host).to_ipv6_mapped(), host_v6(host)]
}

/// The UDP source port of a packet.
pub(crate) fn source_port(frame: &[u8]) -> Option<u16> {
    let stack = Stack::parse(frame).ok()?;
    let packet = frame.get(stack.payload_offset..)?;
    let upper = match stack.ether_type == EtherType::IPV4 {
        true => packet.get(ipv4::View::parse_head(packet, usize::MAX).ok()?.header_len()..)?,
        false => packet.get(ipv6::View::parse_head(packet, usize::MAX).ok()?.upper_layer().ok()?.offset..)?,
    };
    Some(udp::View::parse_head(upper, usize::MAX).ok()?.source_port())
}

/// From which host to which a RoCEv2 packet goes, and its transport.
pub(crate) fn transport(frame: &[u8]) -> Option<(Ipv6Addr, Ipv6Addr, bth::View<&[u8]>)> {
    let stack = Stack::parse(frame).ok()?;
    let packet = frame.get(stack.payload_offset..)?;
    let (source, destination, upper) = if stack.ether_type == EtherType::IPV4 {
        let ip = ipv4::View::parse_head(packet, usize::MAX).ok()?;
        let upper = packet.get(ip.header_len()..)?;
        (ip.source().to_ipv6_mapped(), ip.destination().to_ipv6_mapped(), upper)
    } else {
        let ip = ipv6::View::parse_head(packet, usize::MAX).ok()?;
        let upper = ip.upper_layer().ok().filter(|upper| upper.protocol == IpProtocol::UDP)?;
        (ip.source(), ip.destination(), packet.get(upper.offset..)?)
    };
    let udp = udp::View::parse_head(upper, usize::MAX).ok()?;
    let bth = bth::View::parse(upper.get(udp::HEADER_LEN..)?).ok()?;
    (udp.destination_port() == roce::UDP_PORT).then_some((source, destination, bth))
}
