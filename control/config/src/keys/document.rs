//! The whole file of a gateway: `[gateway]`, `[buffer]`, and the tables of the other files.

use switch::program::ProgramError;
use units::{Bytes, PortSet};

use crate::keys::bundle::BundleDecl;
use crate::keys::forwarding::ForwardingDecl;
use crate::keys::kernel::KernelDecl;
use crate::keys::port::{AllProfiles, PortDecl};
use crate::keys::running::{ControlDecl, DpdkDecl, ProcessDecl};
use crate::place::At;
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{Table, table, values};
use crate::value::{LARGEST, Name};

/// The least factor between bytes in cells and bytes on the link: 96 bytes for 89 ([`units::Cells`]), rounded up.
const CELL_OCCUPANCY_LEAST: f64 = 1.08;
/// The value of SONiC. The gateway's own cells need no more than 96 bytes of buffer for 89 on the wire; the rest is
/// margin.
const CELL_OCCUPANCY: f64 = 1.125;

table! {
    /// The name of the gateway, and the seed of its random choices.
    GatewayDecl {
        /// 1 to 64 letters, digits and `. _ - : /`
        name: At<Name>, auto("the file's name without its ending");
        /// Seed of every random choice (ECN, sprayed packets) and of the hash that chooses between equal paths. The same seed and input give the same replay
        seed: At<u64>, default(1_u64), auto("1; `longspan run` draws one from the system");
    }

    /// The pools of the SONiC model.
    BufferDecl {
        /// The pool that all frames share. SONiC: `ingress_pool`, `size`
        shared: At<Bytes>, within(Bytes::ZERO..=LARGEST), default(Bytes(16 << 20));
        /// The pool for groups that pause their senders. Oversubscription is a warning; less than one group may use is an error. SONiC: `ingress_pool`, `xoff`
        headroom: At<Bytes>, within(Bytes::ZERO..=LARGEST), auto("the sum of what the groups may use");
        /// The part of the shared pool that lossy frames may hold; at most `shared`. SONiC: `egress_lossy_pool`, `size`
        egress_lossy: At<Bytes>, within(Bytes::ZERO..=LARGEST), auto("three quarters of `shared`; all of it where no group is lossless");
        /// Factor in the [headroom](#headroom) formula
        cell_occupancy: At<f64>, within(CELL_OCCUPANCY_LEAST..=4.0), default(CELL_OCCUPANCY);
    }

    /// One gateway.
    Document, check {
        gateway: GatewayDecl, absent;
        buffer: BufferDecl, absent;
        forwarding: ForwardingDecl, absent;
        dpdk: DpdkDecl, absent;
        control: ControlDecl, absent;
        process: ProcessDecl, absent;
        kernel: KernelDecl;
        profile: AllProfiles;
        bundle: Vec<BundleDecl>;
        port: Vec<PortDecl>, required("[[port]] with name = \"dc0\" and rate = \"100G\"");
    }
}

impl Document {
    fn check(&self, section: &Section<'_, '_>) {
        // Before anything is done for each port.
        if let Some(port) = self.ports().get(PortSet::CAPACITY) {
            let (count, most) = (self.ports().len(), PortSet::CAPACITY);
            let error = Box::new(ProgramError::PortCount { count, most });
            section.problems.error(&port.place, ProblemKind::Program { error, remedy: String::new() });
        }
        let names = self.ports().iter().filter_map(|port| port.name.as_ref());
        let names = names.map(|at| (&at.place, format!("a port called \"{}\"", at.value.0)));
        let bundles = self.bundles().iter().filter_map(|bundle| bundle.name.as_ref());
        let names = names.chain(bundles.map(|at| (&at.place, format!("a port called \"{}\"", at.value.0))));
        section.problems.refuse_second(names);
        let addresses = self.ports().iter().flat_map(|port| values(&port.addresses));
        let addresses = addresses.map(|at| (&at.place, format!("the address {}", at.value.addr())));
        section.problems.refuse_second(addresses);
    }

    /// Reads the document, and applies its profiles.
    pub fn read_whole(section: &mut Section<'_, '_>) -> Self {
        let mut document = <Self as Table>::read(section);
        let problems = section.problems;
        let mut profiles = document.profile.take().unwrap_or_default();
        let of_ports = profiles.port.take().unwrap_or_default();
        let of_ports = of_ports.into_iter().map(|(name, port)| (name, port.resolved(&profiles, problems)));
        profiles.port = Some(of_ports.collect());
        let ports = document.port.take().into_iter().flatten();
        let ports: Vec<_> = ports.map(|port| port.resolved(&profiles, problems)).collect();
        let ends = ports.iter().skip(1).map(|port| port.place.offset).chain([usize::MAX]);
        for (port, end) in ports.iter().zip(ends) {
            port.check_whole(&(port.place.offset..end), problems);
        }
        document.port = Some(ports);
        document
    }

    /// The bundles, in their order.
    pub fn bundles(&self) -> &[BundleDecl] {
        self.bundle.as_deref().unwrap_or_default()
    }

    /// The ports, in their order.
    pub fn ports(&self) -> &[PortDecl] {
        self.port.as_deref().unwrap_or_default()
    }
}
