//! Links that are commissioned: over veth and memif without a fault, and with each fault planted in what joins both
//! ends.

use crate::configuration::{LongHaulEnd, two_ports};
use crate::lab::{Lab, Namespace, PYTHON, Process, complete};
use crate::on_the_wire;
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("commissioning_names_nothing_on_a_sound_link_over_veth", sound),
        on_the_wire("commissioning_names_nothing_on_an_emulated_link_over_memif", sound_memif),
        on_the_wire(
            "commissioning_names_a_short_mtu_a_rewritten_dscp_and_a_kept_ether_type",
            marks_and_lengths,
        ),
        on_the_wire("commissioning_names_swallowed_pfc", swallowed),
        on_the_wire("commissioning_names_a_loss_of_one_frame_in_thousands", lossy),
        on_the_wire("commissioning_names_a_peer_that_obeys_late", late),
        on_the_wire("commissioning_names_a_core_that_is_taken_away", slow),
        on_the_wire("commissioning_refuses_a_link_with_data_and_a_stranger_starts_nothing", refused),
    ]
}

const KEY: &str = "5c0ff1e5c0ff1e5c0ff1e5c0ff1e5c0f\n";
const OTHER_KEY: &str = "5c0ff1e5c0ff1e5c0ff1e5c0ff1e5c00\n";
const RATE: &str = "40M";
/// Headroom for 420 ms, for which a busy machine takes no core away.
const ROOMY: &str = "2MiB";

/// Passes frames that come to n0 on to f0, as its argument says: PFC frames 350 ms later, or those of DSCP 8 with
/// DSCP 10.
const OTHERWISE: &str = "
import collections, select, socket, sys, time
near = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
near.setsockopt(263, 23, 1)
near.bind(('n0', 3))
far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
far.bind(('f0', 0))
waiting = collections.deque()
print('passes', flush=True)
while True:
    left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    if select.select([near], [], [], left)[0]:
        frame = near.recv(2048)
        if frame[12:14] == b'\\x88\\x08' and sys.argv[1] == 'pfc':
            waiting.append((time.monotonic() + 0.35, frame))
        if frame[12:14] == b'\\x08\\x00' and frame[15] >> 2 == 8 and sys.argv[1] == 'dscp':
            tos = 0x28 | frame[15] & 3
            checksum = int.from_bytes(frame[24:26], 'big') ^ 0xffff
            checksum += tos - frame[15]
            checksum = (checksum & 0xffff) + (checksum >> 16) ^ 0xffff
            far.send(frame[:15] + bytes([tos]) + frame[16:24] + checksum.to_bytes(2, 'big') + frame[26:])
    while waiting and waiting[0][0] <= time.monotonic():
        far.send(waiting.popleft()[1])
";

/// Stops a process for five messages of the other end, which sends one in 50 ms. 512 KiB of headroom cover half of that
/// time, and the other end falls silent after 500 ms.
const STOPS: &str = "
import os, signal, socket, sys
near = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
near.settimeout(60)
near.bind(('lh0', 0x88b5))
os.kill(int(sys.argv[1]), signal.SIGSTOP)
for _ in range(5):
    near.recv(2048)
os.kill(int(sys.argv[1]), signal.SIGCONT)
";

/// What the file of an end says; `headroom` is that of the lossless groups.
fn configuration(headroom: &str) -> String {
    let text = two_ports("1G", RATE).replace("headroom = \"1MiB\"", &format!("headroom = \"{headroom}\""));
    text.replace("distance = \"10m\"", "distance = \"10m\"\ntx_window = \"1ms\"")
}

fn start(lab: &Lab, namespace: &Namespace, name: &str, text: &str, key: &str) -> Process {
    let [file, key_file, out] = ["toml", "key", "report"].map(|ending| lab.path(&format!("{name}.{ending}")));
    fs::write(&file, complete(text, &lab.unique(name), &lab.socket(&format!("{name}.sock")))).unwrap();
    fs::write(&key_file, key).unwrap();
    let mut command = namespace.command("nice");
    command.args(["-n", "-5", env!("CARGO_BIN_EXE_longspan"), "commission"]).arg(&file);
    command.args(["--port", "lh0", "--for", "300ms", "--json", "--key-file"]).arg(&key_file);
    command.arg("--out").arg(&out);
    Process::start(name, command, lab.directory())
}

/// What both ends say: their reports and whether they found no fault.
struct Said {
    reports: [Value; 2],
    is_good: [bool; 2],
}

