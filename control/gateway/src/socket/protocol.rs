//! The protocol of the control socket: a request is one line of JSON, and so is its response.
//!
//! A response of [`Response::Streaming`] is followed by further lines, until the gateway has said everything or the client
//! hangs up. An empty line among them only says that the gateway is there.

use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use telemetry::Snapshot;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// The complete state.
    Show,
    /// The complete state, and a restart of the cleared-on-read watermarks.
    ShowAndClear,
    /// A reload of the configuration file.
    Reload,
    /// A line for each event ([`telemetry::events::Event`]).
    Events(EventsRequest),
    /// A line for each captured frame ([`CaptureLine`]).
    Capture(CaptureRequest),
}

/// The events that a client wants: those that meet all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsRequest {
    /// The number of past events to begin with.
    pub last: usize,
    /// Whether to go on with those to come.
    pub follow: bool,
    /// Only events of these ports, if any are named.
    pub ports: Vec<String>,
    /// Only events of these priorities, if any are named.
    pub priorities: Vec<u8>,
    /// Only events of these kinds, if any are named.
    pub kinds: Vec<String>,
}

/// The frames that a client wants: those that meet all conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureRequest {
    /// The ports, at least one.
    pub ports: Vec<String>,
    /// Whether frames that come in are wanted.
    pub received: bool,
    /// Whether frames that leave are wanted.
    pub sent: bool,
    /// Their class.
    pub class: CaptureClass,
    /// Only frames of these priorities, if any are named.
    pub priorities: Vec<u8>,
    /// Only IP packets from or to each of these addresses, two at most.
    pub addresses: Vec<IpAddr>,
    /// Only RoCEv2 packets to this queue pair.
    pub queue_pair: Option<u32>,
    /// The number of bytes of each frame that are captured, up to [`CaptureRequest::LONGEST_SNAP`].
    pub snap_bytes: usize,
    /// When the capture ends, in nanoseconds from its start, up to [`CaptureRequest::LONGEST_NS`].
    pub for_ns: u64,
    /// The number of frames after which it ends.
    pub frames_max: Option<u64>,
    /// The number of captured bytes after which it ends.
    pub bytes_max: Option<u64>,
}

impl CaptureRequest {
    /// The longest frame of any port.
    pub const LONGEST_SNAP: usize = 9_216;
    /// An hour, so that a forgotten capture ends.
    pub const LONGEST_NS: u64 = 3_600_000_000_000;
}

/// A class of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureClass {
    /// All frames.
    All,
    /// Frames between the two ends of a link: PFC, PAUSE, grants, peer delay.
    #[default]
    Control,
    /// IP packets with a congestion mark (CE).
    Marked,
}

/// A line of a capture.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureLine {
    /// A frame.
    Frame {
        /// When it came in or left, in Unix time.
        at_ns: u64,
        /// The place of its port in the request.
        port: usize,
        /// Whether it left.
        sent: bool,
        /// Its length, without FCS.
        length: u32,
        /// Its first bytes, in hexadecimal digits.
        data: String,
    },
    /// Frames so far that matched and were not captured, because the reader was behind: received and sent, for each port in
    /// the order of the request. Comes several times a second, and before the end.
    Lost(Vec<[u64; 2]>),
    /// The capture has ended at one of its limits. A stream that ends without this line was cut off.
    End,
}

/// The response.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// To [`Request::Show`].
    Shown(Box<Snapshot>),
    /// To [`Request::Reload`]: the changes, one line each; empty if there are none.
    Reloaded(Vec<String>),
    /// To [`Request::Reload`]: nothing has changed; the reasons, one line each.
    Refused(Vec<String>),
    /// To [`Request::Events`] and [`Request::Capture`]: lines follow.
    Streaming,
    /// The gateway does not know the request.
    InvalidRequest(String),
    /// The connection limit is reached; nothing was done.
    Busy(String),
    /// There is no answer yet; the gateway may still carry out the request.
    Pending(String),
}
