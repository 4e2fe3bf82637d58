//! Bindings to the system's DPDK: what Longspan calls of it, and no more.
//!
//! Generated when the crate is built, from the headers of the libdpdk that pkg-config finds (22.11 or
//! later), so that layouts and constants are those of the library that is linked. The inline functions, macros and
//! bit fields of DPDK are reached through the functions `shim_*` of a small C shim.
//! Drivers are not linked: DPDK loads them as plugins when it starts.
//!
//! Without the feature `dpdk` the crate is empty, and the build asks for nothing.
#![cfg(feature = "dpdk")]

#[expect(
    missing_docs,
    non_camel_case_types,
    clippy::undocumented_unsafe_blocks,
    reason = "generated: the names are DPDK's, and its documentation is DPDK's own"
)]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}

pub use bindings::*;
