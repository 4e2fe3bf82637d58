//! The formulas of a plan, matter by matter. Each shows numbers of the gateway that was built.

use switch::lanes::unseen;
use switch::program::{PortSettings, Red};
use units::{BitRate, Bytes, Cells, Distance, WireBytes};

use super::built::{Built, distance};
use super::longest::{fixed, group};
use super::marks::Sparse;
use super::step::{Part, Quantity, Sheet};
use super::text::{LOCAL, LONG};
use crate::flow_control::pfc;
use crate::headroom::{HeadroomSum, frame_time, response_quanta};
use crate::link::Link;
use crate::lscc_sum::LsccSum;
use crate::memory::{MBUF_HEADROOM, MemorySum};
use crate::repair::sum::and_repaired;
use crate::round_trip::RoundTripSum;
use crate::scenario::EcnDecl;
use units::human::{rate, thousands};

/// All parts, in their order.
pub(super) fn all(built: &Built) -> Vec<Part> {
    let parts = [Some(link(built)), repair(built), headroom(built), Some(thresholds(built)), local(built)];
    let marks = marks(built).into_iter().map(Some);
    parts.into_iter().chain(marks).chain([lscc(built), bundle(built), memory(built)]).flatten().collect()
}

/// The long link: propagation, round trip and BDP.
fn link(built: &Built) -> Part {
    let (port, link) = built.long();
    let terms = built.round_trip();
    let (rate, far) = (port.rate, distance(link));
    let (frame, mtu) = (port.max_frame, built.request.mtu);
    let mut sheet = Sheet::default();
    sheet
        .term("rate", rate)
        .term("distance", far)
        .term("speed of light in fibre", fibre_speed())
        .terms([("MTU", mtu), ("header and tag", frame - mtu)])
        .terms([("FCS, preamble, gap", WireBytes(WireBytes::OVERHEAD))])
        .step("delay", "{distance} / {speed of light in fibre}", terms.propagation, "group index 1.514")
        .step("frame", "{MTU} + {header and tag}", frame, "IEEE 802.3 clause 3.2.7, 802.1Q clause 9")
        .step(
            "t_frame",
            "8 x ({frame} + {FCS, preamble, gap}) / {rate}",
            terms.frame,
            "IEEE 802.3 clause 4.4.2",
        )
        .step(
            "quanta",
            "those in which a device of this rate must stop",
            response_quanta(rate),
            "IEEE 802.3 clause 31B.3.7, by SONiC's table",
        )
        .step("response", "{quanta} x 512 bits / {rate}", terms.response, "a quantum is 512 bits");
    round_trip(&mut sheet, &terms, "from a pause until it shows at this end");
    let bdp = Bytes(rate.bytes_in(terms.total()));
    sheet.step("BDP", "{rate} x {RTT} / 8", bdp, "bytes on the wire");
    sheet.part(format!("The long link: {far:#} at {rate:#}"))
}

fn fibre_speed() -> String {
    format!("{} km/s", thousands(Distance::FIBRE_SPEED / 1_000))
}

/// The round trip of a link.
fn round_trip(sheet: &mut Sheet, terms: &RoundTripSum, source: &'static str) {
    let RoundTripSum { propagation, interfaces, waiting, response, frame } = *terms;
    sheet
        .term("2 delay", format!("2 x {propagation:#}"))
        .term("interface_delay", interfaces)
        .term("tx_window", waiting)
        .term("response", response)
        .term("2 t_frame", format!("2 x {frame:#}"))
        .step(
            "RTT",
            "{2 delay} + {interface_delay} + {tx_window} + {response} + {2 t_frame}",
            terms.total(),
            source,
        );
}

/// What repair takes; `None` without it.
fn repair(built: &Built) -> Option<Part> {
    built.repair().map(|sum| sum.part(built.long().0))
}

/// The headroom of lh0, where headroom bounds it; `None` for schemes that bound arrivals themselves.
fn headroom(built: &Built) -> Option<Part> {
    let (port, link) = built.long();
    if built.request.scheme.planned().granted(port).is_some() {
        return None;
    }
    let mut sheet = Sheet::default();
    headroom_terms(&mut sheet, built, port, link)?;
    Some(sheet.part("Headroom of lh0, for each lossless priority"))
}

