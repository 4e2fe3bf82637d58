//! The dashboard of a gateway that has been through something, at several sizes, and what keys do to it.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

#[path = "../../../telemetry/tests/common/mod.rs"]
mod common;

mod ending;
mod faults;
mod room;

use super::grid::Tone;
use super::model::{Action, Model};
use super::theme::Theme;
use super::views::DashboardView;
use super::{screen, text};
use common::{assert_golden, snapshot};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};
use telemetry::Snapshot;
use units::Interval;

const PLAIN: Theme = Theme { has_colours: false, has_blocks: false };
const RICH: Theme = Theme { has_colours: true, has_blocks: true };

/// A second later, after some traffic and pauses.
fn later(mut snapshot: Snapshot) -> Snapshot {
    (snapshot.at_ns, snapshot.uptime_ns) =
        (snapshot.at_ns + 1_000_000_000, snapshot.uptime_ns + 1_000_000_000);
    let [dc0, lh0] = snapshot.ports.as_mut_slice() else { panic!("there are two ports") };
    dc0.port.arrived.bytes.0 += 110_000_000;
    dc0.port.arrived.frames += 110_000;
    dc0.port.priorities[3].pauses_sent.paused_ns += 250_000_000;
    lh0.port.out.bytes.0 += 100_000_000;
    lh0.port.out.frames += 100_000;
    lh0.port.priorities[3].egress.transmitted.bytes.0 += 100_000_000;
    lh0.port.priorities[3].egress.ecn_marked += 4_000;
    lh0.device.link_up = true;
    let counts = &mut snapshot.workers[0].runtime.since_start.counts;
    (counts.busy_ns, counts.idle_ns) = (counts.busy_ns + 700_000_000, counts.idle_ns + 300_000_000);
    snapshot
}

fn model(view: DashboardView) -> Model {
    let mut model = Model::new(view, None, Interval::from_secs(1));
    let mut seen = snapshot();
    for _ in 0..4 {
        model.see(seen.clone());
        seen = later(seen);
    }
    model
}

/// The screen on a terminal of this size.
fn drawn(model: &Model, width: u16, height: u16, theme: Theme) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(frame.area(), frame.buffer_mut(), model, theme)).unwrap();
    terminal
}

fn lines(model: &Model, width: u16, height: u16) -> String {
    let terminal = drawn(model, width, height, PLAIN);
    let buffer = terminal.backend().buffer();
    let line = |row| (0..width).map(|column| buffer[(column, row)].symbol()).collect::<String>();
    (0..height).map(|row| line(row).trim_end().to_owned() + "\n").collect()
}

