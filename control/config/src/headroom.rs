//! The headroom of a lossless priority group: what the group may still take once it has crossed its threshold.
//!
//! ```text
//! crossing frame + peer frame + cell occupancy x (own frame + pause + cable + waiting + interfaces + response) + lanes
//! ```
//!
//! Five terms are those of SONiC (`buffer_headroom_*.lua` of sonic-swss, after IEEE 802.1Q annex N). `tx_window` and
//! `interface_delay` are those of a software gateway, and `lanes` is that of one with several cores for a port. Neither SONiC nor the annex counts the frame that crosses the
//! threshold; `docs/configuration.md` compares the sums.

use core::fmt;

use switch::lanes::extra_headroom;
use units::human::bytes;
use units::{BitRate, Bytes, Cells, Distance, Interval, WireBytes};
use wire::ethernet;

/// The terms of a port's headroom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadroomTerms {
    /// Rate of the link.
    pub rate: BitRate,
    /// Length of the fibre, one way.
    pub distance: Distance,
    /// Longest frame that arrives, in bytes without FCS.
    pub max_frame: Bytes,
    /// Longest frame that the port itself sends, data or control, in bytes without FCS.
    pub longest_sent: Bytes,
    /// How far ahead of the link the port hands frames to the device. A pause frame may wait that long behind them.
    pub tx_window: Interval,
    /// Delays of NICs, PHYs and worker turns from the arrival of a frame to the departure of its pause, both ends
    /// together.
    pub interface_delay: Interval,
    /// Bytes of buffer that a byte may occupy, 1 or more.
    pub cell_occupancy: f64,
    /// Lanes of the gateway. One of them sends the pauses of all.
    pub lanes: usize,
    /// Lost bytes that come in once more where the link is repaired, in spite of pauses.
    pub repaired: WireBytes,
}

/// The headroom of a port, term by term.
///
/// Frames are sent one after the other, so all that arrives after XOFF is frames that began within the time of the
/// scaled terms, whose sum is on the wire, and one more: the frame that began last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadroomSum {
    /// The frame that reaches the threshold, in whole cells. Next to nothing of it may fit below.
    pub crossing_frame: Bytes,
    /// A frame that the peer begins at the last instant at which it may, in whole cells.
    pub peer_frame: Bytes,
    /// A frame that this port has begun to send when the pause is due, on the wire (802.3 clause 4.2.8: no frame is
    /// interrupted).
    pub own_frame: WireBytes,
    /// The pause itself: a frame of the least length, on the wire (802.3 clause 31.4.1).
    pub pause: WireBytes,
    /// Bytes in the fibre. The pause travels one way while frames travel the other, so this is `2 x distance x rate /
    /// (8 x 198,000,000 m/s)`, rounded up.
    pub cable: WireBytes,
    /// Bytes that arrive during `tx_window`.
    pub waiting: WireBytes,
    /// Bytes that arrive during `interface_delay`.
    pub interfaces: WireBytes,
    /// Bytes that arrive until the peer has stopped: 64 bytes for each quantum that it is allowed (802.3 clause
    /// 31B.3.7), or those of the `tx_window` of each of its lanes, if it is a gateway like this one, whichever is more.
    pub response: WireBytes,
    /// Bytes that arrive while the lane that sends pauses is late after another one was; zero with one lane.
    pub lead: WireBytes,
    /// Frames that were lost and come once more, in spite of the pause; zero without repair.
    pub repaired: WireBytes,
    /// Factor of the terms that pass on the link, from `own_frame` to `repaired`.
    pub cell_occupancy: f64,
    /// What other lanes may hold before the one that sends pauses knows of it ([`switch::lanes::extra_headroom`]); zero with
    /// one lane.
    pub lanes: Bytes,
}

