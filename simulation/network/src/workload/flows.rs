//! The flows of all parts, in the order of their start.

use super::drawn::Drawn;
use super::listed::Listed;
use super::pattern::Repeated;
use super::poisson::Arriving;
use super::{Arrivals, Workload};
use crate::network::FlowSpec;
use core::cmp::Reverse;
use endpoint::FlowId;
use std::collections::BinaryHeap;
use std::sync::Arc;
use units::{Nanos, Priority};

/// One source of flows, sorted by start.
#[derive(Clone, Debug)]
enum Stream {
    Arriving(Arriving),
    Repeated(Repeated),
    Listed { rows: Arc<[Listed]>, next: usize },
}

impl Stream {
    fn next_start(&self) -> Option<Nanos> {
        match self {
            Self::Arriving(arriving) => arriving.next_start(),
            Self::Repeated(repeated) => repeated.next_start(),
            Self::Listed { rows, next } => rows.get(*next).map(|row| row.start),
        }
    }

    /// The flow that starts at [`Stream::next_start`].
    fn draw(&mut self) -> Option<Drawn> {
        match self {
            Self::Arriving(arriving) => Some(arriving.draw()),
            Self::Repeated(repeated) => Some(repeated.draw()),
            Self::Listed { rows, next } => {
                let row = rows.get(*next)?;
                *next += 1;
                Some(Drawn {
                    source: row.source,
                    destination: row.destination,
                    bytes: Some(row.bytes),
                    stop: None,
                    again_until: None,
                    priority: Some(row.priority),
                })
            }
        }
    }
}

/// Flows, drawn one at a time.
#[derive(Clone, Debug)]
pub struct Flows {
    /// The streams, each with the group and the priority of its part.
    streams: Vec<(Stream, u16, Priority)>,
    /// The start of the next flow of each stream; of equal starts, that of the earlier stream comes first.
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
    until: Nanos,
    next: Option<u32>,
}

impl Workload {
    /// The flows that start by `until`, numbered from zero, with random choices from `seed`.
    pub fn flows(&self, seed: u64, until: Nanos) -> Flows {
        let mut streams = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let mut add = |stream| streams.push((stream, part.group, part.priority));
            let number = number as u64;
            match &part.arrivals {
                Arrivals::Poisson(poisson) => add(Stream::Arriving(Arriving::new(poisson, seed, number))),
                Arrivals::Pattern(pattern) => {
                    Repeated::all(pattern, seed, number).into_iter().map(Stream::Repeated).for_each(add);
                }
                Arrivals::Listed(rows) => add(Stream::Listed { rows: rows.clone(), next: 0 }),
            }
        }
        let starts = streams.iter().enumerate();
        let due =
            starts.filter_map(|(index, (stream, ..))| Some(Reverse((stream.next_start()?, index)))).collect();
        Flows { streams, due, until, next: Some(0) }
    }
}

impl Flows {
    /// The same flows, numbered from `first`.
    pub fn numbered_from(self, first: u32) -> Self {
        Self { next: Some(first), ..self }
    }
}

impl Iterator for Flows {
    type Item = FlowSpec;

    fn next(&mut self) -> Option<FlowSpec> {
        let Reverse((start, index)) = self.due.pop()?;
        if start > self.until {
            return None;
        }
        let id = self.next?;
        self.next = id.checked_add(1);
        let (stream, group, of_part) = &mut self.streams[index];
        let drawn = stream.draw()?;
        let (group, priority) = (*group, drawn.priority.unwrap_or(*of_part));
        if let Some(again) = stream.next_start() {
            self.due.push(Reverse((again, index)));
        }
        Some(FlowSpec {
            id: FlowId(id),
            start,
            source: drawn.source,
            destination: drawn.destination,
            bytes: drawn.bytes,
            stop: drawn.stop,
            again_until: drawn.again_until,
            priority,
            group,
        })
    }
}
