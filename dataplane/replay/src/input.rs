//! The inputs of a replay and their ingress ports.

use crate::capture::{Captured, Pace, Splitter};
use switch::Volume;
use units::{Bytes, PortId};
use wire::ethernet::{self, MacAddress};

/// One capture to play.
#[derive(Debug)]
pub struct Input<S> {
    /// Its frames.
    pub source: S,
    /// Their pace.
    pub pace: Pace,
    /// Their ingress port.
    pub side: Side,
}

/// The ingress port of the frames of a capture.
#[derive(Clone, Debug)]
pub enum Side {
    /// One port for all of them.
    Port(PortId),
    /// Determined by the source of each frame. Frames that match no rule are not played.
    Split(Splitter),
}

impl Side {
    #[inline]
    pub(crate) fn port_of(&self, frame: &Captured<'_>) -> Option<PortId> {
        match self {
            Self::Port(port) => Some(*port),
            Self::Split(splitter) => splitter.port_of(frame),
        }
    }
}

/// Splits `inputs` into the sources to merge and the ingress port of each.
pub(crate) fn split_inputs<S>(inputs: Vec<Input<S>>) -> (Vec<(S, Pace)>, Vec<Side>) {
    inputs.into_iter().map(|input| ((input.source, input.pace), input.side)).unzip()
}

/// Frames of split captures that match no rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unassigned {
    /// Their volume.
    pub volume: Volume,
    /// The first source addresses seen, at most [`Unassigned::NAMED`], with their number of frames.
    pub sources: Vec<(MacAddress, u64)>,
    /// Frames of other addresses, or too short to have one.
    pub others: u64,
}

impl Unassigned {
    /// The maximum number of source addresses counted separately.
    pub const NAMED: usize = 8;

    #[cold]
    pub(crate) fn count(&mut self, frame: &Captured<'_>) {
        self.volume.count(Bytes(u64::from(frame.original_length)));
        let Ok(view) = ethernet::View::parse(frame.data) else {
            self.others += 1;
            return;
        };
        let source = view.source();
        if let Some((_, frames)) = self.sources.iter_mut().find(|(named, _)| *named == source) {
            *frames += 1;
        } else if self.sources.len() < Self::NAMED {
            self.sources.push((source, 1));
        } else {
            self.others += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Interface;
    use units::Nanos;

    fn captured(data: &[u8], original_length: u32) -> Captured<'_> {
        Captured { at: Nanos(0), data, original_length, interface: Interface::default() }
    }

    #[test]
    fn the_first_eight_sources_are_named_and_the_others_counted() {
        let mut unassigned = Unassigned::default();
        for round in 0..2_u8 {
            for source in 0..10_u8 {
                let mut data = [0; 60];
                data[11] = source;
                let length = if round == 0 { 60 } else { 14 };
                let data = &data[..length];
                unassigned.count(&captured(data, 60));
            }
        }
        unassigned.count(&captured(&[1, 2], 2));
        assert_eq!(unassigned.volume, Volume { frames: 21, bytes: Bytes(20 * 60 + 2) });
        assert_eq!(unassigned.sources.len(), 8);
        assert!(unassigned.sources.iter().all(|(_, frames)| *frames == 2));
        assert_eq!(unassigned.others, 5);
    }
}
