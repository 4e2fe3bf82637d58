//! What a port repairs with: its end of the link, and the frames that are held.

use crate::flow_control::Unrepaired;
use crate::frame::Frame;
use crate::ledger::Volume;
use crate::program::PortSettings;
use crate::queue::Queued;
use crate::reason::DropReason;
use crate::repair::{Arrival, End, Repair};
use serde::{Deserialize, Serialize};
use units::{Bytes, Priority, WireBytes};
use wire::repair::Shim;

/// The repair of one port.
#[derive(Serialize, Deserialize)]
pub(super) struct PortRepair<F> {
    pub end: End<F, Queued<F>>,
    /// Stored bytes of the shims that were taken off.
    pub unwrapped: Bytes,
    /// Frames that are held, by priority.
    pub held: [Volume; Priority::COUNT],
}

/// The repair of the ports of a shard.
pub(super) type RepairByPort<F> = Vec<Option<Box<PortRepair<F>>>>;

/// Returns what a port with these `settings` repairs with, at first.
pub(super) fn repair_of<F: Frame>(settings: &PortSettings) -> Option<Box<PortRepair<F>>> {
    let new = |repair: Repair| PortRepair {
        end: End::new(repair),
        unwrapped: Bytes::ZERO,
        held: [Volume::ZERO; Priority::COUNT],
    };
    settings.repair.map(|repair| Box::new(new(repair)))
}

/// A frame that came in, without its shim.
pub(super) enum Unwrapped {
    /// It goes on.
    Passes,
    /// An earlier one of its bucket has to come first.
    Waits(Shim),
    /// It ends here.
    Dropped(DropReason),
}

impl<F: Frame> PortRepair<F> {
    /// Takes the shim off a frame, if it has one, and judges it.
    pub fn unwrap(&mut self, frame: &mut F) -> Unwrapped {
        let (shim, place) = match Shim::find(frame.headers()) {
            Ok(None) => return Unwrapped::Passes,
            Err(_) => return Unwrapped::Dropped(DropReason::RepairWindow),
            Ok(Some(found)) => found,
        };
        match self.end.receive(&shim) {
            Arrival::Duplicate => Unwrapped::Dropped(DropReason::RepairDuplicate),
            Arrival::Beyond => Unwrapped::Dropped(DropReason::RepairWindow),
            Arrival::Passes | Arrival::Waits if !frame.take_out(place.start, place.len()) => {
                self.end.let_go(&shim);
                Unwrapped::Dropped(DropReason::RepairWindow)
            }
            judged => {
                self.unwrapped.0 += place.len() as u64;
                if judged == Arrival::Waits { Unwrapped::Waits(shim) } else { Unwrapped::Passes }
            }
        }
    }

    /// What a flow control has to know of it, on a port whose longest frame takes `longest` on the wire.
    pub fn unrepaired(&self, longest: WireBytes) -> Unrepaired {
        Unrepaired { missing: WireBytes(self.end.missing() * longest.0), blind_from: self.end.blind_from() }
    }
}
