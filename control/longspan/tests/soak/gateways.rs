//! Two gateways with an emulated long link between them, two hosts at each, and a malicious host.

use crate::configuration::LongHaulEnd;
use crate::lab::{Gateway, Host, Lab, Namespace, answers, cores, ping, repository, wait_until};
use std::time::Duration;

/// The ends of the long link: the one that stays for the whole soak, and the one that is killed.
pub const NEAR: usize = 0;
pub const FAR: usize = 1;
/// The names of the ends.
pub const NAMES: [&str; 2] = ["near", "far"];

/// The addresses that the gateways have for LSCC.
pub const FEEDBACK: [&str; 2] = ["10.255.0.1", "10.255.0.2"];

/// The rates of the links of the lossless receiver and of the flooded host.
const BOTTLENECK: &str = "12M";
const FLOODED: &str = "1M";

/// Starts a program before everything else that shares the cores, in any session, because other load says nothing about
/// the gateways. They sleep when they have nothing to do, and leave the cores to the hosts.
const LAUNCHER: [&str; 3] = ["chrt", "--rr", "1"];
/// The same where there are lanes: the lead never sleeps, so it has what others leave of its core.
pub const LAUNCHER_OF_LANES: [&str; 3] = ["nice", "-n", "19"];

/// How long a busy machine may suspend a worker. The bounds of the schemes cover it at the long link, and the rings of the
/// devices have slots for it. The headroom is automatic, and covers none of it: what arrives in the meantime goes to the
/// shared pool.
pub const LATENESS: Duration = Duration::from_millis(500);
/// A late worker may fill half of the shared pool: what the long link carries in `LATENESS`, and what the lossless sender offers.
const SHARED: &str = "8MiB";

/// The values that a reload changes, and their replacements. It changes them back, too.
const CHANGES: [(&str, &str); 2] =
    [("rate = \"12M\"", "rate = \"10M\""), ("xoff = \"64KiB\"", "xoff = \"96KiB\"")];

/// The scheme that keeps the long link lossless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Pfc,
    Bifrost,
    Lscc,
}

impl Scheme {
    pub const ALL: [Self; 3] = [Self::Pfc, Self::Bifrost, Self::Lscc];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pfc => "PFC",
            Self::Bifrost => "Bifrost",
            Self::Lscc => "LSCC",
        }
    }

    /// Its settings for the port of the long link. Its bounds cover the lateness of two busy cores.
    fn port(self, side: usize) -> String {
        let late = LATENESS.as_millis();
        let bifrost = format!(
            "flow_control = \"bifrost\"\n\n[[port.lossless]]\npriorities = [3]\n\n[port.bifrost]\nslot = \"400us\"\n\
             jitter = \"{late}ms\"\nlateness = \"{late}ms\"\nholdover = \"{late}ms\"\n"
        );
        match self {
            Self::Pfc => {
                "[[port.lossless]]\npriorities = [3]\nxoff = \"64KiB\"\nxon = \"32KiB\"\nheadroom = \"auto\"\n".into()
            }
            Self::Bifrost => bifrost,
            Self::Lscc => {
                let key = repository("config/keys/example.key").canonicalize().unwrap();
                let [local, peer] = [FEEDBACK[side], FEEDBACK[1 - side]];
                format!(
                    "{bifrost}\n[port.lscc]\nlocal = \"{local}\"\npeer = \"{peer}\"\nkey_file = {key:?}\n\
                     step = \"500k\"\nleast = \"1M\"\nlong_flow = \"100MB\"\n"
                )
            }
        }
    }
}

/// What a pair of gateways runs.
#[derive(Clone, Copy)]
pub struct Setting {
    pub scheme: Scheme,
    /// With one, each gateway has a core.
    pub lanes: usize,
}

/// The configuration of one end.
fn configuration(side: usize, socket: &str, setting: Setting, hosts: &[(&str, &str)]) -> String {
    let Setting { scheme, lanes } = setting;
    let (name, scheme) = (NAMES[side], scheme.port(side));
    let mut text =
        LongHaulEnd { name, side, socket, shared: SHARED, rate: "40M", scheme: &scheme }.bridge(hosts);
    // The ports of hosts are tables in their order. The last one is that of the flooded host, if there is one.
    if hosts.last().is_some_and(|(_, rate)| *rate == FLOODED) {
        text += "\n[[port.queue]]\npriorities = [1]\nlossy = { static = \"64KiB\" }\n";
    }
    if lanes > 1 {
        let all = cores();
        assert!(all.len() >= lanes, "{lanes} lanes need as many cores, and these are {}", all.len());
        let core = all[side % all.len()];
        let mut cores = all[..lanes].to_vec();
        // Each lead, which is the first, polls on a core of its own.
        cores.rotate_left(side % lanes);
        text = text.replace(&format!("cores = [{core}]"), &format!("lanes = {lanes}\ncores = {cores:?}"));
    }
    // A short history of events is full after the first round, so memory that grows later is a leak.
    text += "\n[control]\nevents = 16\n";
    // The flood has its own priority, so that its losses can be distinguished.
    text.replace("\"48\" = 6", "\"48\" = 6, \"8\" = 1").replace("headroom = \"1MiB\"", "headroom = \"auto\"")
}

