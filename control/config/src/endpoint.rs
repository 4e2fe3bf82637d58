//! The URL of an OpenTelemetry collector.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use crate::problem::ProblemKind;
use crate::value::{parsed, quoted, readable, text, written};

/// The path of metrics where the URL has none (OTLP/HTTP, "OTLP/HTTP Request").
const PATH: &str = "/v1/metrics";
/// The longest URL, in bytes.
const LONGEST: usize = 300;

/// The form of a URL.
const WANT: &str =
    "a URL such as \"http://127.0.0.1:4318\": http, a host and a port, without user, query or fragment";

/// The URL of a collector, which holds no password: `http://HOST:PORT/PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    host: Host,
    port: u16,
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Address(IpAddr),
    Name(String),
}

/// A text is not the URL of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {WANT}")]
pub struct NoEndpoint;

readable! {
    Endpoint: |it| match text(it, WANT)? {
        // An error must not show a password or a token.
        got if got.contains(['@', '?']) => Err(ProblemKind::WrongType { got: "this".into(), want: WANT }),
        _ => parsed(it, WANT, Endpoint::parse),
    };
}

written! {
    Endpoint: "URL", |it| quoted(it);
}

impl Endpoint {
    /// Reads a URL, and completes its path.
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("http://").filter(|_| text.len() <= LONGEST)?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = authority.rsplit_once(':')?;
        let digits = port.bytes().all(|digit| digit.is_ascii_digit());
        let port = port.parse().ok().filter(|port| digits && *port != 0)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._~-".contains(c);
        let path = if matches!(path, "" | "/") { PATH } else { path };
        let host = Host::parse(host)?;
        path.chars().all(plain).then(|| Self { host, port, path: path.into() })
    }

    /// The host, as in the URL.
    pub(crate) fn host(&self) -> String {
        self.host.to_string()
    }

    /// Whether it is on this machine, as far as its name says.
    pub(crate) fn is_local(&self) -> bool {
        match &self.host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(name) => name == "localhost",
        }
    }
}

impl FromStr for Endpoint {
    type Err = NoEndpoint;

    fn from_str(text: &str) -> Result<Self, NoEndpoint> {
        Self::parse(text).ok_or(NoEndpoint)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, path } = self;
        write!(f, "http://{host}:{port}{path}")
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(address.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let label = |label: &str| (1..=63).contains(&label.len()) && label.chars().all(plain);
        // A name that ends in a number would be read as an address by some.
        let named = !text.rsplit('.').next().is_some_and(|last| last.bytes().all(|c| c.is_ascii_digit()));
        (named && text.len() <= 253 && text.split('.').all(label)).then(|| Self::Name(text.into()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> Option<String> {
        Endpoint::parse(text).map(|endpoint| endpoint.to_string())
    }

    #[test]
    fn a_url_without_a_path_gets_that_of_metrics() {
        for (text, whole) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("http://localhost:4318/", "http://localhost:4318/v1/metrics"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/metrics"),
            (
                "http://collector.example.com:80/otlp/v1/metrics",
                "http://collector.example.com:80/otlp/v1/metrics",
            ),
        ] {
            assert_eq!(shown(text).as_deref(), Some(whole));
        }
    }

    #[test]
    fn other_schemes_and_parts_are_refused() {
        for text in [
            "",
            "http://",
            "127.0.0.1:4318",
            "https://127.0.0.1:4318",
            "HTTP://127.0.0.1:4318",
            "http://127.0.0.1",
            "http://127.0.0.1:0",
            "http://127.0.0.1:65536",
            "http://127.0.0.1:+80",
            "http://:4318",
            "http://::1:4318",
            "http://[::1:4318",
            "http://[127.0.0.1]:80",
            "http://user:password@host:4318",
            "http://host:80?a=b",
            "http://host:80/a?b",
            "http://host:80/a#b",
            "http://host:80/a b",
            "http://host:80/a\r\nX: y",
            "http://a..b:80",
            "http://a b:80",
            "http://1.2.3:80",
            "http://host:80/%41",
            "http://caf\u{e9}:80",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
        assert_eq!(shown(&format!("http://a:1/{}", "x".repeat(LONGEST))), None);
    }

    #[test]
    fn only_loopback_is_on_this_machine() {
        let local = |text: &str| Endpoint::parse(text).unwrap().is_local();
        assert!(["http://127.1.2.3:1", "http://[::1]:1", "http://localhost:1"].into_iter().all(local));
        assert!(
            !["http://10.0.0.1:1", "http://[fe80::1]:1", "http://localhost.example:1"].into_iter().any(local)
        );
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_so_that_it_is_read_again(text in "http://(\\[::1\\]|[a-z0-9._-]{1,20}):[0-9]{1,5}(/[a-zA-Z0-9/._~-]{0,20})?") {
            if let Some(endpoint) = Endpoint::parse(&text) {
                prop_assert_eq!(Endpoint::parse(&endpoint.to_string()), Some(endpoint));
            }
        }

        #[test]
        fn no_text_stops_the_reader(text in ".{0,60}") {
            let _ = Endpoint::parse(&text);
            let _ = Endpoint::parse(&format!("http://{text}"));
        }
    }
}
