//! The columns that a series records for each port.

use switch::program::PortSettings;
use switch::{Frame, LsccReport, PauseState, Shard, SlotState, Volume};
use units::{Nanos, PortId, Priority, PrioritySet};

/// The quantity of a column. Columns of the same kind can share an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of queued frames.
    Queue,
    /// Wire bytes in the accounts of Bifrost.
    Slot,
    /// Bits per second.
    Rate,
    /// A count since the start.
    Count,
    /// The number of paused priorities, 0 to 8.
    Paused,
}

/// One column of a series.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The port of the column.
    pub port: PortId,
    quantity: &'static Quantity,
}

impl Column {
    /// The stable name after that of its port, ending with the unit. `docs/series.md` explains each.
    pub fn name(self) -> &'static str {
        self.quantity.name
    }

    /// A short label for legends.
    pub fn label(self) -> &'static str {
        self.quantity.label
    }

    /// The kind of its quantity.
    pub fn kind(self) -> Kind {
        self.quantity.kind
    }
}

#[derive(Debug)]
struct Quantity {
    name: &'static str,
    label: &'static str,
    kind: Kind,
    /// Whether a port with these settings has the column.
    applies: fn(&PortSettings) -> bool,
    /// The current value; `None` while it is undefined.
    read: fn(&Look) -> Option<u64>,
}

/// All quantities, in column order.
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
        read: |look| Some(look.lscc.as_ref()?.received_rate?.bits_per_second()),
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

/// The observed state of one port.
struct Look {
    /// The queued lossless frames that arrived at the port.
    ingress_lossless: Volume,
    /// All frames queued to leave through the port.
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

/// Fills `row` with the values at `now`, one cell for each of `columns`; columns of one port must be
/// adjacent. Returns the first instant after `now` at which a value changes without an event, by the end of a
/// pause.
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
