//! The state of the dashboard, and the effect of keys on it. It reads no clock and touches no terminal.

use super::grid::{Grid, Order};
use super::views::DashboardView;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::{BTreeMap, VecDeque};
use telemetry::{Period, Snapshot};
use units::Interval;

/// How many periods a port's history has at most.
const HISTORY: usize = 240;
/// The shortest and longest time between two snapshots that keys reach.
const SHORTEST: Interval = Interval::from_millis(125);
const LONGEST: Interval = Interval::from_secs(64);

/// The state of the dashboard.
#[derive(Debug)]
pub struct Model {
    /// The view.
    pub view: DashboardView,
    /// The port that alone is shown, if one is.
    pub only: Option<String>,
    /// The order of rows.
    pub order: Order,
    /// The number of the selected row.
    pub selected: usize,
    /// Whether the help is shown.
    pub helps: bool,
    /// The first line of the help that is shown.
    pub top_of_help: usize,
    /// Whether what is shown stands still.
    pub is_paused: bool,
    /// The time between two snapshots.
    pub interval: Interval,
    /// Why the gateway does not answer, if it does not.
    pub lost: Option<String>,
    /// Bits by second that came in and went out, for each port.
    pub history: BTreeMap<String, VecDeque<(u64, u64)>>,
    before: Option<Snapshot>,
    now: Option<Snapshot>,
}

/// The action that follows a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Draw again.
    Draw,
    /// Ask the gateway at another interval.
    Pace,
    /// End.
    Quit,
}

impl Model {
    /// A dashboard that has seen no snapshot.
    pub fn new(view: DashboardView, only: Option<String>, interval: Interval) -> Self {
        Self {
            view,
            only,
            order: Order::default(),
            selected: 0,
            helps: false,
            top_of_help: 0,
            is_paused: false,
            interval,
            lost: None,
            history: BTreeMap::new(),
            before: None,
            now: None,
        }
    }

    /// Takes a snapshot. One of a gateway that has started anew begins a new history.
    pub fn see(&mut self, snapshot: Snapshot) {
        self.lost = None;
        if self.is_paused {
            return;
        }
        // Two clients may have asked at once.
        let is_new = self.now.as_ref().is_none_or(|now| now.at_ns != snapshot.at_ns);
        if is_new {
            self.before = self.now.replace(snapshot);
        }
        if self.before.as_ref().map(Snapshot::started_ns) != self.now.as_ref().map(Snapshot::started_ns) {
            (self.before, self.history) = (None, BTreeMap::new());
        }
        if is_new && self.before.is_some() {
            self.remember();
        }
    }

    /// Notes that the gateway does not answer.
    pub fn lose(&mut self, why: String) {
        self.lost = Some(why);
    }

    fn remember(&mut self) {
        let Some(period) = self.period() else { return };
        let bits = |bytes_per_second: f64| (bytes_per_second * 8.0) as u64;
        let rates: Vec<_> = period
            .ports()
            .map(|port| {
                let arrived = bits(port.per_second(|it| it.port.arrived.bytes.0));
                (port.name().to_owned(), (arrived, bits(port.per_second(|it| it.port.out.bytes.0))))
            })
            .collect();
        for (port, rates) in rates {
            let history = self.history.entry(port).or_default();
            history.push_back(rates);
            if history.len() > HISTORY {
                history.pop_front();
            }
        }
    }

    /// The time between the two last snapshots, or since the start of the gateway if there was one only.
    pub fn period(&self) -> Option<Period<'_>> {
        let now = self.now.as_ref()?;
        let between = self.before.as_ref().and_then(|before| Period::between(before, now).ok());
        Some(between.unwrap_or_else(|| Period::since_start(now)))
    }

    /// The table of the view, in its order.
    pub fn grid(&self) -> Grid {
        let grid = self.period().map(|period| self.view.grid(&period, self.only.as_deref()));
        grid.unwrap_or_default().sorted(self.order)
    }

    /// The port of the selected row, if it has one.
    pub fn selected_port(&self) -> Option<String> {
        let grid = self.grid();
        grid.rows.get(self.selected.min(grid.rows.len().saturating_sub(1)))?.port.clone()
    }

    /// Does what a key asks for.
    pub fn press(&mut self, key: KeyEvent) -> Action {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if has_control => return Action::Quit,
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('?' | 'h') => (self.helps, self.top_of_help) = (!self.helps, 0),
            KeyCode::Esc if self.helps => self.helps = false,
            KeyCode::Esc => self.only = None,
            KeyCode::Char(digit @ '1'..='8') => self.show(DashboardView::ALL[digit as usize - '1' as usize]),
            KeyCode::Tab | KeyCode::Right => self.show(self.beside(1)),
            KeyCode::BackTab | KeyCode::Left => self.show(self.beside(DashboardView::ALL.len() - 1)),
            key if self.helps && self.scroll(key) => {}
            KeyCode::Down | KeyCode::Char('j') => self.select(self.selected.saturating_add(1)),
            KeyCode::Up | KeyCode::Char('k') => self.select(self.selected.saturating_sub(1)),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.select(usize::MAX),
            KeyCode::Enter => {
                self.only = if self.only.is_some() { None } else { self.selected_port() };
                self.selected = 0;
            }
            KeyCode::Char('s') => self.sort_by_the_next(),
            KeyCode::Char('r') => self.order.is_reversed = !self.order.is_reversed,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('+' | '=') => return self.pace(Interval(self.interval.0.saturating_mul(2))),
            KeyCode::Char('-') => return self.pace(Interval(self.interval.0 / 2)),
            _ => {}
        }
        Action::Draw
    }

    /// Moves the help, if that is what `key` does. The screen knows where it ends.
    fn scroll(&mut self, key: KeyCode) -> bool {
        self.top_of_help = match key {
            KeyCode::Down | KeyCode::Char('j') => self.top_of_help.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.top_of_help.saturating_sub(1),
            KeyCode::Home => 0,
            KeyCode::End => usize::MAX,
            _ => return false,
        };
        true
    }

    fn show(&mut self, view: DashboardView) {
        if view != self.view {
            (self.view, self.order, self.selected) = (view, Order::default(), 0);
        }
        self.helps = false;
    }

    /// The view `steps` further.
    fn beside(&self, steps: usize) -> DashboardView {
        let place = DashboardView::ALL.iter().position(|view| *view == self.view).unwrap_or_default();
        DashboardView::ALL[(place + steps) % DashboardView::ALL.len()]
    }

    fn select(&mut self, row: usize) {
        self.selected = row.min(self.grid().rows.len().saturating_sub(1));
    }

    /// From the order of the configuration through all columns, and back to it.
    fn sort_by_the_next(&mut self) {
        let columns = self.grid().headings.len();
        let next = self.order.column.map_or(0, |column| column + 1);
        self.order.column = (next < columns).then_some(next);
        self.selected = 0;
    }

    fn pace(&mut self, interval: Interval) -> Action {
        self.interval = interval.clamp(SHORTEST, LONGEST);
        Action::Pace
    }
}
