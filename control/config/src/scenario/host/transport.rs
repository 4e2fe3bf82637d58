//! `[host.go_back_n]`, `[host.irn]`, `[host.new_reno]`: how a host retransmits what is lost.

use core::num::NonZeroU32;

use endpoint::{GoBackN, Irn, NewReno};
use units::Interval;

use super::super::run::{COUNT, MOST, SOME};
use crate::place::At;
use crate::table::table;

table! {
    /// Go-back-N.
    GoBackNDecl => GoBackN {
        /// Packets for each acknowledgement
        ack_every: At<NonZeroU32>;
        /// Without progress for this time, everything that is not acknowledged is sent again
        retransmission_timeout: At<Interval>, within(SOME..=MOST);
    }

    /// IRN.
    IrnDecl => Irn {
        /// Packets that may be on their way
        window: At<u32>, within(COUNT);
        /// Retransmission timeout while few packets are on their way
        rto_low: At<Interval>, within(SOME..=MOST);
        /// Retransmission timeout otherwise
        rto_high: At<Interval>, within(SOME..=MOST);
    }

    /// TCP NewReno.
    NewRenoDecl => NewReno {
        /// Retransmission timeout before a round trip was measured
        rto_initial: At<Interval>, within(SOME..=MOST);
        /// Shortest retransmission timeout
        rto_least: At<Interval>, within(SOME..=MOST);
    }
}
