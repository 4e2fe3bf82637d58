//! Finds libdpdk, compiles the shim against it, and generates the bindings.

use std::env;
use std::fmt;
use std::panic;
use std::path::PathBuf;
use std::process::Command;

/// The oldest release that the shim and the bindings are written for.
const OLDEST: &str = "22.11";

/// The libraries that are linked. libdpdk.pc names some sixty libraries, most of which no one here calls. Drivers are
/// plugins: DPDK loads them when it starts.
const LIBRARIES: [&str; 6] = ["rte_eal", "rte_ethdev", "rte_log", "rte_mbuf", "rte_mempool", "rte_ring"];

/// The items of DPDK that are used, and the whole shim.
const ITEMS: [&str; 29] = [
    "shim_.*",
    "SHIM_.*",
    "RTE_PKTMBUF_HEADROOM",
    "rte_dev_probe",
    "rte_eal_cleanup",
    "rte_eal_init",
    "rte_eth_allmulticast_enable",
    "rte_eth_dev_adjust_nb_rx_tx_desc",
    "rte_eth_dev_close",
    "rte_eth_dev_flow_ctrl_get",
    "rte_eth_dev_flow_ctrl_set",
    "rte_eth_dev_get_mtu",
    "rte_eth_dev_get_port_by_name",
    "rte_eth_dev_info_get",
    "rte_eth_dev_socket_id",
    "rte_eth_dev_start",
    "rte_eth_dev_stop",
    "rte_eth_macaddr_get",
    "rte_eth_promiscuous_enable",
    "rte_eth_rx_queue_setup",
    "rte_eth_stats_get",
    "rte_eth_tx_queue_setup",
    "rte_eth_xstats_get_by_id",
    "rte_eth_xstats_get_id_by_name",
    "rte_mempool_avail_count",
    "rte_mempool_free",
    "rte_pktmbuf_pool_create",
    "rte_thread_register",
    "rte_thread_unregister",
];

/// Types that are only pointed to. Their insides differ between releases.
const POINTED_TO: [&str; 3] = ["rte_device", "rte_mbuf", "rte_mempool"];

/// Types that only the insides of those would need.
const INSIDE: [&str; 4] = ["RTE_MARKER.*", "rte_mbuf_.*", "rte_mempool_.*", "rte_memzone.*"];

/// Types whose inside no one here looks at. Some of them bindgen cannot lay out either.
const OPAQUE: [&str; 4] = ["rte_arp_hdr", "rte_arp_ipv4", "rte_eth_rxseg.*", "rte_eth_switch_info"];

/// A prerequisite of the build that is missing.
pub enum Missing {
    Libdpdk(pkg_config::Error),
    Libclang,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Libdpdk(pkg_config::Error::ProbeFailure { .. }) => write!(f, "libdpdk was not found")?,
            Self::Libdpdk(pkg_config::Error::Command { .. }) => write!(f, "pkg-config was not found")?,
            Self::Libdpdk(_) => write!(f, "no libdpdk of {OLDEST} or later was found")?,
            Self::Libclang => write!(f, "libclang was not found")?,
        }
        write!(
            f,
            ": install DPDK {OLDEST} or later and libclang (Debian: apt install pkg-config libdpdk-dev \
             libclang-dev), or build without DPDK: --no-default-features"
        )
    }
}

pub fn make() -> Result<(), Missing> {
    println!("cargo::rerun-if-changed=build/bindings.rs");
    println!("cargo::rerun-if-changed=shim.h");
    println!("cargo::rerun-if-changed=shim.c");
    for variable in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let mut probe = pkg_config::Config::new();
    let probe = probe.atleast_version(OLDEST).cargo_metadata(false).env_metadata(false);
    let libdpdk = probe.probe("libdpdk").map_err(Missing::Libdpdk)?;
    let flags = compiler_flags(&libdpdk);
    generate(&flags)?;
    compile_shim(&flags);
    for path in &libdpdk.link_paths {
        println!("cargo::rustc-link-search=native={}", path.display());
    }
    for library in LIBRARIES.iter().filter(|library| libdpdk.libs.iter().any(|known| known == *library)) {
        println!("cargo::rustc-link-lib={library}");
    }
    Ok(())
}

/// Where the headers are, as those of the system, whose warnings are not ours; and for which machine
/// DPDK was built, because its headers use what that machine has.
fn compiler_flags(libdpdk: &pkg_config::Library) -> Vec<String> {
    let mut flags: Vec<String> =
        libdpdk.include_paths.iter().map(|path| format!("-isystem{}", path.display())).collect();
    let pkg_config = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_owned());
    let output = Command::new(pkg_config).args(["--cflags-only-other", "libdpdk"]).output();
    let output = output.expect("pkg-config, which found libdpdk, can be run again");
    let others = String::from_utf8_lossy(&output.stdout);
    flags.extend(others.split_whitespace().filter(|flag| flag.starts_with("-m")).map(str::to_owned));
    flags
}

fn compile_shim(flags: &[String]) {
    // Optimized in every profile: most of what it holds are DPDK's inline functions.
    let mut build = cc::Build::new();
    build.file("shim.c").opt_level(3).warnings(true).extra_warnings(true);
    for flag in flags {
        build.flag(flag);
    }
    build.compile("dpdk_shim");
}

fn generate(flags: &[String]) -> Result<(), Missing> {
    if !libclang_loads() {
        return Err(Missing::Libclang);
    }
    let mut builder = bindgen::builder()
        .header("shim.h")
        .clang_args(flags)
        .rust_edition(bindgen::RustEdition::Edition2024)
        .use_core()
        .generate_comments(false)
        .prepend_enum_name(false)
        .derive_debug(false)
        .derive_default(true)
        .default_enum_style(bindgen::EnumVariation::Consts);
    for item in ITEMS {
        builder = builder.allowlist_item(item);
    }
    for name in POINTED_TO {
        builder = builder
            .blocklist_type(name)
            .raw_line(format!("#[repr(C)]\npub struct {name} {{\n    _inside: [u8; 0],\n}}"));
    }
    for name in INSIDE {
        builder = builder.blocklist_type(name);
    }
    for name in OPAQUE {
        builder = builder.opaque_type(name);
    }
    let bindings = builder.generate().expect("headers that the shim was compiled with can be read");
    let directory = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    bindings.write_to_file(directory.join("bindings.rs")).expect("OUT_DIR can be written");
    Ok(())
}

/// bindgen panics where it does not find libclang; the reason is in many lines that help no one.
fn libclang_loads() -> bool {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let loads = panic::catch_unwind(bindgen::clang_version).is_ok();
    panic::set_hook(hook);
    loads
}
