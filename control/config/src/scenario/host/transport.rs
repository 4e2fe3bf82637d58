//! `[host.go_back_n]`, `[host.irn]`, `[host.new_reno]`: how a host retransmits what is lost.

use core::num::NonZeroU32;

use endpoint::{GoBackN, Irn, NewReno};
use units::Interval;

use super::super::run::{COUNT, MOST, SOME};
use crate::place::At;
use crate::table::table;

table! {
    /// Go-back-N.
    GoBackNDecl {
        /// Packets for each acknowledgement
        ack_every: At<u32>, within(COUNT), default(GoBackN::default().ack_every.get());
        /// Without progress for this time, everything that is not acknowledged is sent again
        retransmission_timeout: At<Interval>, within(SOME..=MOST), default(GoBackN::default().retransmission_timeout);
    }

    /// IRN.
    IrnDecl => Irn {
        /// Packets that may be on their way
        window: At<u32>, within(COUNT);
        /// Retransmission timeout while fewer than three packets are on their way
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

impl GoBackNDecl {
    /// The stated values, with defaults for the rest.
    pub fn settings(&self) -> GoBackN {
        GoBackN {
            ack_every: NonZeroU32::new(self.ack_every()).unwrap_or(NonZeroU32::MIN),
            retransmission_timeout: self.retransmission_timeout(),
        }
    }
}
