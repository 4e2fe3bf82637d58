//! A list of figures made for these tests.

use super::*;

static LIST: FigureList = FigureList {
    name: "thing",
    view: "ports",
    runs_on: |_| true,
    report: &[
        Section {
            name: "",
            figures: &[Figure::counter("frames", |_| None)
                .shown("thing_frames", "frames", "Frames of the thing.")
                .of_run("thing_frames_of_run")],
        },
        Section { name: "queue", figures: &[Figure::gauge("longest_wire_bytes", |_| None)] },
    ],
    now: &[Section {
        name: "now",
        figures: &[
            Figure::gauge("rate_bits_per_second", |_| None)
                .sampled("thing_rate_bits_per_second", "rate", SeriesKind::Rate)
                .plotted("Rate of the thing"),
            Figure::delay("lateness", |_| None),
        ],
    }],
    metrics: &[],
    tables: &[
        Table { title: "ONE", in_summary: false, columns: &[("queue", &["queue.longest_wire_bytes"])] },
        Table { title: "TWO", in_summary: false, columns: &[("rate", &["now.rate_bits_per_second"])] },
    ],
};

#[test]
fn a_figure_keeps_what_is_said_about_it() {
    let frames = LIST.figure("frames").unwrap();
    assert_eq!((frames.kind, frames.of_run), (Kind::Counter, Some("thing_frames_of_run")));
    let Shown { metric, help, heading } = frames.shown.unwrap();
    assert_eq!((metric, heading, help), ("thing_frames", "frames", "Frames of the thing."));
    assert!(frames.sampled.is_none() && frames.plotted.is_none());

    let rate = LIST.figure("now.rate_bits_per_second").unwrap();
    assert_eq!((rate.kind, rate.plotted), (Kind::Gauge, Some("Rate of the thing")));
    let Sampled { name, label, kind } = rate.sampled.unwrap();
    assert_eq!((name, label, kind), ("thing_rate_bits_per_second", "rate", SeriesKind::Rate));
    assert!(rate.shown.is_none() && rate.of_run.is_none());
    assert_eq!(LIST.figure("now.lateness").unwrap().kind, Kind::Delay);
}

#[test]
fn a_figure_is_found_by_its_section_and_key() {
    let paths: Vec<_> = LIST.figures().map(|(path, _)| path).collect();
    assert_eq!(paths, ["frames", "queue.longest_wire_bytes", "now.rate_bits_per_second", "now.lateness"]);
    for (path, figure) in LIST.figures() {
        assert!(core::ptr::eq(LIST.figure(&path).unwrap(), figure), "{path}");
    }
    for path in ["", "queue", "longest_wire_bytes", "queue.frames", "queue."] {
        assert!(LIST.figure(path).is_none(), "{path}");
    }
}

#[test]
fn the_end_of_a_key_is_its_unit() {
    let unit = |path| LIST.figure(path).unwrap().unit();
    assert_eq!(unit("frames"), Unit::Number);
    assert_eq!(unit("queue.longest_wire_bytes"), Unit::Bytes);
    assert_eq!(unit("now.rate_bits_per_second"), Unit::BitsPerSecond);
    assert_eq!(Unit::of("now.lateness.p99_ns"), Unit::Nanos);
    assert_eq!(Unit::of("columns"), Unit::Number);
}

#[test]
fn columns_of_figures_that_are_shown_follow_those_of_the_last_table() {
    let [one, two] = LIST.tables else { panic!("two tables") };
    assert_eq!(LIST.columns(one), [("queue", vec!["queue.longest_wire_bytes".to_owned()])]);
    let rate = ("rate", vec!["now.rate_bits_per_second".to_owned()]);
    assert_eq!(LIST.columns(two), [rate, ("frames", vec!["frames".to_owned()])]);
}

#[test]
fn a_reading_is_in_the_unit_of_its_figure() {
    let number = Reading::Number(7_000_000_000);
    assert_eq!(Reading::from(7_000_000_000_u64), number);
    assert_eq!(Reading::from(WireBytes(7_000_000_000)), number);
    assert_eq!(Reading::from(Interval::from_secs(7)), number);
    assert_eq!(Reading::from(BitRate::gigabits(7)), number);
    assert_eq!(Reading::from(7_u32), Reading::Number(7));
    let delay = DelayHistogram::default();
    assert_eq!(Reading::from(&delay), Reading::Delay(&delay));
}
