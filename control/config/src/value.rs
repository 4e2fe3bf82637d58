//! What single values may look like.

mod runtime;

pub(crate) use runtime::{
    Account, Argument, Core, Driver, FilePrefix, InterfaceName, MemifRole, PciAddress, Permissions,
    Probability, RingSize, SocketPath, VirtualDevice, name_of,
};

use core::net::{IpAddr, Ipv4Addr};
use core::num::NonZeroU32;
use core::str::FromStr;

use ipnet::IpNet;
use switch::program::{DynamicThreshold, MarkAt, Trust, WatchdogAction};
use toml::de::DeValue;
use units::{BitRate, Bytes, Distance, Interval, ParseQuantityError, Priority};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;
use wire::rate_feedback::Key;

use crate::problem::{ProblemKind, nearest};

/// A type that a single TOML value can be read as.
pub(crate) trait Value: Sized {
    /// What an array of these is called.
    const LIST: &'static str = "an array";

    /// The value, or what is wrong with it.
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind>;
}

/// A value as an error message shows it.
pub(crate) fn described(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(instant) => instant.to_string(),
        DeValue::Array(_) => "an array".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

pub(crate) fn text<'a>(value: &'a DeValue<'_>, want: &'static str) -> Result<&'a str, ProblemKind> {
    value.as_str().ok_or_else(|| ProblemKind::WrongType { got: described(value), want })
}

/// An integer of `valid` range.
fn integer(
    value: &DeValue<'_>,
    range: core::ops::RangeInclusive<i128>,
    valid: &'static str,
) -> Result<i128, ProblemKind> {
    let DeValue::Integer(number) = value else {
        return Err(ProblemKind::WrongType { got: described(value), want: "a whole number" });
    };
    i128::from_str_radix(number.as_str(), number.radix())
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| ProblemKind::OutOfRange { got: number.to_string(), valid })
}

/// A string with a unit. A bare number is read as text too, because the message that refuses it
/// says what to write.
fn quantity<T: FromStr<Err = ParseQuantityError>>(
    value: &DeValue<'_>,
    want: &'static str,
) -> Result<T, ProblemKind> {
    match value {
        DeValue::String(text) => Ok(text.parse()?),
        DeValue::Integer(_) | DeValue::Float(_) => Ok(described(value).parse()?),
        _ => Err(ProblemKind::WrongType { got: described(value), want }),
    }
}

macro_rules! quantities {
    ($($type:ty: $want:literal;)*) => {$(
        impl Value for $type {
            fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
                quantity(value, $want)
            }
        }
    )*};
}

quantities! {
    BitRate: "a rate such as \"100G\"";
    Bytes: "a size such as \"9.5MiB\"";
    Distance: "a distance such as \"80km\"";
    Interval: "a time such as \"400us\"";
}

macro_rules! parsed {
    ($($type:ty: $want:literal, $list:literal;)*) => {$(
        impl Value for $type {
            const LIST: &'static str = $list;

            fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
                let got = text(value, $want)?;
                got.parse().map_err(|_| ProblemKind::Malformed { got: got.into(), want: $want })
            }
        }
    )*};
}

parsed! {
    IpAddr: "an IP address such as \"10.0.0.1\" or \"2001:db8::1\"", "an array of IP addresses";
    Ipv4Addr: "an IPv4 address such as \"10.255.0.1\"", "an array of IPv4 addresses";
    IpNet: "an address with its prefix length such as \"10.0.0.1/24\" or \"2001:db8::1/64\"",
        "an array of addresses with prefix lengths";
    MacAddress: "a MAC address such as \"02:00:00:00:00:01\"", "an array of MAC addresses";
}

/// A frame or packet length: the one size that everybody writes as a bare number of bytes.
pub(crate) struct Length(pub Bytes);

impl Value for Length {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        match value {
            DeValue::Integer(_) => {
                integer(value, 1..=65_535, "1 to 65535 bytes").map(|bytes| Self(Bytes(bytes as u64)))
            }
            _ => quantity(value, "a number of bytes such as 9100").map(Self),
        }
    }
}

macro_rules! integers {
    ($($type:ty: $range:expr, $valid:literal;)*) => {$(
        impl Value for $type {
            fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
                // The range lies within the type, so the conversion keeps the number.
                integer(value, $range, $valid).map(|number| number as Self)
            }
        }
    )*};
}

integers! {
    u64: 0..=i128::from(i64::MAX), "0 to 9223372036854775807";
    u32: 0..=i128::from(u32::MAX), "0 to 4294967295";
    u16: 0..=i128::from(u16::MAX), "0 to 65535";
    u8: 0..=i128::from(u8::MAX), "0 to 255";
}

impl Value for Priority {
    const LIST: &'static str = "an array of priorities such as [3, 4]";

    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        integer(value, 0..=7, "a priority, 0 to 7").map(|number| Self::from_low_bits(number as u8))
    }
}

impl Value for Dscp {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        integer(value, 0..=63, "a DSCP, 0 to 63").map(|number| Self::from_low_bits(number as u8))
    }
}

/// How often something is done, counted in slots.
impl Value for NonZeroU32 {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const VALID: &str = "1 to 1000";
        let count = integer(value, 1..=1_000, VALID)?;
        Self::new(count as u32)
            .ok_or_else(|| ProblemKind::OutOfRange { got: count.to_string(), valid: VALID })
    }
}

