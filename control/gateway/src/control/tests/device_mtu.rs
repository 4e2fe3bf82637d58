//! Devices whose MTU changes.

use super::*;

/// The MTU that limits each port.
fn limits(running: &Running) -> Vec<Option<u64>> {
    running.show().ports.iter().map(|port| port.short_mtu).collect()
}

#[test]
fn a_device_that_shrinks_limits_its_port_until_it_grows_again_and_a_reload_that_promises_more_is_refused() {
    let lossless = "rate = \"10G\"\nmtu = 9000\ndistance = \"10m\"\nlossless = [{ priorities = [3] }]";
    let with_mtu = |mtu: &str| {
        let (dc0, lh0) = FILE.split_once("name = \"lh0\"").unwrap();
        let of = |part: &str, mtu| part.replace("rate = \"10G\"", &lossless.replace("9000", mtu));
        format!("{}name = \"lh0\"{}", of(dc0, "9000"), of(lh0, mtu))
    };
    let running = Running::start_with(&with_mtu("4000"), true);
    let wait_for = |mtu, expected: &[Option<u64>]| {
        running.mtu.store(mtu, Ordering::Relaxed);
        while limits(&running) != expected {
            thread::yield_now();
        }
    };
    assert_eq!(limits(&running), [None; 2]);
    wait_for(1_500, &[Some(1_500); 2]);
    running.write(&with_mtu("5000"));
    let refused = running.ask(Request::Reload);
    let names_port = |why: &String| why.contains("port lh0") && why.contains("1500") && why.contains("5000");
    assert!(
        matches!(&refused, Response::Refused(why) if why.len() == 1 && names_port(&why[0])),
        "{refused:?}"
    );
    running.write(&with_mtu("3000"));
    let reloaded = running.ask(Request::Reload);
    assert!(matches!(reloaded, Response::Reloaded(_)), "it promises less than before: {reloaded:?}");
    assert_eq!(limits(&running), [Some(1_500); 2], "a reload changes no device");
    wait_for(3_000, &[Some(3_000), None]);
    wait_for(9_000, &[None; 2]);
    running.end();
}
