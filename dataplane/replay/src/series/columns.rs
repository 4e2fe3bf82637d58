//! What a series records of each port: one line per column.

use switch::program::PortSettings;
use switch::{Frame, LsccReport, PauseState, Shard, SlotState, Volume};
use units::{Nanos, PortId, Priority, PrioritySet};

/// What a column is measured in, and so which columns can share an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of frames that are inside.
    Queue,
    /// Wire bytes in the accounts of Bifrost.
    Slot,
    /// Bits per second.
    Rate,
    /// Something that is counted from the start.
    Count,
    /// How many of the eight priorities are paused.
    Paused,
}

/// One column of a series.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Whose it is.
    pub port: PortId,
    quantity: &'static Quantity,
}

impl Column {
    /// The name behind that of its port; stable, and ends with the unit. `docs/series.md` explains
    /// each.
    pub fn name(self) -> &'static str {
        self.quantity.name
    }

    /// What a legend says, in a few words.
    pub fn label(self) -> &'static str {
        self.quantity.label
    }

    /// What it is measured in.
    pub fn kind(self) -> Kind {
        self.quantity.kind
    }
}

#[derive(Debug)]
struct Quantity {
    name: &'static str,
    label: &'static str,
    kind: Kind,
    /// Whether a port with these settings has it.
    applies: fn(&PortSettings) -> bool,
    /// What it is now; `None` before it means anything.
    read: fn(&Look) -> Option<u64>,
}

/// All of them, in the order of the columns.
static QUANTITIES: [Quantity; 10] = [
    Quantity {
        name: "ingress_lossless_wire_bytes",
        label: "lossless, by ingress port (on the wire)",
        kind: Kind::Queue,
        applies: has_lossless,
        read: |look| Some(look.ingress_lossless.on_the_wire().0),
    },
    Quantity {
        name: "egress_bytes",
        label: "egress queues",
        kind: Kind::Queue,
        applies: always,
        read: |look| Some(look.egress.bytes.0),
    },
    Quantity {
        name: "lscc_pseudo_queue_wire_bytes",
        label: "pseudo-queue (on the wire)",
        kind: Kind::Queue,
        applies: has_lscc,
        read: |look| Some(look.lscc.as_ref()?.pseudo_queue.0),
    },
    Quantity {
        name: "bifrost_virtual_incoming_wire_bytes",
        label: "virtual incoming (F)",
        kind: Kind::Slot,
        applies: has_bifrost,
        read: |look| Some(look.slot?.incoming.0),
    },
    Quantity {
        name: "bifrost_granted_wire_bytes",
        label: "granted per slot",
        kind: Kind::Slot,
        applies: has_bifrost,
        read: |look| Some(look.slot?.grant.0),
    },
    Quantity {
        name: "lscc_advertised_rate_bits_per_second",
        label: "advertised to the far end",
        kind: Kind::Rate,
        applies: has_lscc,
        read: |look| Some(look.lscc.as_ref()?.rates.last_rate?.bits_per_second()),
    },
    Quantity {
        name: "lscc_received_rate_bits_per_second",
        label: "received from the far end",
        kind: Kind::Rate,
        applies: has_lscc,
        read: |look| Some(look.lscc.as_ref()?.told?.bits_per_second()),
    },
    Quantity {
        name: "lscc_direct_cnps_total",
        label: "direct CNPs since the start",
        kind: Kind::Count,
        applies: has_lscc,
        read: |look| Some(look.lscc.as_ref()?.limiter.direct_cnps),
    },
    Quantity {
        name: "pfc_sent_paused_priorities",
        label: "pauses its peer",
        kind: Kind::Paused,
        applies: always,
        read: |look| Some(count(look.pauses.sent)),
    },
    Quantity {
        name: "pfc_received_paused_priorities",
        label: "is paused by its peer",
        kind: Kind::Paused,
        applies: always,
        read: |look| Some(count(look.pauses.received)),
    },
];

fn always(_: &PortSettings) -> bool {
    true
}

fn has_lossless(settings: &PortSettings) -> bool {
    !settings.lossless().is_empty()
}

fn has_bifrost(settings: &PortSettings) -> bool {
    settings.bifrost().is_some()
}

fn has_lscc(settings: &PortSettings) -> bool {
    settings.lscc.is_some()
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
    slot: Option<SlotState>,
    lscc: Option<LsccReport>,
}

impl Look {
    fn new<F: Frame>(shard: &Shard<F>, now: Nanos, port: PortId) -> Self {
        let lossless = shard.program().port(port).lossless();
        let ledger = shard.ledger();
        Self {
            ingress_lossless: lossless.iter().map(|priority| ledger.ingress_queue(port, priority)).sum(),
            egress: Priority::all().map(|priority| ledger.egress_queue(port, priority)).sum(),
            pauses: shard.pauses(now, port),
            slot: shard.last_slot(port),
            lscc: shard.lscc(port),
        }
    }
}

/// The columns of a switch whose ports have these `settings`, port by port.
pub fn columns(settings: &[PortSettings]) -> Vec<Column> {
    let of_port = |(port, settings)| {
        let applying = QUANTITIES.iter().filter(move |quantity| (quantity.applies)(settings));
        applying.map(move |quantity| Column { port, quantity })
    };
    (0..).map(PortId).zip(settings).flat_map(of_port).collect()
}

/// Fills `row` with what holds at `now`, a cell for each of `columns`, of which those of a port stand
/// together. Returns the first instant after `now` at which any of it changes by itself: when a pause runs
/// out.
pub fn look<F: Frame>(shard: &Shard<F>, now: Nanos, columns: &[Column], row: &mut Vec<Option<u64>>) -> Nanos {
    row.clear();
    let mut until = Nanos::NEVER;
    for of_port in columns.chunk_by(|a, b| a.port == b.port) {
        let look = Look::new(shard, now, of_port[0].port);
        until = until.min(look.pauses.until);
        row.extend(of_port.iter().map(|column| (column.quantity.read)(&look)));
    }
    until
}

/// Two columns of `port`.
#[cfg(test)]
pub(super) fn first_two(port: PortId) -> Vec<Column> {
    QUANTITIES[..2].iter().map(|quantity| Column { port, quantity }).collect()
}