impl Value for DynamicThreshold {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const VALID: &str = "-8 to 8, for alpha = 2^dynamic_th";
        let exponent = integer(value, -8..=8, VALID)?;
        Self::new(exponent as i8)
            .ok_or_else(|| ProblemKind::OutOfRange { got: exponent.to_string(), valid: VALID })
    }
}

/// A limit that may be lifted.
macro_rules! or_none {
    ($($type:ty: $want:literal;)*) => {$(
        impl Value for Option<$type> {
            fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
                match value.as_str() {
                    Some("none") => Ok(None),
                    _ => quantity(value, $want).map(Some),
                }
            }
        }
    )*};
}

or_none! {
    BitRate: "a rate such as \"1G\", or \"none\"";
    Interval: "a time such as \"500us\", or \"none\"";
}

/// What is wrong with a key is said without showing it.
impl Value for Option<Key> {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "a key of 32 hexadecimal digits, or \"none\"";
        let wrong = || ProblemKind::WrongType { got: "this".into(), want: WANT };
        match value.as_str() {
            Some("none") => Ok(None),
            text => text.and_then(hexadecimal).map(Key).map(Some).ok_or_else(wrong),
        }
    }
}

/// What a key looks like.
pub(crate) const KEY: &str = "a key of 32 hexadecimal digits";

/// The bytes that 32 hexadecimal digits stand for.
pub(crate) fn hexadecimal(text: &str) -> Option<[u8; 16]> {
    let digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = digits.then(|| u128::from_str_radix(text, 16).ok())??;
    Some(number.to_be_bytes())
}

impl Value for bool {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        value.as_bool().ok_or_else(|| ProblemKind::WrongType { got: described(value), want: "true or false" })
    }
}

impl Value for f64 {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        let number = match value {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| ProblemKind::WrongType { got: described(value), want: "a number" })
    }
}

impl Value for String {
    const LIST: &'static str = "an array of strings";

    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        text(value, "a string").map(Into::into)
    }
}

/// The name of a gateway or port, as it appears in labels, file names and on the command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name(pub String);

impl Name {
    const LONGEST: usize = 64;

    fn allows(c: char) -> bool {
        c.is_ascii_alphanumeric() || "._-:/".contains(c)
    }

    /// The name nearest to `text`, which is not empty.
    pub fn from_any(text: &str) -> Self {
        Self(text.chars().take(Self::LONGEST).map(|c| if Self::allows(c) { c } else { '-' }).collect())
    }
}

impl Value for Name {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const WANT: &str = "a name of 1 to 64 letters, digits and any of . _ - : /";
        let got = text(value, WANT)?;
        if (1..=Self::LONGEST).contains(&got.len()) && got.chars().all(Self::allows) {
            Ok(Self(got.into()))
        } else {
            Err(ProblemKind::Malformed { got: got.into(), want: WANT })
        }
    }
}

macro_rules! words {
    ($($type:ty { $($word:literal => $value:expr),* $(,)? })*) => {$(
        impl Value for $type {
            fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
                const VALID: &[&str] = &[$($word),*];
                match text(value, "a string")? {
                    $($word => Ok($value),)*
                    got => Err(ProblemKind::Word {
                        got: got.into(),
                        nearest: nearest(got, VALID.iter().copied()),
                        valid: VALID.join(", "),
                    }),
                }
            }
        }
    )*};
}

pub(crate) use words;

/// The word that says how a gateway forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Patch,
    Bridge,
    Route,
}

/// The word that says how Bifrost keeps what may still come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VirtualIncomingWord {
    Counter,
    History,
}

/// The word that says how a queue is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchedulingWord {
    Strict,
    Weighted,
}

/// That there shall be no watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoWatchdog {
    None,
}

words! {
    Mode { "patch" => Self::Patch, "bridge" => Self::Bridge, "route" => Self::Route }
    SchedulingWord { "strict" => Self::Strict, "weighted" => Self::Weighted }
    VirtualIncomingWord { "counter" => Self::Counter, "history" => Self::History }
    Trust { "dscp" => Self::Dscp, "pcp" => Self::Pcp, "nothing" => Self::Nothing }
    WatchdogAction { "drop" => Self::Drop, "forward" => Self::Forward, "alert" => Self::Alert }
    NoWatchdog { "none" => Self::None }
    MarkAt { "dequeue" => Self::Dequeue, "enqueue" => Self::Enqueue }
}

/// A size, or the wish to have it computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeWish {
    Auto,
    Given(Bytes),
}

impl Value for SizeWish {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        match value.as_str() {
            Some("auto") => Ok(Self::Auto),
            _ => quantity(value, "a size such as \"96928B\", or \"auto\"").map(Self::Given),
        }
    }
}

/// A pause: in quanta, or as a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseWish {
    Quanta(u16),
    Time(Interval),
}

impl Value for PauseWish {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        match value {
            DeValue::Integer(_) => u16::read(value).map(Self::Quanta),
            _ => quantity(value, "a number of pause quanta or a time such as \"300us\"").map(Self::Time),
        }
    }
}
