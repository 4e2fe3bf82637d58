//! How long a pause may last, and what a group holds at most.

use switch::program::{LosslessGroup, PortSettings, Threshold};
use units::{BitRate, Bytes, Interval, Priority, WireBytes};

use super::step::Sheet;

/// The first lossless group of a port; all are alike.
pub(crate) fn group(port: &PortSettings) -> &LosslessGroup {
    let mut groups = Priority::all().filter_map(|it| port.groups[it.index()].lossless());
    groups.next().expect("a plan has a lossless priority")
}

/// The level of a threshold that a plan fixes.
pub(crate) fn fixed(xoff: Threshold) -> Bytes {
    match xoff {
        Threshold::Static(level) => level,
        Threshold::Dynamic(_) => Bytes::ZERO,
    }
}

/// Bytes on the wire of what `cells` bytes of buffer hold at most, from 60-byte frames, of which 80 bytes of buffer take
/// 84 of the link.
pub(super) fn on_the_wire(cells: Bytes) -> WireBytes {
    let worst = u128::from(cells.0) * 84;
    WireBytes(u64::try_from(worst.div_ceil(80)).unwrap_or(u64::MAX))
}

/// What drains while a group is paused: from full to XON.
pub(crate) struct Fall {
    pub full: Bytes,
    pub xon: Bytes,
}

impl Fall {
    pub fn of(port: &PortSettings) -> Self {
        let level = group(port);
        Self { full: fixed(level.xoff) + level.headroom, xon: level.xon }
    }

    pub fn bytes(&self) -> WireBytes {
        on_the_wire(self.full - self.xon)
    }
}

/// Priorities that share the drain by equal weights, in visits of a scheduler such as ours.
#[derive(Clone, Copy)]
pub(crate) struct Sharing {
    priorities: u64,
    visit: WireBytes,
}

impl Sharing {
    /// Priorities that share the drain from the queues of `port`.
    pub fn of(priorities: u64, port: &PortSettings) -> Self {
        Self { priorities, visit: port.longest_visit() }
    }

    /// What drains until `own` bytes of one priority have: as much of each other one, and a visit.
    pub fn bytes(self, own: WireBytes) -> WireBytes {
        let visits = self.visit.0.saturating_mul(self.priorities - 1);
        WireBytes(own.0.saturating_mul(self.priorities).saturating_add(visits))
    }

    /// The formula of [`Sharing::bytes`] in bits, from that of `own`.
    pub fn formula(self, sheet: &mut Sheet, own: &str) -> String {
        let count = self.priorities;
        sheet.terms([("priorities", count), ("(priorities - 1)", count - 1)]).term("visit", self.visit);
        match count {
            1 => format!("8 x {own}"),
            _ => format!("8 x ({{priorities}} x {own} + {{(priorities - 1)}} x {{visit}})"),
        }
    }
}

/// The parts of a pause.
#[derive(Clone, Copy)]
pub(crate) struct Longest {
    /// Bytes that must drain.
    pub drains: WireBytes,
    /// Time that passes in any case.
    pub waits: Interval,
}

impl Longest {
    pub fn at(self, drain: BitRate) -> Interval {
        drain.serialization().time_of(self.drains) + self.waits
    }

    /// The slowest whole multiple of a megabit with which it lasts less than `detection`.
    pub fn drain_within(self, detection: Interval, rate: BitRate) -> Option<BitRate> {
        let time = (detection - self.waits).0.checked_sub(1).filter(|time| *time > 0)?;
        let bits = (u128::from(self.drains.0) * 8_000_000_000).div_ceil(time.into());
        let wanted = BitRate::new(u64::try_from(bits).ok()?.next_multiple_of(1_000_000))?;
        (wanted <= rate).then_some(wanted)
    }
}

/// The longest pause, and its formula.
pub(crate) struct Shown {
    pub longest: Longest,
    pub formula: String,
    pub source: &'static str,
}

/// From the full buffer down to XON.
pub(crate) fn from_full_to_xon(sheet: &mut Sheet, port: &PortSettings, sharing: Sharing) -> Shown {
    let fall = Fall::of(port);
    sheet.terms([("XOFF + headroom", fall.full), ("XON", fall.xon)]);
    Shown {
        longest: Longest { drains: sharing.bytes(fall.bytes()), waits: Interval::ZERO },
        formula: sharing.formula(sheet, "({XOFF + headroom} - {XON}) x 84 / 80") + " / {drain}",
        source: "from the full buffer down to XON; frames of 60 B",
    }
}

/// The most that a group of `port` holds.
pub(super) fn held(port: &PortSettings) -> Bytes {
    Fall::of(port).full
}
