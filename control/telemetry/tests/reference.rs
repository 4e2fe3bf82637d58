//! The tables of the book are what the code declares: keys with the doc comments of their fields, figures, metrics,
//! reasons, rules, kinds of events, and pages as `longspan show` prints them. To write them anew after a deliberate
//! change, run with `BLESS=1` and read the diff.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{in_crate, snapshot_of_bifrostx, snapshot_of_bridge, snapshot_of_credits, snapshots};
use std::collections::BTreeMap;
use std::fs;
use switch::figure::{FigureList, LISTS, Section};
use switch::{Consumed, DropReason, PauseCause};
use syn::{Attribute, Expr, Fields, GenericArgument, Item, Lit, PathArguments, Type};
use telemetry::events::KINDS;
use telemetry::health::RULES;
use telemetry::metrics::{self, Format, Metric};
use telemetry::{Period, Snapshot, View, render};

const PAGES: [&str; 6] = ["report.md", "show.md", "metrics.md", "series.md", "drops.md", "events.md"];

/// The files whose types are objects of a report or a snapshot. A type is sought in the file of its user's crate first.
const SOURCES: [(&str, &str); 14] = [
    ("telemetry", "src/snapshot.rs"),
    ("telemetry", "src/runtime.rs"),
    ("telemetry", "src/neighbours.rs"),
    ("replay", "../../dataplane/replay/src/report/mod.rs"),
    ("replay", "../../dataplane/replay/src/report/conservation.rs"),
    ("report", "../../dataplane/report/src/port.rs"),
    ("report", "../../dataplane/report/src/priority.rs"),
    ("report", "../../dataplane/report/src/pools.rs"),
    ("report", "../../dataplane/report/src/delay.rs"),
    ("report", "../../dataplane/report/src/stalled.rs"),
    ("report", "../../dataplane/report/src/watchdog.rs"),
    ("switch", "../../dataplane/switch/src/flow_control/sender.rs"),
    ("switch", "../../dataplane/switch/src/egress/pauses.rs"),
    ("switch", "../../dataplane/switch/src/egress/watchdog.rs"),
];

/// The markers around a table, which say what it is of.
const START: &str = "<!-- keys of ";
const END: &str = "<!-- end of keys -->";

fn page(name: &str) -> String {
    fs::read_to_string(in_crate("../../docs").join(name)).unwrap()
}

/// The names between markers of `text`.
fn marked(text: &str) -> impl Iterator<Item = &str> {
    text.split(START).skip(1).map(|rest| rest.split_once(" -->").unwrap().0)
}

/// `text` with what stands between markers replaced.
fn written_anew(text: &str, table: impl Fn(&str) -> String) -> String {
    let mut parts = text.split(START);
    let mut anew = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").unwrap();
        let (_, rest) = rest.split_once(END).unwrap_or_else(|| panic!("the keys of {name} have no end"));
        anew += &format!("{START}{name} -->\n{}{END}{rest}", table(name));
    }
    anew
}

fn table(columns: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rule = "|---".repeat(columns.matches('|').count() - 1);
    format!("{columns}\n{rule}|\n{}", rows.into_iter().map(|row| row + "\n").collect::<String>())
}

/// The types of [`SOURCES`].
struct Types {
    items: BTreeMap<(&'static str, String), Item>,
    marked: Vec<String>,
}

impl Types {
    fn read() -> Self {
        let mut items = BTreeMap::new();
        for (of_crate, path) in SOURCES {
            let file = syn::parse_file(&fs::read_to_string(in_crate(path)).unwrap()).unwrap();
            for item in file.items {
                match &item {
                    Item::Struct(it) => _ = items.insert((of_crate, it.ident.to_string()), item),
                    Item::Enum(it) => _ = items.insert((of_crate, it.ident.to_string()), item),
                    _ => {}
                }
            }
        }
        let marked = PAGES.iter().flat_map(|name| marked(&page(name)).map(str::to_owned).collect::<Vec<_>>());
        Self { items, marked: marked.collect() }
    }

    /// The type called `name`, as `user` knows it.
    fn find(&self, user: &str, name: &str) -> Option<(&'static str, &Item)> {
        let crates = [user, "report", "switch", "telemetry", "replay"];
        let found = crates
            .into_iter()
            .find_map(|it| self.items.iter().find(|((of_crate, its), _)| *of_crate == it && its == name));
        found.map(|((of_crate, _), item)| (*of_crate, item))
    }

    /// The table of the type called `name`; `None` if there is no such type.
    fn table(&self, name: &str) -> Option<String> {
        let (of_crate, item) = self.find("", name)?;
        Some(table("| key | meaning |", self.rows(of_crate, item, "")))
    }

