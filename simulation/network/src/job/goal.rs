//! Jobs as text, in the form that `txt2bin` of LogGOPSim reads (spcl/LogGOPSim, `txt2bin.re`).
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 500
//! l2: send 4096b to 1 tag 7
//! l2 requires l1
//! }
//! rank 1 {
//! recv 4096b from 0 tag 7 cpu 1
//! }
//! ```
//!
//! A line has one operation or one dependency. Comments are `//` up to the end of the line, and `/* */`.

use super::{Act, After, Fault, Job, Moment, OPERATIONS_MAX, Operation, PlannedJob, Rank};
use crate::network::NodeId;
use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, Read as _};
use std::iter::Peekable;
use std::slice;
use units::Interval;

/// The most bytes of a line.
const LINE_MAX: usize = 1 << 16;
/// The most bytes of a label.
const LABEL_MAX: u64 = 64;
/// The longest message: 1024 GiB.
const BYTES_MAX: u64 = 1 << 40;
/// The longest calculation: an hour.
const TIME_MAX: u64 = 3_600_000_000_000;

/// The reason why a text is not a valid job. Lines are numbered from 1.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct GoalError {
    /// The line.
    pub line: u32,
    /// The fault in it.
    pub why: GoalFault,
}

/// A fault in a line.
#[derive(Debug, thiserror::Error)]
pub enum GoalFault {
    /// The line has an unexpected text.
    #[error("expected {want}, not {got}")]
    Expected {
        /// The text that is expected.
        want: &'static str,
        /// The text that the line has.
        got: String,
    },
    /// A number is too large.
    #[error("{what} is {got}, but at most {most}")]
    TooLarge {
        /// Its name.
        what: &'static str,
        /// The number.
        got: String,
        /// The largest.
        most: u64,
    },
    /// A label of the rank, or a rank, is given twice.
    #[error("{0} is there twice")]
    Twice(String),
    /// A label that no earlier line of the rank has.
    #[error("no line before has label {0} in this rank")]
    NoLabel(String),
    /// A message from any source or with any tag.
    #[error(
        "a number below zero stands for any source or tag, which a simulation cannot choose: give a number"
    )]
    Any,
    /// The line is too long.
    #[error("the line has more than {LINE_MAX} bytes")]
    LongLine,
    /// The job is too long.
    #[error("there are too many {0}")]
    TooMany(&'static str),
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// The operation of the line makes the job impossible.
    #[error("{0}")]
    Job(#[from] Fault),
}

/// A word, a number or a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Number(String),
    Symbol(char),
}

type Tokens<'a> = Peekable<slice::Iter<'a, Token>>;
type Found<T> = Result<T, GoalFault>;

/// Reads a job whose rank `i` is at `hosts[i]`, line by line. The other properties are those of `job`, whose ranks are
/// replaced.
///
/// # Errors
/// [`GoalError`] names a line at fault.
pub fn read_goal(mut input: impl BufRead, hosts: &[NodeId], job: Job) -> Result<PlannedJob, GoalError> {
    let mut reader = Reader::new(hosts, Job { ranks: Vec::new(), ..job });
    let mut bytes = Vec::new();
    loop {
        let line = reader.line;
        let at = |why| GoalError { line, why };
        bytes.clear();
        let read = input.by_ref().take(LINE_MAX as u64 + 1).read_until(b'\n', &mut bytes);
        if read.map_err(|error| at(error.into()))? == 0 {
            return reader.finish();
        }
        if bytes.len() > LINE_MAX {
            return Err(at(GoalFault::LongLine));
        }
        let tokens = reader.tokens(&String::from_utf8_lossy(&bytes));
        reader.read_line(&tokens).map_err(at)?;
        reader.line = line.checked_add(1).ok_or_else(|| at(GoalFault::TooMany("lines")))?;
    }
}

/// The job so far.
struct Reader<'a> {
    hosts: &'a [NodeId],
    job: Job,
    /// The line of each operation, by rank.
    lines: Vec<Vec<u32>>,
    /// The ranks that have been opened.
    opened: Vec<bool>,
    labels: HashMap<String, u32>,
    /// The rank whose braces are open.
    rank: Option<usize>,
    line: u32,
    is_in_comment: bool,
    operations: usize,
    dependencies: usize,
}

impl<'a> Reader<'a> {
    fn new(hosts: &'a [NodeId], job: Job) -> Self {
        Self {
            hosts,
            job,
            lines: Vec::new(),
            opened: Vec::new(),
            labels: HashMap::new(),
            rank: None,
            line: 1,
            is_in_comment: false,
            operations: 0,
            dependencies: 0,
        }
    }

