//! Charts as SVG: the plot of a replay, and the plots on the page of an experiment.

pub mod axis;
pub mod drawing;
pub mod plot;
pub mod text;
pub mod time_axis;
pub mod trace;