    fn rows(&self, of_crate: &str, item: &Item, prefix: &str) -> Vec<String> {
        match item {
            Item::Struct(it) => {
                it.fields.iter().flat_map(|field| self.field(of_crate, field, prefix)).collect()
            }
            Item::Enum(it) => {
                let row = |it: &syn::Variant| {
                    format!("| `{}` | {} |", snake(&it.ident.to_string()), docs(&it.attrs))
                };
                it.variants.iter().map(row).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The rows of a key, and of those within it unless they have a table to themselves.
    fn field(&self, of_crate: &str, field: &syn::Field, prefix: &str) -> Vec<String> {
        let inner = innermost(&field.ty);
        let is_marked = self.marked.contains(&inner);
        let of_type = self.find(of_crate, &inner).filter(|_| !is_marked);
        let serde = serde(&field.attrs);
        if serde.contains("flatten") {
            let structs = of_type.filter(|(_, item)| matches!(item, Item::Struct(_)));
            return structs.map(|(its, item)| self.rows(its, item, prefix)).unwrap_or_default();
        }
        let renamed =
            serde.split("rename = \"").nth(1).and_then(|it| it.split('"').next()).map(str::to_owned);
        let key = renamed.unwrap_or_else(|| field.ident.as_ref().unwrap().to_string());
        let mut about = docs(&field.attrs);
        let mut rows = Vec::new();
        match of_type {
            Some((_, Item::Enum(it))) if it.variants.iter().all(|it| matches!(it.fields, Fields::Unit)) => {
                let names = it.variants.iter().map(|it| format!("`{}`", snake(&it.ident.to_string())));
                about = format!("{about} {}.", names.collect::<Vec<_>>().join(", "));
            }
            Some((its, item)) => rows = self.rows(its, item, &format!("{prefix}{key}.")),
            None => {}
        }
        rows.insert(0, format!("| `{prefix}{key}` | {about} |"));
        rows
    }
}

/// The name of a type within options, lists and arrays.
fn innermost(ty: &Type) -> String {
    match ty {
        Type::Array(it) => innermost(&it.elem),
        Type::Path(it) => {
            let last = it.path.segments.last().unwrap();
            match &last.arguments {
                PathArguments::AngleBracketed(of) if last.ident == "Option" || last.ident == "Vec" => {
                    match &of.args[0] {
                        GenericArgument::Type(it) => innermost(it),
                        _ => String::new(),
                    }
                }
                _ => last.ident.to_string(),
            }
        }
        _ => String::new(),
    }
}

/// The doc comment, as the page has it.
fn docs(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|it| match &it.meta {
        syn::Meta::NameValue(it) if it.path.is_ident("doc") => match &it.value {
            Expr::Lit(it) => match &it.lit {
                Lit::Str(it) => Some(it.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ").replace("`None`", "`null`");
    assert!(!text.contains("[`"), "a link of Rust leads nowhere in the book: {text}");
    text
}

fn serde(attributes: &[Attribute]) -> String {
    let lists = attributes.iter().filter(|it| it.path().is_ident("serde"));
    lists.map(|it| it.meta.require_list().unwrap().tokens.to_string()).collect()
}

fn snake(name: &str) -> String {
    let upper = |(place, c): (usize, char)| {
        let gap = if c.is_uppercase() && place > 0 { "_" } else { "" };
        format!("{gap}{}", c.to_lowercase())
    };
    name.chars().enumerate().map(upper).collect()
}

fn figures(list: &FigureList) -> String {
    let of_section = |section: &Section| {
        let of = if section.name.is_empty() { String::new() } else { format!(" of `{}`", section.name) };
        let rows = section.figures.iter().map(|it| format!("| `{}` | {} |", it.key, it.about));
        format!("\n{}", table(&format!("| key{of} | meaning |"), rows))
    };
    let sections: String = list.report.iter().map(of_section).collect();
    format!("\n### `{}`\n\n{}\n{sections}", list.name, list.about)
}

/// The figures that hold now.
fn levels() -> String {
    let figures = LISTS.iter().flat_map(|list| list.now.iter().map(move |section| (list, section)));
    let rows = figures.flat_map(|(list, section)| {
        section.figures.iter().map(move |it| {
            let dot = if section.name.is_empty() { "" } else { "." };
            format!("| `{}{dot}{}` | `{}` | {} |", section.name, it.key, list.name, it.about)
        })
    });
    table("| key | of | meaning |", rows)
}

fn columns() -> String {
    let sampled = LISTS.iter().flat_map(|list| list.figures().map(move |(_, it)| (list, it)));
    let rows = sampled.filter_map(|(list, it)| {
        Some(format!("| `{}` | `{}` | {} |", it.sampled?.name, list.name, it.about))
    });
    table("| name | of | meaning |", rows)
}

/// The labels of a metric and their values on `page`, in order.
fn labels(metric: &Metric, page: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let names = [metric.full_name(), metric.full_name() + "_bucket"];
    let samples = page.lines().filter_map(|line| line.split_once('{'));
    for (_, labels) in samples.filter(|(name, _)| names.iter().any(|it| it == name)) {
        for label in labels.rsplit_once('}').unwrap().0.split("\",").filter(|it| !it.starts_with("le=")) {
            let (name, value) = label.split_once("=\"").unwrap();
            let value = value.trim_end_matches('"').to_owned();
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, values)) if values.contains(&value) => {}
                Some((_, values)) => values.push(value),
                None => found.push((name.to_owned(), vec![value])),
            }
        }
    }
    found
}

fn metrics_table() -> String {
    /// Labels whose values the page explains, or that have any.
    const OPEN: [&str; 8] = ["port", "priority", "core", "device", "driver", "name", "version", "direction"];
    const MANY: usize = 10;
    let page: String =
        snapshots().iter().map(|it| metrics::encode(&Period::since_start(it), Format::OpenMetrics)).collect();
    let row = |metric: Metric| {
        let said = |what: &str| page.split(&format!("# {what} {} ", metric.family())).nth(1)?.lines().next();
        let [help, kind] = ["HELP", "TYPE"].map(|what| said(what).unwrap());
        let labels = labels(&metric, &page);
        let names: Vec<_> = labels.iter().map(|(name, _)| format!("`{name}`")).collect();
        // Only those that occurred have a sample.
        let are_drops =
            |values: &[String]| DropReason::ALL.iter().any(|it| values.iter().any(|its| its == it.name()));
        let closed = labels.iter().filter(|(name, values)| {
            !OPEN.contains(&&**name) && values.len() <= MANY && !(name == "reason" && are_drops(values))
        });
        let values = closed.map(|(name, values)| format!(" `{name}`: `{}`.", values.join("`, `")));
        let about = format!("{help}{}", values.collect::<String>());
        format!("| `{}` | {kind} | {} | {about} |", metric.full_name(), names.join(", "))
    };
    table("| metric | kind | labels | meaning |", metrics::all().map(row))
}

fn golden(name: &str) -> String {
    fenced(&fs::read_to_string(in_crate("tests/golden").join(name)).unwrap())
}

/// Returns the lines of `view` of `snapshot` below the heading that begins with `table`.
fn shown(snapshot: &Snapshot, view: View, table: &str) -> String {
    let page = render(snapshot, view, None).unwrap();
    let tables = page.split("\n\n").find(|it| it.trim_start().starts_with(table)).unwrap();
    fenced(&format!("{}\n", tables.trim()))
}

fn fenced(text: &str) -> String {
    format!("```text\n{text}```\n")
}

/// The text of the table called `name`.
fn declared(types: &Types, name: &str) -> String {
    if let Some(table) = types.table(name) {
        return table;
    }
    match name {
        "figures" => LISTS.into_iter().map(figures).collect(),
        "levels" => levels(),
        "columns" => columns(),
        "metrics" => metrics_table(),
        "causes" => {
            let row = |it: PauseCause| format!("| `{}` | {} |", it.name(), it.about());
            table("| cause | meaning |", PauseCause::ALL.map(row))
        }
        "drops" => {
            let row = |it: DropReason| format!("| `{}` | {} | {} |", it.name(), it.about(), it.follow_up());
            table("| name | what happened | what to check |", DropReason::ALL.map(row))
        }
        "consumed frames" => {
            let row = |it: Consumed| format!("| `{}` | {} | {} |", it.name(), it.about(), it.follow_up());
            table("| name | what it is | what the gateway does |", Consumed::ALL.map(row))
        }
        "rules" => {
            let row = |it: &telemetry::health::Rule| {
                format!("| `{}` | {} | {} |", it.name, it.verdict.name(), it.holds_if)
            };
            table("| rule | verdict | it holds if |", RULES.iter().map(row))
        }
        "events" => {
            let row = |it: &telemetry::events::Kind| {
                format!("| `{}` | {} | `{}` |", it.name, it.about.trim(), it.fields.join("`, `"))
            };
            table("| kind | meaning | fields |", KINDS.iter().map(row))
        }
        "a bridge" => shown(&snapshot_of_bridge(), View::Ports, "BRIDGE"),
        "BifrostX" => shown(&snapshot_of_bifrostx(), View::Slots, "BIFROSTX"),
        "credits" => shown(&snapshot_of_credits(), View::Slots, "CREDITS"),
        file if file.ends_with(".txt") => golden(file),
        _ => panic!("nothing is called {name}"),
    }
}

#[test]
fn every_table_of_the_book_is_what_the_code_declares() {
    let types = Types::read();
    for name in PAGES {
        let anew = written_anew(&page(name), |table| declared(&types, table));
        if std::env::var_os("BLESS").is_some() {
            fs::write(in_crate("../../docs").join(name), &anew).unwrap();
        }
        assert!(page(name) == anew, "docs/{name} is not what the code declares: run with BLESS=1");
    }
    let needed =
        ["Report", "Snapshot", "PortReport", "WirePortReport", "PriorityReport", "figures", "levels"];
    let lists = ["columns", "metrics", "drops", "consumed frames", "rules", "events", "causes"];
    for name in needed.into_iter().chain(lists) {
        assert!(types.marked.iter().any(|it| it == name), "no page has the keys of {name}");
    }
}