impl Said {
    /// What two ends say that `start` starts: again, up to three times, where one fell silent because a busy machine
    /// took its core away for half a second. No other end of a course is tried again.
    fn by(lab: &Lab, start: impl Fn() -> [Process; 2]) -> Self {
        let mut tries = (0..3).map(|_| Self::once(lab, start()));
        let is_silent =
            |report: &Value| report["ended"].as_str().is_some_and(|it| it.contains("fell silent"));
        let lasts = |said: &Self| !said.reports.iter().any(is_silent);
        tries.find(lasts).expect("in a course of three no end falls silent")
    }

    fn once(lab: &Lab, ends: [Process; 2]) -> Self {
        let ended = ends.map(Process::ended);
        let read = |ended: &crate::lab::Ended| {
            serde_json::from_str::<Value>(&ended.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", ended.stderr))
        };
        let reports = ended.each_ref().map(read);
        for (name, ended) in ["near", "far"].iter().zip(&ended) {
            let file =
                |file: &str| fs::read_to_string(lab.path(&format!("{name}.report")).join(file)).unwrap();
            assert_eq!(file("report.json"), ended.stdout);
            assert!(file("report.html").contains("Commissioning of lh0"));
        }
        Self { reports, is_good: ended.each_ref().map(|it| it.status.success()) }
    }

    /// The names of all faults.
    fn faults(&self) -> BTreeSet<&str> {
        let steps = self.reports.iter().flat_map(|report| report["steps"].as_array().into_iter().flatten());
        let faults = steps.flat_map(|step| step["faults"].as_array().into_iter().flatten());
        faults.filter_map(|fault| fault["fault"].as_str()).collect()
    }

    #[track_caller]
    fn expect(&self, faults: &[&str]) {
        let shown = || self.reports.iter().map(|it| format!("{it:#}")).collect::<Vec<_>>().join("\n");
        assert!(self.reports.iter().all(|it| it["complete"] == true), "{}", shown());
        assert_eq!(self.faults(), faults.iter().copied().collect(), "{}", shown());
        assert_eq!(self.is_good, [faults.is_empty(); 2]);
    }
}

fn sound(lab: &Lab) {
    let namespaces = ["near", "far"].map(|name| lab.namespace(name));
    namespaces[0].connect("lh0", &namespaces[1], "lh0", 1_500);
    let text = configuration(ROOMY);
    let start = |side: usize| start(lab, &namespaces[side], ["near", "far"][side], &text, KEY);
    Said::by(lab, || [0, 1].map(start)).expect(&[]);
}

fn sound_memif(lab: &Lab) {
    let socket = lab.socket("link.memif");
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let socket = socket.to_str().expect("the lab's paths are plain");
    let namespaces = ["near", "far"].map(|name| lab.namespace(name));
    let start = |side: usize| {
        let name = ["near", "far"][side];
        let scheme = "[[port.lossless]]\npriorities = [3]\nxoff = \"256KiB\"\nheadroom = \"2MiB\"";
        let end = LongHaulEnd { name, side, socket, shared: "8MiB", rate: RATE, scheme };
        let text = end
            .bridge(&[("dc0", "1G")])
            .replace("distance = \"80km\"", "distance = \"80km\"\ntx_window = \"1ms\"");
        start(lab, &namespaces[side], name, &text, KEY)
    };
    Said::by(lab, || [0, 1].map(start)).expect(&[]);
}

/// Both ends, with a device between them in which a fault is planted.
struct Joined {
    namespaces: [Namespace; 2],
    fibre: Namespace,
}

impl Joined {
    /// Joins both ends. What comes in from the near one goes through `filters` first: those of `tc`, what they match
    /// goes nowhere.
    fn new(lab: &Lab, filters: &[&str]) -> Self {
        let namespaces = ["near", "far"].map(|name| lab.namespace(name));
        let fibre = lab.namespace("fibre");
        namespaces[0].connect("lh0", &fibre, "n0", 1_500);
        fibre.connect("f0", &namespaces[1], "lh0", 1_500);
        fibre.connect("d0", &fibre, "d1", 1_500);
        let tc = |words: &str| drop(fibre.run("tc", &words.split(' ').collect::<Vec<_>>()));
        for (from, to) in [("n0", "f0"), ("f0", "n0")] {
            tc(&format!("qdisc add dev {from} ingress"));
            let pass = format!("action mirred egress redirect dev {to}");
            let own = if from == "n0" { filters } else { &[] };
            for (number, filter) in own.iter().enumerate() {
                let nowhere = "action mirred egress redirect dev d0";
                tc(&format!("filter add dev {from} parent ffff: prio {} {filter} {nowhere}", number + 1));
            }
            tc(&format!("filter add dev {from} parent ffff: prio 99 protocol all u32 match u32 0 0 {pass}"));
        }
        Self { namespaces, fibre }
    }

