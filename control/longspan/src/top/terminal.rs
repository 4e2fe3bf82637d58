//! The terminal of the dashboard, which is as it was before once the dashboard ends, however it ends.

use super::screen;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::layout::Rect;
use ratatui::{DefaultTerminal, Frame, Terminal, TerminalOptions, Viewport, backend::CrosstermBackend};
use std::io::{self, stdout};
use std::mem::ManuallyDrop;
use std::panic;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A terminal in raw mode that shows another screen. Dropping this restores it, and so does a panic of any thread, before
/// its message is printed.
pub struct Screen {
    _restored: Restored,
    /// Nothing drops it: it would show the cursor again, and panic on a terminal that is gone.
    terminal: ManuallyDrop<DefaultTerminal>,
}

impl Screen {
    /// Takes the terminal that is standard output.
    ///
    /// # Errors
    /// It is none, or is gone.
    pub fn open() -> io::Result<Self> {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            restore();
            report(about);
        }));
        let restored = Restored;
        terminal::enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen)?;
        let options = TerminalOptions { viewport: Viewport::Fixed(area()?) };
        let terminal = Terminal::with_options(CrosstermBackend::new(stdout()), options)?;
        Ok(Self { _restored: restored, terminal: ManuallyDrop::new(terminal) })
    }

    /// Shows what `draw` draws.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let area = area()?;
        if self.terminal.get_frame().area() != area {
            self.terminal.resize(area)?;
        }
        self.terminal.draw(draw).map(|_| ())
    }
}

/// The area to draw in.
fn area() -> io::Result<Rect> {
    terminal::size().map(|(columns, rows)| screen::area(columns, rows))
}

/// Restores the terminal when it is dropped.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        restore();
    }
}

/// Says nothing of an error: then the terminal is gone, and standard error with it.
fn restore() {
    let _ = terminal::disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// The actions of the user.
pub struct Input(Receiver<io::Result<Event>>);

impl Input {
    /// Reads the terminal from now on, in its own thread: the library does not return from a terminal that has hung up.
    pub fn start() -> Self {
        let (sender, events) = channel();
        thread::spawn(move || while sender.send(event::read()).is_ok() {});
        Self(events)
    }

    /// The next action; `None` if there is none for so long.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn next(&self, wait: Duration) -> io::Result<Option<Event>> {
        match self.0.recv_timeout(wait) {
            Ok(event) => event.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}
