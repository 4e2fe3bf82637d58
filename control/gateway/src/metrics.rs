//! `/metrics` for Prometheus, off the data path.

use crate::event::Event;
use crate::socket::{Request, Response};
use core::net::SocketAddr;
use std::io;
use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::net::sockopt::set_tcp_user_timeout;
use tiny_http::{Header, Method, Server};

/// How long a reader may take nothing of its answers, before its connection ends: others wait for theirs.
const PATIENCE_MILLIS: u32 = 2_000;

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
#[error("control.metrics: {address} cannot be listened at: {reason}")]
pub struct MetricsError {
    /// Where.
    pub address: SocketAddr,
    /// What the system says.
    pub reason: String,
}

/// Serves `/metrics` at `address` from now on, each time asking the gateway through `events`.
///
/// # Errors
/// [`MetricsError`] where it cannot listen.
pub fn serve(address: SocketAddr, events: Sender<Event>) -> Result<(), MetricsError> {
    let error = |reason: String| MetricsError { address, reason };
    let listener = listen_at(address).map_err(|reason| error(reason.to_string()))?;
    let server = Server::from_listener(listener, None).map_err(|reason| error(reason.to_string()))?;
    let content_type = Header::from_bytes("Content-Type", telemetry::metrics::CONTENT_TYPE);
    let content_type = content_type.expect("a name and a value in the form that HTTP has");
    let listen = move || {
        for request in server.incoming_requests() {
            let (status, text) = match (request.method(), request.url()) {
                (Method::Get, "/metrics") => scrape(&events),
                (Method::Get, _) => (404, "metrics are at /metrics\n".to_owned()),
                _ => (405, "metrics are read with GET\n".to_owned()),
            };
            let response = tiny_http::Response::from_string(text).with_status_code(status);
            let sent = match status {
                200 => request.respond(response.with_header(content_type.clone())),
                _ => request.respond(response),
            };
            if let Err(error) = sent {
                tracing::debug!("a reader of the metrics went away: {error}");
            }
        }
    };
    thread::Builder::new()
        .name("metrics".into())
        .spawn(listen)
        .map(drop)
        .map_err(|reason| error(reason.to_string()))
}

/// Connections have the listener's timeout: so does Linux make them.
fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    set_tcp_user_timeout(&listener, PATIENCE_MILLIS)?;
    Ok(listener)
}

fn scrape(events: &Sender<Event>) -> (u16, String) {
    let (answer, answered) = channel();
    let asked = events.send(Event::Request(Request::Show, answer)).ok();
    match asked.and_then(|()| answered.recv().ok()) {
        Some(Response::Shown(snapshot)) => (200, telemetry::metrics::encode(&snapshot)),
        _ => (503, "the gateway does not answer\n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::sockopt::tcp_user_timeout;
    use std::net::TcpStream;

    #[test]
    fn a_connection_whose_reader_takes_nothing_ends() {
        let listener = listen_at("127.0.0.1:0".parse().unwrap()).unwrap();
        let _reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (connection, _) = listener.accept().unwrap();
        assert_eq!(tcp_user_timeout(&connection).unwrap(), PATIENCE_MILLIS);
    }
}
