//! Types of single values: how each is read, and how it is written again.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr};
use core::num::NonZeroU32;
use core::ops::RangeInclusive;
use core::str::FromStr;

use ipnet::IpNet;
use switch::program::{DynamicThreshold, MarkAt, Orientation, Trust, WatchdogAction};
use toml::de::DeValue;
use units::{BitRate, Bytes, Distance, Interval, ParseQuantityError, Priority};
use wire::ethernet::MacAddress;
use wire::int::Format;
use wire::ip::Dscp;
use wire::rate_feedback::Key;

use crate::problem::ProblemKind;

/// A type that a single TOML value can be read as.
pub(crate) trait Value: Sized {
    /// The description of an array of such values.
    const LIST: &'static str = "an array";

    /// Reads the value, or says what is wrong with it.
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind>;
}

/// A value that can be written as TOML, and that the reference describes.
pub(crate) trait Written {
    /// The value as TOML.
    fn write(&self) -> String;

    /// Type, unit and range, in words.
    fn kind() -> String;
}

/// A text as a TOML string, quoted and escaped.
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

pub(crate) fn wrong_type(value: &DeValue<'_>, want: &'static str) -> ProblemKind {
    ProblemKind::WrongType { got: described(value), want }
}

pub(crate) fn text<'a>(value: &'a DeValue<'_>, want: &'static str) -> Result<&'a str, ProblemKind> {
    value.as_str().ok_or_else(|| wrong_type(value, want))
}

/// Reads a text that `parse` accepts.
pub(crate) fn parsed<T>(
    value: &DeValue<'_>,
    want: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, ProblemKind> {
    let got = text(value, want)?;
    parse(got).ok_or_else(|| ProblemKind::Malformed { got: got.into(), want })
}

/// Reads an integer in `range` that `convert` accepts; `valid` says which.
pub(crate) fn integer<T>(
    value: &DeValue<'_>,
    range: RangeInclusive<i128>,
    valid: &'static str,
    convert: impl FnOnce(i128) -> Option<T>,
) -> Result<T, ProblemKind> {
    let DeValue::Integer(number) = value else { return Err(wrong_type(value, "a whole number")) };
    let read = i128::from_str_radix(number.as_str(), number.radix()).ok();
    let converted = read.filter(|number| range.contains(number)).and_then(convert);
    converted.ok_or_else(|| ProblemKind::out_of_range(number, valid))
}

fn number(value: &DeValue<'_>) -> Result<f64, ProblemKind> {
    let number = match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) => number.as_str().parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| wrong_type(value, "a number"))
}

/// Reads a string with a unit. A bare number is parsed too, because the error that refuses it says what to write.
fn quantity<T: FromStr<Err = ParseQuantityError>>(
    value: &DeValue<'_>,
    want: &'static str,
) -> Result<T, ProblemKind> {
    match value {
        DeValue::String(text) => Ok(text.parse()?),
        DeValue::Integer(_) | DeValue::Float(_) => Ok(described(value).parse()?),
        _ => Err(wrong_type(value, want)),
    }
}

/// Reads a limit, or `"none"`.
fn limit<T: FromStr<Err = ParseQuantityError>>(
    value: &DeValue<'_>,
    want: &'static str,
) -> Result<Option<T>, ProblemKind> {
    if value.as_str() == Some("none") { Ok(None) } else { quantity(value, want).map(Some) }
}

/// Implements [`Written`] for types, as `Type: "kind", |it| text;`.
macro_rules! written {
    ($($type:ty: $kind:literal, $write:expr;)*) => {$(
        impl crate::value::Written for $type {
            fn write(&self) -> String {
                let write: fn(&Self) -> String = $write;
                write(self)
            }

            fn kind() -> String {
                $kind.into()
            }
        }
    )*};
}

