//! Handoffs from other shards.

use super::*;
use crate::flows::notifications::Notification;
use crate::shard::fabric::way_out::{Cargo, Handoff};
use core::net::Ipv4Addr;
use units::PortSet;
use wire::ip::{Dscp, Ecn};
use wire::roce::{QueuePair, cnp};

fn cnp() -> Notification {
    Notification::Cnp(cnp::Frame {
        destination_mac: MacAddress([2, 0, 0, 1, 0, 1]),
        source_mac: MacAddress([2, 0, 0, 1, 0, 2]),
        tag: None,
        addresses: cnp::Addresses::V4 {
            source: Ipv4Addr::new(10, 0, 0, 2),
            destination: Ipv4Addr::new(10, 0, 0, 1),
            identification: 1,
        },
        dscp: Dscp::from_low_bits(48),
        ecn: Ecn::Ect0,
        ttl: 64,
        source_port: 49_152,
        destination_qp: QueuePair::from_low_bits(7),
    })
}

#[test]
fn a_notification_from_another_shard_changes_the_deadline_of_its_port() {
    let program = Program::new(settings(vec![port(0, &[]), port(1, &[])])).unwrap();
    let ledger = Arc::new(Ledger::new(2, 2));
    let mut fabric = Fabric::<Routed>::new(ShardId(0), &program, ledger, vec![ShardId(0), ShardId(1)]);
    assert_eq!((fabric.take_changed(), fabric.port_deadline(A)), (PortSet::first(2), Nanos::NEVER));
    fabric.accept(Nanos(5), &mut vec![Handoff { egress: A, cargo: Cargo::Notification(cnp()) }]);
    assert_eq!(fabric.port_deadline(A), Nanos::ZERO);
    assert_eq!(fabric.take_changed(), [A].into_iter().collect::<PortSet>());
}
