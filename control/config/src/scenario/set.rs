//! Putting what a scenario states into settings that have their defaults.

use units::{Bytes, Interval};

use super::run;
use crate::machine::Probability;
use crate::section::Section;
use crate::value::{LARGEST, Value};

/// Puts what stands at `key`, if it is there and valid, into `value`.
pub(super) fn set<T: Value>(section: &mut Section<'_, '_>, key: &'static str, value: &mut T) {
    if let Some(stated) = section.optional(key) {
        *value = stated.value;
    }
}

/// The same for a time of at least `least`.
pub(super) fn time_from(
    section: &mut Section<'_, '_>,
    key: &'static str,
    least: Interval,
    value: &mut Interval,
) {
    *value = run::time(section, key, least).map_or(*value, |time| time.value);
}

/// The same for more than no time.
pub(super) fn time(section: &mut Section<'_, '_>, key: &'static str, value: &mut Interval) {
    time_from(section, key, run::SOME, value);
}

/// The same for a share between 0 and 1, both included.
pub(super) fn share(section: &mut Section<'_, '_>, key: &'static str, value: &mut f64) {
    *value = section.optional::<Probability>(key).map_or(*value, |share| share.value.0);
}

/// The same for a size of at least a byte.
pub(super) fn size(section: &mut Section<'_, '_>, key: &'static str, value: &mut Bytes) {
    let size = section.optional::<Bytes>(key).filter(|size| section.is_within(size, &(Bytes(1)..=LARGEST)));
    *value = size.map_or(*value, |size| size.value);
}

/// The same for a number of at least one.
pub(super) fn count(section: &mut Section<'_, '_>, key: &'static str, value: &mut u32) {
    let count = section.optional::<u32>(key).filter(|count| section.is_within(count, &(1..=16_777_216)));
    *value = count.map_or(*value, |count| count.value);
}
