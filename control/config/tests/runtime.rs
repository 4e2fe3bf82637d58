//! The configuration of `longspan run`: devices, memory, emulated links, and the changes that a reload may make.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;

use config::runtime::{DeviceKind, Hugepages, Idle, PfcFrames, Privileges, Process};
use config::{Change, Gateway, diff, not_live, parse, render, shared_that_fits};
use units::{Bytes, Cells, Distance, Interval, PortId, WireBytes};

fn valid(text: &str) -> Gateway {
    let gateway = parse(text, "gw.toml").unwrap_or_else(|error| panic!("{error}"));
    assert!(gateway.warnings.is_empty(), "{:?}", gateway.warnings);
    gateway
}

fn shipped(name: &str) -> Gateway {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/gateways").join(name);
    config::load(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Two ports of 10G with frames of 1518 bytes, and what else the first has.
fn two_ports(more: &str) -> String {
    format!(
        "[buffer]\nshared = \"1MiB\"\n\n[[port]]\nname = \"b\"\nrate = \"10G\"\nmtu = 1500\n\
         device = {{ vdev = \"net_ring1\" }}\n\n[[port]]\nname = \"a\"\nrate = \"10G\"\nmtu = 1500\n{more}\n"
    )
}

fn device(gateway: &Gateway, port: usize) -> String {
    match &gateway.runtime.devices[port].as_ref().unwrap().kind {
        DeviceKind::Pci(text) | DeviceKind::Virtual(text) => text.clone(),
    }
}

fn keys(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|change| change.key.as_str()).collect()
}

#[test]
fn a_file_that_says_nothing_of_running_gets_the_defaults() {
    let text = "[gateway]\nname = \".gw:1/east\"\n[[port]]\nname = \"a\"\nrate = \"1G\"\n[[port]]\nname = \"b\"\nrate = \"1G\"\n";
    let runtime = valid(text).runtime;
    assert_eq!((runtime.dpdk.hugepages, runtime.dpdk.pack_below), (Hugepages::Auto, None));
    assert_eq!(runtime.dpdk.idle, Idle::Poll);
    assert_eq!(runtime.dpdk.file_prefix, "-gw-1-east");
    assert_eq!(runtime.control.socket, Path::new("/run/longspan/-gw-1-east.sock"));
    assert_eq!((runtime.control.mode, runtime.control.group), (0o660, None));
    assert_eq!(runtime.process, Process { user: None, privileges: Privileges::Drop });
    assert_eq!(runtime.control.metrics.unwrap().to_string(), "127.0.0.1:9464");
    assert_eq!(
        (runtime.control.stall, runtime.control.drain, runtime.control.repeat),
        (Interval::from_millis(100), Interval::from_secs(1), Interval::from_secs(60))
    );
    assert!(runtime.devices.iter().all(Option::is_none) && runtime.emulations.iter().all(Option::is_none));
    assert_eq!(valid(text).memory(), None);
}

#[test]
fn an_interface_and_a_memif_are_spelled_as_dpdk_has_them() {
    let spelled = |more: &str| device(&valid(&two_ports(more)), 1);
    assert_eq!(
        spelled("device = { interface = \"veth0\" }"),
        "net_af_packet1,iface=veth0,framesz=2048,blocksz=4096,framecnt=1024"
    );
    assert_eq!(spelled("device = { interface = \"veth0\", driver = \"af_xdp\" }"), "net_af_xdp1,iface=veth0");
    assert_eq!(
        spelled(
            "device = { memif = { socket = \"/run/l\", role = \"client\", id = 7 }, receive_descriptors = 32768 }"
        ),
        "net_memif1,role=client,id=7,socket=/run/l,socket-abstract=no,rsize=14,bsize=2048"
    );
    assert_eq!(spelled("device = { pci = \"3B:00.1\" }"), "0000:3b:00.1");
}

#[test]
fn a_slot_of_af_packet_holds_the_longest_frame_and_fits_an_mbuf() {
    let text = two_ports("device = { interface = \"veth0\" }").replace("mtu = 1500", "mtu = 9100");
    let gateway = valid(&text);
    // 9118 and 128, in steps of 512; eight of them are 19 pages.
    assert_eq!(device(&gateway, 1), "net_af_packet1,iface=veth0,framesz=9728,blocksz=77824,framecnt=1024");
    let memory = gateway.memory().unwrap();
    assert!(memory.longest_frame() >= Bytes(9_728 - 32), "{memory}");
}

#[test]
fn a_device_says_its_core_its_rings_and_whether_it_must_pass_pfc_frames() {
    let text = two_ports(
        "device = { vdev = \"net_ring0\", core = 3, receive_descriptors = 64, pfc_frames = \"require\" }",
    );
    let device = valid(&text).runtime.devices[1].clone().unwrap();
    assert_eq!((device.core, device.receive_descriptors, device.transmit_descriptors), (Some(3), 64, 1_024));
    assert_eq!(device.pfc_frames, PfcFrames::Require);
}

#[test]
fn a_delay_alone_is_a_distance_to_headroom_and_round_trips() {
    let tail = "tx_window = \"2us\"\nlossless = [{ priorities = [3] }]\n";
    let near = |link: &str| valid(&two_ports(&format!("{link}\n{tail}")));
    let (emulated, real) = (near("emulation = { delay = \"400us\" }"), near("distance = \"79200m\""));
    assert_eq!(emulated.links[1].distance, Some(Distance(79_200)));
    assert_eq!(emulated.program.settings(), real.program.settings());

    let bifrost = |link: &str| {
        near(&format!("{link}\nflow_control = \"bifrost\"")).program.settings().ports[1].bifrost().copied()
    };
    assert_eq!(bifrost("emulation = { delay = \"400us\" }"), bifrost("distance = \"79200m\""));
}

#[test]
fn an_emulated_link_takes_its_delay_from_the_distance_unless_part_of_it_is_real() {
    let emulation = |more: &str| valid(&two_ports(more)).runtime.emulations[1].unwrap();
    let all = emulation("distance = \"80km\"\nemulation = { reorder = 0.5 }");
    assert_eq!((all.delay, all.reorder_by), (Interval(404_041), Interval(40_404)));
    assert_eq!((all.reorder, all.loss, all.duplicate, all.control), (0.5, 0.0, 0.0, false));
    assert_eq!(emulation("distance = \"80km\"\nemulation = { delay = \"100us\" }").delay, Interval(100_000));
}

/// The lines of `longspan check` about the cores of two pairs of 100G, with `dpdk` and the core of each port.
fn cores(dpdk: &str, cores: [&str; 4]) -> Vec<String> {
    let port = |(number, core)| {
        format!(
            "[[port]]\nname = \"p{number}\"\nrate = \"100G\"\ndevice = {{ vdev = \"net_ring{number}\"{core} }}\n"
        )
    };
    let ports: String = cores.into_iter().enumerate().map(port).collect();
    let forwarding = "[forwarding]\nmode = \"patch\"\npairs = [[\"p0\", \"p1\"], [\"p2\", \"p3\"]]\n";
    let gateway =
        parse(&format!("{dpdk}\n{forwarding}{ports}"), "gw.toml").unwrap_or_else(|error| panic!("{error}"));
    let loads = gateway.cores();
    assert_eq!(gateway.warnings.len(), loads.iter().filter(|load| !load.keeps_up()).count());
    loads.iter().map(ToString::to_string).collect()
}

#[test]
fn each_core_is_said_with_its_ports_and_the_frames_with_which_it_keeps_up() {
    let at = "(at 5,000,000 frames a second)";
    assert_eq!(
        cores("dpdk.cores = [2, 3]", [""; 4]),
        [
            format!("core 2: p0, p1, 200 Gb/s: keeps up with frames of 5,000 B and more on the wire {at}"),
            format!("core 3: p2, p3, 200 Gb/s: keeps up with frames of 5,000 B and more on the wire {at}"),
        ],
        "pairs share a core"
    );
    assert_eq!(
        cores("", ["", ", core = 1", "", ""])
            .iter()
            .map(|line| line.split_once(" 200 Gb/s").unwrap().0)
            .collect::<Vec<_>>(),
        ["core 1: p0, p1,", "a core that the gateway chooses: p2, p3,"]
    );
    let slow = shipped("wire-memif-far.toml").cores();
    assert_eq!(
        slow.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!(
            "a core that the gateway chooses: dc0, lh0, 1.5 Gb/s: keeps up with frames of any length {at}"
        )],
        "so do all ports of a bridge"
    );
}

