//! What single values may look like.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr};
use core::num::NonZeroU32;
use core::ops::RangeInclusive;
use core::str::FromStr;

use ipnet::IpNet;
use switch::program::{DynamicThreshold, MarkAt, Trust, WatchdogAction};
use toml::de::DeValue;
use units::{BitRate, Bytes, Distance, Interval, ParseQuantityError, Priority};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;
use wire::rate_feedback::Key;

use crate::problem::ProblemKind;

/// A type that a single TOML value can be read as.
pub(crate) trait Value: Sized {
    /// What an array of these is called.
    const LIST: &'static str = "an array";

    /// The value, or what is wrong with it.
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind>;
}

/// A value that a table of keys declares: it can be written again, and the reference says what it is.
pub(crate) trait Written {
    /// As TOML.
    fn write(&self) -> String;

    /// Type, unit and range, in words.
    fn kind() -> String;
}

/// A text with quotes around it, and whatever escapes it needs.
pub(crate) fn quoted(text: impl ToString) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// `0..=5` as "up to 5", `1..=5` as "1 to 5".
pub(crate) fn in_words<T: fmt::Display + Default + PartialEq>(range: &RangeInclusive<T>) -> String {
    let (least, most) = (range.start(), range.end());
    if *least == T::default() { format!("up to {most}") } else { format!("{least} to {most}") }
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
pub(crate) fn integer(
    value: &DeValue<'_>,
    range: RangeInclusive<i128>,
    valid: &'static str,
) -> Result<i128, ProblemKind> {
    let DeValue::Integer(number) = value else {
        return Err(ProblemKind::WrongType { got: described(value), want: "a whole number" });
    };
    i128::from_str_radix(number.as_str(), number.radix())
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| ProblemKind::out_of_range(number, valid))
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
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(crate) struct Length(pub Bytes);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.0)
    }
}

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

/// How each of these is written, and what it is.
macro_rules! written {
    ($($type:ty: $kind:literal, $shown:expr;)*) => {$(
        impl crate::value::Written for $type {
            fn write(&self) -> String {
                let shown: fn(&Self) -> String = $shown;
                shown(self)
            }

            fn kind() -> String {
                $kind.into()
            }
        }
    )*};
}

pub(crate) use written;

written! {
    BitRate: "rate", |it| quoted(it);
    Bytes: "size", |it| quoted(it);
    Distance: "distance", |it| quoted(it);
    Interval: "time", |it| quoted(it);
    IpAddr: "IP address", |it| quoted(it);
    Ipv4Addr: "IPv4 address", |it| quoted(it);
    IpNet: "address with prefix length", |it| quoted(it);
    MacAddress: "MAC address", |it| quoted(it);
    Length: "number of bytes", |it| it.0.0.to_string();
    u64: "whole number", u64::to_string;
    u32: "whole number", u32::to_string;
    u16: "whole number", u16::to_string;
    u8: "whole number", u8::to_string;
    Priority: "priority, 0 to 7", Priority::to_string;
    Dscp: "DSCP, 0 to 63", Dscp::to_string;
    NonZeroU32: "1 to 1000", NonZeroU32::to_string;
    DynamicThreshold: "-8 to 8", |it| it.exponent().to_string();
    bool: "true or false", bool::to_string;
    f64: "number", |it| format!("{it:?}");
    String: "name", |it| quoted(it);
    SizeWish: "size or `\"auto\"`", |it| match it {
        SizeWish::Auto => quoted("auto"),
        SizeWish::Given(size) => size.write(),
    };
    PauseWish: "number of quanta or time", |it| match it {
        PauseWish::Quanta(quanta) => quanta.to_string(),
        PauseWish::Time(time) => time.write(),
    };
    Key: "32 hexadecimal digits", |Key(key)| quoted(format!("{:032x}", u128::from_be_bytes(*key)));
    Spacing: "time, 1us to 1s, or `\"none\"`", |it| it.0.write();
}

/// A limit, or the word for none.
impl<T: Written> Written for Option<T> {
    fn write(&self) -> String {
        self.as_ref().map_or_else(|| quoted("none"), T::write)
    }

    fn kind() -> String {
        format!("{} or `\"none\"`", T::kind())
    }
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
        Self::new(count as u32).ok_or_else(|| ProblemKind::out_of_range(count, VALID))
    }
}

impl Value for DynamicThreshold {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        const VALID: &str = "-8 to 8, for alpha = 2^dynamic_th";
        let exponent = integer(value, -8..=8, VALID)?;
        Self::new(exponent as i8).ok_or_else(|| ProblemKind::out_of_range(exponent, VALID))
    }
}

