//! Frames as a device gives them, for the benchmarks of the core.

use switch::Frame;
use units::Bytes;

/// A frame whose headers lie in its own buffer, as an mbuf's do.
#[derive(Clone)]
pub struct BenchFrame {
    headers: Box<[u8; Self::ROOM]>,
    length: u64,
}

impl BenchFrame {
    /// Room for the longest frame of which all bytes are needed, one of connection management.
    const ROOM: usize = 384;

    /// A frame of `length` bytes that starts with `headers`.
    pub fn new(headers: &[u8], length: u64) -> Self {
        let mut room = Box::new([0; Self::ROOM]);
        room[..headers.len()].copy_from_slice(headers);
        Self { headers: room, length }
    }

    /// Writes other `headers` over those that it has.
    pub(crate) fn restart(&mut self, headers: &[u8]) {
        self.headers[..headers.len()].copy_from_slice(headers);
    }
}

impl Frame for BenchFrame {
    #[inline]
    fn headers(&self) -> &[u8] {
        &self.headers[..]
    }

    #[inline]
    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.headers[..]
    }

    #[inline]
    fn length(&self) -> Bytes {
        Bytes(self.length)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self { headers: self.headers.clone(), length: self.length })
    }
}

pub(crate) fn rocev2_write(length: u64) -> BenchFrame {
    BenchFrame::new(&rocev2_headers(length), length)
}

/// The first bytes of a RoCEv2 WRITE of `length` bytes, DSCP 26 and ECT(0), between two hosts.
pub fn rocev2_headers(length: u64) -> [u8; 128] {
    let mut headers = [0_u8; 128];
    let ip_length = (length - 14) as u16;
    let ethernet = [[2, 0, 0, 0, 1, 1], [2, 0, 0, 0, 1, 2]].concat();
    headers[..12].copy_from_slice(&ethernet);
    headers[12..14].copy_from_slice(&[0x08, 0x00]);
    let ip = wire::ipv4::Header {
        dscp: wire::ip::Dscp::from_low_bits(26),
        ecn: wire::ip::Ecn::Ect0,
        total_length: ip_length,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: wire::ip::IpProtocol::UDP,
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
    };
    ip.emit(&mut headers[14..]).expect("there is room");
    headers[34..38].copy_from_slice(&[0xc1, 0xa2, 0x12, 0xb7]);
    headers[38..40].copy_from_slice(&(ip_length - 20).to_be_bytes());
    headers[42] = wire::roce::Opcode::RC_WRITE_ONLY.0;
    headers
}
