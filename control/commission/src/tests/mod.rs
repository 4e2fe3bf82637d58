//! Two ends with real switches and workers, on a link in memory and on a clock of the test. Each fault that is
//! planted has to be named, and nothing else.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod faults;
mod world;
