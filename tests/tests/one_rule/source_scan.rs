//! Names that the core must not write, found in its tokens.
//!
//! Tokens, not lines: comments and strings do not count, and `std :: fs` on two lines does. Code
//! behind `#[cfg(test)]` is skipped, for a test may read a capture.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::source_tree::{files_under, is_rust, shown};

/// Modules of the standard library whose business is the world outside.
const MODULES: [(&str, &str); 8] = [
    ("env", "the core is told everything by its Program"),
    ("fs", "the core does no I/O"),
    ("io", "the core does no I/O"),
    ("os", "the core does no I/O"),
    ("process", "the core reports, the shell decides"),
    ("random", "ambient randomness: the core is given a seeded generator"),
    ("thread", "the core runs on the thread of its shell"),
    ("mpsc", "frames cross cores on the shell's SPSC rings"),
];

/// Names that have one meaning wherever they come from.
const NAMES: [(&str, &str); 17] = [
    ("Condvar", "no lock on the turn"),
    ("DefaultHasher", "its algorithm may change with the compiler, and runs must repeat"),
    ("HashMap", "its order is drawn from ambient randomness"),
    ("HashSet", "its order is drawn from ambient randomness"),
    ("Instant", "instants are `units::Nanos`, given by the shell"),
    ("LazyLock", "no lock and no global state in the core"),
    ("Mutex", "no lock on the turn"),
    ("OnceLock", "no lock and no global state in the core"),
    ("RandomState", "ambient randomness: hash with a fixed seed"),
    ("RwLock", "no lock on the turn"),
    ("SystemTime", "instants are `units::Nanos`, given by the shell"),
    ("TcpListener", "the core does no I/O"),
    ("TcpStream", "the core does no I/O"),
    ("UdpSocket", "the core does no I/O"),
    ("_rdtsc", "the core is given `now`"),
    ("unsafe", "only the DPDK crates may"),
    ("asm", "only the DPDK crates may"),
];

/// Macros that log, or that hold global state.
const MACROS: [(&str, &str); 6] = [
    ("print", "the core does not log"),
    ("println", "the core does not log"),
    ("eprint", "the core does not log"),
    ("eprintln", "the core does not log"),
    ("dbg", "the core does not log"),
    ("thread_local", "no global state in the core"),
];

/// The lints that carry the rule.
const LINTS: [&str; 3] = ["disallowed_methods", "disallowed_types", "disallowed_macros"];

/// The effects that the crate whose source lies in `directory` has outside its tests.
pub fn effects_in_crate(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut files_of_tests = Vec::new();
    for path in files_under(directory, is_rust) {
        let text = fs::read_to_string(&path).expect("a listed file can be read");
        let scan = scan(&text);
        files_of_tests.extend(scan.test_modules.iter().flat_map(|name| files_of_module(&path, name)));
        found.extend(scan.effects.into_iter().map(|effect| (path.clone(), effect)));
    }
    found
        .into_iter()
        .filter(|(path, _)| !files_of_tests.iter().any(|tests| path.starts_with(tests)))
        .map(|(path, effect)| format!("{}:{effect}", shown(&path)))
        .collect()
}

/// Where `mod name;`, written in `parent`, may have its files.
pub fn files_of_module(parent: &Path, name: &str) -> [PathBuf; 2] {
    let directory = parent.parent().expect("a file lies in a directory");
    let stem = parent.file_stem().unwrap_or_default();
    let directory = match stem.to_str() {
        Some("lib" | "main" | "mod") => directory.to_path_buf(),
        _ => directory.join(stem),
    };
    [directory.join(format!("{name}.rs")), directory.join(name)]
}

/// Lines of `text` on which `unsafe` is written, in tests too.
pub fn unsafe_in(text: &str) -> Vec<String> {
    let Ok(tokens) = text.parse::<TokenStream>() else { return vec!["1: is not Rust".to_owned()] };
    let mut found = Vec::new();
    each_name(tokens, &mut |name, line| {
        if name == "unsafe" {
            found.push(format!("{line}: `unsafe`"));
        }
    });
    found
}

