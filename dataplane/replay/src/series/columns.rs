//! The columns of a series for each port: some quantities of its own, and the figures that are listed for it.

use switch::driver::inspect;
use switch::figure::{Figure, FigureList, LISTS, Reading, Sampled, Seen, SeriesKind};
use switch::program::PortSettings;
use switch::{Frame, PauseState, PortInspection, Program, Shard, Volume};
use units::{Nanos, PortId, Priority, PrioritySet};

/// One column of a series.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The port that it describes.
    pub port: PortId,
    sampled: Sampled,
    source: Source,
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Port(fn(&Look) -> u64),
    Listed(&'static Figure),
}

impl Column {
    /// The name behind that of its port; stable, and ends with the unit. `docs/series.md` explains
    /// each.
    pub fn name(self) -> &'static str {
        self.sampled.name
    }

    /// The text of a legend, in a few words.
    pub fn label(self) -> &'static str {
        self.sampled.label
    }

    /// The unit of its values.
    pub fn kind(self) -> SeriesKind {
        self.sampled.kind
    }
}

/// A column of every port that it applies to, whatever runs there: whether a port with these settings has it, and its
/// present value.
type Quantity = (Sampled, fn(&PortSettings) -> bool, fn(&Look) -> u64);

/// All of them.
static QUANTITIES: [Quantity; 4] = [
    (
        sampled("ingress_lossless_wire_bytes", "lossless, by ingress port (on the wire)", SeriesKind::Queue),
        |settings| !settings.lossless().is_empty(),
        |look| look.ingress_lossless.on_the_wire().0,
    ),
    (sampled("egress_bytes", "egress queues", SeriesKind::Queue), |_| true, |look| look.egress.bytes.0),
    (
        sampled("pfc_sent_paused_priorities", "pauses its peer", SeriesKind::Paused),
        |_| true,
        |look| count(look.pauses.sent),
    ),
    (
        sampled("pfc_received_paused_priorities", "is paused by its peer", SeriesKind::Paused),
        |_| true,
        |look| count(look.pauses.received),
    ),
];

const fn sampled(name: &'static str, label: &'static str, kind: SeriesKind) -> Sampled {
    Sampled { name, label, kind }
}

fn count(priorities: PrioritySet) -> u64 {
    priorities.iter().count() as u64
}

/// A look at one port.
struct Look {
    /// The lossless frames inside that came in through the port.
    ingress_lossless: Volume,
    /// All frames that wait to leave through the port.
    egress: Volume,
    pauses: PauseState,
}

impl Look {
    fn new<F: Frame>(lanes: &[Shard<F>], now: Nanos, port: PortId) -> Self {
        let mut look = Self {
            ingress_lossless: Volume::ZERO,
            egress: Volume::ZERO,
            pauses: lanes.first().map(|lead| lead.pauses(now, port)).unwrap_or_default(),
        };
        for lane in lanes {
            let (lossless, ledger) = (lane.program().port(port).lossless(), lane.ledger());
            let queues = lossless.iter().map(|priority| ledger.ingress_queue(port, priority));
            look.ingress_lossless += queues.sum();
            look.egress += Priority::all().map(|priority| ledger.egress_queue(port, priority)).sum();
        }
        look
    }
}

/// The columns of a switch whose ports have these `settings`, port by port and kind by kind.
pub fn columns(settings: &[PortSettings]) -> Vec<Column> {
    let of_port = |(port, settings)| {
        let applying = QUANTITIES.iter().filter(|(_, applies, _)| applies(settings));
        let running = LISTS.into_iter().filter(|list| (list.runs_on)(settings));
        let listed = running.flat_map(FigureList::figures).filter_map(|(_, figure)| {
            Some(Column { port, sampled: figure.sampled?, source: Source::Listed(figure) })
        });
        let mut columns: Vec<_> = applying.map(|quantity| column(quantity, port)).chain(listed).collect();
        columns.sort_by_key(|column| column.kind());
        columns
    };
    (0..).map(PortId).zip(settings).flat_map(of_port).collect()
}

fn column(&(sampled, _, read): &Quantity, port: PortId) -> Column {
    Column { port, sampled, source: Source::Port(read) }
}

/// Fills `row` with what holds at `now`, a cell for each of `columns`, of which those of a port stand
/// together. Returns the first instant after `now` at which any of it changes by itself: when a pause runs
/// out. `lanes` are those of one switch, the lead first; of them, levels and counters add up. The former content of
/// `inspection` does not matter.
pub fn look<F: Frame>(
    (program, lanes): (&Program, &[Shard<F>]),
    now: Nanos,
    columns: &[Column],
    inspection: &mut PortInspection,
    row: &mut Vec<Option<u64>>,
) -> Nanos {
    row.clear();
    let mut until = Nanos::NEVER;
    for of_port in columns.chunk_by(|a, b| a.port == b.port) {
        let port = of_port[0].port;
        let look = Look::new(lanes, now, port);
        until = until.min(look.pauses.until);
        if of_port.iter().any(|column| matches!(column.source, Source::Listed(_))) {
            match lanes {
                [only] => only.inspect_schemes(port, inspection),
                _ => inspect(lanes, now, port, inspection),
            }
        }
        let seen = Seen { settings: program.port(port), look: inspection };
        row.extend(of_port.iter().map(|column| match column.source {
            Source::Port(read) => Some(read(&look)),
            Source::Listed(figure) => match figure.read(seen) {
                Some(Reading::Number(number)) => Some(number),
                Some(Reading::Delay(_)) | None => None,
            },
        }));
    }
    until
}

/// Two columns of `port`.
#[cfg(test)]
pub(super) fn first_two(port: PortId) -> Vec<Column> {
    QUANTITIES[..2].iter().map(|quantity| column(quantity, port)).collect()
}
