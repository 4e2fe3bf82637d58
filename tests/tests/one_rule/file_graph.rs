//! Which file of a crate imports which, read from its tokens.
//!
//! An import is a path that ends at a name of another file: in a `use`, or in code. A re-export leads to the file that
//! defines the name, and is no import by itself; neither is `mod name;`. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source_tree::shown;
use crate::tokens::{files_of_module, is_name, is_punct, item_length, opens_test_item};

/// Segments of a path.
type Segments = Vec<String>;

/// Keywords before the name of an item.
const ITEMS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];
/// Re-exports that lead to re-exports at most: more than these go in a circle.
const ALIASES_MAX: usize = 8;

/// The files of a crate with what each imports.
pub struct FileGraph(BTreeMap<PathBuf, BTreeSet<PathBuf>>);

/// A module, in its own file or not.
struct Module {
    file: PathBuf,
    tokens: Vec<TokenTree>,
    names: BTreeMap<String, Name>,
}

/// The meaning of a name in a module.
#[derive(Clone)]
enum Name {
    Module,
    Item,
    /// A `use` of a path, for others too or not.
    Alias {
        path: Segments,
        public: bool,
    },
}

/// The target of a path.
enum Found {
    Module(Segments),
    /// A name of the module.
    ItemOf(Segments),
}

/// The modules of a crate by their paths.
struct Modules(BTreeMap<Segments, Module>);

impl FileGraph {
    /// The graph of the crate whose root is `file`.
    pub fn of(file: &Path) -> Self {
        let mut modules = Modules(BTreeMap::new());
        modules.add_file(Vec::new(), file);
        let mut graph = Self(BTreeMap::new());
        for (path, module) in &modules.0 {
            let imports = graph.0.entry(module.file.clone()).or_default();
            imports.extend(modules.imported_by(path, module).map(|file| file.to_path_buf()));
            imports.remove(&module.file);
        }
        graph
    }

    /// Files that import each other, directly or not, each group as a text.
    pub fn cycles(&self) -> Vec<String> {
        let reached: BTreeMap<_, _> = self.0.keys().map(|file| (file, self.reached_from(file))).collect();
        let mut groups = BTreeSet::new();
        for (file, reaches) in reached.iter().filter(|(file, reaches)| reaches.contains(**file)) {
            let group = reaches.iter().filter(|other| reached[**other].contains(*file));
            groups.insert(group.map(|file| shown(file)).collect::<Vec<_>>().join(" <-> "));
        }
        groups.into_iter().collect()
    }

    fn reached_from(&self, file: &Path) -> BTreeSet<&PathBuf> {
        let mut reached = BTreeSet::new();
        let mut pending: Vec<_> = self.0[file].iter().collect();
        while let Some(next) = pending.pop() {
            if reached.insert(next) {
                pending.extend(&self.0[next]);
            }
        }
        reached
    }
}

impl Modules {
    fn add_file(&mut self, path: Segments, file: &Path) {
        let text = fs::read_to_string(file).expect("a module's file can be read");
        let tokens = text.parse::<TokenStream>().expect("a module is Rust");
        self.add(path, file, tokens);
    }

    fn add(&mut self, path: Segments, file: &Path, tokens: TokenStream) {
        let tokens = without_tests(tokens);
        let mut names = BTreeMap::new();
        for (at, pair) in tokens.windows(2).enumerate() {
            let [TokenTree::Ident(keyword), TokenTree::Ident(name)] = pair else { continue };
            if keyword == "mod" {
                names.insert(name.to_string(), Name::Module);
                let child = [&path[..], &[name.to_string()]].concat();
                match &tokens[at + 2] {
                    TokenTree::Group(group) => self.add(child, file, group.stream()),
                    _ => self.add_file(child, &file_of_module(file, &name.to_string())),
                }
            } else if ITEMS.iter().any(|item| keyword == item) {
                names.entry(name.to_string()).or_insert(Name::Item);
            }
        }
        each_use(&tokens, &mut |path, name, public| {
            names.entry(name).or_insert(Name::Alias { path, public });
        });
        self.0.insert(path, Module { file: file.to_path_buf(), tokens, names });
    }

