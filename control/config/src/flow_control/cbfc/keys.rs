//! `[port.cbfc]`.

use switch::flow_control::cbfc::settings::Counter;
use units::Interval;

use crate::keys::long_haul::{SPANS, UP_TO_LONGEST};
use crate::place::At;
use crate::table::table;
use crate::value::{SizeChoice, words};

table! {
    /// Credits on a port, in both directions of its link.
    CbfcDecl {
        /// The buffer of each lossless priority, in wire bytes. Less than what fills the link is a warning
        buffer: At<SizeChoice>, auto("`\"auto\"`: what fills the link: a round trip, an interval, two frames and two credits");
        /// How often the port tells its credits while data comes in
        interval: At<Interval>, within(Interval::from_micros(1)..=*UP_TO_LONGEST.end()), default(Interval::from_micros(10));
        /// The counter in messages: `"wide"` for any distance, `"uec"` as in Ultra Ethernet 1.0, 20 bits in credits of 256 bytes. Both ends need the same: messages with the other one are dropped
        counter: At<Counter>, default(Counter::Wide);
        /// From the time when bytes leave the buffer until the first byte sent for their credits arrives
        round_trip: At<Interval>, within(SPANS), auto("from `distance`, as that of [Bifrost](#portbifrost)");
    }
}

words! {
    Counter { "wide" => Wide, "uec" => Uec }
}