/// The headroom of a port on its link, term by term.
fn headroom_terms(sheet: &mut Sheet, built: &Built, port: &PortSettings, link: &Link) -> Option<()> {
    let sum = link.headroom(port, built.gateways[0].cell_occupancy)?;
    let sent = format!("{:#} + 24 B + 60 B + 24 B", port.longest_sent());
    sheet
        .term("rate", port.rate)
        .term("distance", distance(link))
        .term("c", fibre_speed())
        .term("tx_window", port.tx_window)
        .term("interface_delay", link.interface_delay)
        .term("cells", sum.cell_occupancy)
        .term("the longest frame and a pause of 60 B, each with preamble, FCS and gap", sent)
        .term("frame in whole cells of 16 B, and one", port.max_frame)
        .terms([("quanta", response_quanta(port.rate))])
        .step(
            "frame_cells",
            "{frame in whole cells of 16 B, and one}",
            sum.crossing_frame,
            "the frame that crosses XOFF; the last one that the peer begins",
        )
        .step(
            "sent",
            "{the longest frame and a pause of 60 B, each with preamble, FCS and gap}",
            sum.own_frame + sum.pause,
            "IEEE 802.3: no frame is interrupted",
        )
        .step("cable", "2 x {distance} x {rate} / (8 x {c})", sum.cable, "IEEE 802.1Q annex N")
        .step("waiting", "{rate} x {tx_window} / 8", sum.waiting, "a gateway hands frames over early")
        .step("interfaces", "{rate} x {interface_delay} / 8", sum.interfaces, "NICs, PHYs, worker turns");
    sheet.term("repaired", sum.repaired);
    let passing = and_repaired(port, "repaired", "{sent} + {cable} + {waiting} + {interfaces} + {response}");
    let all = format!("2 x {{frame_cells}} + {{cells}} x ({passing})");
    if link.lanes > 1 {
        terms_of_lanes(sheet, &sum, port, link);
        let all = all.replace("{response}", "{response} + {lead}");
        headroom_of(sheet, &format!("{all} + {{other_lanes}}"), &sum);
    } else {
        let response = "max(64 B x {quanta}, {waiting})";
        sheet.step("response", response, sum.response, "IEEE 802.3 clause 31B.3.7");
        headroom_of(sheet, &all, &sum);
    }
    Some(())
}

fn headroom_of(sheet: &mut Sheet, formula: &str, sum: &HeadroomSum) {
    sheet.step("headroom", formula, sum.total(), "docs/configuration.md, Headroom");
}

/// What several lanes change of the headroom.
fn terms_of_lanes(sheet: &mut Sheet, sum: &HeadroomSum, port: &PortSettings, link: &Link) {
    sheet
        .term("lanes", link.lanes)
        .term("(lanes - 1)", link.lanes - 1)
        .step(
            "response",
            "max(64 B x {quanta}, {lanes} x {waiting})",
            sum.response,
            "IEEE 802.3 clause 31B.3.7, or a gateway with as many lanes",
        )
        .step(
            "unseen",
            "32 x {frame_cells} + 16.4 kB",
            unseen(port.max_frame),
            "docs/headroom.md, Lanes: a burst, and what is not worth telling",
        )
        .step("lead", "{rate} x {interface_delay} / 8", sum.lead, "it is late after another lane was")
        .step(
            "other_lanes",
            "2 x {(lanes - 1)} x {unseen}",
            sum.lanes,
            "the lead learns late, and resumes early",
        );
}

/// The thresholds of the long port, and what leads to them.
fn thresholds(built: &Built) -> Part {
    let (port, _) = built.long();
    let mut sheet = Sheet::default();
    built.request.scheme.planned().thresholds(&mut sheet, port, built.round_trip().total());
    let (level, count) = (group(port), built.request.count());
    let xoff = fixed(level.xoff);
    sheet.term("priorities", count).terms([("XOFF", xoff), ("headroom", level.headroom)]).step(
        "buffer",
        "{priorities} x ({XOFF} + {headroom})",
        Bytes(count * (xoff + level.headroom).0),
        "all that frames from the long link can hold",
    );
    sheet.part(format!("Buffer of lh0 with {}", built.request.scheme))
}

/// The buffer of the port to the data center; `None` without a distance, which no plan leaves out.
fn local(built: &Built) -> Option<Part> {
    let (port, link) = built.local();
    let terms = RoundTripSum::new(port, link)?;
    let mut sheet = Sheet::default();
    round_trip(&mut sheet, &terms, "to the switch of the data center and back");
    headroom_terms(&mut sheet, built, port, link)?;
    let scheme = built.request.scheme.planned();
    match scheme.passes_on() {
        true => scheme.thresholds(&mut sheet, port, terms.total()),
        false => pfc::thresholds(&mut sheet, port, terms.total()),
    }
    Some(sheet.part("Buffer of dc0, for each lossless priority"))
}