    /// The files of the names that `module` speaks of, which is at `path`.
    fn imported_by<'a>(&'a self, path: &'a [String], module: &'a Module) -> impl Iterator<Item = &'a Path> {
        let mut spoken: Vec<Segments> = Vec::new();
        each_use(&module.tokens, &mut |path, _, public| {
            if !public {
                spoken.push(path);
            }
        });
        each_path(&module.tokens, &mut |path| {
            let reexported = || matches!(module.names.get(&path[0]), Some(Name::Alias { public: true, .. }));
            if path.len() > 1 || reexported() {
                spoken.push(path);
            }
        });
        spoken.into_iter().filter_map(|spoken| match self.find(path, &spoken, ALIASES_MAX)? {
            Found::ItemOf(module) => Some(self.0[&module].file.as_path()),
            Found::Module(_) => None,
        })
    }

    /// The target of `path`, written in the module at `at`; nothing where that is in another crate.
    fn find(&self, at: &[String], path: &[String], aliases: usize) -> Option<Found> {
        let mut at = at.to_vec();
        for (place, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                name => match self.0[&at].names.get(name) {
                    Some(Name::Module) => at.push(name.to_owned()),
                    Some(Name::Alias { path, .. }) if aliases > 0 => {
                        match self.find(&at, path, aliases - 1)? {
                            Found::Module(module) => at = module,
                            item => return Some(item),
                        }
                    }
                    // Of another crate, or nothing that is known here.
                    None if place == 0 => return None,
                    Some(Name::Alias { .. }) => return None,
                    _ => return Some(Found::ItemOf(at)),
                },
            }
        }
        Some(Found::Module(at))
    }
}

/// The file of `mod name;`, written in `parent`.
fn file_of_module(parent: &Path, name: &str) -> PathBuf {
    let [file, directory] = files_of_module(parent, name);
    if file.exists() { file } else { directory.join("mod.rs") }
}

/// The rest of `tokens` without the items of tests.
fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if opens_test_item(&tokens[at..]) {
            at += item_length(&tokens[at..]);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Each name that a `use` in `tokens` or below brings in: its path, the name, and whether others see it.
fn each_use(tokens: &[TokenTree], seen: &mut dyn FnMut(Segments, String, bool)) {
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "use" => {
                let public = match &tokens[..at] {
                    [.., before, TokenTree::Group(group)] => {
                        group.delimiter() == Delimiter::Parenthesis && is_name(before, "pub")
                    }
                    [.., before] => is_name(before, "pub"),
                    [] => false,
                };
                let end = tokens[at..].iter().position(|token| is_punct(token, ';'));
                let tree = &tokens[at + 1..end.map_or(tokens.len(), |end| at + end)];
                branches(tree, &[], &mut |path, name| seen(path, name, public));
            }
            TokenTree::Group(group) if !follows_module(&tokens[..at]) => {
                each_use(&without_tests(group.stream()), seen);
            }
            _ => {}
        }
    }
}

/// The leaves of a tree of `use`, whose beginning is `before`.
fn branches(tree: &[TokenTree], before: &[String], seen: &mut dyn FnMut(Segments, String)) {
    let mut path = before.to_vec();
    for token in tree {
        match token {
            TokenTree::Ident(word) if word == "as" => break,
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Punct(star) if star.as_char() == '*' => path.push("*".into()),
            TokenTree::Group(group) => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                let trees = inner.split(|token| is_punct(token, ',')).filter(|tree| !tree.is_empty());
                return trees.for_each(|tree| branches(tree, &path, seen));
            }
            _ => {}
        }
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let renamed = tree.iter().position(|token| is_name(token, "as")).map(|at| tree[at + 1].to_string());
    if let Some(name) = renamed.or_else(|| path.last().cloned()) {
        seen(path, name);
    }
}