impl HeadroomSum {
    /// Computes the headroom of a port.
    pub fn new(terms: &HeadroomTerms) -> Self {
        let (rate, lanes) = (terms.rate, terms.lanes.max(1) as u64);
        let during = |time: Interval| {
            let bits = u128::from(rate.bits_per_second()) * u128::from(time.0);
            saturate(bits.div_ceil(8_000_000_000))
        };
        let bit_metres =
            2_u128.saturating_mul(terms.distance.0.into()).saturating_mul(rate.bits_per_second().into());
        let longest = Cells::of_frame(terms.max_frame).bytes();
        Self {
            crossing_frame: longest,
            peer_frame: longest,
            own_frame: WireBytes::of_frame(terms.longest_sent),
            pause: WireBytes::of_frame(Bytes(ethernet::MIN_FRAME_LEN as u64)),
            cable: saturate(bit_metres.div_ceil(8 * u128::from(Distance::FIBRE_SPEED))),
            waiting: during(terms.tx_window),
            interfaces: during(terms.interface_delay),
            response: WireBytes(response_quanta(rate) * 64).max(during(terms.tx_window * lanes)),
            lead: if lanes > 1 { during(terms.interface_delay) } else { WireBytes(0) },
            repaired: terms.repaired,
            cell_occupancy: terms.cell_occupancy,
            lanes: extra_headroom(lanes, terms.max_frame),
        }
    }

    /// What passes on the link from the crossing of the threshold until the last frame begins.
    pub fn on_the_wire(&self) -> WireBytes {
        self.scaled().into_iter().fold(self.lead + self.repaired, |sum, (term, _)| sum + term)
    }

