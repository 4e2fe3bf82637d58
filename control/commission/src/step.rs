//! The steps of a course, in order.

use crate::facts::Terms;
use units::Interval;
use wire::grants::session::FIGURES;

/// The counts of an end in a step.
pub type Counts = [u64; FIGURES];

/// Lengths of test frames without FCS: those of RFC 2544 section 9.1, and of RoCE packets of 2,048 and 4,096 bytes.
const LENGTHS: [u64; 9] = [60, 124, 252, 508, 1_020, 1_276, 1_514, 2_110, 4_160];

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The ends compare their files.
    Meet,
    /// Peer delay measures the link.
    Delay,
    /// Frames of each length.
    Lengths,
    /// Frames of each DSCP and ECN, and of other EtherTypes.
    Marks,
    /// PFC frames that ask for nothing.
    Passage,
    /// Frames of the length with this place, at the rate of the link.
    Loss(usize),
    /// The sink stops again and again: that of the end with the greater number, or of the other one.
    Obedience {
        /// Which of them.
        of_greater: bool,
    },
    /// Longest frames, at the rate of the link, for long.
    Soak,
    /// The ends compare how late their workers were.
    Worker,
    /// All is done.
    Over,
}

/// The terms that both ends have agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The lengths of frames to try, 16 at most.
    pub lengths: Vec<u64>,
    /// The DSCP of test frames.
    pub dscp: u8,
    /// Whether it is lossless at both ends, which agree on its priority, too.
    pub is_lossless: bool,
    pub terms: Terms,
}

impl Agreed {
    /// The terms that follow from the figures of [`Step::Meet`]: longest frame, rate, lossless DSCPs, wishes, and classes.
    pub fn of(near: &Counts, far: &Counts) -> Self {
        let [near_frame, _, near_lossless, near_terms @ .., near_classes, _] = near;
        let [far_frame, _, far_lossless, far_terms @ .., far_classes, _] = far;
        // Test frames have no tag, for which the longest frame leaves room.
        let longest = (*near_frame).min(*far_frame).saturating_sub(wire::vlan::TAG_LEN as u64);
        let shorter = LENGTHS.into_iter().filter(|length| *length < longest);
        let common = near_lossless & far_lossless;
        let [loss, stops, soak] = [0, 1, 2].map(|place| near_terms[place].max(far_terms[place]));
        Self {
            lengths: shorter.chain([longest]).collect(),
            dscp: common.trailing_zeros() as u8 % 64,
            is_lossless: common != 0 && near_classes == far_classes,
            terms: Terms { loss: Interval(loss), stops, soak: Interval(soak) },
        }
    }

    /// The longest of the lengths whose bits are set.
    pub fn longest_of(&self, passed: u64) -> Option<u64> {
        self.lengths.get(passed.checked_ilog2()? as usize).copied()
    }

    /// Whether `step` is tried where frames of the lengths with these bits pass.
    pub fn tries(&self, step: Step, passed: u64) -> bool {
        match step {
            Step::Loss(place) => passed & 1 << place != 0,
            Step::Obedience { .. } => passed != 0 && self.is_lossless,
            Step::Soak => passed != 0,
            _ => true,
        }
    }

    /// The steps from [`Step::Delay`] on.
    pub fn steps(&self) -> Vec<Step> {
        let first = [Step::Delay, Step::Lengths, Step::Marks, Step::Passage];
        let obedience = [true, false].map(|of_greater| Step::Obedience { of_greater });
        let soak = (self.terms.soak > Interval::ZERO).then_some(Step::Soak);
        let loss = (0..self.lengths.len()).map(Step::Loss);
        let last = soak.into_iter().chain([Step::Worker, Step::Over]);
        first.into_iter().chain(loss).chain(obedience).chain(last).collect()
    }
}

/// How far an end has come in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It waits for the other one. Its figures are those of the step before.
    Ready,
    /// It sends.
    Sending,
    /// It has sent all, and waits for what is under way.
    Sent,
    /// It has counted.
    Counted,
}

impl Phase {
    /// The phase with this number in a message.
    pub fn numbered(number: u8) -> Option<Self> {
        [Self::Ready, Self::Sending, Self::Sent, Self::Counted].into_iter().find(|it| *it as u8 == number)
    }
}