/// Each path in `tokens` or below that is not in a `use`.
fn each_path(tokens: &[TokenTree], seen: &mut dyn FnMut(Segments)) {
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "use" => {
                at += tokens[at..].iter().position(|token| is_punct(token, ';')).unwrap_or(0);
            }
            TokenTree::Ident(first) => {
                let mut path = vec![first.to_string()];
                while let [colon, second, TokenTree::Ident(next), ..] = &tokens[at + 1..]
                    && is_punct(colon, ':')
                    && is_punct(second, ':')
                {
                    path.push(next.to_string());
                    at += 3;
                }
                seen(path);
            }
            TokenTree::Group(group) if !follows_module(&tokens[..at]) => {
                each_path(&without_tests(group.stream()), seen);
            }
            _ => {}
        }
        at += 1;
    }
}

/// Whether what follows `before` is the body of a module: it is one of its own.
fn follows_module(before: &[TokenTree]) -> bool {
    matches!(before, [.., keyword, TokenTree::Ident(_)] if is_name(keyword, "mod"))
}

/// The cycles of a crate that is made up.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory for the test");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("it can be made");
        fs::write(path, text).expect("a file of the test");
    }
    let cycles = FileGraph::of(&directory.path().join("lib.rs")).cycles();
    let shorter = |cycle: &String| cycle.replace(&format!("{}/", directory.path().display()), "");
    cycles.iter().map(shorter).collect()
}

#[test]
fn files_that_import_each_other_are_found_whatever_the_path_looks_like() {
    let root = ("lib.rs", "mod a;\nmod b;\nmod c;");
    let c = ("c.rs", "use crate::a::{self, A as Other};");
    for (a, b) in [
        ("pub struct A(crate::b::B);", "use super::a::A;\npub struct B;"),
        ("use crate::{b::{B}};\npub struct A;", "pub struct B;\nfn f() { crate::a::A; }"),
        ("use crate::b;\npub struct A;\nfn f() { b::g(); }", "use crate::a;\npub fn g() { a::A }"),
    ] {
        assert_eq!(cycles_of(&[root, ("a.rs", a), ("b.rs", b), c]), ["a.rs <-> b.rs"], "{a} {b}");
    }
}

#[test]
fn a_re_export_leads_to_the_file_that_defines_the_name() {
    let root = ("lib.rs", "mod m;");
    let module = ("m/mod.rs", "mod leaf;\nmod user;\npub(crate) use leaf::Leaf;");
    let user = ("m/user.rs", "use super::Leaf;\npub fn f(leaf: Leaf) {}");
    assert!(cycles_of(&[root, module, user, ("m/leaf.rs", "pub struct Leaf;")]).is_empty());
    assert_eq!(
        cycles_of(&[root, module, user, ("m/leaf.rs", "pub struct Leaf;\nuse super::user::f;")]),
        ["m/leaf.rs <-> m/user.rs"]
    );
    let speaks = ("m/mod.rs", "mod leaf;\nmod user;\npub use user::f;\npub struct Leaf;\nfn g() { f(Leaf) }");
    assert_eq!(cycles_of(&[root, speaks, user, ("m/leaf.rs", "")]), ["m/mod.rs <-> m/user.rs"]);
}

#[test]
fn declarations_tests_and_libraries_are_no_imports() {
    let root = ("lib.rs", "mod a;\nmod b;\nuse wire::a::A;");
    let a = ("a.rs", "use crate::b::B;\npub struct A;\n#[cfg(test)]\nmod tests { use crate::b::*; }");
    let b = ("b.rs", "pub struct B;\n#[cfg(test)]\nuse crate::a::A;\nfn f() { std::a::A; }");
    assert!(cycles_of(&[root, a, b]).is_empty());
}
