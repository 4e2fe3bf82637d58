//! Two gateways that repair what the link between them loses.

use crate::configuration::{LOSSLESS, port};
use crate::lab::{Flow, Gateway, Lab, port as shown_port, wait_until};
use crate::lanes::{exchange_flows, joined};
use crate::on_the_wire;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![on_the_wire("a_link_that_loses_frames_loses_none_of_those_that_are_repaired", all_arrive)]
}

const FLOWS: u16 = 8;
const FRAMES: u64 = 500;

/// One end of a memif that takes 400 us and loses one frame in a hundred, with a port for a host. An end may be suspended for
/// long, which is no outage.
fn end(role: &str, socket: &str) -> String {
    format!(
        "[gateway]\nname = \"{role}\"\n[buffer]\nshared = \"8MiB\"\n[dpdk]\nidle = \"sleep\"\n\
         [forwarding]\nmode = \"patch\"\npairs = [[\"dc0\", \"lh0\"]]\n\
         [[port]]\nname = \"lh0\"\nrate = \"100M\"\nmtu = 1500\ndistance = \"80km\"\n\
         device = {{ memif = {{ socket = \"{socket}\", role = \"{role}\" }} }}\n\
         emulation = {{ delay = \"400us\", loss = 0.01 }}\nrepair = {{ outage = \"1s\" }}\n\
         classify = {{ trust = \"dscp\", default = 0, dscp = {{ \"26\" = 3 }} }}\n\
         [[port.lossless]]\npriorities = [3]\nxoff = \"64KiB\"\nxon = \"32KiB\"\nheadroom = \"1MiB\"\n{}",
        port(0, "dc0", "1G")
    )
}

fn flows(first: u16) -> Vec<Flow> {
    let (dscp, priority) = LOSSLESS;
    let flow = |port| Flow { port, dscp, priority, bps: 4_000_000, count: Some(FRAMES) };
    (first..first + FLOWS).map(flow).collect()
}

fn all_arrive(lab: &Lab) {
    let ([one, other], gateways) = joined(lab, end);
    let figure = |gateway: &Gateway, name: &str| shown_port(&gateway.show(), "lh0")["repair"][name].as_u64();
    wait_until("both ends to repair", || gateways.iter().all(|it| figure(it, "is_up") == Some(1)));

    exchange_flows(lab, [(&one, &other, flows(1_000)), (&other, &one, flows(1_000 + FLOWS))]);
    for gateway in &gateways {
        assert!(figure(gateway, "sent_again") > Some(10), "the link has lost some");
        assert_eq!((figure(gateway, "abandoned"), figure(gateway, "skipped")), (Some(0), Some(0)));
        wait_until("all to be settled", || figure(gateway, "kept_frames") == Some(0));
        assert_eq!(gateway.unaccounted_frames(), 0);
    }
    gateways.into_iter().for_each(|gateway| drop(gateway.end()));
}
