//! Which schemes of a port may stand beside each other, and what is said of those that may not.

use config::parse;

/// Every flow control of a long link.
const FLOW_CONTROLS: [&str; 8] =
    ["pfc", "bifrost", "bifrostx", "port-grants", "cbfc", "p-pfc", "capfc", "relay"];

const LSCC: &str = "[port.lscc]\nlocal = \"10.255.0.1\"\npeer = \"10.255.0.2\"\nkey = \"none\"\n";
const DIRECT_INT: &str = "direct = \"int\"\n";
const THEMIS: &str = "[port.themis]\n";
const WITHOUT_CNPS: &str = "cnp_interval = \"none\"\n";
const SUPPLEMENT: &str = "[port.supplement]\nthreshold = \"10MB\"\n";
const THINNING: &str = "[port.supplement]\nthreshold = \"none\"\nthinning = \"100us\"\n";
const LINK_DELAY: &str = "[port.link_delay]\n";
const LLDP: &str = "[port.lldp]\n";

/// The errors of a gateway whose long port has `flow_control` and the tables in `schemes`; empty if it is valid.
fn errors(flow_control: &str, schemes: &[&str]) -> String {
    let text = format!(
        "[buffer]\nshared = \"64MB\"\negress_lossy = \"1MB\"\n\
         [[port]]\nname = \"dc0\"\nrate = \"100G\"\ndistance = \"100m\"\nlossless = [{{ priorities = [3] }}]\n\
         [[port]]\nname = \"lh0\"\nrate = \"100G\"\ndistance = \"80km\"\nflow_control = \"{flow_control}\"\n\
         lossless = [{{ priorities = [3] }}]\n{}",
        schemes.concat()
    );
    parse(&text, "gateway.toml").map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn each_scheme_that_notifies_senders_goes_with_each_flow_control() {
    let valid: [&[&str]; 9] = [
        &[],
        &[LSCC],
        &[LSCC, DIRECT_INT],
        &[THEMIS],
        &[SUPPLEMENT],
        &[LINK_DELAY],
        &[LLDP],
        // The one answers marks, the other slows flows down or thins CNPs.
        &[LSCC, THEMIS, WITHOUT_CNPS],
        &[THEMIS, THINNING],
    ];
    for flow_control in FLOW_CONTROLS {
        for schemes in valid {
            assert_eq!(errors(flow_control, schemes), "", "{flow_control} {schemes:?}");
        }
    }
}

#[test]
fn schemes_that_would_notify_a_sender_twice_are_refused_with_the_reason() {
    let refused: [(&[&str], &str); 3] = [
        (&[LSCC, THEMIS], "from THEMIS and from LSCC"),
        (&[THEMIS, SUPPLEMENT], "from THEMIS and from supplemental CNPs"),
        (&[LSCC, SUPPLEMENT], "use far_cnp_interval of LSCC"),
    ];
    for flow_control in FLOW_CONTROLS {
        for (schemes, reason) in refused {
            let errors = errors(flow_control, schemes);
            assert!(errors.contains(reason), "{flow_control} {schemes:?}: {errors}");
        }
    }
}