    fn finish(self) -> Result<PlannedJob, GoalError> {
        let missing = |want| {
            let why = GoalFault::Expected { want, got: "the end of the file".into() };
            Err(GoalError { line: self.line, why })
        };
        if self.rank.is_some() || self.is_in_comment {
            return missing("a closing brace or the end of a comment");
        }
        if self.job.ranks.is_empty() {
            return missing("num_ranks");
        }
        if self.operations == 0 {
            return missing("an operation of some rank");
        }
        PlannedJob::new(&self.job).map_err(|error| {
            let line = self.lines[error.rank as usize][error.operation as usize];
            GoalError { line, why: error.fault.into() }
        })
    }

    /// The tokens of a line, without comments.
    fn tokens(&mut self, line: &str) -> Vec<Token> {
        let (mut tokens, mut rest) = (Vec::new(), line.trim());
        while let Some(first) = rest.chars().next() {
            if self.is_in_comment {
                let Some((_, after)) = rest.split_once("*/") else { break };
                self.is_in_comment = false;
                rest = after.trim_start();
                continue;
            }
            if rest.starts_with("//") {
                break;
            }
            if let Some(after) = rest.strip_prefix("/*") {
                self.is_in_comment = true;
                rest = after;
                continue;
            }
            let is_word = first.is_ascii_alphabetic();
            let fits =
                |c: char| if is_word { c.is_ascii_alphanumeric() || c == '_' } else { c.is_ascii_digit() };
            let end = rest.find(|c| !fits(c)).unwrap_or(rest.len()).max(first.len_utf8());
            let (text, after) = rest.split_at(end);
            tokens.push(match first {
                _ if is_word => Token::Word(text.into()),
                '0'..='9' => Token::Number(text.into()),
                symbol => Token::Symbol(symbol),
            });
            rest = after.trim_start();
        }
        tokens
    }

    fn read_line(&mut self, tokens: &[Token]) -> Found<()> {
        let mut tokens = tokens.iter().peekable();
        while let Some(token) = tokens.peek().copied() {
            match (self.rank, token) {
                (None, Token::Word(word)) if word == "num_ranks" && self.job.ranks.is_empty() => {
                    tokens.next();
                    let count = self.count_of_ranks(&mut tokens)?;
                    let rank =
                        |host: &NodeId| Rank { host: *host, operations: Vec::new(), after: Vec::new() };
                    self.job.ranks = self.hosts[..count].iter().map(rank).collect();
                    (self.lines, self.opened) = (vec![Vec::new(); count], vec![false; count]);
                }
                (None, Token::Word(word)) if word == "rank" && !self.job.ranks.is_empty() => {
                    tokens.next();
                    self.open_rank(&mut tokens)?;
                }
                (None, other) => {
                    let has_count = !self.job.ranks.is_empty();
                    return Err(unexpected(if has_count { "rank" } else { "num_ranks" }, Some(other)));
                }
                (Some(_), Token::Symbol('}')) => {
                    tokens.next();
                    (self.rank, self.labels) = (None, HashMap::new());
                }
                (Some(rank), _) => self.statement(rank, &mut tokens)?,
            }
        }
        Ok(())
    }

    fn count_of_ranks(&self, tokens: &mut Tokens<'_>) -> Found<usize> {
        let count = number("the number of ranks", self.hosts.len() as u64, tokens)?;
        if count == 0 {
            return Err(unexpected("one rank at least", Some(&Token::Number("0".into()))));
        }
        Ok(count as usize)
    }

    fn open_rank(&mut self, tokens: &mut Tokens<'_>) -> Found<()> {
        let rank = number("the rank", self.job.ranks.len() as u64 - 1, tokens)? as usize;
        if core::mem::replace(&mut self.opened[rank], true) {
            return Err(GoalFault::Twice(format!("rank {rank}")));
        }
        self.rank = Some(rank);
        expect("an opening brace", &Token::Symbol('{'), tokens)
    }

    /// An operation or a dependency, up to the end of the line.
    fn statement(&mut self, rank: usize, tokens: &mut Tokens<'_>) -> Found<()> {
        const WANT: &str = "send, recv, calc, a label or a closing brace";
        let mut first = word(WANT, tokens)?;
        if !matches!(first, "send" | "recv" | "calc") {
            let label = first;
            match tokens.next() {
                Some(Token::Symbol(':')) => first = word("send, recv or calc", tokens)?,
                Some(Token::Word(kind)) if kind == "requires" || kind == "irequires" => {
                    let moment = if kind == "requires" { Moment::Ends } else { Moment::Begins };
                    let other = word("a label", tokens)?;
                    return self.dependency(rank, [label, other], moment, tokens);
                }
                other => return Err(unexpected("a colon, requires or irequires", other)),
            }
            if label.len() as u64 > LABEL_MAX {
                let (what, got) = ("the length of the label", label.len().to_string());
                return Err(GoalFault::TooLarge { what, got, most: LABEL_MAX });
            }
            let number = self.job.ranks[rank].operations.len() as u32;
            if self.labels.insert(label.into(), number).is_some() {
                return Err(GoalFault::Twice(label.into()));
            }
        }
        let operation = operation(first, tokens)?;
        self.operations += 1;
        if self.operations > OPERATIONS_MAX {
            return Err(GoalFault::TooMany("operations"));
        }
        self.job.ranks[rank].operations.push(operation);
        self.lines[rank].push(self.line);
        end(tokens)
    }