/// A limit that may be lifted.
macro_rules! limits {
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

limits! {
    Bytes: "a size such as \"2MB\", or \"none\"";
    BitRate: "a rate such as \"1G\", or \"none\"";
    Interval: "a time such as \"500us\", or \"none\"";
}

/// How far apart something is, 1 us to 1 s; at any time where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spacing(pub Option<Interval>);

impl Value for Spacing {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        let spacing = Option::<Interval>::read(value)?;
        match spacing.filter(|time| !(Interval::from_micros(1)..=Interval::from_secs(1)).contains(time)) {
            Some(time) => Err(ProblemKind::out_of_range(time, "1us to 1s, or \"none\"")),
            None => Ok(Self(spacing)),
        }
    }
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

/// A text that `valid` allows.
pub(crate) fn checked(
    value: &DeValue<'_>,
    want: &'static str,
    valid: impl FnOnce(&str) -> bool,
) -> Result<String, ProblemKind> {
    let got = text(value, want)?;
    if valid(got) { Ok(got.into()) } else { Err(ProblemKind::Malformed { got: got.into(), want }) }
}

/// Texts that must look a certain way.
macro_rules! texts {
    ($($(#[doc = $about:literal])+ $name:ident, $kind:literal, $want:literal, $valid:expr;)*) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct $name(pub String);

        impl crate::value::Value for $name {
            fn read(value: &toml::de::DeValue<'_>) -> Result<Self, crate::problem::ProblemKind> {
                let valid: fn(&str) -> bool = $valid;
                crate::value::checked(value, $want, valid).map(Self)
            }
        }

        crate::value::written! { $name: $kind, |it| crate::value::quoted(&it.0); }
    )*};
}

pub(crate) use texts;

fn allowed_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-:/".contains(c)
}

texts! {
    /// The name of a gateway or port, as it appears in labels, file names and on the command line.
    Name, "name", "a name of 1 to 64 letters, digits and any of . _ - : /",
        |got| (1..=64).contains(&got.len()) && got.chars().all(allowed_in_name);
}

impl Name {
    /// The name nearest to `text`, which is not empty.
    pub fn from_any(text: &str) -> Self {
        Self(text.chars().take(64).map(|c| if allowed_in_name(c) { c } else { '-' }).collect())
    }
}

macro_rules! words {
    ($($(#[$about:meta])* $visibility:vis enum $name:ident {
        $($(#[$meaning:meta])* $word:literal => $variant:ident),* $(,)?
    })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name { $($(#[$meaning])* $variant),* }

        crate::value::words! { $name { $($word => $variant),* } }
    )*};
    ($($type:ty { $($word:literal => $variant:ident),* $(,)? })*) => {$(
        impl crate::value::Value for $type {
            fn read(value: &toml::de::DeValue<'_>) -> Result<Self, crate::problem::ProblemKind> {
                match crate::value::text(value, "a string")? {
                    $($word => Ok(Self::$variant),)*
                    got => Err(crate::problem::ProblemKind::word(got, &[$($word),*])),
                }
            }
        }

        impl crate::value::Written for $type {
            fn write(&self) -> String {
                crate::value::quoted(match self { $(Self::$variant => $word,)* })
            }

            fn kind() -> String {
                [$(concat!("`\"", $word, "\"`")),*].join(", ")
            }
        }
    )*};
}

pub(crate) use words;

words! {
    /// How a gateway forwards.
    pub(crate) enum Mode { "patch" => Patch, "bridge" => Bridge, "route" => Route }
    /// How a queue is served.
    pub(crate) enum SchedulingWord { "strict" => Strict, "weighted" => Weighted }
    /// How Bifrost keeps what may still come in.
    pub(crate) enum VirtualIncomingWord { "counter" => Counter, "history" => History }
    /// Which flow control a port speaks to its upstream.
    pub(crate) enum FlowControlWord { "pfc" => Pfc, "bifrost" => Bifrost }
    /// That there shall be no watchdog.
    pub(crate) enum NoWatchdog { "none" => None }
}

words! {
    Trust { "dscp" => Dscp, "pcp" => Pcp, "nothing" => Nothing }
    WatchdogAction { "drop" => Drop, "forward" => Forward, "alert" => Alert }
    MarkAt { "dequeue" => Dequeue, "enqueue" => Enqueue }
}

/// Far beyond any buffer, and small enough that no sum or multiple of sizes overflows.
pub(crate) const LARGEST: Bytes = Bytes(1 << 40);

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
            _ => match quantity(value, "a size such as \"96928B\", or \"auto\"")? {
                size if size > LARGEST => {
                    Err(ProblemKind::out_of_range(size, in_words(&(Bytes::ZERO..=LARGEST))))
                }
                size => Ok(Self::Given(size)),
            },
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