/// The marks of each queue that marks, behind the port that feeds it.
fn marks(built: &Built) -> Vec<Part> {
    let (local, long) = (built.local().0, built.long().0);
    let queues = [(0, (LOCAL, local), (LONG, long)), (1, (LONG, long), (LOCAL, local))];
    queues.into_iter().filter_map(|(own, queue, feeder)| of_queue(built, own, queue, feeder)).collect()
}

/// Kmin, Kmax and Pmax; `None` if the lossless queues of the port do not mark.
fn of_queue(
    built: &Built,
    own: usize,
    (name, port): (&str, &PortSettings),
    (feeder, feeding): (&str, &PortSettings),
) -> Option<Part> {
    let is_lossless = |index: usize| port.groups[index].lossless().is_some();
    let mut queues = port.queues.iter().filter(|queue| is_lossless(queue.priority.index()));
    let Red { kmin, kmax, pmax, .. } = queues.find_map(|queue| queue.red)?;
    let sparse = Sparse::of(&built.gateways[0], &built.request, own)?;
    let level = group(feeding);
    let (xoff, headroom) = (format!("XOFF of {feeder}"), format!("headroom of {feeder}"));
    let mut sheet = Sheet::default();
    sheet
        .term("400 kB at 100 Gb/s", format!("{:#} x {:#} / 100 Gb/s", EcnDecl::default().kmin(), port.rate))
        .terms([(xoff.as_str(), fixed(level.xoff)), (headroom.as_str(), level.headroom)])
        .term("R_AI", sparse.senders.additive_increase)
        .term("rate of a sender", sparse.senders.rate.min(sparse.rate))
        .term("its packets in T_i", format!("{:.1}", sparse.packets()))
        .term("1.20 MB at 100 Gb/s x RTT / 13 us", sparse.stretched())
        .step(
            "Kmin",
            &format!("min({{400 kB at 100 Gb/s}}, {{{xoff}}} / 8)"),
            kmin,
            "HPCC paper, 5.1; senders hear before PFC acts",
        )
        .step(
            "P_few",
            "cbrt({R_AI} / {rate of a sender}) / {its packets in T_i}",
            Quantity::Millionths((sparse.fixed_point() * 1e6) as u64),
            "CoNEXT 2016: DCQCN's fixed point at that rate",
        );
    let pmax = Quantity::Millionths((pmax * 1e6).round() as u64);
    let feeders = if own == 0 { built.request.links } else { 1 };
    let (full, fed_by) = match feeders {
        1 => (format!("{{{xoff}}} + {{{headroom}}}"), feeder.to_owned()),
        _ => (
            format!("{{links}} x ({{{xoff}}} + {{{headroom}}})"),
            format!("each of {feeders} ports such as {feeder}"),
        ),
    };
    sheet.term("links", feeders);
    line_of_marks(&mut sheet, &sparse, &full, (kmax, pmax));
    Some(sheet.part(format!("Marks (ECN) of the queue of {name}, which {fed_by} feeds")))
}

/// Kmax and Pmax.
fn line_of_marks(sheet: &mut Sheet, sparse: &Sparse, full: &str, (kmax, pmax): (Bytes, Quantity)) {
    if sparse.is_long() {
        sheet.step("Kmax", full, kmax, "above Kmax all is marked").step(
            "Pmax",
            "P_few, as RTT > 5 T_i",
            pmax,
            "Azure paper, 7.3: sparse marks",
        );
        return;
    }
    let line = "{1.20 MB at 100 Gb/s x RTT / 13 us}";
    sheet
        .step("Kmax", &format!("min({full}, {{Kmin}} + {line})"), kmax, "HPCC paper, 5.1, for T = 13 us")
        .step(
            "Pmax",
            &format!("20 % x ({{Kmax}} - {{Kmin}}) / {line}[, at least P_few]"),
            pmax,
            "HPCC paper, 5.1: 20 %",
        );
}

/// LSCC: Qref, the step, and the list of rates in flight; `None` without it.
fn lscc(built: &Built) -> Option<Part> {
    let (_, sum) = built.gateways[0].lscc().next()?;
    let mut sheet = Sheet::default();
    sheet.term("rate", built.request.rate).term("RTT", sum.round_trip);
    lscc_queue(&mut sheet, &sum);
    lscc_step(&mut sheet, &sum);
    lscc_halved(&mut sheet, built, &sum);
    let (flows, table) = (u64::from(sum.flows), sum.flow_table());
    sheet.terms([("flows", flows)]).term("(entries and index of each)", Bytes(table.0 / flows.max(1))).step(
        "flow_table",
        "{flows} x {(entries and index of each)}",
        table,
        "docs/configuration.md",
    );
    Some(sheet.part("LSCC above it"))
}

