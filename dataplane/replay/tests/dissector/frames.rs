//! The frames that both readers get.

use std::fs;
use std::path::{Path, PathBuf};

use etherparse::PacketBuilder;
use replay::capture::{CaptureFile, FrameSource};
use units::BitRate;
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Dscp, Ecn};
use wire::repair::{self, Shim};
use wire::roce::{self, bth, cnp, direct_int, icrc};
use wire::vlan::Tag;
use wire::{grants, int};

const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

/// A frame of a capture.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The bytes that the capture holds.
    pub bytes: Vec<u8>,
    /// The length on the wire.
    pub length: usize,
}

fn whole(bytes: Vec<u8>) -> Frame {
    Frame { length: bytes.len(), bytes }
}

pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The seeds of a fuzz target.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> =
        fs::read_dir(repository("fuzz/seeds").join(target)).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn ethernet(destination: MacAddress, ether_type: EtherType, payload: &[u8]) -> Frame {
    let mut bytes = vec![0; ethernet::HEADER_LEN];
    ethernet::Header { destination, source: SOURCE, ether_type }.emit(&mut bytes).unwrap();
    bytes.extend(payload);
    whole(bytes)
}

/// A grant frame with this message.
pub fn grant(message: &[u8]) -> Frame {
    ethernet(grants::DESTINATION, grants::ETHER_TYPE, message)
}

/// A frame with this packet of IPv4.
fn packet(bytes: &[u8]) -> Frame {
    ethernet(MacAddress::NEAREST_NON_TPMR_BRIDGE, EtherType::IPV4, bytes)
}

/// A frame with this behind the EtherType of a shim.
fn shimmed(bytes: &[u8]) -> Frame {
    ethernet(MacAddress([2, 0, 0, 0, 0, 2]), repair::ETHER_TYPE, bytes)
}

/// The same behind two VLAN tags.
fn shimmed_behind_tags(bytes: &[u8]) -> Frame {
    let tags = [&[0, 10, 0x81, 0, 0x60, 3, 0x88, 0xb6][..], bytes].concat();
    ethernet(MacAddress([2, 0, 0, 0, 0, 2]), EtherType::SERVICE_VLAN, &tags)
}

/// `frame` as a link with repair carries it.
pub fn repaired(frame: &Frame) -> Frame {
    let at = repair::end_of_tags(&frame.bytes).unwrap();
    let shim = Shim { bucket: 0xabc, number: 5, epoch: 0x5a, back: 2, copy: Some(7) };
    let (before, behind) = frame.bytes.split_at(at);
    whole([before, &shim.bytes()[..shim.length()], behind].concat())
}