#[test]
fn a_core_keeps_up_where_it_takes_the_largest_rdma_packets_that_fit_its_ports_and_no_sooner() {
    let loads = |rate: &str, mtu: u64| {
        let text = two_ports("device = { vdev = \"net_ring2\" }")
            .replace("10G", rate)
            .replace("1500", &mtu.to_string());
        parse(&text, "gw.toml").unwrap_or_else(|error| panic!("{error}")).cores().remove(0)
    };
    // 5,000,000 frames of 1,106 bytes a second are 44.24G, of 4,178 bytes 167.12G; each is of two ports.
    for (half, mtu) in [(22_120_u64, 1_500), (83_560, 9_100)] {
        let (fits, beyond) = (loads(&format!("{half}M"), mtu), loads(&format!("{}M", half + 1), mtu));
        assert_eq!((fits.fewest_frames, fits.keeps_up()), (5_000_000, true), "{half}M, {mtu}");
        assert!(!beyond.keeps_up(), "{half}M, {mtu}");
    }
    assert_eq!(loads("22120M", 1_500).least_mean(), WireBytes(1_106));
}

/// The load of the core of a lossless port of 100G with 10 km of fibre, by the length of its ring and its lateness.
fn ring_of(descriptors: u32, late: &str, rate: &str) -> config::cores::CoreLoad {
    load_of("pci = \"0000:3b:00.0\"", descriptors, late, rate)
}

