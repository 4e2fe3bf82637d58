//! Screens with too little room: nothing important is cut without a mark.

use super::{PLAIN, RICH, drawn, later, lines, model, press, snapshot};
use crate::top::model::Model;
use crate::top::screen::last_top_of_help;
use crate::top::text;
use crate::top::views::DashboardView;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use units::Interval;

/// A gateway whose header is as long as that of a large one gets.
fn large() -> Model {
    let mut large = snapshot();
    for pool in [&mut large.pools.shared, &mut large.pools.headroom] {
        (pool.held_bytes, pool.size_bytes) = (98_700_000, 98_700_000);
    }
    (large.memory.mbufs_in_use, large.memory.mbufs) = (65_534, 65_536);
    let mut model = Model::new(DashboardView::Ports, None, Interval::from_secs(1));
    model.see(large);
    model
}

#[test]
fn the_lines_above_the_table_fit_on_80_columns() {
    let mut model = large();
    let page = lines(&model, 80, 24);
    let line = "unhealthy  link_down  shared 98.7 MB of 98.7 MB  headroom 98.7 MB of 98.7 MB\n";
    assert!(page.contains(line), "{page}");
    model.only = Some("a-long-named-port".into());
    let page = lines(&model, 80, 24);
    assert!(page.contains("[1 ports] 2  3  4  5  6  7  8   a-long-named-port only\n"), "{page}");
}

#[test]
fn the_lines_above_the_table_lose_whole_fields_where_they_do_not_fit() {
    let mut model = large();
    model.lose("cannot connect to the gateway".into());
    let page = lines(&model, 40, 10);
    assert!(page.starts_with("amsterdam  NO ANSWER, trying again\n"), "{page}");
    assert!(page.contains("\nLOST: cannot connect to the gateway\n"), "{page}");
    assert!(lines(&model, 30, 10).contains("\nLOST: cannot connect to the...\n"));
    assert!(lines(&large(), 40, 10).contains("\nunhealthy  link_down\n"));
}

#[test]
fn the_port_of_a_row_is_named_whole_on_80_columns() {
    let mut model = model(DashboardView::Health);
    press(&mut model, KeyCode::Enter);
    let page = lines(&model, 80, 24);
    assert!(page.contains("[8 health]  lh0 only\n"), "{page}");
}

#[test]
fn a_cell_that_is_cut_ends_in_an_ellipsis_and_hidden_columns_are_counted() {
    let model = model(DashboardView::Health);
    let found = "The group has used 261 kB of 262 kB headroom; 1.47 kB";
    assert!(lines(&model, 80, 24).contains(&format!("{found}...\n")), "{}", lines(&model, 80, 24));
    let rich = drawn(&model, 80, 24, RICH).backend().to_string();
    assert!(rich.contains(&format!("{found} w…")), "{rich}");
    let hint = |view, width: u16| lines(&super::model(view), width, 24).lines().nth(3).unwrap().to_owned();
    assert_eq!(hint(DashboardView::Ports, 80), format!("{:>80}", "+4 columns"));
    assert_eq!(hint(DashboardView::Pauses, 80), format!("{:>80}", "+1 column"));
    assert_eq!(hint(DashboardView::Ports, 120), "");
}

#[test]
fn a_priority_below_the_table_is_told_whole_on_80_columns() {
    let mut model = model(DashboardView::Ports);
    press(&mut model, KeyCode::Down);
    let page = lines(&model, 80, 24);
    assert!(page.contains("headroom ........  4.55 kB  queued 278 kB\n"), "{page}");
    let page = lines(&model, 60, 24);
    assert!(page.contains(" priority 3  XOFF ....   400 kB  headroom ....  4.55 kB\n"), "{page}");
}

#[test]
fn lines_below_the_table_that_have_no_room_are_counted() {
    let page = lines(&model(DashboardView::Health), 30, 16);
    let below = "\nstormed now.\nNext: Find who pauses behind\n+3 lines\n";
    assert!(page.contains("\npause_storm\n") && page.contains(below), "{page}");
}

#[test]
fn the_help_is_wrapped_and_scrolls_to_its_end_on_a_small_screen() {
    let mut model = model(DashboardView::Ports);
    press(&mut model, KeyCode::Char('?'));
    let first = lines(&model, 40, 10);
    assert!(first.contains("\n1 to 8, Tab\n  ports, queues, pauses, marks, slots,\n"), "{first}");
    assert!(first.contains("\nlines 1 to 4 of "), "{first}");
    press(&mut model, KeyCode::Down);
    assert!(lines(&model, 40, 10).contains("\nlines 2 to 5 of "));
    press(&mut model, KeyCode::End);
    let last = lines(&model, 40, 10);
    assert!(last.contains("delays are since the start."), "{last}");
    model.top_of_help = model.top_of_help.min(last_top_of_help(Rect::new(0, 0, 40, 10)));
    press(&mut model, KeyCode::Up);
    assert_ne!(lines(&model, 40, 10), last);
    assert_eq!(model.selected, 0, "rows stay where they are");
    assert!(!lines(&model, 80, 24).contains("lines "), "all of it fits");
}

#[test]
fn one_frame_as_text_has_no_empty_lines_but_that_below_the_views() {
    for view in DashboardView::ALL {
        let mut model = Model::new(view, None, Interval::from_secs(1));
        model.see(snapshot());
        model.see(later(snapshot()));
        let page = text(&model, 120, PLAIN);
        assert_eq!(page.lines().filter(|line| line.is_empty()).count(), 1, "{page}");
    }
}

#[test]
fn one_frame_as_text_has_all_lines_below_the_table() {
    let page = text(&model(DashboardView::Health), 40, PLAIN);
    assert!(page.ends_with("host that hangs is the usual cause.\n") && !page.contains(" lines\n"), "{page}");
}
