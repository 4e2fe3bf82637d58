//! The levels of the buffer that a plan chooses: thresholds for full throughput, marks below them, and the pools.

use switch::program::FlowControl;
use units::{Bytes, Interval, Priority};

use super::marks::{self, Marks, Sparse};
use super::request::Request;
use crate::gateway::Gateway;
use crate::round_trip::RoundTripSum;
use crate::thresholds::{highest_xoff, least_xon};

/// The share of lossy frames in the shared pool: as much as arrives in this time at the rate of the port.
const LOSSY: Interval = Interval::from_micros(100);
/// Frames that lossy traffic has room for at any rate.
const LOSSY_FRAMES: u64 = 16;

/// The levels of a gateway.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Levels {
    /// The shared pool.
    pub shared: Bytes,
    /// Its part for lossy frames.
    pub lossy: Bytes,
    /// Those of the ports: to the data center, and on each long link.
    pub ports: [PortLevels; 2],
}

/// The levels of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PortLevels {
    /// XOFF and XON of its groups; `None` if the scheme determines them.
    pub thresholds: Option<(Bytes, Bytes)>,
    /// The marks of its queue; `None` if it does not mark.
    pub marks: Option<Marks>,
}

impl Levels {
    /// The levels for a gateway that was built without any; `None` if a distance is unknown, which no plan leaves out.
    pub fn of(gateway: &Gateway, request: &Request) -> Option<Self> {
        let settings = gateway.program.settings();
        let mut shared = 0;
        let mut held = Vec::new();
        let mut ports = Vec::new();
        for (port, link) in settings.ports.iter().zip(&gateway.links) {
            let groups = || Priority::all().filter_map(|it| port.groups[it.index()].lossless());
            let group = groups().next()?;
            let is_own = matches!(port.flow_control, FlowControl::Pfc);
            let xoff = if is_own {
                let gap = port.max_frame + port.max_frame;
                let xon = least_xon(port, RoundTripSum::new(port, link)?.total());
                let (_, kmax) = marks::usual(port.rate);
                (xon + gap).max(kmax + kmax)
            } else {
                highest_xoff(group, &settings.buffer)
            };
            shared += groups().map(|group| (xoff - group.reserved).0).sum::<u64>();
            held.push((xoff, group.headroom));
            let thresholds = is_own.then(|| (xoff, xoff - port.max_frame - port.max_frame));
            ports.push((port, thresholds));
        }
        let [(local, local_thresholds), (long, long_thresholds), ..] = ports[..] else { return None };
        // A queue marks before a port that feeds it pauses.
        let marks = |own: usize, feeding: usize, feeders: u8| {
            let (xoff, headroom) = held[feeding];
            let full = Bytes((xoff + headroom).0.saturating_mul(feeders.into()));
            Sparse::of(gateway, request, own).map(|sparse| sparse.marks(xoff, full))
        };
        let passes_on = request.scheme.planned().passes_on();
        let lossy = Bytes(local.rate.bytes_in(LOSSY)).max(Bytes(LOSSY_FRAMES * long.max_frame.0));
        Some(Self {
            shared: Bytes(shared) + lossy,
            lossy,
            ports: [
                PortLevels {
                    thresholds: local_thresholds,
                    // LSCC keeps a queue here on purpose, and where pauses are passed on, the queue is bytes of the link.
                    marks: (long.notifiers.lscc.is_none() && !passes_on)
                        .then(|| marks(0, 1, request.links))
                        .flatten(),
                },
                PortLevels {
                    thresholds: long_thresholds,
                    marks: (!passes_on).then(|| marks(1, 0, 1)).flatten(),
                },
            ],
        })
    }
}
