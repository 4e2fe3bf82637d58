//! What charts are made of: the plot of a replay and the plots on the page of an experiment.

pub mod axis;
pub mod drawing;
pub mod scale;
pub mod trace;
