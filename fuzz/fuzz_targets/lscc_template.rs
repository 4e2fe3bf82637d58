//! Packets of the target `lscc`, as its input describes them.

use crate::*;
use wire::int::Format;
use wire::roce::bth::Telemetry;

/// Whether a packet collects telemetry, and in which format.
const TELEMETRY: [Telemetry; 3] =
    [Telemetry::None, Telemetry::Collected(Format::Five), Telemetry::Collected(Format::Eight)];

/// A packet, as the input describes it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Template {
    pub(crate) hosts: u8,
    pub(crate) look: u8,
    pub(crate) opcode: u8,
    pub(crate) pairs: u8,
    pub(crate) psn: u32,
    pub(crate) damage: u8,
}

impl Template {
    pub(crate) fn read(bytes: &mut Input) -> Self {
        let [hosts, look, opcode, pairs, psn, damage] = core::array::from_fn(|_| bytes.next());
        let psn = pick(psn, 5, &PSNS) + u32::from(psn & 0x1f);
        Self { hosts, look, opcode, pairs, psn, damage }
    }

    /// The port at which it comes in: A's data center is on the near side.
    pub(crate) fn port(&self) -> PortId {
        if self.hosts & 1 == 0 { A } else { B }
    }

    /// Whether it is made up in the name of a host of the real connections.
    pub(crate) fn is_forged(&self) -> bool {
        self.port() == A && self.hosts & 8 != 0
    }

    pub(crate) fn flow(&self) -> Flow {
        if self.is_forged() {
            let flow = Flow::new(SENDER, RECEIVER).bridged().at(P3).ecn(Ecn::from_low_bits(self.look & 3));
            return if self.hosts & 0x10 == 0 { flow } else { flow.reversed() };
        }
        let near = pick(self.hosts, 1, &[A, PortId(20)]);
        let far = pick(self.hosts, 2, &[B, PortId(21)]);
        let flow = if self.port() == A { Flow::new(near, far) } else { Flow::new(far, near) };
        let priority = if self.look & 4 == 0 { P3 } else { P1 };
        let mut flow = flow.bridged().at(priority).ecn(Ecn::from_low_bits(self.look & 3));
        flow.v6 = self.look & 8 != 0;
        flow.tag = (self.look & 0x10 != 0).then_some(Tag::from_tci(0x6005));
        // The second is what Linux derives from the first two queue pairs.
        flow.source_port = pick(self.look, 5, &[0xc000, 0xc20f]);
        flow
    }

    pub(crate) fn frame(&self) -> TestFrame {
        let opcode = pick(self.opcode, 0, &OPCODES);
        let pair = match self.is_forged() {
            true => pick(self.pairs, 0, &REAL_PAIRS),
            false => pick(self.pairs, 0, &PAIRS),
        };
        let pair = QueuePair::from_low_bits(pair);
        let telemetry = pick(self.opcode, 6, &TELEMETRY);
        let header = bth::Header {
            psn: Psn::from_low_bits(self.psn),
            becn: opcode.is_cnp(),
            telemetry,
            ..bth::Header::new(opcode, pair)
        };
        let mut payload = vec![0; 28];
        if let Telemetry::Collected(format) = telemetry {
            payload.resize(28 + format.bytes(), 0);
        }
        if opcode.is_read_request() {
            payload[12..16].copy_from_slice(&pick(self.opcode, 4, &[0, 256, 9_000, u32::MAX]).to_be_bytes());
        } else {
            payload[0] = pick(self.opcode, 4, &SYNDROMES);
        }
        let mut frame = self.flow().roce(&header, &payload);
        frame.length = pick(self.look, 6, &[frame.length, 1_500, 4_200, 9_100]);
        damaged(self.sent(frame), self.damage)
    }

    /// The frame, from the forger's station where it is forged.
    pub(crate) fn sent(&self, mut frame: TestFrame) -> TestFrame {
        if self.is_forged() {
            frame.bytes[..6].copy_from_slice(&host_mac(B).0);
            frame.bytes[6..12].copy_from_slice(&host_mac(FORGER).0);
        }
        frame
    }
}

/// The frame, cut short or with a bit wrong.
pub(crate) fn damaged(mut frame: TestFrame, damage: u8) -> TestFrame {
    let at = usize::from(damage & 0x3f) * 2;
    match damage >> 6 {
        1 if at < frame.bytes.len() => frame.bytes[at] ^= 1 << (damage & 7),
        2 => {
            frame.bytes.truncate(at);
            frame.length = at as u64;
        }
        3 => frame.bytes.truncate(at),
        _ => {}
    }
    frame
}