    /// The terms that pass on the link, and what each is for.
    fn scaled(&self) -> [(WireBytes, &'static str); 6] {
        [
            (self.own_frame, "a frame that the port has begun"),
            (self.pause, "the pause frame"),
            (self.cable, "on the fibre, both ways"),
            (self.waiting, "during tx_window"),
            (self.interfaces, "during interface_delay"),
            (self.response, "until the peer has stopped"),
        ]
    }

    /// The headroom itself, rounded up.
    pub fn total(&self) -> Bytes {
        let scaled = self.on_the_wire().0 as f64 * self.cell_occupancy;
        self.crossing_frame + self.peer_frame + Bytes(scaled.ceil() as u64) + self.lanes
    }
}

fn saturate(bytes: u128) -> WireBytes {
    WireBytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Quanta within which a device must stop after it receives a pause (IEEE 802.3 clause 31B.3.7, as SONiC tabulates
/// it: 394 at 100G). A rate between two rows takes the higher row. Above 400G the time is that of 400G.
pub fn response_quanta(rate: BitRate) -> u64 {
    const TABLE: [(u64, u64); 9] = [
        (100, 1),
        (1_000, 2),
        (10_000, 67),
        (25_000, 80),
        (40_000, 118),
        (50_000, 147),
        (100_000, 394),
        (200_000, 453),
        (400_000, 905),
    ];
    let megabits = rate.bits_per_second().div_ceil(1_000_000);
    let row = TABLE.into_iter().find(|(upto, _)| megabits <= *upto);
    row.map_or_else(|| (megabits.saturating_mul(905)).div_ceil(400_000), |(_, quanta)| quanta)
}

/// The default of `tx_window`: 2 us, or the time within which a device must stop after it receives a pause (IEEE 802.3
/// clause 31B.3.7), whichever is less. What the device holds leaves after the pause.
pub(crate) fn default_tx_window(rate: BitRate) -> Interval {
    let response = WireBytes(response_quanta(rate).saturating_mul(64));
    rate.serialization().time_within(response).min(Interval::from_micros(2))
}

/// One line per term, then the sum.
impl fmt::Display for HeadroomSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line =
            |factor: f64, number, what| writeln!(f, "  {:>14} x {factor:<6} {what}", bytes(number));
        line(1.0, self.crossing_frame.0, "the frame that crosses the threshold")?;
        line(1.0, self.peer_frame.0, "the last frame that the peer begins")?;
        self.scaled().into_iter().try_for_each(|(term, what)| line(self.cell_occupancy, term.0, what))?;
        if self.repaired > WireBytes(0) {
            line(self.cell_occupancy, self.repaired.0, "that were lost and come once more")?;
        }
        if self.lanes > Bytes::ZERO {
            line(self.cell_occupancy, self.lead.0, "while the lead is late")?;
            line(1.0, self.lanes.0, "at other lanes, before the lead knows")?;
        }
        write!(f, "  {:>14} in all", self.total().to_string())
    }
}

/// The time of the longest frame on the link, with preamble, FCS and gap.
pub(crate) fn frame_time(rate: BitRate, max_frame: Bytes) -> Interval {
    rate.serialization().time_of(WireBytes::of_frame(max_frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> HeadroomTerms {
        HeadroomTerms {
            rate: BitRate::gigabits(100),
            distance: Distance(80_000),
            max_frame: Bytes(9_100),
            longest_sent: Bytes(9_100),
            tx_window: Interval::ZERO,
            interface_delay: Interval::ZERO,
            cell_occupancy: 1.125,
            lanes: 1,
            repaired: WireBytes(0),
        }
    }

    #[test]
    fn eighty_kilometres_at_100g_need_11_4_megabytes() {
        let sum = HeadroomSum::new(&terms());
        assert_eq!(sum.cable, WireBytes(10_101_011), "10,101,010.1, rounded up");
        assert_eq!(sum.response, WireBytes(25_216));
        assert_eq!(sum.on_the_wire(), WireBytes(9_124 + 84 + 10_101_011 + 25_216));
        assert_eq!(sum.total(), Bytes(2 * 9_120 + 11_402_365));
    }

    #[test]
    fn what_software_adds_is_counted_at_the_rate_of_the_link() {
        let slow = HeadroomTerms {
            tx_window: Interval::from_micros(2),
            interface_delay: Interval::from_micros(1),
            ..terms()
        };
        let sum = HeadroomSum::new(&slow);
        assert_eq!((sum.waiting, sum.interfaces), (WireBytes(25_000), WireBytes(12_500)));
    }

    #[test]
    fn the_response_of_a_rate_that_is_not_tabulated_is_never_the_lower_one() {
        let quanta = |megabits: u64| response_quanta(BitRate::new(megabits * 1_000_000).unwrap());
        assert_eq!([quanta(1), quanta(10_000), quanta(56_000), quanta(100_000)], [1, 67, 394, 394]);
        assert_eq!(quanta(800_000), 1_810);
    }

    #[test]
    fn the_default_window_is_no_longer_than_the_standard_allows_at_any_rate() {
        let window = |gigabits| default_tx_window(BitRate::gigabits(gigabits)).0;
        let tabulated = [1, 10, 25, 40, 50, 100, 200, 400, 800];
        assert_eq!(tabulated.map(window), [1_024, 2_000, 1_638, 1_510, 1_505, 2_000, 1_159, 1_158, 1_158]);
        let extremes = [1, u64::MAX].map(|it| default_tx_window(BitRate::new(it).unwrap()).0);
        assert_eq!(extremes, [2_000, 1_158]);
    }

    #[test]
    fn nothing_overflows_at_the_ends_of_the_types() {
        let extreme = HeadroomTerms {
            rate: BitRate::new(u64::MAX).unwrap(),
            distance: Distance(u64::MAX),
            tx_window: Interval(u64::MAX),
            interface_delay: Interval(u64::MAX),
            max_frame: Bytes(u64::MAX),
            longest_sent: Bytes(u64::MAX - 24),
            cell_occupancy: 4.0,
            lanes: 16,
            repaired: WireBytes(u64::MAX),
        };
        assert_eq!(HeadroomSum::new(&extreme).total(), Bytes::MAX);
    }

    #[test]
    fn the_sum_is_shown_term_by_term() {
        let expected = "
         9.12 kB x 1      the frame that crosses the threshold
         9.12 kB x 1      the last frame that the peer begins
         9.12 kB x 1.125  a frame that the port has begun
            84 B x 1.125  the pause frame
         10.1 MB x 1.125  on the fibre, both ways
             0 B x 1.125  during tx_window
             0 B x 1.125  during interface_delay
         25.2 kB x 1.125  until the peer has stopped
     11.420605MB in all";
        assert_eq!(format!("\n{}", HeadroomSum::new(&terms())), expected);
    }
}
