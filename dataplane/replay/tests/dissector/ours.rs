//! The fields that the gateway's parsers read in a frame, in the dissector's names. Every value is taken apart whole,
//! so that a new format or field does not compile before it has its names here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::ops::Range;

use etherparse::{SlicedPacket, TransportSlice};
use units::PrioritySet;
use wire::ParseError;
use wire::ethernet::{self, EtherType};
use wire::grants::slot::{Head, Kind as Limit};
use wire::grants::{Message, behind, credit, far_port, hello, repair, session, slot};
use wire::rate_feedback::{self, Content, Received};
use wire::repair::Shim;
use wire::roce::{self, Opcode, bth, direct_int, icrc};
use wire::{Protocol, bfd, grants, int, ipv4};

/// Fields by name, with a value for each time that they occur.
pub type Fields = BTreeMap<String, Vec<String>>;

/// The kind of a message that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A grant frame of this format.
    Grant(u8),
    /// A frame with a shim that is sent for the first time.
    New,
    /// A frame with a shim that is sent again.
    Copy,
    Rate,
    Challenge,
    Collected,
    Returned,
    DirectInt,
}

/// A frame as the gateway reads it.
pub enum Ours {
    Fields(Kind, Fields),
    /// A message that the gateway refuses, and the beginning of the reason.
    Refused(String),
    /// No message of ours.
    Foreign,
    /// Headers before the message are broken, or are those of another protocol: it is up to Wireshark what it makes of
    /// the rest.
    Unknown,
}

impl Ours {
    fn of(read: Result<(Kind, Fields), ParseError>) -> Self {
        match read {
            Ok((kind, fields)) => Self::Fields(kind, fields),
            Err(ParseError::Invalid { field, .. }) => Self::Refused(format!("{field} is ")),
            Err(ParseError::Truncated { needed, available, .. }) => {
                Self::Refused(format!("{needed} bytes needed, {available} available"))
            }
        }
    }
}

pub fn read(frame: &[u8]) -> Ours {
    match Shim::find(frame) {
        Ok(Some((shim, place))) => repaired(frame, shim, place),
        Err(error @ ParseError::Truncated { protocol: Protocol::Repair, .. }) => Ours::of(Err(error)),
        Err(error @ ParseError::Invalid { .. }) => Ours::of(Err(error)),
        Ok(None) | Err(ParseError::Truncated { .. }) => unrepaired(frame),
    }
}

/// Reads a shim, and the frame without it.
fn repaired(frame: &[u8], shim: Shim, place: Range<usize>) -> Ours {
    let mut fields = Fields::new();
    let Shim { bucket, number, epoch, back, copy } = shim;
    flag(&mut fields, "shim.flags", copy.is_some());
    add(&mut fields, "shim.bucket", bucket);
    add(&mut fields, "shim.number", number);
    add(&mut fields, "shim.epoch", epoch);
    add(&mut fields, "shim.back", back);
    copy.iter().for_each(|copy| add(&mut fields, "shim.copy", copy));
    let kind = if copy.is_some() { Kind::Copy } else { Kind::New };
    let (before, behind) = (&frame[..place.start], &frame[place.end..]);
    let Some(ether_type) = behind.first_chunk() else {
        add_bytes(&mut fields, "unread", behind);
        return Ours::Fields(kind, fields);
    };
    add(&mut fields, "shim.type", u16::from_be_bytes(*ether_type));
    match unrepaired(&[before, behind].concat()) {
        Ours::Fields(_, more) => fields.extend(more),
        refused @ Ours::Refused(_) => return refused,
        Ours::Foreign | Ours::Unknown => {}
    }
    Ours::Fields(kind, fields)
}

fn unrepaired(frame: &[u8]) -> Ours {
    let header = ethernet::View::parse(frame).unwrap();
    match header.ether_type() {
        _ if grants::is_frame(frame) => Ours::of(grant(header.payload())),
        grants::ETHER_TYPE => Ours::Foreign,
        EtherType::IPV4 if header.destination() == grants::DESTINATION => feedback(header.payload()),
        _ => transport(frame),
    }
}

fn add(fields: &mut Fields, name: &str, value: impl ToString) {
    fields.entry(name.to_owned()).or_default().push(value.to_string());
}

fn flag(fields: &mut Fields, name: &str, is_set: bool) {
    add(fields, name, u8::from(is_set));
}

