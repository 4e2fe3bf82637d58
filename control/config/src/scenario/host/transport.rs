//! `[host.go_back_n]`, `[host.irn]`, `[host.new_reno]`: how a host sends again what is lost.

use core::num::NonZeroU32;

use endpoint::{GoBackN, Irn, NewReno};

use super::super::set::{count, time};
use crate::section::Section;

pub(super) fn go_back_n(section: &mut Section<'_, '_>, value: &mut GoBackN) {
    let mut ack_every = value.ack_every.get();
    count(section, "ack_every", &mut ack_every);
    value.ack_every = NonZeroU32::new(ack_every).unwrap_or(value.ack_every);
    time(section, "retransmission_timeout", &mut value.retransmission_timeout);
}

pub(super) fn irn(section: &mut Section<'_, '_>, value: &mut Irn) {
    count(section, "window", &mut value.window);
    time(section, "rto_low", &mut value.rto_low);
    time(section, "rto_high", &mut value.rto_high);
    count(section, "few", &mut value.few);
}

pub(super) fn new_reno(section: &mut Section<'_, '_>, value: &mut NewReno) {
    count(section, "initial_window", &mut value.initial_window);
    let mut largest = value.largest_window.unwrap_or_default();
    count(section, "largest_window", &mut largest);
    value.largest_window = (largest > 0).then_some(largest);
    count(section, "duplicates", &mut value.duplicates);
    time(section, "rto_initial", &mut value.rto_initial);
    time(section, "rto_least", &mut value.rto_least);
    time(section, "rto_most", &mut value.rto_most);
}