/// Lines of `text` on which a lint that carries the rule is allowed or expected, outside tests.
pub fn overruled_lints_in(text: &str) -> Vec<String> {
    scan(text).overruled
}

/// The findings in one file, tests left out.
#[derive(Default)]
struct Scan {
    effects: Vec<String>,
    overruled: Vec<String>,
    /// Modules that are declared for tests only and live in files of their own.
    test_modules: Vec<String>,
}

fn scan(text: &str) -> Scan {
    let mut scan = Scan::default();
    match text.parse::<TokenStream>() {
        Ok(tokens) => scan.stream(tokens),
        Err(_) => scan.effects.push("1: is not Rust".to_owned()),
    }
    scan
}

impl Scan {
    fn stream(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if opens_test_item(&tokens[at..]) {
                let length = item_length(&tokens[at..]);
                if let [.., keyword, TokenTree::Ident(name), end] = &tokens[at..at + length]
                    && is_name(keyword, "mod")
                    && is_punct(end, ';')
                {
                    self.test_modules.push(name.to_string());
                }
                at += length;
                continue;
            }
            match &tokens[at] {
                TokenTree::Ident(name) => self.name(&name.to_string(), &tokens, at),
                TokenTree::Group(group) => self.stream(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
    }

    /// Judges the name at `at`, with the tokens around it.
    fn name(&mut self, name: &str, tokens: &[TokenTree], at: usize) {
        let line = tokens[at].span().start().line;
        if let Some((_, reason)) = NAMES.iter().find(|(banned, _)| *banned == name) {
            self.effects.push(format!("{line}: `{name}`: {reason}"));
        }
        let called = tokens.get(at + 1).is_some_and(|next| is_punct(next, '!'));
        if let Some((_, reason)) = MACROS.iter().find(|(banned, _)| called && *banned == name) {
            self.effects.push(format!("{line}: `{name}!`: {reason}"));
        }
        if name == "static" && tokens.get(at + 1).is_some_and(|next| is_name(next, "mut")) {
            self.effects.push(format!("{line}: `static mut`: no global state in the core"));
        }
        if ["std", "core", "sync"].contains(&name) {
            for module in modules_after(&tokens[at + 1..]) {
                if let Some((_, reason)) = MODULES.iter().find(|(banned, _)| *banned == module) {
                    self.effects.push(format!("{line}: `{name}::{module}`: {reason}"));
                }
            }
        }
        if LINTS.contains(&name) {
            self.overruled.push(format!("{line}: `{name}`"));
        }
    }
}

/// How many tokens the item takes that `tokens` begin with, which has an attribute.
pub fn item_length(tokens: &[TokenTree]) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => is_punct(token, ';'),
    };
    tokens.iter().skip(2).position(ends).map_or(tokens.len(), |place| place + 3)
}

/// Whether `tokens` begin with `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
pub fn opens_test_item(tokens: &[TokenTree]) -> bool {
    let [hash, TokenTree::Group(attribute), ..] = tokens else { return false };
    is_punct(hash, '#')
        && argument_of(attribute, "cfg").is_some_and(|condition| {
            let holds_test = |group: &Group| {
                group.stream().into_iter().next().is_some_and(|first| is_name(&first, "test"))
            };
            holds_test(&condition) || argument_of(&condition, "all").is_some_and(|all| holds_test(&all))
        })
}

/// `(argument)` where `group` holds `name(argument)` first.
fn argument_of(group: &Group, name: &str) -> Option<Group> {
    let mut tokens = group.stream().into_iter();
    match (tokens.next()?, tokens.next()?) {
        (first, TokenTree::Group(argument)) if is_name(&first, name) => Some(argument),
        _ => None,
    }
}

