//! `longspan top`: a dashboard of a running gateway.

mod detail;
mod feed;
mod fit;
mod grid;
mod head;
mod help;
mod model;
mod screen;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
pub mod views;

use crate::ask;
use crate::cli::top::TopArgs;
use crate::console;
use crate::failure::Failure;
use feed::Feed;
use gateway::socket::Request;
use model::{Action, Model};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{Event, KeyEventKind};
use ratatui::crossterm::terminal::size;
use ratatui::layout::Rect;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::env;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use terminal::{Input, Screen};
use theme::Theme;

/// How long a key, a snapshot or a signal waits at most.
const WAKE: Duration = Duration::from_millis(50);
/// The columns of a screen that is none.
const COLUMNS: u16 = 120;

/// Shows the dashboard until it is quit, or once.
///
/// # Errors
/// [`Failure::Usage`] if standard output is no terminal, [`Failure::Ask`] if no gateway answers, with `--once` also
/// [`Failure::Port`] if it has no such port; [`Failure::Print`] if the terminal is gone.
pub fn run(args: &TopArgs) -> Result<(), Failure> {
    let socket = ask::path(&args.whom)?;
    let mut model = Model::new(args.view, args.port.clone(), args.interval);
    let theme = Theme::of(|name| env::var(name).ok());
    if args.once {
        return once(args, &socket, &mut model, theme);
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::usage("top needs a terminal; --once prints one frame"));
    }
    let mut feed = Feed::start(move || ask::look(&socket, Request::Show), args.interval);
    live(&mut feed, &mut model, theme)
}

/// Prints what the screen would show after one interval, with all rows.
fn once(args: &TopArgs, socket: &Path, model: &mut Model, theme: Theme) -> Result<(), Failure> {
    let (first, second) = ask::around(socket, args.interval, Request::Show)?;
    model.see(first);
    telemetry::has_port(&second, args.port.as_deref())?;
    model.see(second);
    let width = match size() {
        Ok((width, _)) if io::stdout().is_terminal() => width.min(screen::COLUMNS_MAX),
        _ => COLUMNS,
    };
    console::print(&text(model, width, theme))
}

/// A frame as text, as high as all rows and what is below them, without its last line, which names keys.
fn text(model: &Model, width: u16, theme: Theme) -> String {
    let height = screen::height(model, width, theme);
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    screen::draw(area, &mut buffer, model, theme);
    let line = |row: u16| (0..width).map(|column| buffer[(column, row)].symbol()).collect::<String>();
    let lines: Vec<_> = (0..height - 1).map(|row| line(row).trim_end().to_owned()).collect();
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// Shows what `feed` says until the user quits or a signal comes.
fn live(feed: &mut Feed, model: &mut Model, theme: Theme) -> Result<(), Failure> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP, SIGINT] {
        flag::register(signal, ended.clone()).map_err(Failure::Signal)?;
    }
    let mut screen = Screen::open().map_err(Failure::Print)?;
    let input = Input::start();
    let mut is_stale = true;
    while !ended.load(Ordering::Relaxed) {
        while let Some(news) = feed.news() {
            match news {
                Ok(snapshot) => model.see(snapshot),
                Err(why) => model.lose(why),
            }
            is_stale = true;
        }
        if is_stale {
            let drawn = screen.draw(|frame| {
                model.top_of_help = model.top_of_help.min(screen::last_top_of_help(frame.area()));
                screen::draw(frame.area(), frame.buffer_mut(), model, theme);
            });
            drawn.map_err(Failure::Print)?;
            is_stale = false;
        }
        match input.next(WAKE).map_err(Failure::Print)? {
            Some(Event::Key(key)) if key.kind != KeyEventKind::Release => match model.press(key) {
                Action::Quit => break,
                Action::Pace => feed.pace(model.interval),
                Action::Draw => {}
            },
            Some(Event::Resize(..)) => {}
            _ => continue,
        }
        is_stale = true;
    }
    Ok(())
}
