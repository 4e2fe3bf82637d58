//! The formulas of a plan, matter by matter. Each shows numbers of the gateway that was built.

mod flow_control;
mod link;
mod local;
mod lscc;
mod marks;
mod memory;

pub(super) use flow_control::{headroom, thresholds};
pub(super) use link::link;
pub(super) use local::local;
pub(super) use lscc::lscc;
pub(super) use marks::marks;
pub(super) use memory::memory;
