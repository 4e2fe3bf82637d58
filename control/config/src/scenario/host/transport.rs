//! `[host.go_back_n]`, `[host.irn]`, `[host.new_reno]`: how a host retransmits what is lost.

use core::num::NonZeroU32;

use endpoint::{GoBackN, Irn, NewReno};
use units::Interval;

use super::super::run::{COUNT, MOST, SOME};
use crate::place::At;
use crate::table::{or, table};

table! {
    /// Go-back-N.
    GoBackNDecl {
        /// Packets for each acknowledgement
        ack_every: At<u32>, within(COUNT), default(GoBackN::default().ack_every.get());
        /// Without progress for this time, everything that is not acknowledged is sent again
        retransmission_timeout: At<Interval>, within(SOME..=MOST), auto("`\"67.108864ms\"`, doubled until it is at least four round trips");
    }

    /// IRN.
    IrnDecl => Irn {
        /// Packets that may be on their way
        window: At<u32>, within(COUNT), auto("what the path holds, at least `110`");
        /// Retransmission timeout while fewer than three packets are on their way
        rto_low: At<Interval>, within(SOME..=MOST), auto("`\"100us\"`, and what the round trip has above 24 us");
        /// Retransmission timeout otherwise
        rto_high: At<Interval>, within(SOME..=MOST), auto("`\"320us\"`, and what the round trip has above 24 us");
    }

    /// TCP NewReno.
    NewRenoDecl => NewReno {
        /// Retransmission timeout before a round trip was measured
        rto_initial: At<Interval>, within(SOME..=MOST), auto("two round trips, at least `\"1s\"`");
        /// Shortest retransmission timeout
        rto_least: At<Interval>, within(SOME..=MOST);
    }
}

impl GoBackNDecl {
    /// The stated values over `usual`.
    pub fn settings(&self, usual: GoBackN) -> GoBackN {
        GoBackN {
            ack_every: NonZeroU32::new(self.ack_every()).unwrap_or(NonZeroU32::MIN),
            retransmission_timeout: or(&self.retransmission_timeout, usual.retransmission_timeout),
        }
    }
}