/// The hosts, by their roles.
pub struct Hosts {
    /// At the near end: sends the lossless flows, and receives the one back.
    pub sender: Host,
    /// At the near end: sends the flood.
    pub flooder: Host,
    /// At the near end: sends malformed frames.
    pub forger: Host,
    /// At the far end: receives the lossless flows. Its link goes down and up.
    pub receiver: Host,
    /// At the far end: receives the flood, and sends a lossless flow back.
    pub flooded: Host,
}

pub struct Pair {
    near: Gateway,
    /// `None` while it is killed.
    far: Option<Gateway>,
    pub setting: Setting,
    socket: String,
    pub hosts: Hosts,
    namespaces: [Namespace; 2],
}

impl Pair {
    pub fn start(lab: &Lab, setting: Setting) -> Self {
        let namespaces = NAMES.map(|name| lab.namespace(name));
        let host = |number, side: usize| Host::new(lab, number, &namespaces[side], &format!("dc{number}"));
        let hosts = Hosts {
            sender: host(1, NEAR),
            flooder: host(2, NEAR),
            forger: host(5, NEAR),
            receiver: host(3, FAR),
            flooded: host(4, FAR),
        };
        let socket = lab.socket("link.memif").to_str().expect("the lab's paths are plain").to_owned();
        let start = |side: usize| start(lab, side, &namespaces[side], &socket, setting);
        let (near, far) = (start(NEAR), start(FAR));
        let pair = Self { near, far: Some(far), setting, socket, hosts, namespaces };
        pair.learn();
        pair
    }

    pub fn gateway(&self, side: usize) -> &Gateway {
        match side {
            NEAR => &self.near,
            _ => self.far.as_ref().expect("the far gateway is there"),
        }
    }

    pub fn namespace(&self, side: usize) -> &Namespace {
        &self.namespaces[side]
    }

    pub fn expect_running(&mut self) {
        self.near.expect_running();
        self.far.as_mut().expect("the far gateway is there").expect_running();
    }

    /// Makes both bridges learn all stations.
    pub fn learn(&self) {
        let Hosts { sender, flooder, forger, receiver, flooded } = &self.hosts;
        wait_until("frames to pass", || answers(receiver, sender));
        for (one, other) in [(sender, receiver), (sender, flooded), (flooder, flooded), (forger, flooded)] {
            ping(one, other, 1);
        }
    }

    /// Reloads both ends, with other rates and thresholds or with the original ones.
    pub fn reload(&self, changed: bool) {
        for side in [NEAR, FAR] {
            let mut text = text(side, &self.socket, self.setting);
            for (from, to) in CHANGES.iter().filter(|_| changed) {
                text = text.replace(from, to);
            }
            let output = self.gateway(side).reload(&text);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} refuses a reload: {said}", NAMES[side]);
        }
    }

    pub fn kill_far(&mut self) {
        self.far.take().expect("the far gateway is there").kill();
    }

    pub fn start_far(&mut self, lab: &Lab) {
        self.far = Some(start(lab, FAR, &self.namespaces[FAR], &self.socket, self.setting));
    }

    /// Makes both drain, and asserts that nothing is left inside.
    pub fn end(self) {
        for gateway in [Some(self.near), self.far].into_iter().flatten() {
            let ended = gateway.end();
            assert!(ended.status.success(), "{}", ended.stderr);
        }
    }
}

fn start(lab: &Lab, side: usize, namespace: &Namespace, socket: &str, setting: Setting) -> Gateway {
    let launcher = if setting.lanes > 1 { LAUNCHER_OF_LANES } else { LAUNCHER };
    Gateway::start_by(&launcher, lab, namespace, NAMES[side], &text(side, socket, setting))
}

fn text(side: usize, socket: &str, setting: Setting) -> String {
    match side {
        NEAR => configuration(side, socket, setting, &[("dc1", "1G"), ("dc2", "1G"), ("dc5", "1G")]),
        _ => configuration(side, socket, setting, &[("dc3", BOTTLENECK), ("dc4", FLOODED)]),
    }
}
