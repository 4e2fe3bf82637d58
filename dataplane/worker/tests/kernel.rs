//! Frames between a worker and the kernel.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use std::sync::Arc;
use switch::program::{KernelPath, Settings};
use switch::{DropReason, ForwardingSettings, Frame, LearnedRoute, Program, Punt, RouteSettings};
use units::{Interval, PortId, PortSet, Priority};
use worker::{Command, KernelRings, Reply, kernel_rings};

/// An ARP frame, so that its station can be told apart.
fn arp(station: u8) -> Vec<u8> {
    let mut bytes = vec![0; 60];
    bytes[..6].fill(0xff);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 9, station]);
    bytes[12..14].copy_from_slice(&[0x08, 0x06]);
    bytes
}

/// Sends a frame of the kernel.
fn send(rings: &mut KernelRings, port: PortId, bytes: &[u8]) -> bool {
    rings.send(port, |buffer| {
        buffer.extend_from_slice(bytes);
        true
    })
}

fn routed(learned: Vec<LearnedRoute>) -> Settings {
    let mut settings = settings(2);
    let kernel = Some(KernelPath { priority: Priority::from_low_bits(6), learned: learned.into() });
    settings.forwarding = ForwardingSettings::Route(RouteSettings { kernel, ..Default::default() });
    for (number, port) in settings.ports.iter_mut().enumerate() {
        port.addresses = vec![format!("10.0.{number}.254/24").parse().unwrap()];
    }
    settings
}

fn bench() -> (Bench<TestClock>, [Cable; 2], TestClock, KernelRings) {
    let (mut bench, clock, a, b) = one_worker(routed(Vec::new()));
    let (port, rings) = kernel_rings(2, 1_518);
    bench.worker = bench.worker.with_kernel(port);
    (bench, [a, b], clock, rings)
}

#[test]
fn frames_reach_the_kernel_and_come_from_it_without_an_allocation() {
    let (mut bench, [a, b], clock, mut rings) = bench();
    assert!(send(&mut rings, A, &arp(1)) && send(&mut rings, B, &arp(2)));
    a.inject([TestFrame::from_bytes(arp(3))]);
    // The device of the test makes a frame by an allocation for each of two.
    let counted = allocation_counter::measure(|| assert!(bench.worker.turn().is_continue()));
    assert_eq!(counted.count_total, 2);
    let read = rings.read(|frame| (frame.port, frame.class, frame.bytes.clone()));
    assert_eq!(read, Some((A, Punt::Neighbour, arp(3))));
    assert!(rings.read(|_| ()).is_none());
    clock.advance(Interval::from_micros(1));
    assert!(bench.worker.turn().is_continue());
    for (cable, station) in [(a, 1), (b, 2)] {
        let outbound = &cable.outside().outbound;
        assert_eq!(outbound.iter().map(|frame| frame.headers().to_vec()).collect::<Vec<_>>(), [arp(station)]);
    }
}

#[test]
fn a_turn_takes_eight_frames_of_the_kernel_and_the_rest_waits() {
    let (mut bench, [a, _], clock, mut rings) = bench();
    let sent = (0..=255).filter(|station| send(&mut rings, A, &arp(*station))).count();
    assert_eq!(sent, 256);
    for turn in 1..=4 {
        assert!(bench.worker.turn().is_continue());
        clock.advance(Interval::from_micros(1));
        let inspected = bench.inspect(A).port.ingress.answers[6].frames;
        // The inspection takes a turn as well.
        assert_eq!(inspected, 16 * turn);
    }
    assert!(a.outside().outbound.len() <= 64);
}

#[test]
fn a_kernel_that_does_not_read_costs_frames_by_name_and_so_does_a_frame_that_is_too_long() {
    let (mut bench, [a, _], clock, mut rings) = bench();
    // 512 buffers, filled within what the port may give.
    for _ in 0..600 {
        a.inject([TestFrame::from_bytes(arp(1))]);
        assert!(bench.worker.turn().is_continue());
        clock.advance(Interval::from_millis(1));
    }
    let full = |bench: &mut Bench<TestClock>| {
        bench.inspect(A).port.ingress.dropped[0][DropReason::PuntFull.index()].frames
    };
    assert_eq!(full(&mut bench), 88);
    assert_eq!(core::iter::from_fn(|| rings.read(|_| ())).count(), 512);
    let mut long = arp(3);
    long.resize(1_519, 0);
    a.inject([TestFrame::from_bytes(long), TestFrame::from_bytes(arp(2))]);
    assert!(bench.worker.turn().is_continue());
    assert_eq!(rings.read(|frame| frame.bytes[11]), Some(2));
    assert_eq!(full(&mut bench), 89);
}

#[test]
fn a_buffer_that_is_not_filled_is_not_lost() {
    let (_, _, _, mut rings) = bench();
    assert!((0..1_000).all(|_| rings.send(A, |_| false)));
    assert_eq!((0..1_000).filter(|_| send(&mut rings, A, &arp(1))).count(), 512);
}

#[test]
fn the_kernel_learns_which_ports_carry_data() {
    let (mut bench, _, _, rings) = bench();
    assert_eq!(rings.carrying(), PortSet::EMPTY);
    assert!(bench.worker.turn().is_continue());
    assert_eq!(rings.carrying(), PortSet::first(2));
    bench.send(Command::Link(B, false));
    (0..2).for_each(|_| assert!(bench.worker.turn().is_continue()));
    assert_eq!(rings.carrying(), [A].into_iter().collect());
}

#[test]
fn an_exchange_of_routes_returns_the_program_before() {
    let (mut bench, ..) = bench();
    let before = bench.worker.shard().program().clone();
    let learned = LearnedRoute { prefix: "10.9.0.0/16".parse().unwrap(), hops: Vec::new() };
    let after = Arc::new(Program::new(routed(vec![learned])).unwrap());
    bench.send(Command::Exchange(after.clone()));
    assert!(bench.worker.turn().is_continue());
    let Some(Reply::Exchanged(old)) = bench.controls.receive() else { panic!("no reply") };
    assert!(Arc::ptr_eq(&old, &before) && Arc::ptr_eq(bench.worker.shard().program(), &after));
}
