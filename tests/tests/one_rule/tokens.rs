//! Reads the tokens of a file: what belongs to tests only, and where modules have their files.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenTree};

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

pub fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

pub fn is_name(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if name == wanted)
}

#[test]
fn a_module_for_tests_is_looked_for_where_rust_looks() {
    let files = |parent: &str| files_of_module(Path::new(parent), "tests");
    assert_eq!(files("src/lib.rs"), [Path::new("src/tests.rs"), Path::new("src/tests")]);
    assert_eq!(files("src/queue.rs"), [Path::new("src/queue/tests.rs"), Path::new("src/queue/tests")]);
}
