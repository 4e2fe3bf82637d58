//! `[host.dcqcn]`, `[host.timely]`, `[host.hpcc]`: how fast a host sends.

use endpoint::{Dcqcn, Hpcc, Timely};
use units::Interval;

use super::{count, rate, run, share, size, time};
use crate::reader::Section;

pub(super) fn dcqcn(section: &mut Section<'_, '_>, value: &mut Dcqcn) {
    share(section, "g", &mut value.g);
    share(section, "initial_alpha", &mut value.initial_alpha);
    time(section, "alpha_timer", &mut value.alpha_timer);
    time(section, "rate_timer", &mut value.rate_timer);
    size(section, "byte_counter", &mut value.byte_counter);
    count(section, "fast_recovery_steps", &mut value.fast_recovery_steps);
    rate(section, "additive_increase", &mut value.additive_increase);
    rate(section, "hyper_increase", &mut value.hyper_increase);
    rate(section, "minimum_rate", &mut value.minimum_rate);
    if let Some(clamp) = section.optional("clamp_target_rate") {
        value.clamp_target_rate = clamp.value;
    }
    if let Some(clamp) = section.optional("clamp_target_rate_after_time_inc") {
        value.clamp_target_rate_after_time_inc = clamp.value;
    }
    if let Some(period) = run::time(section, "rate_reduce_monitor_period", Interval::ZERO) {
        value.rate_reduce_monitor_period = period.value;
    }
}

pub(super) fn timely(section: &mut Section<'_, '_>, value: &mut Timely) {
    share(section, "alpha", &mut value.alpha);
    share(section, "beta", &mut value.beta);
    time(section, "t_low", &mut value.t_low);
    time(section, "t_high", &mut value.t_high);
    time(section, "min_rtt", &mut value.min_rtt);
    rate(section, "step", &mut value.step);
    count(section, "hyper_after", &mut value.hyper_after);
    count(section, "hyper_steps", &mut value.hyper_steps);
    size(section, "segment", &mut value.segment);
    if let Some(interval) = run::time(section, "least_interval", Interval::ZERO) {
        value.least_interval = interval.value;
    }
    if let Some(once) = section.optional("once_per_round_trip") {
        value.once_per_round_trip = once.value;
    }
    rate(section, "minimum", &mut value.minimum);
}

pub(super) fn hpcc(section: &mut Section<'_, '_>, value: &mut Hpcc) {
    share(section, "eta", &mut value.eta);
    if let Some(stages) = section.optional("max_stage") {
        value.max_stage = stages.value;
    }
    size(section, "additive", &mut value.additive);
    time(section, "base_rtt", &mut value.base_rtt);
    rate(section, "minimum", &mut value.minimum);
}