/// T, the list of rates, and Qref.
fn lscc_queue(sheet: &mut Sheet, sum: &LsccSum) {
    sheet
        .step("T", "from one rate to the next, at most RTT", sum.interval, "LSCC paper, III-C: 200 us")
        .step(
            "N",
            "{RTT} / {T}[, rounded up]",
            sum.rates_in_flight as u64,
            "LSCC paper, equation (2): the list of rates in flight",
        )
        .step(
            "Qref",
            "0.1 x {rate} x ({RTT} + {T}) / 8",
            sum.reference,
            "LSCC paper, III-C: dBR_max x (N + 1) T",
        );
}

/// The step, between its bounds by equation (12).
fn lscc_step(sheet: &mut Sheet, sum: &LsccSum) {
    let (bounds, senders) = (sum.bounds, sum.bounds.senders);
    let below = format!("{} x {:#} x {:#}", bounds.flows, sum.interval, senders.additive_increase);
    let between = format!("{} to {}", rate(bounds.above), rate(bounds.below));
    sheet
        .term("rate of a sender", senders.rate)
        .term("dQ", format!("8 x {:#} / 100", sum.reference))
        .term("M T R_AI", below)
        .term("T_i", senders.rate_timer)
        .term("between both", between)
        .step(
            "M",
            "{rate} / {rate of a sender}",
            u64::from(bounds.flows),
            "LSCC paper, III-C: flows that fill the link",
        )
        .step(
            "dR_above",
            "{dQ} / ({RTT} + {T})[, dQ = Qref / 100]",
            Quantity::Rate(bounds.above),
            "LSCC paper, equation (12), left side",
        )
        .step(
            "dR_below",
            "{M T R_AI} / {T_i}",
            Quantity::Rate(bounds.below),
            "LSCC paper, equation (12), right side",
        )
        .step(
            "dR",
            "{rate} x {T} / 40 ms, {between both}",
            Quantity::Rate(sum.step.map_or(0, BitRate::bits_per_second)),
            "the paper's steps: 1 Gb/s at 200 Gb/s",
        );
}

/// The longest queue, and what happens if the buffer is less than that.
fn lscc_halved(sheet: &mut Sheet, built: &Built, sum: &LsccSum) {
    let (port, _) = built.long();
    let rate = built.request.rate;
    let drop = BitRate::new(rate.bits_per_second().div_ceil(2)).unwrap_or(rate);
    let queue = sum.halved + sum.reference;
    // The flow control beneath lets this much in. A byte of the link takes no less of the buffer.
    let xoff = || ("XOFF", WireBytes(fixed(group(port).xoff).0));
    let (level, most) = built.request.scheme.planned().granted(port).unwrap_or_else(xoff);
    let then = match most.0 < queue.0 {
        true => "less than Q_halved: it pauses the senders, and nothing is lost",
        false => "no less than Q_halved: nothing is paused for that",
    };
    let beneath = format!("{level}: from here on, {} holds the link back", built.request.scheme);
    sheet
        .step("drop", "{rate} / 2", drop, "a bottleneck that halves for good")
        .step(
            "follows",
            "{RTT} + {T} x {drop} / {dR}[, in whole steps]",
            sum.follows,
            "until the advertised rate has followed",
        )
        .step(
            "Q_halved",
            "{Qref} + {drop} x ({RTT} + {T} / 2 x (1 + max(1, {drop} / {dR}))) / 8",
            queue,
            "what LSCC alone would let gather: docs/plan.md",
        )
        .step("beneath", &beneath, most, then);
}

/// All links of a bundle, and one less; `None` for a single link.
fn bundle(built: &Built) -> Option<Part> {
    let sum = built.bundle()?;
    let (port, link) = built.long();
    let (links, one) = (u64::from(built.request.links), sum.fastest());
    let left = sum.rate() - one.rate.bits_per_second();
    let mut sheet = Sheet::default();
    sheet
        .term("rate", port.rate)
        .terms([("links", links), ("(links - 1)", links - 1)])
        .term("buffer of lh0", one.buffer)
        .term("2 delay", format!("2 x {:#}", distance(link).propagation()))
        .term("delay", distance(link).propagation())
        .term("interface_delay", link.interface_delay)
        .term("tx_window", port.tx_window)
        .term("t_frame", frame_time(port.rate, port.max_frame))
        .step("with_all", "{links} x {rate}", Quantity::Rate(sum.rate()), "and dc0 has as much")
        .step("with_one_less", "{(links - 1)} x {rate}", Quantity::Rate(left), "after a cut")
        .step(
            "held_back",
            "{with_all} - {with_one_less}",
            one.rate,
            "at most: PFC holds back the senders at dc0",
        )
        .step(
            "buffer",
            "{links} x {buffer of lh0}",
            sum.buffer(),
            "frames from one link less hold that much less",
        )
        .step("T", sum.detection.by, sum.detection.within, "how often the gateway asks its devices")
        .step(
            "destroyed",
            "{rate} x ({2 delay} + {T} + {interface_delay} + {tx_window} + {t_frame}) / 8",
            sum.destroyed(),
            "at most, in each direction; on the wire",
        )
        .step(
            "moves_after",
            "{delay} + {T} + {interface_delay} + {tx_window} + {t_frame}",
            sum.moves_after(),
            "at most: docs/bundles.md",
        );
    Some(sheet.part(format!("The bundle of {links} links, of which one is cut at its far end")))
}

