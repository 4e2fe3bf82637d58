//! `flow.txt`: the number of flows, and for each `source destination priority port size start`, the size in bytes and
//! the start in seconds. Text behind the last flow is a legend. ConWeave's lists have no port.

use units::{Bytes, PrioritySet};

use super::topology::Network;
use super::words::{REPORTED, Reader, time, words};
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;

/// The first line of a list.
const HEADER: &str = "start_ns,source,destination,bytes,priority\n";

const A_PORT: &str = "a port, up to 65535 (a list of bobzhuyb/ns3-rdma has packets, start and stop here; import-ns3 does not read it)";

/// The flows, at least one.
pub(super) struct Flows {
    rows: Vec<Flow>,
    /// The first start, in nanoseconds.
    pub first: u64,
    /// The last start.
    pub last: u64,
    pub priorities: PrioritySet,
}

struct Flow {
    start: u64,
    ends: [u32; 2],
    bytes: u64,
    priority: u8,
}

impl Flows {
    /// Reads flows between hosts of `network`, if that is known. Returns `None` and notes errors if that fails.
    pub fn read(text: &str, network: Option<&Network>, problems: &Problems<'_>) -> Option<Self> {
        let mut reader = Reader::new(words(text), text.len(), problems);
        let count = reader.number("flows", 1..=100_000_000_u32)?.value;
        let has_port = text.lines().nth(1).is_none_or(|line| words(line).count() != 5);
        let (mut rows, mut wrong) = (Vec::new(), 0);
        for _ in 0..count {
            let flow = Flow::read(&mut reader, has_port)?;
            if network.is_none_or(|network| check(&flow, network, problems)) {
                rows.push(flow.value);
                continue;
            }
            wrong += 1;
            if wrong == REPORTED {
                break;
            }
        }
        if wrong < REPORTED {
            reader.expect_no_number("flow")?;
        }
        let first = rows.iter().map(|row| row.start).min()?;
        let last = rows.iter().map(|row| row.start).max()?;
        let numbers = rows.iter().map(|row| units::Priority::from_low_bits(row.priority));
        let priorities = numbers.fold(PrioritySet::EMPTY, PrioritySet::with);
        Some(Self { rows, first, last, priorities })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Lists of the flows for a scenario, each up to `most` bytes long. Their times begin with the first flow.
    pub fn lists(&self, network: &Network, most: Bytes) -> Vec<String> {
        let mut lists: Vec<String> = Vec::new();
        for flow in &self.rows {
            let [source, destination] = flow.ends.map(|node| network.name(node));
            let start = flow.start - self.first;
            let row = format!("{start},{source},{destination},{},{}\n", flow.bytes, flow.priority);
            match lists.last_mut() {
                Some(list) if (list.len() + row.len()) as u64 <= most.0 => list.push_str(&row),
                _ => lists.push(format!("{HEADER}{row}")),
            }
        }
        lists
    }
}

impl Flow {
    fn read<'t>(
        reader: &mut Reader<'_, impl Iterator<Item = (usize, &'t str)>>,
        has_port: bool,
    ) -> Option<At<Self>> {
        let At { value: source, place } = reader.number("flow.source", 0..=u32::MAX)?;
        let destination = reader.number("flow.destination", 0..=u32::MAX)?.value;
        // Queue 0 is that of PFC frames.
        let priority = reader.number("flow.priority", 1..=7_u8)?.value;
        if has_port {
            reader.value("flow.port", |word| match word.parse::<u16>() {
                Ok(_) => Ok(()),
                Err(_) => Err(ProblemKind::Malformed { got: word.chars().take(40).collect(), want: A_PORT }),
            })?;
        }
        let bytes = reader.number("flow.size", 1..=u64::from(u32::MAX))?.value;
        let start = reader.value("flow.start", |word| time(word, 1e9))?.value;
        let place = Place { key: "flow".into(), ..place };
        Some(At { value: Self { start, ends: [source, destination], bytes, priority }, place })
    }
}

/// Whether `flow` is from a host to another. Notes an error if not.
fn check(flow: &At<Flow>, network: &Network, problems: &Problems<'_>) -> bool {
    let ends = flow.value.ends;
    let unknown = ends.into_iter().find(|node| network.is_switch.get(*node as usize) != Some(&false));
    let kind = match unknown {
        Some(node) => ProblemKind::NotAHost { node },
        None if ends[0] == ends[1] => ProblemKind::ToItself { node: ends[0] },
        None => return true,
    };
    problems.error(&flow.place, kind);
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_would_be_too_long_to_read_goes_on_in_another() {
        let topology = "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n";
        let flows = "5\n0 1 3 9 1000 1\n1 0 3 9 1000 1\n0 1 3 9 1000 1\n1 0 3 9 1000 1\n0 1 3 9 1000 1\n";
        let problems = Problems::new("test", topology);
        let network = Network::read(topology, &problems).unwrap();
        let flows = Flows::read(flows, Some(&network), &problems).unwrap();
        // The header is 43 bytes long, and each row 15.
        let lists = flows.lists(&network, Bytes(80));
        assert_eq!(lists.iter().map(String::len).collect::<Vec<_>>(), [73, 73, 58]);
        assert!(lists.iter().all(|list| list.starts_with(HEADER)));
        let rows: String = lists.iter().map(|list| &list[HEADER.len()..]).collect();
        assert_eq!(HEADER.to_owned() + &rows, flows.lists(&network, Bytes(1_000))[0]);
    }
}
