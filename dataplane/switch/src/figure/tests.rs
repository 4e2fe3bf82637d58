//! A list of figures made for these tests.

use super::*;

static LIST: FigureList = FigureList {
    name: "thing",
    report: &[
        figures! { "", |_it|
            /// Frames of the thing.
            counter frames = None::<u64>?, shown("thing_frames", "frames"), of_run("thing_frames_of_run");
        },
        figures! { "queue", |_it|
            /// The longest queue.
            gauge longest_wire_bytes = None::<u64>?;
        },
    ],
    now: &[figures! { "now", |_it|
        /// The rate of the thing.
        gauge rate_bits_per_second = None::<u64>?,
            sampled("thing_rate_bits_per_second", "rate", SeriesKind::Rate), plotted("Rate of the thing");
        /// How late the thing was.
        delay lateness = None::<u64>?;
    }],
    tables: &[
        Table::new("ONE", &[("queue", &["queue.longest_wire_bytes"])]),
        Table::new("TWO", &[("rate", &["now.rate_bits_per_second"])]),
    ],
    ..FigureList::EMPTY
};

#[test]
fn a_figure_keeps_what_is_said_about_it() {
    let frames = LIST.figure("frames").unwrap();
    assert_eq!((frames.kind, frames.of_run), (Kind::Counter, Some("thing_frames_of_run")));
    let Shown { metric, heading } = frames.shown.unwrap();
    assert_eq!((metric, heading, frames.about), ("thing_frames", "frames", "Frames of the thing."));
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