/// The buffer of the gateway, its memory and hugepages, with a device at each port.
fn memory(built: &Built) -> Option<Part> {
    let buffer = built.gateways[0].program.settings().buffer;
    let sum = built.with_devices.memory()?;
    let (mbufs, mbuf, total) = (sum.mbufs(), sum.mbuf(), sum.frames());
    let mut sheet = Sheet::default();
    sheet
        .terms([
            ("(XOFF - reserved) of each group", buffer.shared - buffer.egress_lossy),
            ("lossy", buffer.egress_lossy),
            ("headroom", buffer.headroom),
            ("reserved", sum.buffer - buffer.shared - buffer.headroom),
            ("control frames and rings of pools", Bytes(total.0 - mbufs * mbuf.0)),
        ])
        .step(
            "shared",
            "{(XOFF - reserved) of each group} + {lossy}",
            buffer.shared,
            "lossy frames: 100 us at the rate",
        )
        .step("buffer", "{shared} + {headroom} + {reserved}", sum.buffer, "whole cells of 16 B")
        .step(
            "cells",
            "{buffer} / 16 B",
            sum.buffer.0 / Cells::SIZE,
            "docs/configuration.md: a frame has one more than its bytes",
        );
    mbufs_of(&mut sheet, built, &sum);
    sheet.step(
        "memory",
        "{mbufs} x {mbuf} + {control frames and rings of pools}",
        total,
        "as longspan check adds it up; a device a port, 1,024 descriptors",
    );
    for (name, page, size) in [("pages_2M", "2 MiB", 2 << 20), ("pages_1G", "1 GiB", 1 << 30)] {
        sheet.term("page", page).step(
            name,
            "{memory} / {page}[, rounded up]",
            total.0.div_ceil(size),
            "without what DPDK needs for itself",
        );
    }
    Some(sheet.part("The buffer of the gateway, its memory and hugepages"))
}

/// Those that hold mbufs.
const MBUFS: &str = "{in_buffer} + {kept free} + {receive rings} + {transmit rings} + {caches of cores}";

/// How many mbufs there are, and how large each is.
fn mbufs_of(sheet: &mut Sheet, built: &Built, sum: &MemorySum) {
    let settings = built.with_devices.program.settings();
    let below = settings.buffer.packing.map_or(Bytes::ZERO, |packing| packing.below);
    let cells = Cells::of_frame(below).0.max(1);
    let packed = (sum.buffer.0 / Cells::SIZE).div_ceil(cells).min(sum.waiting);
    let room = sum.data_room();
    sheet
        .terms([
            ("cells of the longest packed frame", cells),
            ("queues and cores", sum.waiting - packed),
            ("kept free", sum.kept_free),
            ("receive rings", sum.receive_rings),
            ("transmit rings", sum.transmit_rings),
            ("caches of cores", sum.in_hand()),
            ("kept", sum.kept),
        ])
        .terms([
            ("frame and room of drivers", room - Bytes(MBUF_HEADROOM)),
            ("headroom", Bytes(MBUF_HEADROOM)),
            ("DPDK's own", sum.mbuf() - room),
        ])
        .step(
            "in_buffer",
            "{cells} / {cells of the longest packed frame}[, rounded up,] + {queues and cores}",
            sum.waiting,
            "frames below 3/4 of an mbuf share mbufs",
        )
        .step(
            "mbufs",
            &and_repaired(built.long().0, "kept", MBUFS),
            sum.mbufs(),
            "none on links: nothing is emulated",
        )
        .step(
            "mbuf",
            "{frame and room of drivers} + {headroom} + {DPDK's own}",
            sum.mbuf(),
            "whole steps of 128 B, as drivers need them",
        );
}
