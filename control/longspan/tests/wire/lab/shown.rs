//! Parts of a gateway's snapshot.

use crate::configuration::LOSSLESS;
use serde_json::Value;

/// The port called `name` in a snapshot.
pub fn port<'a>(shown: &'a Value, name: &str) -> &'a Value {
    let ports = shown["ports"].as_array().expect("show has ports");
    ports.iter().find(|port| port["name"] == name).expect("the port is there")
}

/// Whether a port pauses its peer in the lossless priority: it has sent an XOFF that no XON has followed yet.
pub fn pauses(shown: &Value, name: &str) -> bool {
    let sent = &port(shown, name)["priorities"][usize::from(LOSSLESS.1)]["pauses_sent"];
    let [xoffs, xons] = ["xoff", "xon"].map(|kind| sent[kind].as_u64().expect("both are counted"));
    xoffs > xons
}

/// PFC frames that a port sent for the lossless priority.
pub fn pauses_sent(shown: &Value, name: &str) -> u64 {
    pauses_of(&port(shown, name)["priorities"][usize::from(LOSSLESS.1)])
}

/// The most PFC frames that a port can have sent: one may pause several priorities.
pub fn most_pfc_frames_sent(shown: &Value, name: &str) -> u64 {
    port(shown, name)["priorities"].as_array().expect("priorities").iter().map(pauses_of).sum()
}

fn pauses_of(priority: &Value) -> u64 {
    let pauses = &priority["pauses_sent"];
    ["xoff", "refresh", "xon", "slot", "timed"].iter().filter_map(|kind| pauses[kind].as_u64()).sum()
}
