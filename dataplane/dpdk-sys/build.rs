//! Makes the bindings to the system's DPDK, and compiles the shim.

#[cfg(feature = "dpdk")]
#[path = "build/bindings.rs"]
mod bindings;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "dpdk")]
    if let Err(missing) = bindings::make() {
        println!("cargo::error={missing}");
    }
}
