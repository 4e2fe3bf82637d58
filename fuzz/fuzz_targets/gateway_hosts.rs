//! Frames of the hosts of the target `gateway` that belong together: connections, and credits of the far end.

use crate::Run;
use crate::gateway_configuration::routes;
use conformance::settings::host_mac;
use conformance::{A, B, Connection, Flow, P3, TestFrame};
use switch::program::FlowControl;
use units::{PortId, Priority, PrioritySet, WireBytes};
use wire::grants::credit::{Counter, Message};
use wire::grants::{self, behind};
use wire::int::Format;
use wire::ip::Ecn;
use wire::roce::{Opcode, Psn, bth};

/// The addresses of the gateway's ports, as its configurations have them.
const PORT_MACS: [[u8; 6]; 2] = [[0x52, 0x54, 0, 0, 0, 0xaa], [0x52, 0x54, 0, 0, 0, 0xbb]];
/// Connections, in each direction.
const CONNECTIONS: u8 = 4;
/// Credits that the far end gives in all, more than an input can use.
const CREDITS: u32 = 1 << 24;

/// The far end of a link with credits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Credits {
    /// The session of the gateway; zero before it was heard.
    session: u32,
    /// The limit of what the far end may send at priority 3, in credits.
    limit: u32,
    sequence: u32,
}

impl Run {
    /// A connection is made, or its sender or receiver sends something.
    pub(crate) fn converse(&mut self, what: u8, count: u8) {
        let (outward, v6) = (what & 8 == 0, what & 0x10 != 0);
        // The addresses of the configurations: 10.0.1.2 is behind dc0.
        let flow = if outward { Flow::new(B, A) } else { Flow::new(A, B) };
        let flow = flow.bridged().at(P3).ecn(if what & 0x20 == 0 { Ecn::Ce } else { Ecn::Ect0 });
        let flow = if v6 { flow.v6() } else { flow };
        let number = u32::from(what >> 6) % u32::from(CONNECTIONS) + if outward { 0 } else { 16 };
        let connection = Connection::new(flow, number);
        let (sender, receiver) = if outward { (A, B) } else { (B, A) };
        match what & 7 {
            0 => {
                self.say(sender, connection.request());
                self.say(receiver, connection.reply());
            }
            1..4 => {
                for _ in 0..=count % 16 {
                    self.psn += 1;
                    self.say(sender, data(&connection, self.psn, count & 0x80 != 0));
                }
            }
            4 => self.say(receiver, connection.acknowledge(self.psn)),
            _ => self.say(receiver, connection.cnp()),
        }
    }

    /// Sends a frame at `port`, to the gateway where it routes.
    fn say(&mut self, port: PortId, mut frame: TestFrame) {
        if routes(self.choices) {
            frame.bytes[..6].copy_from_slice(&PORT_MACS[port.index()]);
        }
        self.last = (port, frame.bytes, frame.length);
        self.send(1);
    }

    /// The far end of port grants tells of the destinations behind its ports.
    pub(crate) fn tell_destinations(&mut self, edition: u8, port: u8) {
        let all =
            behind::Destination { address: [10, 0, 0, 2].into(), length: edition % 33, port: port % 15 };
        let page = behind::Message::new(u32::from(edition), 0, 1, &[all]);
        self.emit(grants::Message::Behind(page));
    }

    fn emit(&mut self, message: grants::Message) {
        let mut bytes = vec![0; message.frame_len()];
        message.emit(host_mac(B), &mut bytes).expect("there is room");
        self.bench.inject(B, [TestFrame::new(bytes)]);
    }

    /// The far end hears of credits, and answers with its own.
    pub(crate) fn hear_credits(&mut self, message: &grants::Message) {
        let grants::Message::Credit(heard) = message else { return };
        let is_new = self.credits.session != heard.session;
        (self.credits.session, self.credits.limit) = (heard.session, heard.limit[P3.index()]);
        // It is said once in a while, as by any far end, and at once to who has none.
        if is_new || heard.echo == 0 || heard.sequence.is_multiple_of(8) {
            self.credits.sequence += 1;
            let mut sent = [WireBytes(0); Priority::COUNT];
            sent[P3.index()] = WireBytes(self.sent_at_p3());
            self.emit(grants::Message::Credit(Message {
                counter: Counter::Wide,
                priorities: PrioritySet::EMPTY.with(P3),
                sequence: self.credits.sequence,
                session: 1,
                echo: heard.session,
                sent,
                limit: [CREDITS; Priority::COUNT],
            }));
        }
    }

    /// Bytes on the wire that the far end has sent at priority 3, as the gateway counts them.
    fn sent_at_p3(&self) -> u64 {
        self.bench.shard.ingress_counters(B).received[P3.index()].on_the_wire().0
    }

    /// Whether the far end has credits for a frame of `on_wire`, if it needs any.
    pub(crate) fn has_credits(&self, on_wire: WireBytes) -> bool {
        let needs = matches!(self.bench.shard.program().port(B).flow_control, FlowControl::Cbfc(_));
        let limit = Counter::Wide.ahead(self.credits.limit, self.sent_at_p3());
        !needs || self.credits.session != 0 && limit >= on_wire.0 as i64
    }
}

/// A data packet of a connection, which collects telemetry or not.
fn data(connection: &Connection, psn: u32, collects: bool) -> TestFrame {
    if !collects {
        return connection.data(psn, 1_000);
    }
    let header = bth::Header {
        telemetry: bth::Telemetry::Collected(Format::Five),
        psn: Psn::from_low_bits(psn),
        ..bth::Header::new(Opcode::RC_SEND_MIDDLE, connection.destination_qp)
    };
    connection.flow.roce(&header, &[0; 1_042])
}
