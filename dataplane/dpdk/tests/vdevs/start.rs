//! Failures before there is a port.

use dpdk::{Eal, EalError, EalOptions, Memory, Port, PortError, PortSettings};
use units::Bytes;

use crate::support::{eal, pool};

#[test]
fn dpdk_is_started_once() {
    eal();
    assert!(matches!(Eal::start(&EalOptions::new("longspan_again")), Err(EalError::AlreadyStarted)));
}

#[test]
fn too_few_hugepages_are_noticed_before_anything_is_started() {
    let options =
        EalOptions { memory: Memory::Hugepages(Bytes(1 << 60)), ..EalOptions::new("longspan_huge") };
    let error = Eal::start(&options).unwrap_err();
    assert!(matches!(error, EalError::TooFewHugepages { wanted: Bytes(0x1000_0000_0000_0000), .. }));
    assert!(error.to_string().contains("vm.nr_hugepages="), "{error}");
}

#[test]
fn a_pci_device_that_is_not_there_is_named() {
    let options = EalOptions { pci: vec!["ffff:ff:1f.7,x=1".to_owned()], ..EalOptions::new("longspan_pci") };
    let error = Eal::start(&options).unwrap_err();
    assert!(matches!(error, EalError::NoPciDevice(device) if device == "ffff:ff:1f.7"));
}

#[test]
fn a_device_that_cannot_be_made_is_named() {
    for device in ["net_pcap_missing,rx_pcap=/nowhere/in.pcap", "net_memif_bad,role=king"] {
        let error = eal().attach(device).unwrap_err();
        assert!(matches!(&error, EalError::Device { device: named, .. } if named == device), "{error}");
    }
    for (device, similar) in [("net_of_tomorrow0", None), ("net_pcp0,tx_pcap=out.pcap", Some("net_pcap"))] {
        let error = eal().attach(device).unwrap_err();
        assert!(matches!(error, EalError::NoDriver { meant, .. } if meant == similar), "{error}");
    }
    assert!(matches!(eal().attach("net_null0\0"), Err(EalError::Argument(_))));
}

#[test]
fn a_port_that_is_not_there_is_named() {
    let pool = pool("start_nowhere", 63, 256);
    let error = Port::configure("net_nowhere", &PortSettings::new(&pool)).unwrap_err();
    assert!(matches!(error, PortError::NotFound(name) if name == "net_nowhere"));
}

#[test]
fn a_thread_may_register_twice() {
    std::thread::spawn(|| {
        let first = eal().register_thread().unwrap();
        let second = eal().register_thread().unwrap();
        drop(second);
        drop(first);
        drop(eal().register_thread().unwrap());
    })
    .join()
    .unwrap();
}