    /// Passes frames on in another way: `what` is `pfc` or `dscp`.
    fn pass_otherwise(&self, lab: &Lab, what: &str) -> Process {
        let mut command = self.fibre.command(PYTHON);
        command.args(["-c", OTHERWISE, what]);
        let mut passes = Process::start("otherwise", command, lab.directory());
        passes.wait_for_output("passes");
        passes
    }

    fn start(&self, lab: &Lab, headroom: &str) -> [Process; 2] {
        let text = configuration(headroom);
        [0, 1].map(|side| start(lab, &self.namespaces[side], ["near", "far"][side], &text, KEY))
    }
}

const PFC: &str = "protocol 0x8808 u32 match u32 0 0";
const DSCP_8: &str = "protocol ip u32 match ip tos 0x20 0xfc";
const LLDP: &str = "protocol 0x88cc u32 match u32 0 0";
/// Packets of 1,280 bytes and more. A shorter MTU of the veth would not do: af_packet would offer the frame again and
/// again.
const LONG: &str = "protocol ip u32 match u16 0x0500 0xff00 at 2";
/// One test frame of 4,096, by its number.
const ONE_OF_MANY: &str = "protocol ip u32 match u16 0x0abc 0x0fff at 40";

fn marks_and_lengths(lab: &Lab) {
    let joined = Joined::new(lab, &[DSCP_8, LLDP, LONG]);
    let _passes = joined.pass_otherwise(lab, "dscp");
    Said::by(lab, || joined.start(lab, ROOMY)).expect(&["dscp", "ether_type", "length"]);
}

fn swallowed(lab: &Lab) {
    // The sender goes on where its pauses are swallowed, and headroom overflows.
    let joined = Joined::new(lab, &[PFC]);
    let said = Said::by(lab, || joined.start(lab, ROOMY));
    said.expect(&["dropped", "late_obedience", "pfc_lost"]);
}

fn lossy(lab: &Lab) {
    let joined = Joined::new(lab, &[ONE_OF_MANY]);
    Said::by(lab, || joined.start(lab, ROOMY)).expect(&["loss"]);
}

fn late(lab: &Lab) {
    let joined = Joined::new(lab, &[PFC]);
    let _passes = joined.pass_otherwise(lab, "pfc");
    Said::by(lab, || joined.start(lab, "1MiB")).expect(&["dropped", "late_obedience"]);
}

fn slow(lab: &Lab) {
    let namespaces = ["near", "far"].map(|name| lab.namespace(name));
    namespaces[0].connect("lh0", &namespaces[1], "lh0", 1_500);
    let text = configuration("512KiB");
    let start = |side: usize| start(lab, &namespaces[side], ["near", "far"][side], &text, KEY);
    let said = Said::by(lab, || {
        let mut ends = [0, 1].map(start);
        ends[0].wait_for_output("step 4 is done");
        namespaces[0].run(PYTHON, &["-c", STOPS, &ends[0].id().to_string()]);
        ends
    });
    let last = said.reports[0]["steps"].as_array().and_then(|it| it.last());
    let mut named = last.and_then(|it| it["faults"].as_array()).into_iter().flatten();
    let is_of_this_end = |it: &Value| it["text"].as_str().is_some_and(|it| it.starts_with("this end"));
    assert!(named.any(|it| it["fault"] == "slow_core" && is_of_this_end(it)), "{:#}", said.reports[0]);
}

fn refused(lab: &Lab) {
    let namespaces = ["near", "far"].map(|name| lab.namespace(name));
    namespaces[0].connect("lh0", &namespaces[1], "lh0", 1_500);
    let near = start(lab, &namespaces[0], "near", &configuration("1MiB"), KEY);
    let mut far = start(lab, &namespaces[1], "far", &configuration("1MiB"), OTHER_KEY);
    // Both have listened, and neither takes the other one for its own.
    let received =
        || namespaces[1].run("cat", &["/sys/class/net/lh0/statistics/rx_packets"]).trim().parse::<u64>();
    crate::lab::wait_until("messages of the stranger", || received().is_ok_and(|it| it > 10));
    far.expect_running();
    let sends = "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); s.bind(('lh0', 0)); \
                 s.send(bytes([2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0]) + bytes(50))";
    namespaces[1].run(PYTHON, &["-c", sends]);
    let ended = near.ended();
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(report["ended"].as_str().is_some_and(|it| it.contains("data of others")), "{report:#}");
    assert!(report["ignored"]["forged"].as_u64() > Some(0) && report["steps"] == Value::Array(Vec::new()));
    let far = far.end();
    assert_eq!(far.status.code(), Some(1), "{}", far.stderr);
}
