//! One DPDK for the tests of the crate: it starts only once per process.

use std::sync::OnceLock;

use crate::{Eal, EalOptions};

/// DPDK, started by the first test that needs it.
pub(crate) fn eal() -> &'static Eal {
    static EAL: OnceLock<Eal> = OnceLock::new();
    EAL.get_or_init(|| Eal::start(&EalOptions::new("longspan_unit_tests")).expect("DPDK starts"))
}
