//! The receive of each send, and whether the operations of a job can all end.

use super::{Act, Fault, Job, JobError, Moment};

/// The numbers of operations among all of their job.
pub(super) struct Numbers<'a> {
    job: &'a Job,
    /// The number of the first operation of each rank.
    first: Vec<u32>,
    count: usize,
}

/// Sender, receiver and tag of a message, and the number of an operation.
type End = (u32, u32, u32, u32);

impl<'a> Numbers<'a> {
    /// The operations of `job`, which are no more than [`super::OPERATIONS_MAX`].
    pub fn new(job: &'a Job) -> Self {
        let mut count = 0;
        let mut first = Vec::with_capacity(job.ranks.len());
        for rank in &job.ranks {
            first.push(count as u32);
            count += rank.operations.len();
        }
        Self { job, first, count }
    }

    /// The rank of operation `number`, and the number that it has there.
    pub fn place(&self, number: u32) -> (u32, u32) {
        // Ranks without operations have the number of the next one.
        let rank = self.first.partition_point(|first| *first <= number) - 1;
        (rank as u32, number - self.first[rank])
    }

    fn act(&self, number: u32) -> Act {
        let (rank, operation) = self.place(number);
        self.job.ranks[rank as usize].operations[operation as usize].act
    }

    fn error(&self, number: u32, fault: Fault) -> JobError {
        let (rank, operation) = self.place(number);
        JobError { rank, operation, fault }
    }

    /// Each send with its receive, in the order of sends.
    pub fn matched(&self) -> Result<Vec<(u32, u32)>, JobError> {
        let (sends, receives) = self.ends()?;
        let mut pairs = Vec::with_capacity(sends.len());
        let key = |end: Option<&End>| end.map(|(from, to, tag, _)| (*from, *to, *tag));
        for index in 0..sends.len().max(receives.len()) {
            let (send, receive) = (sends.get(index), receives.get(index));
            // Where one has no counterpart, the one that sorts first has none.
            let is_sent_first = receive.is_none() || (send.is_some() && key(send) < key(receive));
            match (send, receive) {
                (Some(send), Some(receive)) if key(Some(send)) == key(Some(receive)) => {
                    pairs.push((send.3, receive.3));
                }
                (Some(&(_, to, tag, number)), _) if is_sent_first => {
                    return Err(self.error(number, Fault::NotReceived { to, tag }));
                }
                (_, Some(&(from, _, tag, number))) => {
                    return Err(self.error(number, Fault::NotSent { from, tag }));
                }
                _ => {}
            }
        }
        pairs.sort_unstable();
        pairs.iter().try_for_each(|(send, receive)| self.check_length(*send, *receive))?;
        Ok(pairs)
    }

    /// All sends and all receives, each by message and then in the order of the job.
    fn ends(&self) -> Result<(Vec<End>, Vec<End>), JobError> {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        let last = (self.job.ranks.len() as u32).saturating_sub(1);
        let acts = (0_u32..)
            .zip(&self.job.ranks)
            .flat_map(|(rank, it)| it.operations.iter().map(move |it| (rank, it.act)));
        for (number, (rank, act)) in (0_u32..).zip(acts) {
            let other = match act {
                Act::Send { to, tag, .. } => {
                    sends.push((rank, to, tag, number));
                    to
                }
                Act::Receive { from, tag, .. } => {
                    receives.push((from, rank, tag, number));
                    from
                }
                Act::Calculate(_) => continue,
            };
            if other > last {
                return Err(self.error(number, Fault::NoRank { other, last }));
            }
        }
        sends.sort_unstable();
        receives.sort_unstable();
        Ok((sends, receives))
    }

    fn check_length(&self, send: u32, receive: u32) -> Result<(), JobError> {
        match (self.act(send), self.act(receive)) {
            (Act::Send { bytes: sent, .. }, Act::Receive { bytes: received, from, .. })
                if sent != received =>
            {
                Err(self.error(receive, Fault::Length { from, sent, received }))
            }
            _ => Ok(()),
        }
    }

    /// Calls `visit` with each moment and one that waits for it. Operation `i` begins at moment `2 i`, and ends at the next.
    fn each_wait(&self, messages: &[(u32, u32)], mut visit: impl FnMut(usize, usize)) {
        for (rank, first) in self.job.ranks.iter().zip(&self.first) {
            for number in *first..*first + rank.operations.len() as u32 {
                visit(2 * number as usize, 2 * number as usize + 1);
            }
            for after in &rank.after {
                let other = 2 * (first + after.other) as usize + usize::from(after.moment == Moment::Ends);
                visit(other, 2 * (first + after.operation) as usize);
            }
        }
        for (send, receive) in messages {
            visit(2 * *send as usize, 2 * *receive as usize + 1);
        }
    }

    /// Checks that no operation waits for itself, given all `messages`.
    pub fn check_order(&self, messages: &[(u32, u32)]) -> Result<(), JobError> {
        let moments = 2 * self.count;
        // For how many each waits, and where those that wait for it begin in `targets`.
        let (mut waits, mut starts) = (vec![0_u32; moments], vec![0_usize; moments + 1]);
        self.each_wait(messages, |from, to| {
            waits[to] += 1;
            starts[from + 1] += 1;
        });
        for index in 0..moments {
            starts[index + 1] += starts[index];
        }
        let (mut next, mut targets) = (starts.clone(), vec![0_u32; starts[moments]]);
        self.each_wait(messages, |from, to| {
            targets[next[from]] = to as u32;
            next[from] += 1;
        });
        let mut come: Vec<usize> = (0..moments).filter(|moment| waits[*moment] == 0).collect();
        while let Some(moment) = come.pop() {
            for target in &targets[starts[moment]..starts[moment + 1]] {
                waits[*target as usize] -= 1;
                if waits[*target as usize] == 0 {
                    come.push(*target as usize);
                }
            }
        }
        let Some(stuck) = waits.iter().position(|waits| *waits > 0) else { return Ok(()) };
        // Back from a moment that never comes, along others of that kind, into the cycle.
        let mut before = vec![stuck; moments];
        self.each_wait(messages, |from, to| {
            if waits[from] > 0 && waits[to] > 0 {
                before[to] = from;
            }
        });
        let moment = (0..moments).fold(stuck, |moment, _| before[moment]);
        Err(self.error(moment as u32 / 2, Fault::Cycle))
    }
}