fn press(model: &mut Model, code: KeyCode) -> Action {
    model.press(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn every_view_is_the_golden_one_on_a_small_screen() {
    let views = DashboardView::ALL.map(|view| lines(&model(view), 80, 24));
    assert_golden("top-80x24.txt", &views.join(&("=".repeat(80) + "\n")));
}

#[test]
fn every_view_is_the_golden_one_on_a_large_screen() {
    let views = DashboardView::ALL.map(|view| lines(&model(view), 120, 40));
    assert_golden("top-120x40.txt", &views.join(&("=".repeat(120) + "\n")));
}

#[test]
fn a_screen_of_any_size_shows_what_fits() {
    for view in DashboardView::ALL {
        let mut model = model(view);
        for helps in [false, true] {
            model.helps = helps;
            for (width, height) in [(1, 1), (2, 3), (10, 5), (20, 60), (40, 9), (300, 100)] {
                drawn(&model, width, height, RICH);
                text(&model, width, RICH);
            }
        }
    }
}

#[test]
fn a_terminal_of_any_size_takes_no_more_than_a_large_screen() {
    for (columns, rows) in
        [(0, 0), (0, u16::MAX), (u16::MAX, 0), (1, 1), (32_768, 30), (u16::MAX, 30), (30, u16::MAX)]
    {
        let area = screen::area(columns, rows);
        assert!(area.width <= columns.min(1_000) && area.height <= rows.min(1_000), "{area}");
        for view in DashboardView::ALL {
            drawn(&model(view), area.width, area.height, RICH);
        }
    }
    assert_eq!(screen::area(u16::MAX, u16::MAX).area(), 1_000_000);
    assert_eq!((screen::area(80, 24).width, screen::area(80, 24).height), (80, 24));
}

#[test]
fn rates_are_of_the_time_between_two_snapshots_by_the_clock_of_the_gateway() {
    let mut model = Model::new(DashboardView::Ports, None, Interval::from_secs(1));
    model.see(snapshot());
    assert!(lines(&model, 80, 24).contains("averages since the start"));
    let mut slow = later(snapshot());
    // The answer came after two seconds instead of one.
    (slow.at_ns, slow.uptime_ns) = (slow.at_ns + 1_000_000_000, slow.uptime_ns + 1_000_000_000);
    model.see(slow);
    let page = lines(&model, 80, 24);
    assert!(page.contains("440 Mb/s") && page.contains("12.5%"), "{page}");
}

#[test]
fn a_gateway_that_goes_away_is_told_and_what_was_seen_stays() {
    let mut model = model(DashboardView::Ports);
    model.lose("/run/longspan/gw.sock: cannot connect to the gateway".into());
    let page = lines(&model, 80, 24);
    assert!(page.contains("NO ANSWER") && page.contains("LOST: /run") && page.contains("880 Mb/s"), "{page}");
    model.see(later(snapshot()));
    assert!(!lines(&model, 80, 24).contains("LOST"));
}

#[test]
fn a_gateway_that_has_started_anew_has_no_rates_of_the_one_before() {
    let mut model = model(DashboardView::Ports);
    let mut anew = later(snapshot());
    anew.uptime_ns = 1_000_000;
    model.see(anew);
    assert!(lines(&model, 80, 24).contains("averages since the start"));
    assert!(model.history.is_empty());
}

#[test]
fn a_paused_picture_stands_still() {
    let mut model = model(DashboardView::Ports);
    let before = lines(&model, 80, 24);
    press(&mut model, KeyCode::Char('p'));
    model.see(later(later(snapshot())));
    let paused = lines(&model, 80, 24);
    assert!(paused.contains("PAUSED"));
    assert_eq!(paused.lines().skip(1).collect::<Vec<_>>(), before.lines().skip(1).collect::<Vec<_>>());
}

#[test]
fn keys_choose_views_and_ports_and_the_interval() {
    let mut model = model(DashboardView::Ports);
    press(&mut model, KeyCode::Char('3'));
    assert_eq!(model.view, DashboardView::Pauses);
    press(&mut model, KeyCode::Tab);
    press(&mut model, KeyCode::Tab);
    press(&mut model, KeyCode::BackTab);
    assert_eq!(model.view, DashboardView::Marks);
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Enter);
    assert_eq!(model.only.as_deref(), Some("lh0"));
    assert!(!lines(&model, 80, 24).contains("dc0"));
    press(&mut model, KeyCode::Esc);
    assert_eq!(model.only, None);
    assert_eq!(
        (press(&mut model, KeyCode::Char('+')), model.interval),
        (Action::Pace, Interval::from_secs(2))
    );
    for _ in 0..9 {
        press(&mut model, KeyCode::Char('-'));
    }
    assert_eq!(model.interval, Interval::from_millis(125));
    assert_eq!(press(&mut model, KeyCode::Char('q')), Action::Quit);
    assert_eq!(model.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Action::Quit);
}

#[test]
fn rows_are_sorted_by_a_column_the_largest_first_and_back() {
    let mut model = model(DashboardView::Ports);
    let first = |model: &Model| model.grid().rows[0].port.clone().unwrap();
    assert_eq!(first(&model), "dc0");
    // The fourth column is "out".
    for _ in 0..4 {
        press(&mut model, KeyCode::Char('s'));
    }
    assert_eq!(first(&model), "lh0");
    assert!(lines(&model, 80, 24).contains("out*"));
    press(&mut model, KeyCode::Char('r'));
    assert_eq!(first(&model), "dc0");
}

#[test]
fn the_help_names_the_keys_and_goes_again() {
    let mut model = model(DashboardView::Ports);
    press(&mut model, KeyCode::Char('?'));
    assert!(lines(&model, 80, 24).contains("q, Ctrl-C        quit"));
    press(&mut model, KeyCode::Esc);
    assert!(!lines(&model, 80, 24).contains("q, Ctrl-C        quit"));
}

#[test]
fn what_a_gateway_calls_itself_and_its_ports_cannot_steer_the_terminal() {
    let mut hostile = snapshot();
    hostile.gateway = "\u{1b}]0;owned\u{7}\u{9b}2J".into();
    hostile.version = "\r\n\u{202e}".into();
    hostile.ports[0].port.name = "\u{1b}[31mdc\u{202e}0".into();
    hostile.ports[1].device.name = "\u{1b}c".into();
    for view in DashboardView::ALL {
        let mut model = Model::new(view, None, Interval::from_secs(1));
        model.see(hostile.clone());
        model.lose("\u{1b}[2J".into());
        for page in [lines(&model, 80, 24), text(&model, 120, RICH)] {
            assert!(page.chars().all(|it| it == '\n' || crate::console::is_harmless(it)), "{page:?}");
        }
    }
}

#[test]
fn without_colours_nothing_has_one_and_nothing_is_lost() {
    let model = model(DashboardView::Pauses);
    let (plain, rich) = (drawn(&model, 80, 24, PLAIN), drawn(&model, 80, 24, RICH));
    let cells = |terminal: &Terminal<TestBackend>| terminal.backend().buffer().content.clone();
    assert!(cells(&plain).iter().all(|it| it.fg == Color::Reset && it.bg == Color::Reset));
    assert!(cells(&rich).iter().any(|it| it.fg == Color::Yellow));
    assert!(PLAIN.tone(Tone::Bad).add_modifier.contains(Modifier::BOLD));
}

#[test]
fn the_environment_says_what_a_terminal_can_show() {
    let of = |set: &[(&str, &str)]| {
        Theme::of(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    };
    let (term, locale) = (("TERM", "xterm-256color"), ("LANG", "de_DE.UTF-8"));
    assert_eq!(of(&[term, locale]), RICH);
    assert_eq!(of(&[term, locale, ("NO_COLOR", "1")]), Theme { has_colours: false, ..RICH });
    assert_eq!(of(&[term, locale, ("NO_COLOR", "")]), RICH, "an empty one asks for nothing");
    assert_eq!(of(&[("TERM", "dumb"), ("LC_ALL", "C"), locale]), PLAIN);
    assert_eq!(of(&[]), PLAIN);
}

#[test]
fn one_frame_as_text_has_all_rows_and_no_keys() {
    let model = model(DashboardView::Health);
    let page = text(&model, 120, PLAIN);
    assert!(page.ends_with('\n') && !page.contains("q quit") && page.contains("\nNext: "), "{page}");
    let verdict =
        |line: &&str| line.contains(" healthy ") || line.contains(" unhealthy ") || line.contains(" watch ");
    // The second line has the verdict on the gateway.
    assert_eq!(page.lines().skip(3).filter(verdict).count(), model.grid().rows.len(), "{page}");
}

#[test]
fn a_gateway_without_a_lossless_class_has_a_row_that_says_so() {
    let mut none = snapshot();
    none.ports.iter_mut().for_each(|port| {
        port.port.priorities.iter_mut().for_each(|it| it.ingress.lossless = false);
    });
    let mut model = Model::new(DashboardView::Health, None, Interval::from_secs(1));
    model.see(none);
    assert_golden("top-no-lossless-class.txt", &lines(&model, 80, 24));
    model.only = Some("lh0".into());
    let page = lines(&model, 80, 24);
    let row = page.lines().find(|line| line.starts_with(">lh0")).unwrap_or_default();
    assert!(row.ends_with("No priority of port lh0 is lossless."), "{page}");
}