/// The same with this device.
fn load_of(device: &str, descriptors: u32, late: &str, rate: &str) -> config::cores::CoreLoad {
    let text = format!(
        "[[port]]\nname = \"lh0\"\nrate = \"{rate}\"\nmtu = 9100\ndistance = \"10km\"\ninterface_delay = \"{late}\"\n\
         device = {{ {device}, receive_descriptors = {descriptors}, core = 2 }}\n\
         [[port.lossless]]\npriorities = [3]\n\
         [[port]]\nname = \"dc0\"\nrate = \"{rate}\"\ndevice = {{ vdev = \"net_ring1\", core = 3 }}\n\
         [forwarding]\nmode = \"patch\"\npairs = []\n"
    );
    parse(&text, "gw.toml").unwrap_or_else(|error| panic!("{error}")).cores().remove(0)
}

#[test]
fn a_longer_ring_covers_a_pause_at_shorter_frames_and_one_that_lateness_fills_covers_none() {
    let down_to = |descriptors, late| {
        let load = ring_of(descriptors, late, "100G");
        let rings: Vec<_> = load.rings().collect();
        let [("lh0", length)] = rings[..] else { panic!("{rings:?}") };
        length.map(|length| length.0)
    };
    let [short, long, longest] = [1_024, 4_096, 32_768].map(|it| down_to(it, "10us").unwrap());
    // By hand: 107,228 ns until a sender stops, and 9.15 million frames a second.
    assert!(short == 1_366 && long < short && longest < long, "{short} {long} {longest}");
    assert_eq!(down_to(1_024, "100us"), None, "1,000 frames while it is late twice");
    let line = |descriptors, late| ring_of(descriptors, late, "100G").to_string();
    assert!(line(1_024, "10us").ends_with("; below, lh0 pauses down to 1,366 B"));
    assert!(line(1_024, "100us").ends_with("; the receive ring of lh0 is too short for how late it may be"));
    let untold: Vec<_> = load_of("vdev = \"net_ring0\"", 32_768, "10us", "100G")
        .rings()
        .map(|(_, it)| it.unwrap().0)
        .collect();
    assert_eq!(untold, [1_250], "twice the 5 million that are carried, whatever the ring holds");
    assert!(ring_of(1_024, "10us", "1G").to_string().ends_with("a second)"), "it keeps up with any length");
}

#[test]
fn a_file_without_devices_says_nothing_of_cores() {
    let text = "[[port]]\nname = \"a\"\nrate = \"400G\"\n[[port]]\nname = \"b\"\nrate = \"400G\"\n";
    assert_eq!(valid(text).cores(), []);
}