    fn dependency(
        &mut self,
        rank: usize,
        labels: [&str; 2],
        moment: Moment,
        tokens: &mut Tokens<'_>,
    ) -> Found<()> {
        let known =
            |label: &str| self.labels.get(label).copied().ok_or_else(|| GoalFault::NoLabel(label.into()));
        let (operation, other) = (known(labels[0])?, known(labels[1])?);
        self.dependencies += 1;
        if self.dependencies > OPERATIONS_MAX {
            return Err(GoalFault::TooMany("dependencies"));
        }
        self.job.ranks[rank].after.push(After { operation, other, moment });
        end(tokens)
    }
}

fn operation(kind: &str, tokens: &mut Tokens<'_>) -> Found<Operation> {
    let mut act = match kind {
        "calc" => Act::Calculate(Interval(number("the time", TIME_MAX, tokens)?)),
        "send" | "recv" => {
            let bytes = number("the size", BYTES_MAX, tokens)?;
            expect("b, for bytes", &Token::Word("b".into()), tokens)?;
            let toward = if kind == "send" { "to" } else { "from" };
            expect(toward, &Token::Word(toward.into()), tokens)?;
            let other = number("the rank", u64::from(u32::MAX), tokens)? as u32;
            match kind {
                "send" => Act::Send { bytes, to: other, tag: 0 },
                _ => Act::Receive { bytes, from: other, tag: 0 },
            }
        }
        other => return Err(unexpected("send, recv or calc", Some(&Token::Word(other.into())))),
    };
    let (mut cpu, mut seen) = (0, BTreeSet::new());
    while let Some(Token::Word(key)) = tokens.peek() {
        tokens.next();
        if !seen.insert(key) {
            return Err(GoalFault::Twice(shown(key)));
        }
        match (key.as_str(), &mut act) {
            ("tag", Act::Send { tag, .. } | Act::Receive { tag, .. }) => {
                *tag = number("the tag", u64::from(u32::MAX), tokens)? as u32;
            }
            ("cpu", _) => cpu = number("the number of the CPU", 255, tokens)? as u8,
            // A host of the simulator has one network card.
            ("nic", Act::Send { .. } | Act::Receive { .. }) => {
                number("the number of the network card", 0, tokens)?;
            }
            _ => {
                return Err(unexpected(
                    "tag, cpu, nic or the end of the line",
                    Some(&Token::Word(key.clone())),
                ));
            }
        }
    }
    Ok(Operation { act, cpu })
}

fn word<'t>(want: &'static str, tokens: &mut Tokens<'t>) -> Found<&'t str> {
    match tokens.next() {
        Some(Token::Word(word)) => Ok(word),
        other => Err(unexpected(want, other)),
    }
}

fn number(what: &'static str, most: u64, tokens: &mut Tokens<'_>) -> Found<u64> {
    let digits = match tokens.next() {
        Some(Token::Number(digits)) => digits,
        Some(Token::Symbol('-')) => return Err(GoalFault::Any),
        other => return Err(unexpected("a number", other)),
    };
    let too_large = || GoalFault::TooLarge { what, got: shown(digits), most };
    digits.parse().ok().filter(|number| *number <= most).ok_or_else(too_large)
}

fn expect(want: &'static str, token: &Token, tokens: &mut Tokens<'_>) -> Found<()> {
    match tokens.next() {
        Some(found) if found == token => Ok(()),
        other => Err(unexpected(want, other)),
    }
}

fn end(tokens: &mut Tokens<'_>) -> Found<()> {
    tokens.peek().map_or(Ok(()), |found| Err(unexpected("the end of the line", Some(found))))
}

fn unexpected(want: &'static str, got: Option<&Token>) -> GoalFault {
    let got = match got {
        Some(Token::Word(text) | Token::Number(text)) => shown(text),
        Some(Token::Symbol(symbol)) => symbol.to_string(),
        None => "the end of the line".into(),
    };
    GoalFault::Expected { want, got }
}

/// The part of a token that a message shows.
fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}
