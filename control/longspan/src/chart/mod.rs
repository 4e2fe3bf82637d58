//! The parts of charts: of the plot of a replay, and of the plots on the page of an experiment.

pub mod axis;
pub mod drawing;
pub mod scale;
pub mod trace;