fn add_bytes(fields: &mut Fields, name: &str, bytes: &[u8]) {
    let text = bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    if !text.is_empty() {
        add(fields, name, text);
    }
}

fn zeros(fields: &mut Fields, count: usize) {
    add_bytes(fields, "reserved", &vec![0; count]);
}

fn grant(payload: &[u8]) -> Result<(Kind, Fields), ParseError> {
    let mut fields = Fields::new();
    let message = Message::parse(payload)?;
    let format = match message {
        Message::Slot(it) => read_slot(it, &mut fields),
        Message::Credit(it) => read_credit(it, &mut fields),
        Message::FarPort(it) => read_far_port(it, &mut fields),
        Message::Behind(it) => read_behind(it, &mut fields),
        Message::Hello(it) => read_hello(it, &mut fields),
        Message::Session(it) => read_session(it, &mut fields),
        Message::Repair(it) => read_status(it, &mut fields),
    };
    add(&mut fields, "version", grants::VERSION);
    add(&mut fields, "format", format);
    add_bytes(&mut fields, "unread", &payload[message.frame_len() - ethernet::HEADER_LEN..]);
    Ok((Kind::Grant(format), fields))
}

fn read_priorities(priorities: PrioritySet, fields: &mut Fields) {
    add(fields, "priorities", priorities.bits());
}

fn read_head(head: Head, fields: &mut Fields) {
    let Head { kind, follows, priorities, sequence, slot, total } = head;
    let kind = match kind {
        Limit::Pauses => 0,
        Limit::Grant => 1,
        Limit::Free => 2,
    };
    add(fields, "kind", kind);
    flag(fields, "follows", follows);
    read_priorities(priorities, fields);
    add(fields, "sequence", sequence);
    add(fields, "slot", slot.0);
    add(fields, "total", total.0);
}

fn read_slot(message: slot::Message, fields: &mut Fields) -> u8 {
    let slot::Message { head, each } = message;
    read_head(head, fields);
    each.iter().for_each(|it| add(fields, "each", it.0));
    0
}

fn read_credit(message: credit::Message, fields: &mut Fields) -> u8 {
    let credit::Message { counter, priorities, sequence, session, echo, sent, limit } = message;
    let number = match counter {
        credit::Counter::Wide => 0,
        credit::Counter::Uec => 1,
    };
    add(fields, "counter", number);
    read_priorities(priorities, fields);
    add(fields, "sequence", sequence);
    add(fields, "session", session);
    add(fields, "echo", echo);
    sent.iter().for_each(|it| add(fields, "sent", it.0));
    for credits in limit {
        add(fields, "limit", credits);
        add(fields, "limit_bytes", u64::from(credits) * counter.credit());
    }
    1
}

fn read_far_port(message: far_port::Message, fields: &mut Fields) -> u8 {
    let far_port::Message { head, count, each } = message;
    read_head(head, fields);
    add(fields, "far_ports", count);
    zeros(fields, 3);
    each.iter().take(count.into()).for_each(|it| add(fields, "far_port", it.0));
    zeros(fields, 4 * (far_port::MOST - usize::from(count)));
    2
}

fn read_behind(message: behind::Message, fields: &mut Fields) -> u8 {
    let behind::Message { edition, page, pages, .. } = message;
    add(fields, "edition", edition);
    add(fields, "page", page);
    add(fields, "pages", pages);
    add(fields, "destinations", message.destinations().len());
    zeros(fields, 3);
    for behind::Destination { address, length, port } in message.destinations() {
        add(fields, "destination.far_port", port);
        add(fields, "destination.length", length);
        zeros(fields, 1);
        let (family, name) = match address {
            IpAddr::V4(_) => (4, "destination.ipv4"),
            IpAddr::V6(_) => (6, "destination.ipv6"),
        };
        add(fields, "destination.family", family);
        add(fields, name, address);
    }
    zeros(fields, 20 * (behind::PER_PAGE - message.destinations().len()));
    3
}

