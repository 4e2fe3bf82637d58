//! What is played, and through which ports it comes in.

use crate::capture::{Captured, Pace, Splitter};
use switch::Volume;
use units::{Bytes, PortId};
use wire::ethernet::{self, MacAddress};

/// One capture that is played.
#[derive(Debug)]
pub struct Input<S> {
    /// Its frames.
    pub source: S,
    /// How fast they come.
    pub pace: Pace,
    /// Where they come in.
    pub side: Side,
}

/// The port through which the frames of a capture come in.
#[derive(Clone, Debug)]
pub enum Side {
    /// One port for all of them.
    Port(PortId),
    /// Told by the source of each frame. Frames that match no rule come in nowhere.
    Split(Splitter),
}

impl Side {
    #[inline]
    pub(crate) fn port_of(&self, frame: &[u8]) -> Option<PortId> {
        match self {
            Self::Port(port) => Some(*port),
            Self::Split(splitter) => splitter.port_of(frame),
        }
    }
}

/// What the merge needs of `inputs`, and where the frames of each come in.
pub(crate) fn split_inputs<S>(inputs: Vec<Input<S>>) -> (Vec<(S, Pace)>, Vec<Side>) {
    inputs.into_iter().map(|input| ((input.source, input.pace), input.side)).unzip()
}

/// Frames of split captures that came in nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unassigned {
    /// All of them.
    pub volume: Volume,
    /// The first source addresses that were seen, at most [`Unassigned::NAMED`], and how many
    /// frames each sent.
    pub sources: Vec<(MacAddress, u64)>,
    /// Frames of further addresses, and frames too short to have one.
    pub others: u64,
}

impl Unassigned {
    /// How many source addresses are told apart.
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
    use units::Nanos;

    #[test]
    fn the_first_eight_sources_are_named_and_the_others_counted() {
        let mut unassigned = Unassigned::default();
        for round in 0..2_u8 {
            for source in 0..10_u8 {
                let mut data = [0; 60];
                data[11] = source;
                let length = if round == 0 { 60 } else { 14 };
                let data = &data[..length];
                unassigned.count(&Captured { at: Nanos(0), data, original_length: 60 });
            }
        }
        unassigned.count(&Captured { at: Nanos(0), data: &[1, 2], original_length: 2 });
        assert_eq!(unassigned.volume, Volume { frames: 21, bytes: Bytes(20 * 60 + 2) });
        assert_eq!(unassigned.sources.len(), 8);
        assert!(unassigned.sources.iter().all(|(_, frames)| *frames == 2));
        assert_eq!(unassigned.others, 5);
    }
}