/// The modules named first in the path or use-tree that goes on with `tokens`: `fs` and `io` in
/// `::{fs, io::Read}`.
fn modules_after(tokens: &[TokenTree]) -> Vec<String> {
    let [first, second, third, ..] = tokens else { return Vec::new() };
    if !is_punct(first, ':') || !is_punct(second, ':') {
        return Vec::new();
    }
    let TokenTree::Group(group) = third else { return vec![third.to_string()] };
    let branches: Vec<TokenTree> = group.stream().into_iter().collect();
    branches
        .split(|token| is_punct(token, ','))
        .filter_map(|branch| branch.first())
        .map(TokenTree::to_string)
        .collect()
}

fn each_name(tokens: TokenStream, seen: &mut dyn FnMut(&str, usize)) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => seen(&name.to_string(), name.span().start().line),
            TokenTree::Group(group) => each_name(group.stream(), seen),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

pub fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

pub fn is_name(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if name == wanted)
}

#[test]
fn a_planted_effect_is_found_with_its_line() {
    for (planted, expected) in [
        (
            "fn f() {\n    let t = Instant::now();\n}",
            "2: `Instant`: instants are `units::Nanos`, given by the shell",
        ),
        ("use std::{collections::BTreeMap, fs};", "1: `std::fs`: the core does no I/O"),
        ("fn f() { std::thread::spawn(g); }", "1: `std::thread`: the core runs on the thread of its shell"),
        ("use std::sync::mpsc;", "1: `sync::mpsc`: frames cross cores on the shell's SPSC rings"),
        ("fn f() { println!(\"x\"); }", "1: `println!`: the core does not log"),
        ("static mut X: u8 = 0;", "1: `static mut`: no global state in the core"),
        ("type T = HashMap<u8, u8>;", "1: `HashMap`: its order is drawn from ambient randomness"),
        (
            "fn f() { macro_of_ours!(std::env::var(\"X\")) }",
            "1: `std::env`: the core is told everything by its Program",
        ),
    ] {
        assert_eq!(scan(planted).effects, [expected], "in {planted}");
    }
}

#[test]
fn comments_strings_and_tests_are_left_alone() {
    let text = r#"
        //! Never calls Instant::now().
        /// Not a HashMap.
        pub const NAME: &str = "std::fs";
        pub fn print(now: Nanos) {}
        #[cfg(test)]
        use std::fs;
        #[cfg(test)]
        mod tests { use std::time::Instant; }
        #[cfg(all(test, feature = "slow"))]
        #[allow(clippy::disallowed_types)]
        mod slow;
    "#;
    let scan = scan(text);
    assert!(scan.effects.is_empty(), "{:?}", scan.effects);
    assert!(scan.overruled.is_empty(), "{:?}", scan.overruled);
    assert_eq!(scan.test_modules, ["slow"]);
}

#[test]
fn what_follows_a_test_is_scanned_and_so_is_code_for_everything_but_tests() {
    let text =
        "#[cfg(test)]\nmod tests {}\n#[cfg(not(test))]\nuse std::fs;\n#[cfg(any(test, unix))]\nuse std::io;";
    let lines: Vec<String> = scan(text).effects.iter().map(|effect| effect[..1].to_owned()).collect();
    assert_eq!(lines, ["4", "6"]);
}

#[test]
fn unsafe_is_found_in_tests_too_but_not_in_words() {
    let text = "// unsafe\n#[cfg(test)]\nmod tests {\n    fn f() { unsafe { g() } }\n}\nfn unsafe_code() {}";
    assert_eq!(unsafe_in(text), ["4: `unsafe`"]);
}

#[test]
fn an_overruled_lint_is_found() {
    let text = "#[allow(clippy::disallowed_types)]\nfn f() {}";
    assert_eq!(overruled_lints_in(text), ["1: `disallowed_types`"]);
}

#[test]
fn a_module_for_tests_is_looked_for_where_rust_looks() {
    let files = |parent: &str| files_of_module(Path::new(parent), "tests");
    assert_eq!(files("src/lib.rs"), [Path::new("src/tests.rs"), Path::new("src/tests")]);
    assert_eq!(files("src/queue.rs"), [Path::new("src/queue/tests.rs"), Path::new("src/queue/tests")]);
}