/// The names of BFD are Wireshark's.
fn read_bfd(packet: bfd::Packet, fields: &mut Fields) {
    let bfd::Packet {
        state, diagnostic: _, polls, finishes, is_independent, multiplier, mine, yours, ..
    } = packet;
    let bfd::Packet { desired_tx, required_rx, required_echo_rx, .. } = packet;
    let state = match state {
        bfd::State::AdminDown => 0,
        bfd::State::Down => 1,
        bfd::State::Init => 2,
        bfd::State::Up => 3,
    };
    add(fields, "bfd.sta", state);
    flag(fields, "bfd.flags.p", polls);
    flag(fields, "bfd.flags.f", finishes);
    flag(fields, "bfd.flags.c", is_independent);
    add(fields, "bfd.detect_time_multiplier", multiplier);
    add(fields, "bfd.my_discriminator", mine);
    add(fields, "bfd.your_discriminator", yours);
    let intervals = [
        ("bfd.desired_min_tx_interval", desired_tx),
        ("bfd.required_min_rx_interval", required_rx),
        ("bfd.required_min_echo_interval", required_echo_rx),
    ];
    intervals.into_iter().for_each(|(name, it)| add(fields, name, it.0 / 1_000));
}

fn read_hello(message: hello::Message, fields: &mut Fields) -> u8 {
    let hello::Message { bfd, place, number, sent, received, tag } = message;
    let hello::Place { chassis, bundle, member } = place;
    read_bfd(bfd, fields);
    zeros(fields, 2);
    add(fields, "chassis", chassis);
    add(fields, "bundle", bundle);
    add(fields, "member", member);
    add(fields, "hello.number", number);
    add(fields, "hello.sent", sent);
    add(fields, "hello.received", received);
    add(fields, "tag", tag);
    4
}

fn read_session(message: session::Message, fields: &mut Fields) -> u8 {
    let session::Message { mine, yours, number, step, phase, figures, tag } = message;
    zeros(fields, 2);
    zeros(fields, 2);
    add(fields, "commission.mine", mine);
    add(fields, "commission.yours", yours);
    add(fields, "commission.number", number);
    add(fields, "commission.step", step);
    add(fields, "commission.phase", phase);
    figures.iter().for_each(|it| add(fields, "commission.figure", it));
    add(fields, "tag", tag);
    5
}

fn read_status(message: repair::Message, fields: &mut Fields) -> u8 {
    let repair::Message {
        priorities,
        number,
        session,
        echo,
        heard,
        next,
        next_copy,
        bytes,
        first,
        base,
        new,
        copies,
        gaps,
        tag,
    } = message;
    zeros(fields, 1);
    add(fields, "repair.priorities", priorities.bits());
    add(fields, "repair.number", number);
    add(fields, "repair.session", session);
    add(fields, "repair.echo", echo);
    add(fields, "repair.heard", heard);
    add(fields, "repair.next", next);
    add(fields, "repair.next_copy", next_copy);
    add(fields, "repair.bytes", bytes);
    add(fields, "repair.first", first);
    add(fields, "repair.base", base);
    for (name, repair::Span { from, until }) in [("new", new), ("copies", copies)] {
        add(fields, &format!("repair.{name}_from"), from);
        add(fields, &format!("repair.{name}_until"), until);
    }
    let mut kinds = 0;
    for (index, repair::Gap { is_of_copies, start, length }) in gaps.iter().enumerate() {
        kinds |= u8::from(is_of_copies) << index;
        add(fields, "repair.gap.start", start);
        add(fields, "repair.gap.length", length);
    }
    let count = gaps.iter().count();
    add(fields, "repair.gaps", count);
    add(fields, "repair.kinds", kinds);
    zeros(fields, 6 * (repair::GAPS - count));
    add(fields, "tag", tag);
    6
}

fn feedback(packet: &[u8]) -> Ours {
    let received = match Received::parse(packet) {
        Ok(received) => received,
        Err(error) => return feedback_error(error),
    };
    let mut fields = Fields::new();
    let rate_feedback::Message { port, content } = received.message.message();
    add(&mut fields, "version", rate_feedback::VERSION);
    add(&mut fields, "feedback.port", port);
    let (tagged, answers) = (received.message.is_authenticated(), received.message.is_answer());
    flag(&mut fields, "feedback.tagged", tagged);
    flag(&mut fields, "feedback.answers", answers);
    add(&mut fields, "feedback.flags", u8::from(tagged) | u8::from(answers) << 1);
    // No accessor gives the tag: it is only compared.
    let (whole, _) = packet.split_at(ipv4::View::parse(packet).unwrap().total_len());
    add(&mut fields, "tag", u64::from_be_bytes(*whole.last_chunk().unwrap()));
    let (kind, code) = match content {
        Content::Rate { rate, sequence, session } => {
            add(&mut fields, "feedback.sequence", sequence);
            add(&mut fields, "feedback.session", session);
            add(&mut fields, "feedback.rate", rate.bits_per_second() / rate_feedback::RATE_UNIT);
            (Kind::Rate, 0)
        }
        Content::Challenge { nonce } => {
            add(&mut fields, "feedback.nonce", nonce);
            add_bytes(&mut fields, "feedback.zero", &[0; 8]);
            add_bytes(&mut fields, "feedback.zero", &[0; 4]);
            (Kind::Challenge, 1)
        }
    };
    add(&mut fields, "feedback.code", code);
    Ours::Fields(kind, fields)
}

