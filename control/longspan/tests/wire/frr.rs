//! Debian's FRR over the kernel path: BGP and BFD between two sites with a bundle between them.

use crate::kernel::{reaches, routed, station, tables, tap};
use crate::lab::{Gateway, Lab, Namespace, Process, wait_until};
use crate::on_the_wire;
use libtest_mimic::Trial;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

pub fn tests() -> Vec<Trial> {
    vec![on_the_wire(
        "frr_learns_routes_over_a_bundle_and_withdraws_them_below_its_least_members",
        frr_learns,
    )]
}

/// The prefixes that the far site announces beside its own.
const ROUTES: u64 = 10_000;
/// Where Debian has the daemons.
const DAEMONS: &str = "/usr/lib/frr";

/// The daemons of FRR in one network namespace.
struct Frr<'a> {
    namespace: &'a Namespace,
    directory: PathBuf,
    _daemons: Vec<Process>,
}

impl<'a> Frr<'a> {
    fn start(lab: &Lab, namespace: &'a Namespace, name: &str, bgp: &str) -> Self {
        let directory = lab.path(&format!("frr-{name}"));
        fs::create_dir(&directory).unwrap();
        // They change to a user of their own.
        fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
        let daemon = |(daemon, text): (&str, &str)| {
            let of = |end: &str| directory.join(format!("{daemon}.{end}"));
            fs::write(of("conf"), text).unwrap();
            let mut command = namespace.command(&format!("{DAEMONS}/{daemon}"));
            command.arg("-f").arg(of("conf")).arg("-i").arg(of("pid"));
            command.arg("-z").arg(directory.join("zserv.api")).arg("--vty_socket").arg(&directory);
            if daemon == "bfdd" {
                command.arg("--bfdctl").arg(directory.join("bfdd.sock"));
            }
            let process = Process::start(&format!("{daemon}-{name}"), command, lab.directory());
            // The others connect to it.
            wait_until(&format!("{daemon} to start"), || directory.join(format!("{daemon}.vty")).exists());
            process
        };
        let daemons = [("zebra", ""), ("bfdd", ""), ("bgpd", bgp)].map(daemon).into();
        Self { namespace, directory, _daemons: daemons }
    }

    /// The answer to a command.
    fn ask(&self, command: &str) -> String {
        let directory = self.directory.to_str().unwrap();
        self.namespace.run("vtysh", &["--vty_socket", directory, "-c", command])
    }
}

/// The BGP of side 0 or 1, which announces its own network and `more`.
fn bgp(side: usize, more: u64) -> String {
    let (own, peer) = (side + 1, 2 - side);
    let more: String =
        (0..more).map(|it| format!("  network 10.{}.{}.0/24\n", 100 + it / 256, it % 256)).collect();
    format!(
        "router bgp 6500{own}\n bgp router-id 10.255.0.{own}\n no bgp ebgp-requires-policy\n no bgp network import-check\n \
         neighbor 10.255.0.{peer} remote-as 6500{peer}\n neighbor 10.255.0.{peer} timers connect 1\n \
         neighbor 10.255.0.{peer} bfd\n neighbor 10.255.0.{peer} advertisement-interval 0\n address-family ipv4 unicast\n  network 10.77.{own}.0/24\n{more} exit-address-family\n"
    )
}

fn mac(side: usize, port: usize) -> String {
    format!("02:00:5e:00:0{}:0{port}", side + 1)
}

fn configuration(side: usize, kernel: &Namespace) -> String {
    let own = side + 1;
    let of = |port, more: &str| format!("mac = \"{}\"\n{more}", mac(side, port));
    format!(
        "[gateway]\nname = \"{}\"\n[buffer]\nshared = \"8MiB\"\n[dpdk]\nidle = \"sleep\"\n[kernel]\nnamespace = \"{}\"\n\
         learn = [\"dc0\"]\n[forwarding]\nmode = \"route\"\n[[bundle]]\nname = \"lh\"\nmembers = [\"lh0\", \"lh1\"]\nleast = 2\n\
         {}{}{}",
        ["near", "far"][side],
        kernel.name(),
        routed(0, "dc0", &of(0, &format!("addresses = [\"10.77.{own}.254/24\"]\n"))),
        routed(1, "lh0", &of(1, &format!("addresses = [\"10.255.0.{own}/30\"]\n"))),
        routed(2, "lh1", &of(2, "")),
    )
}

fn frr_learns(lab: &Lab) {
    let names = ["near", "far"];
    let gateways = names.map(|name| lab.namespace(name));
    let kernels = names.map(|name| lab.namespace(&format!("kernel-{name}")));
    for link in ["lh0", "lh1"] {
        gateways[0].connect(link, &gateways[1], link, 1_500);
    }
    let hosts = [0, 1].map(|side| station(lab, side as u8 + 1, &gateways[side], "dc0", "-"));
    for side in [0, 1] {
        let (own, peer) = (side + 1, 2 - side);
        tap(&kernels[side], "dc0", &format!("10.77.{own}.254/24"));
        tap(&kernels[side], "lh", &format!("10.255.0.{own}/30"));
        // The kernel forgets neighbours when an address is set.
        kernels[side].ip(&format!("link set lh address {}", mac(side, 1)));
        let of_peer = mac(1 - side, 1);
        kernels[side].ip(&format!("neigh replace 10.255.0.{peer} lladdr {of_peer} dev lh nud permanent"));
    }
    let running = [0, 1]
        .map(|side| Gateway::start(lab, &gateways[side], names[side], &configuration(side, &kernels[side])));
    let frr = [0, 1].map(|side| {
        Frr::start(lab, &kernels[side], names[side], &bgp(side, if side == 1 { ROUTES } else { 0 }))
    });

    let routes = || tables(&running[0]).last().map_or(0, |it| it.1);
    wait_until("the routes of the far site", || routes() > ROUTES);
    wait_until("frames to pass", || reaches(&hosts[0], &hosts[1].address));
    for frr in &frr {
        wait_until("BFD to be up", || frr.ask("show bfd peers brief").contains(" up"));
    }
    gateways[0].ip("link set lh1 down");
    wait_until("the routes to be withdrawn", || routes() < 100);
    // Routes go in several tables, and that of the far site may be in the last.
    wait_until("frames to stop", || !reaches(&hosts[0], &hosts[1].address));
    gateways[0].ip("link set lh1 up");
    wait_until("the routes to come back", || routes() > ROUTES);
    wait_until("frames to pass", || reaches(&hosts[0], &hosts[1].address));
    running.into_iter().for_each(|gateway| drop(gateway.end()));
}