#[test]
fn memory_is_the_sum_of_all_places_where_frames_may_be() {
    let text = two_ports("device = { vdev = \"net_ring0\" }\nemulation = { delay = \"400us\" }");
    let sum = valid(&text).memory().unwrap();
    let link = sum.on_link(PortId(1)).unwrap();
    // 402 us of 60-byte frames, which take 84 bytes of the link, and a burst.
    assert_eq!((link.data, link.control), (502_500_u64.div_ceil(84) + 32, 402 + 32));
    assert_eq!(sum.on_link(PortId(0)), None);
    // Per mbuf: 128 in front of the frame, 2048 for it, 256 of DPDK's. Frames keep one from three quarters of that on.
    let each = Cells::of_frame(Bytes(2_432 * 3 / 4)).0;
    // A MiB, and a burst that the other worker has not seen.
    let buffer = (1_u64 << 16) + 32 * Cells::of_frame(Bytes(1_518)).0;
    // 16 queues of ports, and what each of 2 workers holds.
    let beside = 16 * 66 + 2 * 1_024;
    let waiting = buffer.div_ceil(each) + beside;
    assert_eq!(
        (sum.waiting, sum.mbufs(), sum.mbuf()),
        (waiting, waiting + 2 * 256 + 4 * 1_024 + 6_015 + 2 * 576, Bytes(2_432))
    );
    let expected = "
           3,701 for frames in the buffer of 1.05 MB
             512 kept free to refill receive rings
           2,048 in receive rings
           2,048 in transmit rings
           6,015 on the emulated link of port a
           1,152 in caches and bursts of cores: 2
          15,476 mbufs of 2.43 kB, with their pool:
         37.8 MB for data frames
         1.92 MB for 3,634 control frames
         39.7 MB in all";
    assert_eq!(format!("\n{sum}"), expected);
}

#[test]
fn repair_keeps_mbufs_and_takes_ordinary_memory_for_numbers_which_is_in_the_sum() {
    let of = |repair: &str| {
        let keys =
            "device = { vdev = \"net_ring0\" }\ndistance = \"80km\"\nlossless = [{ priorities = [3] }]\n";
        valid(&two_ports(&format!("{keys}{repair}"))).memory().unwrap()
    };
    let (without, with) = (of(""), of("repair = { frames = 10000 }"));
    assert_eq!((without.kept, without.numbers, without.total()), (0, Bytes::ZERO, without.frames()));
    let numbers = Bytes(10_000 * switch::repair::Repair::NUMBER.0);
    assert_eq!((with.kept, with.numbers, with.total()), (10_000, numbers, with.frames() + numbers));
    let said = [
        "\n          10,000 kept in case the other end has not got them\n".to_owned(),
        format!("\n  {:>14} for numbers of repair, beside hugepages\n", units::human::bytes(numbers.0)),
    ];
    assert!(said.iter().all(|line| with.to_string().contains(line)), "{with}");
    assert!(with.to_string().ends_with(&format!("{} in all", units::human::bytes(with.total().0))), "{with}");
    assert!(!without.to_string().contains("repair") && !without.to_string().contains("kept in case"));
}

#[test]
fn duplicates_and_frames_that_are_held_back_need_room_on_the_link_too() {
    let link = |more: &str| {
        let text = two_ports(&format!(
            "device = {{ vdev = \"net_ring0\" }}\nemulation = {{ delay = \"400us\"{more} }}"
        ));
        let link = valid(&text).memory().unwrap().on_link(PortId(1)).unwrap().clone();
        (link.data - 32, link.control - 32)
    };
    let (data, control) = link("");
    assert_eq!(link(", duplicate = 0.1"), (2 * data, control));
    assert_eq!(link(", duplicate = 0.1, control = true"), (2 * data, 2 * control));
    assert_eq!(link(", reorder = 0.1, reorder_by = \"402us\"").1, 2 * control);
}

