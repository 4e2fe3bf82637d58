//! `[dpdk]`.

use units::Bytes;

use crate::problem::ProblemKind;
use crate::reader::{At, Section};
use crate::runtime::{Hugepages, Idle};
use crate::value::{Argument, Core, FilePrefix, Length};

/// The environment of all devices.
#[derive(Default)]
pub(crate) struct DpdkDecl {
    pub hugepages: Option<At<Hugepages>>,
    pub cores: Option<At<Vec<At<Core>>>>,
    pub idle: Option<At<Idle>>,
    pub file_prefix: Option<At<FilePrefix>>,
    pub arguments: Option<At<Vec<At<Argument>>>>,
    pub pack_below: Option<At<Bytes>>,
}

impl DpdkDecl {
    pub fn read(dpdk: &mut Section<'_, '_>) -> Self {
        Self {
            hugepages: dpdk.optional("hugepages"),
            cores: cores(dpdk),
            idle: dpdk.optional("idle"),
            file_prefix: dpdk.optional("file_prefix"),
            arguments: dpdk.list("arguments"),
            pack_below: pack_below(dpdk),
        }
    }
}

/// Each core once.
fn cores(dpdk: &mut Section<'_, '_>) -> Option<At<Vec<At<Core>>>> {
    let cores = dpdk.list::<Core>("cores")?;
    for (index, At { value: Core(core), place }) in cores.value.iter().enumerate() {
        if let Some(first) = cores.value[..index].iter().find(|first| first.value.0 == *core) {
            let what = format!("core {core}");
            let line = dpdk.problems.line(&first.place);
            dpdk.problems.error(place, ProblemKind::Twice { what, line });
        }
    }
    Some(cores)
}

fn pack_below(dpdk: &mut Section<'_, '_>) -> Option<At<Bytes>> {
    let length = dpdk.optional::<Length>("pack_below")?.map(|Length(bytes)| bytes);
    if (Bytes(60)..=Bytes(9_216)).contains(&length.value) {
        return Some(length);
    }
    let got = length.value.0.to_string();
    dpdk.problems.error(&length.place, ProblemKind::OutOfRange { got, valid: "60 to 9216 bytes" });
    None
}
