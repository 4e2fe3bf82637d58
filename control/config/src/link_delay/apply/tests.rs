use super::*;
use crate::thresholds::capacity;
use units::Distance;

const LH: PortId = PortId(0);
const DC: PortId = PortId(1);

/// A port of 100G with these keys, and one at which nothing is lossless.
fn text(keys: &str, tables: &str) -> String {
    format!(
        "[buffer]\nshared = \"64MiB\"\n[[port]]\nname = \"lh0\"\nrate = \"100G\"\n{keys}\n{tables}\n\
         [[port]]\nname = \"dc0\"\nrate = \"100G\"\n[port.link_delay]\nmeasure = false\n"
    )
}

const LOSSLESS: &str = "[[port.lossless]]\npriorities = [3, 4]\n";
const BOUNDED: &str = "[port.link_delay]\nleast = \"1us\"\nmost = \"500us\"\n";

fn gateway(keys: &str, tables: &str) -> Gateway {
    crate::parse(&text(keys, tables), "gw.toml").unwrap()
}

fn refused(keys: &str, tables: &str) -> String {
    crate::parse(&text(keys, tables), "gw.toml").unwrap_err().to_string()
}

fn headroom(gateway: &Gateway) -> Bytes {
    gateway.program.port(LH).groups[3].lossless().unwrap().headroom
}

fn memory(gateway: &Gateway) -> Bytes {
    let settings = gateway.program.settings();
    capacity(&settings.buffer, &settings.ports)
}

#[test]
fn headroom_is_that_of_a_link_of_the_measured_delay_and_the_memory_stays() {
    let bounded = format!("{LOSSLESS}{BOUNDED}");
    let before = gateway("distance = \"9900m\"", &bounded);
    for micros in [1, 50, 400, 500] {
        let delay = Interval::from_micros(micros);
        let measured = before.with_link_delays(&[Some(delay), None]);
        let metres = Distance(micros * 198);
        let configured = gateway(&format!("distance = \"{}m\"", metres.0), LOSSLESS);
        assert_eq!(headroom(&measured), headroom(&configured), "{delay}");
        assert_eq!(measured.headroom_sum(LH), configured.headroom_sum(LH));
        assert_eq!(measured.link_delay(LH), Some(delay));
        assert_eq!(memory(&measured), memory(&before));
        let [was, is] = [&before, &measured].map(|it| it.program.settings().buffer);
        assert_eq!(is.shared + is.headroom, was.shared + was.headroom);
        assert_eq!(measured.with_link_delays(&[before.link_delay(LH), None]).links, before.links);
    }
}

#[test]
fn a_margin_beyond_the_formula_stays() {
    let stated = "[[port.lossless]]\npriorities = [3]\nheadroom = \"4MB\"\n";
    let before = gateway("distance = \"10km\"", &format!("{stated}{BOUNDED}"));
    let after = before.with_link_delays(&[Some(Interval::from_micros(400)), None]);
    let [was, is] = [&before, &after].map(|it| headroom(it) - it.headroom_sum(LH).unwrap().total());
    assert_eq!((headroom(&before), was), (Bytes(4_000_000), is));
}

#[test]
fn a_link_of_unknown_length_has_the_headroom_of_the_longest_one_until_it_is_measured() {
    let before = gateway("", &format!("{LOSSLESS}{BOUNDED}"));
    assert_eq!(before.link_delay(LH), Some(Interval::from_micros(500)));
    let after = before.with_link_delays(&[Some(Interval::from_micros(5)), None]);
    assert!(headroom(&after).0 * 20 < headroom(&before).0);
    assert!(after.program.settings().buffer.shared > before.program.settings().buffer.shared);
}

#[test]
fn a_delay_changes_nothing_where_it_is_not_applied() {
    let bifrost = "flow_control = \"bifrost\"\ndistance = \"10km\"";
    for (keys, tables) in [
        ("distance = \"10km\"", format!("{LOSSLESS}[port.link_delay]\napply = false\nmost = \"500us\"")),
        ("distance = \"10km\"", format!("{LOSSLESS}[port.link_delay]\nmeasure = false")),
        ("distance = \"10km\"", LOSSLESS.into()),
        ("distance = \"10km\"", BOUNDED.into()),
        (bifrost, format!("{LOSSLESS}{BOUNDED}")),
    ] {
        let before = gateway(keys, &tables);
        assert_eq!([LH, DC].map(|port| before.delay_bounds(port)), [None; 2]);
        let after = before.with_link_delays(&[Some(Interval::from_micros(400)); 2]);
        assert_eq!(after.program.settings(), before.program.settings());
        assert_eq!(after.links, before.links);
    }
}

#[test]
fn a_flow_control_that_needs_no_headroom_and_a_delay_to_be_applied_are_a_warning() {
    let warned = |keys, tables: &str| gateway(keys, tables).warnings.len();
    let bifrost = "flow_control = \"bifrost\"\ndistance = \"10km\"";
    let plain = warned(bifrost, LOSSLESS);
    assert_eq!(warned(bifrost, &format!("{LOSSLESS}[port.link_delay]")), plain + 1);
    assert_eq!(warned(bifrost, &format!("{LOSSLESS}[port.link_delay]\napply = false")), plain);
}

#[test]
fn the_bounds_are_those_of_the_distance_where_they_are_not_stated() {
    let bounds = gateway("distance = \"79200m\"", &format!("{LOSSLESS}[port.link_delay]")).delay_bounds(LH);
    let [least, most] = [360, 400].map(Interval::from_micros);
    assert_eq!(bounds, Some(DelayBounds { least, most }));
}

#[test]
fn bounds_that_are_unknown_or_leave_out_the_distance_are_errors() {
    for (keys, table, parts) in [
        ("", "", ["port.link_delay.least", "port.link_delay.most"]),
        ("distance = \"79200m\"", "least = \"401us\"", ["least", "at most 400us"]),
        ("distance = \"79200m\"", "most = \"399us\"", ["most", "at least 400us"]),
        ("", "least = \"9us\"\nmost = \"8us\"", ["least", "at most 8us"]),
    ] {
        let text = refused(keys, &format!("{LOSSLESS}[port.link_delay]\n{table}"));
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn bounds_for_which_the_shared_pool_has_no_room_are_an_error() {
    // 2.5 ms at 100G take 70 MB for each of two priorities.
    let text = refused("distance = \"10km\"", &format!("{LOSSLESS}[port.link_delay]\nmost = \"2.5ms\""));
    assert!(text.contains("port.link_delay.most") && text.contains("buffer.shared"), "{text}");
}

#[test]
fn what_is_in_force_is_read_as_the_same_gateway() {
    for tables in [
        format!("{LOSSLESS}{BOUNDED}"),
        format!("{LOSSLESS}[port.link_delay]\napply = false\ninterval = \"125ms\""),
        format!("{LOSSLESS}[port.link_delay]\nmeasure = false"),
    ] {
        let one = gateway("distance = \"10km\"", &tables);
        let again = crate::parse(&crate::render(&one), "gw.toml").unwrap();
        assert_eq!(again.program.settings(), one.program.settings());
        assert_eq!(again.links, one.links);
    }
}
