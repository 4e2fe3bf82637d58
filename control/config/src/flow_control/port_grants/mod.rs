//! Builds port grants on a port, and the queues of far ports.

pub(crate) mod keys;

use switch::flow_control::port_grants::settings::PortGrants;
use switch::program::{Bifrost, PortSettings, QueueSettings};
use units::Priority;
use wire::grants::far_port;

use super::bifrost::plan::Slots;
use crate::place::Place;
use crate::table::at;
use keys::PortGrantsDecl;

pub(crate) static PLANNED: Slots =
    Slots { needs: "port grants, or else PFC", message: Some(far_port::MESSAGE_LEN), is_strict: false };

/// Builds port grants over these slots.
pub(super) fn build(decl: &PortGrantsDecl, slots: Bifrost) -> PortGrants {
    PortGrants { slots, far_ports: decl.far_ports() }
}

/// The keys beside those of the slots from which [`build`] builds the same port grants.
pub(super) fn in_force(port_grants: &PortGrants) -> PortGrantsDecl {
    PortGrantsDecl { far_ports: at(port_grants.far_ports), place: Place::default() }
}

/// Adds the queues of far ports to a port whose groups are known. Each is like that of its priority.
pub(super) fn add_queues(port_grants: &PortGrants, port: &mut PortSettings) {
    let like = |priority: Priority| port.queues[priority.index()];
    let added: Vec<QueueSettings> = port_grants.queues(port.lossless()).map(like).collect();
    port.queues.extend(added);
}
