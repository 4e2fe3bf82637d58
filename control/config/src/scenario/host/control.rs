//! `[host.dcqcn]`, `[host.timely]`, `[host.hpcc]`: how fast a host sends.

use endpoint::{Dcqcn, Hpcc, Timely};
use units::{BitRate, Bytes, Interval};
use wire::int::Format;

use super::super::run::{COUNT, MOST, SOME};
use crate::machine::Probability;
use crate::place::At;
use crate::section::Section;
use crate::table::table;
use crate::value::LARGEST;

table! {
    /// The reaction point of DCQCN.
    DcqcnDecl => Dcqcn, check {
        /// Gain of alpha
        g: At<Probability>;
        /// Alpha before the first CNP
        initial_alpha: At<Probability>;
        /// K: alpha falls after this time without a CNP
        alpha_timer: At<Interval>, within(SOME..=MOST);
        /// T: the rate rises after this time without a CNP
        rate_timer: At<Interval>, within(SOME..=MOST);
        /// B: the rate rises after so many bytes without a CNP, 1B to 1024GiB; `"none"` leaves that to the timer
        byte_counter: At<Option<Bytes>>;
        /// F: events of timer or byte counter that end fast recovery
        fast_recovery_steps: At<u32>, within(COUNT);
        /// R_AI: the step of the target rate after fast recovery
        additive_increase: At<BitRate>;
        /// R_HAI: the step once both timer and byte counter have ended fast recovery
        hyper_increase: At<BitRate>;
        /// Lowest rate
        minimum_rate: At<BitRate>;
        /// Whether each reduction makes the rate before it the target; if not, only those after a rise do
        clamp_target_rate: At<bool>;
        /// After a reduction, CNPs of this time count as one; zero reduces the rate at each
        rate_reduce_monitor_period: At<Interval>, within(Interval::ZERO..=MOST);
    }

    /// TIMELY.
    TimelyDecl => Timely {
        /// Weight of the newest difference of round-trip times
        alpha: At<Probability>;
        /// Factor of a decrease
        beta: At<Probability>;
        /// Below this round-trip time the rate rises
        t_low: At<Interval>, within(SOME..=MOST), auto("`\"50us\"`, and what the round trip has above 20 us");
        /// Above this round-trip time the rate falls
        t_high: At<Interval>, within(SOME..=MOST), auto("`\"500us\"`, and what the round trip has above 20 us");
        /// The round-trip time by which the gradient is divided
        min_rtt: At<Interval>, within(SOME..=MOST), auto("the round trip, at least `\"20us\"`");
        /// Delta: the step of the rate
        step: At<BitRate>;
        /// N: steps at a time after five completion events, one for each 16 kB, without a positive gradient
        hyper_steps: At<u32>, within(COUNT);
        /// Shortest time from one completion event to the next
        least_interval: At<Interval>, within(Interval::ZERO..=MOST);
        /// Whether a round trip has one completion event at most
        once_per_round_trip: At<bool>;
        /// Lowest rate
        minimum: At<BitRate>;
    }

    /// HPCC.
    HpccDecl => Hpcc {
        /// How full the fullest link shall be
        eta: At<Probability>;
        /// Additive increases before a multiplicative one
        max_stage: At<u32>;
        /// W_AI: the step of the window
        additive: At<Bytes>, within(Bytes(1)..=LARGEST), auto("`\"80B\"` for each 13 us of the round trip, at least that");
        /// T: the longest round trip of the empty network
        base_rtt: At<Interval>, within(SOME..=MOST), auto("the round trip, at least `\"13us\"`");
        /// Hops whose links are judged, from the host on: 5 as in the paper, or 8, for 24 bytes more in each packet
        hops: At<Format>;
        /// Lowest rate
        minimum: At<BitRate>;
        /// T of the near loop (HPCC\*): the round trip to the gateway before the long link. `"none"` ignores its [direct INT](int.md#direct-int)
        near_rtt: At<Option<Interval>>;
    }
}

impl DcqcnDecl {
    fn check(&self, section: &Section<'_, '_>) {
        if let Some(At { value: Some(size), place }) = &self.byte_counter {
            section.is_within(&At { value: *size, place: place.clone() }, &(Bytes(1)..=LARGEST));
        }
    }
}