#[test]
fn frames_share_memory_where_there_are_devices_and_the_less_copying_is_wanted_the_more_memory_it_takes() {
    let packing = |text: &str| valid(text).program.settings().buffer.packing;
    let text = two_ports("device = { vdev = \"net_ring0\" }");
    let default = packing(&text).unwrap();
    assert_eq!(default.below, Bytes(2_432 * 3 / 4));
    let little = packing(&format!("{text}[dpdk]\npack_below = 256\n")).unwrap();
    assert_eq!(little.below, Bytes(256));
    // A MiB, and a burst that the other worker has not seen: all of it in the shortest frames that keep memory.
    let buffer = (1_u64 << 16) + 32 * Cells::of_frame(Bytes(1_518)).0;
    let [most, least] = [little, default].map(|it| buffer.div_ceil(Cells::of_frame(it.below).0));
    assert_eq!((little.frames - default.frames) as u64, most - least);
    let replayed = text
        .replace("device = { vdev = \"net_ring0\" }", "")
        .replace("device = { vdev = \"net_ring1\" }", "");
    assert_eq!(packing(&replayed), None);
}

#[test]
fn a_buffer_that_needs_more_mbufs_than_there_are_waits_for_the_next_start_and_a_smaller_one_does_not() {
    let text = |shared: &str| two_ports("device = { vdev = \"net_ring0\" }").replace("1MiB", shared);
    let change = |from: &str, to: &str| {
        keys(&not_live(&valid(&text(from)), &valid(&text(from)), &valid(&text(to)))).join(" ")
    };
    assert_eq!(change("1MiB", "2MiB"), "buffer.shared");
    assert_eq!(change("2MiB", "1MiB"), "");
    let [started, running] = ["2MiB", "1MiB"].map(|shared| valid(&text(shared)));
    assert_eq!(not_live(&started, &running, &started), [], "the memory of the start is still there");
}

#[test]
fn a_buffer_that_grows_with_a_rate_fits_with_the_shared_pool_that_is_named() {
    let text = |rate: &str, shared: &str| {
        let lossless =
            "device = { vdev = \"net_ring0\" }\nlossless = [{ priorities = [3] }]\ndistance = \"80km\"";
        two_ports(lossless).replace("10G", rate).replace("1MiB", shared)
    };
    let running = valid(&text("10G", "4MiB"));
    assert_eq!(keys(&not_live(&running, &running, &valid(&text("10G", "4MiB")))), [""; 0]);
    let wanted = valid(&text("12G", "4MiB"));
    assert_eq!(keys(&not_live(&running, &running, &wanted)), ["buffer.headroom"], "which no one wrote");
    let shared = shared_that_fits(&running, &wanted).unwrap();
    let pinned = valid(&text("12G", &shared.to_string()));
    assert_eq!(keys(&not_live(&running, &running, &pinned)), [""; 0]);
    assert_eq!(shared_that_fits(&running, &pinned), None);
    assert!(shared > Bytes(3_000_000), "and no smaller than it must be: {shared}");
    let little = valid(&text("10G", "1MiB"));
    assert_eq!(shared_that_fits(&little, &valid(&text("20G", "1MiB"))), None, "no size makes that fit");
}

#[test]
fn a_diff_names_what_changed_by_key_and_name_with_both_values() {
    let old = shipped("wire-veth.toml");
    let text = render(&old);
    let new =
        valid(&text.replace("weight = 50", "weight = 20").replace("stall = \"100ms\"", "stall = \"1s\""));
    let changes = diff(&old, &new);
    assert_eq!(keys(&changes), ["control.stall", "port.dc0.queue.3.weight", "port.lh0.queue.3.weight"]);
    assert_eq!((changes[1].old.as_deref(), changes[1].new.as_deref()), (Some("50"), Some("20")));
    assert_eq!(not_live(&old, &old, &new), []);
    assert_eq!(diff(&old, &old), []);
}

#[test]
fn a_diff_says_what_is_new_and_what_is_gone() {
    let with = valid(&two_ports(
        "rate_limit = \"1G\"\nlossless = [{ priorities = [3], xoff = \"100kB\" }]\ndistance = \"1m\"",
    ));
    let without = valid(&two_ports("distance = \"1m\""));
    let (added, gone) = (diff(&without, &with), diff(&with, &without));
    let find =
        |changes: &[Change], key: &str| changes.iter().find(|change| change.key == key).cloned().unwrap();
    let xoff = find(&added, "port.a.lossless.3.xoff");
    assert_eq!((xoff.old, xoff.new), (None, Some("\"100kB\"".into())));
    let xoff = find(&gone, "port.a.lossless.3.xoff");
    assert_eq!((xoff.old, xoff.new), (Some("\"100kB\"".into()), None));
    assert!(gone.iter().any(|change| change.key == "port.a.rate_limit.rate"));
}