/// Implements [`Value`] for types, as `Type, in "an array": |value| read;`. The array is [`Value::LIST`].
macro_rules! readable {
    ($($type:ty $(, in $list:literal)?: $read:expr;)+) => {$(
        impl crate::value::Value for $type {
            $(const LIST: &'static str = $list;)?

            fn read(value: &toml::de::DeValue<'_>) -> Result<Self, crate::problem::ProblemKind> {
                let read: fn(&toml::de::DeValue<'_>) -> Result<Self, crate::problem::ProblemKind> = $read;
                read(value)
            }
        }
    )+};
}

/// Implements [`Value`] and [`Written`] for types, as `Type: "kind" in "an array", |value| read, |it| text;`. Declares
/// the type where it is a `struct Name(Inner)`.
macro_rules! value_types {
    ($($(#[$about:meta])+ struct $name:ident($inner:ty):
        $kind:literal $(in $list:literal)?, $read:expr, $write:expr;)+) => {$(
        $(#[$about])+
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name(pub $inner);

        crate::value::value_types! { $name: $kind $(in $list)?, $read, $write; }
    )+};
    ($($type:ty: $kind:literal $(in $list:literal)?, $read:expr, $write:expr;)+) => {
        crate::value::readable! { $($type $(, in $list)?: $read;)+ }
        crate::value::written! { $($type: $kind, $write;)+ }
    };
}

/// Declares types of texts that must have a certain form, as `Name, "kind", "form", |text| whether it has it;`.
macro_rules! texts {
    ($($(#[doc = $about:literal])+ $name:ident, $kind:literal, $want:literal, $valid:expr;)*) => {
        crate::value::value_types! {$(
            $(#[doc = $about])+
            struct $name(String): $kind,
                |value| crate::value::parsed(value, $want, |got| {
                    let valid: fn(&str) -> bool = $valid;
                    valid(got).then(|| Self(got.into()))
                }),
                |it| crate::value::quoted(&it.0);
        )*}
    };
}

/// Implements [`Value`] and [`Written`] for types whose values are words, and declares those that are not a `Type {}`
/// but an `enum`.
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

pub(crate) use {readable, texts, value_types, words, written};

value_types! {
    BitRate: "rate", |it| quantity(it, "a rate such as \"100G\""), |it| quoted(it);
    Bytes: "size", |it| quantity(it, "a size such as \"9.5MiB\""), |it| quoted(it);
    Distance: "distance", |it| quantity(it, "a distance such as \"80km\""), |it| quoted(it);
    Interval: "time", |it| quantity(it, "a time such as \"400us\""), |it| quoted(it);
    IpAddr: "IP address" in "an array of IP addresses",
        |it| parsed(it, "an IP address such as \"10.0.0.1\" or \"2001:db8::1\"", |got| got.parse().ok()), |it| quoted(it);
    Ipv4Addr: "IPv4 address" in "an array of IPv4 addresses",
        |it| parsed(it, "an IPv4 address such as \"10.255.0.1\"", |got| got.parse().ok()), |it| quoted(it);
    IpNet: "address with prefix length" in "an array of addresses with prefix lengths",
        |it| {
            const WANT: &str = "an address with its prefix length such as \"10.0.0.1/24\" or \"2001:db8::1/64\"";
            parsed(it, WANT, |got| got.parse().ok())
        },
        |it| quoted(it);
    MacAddress: "MAC address" in "an array of MAC addresses",
        |it| parsed(it, "a MAC address such as \"02:00:00:00:00:01\"", |got| got.parse().ok()), |it| quoted(it);
    u64: "whole number",
        |it| integer(it, 0..=i64::MAX.into(), "0 to 9223372036854775807", |number| number.try_into().ok()), u64::to_string;
    u32: "whole number",
        |it| integer(it, 0..=u32::MAX.into(), "0 to 4294967295", |number| number.try_into().ok()), u32::to_string;
    u16: "whole number",
        |it| integer(it, 0..=u16::MAX.into(), "0 to 65535", |number| number.try_into().ok()), u16::to_string;
    u8: "whole number",
        |it| integer(it, 0..=u8::MAX.into(), "0 to 255", |number| number.try_into().ok()), u8::to_string;
    Priority: "priority, 0 to 7" in "an array of priorities such as [3, 4]",
        |it| integer(it, 0..=7, "a priority, 0 to 7", |number| Self::new(number as u8).ok()), Self::to_string;
    Dscp: "DSCP, 0 to 63",
        |it| integer(it, 0..=63, "a DSCP, 0 to 63", |number| Some(Self::from_low_bits(number as u8))), Self::to_string;
    Format: "5 or 8",
        |it| integer(it, 5..=8, "5 or 8", |hops| [Self::Five, Self::Eight].into_iter().find(|it| it.hops() as i128 == hops)),
        |it| it.hops().to_string();
    NonZeroU32: "1 to 1000",
        |it| integer(it, 1..=1_000, "1 to 1000", |number| Self::new(number as u32)), Self::to_string;
    DynamicThreshold: "-8 to 8",
        |it| integer(it, -8..=8, "-8 to 8, for alpha = 2^dynamic_th", |number| Self::new(number as i8)),
        |it| it.exponent().to_string();
    bool: "true or false",
        |it| it.as_bool().ok_or_else(|| wrong_type(it, "true or false")), bool::to_string;
    f64: "number", number, |it| format!("{it:?}");
    String: "name" in "an array of strings", |it| text(it, "a string").map(Into::into), |it| quoted(it);
}

readable! {
    Option<BitRate>: |it| limit(it, "a rate such as \"1G\", or \"none\"");
    Option<Bytes>: |it| limit(it, "a size such as \"2MB\", or \"none\"");
    Option<Interval>: |it| limit(it, "a time such as \"500us\", or \"none\"");
    // An error must not show the key.
    Option<Key>: |it| match it.as_str() {
        Some("none") => Ok(None),
        text => text.and_then(hexadecimal).map(|key| Some(Key(key))).ok_or(ProblemKind::WrongType {
            got: "this".into(),
            want: "a key of 32 hexadecimal digits, or \"none\"",
        }),
    };
}

written! {
    Key: "32 hexadecimal digits", |Key(key)| quoted(format!("{:032x}", u128::from_be_bytes(*key)));
}

/// A limit, or `"none"`.
impl<T: Written> Written for Option<T> {
    fn write(&self) -> String {
        self.as_ref().map_or_else(|| quoted("none"), T::write)
    }

    fn kind() -> String {
        format!("{} or `\"none\"`", T::kind())
    }
}

value_types! {
    /// A frame or packet length, which everybody writes as a bare number of bytes.
    #[derive(Default, PartialOrd)]
    struct Length(Bytes): "number of bytes",
        |it| match it {
            DeValue::Integer(_) => integer(it, 1..=65_535, "1 to 65535", |bytes| Some(Self(Bytes(bytes as u64)))),
            _ => quantity(it, "a number of bytes such as 9100").map(Self),
        },
        |it| it.0.0.to_string();
    /// A time between two events, 1 us to 1 s, or no limit.
    struct Spacing(Option<Interval>): "time, 1us to 1s, or `\"none\"`",
        |it| match Option::<Interval>::read(it)? {
            Some(time) if !(Interval::from_micros(1)..=Interval::from_secs(1)).contains(&time) => {
                Err(ProblemKind::out_of_range(time, "1us to 1s, or \"none\""))
            }
            spacing => Ok(Self(spacing)),
        },
        |it| it.0.write();
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.0)
    }
}

/// The form of a key, in words.
pub(crate) const KEY: &str = "a key of 32 hexadecimal digits";

/// Parses 32 hexadecimal digits.
pub(crate) fn hexadecimal(text: &str) -> Option<[u8; 16]> {
    let digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = digits.then(|| u128::from_str_radix(text, 16).ok())??;
    Some(number.to_be_bytes())
}

fn allowed_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-:/".contains(c)
}

texts! {
    /// The name of a gateway or port, as it appears in labels, file names and on the command line.
    Name, "name", "a name of 1 to 64 letters, digits and any of . _ - : /",
        |got| (1..=64).contains(&got.len()) && got.chars().all(allowed_in_name);
}

impl Name {
    /// `text`, which is not empty, shortened and with each invalid character replaced.
    pub fn from_any(text: &str) -> Self {
        Self(text.chars().take(64).map(|c| if allowed_in_name(c) { c } else { '-' }).collect())
    }
}

words! {
    /// How a gateway forwards.
    pub(crate) enum Mode { "patch" => Patch, "bridge" => Bridge, "route" => Route }
    /// What keeps one of equal next hops.
    pub(crate) enum SpreadWord { "flow" => Flow, "packet" => Packet }
    /// How a queue is served.
    pub(crate) enum SchedulingWord { "strict" => Strict, "weighted" => Weighted }
    /// How Bifrost tracks the bytes that may still arrive.
    pub(crate) enum VirtualIncomingWord { "counter" => Counter, "history" => History }
    /// The notifications that LSCC sends to senders.
    pub(crate) enum DirectWord { "cnp" => Cnp, "int" => Int }
    /// The proof that a link of a bundle lives.
    pub(crate) enum LivenessWord { "carrier" => Carrier, "hello" => Hello }
    /// Disables the watchdog.
    pub(crate) enum NoWatchdog { "none" => None }
}

words! {
    Trust { "dscp" => Dscp, "pcp" => Pcp, "nothing" => Nothing }
    WatchdogAction { "drop" => Drop, "forward" => Forward, "alert" => Alert }
    Orientation { "uplink" => Uplink, "downlink" => Downlink, "crosslink" => Crosslink }
    MarkAt { "dequeue" => Dequeue, "enqueue" => Enqueue }
}

/// Far larger than any buffer, and small enough that no sum or multiple of sizes overflows.
pub(crate) const LARGEST: Bytes = Bytes(1 << 40);

/// A size, or `"auto"` to have it computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeChoice {
    Auto,
    Given(Bytes),
}

/// From which size on a flow is long for LSCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongFlow {
    /// From no size on.
    None,
    /// From the BDP of the link on.
    Bdp,
    Given(Bytes),
}

/// The duration of a pause, in quanta or as a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseChoice {
    Quanta(u16),
    Time(Interval),
}

value_types! {
    SizeChoice: "size or `\"auto\"`",
        |it| match it.as_str() {
            Some("auto") => Ok(Self::Auto),
            _ => match quantity(it, "a size such as \"96928B\", or \"auto\"")? {
                size if size > LARGEST => Err(ProblemKind::out_of_range(size, in_words(&(Bytes::ZERO..=LARGEST)))),
                size => Ok(Self::Given(size)),
            },
        },
        |it| match it {
            Self::Auto => quoted("auto"),
            Self::Given(size) => size.write(),
        };
    LongFlow: "size, `\"bdp\"` or `\"none\"`",
        |it| match it.as_str() {
            Some("none") => Ok(Self::None),
            Some("bdp") => Ok(Self::Bdp),
            _ => quantity(it, "a size such as \"10MB\", \"bdp\" or \"none\"").map(Self::Given),
        },
        |it| match it {
            Self::None => quoted("none"),
            Self::Bdp => quoted("bdp"),
            Self::Given(size) => size.write(),
        };
    PauseChoice: "number of quanta or time",
        |it| match it {
            DeValue::Integer(_) => u16::read(it).map(Self::Quanta),
            _ => quantity(it, "a number of pause quanta or a time such as \"300us\"").map(Self::Time),
        },
        |it| match it {
            Self::Quanta(quanta) => quanta.to_string(),
            Self::Time(time) => time.write(),
        };
}