/// The reading of a packet that the gateway does not take as feedback.
fn feedback_error(error: ParseError) -> Ours {
    match error {
        ParseError::Invalid { protocol: Protocol::RateFeedback, field, .. } => match field {
            "type" => Ours::Foreign,
            "protocol" | "fragment offset" => Ours::Unknown,
            _ => Ours::of(Err(error)),
        },
        // Wireshark does not even read such a message as ICMP.
        ParseError::Truncated { protocol: Protocol::RateFeedback, available: ..8, .. } => Ours::Unknown,
        ParseError::Truncated { protocol: Protocol::RateFeedback, .. } => Ours::of(Err(error)),
        _ => Ours::Unknown,
    }
}

/// Telemetry in a packet of RoCEv2, without its ICRC.
fn transport(frame: &[u8]) -> Ours {
    let Ok(sliced) = SlicedPacket::from_ethernet(frame) else { return Ours::Unknown };
    let Some(TransportSlice::Udp(udp)) = sliced.transport else { return Ours::Foreign };
    if udp.destination_port() != roce::UDP_PORT {
        return Ours::Foreign;
    }
    let Some(datagram) = udp.payload().len().checked_sub(icrc::LEN).map(|length| &udp.payload()[..length])
    else {
        return Ours::Unknown;
    };
    let Ok(bth) = bth::View::parse(datagram) else { return Ours::Unknown };
    let behind = bth.payload();
    match bth.telemetry() {
        _ if behind.is_empty() => Ours::Unknown,
        _ if bth.opcode() == Opcode::DIRECT_INT => Ours::of(direct(behind)),
        bth::Telemetry::Collected(format) => Ours::of(telemetry(Kind::Collected, behind, format)),
        bth::Telemetry::Returned(format) => match behind.get(4..) {
            Some(bytes) if !bytes.is_empty() => Ours::of(telemetry(Kind::Returned, bytes, format)),
            _ => Ours::Unknown,
        },
        bth::Telemetry::None => Ours::Foreign,
    }
}

fn telemetry(kind: Kind, bytes: &[u8], format: int::Format) -> Result<(Kind, Fields), ParseError> {
    let mut fields = Fields::new();
    read_header(int::View::parse(bytes, format)?.header(), &mut fields);
    Ok((kind, fields))
}

fn direct(behind: &[u8]) -> Result<(Kind, Fields), ParseError> {
    let mut fields = Fields::new();
    let content = direct_int::Content::parse(behind)?;
    read_header(content.header(), &mut fields);
    add(&mut fields, "int.advertised", content.advertised().bits_per_second() / 1_000_000);
    add_bytes(
        &mut fields,
        "int.padding",
        behind.get(direct_int::LEN..direct_int::LEN + 3).unwrap_or_default(),
    );
    Ok((Kind::DirectInt, fields))
}

fn read_header(header: int::Header, fields: &mut Fields) {
    let int::Header { passed, path, hops } = header;
    add(fields, "int.passed", passed);
    add(fields, "int.path", path.number());
    for hop in hops.into_iter().flatten() {
        let int::Hop { rate, timestamp, sent, queue } = hop;
        let code =
            int::LinkRate::VALID.replace(" and ", ", ").split(", ").position(|it| it == rate.to_string());
        add(fields, "int.rate", code.unwrap() + 1);
        add(fields, "int.timestamp", timestamp);
        add(fields, "int.sent", sent);
        add(fields, "int.sent_bytes", u64::from(sent) * rate.sent_unit());
        add(fields, "int.queue", queue);
        add(fields, "int.queue_bytes", hop.queue_bytes());
    }
}