#[test]
fn a_diff_never_shows_a_key() {
    let old = shipped("wire-memif-near-lscc.toml");
    let text = render(&old).replace("000102030405060708090a0b0c0d0e0f", "ffffffffffffffffffffffffffffffff");
    let changes = diff(&old, &valid(&text));
    assert_eq!(keys(&changes), ["port.lh0.lscc.key"]);
    assert!(!format!("{changes:?}").contains("0001") && !format!("{changes:?}").contains("ffff"));
}

#[test]
fn what_is_made_at_start_is_not_changed_by_a_reload() {
    let old = shipped("wire-memif-near.toml");
    let refused = |from: &str, to: &str| {
        let text = render(&old);
        assert!(text.contains(from), "{text}");
        let new = parse(&text.replacen(from, to, 1), "gw.toml").unwrap_or_else(|error| panic!("{error}"));
        keys(&not_live(&old, &old, &new)).join(" ")
    };
    assert_eq!(refused("hugepages = \"auto\"", "hugepages = \"never\""), "dpdk.hugepages");
    assert_eq!(refused("cores = []", "cores = [1]"), "dpdk.cores");
    assert_eq!(refused("idle = \"poll\"", "idle = \"sleep\""), "dpdk.idle");
    assert_eq!(refused("file_prefix = \"wire-near\"", "file_prefix = \"other\""), "dpdk.file_prefix");
    assert_eq!(refused("arguments = []", "arguments = [\"-v\"]"), "dpdk.arguments");
    assert_eq!(
        refused("socket = \"/run/longspan/wire-near.sock\"", "socket = \"/run/other\""),
        "control.socket"
    );
    assert_eq!(refused("mode = \"660\"", "mode = \"600\""), "control.mode");
    assert_eq!(refused("mode = \"660\"", "mode = \"660\"\ngroup = \"noc\""), "control.group");
    assert_eq!(refused("127.0.0.1:9464", "127.0.0.1:9999"), "control.metrics");
    assert_eq!(refused("privileges = \"drop\"", "privileges = \"keep\""), "process.privileges");
    assert_eq!(refused("[process]", "[process]\nuser = \"nobody\""), "process.user");
    assert_eq!(refused("iface=near0", "iface=near9"), "port.dc0.device.vdev");
    assert_eq!(refused("delay = \"400us\"", "delay = \"399us\""), "port.lh0.emulation.delay");
    assert_eq!(refused("loss = 0.0", "loss = 0.5"), "port.lh0.emulation.loss");
    assert_eq!(refused("mode = \"bridge\"", "mode = \"bridge\""), "");
}

#[test]
fn frames_may_grow_as_far_as_mbufs_hold_them_and_rates_as_far_as_the_emulated_link_does() {
    let text = two_ports("device = { vdev = \"net_ring0\" }\nemulation = { delay = \"400us\" }");
    let old = valid(&text);
    let refused = |from: &str, to: &str| {
        let new = valid(&text.replace(from, to));
        keys(&not_live(&old, &old, &new)).join(" ")
    };
    assert_eq!(
        refused("mtu = 1500", "mtu = 2002"),
        "",
        "2020 bytes is what an mbuf holds, and 28 that drivers want"
    );
    assert_eq!(refused("mtu = 1500", "mtu = 2003"), "port.b.max_frame port.a.max_frame");
    assert_eq!(refused("rate = \"10G\"", "rate = \"9G\""), "");
    assert_eq!(refused("rate = \"10G\"", "rate = \"11G\""), "port.a.rate", "only that port has such a link");
}

#[test]
fn the_sums_in_the_docs_and_in_the_file_of_the_e810_are_what_comes_out() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |path: &str| std::fs::read_to_string(repository.join(path)).unwrap();
    let sum = shipped("wire-memif-far.toml").memory().unwrap();
    assert!(text("docs/configuration.md").contains(&sum.to_string()), "{sum}");
    let sum = shipped("wire-e810.toml").memory().unwrap().to_string();
    assert!(sum.contains("225 MB in all") && sum.contains("8,674 for frames"), "{sum}");
    let file = text("config/gateways/wire-e810.toml");
    assert!(file.contains("225 MB") && file.contains("8,674 frames"));
}