/// A packet of RoCEv2 with this header, these bytes behind it and an ICRC of zeroes.
fn transport(header: bth::Header, behind: &[u8]) -> Frame {
    let mut datagram = vec![0; bth::HEADER_LEN];
    header.emit(&mut datagram).unwrap();
    datagram.extend(behind);
    datagram.extend([0; icrc::LEN]);
    let builder = PacketBuilder::ethernet2(SOURCE.0, [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(0xc123, roce::UDP_PORT);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &datagram).unwrap();
    whole(bytes)
}

fn header(opcode: roce::Opcode, telemetry: bth::Telemetry) -> bth::Header {
    bth::Header { telemetry, ..bth::Header::new(opcode, roce::QueuePair::from_low_bits(7)) }
}

/// Telemetry that data collects.
fn collected(format: int::Format, bytes: &[u8]) -> Frame {
    transport(header(roce::Opcode::RC_WRITE_ONLY, bth::Telemetry::Collected(format)), bytes)
}

/// Telemetry that an acknowledgement returns, behind an AETH of zeroes.
fn returned(format: int::Format, bytes: &[u8]) -> Frame {
    let behind: Vec<_> = [0; 4].into_iter().chain(bytes.iter().copied()).collect();
    transport(header(roce::Opcode::RC_ACKNOWLEDGE, bth::Telemetry::Returned(format)), &behind)
}

fn direct(bytes: &[u8]) -> Frame {
    transport(header(roce::Opcode::DIRECT_INT, bth::Telemetry::None), bytes)
}

/// A seed, and how a frame is made of it.
type Seed = (Vec<u8>, fn(&[u8]) -> Frame);

fn all_seeds() -> Vec<Seed> {
    let mut all: Vec<Seed> = Vec::new();
    all.extend(seeds("wire_grants").into_iter().map(|it| (it, grant as fn(&[u8]) -> Frame)));
    all.extend(seeds("wire_rate_feedback").into_iter().map(|it| (it, packet as fn(&[u8]) -> Frame)));
    for seed in seeds("wire_int") {
        let mut long = seed.clone();
        long.resize(int::Format::Eight.bytes(), 0x99);
        all.push((seed.clone(), |bytes| collected(int::Format::Five, bytes)));
        all.push((seed.clone(), |bytes| returned(int::Format::Five, bytes)));
        all.push((long.clone(), |bytes| collected(int::Format::Eight, bytes)));
        all.push((long, |bytes| returned(int::Format::Eight, bytes)));
        all.push((seed, direct));
    }
    for seed in seeds("wire_repair") {
        let (_, place) = Shim::find(&seed).unwrap().unwrap();
        let behind = seed[place.start + 2..].to_vec();
        all.push((behind.clone(), shimmed));
        all.push((behind, shimmed_behind_tags));
    }
    all
}

/// Values at which a field becomes invalid, and those before.
const BOUNDS: [u8; 13] = [0, 2, 3, 4, 5, 6, 7, 8, 14, 15, 100, 101, 0xff];

/// `seed`, all that is left of it when it is cut, and all that becomes of it when a bit is flipped, a byte is a bound, or a
/// field is zero.
fn variants(seed: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let with = |at: usize, value: &[u8]| {
        let mut bytes = seed.to_vec();
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    let cuts = (0..=seed.len()).map(|length| seed[..length].to_vec());
    let flips = (0..8 * seed.len()).map(move |bit| with(bit / 8, &[seed[bit / 8] ^ 0x80 >> (bit % 8)]));
    let bounds = (0..seed.len()).flat_map(move |at| BOUNDS.map(|value| with(at, &[value])));
    let zeros = [3, 4, 8]
        .into_iter()
        .flat_map(move |length| (0..=seed.len() - length).map(move |at| with(at, &[0; 8][..length])));
    cuts.chain(flips).chain(bounds).chain(zeros)
}

/// Direct INT as a gateway sends it: untagged over IPv4, tagged over IPv6.
fn direct_frames() -> Vec<Frame> {
    let hop =
        int::Hop::new(int::LinkRate::of(BitRate::gigabits(200)).unwrap(), units::Nanos(5), 9_999, 70_000);
    let content =
        direct_int::Content::new(&[0; direct_int::HEADER_LEN], hop, BitRate::gigabits(120)).unwrap();
    let v4 = cnp::Addresses::V4 {
        source: [10, 0, 0, 2].into(),
        destination: [10, 0, 0, 1].into(),
        identification: 7,
    };
    let v6 = cnp::Addresses::V6 {
        source: "fd00::2".parse().unwrap(),
        destination: "fd00::1".parse().unwrap(),
        flow_label: 0,
    };
    let frame = |(addresses, tag)| {
        let way = cnp::Frame {
            destination_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            source_mac: MacAddress([2, 0, 0, 0, 0, 2]),
            tag,
            addresses,
            dscp: Dscp::from_low_bits(48),
            ecn: Ecn::NotEct,
            ttl: 64,
            source_port: 0xc123,
            destination_qp: roce::QueuePair::from_low_bits(7),
        };
        let mut bytes = vec![0; direct_int::MAX_FRAME_LEN];
        let length = direct_int::Frame { way, content }.emit(&mut bytes).unwrap();
        bytes.truncate(length);
        whole(bytes)
    };
    [(v4, None), (v6, Some(Tag::from_tci(0xc007)))].map(frame).into()
}

pub fn seeds_and_what_becomes_of_them() -> Vec<Frame> {
    let mut frames: Vec<_> = (0..=u8::MAX).map(|format| grant(&[1, 0, 0, format])).collect();
    for (seed, framed) in all_seeds() {
        frames.extend(variants(&seed).map(|bytes| framed(&bytes)));
        let padded: Vec<_> = seed.iter().copied().chain([0xa5; 4]).collect();
        frames.push(framed(&padded));
    }
    frames.extend(direct_frames());
    // A gateway takes off one shim only.
    frames.extend(direct_frames().iter().map(|it| repaired(&repaired(it))));
    frames
}

/// Telemetry and direct INT, as hosts and gateways send it.
pub fn of_telemetry() -> Vec<Frame> {
    let formats = [collected, returned];
    let seeds = seeds("wire_int").into_iter();
    let mut frames: Vec<_> =
        seeds.flat_map(|seed| formats.map(|framed| framed(int::Format::Five, &seed))).collect();
    frames.extend(direct_frames());
    frames
}

/// The seeds of grant frames.
pub fn grants() -> Vec<Frame> {
    seeds("wire_grants").iter().map(|seed| grant(seed)).collect()
}

/// The seeds as a capture with a short snap length shows them.
pub fn cut_seeds() -> Vec<Frame> {
    let cuts = |whole: Frame| {
        (ethernet::HEADER_LEN..whole.bytes.len())
            .map(move |length| Frame { bytes: whole.bytes[..length].to_vec(), ..whole })
    };
    all_seeds().into_iter().flat_map(|(seed, framed)| cuts(framed(&seed))).collect()
}

/// Frames that hosts and gateways of others send: a capture of soft-RoCE, and experimental messages to another address.
pub fn of_others() -> Vec<Frame> {
    let elsewhere = |ether_type| move |it: Vec<u8>| ethernet(MacAddress::NEAREST_BRIDGE, ether_type, &it);
    let mut frames: Vec<_> = seeds("wire_grants").into_iter().map(elsewhere(grants::ETHER_TYPE)).collect();
    frames.extend(seeds("wire_rate_feedback").into_iter().map(elsewhere(EtherType::IPV4)));
    let mut capture = CaptureFile::open(repository("tests/data/captures/rxe-cm-multiqp.pcap")).unwrap();
    while let Some(frame) = capture.next_frame().unwrap() {
        frames.push(Frame { bytes: frame.data.to_vec(), length: frame.original_length as usize });
    }
    frames
}
