//! Captures through the switch core: the clock comes from the capture.

pub mod capture;
