//! Fast CNPs: what follows from a file, and which files it is refused with.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::{Gateway, parse};
use switch::program::{FastCnp, Notifier};
use units::{Interval, Priority};
use wire::ip::Dscp;
use wire::roce::fast_cnp::OptionType;

fn file(fast_cnp: &str, queue: &str) -> String {
    format!(
        r#"
        [[port]]
        name = "r0"
        rate = "25G"
        {queue}

        [port.fast_cnp]
        {fast_cnp}

        [[port]]
        name = "s0"
        rate = "25G"
        "#
    )
}

fn read(text: &str) -> Result<Gateway, String> {
    parse(&file(text, ""), "fast-cnp.toml").map_err(|error| error.to_string())
}

fn fast_cnp(text: &str) -> FastCnp {
    let gateway = read(text).unwrap();
    gateway.program.port(gateway.port("r0").unwrap()).fast_cnp.clone().unwrap()
}

#[test]
fn both_roles_are_off_unless_a_file_has_them() {
    let off = FastCnp {
        option: OptionType::EXPERIMENTAL,
        accept: false,
        source: None,
        capable: Vec::new(),
        interval: Interval::from_micros(50),
        port_interval: Interval::from_micros(10),
        notifier: Notifier {
            flows: 65_536,
            ageing: Interval::from_secs(10),
            round_trip: Interval::from_millis(1),
            cnp_dscp: Dscp::from_low_bits(48),
            cnp_priority: Priority::new(6).unwrap(),
        },
    };
    assert_eq!(fast_cnp(""), off);
    let on = fast_cnp("accept = true\nsource = \"2001:db8::99\"\ncapable = [\"::/0\"]\noption = 2");
    let capable = vec!["::/0".parse().unwrap()];
    let (source, option) = (Some("2001:db8::99".parse().unwrap()), OptionType::new(2).unwrap());
    assert_eq!(on, FastCnp { accept: true, source, capable, option, ..off });
}

#[test]
fn what_makes_no_sense_is_refused_at_its_key() {
    for (keys, key, reason) in [
        ("source = \"10.0.0.1\"", "port.fast_cnp.source", "an IPv6 address"),
        ("source = \"ff02::1\"", "port.fast_cnp.source", "no node can have"),
        ("capable = [\"10.0.0.0/8\"]", "port.fast_cnp.capable", "IPv6 alone"),
        ("option = 1", "port.fast_cnp.option", "2 to 31"),
        ("option = 62", "port.fast_cnp.option", "2 to 31"),
        ("flows = 0", "port.fast_cnp.flows", "1 to 4194304"),
        ("ageing = \"0s\"", "port.fast_cnp.ageing", "above zero"),
    ] {
        let error = read(keys).err().unwrap();
        assert!(error.contains(key) && error.contains(reason), "{keys}: {error}");
    }
    let queue =
        "queue = [{ priorities = [3], ecn = { kmin = \"1kB\", kmax = \"2kB\", mark_at = \"enqueue\" } }]";
    let text = file("source = \"2001:db8::99\"", queue);
    let error = parse(&text, "fast-cnp.toml").err().unwrap().to_string();
    assert!(error.contains("mark_at = \"dequeue\""), "{error}");
}
