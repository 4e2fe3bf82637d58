//! The surroundings of a gateway that runs.

use config::Link;
use config::runtime::{
    Control, Device, DeviceKind, Dpdk, Emulation, Hugepages, Idle, PfcFrames, Privileges, Process, Runtime,
};
use proptest::prelude::*;
use units::{Bytes, Interval};

fn dpdk() -> impl Strategy<Value = Dpdk> {
    let hugepages = prop::sample::select(vec![Hugepages::Auto, Hugepages::Require, Hugepages::Never]);
    let cores = prop::sample::subsequence(vec![0_usize, 1, 2, 3, 1_023], 0..=5);
    let argument = prop::sample::select(vec!["--log-level=7", "-m", "512", "--x='a' \"b\"", "\\", "é"]);
    let arguments = prop::collection::vec(argument.prop_map(Into::into), 0..4);
    let idle = prop::sample::select(vec![Idle::Poll, Idle::Sleep]);
    (hugepages, cores, idle, "[a-z0-9_-][a-z0-9._-]{0,63}", arguments, proptest::option::of(60_u64..=9_216))
        .prop_map(|(hugepages, cores, idle, file_prefix, arguments, pack_below)| Dpdk {
            hugepages,
            cores,
            lanes: 1,
            idle,
            file_prefix,
            arguments,
            pack_below: pack_below.map(Bytes),
        })
}

fn control() -> impl Strategy<Value = Control> {
    let metrics = prop::option::of(any::<core::net::SocketAddr>().prop_map(|mut address| {
        // A scope or flow label is not written.
        if let core::net::SocketAddr::V6(address) = &mut address {
            address.set_flowinfo(0);
            address.set_scope_id(0);
        }
        address
    }));
    let access = (0_u32..=0o777, prop::option::of(account()));
    let times =
        (1_000_000_u64..=60_000_000_000, 0_u64..=60_000_000_000, 1_000_000_000_u64..=86_400_000_000_000);
    let telemetry = (metrics, any::<bool>());
    ("/[a-z\"'\\\\]{1,100}", access, telemetry, times, 0_usize..=1_000_000).prop_map(
        |(socket, (mode, group), (metrics, dpdk_telemetry), (stall, drain, repeat), events)| Control {
            socket: socket.into(),
            mode,
            group,
            metrics,
            dpdk_telemetry,
            stall: Interval(stall),
            drain: Interval(drain),
            repeat: Interval(repeat),
            events,
        },
    )
}

fn account() -> impl Strategy<Value = String> {
    "[a-zA-Z_][a-zA-Z0-9._-]{0,31}"
}

fn process() -> impl Strategy<Value = Process> {
    let privileges = prop::sample::select(vec![Privileges::Drop, Privileges::Keep]);
    (prop::option::of(account()), privileges).prop_map(|(user, privileges)| Process { user, privileges })
}

/// A device of port `index`, on one of `cores` or none in particular.
fn device(index: usize, cores: Vec<usize>) -> impl Strategy<Value = Device> {
    let pci = (any::<u16>(), any::<u8>(), 0_u8..32).prop_map(move |(domain, bus, device)| {
        DeviceKind::Pci(format!("{domain:04x}:{bus:02x}:{device:02x}.{index}"))
    });
    let vdev = "(,[a-z]+=[a-z\"'/\\\\]+){0,3}"
        .prop_map(move |arguments| DeviceKind::Virtual(format!("net_ring{index}{arguments}")));
    let core = if cores.is_empty() { (0_usize..1_024).boxed() } else { prop::sample::select(cores).boxed() };
    let ring = || (6_u32..16).prop_map(|exponent| 1_u16 << exponent);
    let pfc_frames = prop::sample::select(vec![PfcFrames::Require, PfcFrames::Warn]);
    (prop_oneof![pci, vdev], prop::option::of(core), ring(), ring(), pfc_frames).prop_map(
        |(kind, core, receive_descriptors, transmit_descriptors, pfc_frames)| Device {
            kind,
            core,
            receive_descriptors,
            transmit_descriptors,
            pfc_frames,
        },
    )
}

/// An emulated link of at most that delay.
fn emulation(longest: Interval) -> impl Strategy<Value = Emulation> {
    let probability = || (0_u32..=1_000).prop_map(|part| f64::from(part) / 1_000.0);
    let times = (0..=longest.0, 1_000_u64..=200_000_000);
    (times, probability(), probability(), probability(), any::<bool>()).prop_map(
        |((delay, reorder_by), loss, duplicate, reorder, control)| Emulation {
            delay: Interval(delay),
            loss,
            duplicate,
            reorder,
            reorder_by: Interval(reorder_by),
            control,
        },
    )
}

/// Runtime settings that fit ports with these links. Only a link of known distance may be emulated: the delay of
/// another one would become its distance, and bind the headroom.
pub fn runtime(links: Vec<Link>) -> impl Strategy<Value = Runtime> {
    (dpdk(), control(), process()).prop_flat_map(move |(dpdk, control, process)| {
        let one = |index: usize, link: &Link| {
            let emulation = match link.distance {
                Some(distance) => prop::option::of(emulation(distance.propagation())).boxed(),
                None => Just(None).boxed(),
            };
            (prop::option::of(device(index, dpdk.cores.clone())), emulation)
        };
        let around = (Just(dpdk.clone()), Just(control), Just(process));
        (around, one(0, &links[0]), one(1, &links[1])).prop_map(
            |((dpdk, control, process), first, second)| Runtime {
                dpdk,
                control,
                process,
                devices: vec![first.0, second.0],
                emulations: vec![first.1, second.1],
                kernel: None,
            },
        )
    })
}
