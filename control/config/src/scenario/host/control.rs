//! `[host.dcqcn]`, `[host.timely]`, `[host.hpcc]`: how fast a host sends.

use endpoint::{Dcqcn, Hpcc, Timely};
use units::{Bytes, Interval};

use super::super::set::{count, set, share, size, time, time_from};
use crate::place::At;
use crate::section::Section;
use crate::value::LARGEST;

pub(super) fn dcqcn(section: &mut Section<'_, '_>, value: &mut Dcqcn) {
    share(section, "g", &mut value.g);
    share(section, "initial_alpha", &mut value.initial_alpha);
    time(section, "alpha_timer", &mut value.alpha_timer);
    time(section, "rate_timer", &mut value.rate_timer);
    if let Some(At { value: counter, place }) = section.optional::<Option<Bytes>>("byte_counter")
        && counter.is_none_or(|value| section.is_within(&At { value, place }, &(Bytes(1)..=LARGEST)))
    {
        value.byte_counter = counter;
    }
    count(section, "fast_recovery_steps", &mut value.fast_recovery_steps);
    set(section, "additive_increase", &mut value.additive_increase);
    set(section, "hyper_increase", &mut value.hyper_increase);
    set(section, "minimum_rate", &mut value.minimum_rate);
    set(section, "clamp_target_rate", &mut value.clamp_target_rate);
    set(section, "clamp_target_rate_after_time_inc", &mut value.clamp_target_rate_after_time_inc);
    time_from(section, "rate_reduce_monitor_period", Interval::ZERO, &mut value.rate_reduce_monitor_period);
}

pub(super) fn timely(section: &mut Section<'_, '_>, value: &mut Timely) {
    share(section, "alpha", &mut value.alpha);
    share(section, "beta", &mut value.beta);
    time(section, "t_low", &mut value.t_low);
    time(section, "t_high", &mut value.t_high);
    time(section, "min_rtt", &mut value.min_rtt);
    set(section, "step", &mut value.step);
    count(section, "hyper_after", &mut value.hyper_after);
    count(section, "hyper_steps", &mut value.hyper_steps);
    size(section, "segment", &mut value.segment);
    time_from(section, "least_interval", Interval::ZERO, &mut value.least_interval);
    set(section, "once_per_round_trip", &mut value.once_per_round_trip);
    set(section, "minimum", &mut value.minimum);
}

pub(super) fn hpcc(section: &mut Section<'_, '_>, value: &mut Hpcc) {
    share(section, "eta", &mut value.eta);
    set(section, "max_stage", &mut value.max_stage);
    size(section, "additive", &mut value.additive);
    time(section, "base_rtt", &mut value.base_rtt);
    set(section, "minimum", &mut value.minimum);
}
