//! Declarations of keys. Each key is declared once, in a [`table!`]. The reader, places in messages, profiles, the
//! text of a gateway, the diff of a reload and the reference in `docs/configuration.md` all follow from the
//! declaration.

use core::fmt::Display;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use crate::place::{At, Place};
use crate::section::Section;
use crate::value::{Value, Written, in_words};

/// A key, as its table declares it.
pub(crate) struct Key {
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// Type, unit and range.
    pub kind: String,
    /// Its default, in words; empty if there is none.
    pub without: String,
    /// Whether a change requires a restart.
    pub is_restart: bool,
    pub is_secret: bool,
    /// Keys that it cannot be combined with.
    pub instead_of: Vec<&'static str>,
}

/// The attributes that a key may have in a [`table!`].
impl Key {
    pub fn new(name: &'static str, about: &'static str, kind: String) -> Self {
        let name = name.trim_start_matches("r#");
        let (without, instead_of) = (String::new(), Vec::new());
        Self { name, about, kind, without, is_restart: false, is_secret: false, instead_of }
    }

    /// `default(value)`: the default. The table gets a method with the name of the key.
    pub fn default(self, value: impl Written) -> Self {
        Self { without: format!("`{}`", value.write()), ..self }
    }

    /// `auto("text")`: the default depends on other keys, and is computed where the value is used.
    pub fn auto(self, without: &str) -> Self {
        Self { without: without.into(), ..self }
    }

    /// `required("example")`: the key is required.
    pub fn required(self, _example: &str) -> Self {
        self.auto("required")
    }

    /// `within(range)`: the valid range.
    pub fn within<T: Display + Default + PartialEq>(self, range: RangeInclusive<T>) -> Self {
        Self { kind: format!("{}, {}", self.kind, in_words(&range)), ..self }
    }

    /// `instead_of(others)`: only one of these keys may be given.
    pub fn instead_of(self, others: &[&'static str]) -> Self {
        let instead_of: Vec<_> = others.iter().map(|other| other.trim_start_matches("r#")).collect();
        Self {
            kind: format!("{}, instead of `{}`", self.kind, instead_of.join("` or `")),
            instead_of,
            ..self
        }
    }

    /// `needs(other)`: the key applies only together with `other`.
    pub fn needs(self, other: &str) -> Self {
        Self { kind: format!("{}, with `{other}`", self.kind), ..self }
    }

    /// `of(selector, words)`: the key applies only if `selector` has one of `words`.
    pub fn of(self, selector: &str, words: &[impl Written]) -> Self {
        let words: Vec<_> = words.iter().map(Written::write).collect();
        Self { kind: format!("{}, with `{selector} = {}`", self.kind, words.join("` or `")), ..self }
    }

    /// `only(selector, word)`: the key applies only if `selector`, which has a default, is `word`.
    pub fn only(self, selector: &str, word: impl Written) -> Self {
        Self { kind: format!("{}, with `{selector} = {}`", self.kind, word.write()), ..self }
    }

    /// `unless(selector, word)`: the key does not apply if `selector` is `word`.
    pub fn unless(self, selector: &str, word: impl Written) -> Self {
        Self { kind: format!("{}, not with `{selector} = {}`", self.kind, word.write()), ..self }
    }

    /// `restart`: the key cannot change while the gateway runs.
    pub fn restart(self) -> Self {
        Self { is_restart: true, ..self }
    }

    /// `secret`: the value is never shown.
    pub fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }
}

/// A declared table.
pub(crate) trait Table: Sized {
    /// Its keys, in order.
    fn keys() -> &'static [Key];
    /// An empty table for `key`.
    fn absent(key: &str) -> Self;
    /// Reads the table, and notes its problems.
    fn read(section: &mut Section<'_, '_>) -> Self;
    /// Fills keys that are absent with those of the profile `below`.
    fn over(self, below: Self) -> Self;
    /// Removes `key`, if it is present.
    fn remove(&mut self, key: &str);
    /// The keys that are present.
    fn nodes(&self) -> Vec<Node>;
    /// The place of `key`, if it is present.
    fn place_of(&self, key: &str) -> Option<&Place>;
    /// The place of the first of `keys` that is present, or of the table.
    fn first(&self, keys: &[&str]) -> &Place;
    /// Adds its keys, and those of the tables in it, to `found`.
    fn describe(path: &str, found: &mut Vec<(String, &'static [Key])>);
}

/// A key that is present.
pub(crate) struct Node {
    pub key: &'static Key,
    pub item: Item,
}

/// The value of a key.
pub(crate) enum Item {
    /// A value as TOML.
    Value(String),
    Table(Vec<Node>),
    Tables(Vec<Vec<Node>>),
}

/// A type that a key may have.
pub(crate) trait Shape: Sized {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self>;
    /// The value as it is written; an empty table if it is never written.
    fn item(&self) -> Item {
        Item::Table(Vec::new())
    }
    /// Its place, if there is only one.
    fn place(&self) -> Option<&Place> {
        None
    }
    /// Type and unit, in words.
    fn kind() -> String {
        "table".into()
    }
    /// Adds the keys of the table to `found`, if it is one.
    fn describe(_path: &str, _found: &mut Vec<(String, &'static [Key])>) {}
}

/// Values, each with its place.
pub(crate) type List<T> = At<Vec<At<T>>>;

impl<T: Value + Written> Shape for At<T> {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        section.optional(key)
    }

    fn item(&self) -> Item {
        Item::Value(self.value.write())
    }

    fn place(&self) -> Option<&Place> {
        Some(&self.place)
    }

    fn kind() -> String {
        T::kind()
    }
}

impl<T: Value + Written> Shape for List<T> {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        section.list(key)
    }

    fn item(&self) -> Item {
        let values: Vec<_> = self.value.iter().map(|at| at.value.write()).collect();
        Item::Value(format!("[{}]", values.join(", ")))
    }

    fn place(&self) -> Option<&Place> {
        Some(&self.place)
    }

    fn kind() -> String {
        format!("list ({})", T::kind())
    }
}

impl<T: Table> Shape for Vec<T> {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        section.tables(key, T::read)
    }

    fn item(&self) -> Item {
        Item::Tables(self.iter().map(T::nodes).collect())
    }

    fn describe(path: &str, found: &mut Vec<(String, &'static [Key])>) {
        T::describe(path, found);
    }
}

/// Profiles by name.
pub(crate) type Profiles<T> = BTreeMap<String, T>;

impl<T: Table> Shape for Profiles<T> {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        let read = |profile: &mut Section<'_, '_>| {
            profile.is_profile = true;
            T::read(profile)
        };
        Some(section.named(key, read).into_iter().collect())
    }
}

/// A value in force, without a place in a file.
pub(crate) fn at<T>(value: T) -> Option<At<T>> {
    Some(At { value, place: Place::default() })
}

/// A list of values in force, without a place in a file.
pub(crate) fn list<T>(values: impl IntoIterator<Item = T>) -> Option<List<T>> {
    at(values.into_iter().filter_map(at).collect())
}

/// The values of a list.
pub(crate) fn values<T>(list: &Option<List<T>>) -> impl DoubleEndedIterator<Item = &At<T>> + Clone {
    list.iter().flat_map(|list| &list.value)
}

/// The stated value, or `default`.
pub(crate) fn or<T: Copy>(value: &Option<At<T>>, default: T) -> T {
    value.as_ref().map_or(default, |at| at.value)
}

/// Declares tables of keys, as `name: Type, attribute, attribute(arguments);` with the meaning as documentation. The
/// attributes are those of [`Key`] and three more: `own` if no profile may have the key, `absent` if the table gets a
/// method with the name of the key that returns an empty table where there is none, and `merged` if a table is merged
/// with that of a profile key by key. A table that names a `check` has a method of that name, which checks what was
/// read. The keys of `Table => Settings` are fields of the settings and take their defaults from them, and the table
/// has a method `settings`, which is given what holds for the rest.
macro_rules! table {
    (@accessor default ($default:expr) $key:ident $type:ty) => {
        /// The stated value, or the default.
        pub fn $key(&self) -> <$type as crate::table::Single>::Value {
            self.$key.as_ref().map_or_else(|| $default, |at| at.value.clone())
        }
    };
    (@accessor absent () $key:ident $type:ty) => {
        /// The stated table, or an empty one.
        pub fn $key(&self) -> &$type {
            static ABSENT: std::sync::LazyLock<$type> = std::sync::LazyLock::new(|| {
                <$type as crate::table::Table>::absent(stringify!($key))
            });
            self.$key.as_ref().unwrap_or(&ABSENT)
        }
    };
    (@accessor $attribute:ident $arguments:tt $key:ident $type:ty) => {};

    (@key $made:ident own ()) => { $made };
    (@key $made:ident absent ()) => { $made };
    (@key $made:ident merged ()) => { $made };
    (@key $made:ident of ($selector:ident, $($word:expr),+)) => { $made.of(stringify!($selector), &[$($word),+]) };
    (@key $made:ident initially ($value:expr)) => { $made.default($value) };
    (@key $made:ident needs ($other:ident)) => { $made.needs(stringify!($other)) };
    (@key $made:ident instead_of ($($other:ident),+)) => { $made.instead_of(&[$(stringify!($other)),+]) };
    (@key $made:ident only ($selector:ident, $word:expr)) => { $made.only(stringify!($selector), $word) };
    (@key $made:ident unless ($selector:ident, $word:expr)) => { $made.unless(stringify!($selector), $word) };
    (@key $made:ident $attribute:ident ($($argument:expr)?)) => { $made.$attribute($($argument)?) };

    (@read $own:ident $section:ident required ($example:expr) $key:ident) => {
        $section.expect(stringify!($key), $example)
    };
    (@read $own:ident $section:ident within ($range:expr) $key:ident) => {
        $own.$key = $own.$key.take().filter(|at| $section.is_within(at, &$range))
    };
    (@read $own:ident $section:ident instead_of ($($other:ident),+) $key:ident) => {
        $section.refuse_beside(stringify!($key), &[$(stringify!($other)),+])
    };
    (@read $own:ident $section:ident needs ($other:ident) $key:ident) => {
        $section.refuse_without(stringify!($key), stringify!($other))
    };
    (@read $own:ident $section:ident only ($selector:ident, $word:expr) $key:ident) => {
        $section.refuse_with(stringify!($key), stringify!($selector), $own.$selector(), |word| word != $word)
    };
    (@read $own:ident $section:ident of ($selector:ident, $($word:expr),+) $key:ident) => {
        if let Some(stated) = &$own.$selector {
            $section.refuse_with(stringify!($key), stringify!($selector), stated.value, |word| ![$($word),+].contains(&word))
        }
    };
    (@read $own:ident $section:ident unless ($selector:ident, $word:expr) $key:ident) => {
        if let Some(stated) = &$own.$selector {
            $section.refuse_with(stringify!($key), stringify!($selector), stated.value, |word| word == $word)
        }
    };
    (@read $own:ident $section:ident $attribute:ident $arguments:tt $key:ident) => {};

    (@over $own:ident $below:ident instead_of ($($other:ident),+) $key:ident) => { $(
        if $own.$key.is_some() { $below.$other = None }
        if $own.$other.is_some() { $below.$key = None }
    )+ };
    (@over $own:ident $below:ident merged () $key:ident) => {
        let $key = match ($own.$key, $below.$key.take()) {
            (Some(own), Some(below)) => Some(crate::table::Table::over(own, below)),
            (own, below) => own.or(below),
        };
        let $own = Self { $key, ..$own };
    };
    (@over $own:ident $below:ident $attribute:ident $arguments:tt $key:ident) => {};

    ($(#[doc = $meaning:literal])+ $name:ident $(=> $settings:ident)? $(, $check:ident)? { $($keys:tt)+ } $($rest:tt)+) => {
        table! { $(#[doc = $meaning])+ $name $(=> $settings)? $(, $check)? { $($keys)+ } }
        table! { $($rest)+ }
    };

    ($(#[doc = $meaning:literal])+ $name:ident => $settings:ident $(, $check:ident)? {
        $( $(#[doc = $about:literal])*
        $key:ident: $type:ty $(, $attribute:ident $(($($argument:tt)*))?)*; )+
    }) => {
        table! { $(#[doc = $meaning])+ $name $(, $check)? { $(
            $(#[doc = $about])*
            $key: $type, initially($settings::default().$key) $(, $attribute $(($($argument)*))?)*;
        )+ } }

        impl $name {
            /// The stated values over `settings`.
            pub fn settings(&self, mut settings: $settings) -> $settings {
                $( if let Some(at) = &self.$key { settings.$key = at.value.clone().into() } )+
                settings
            }
        }
    };

    ($(#[doc = $meaning:literal])+ $name:ident $(, $check:ident)? {
        $( $(#[doc = $about:literal])*
        $key:ident: $type:ty $(, $attribute:ident $(($($argument:tt)*))?)*; )+
    }) => {
        $(#[doc = $meaning])+
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $name {
            /// Where it begins.
            pub place: crate::place::Place,
            $( $(#[doc = $about])* pub $key: Option<$type>, )+
        }

        impl $name {
            $( $( table! { @accessor $attribute ($($($argument)*)?) $key $type } )* )+
        }

        impl crate::table::Table for $name {
            fn keys() -> &'static [crate::table::Key] {
                use crate::table::{Key, Shape};
                static KEYS: std::sync::LazyLock<Vec<Key>> = std::sync::LazyLock::new(|| vec![$( {
                    let key = Key::new(stringify!($key), concat!($($about),*), <$type as Shape>::kind());
                    $( let key = table!(@key key $attribute ($($($argument)*)?)); )*
                    key
                } ),+]);
                &KEYS
            }

            fn absent(key: &str) -> Self {
                let place = crate::place::Place { key: key.into(), offset: 0 };
                Self { place, ..core::default::Default::default() }
            }

            fn read(section: &mut crate::section::Section<'_, '_>) -> Self {
                let mut own = Self { place: section.place.clone(), ..core::default::Default::default() };
                $( {
                    let attributes: &[&str] = &[$(stringify!($attribute)),*];
                    if !(section.is_profile && attributes.contains(&"own")) {
                        own.$key = crate::table::Shape::read(section, stringify!($key).trim_start_matches("r#"));
                        $( table!(@read own section $attribute ($($($argument)*)?) $key); )*
                    }
                } )+
                $( own.$check(section); )?
                own
            }

            fn over(self, below: Self) -> Self {
                let (own, mut below) = (self, below);
                $( $( table!(@over own below $attribute ($($($argument)*)?) $key); )* )+
                Self { place: own.place, $( $key: own.$key.or(below.$key.take()), )+ }
            }

            fn remove(&mut self, key: &str) {
                $( if key == stringify!($key) { self.$key = None; } )+
            }

            fn nodes(&self) -> Vec<crate::table::Node> {
                let items = [$( self.$key.as_ref().map(crate::table::Shape::item) ),+];
                let stated = Self::keys().iter().zip(items);
                stated.filter_map(|(key, item)| Some(crate::table::Node { key, item: item? })).collect()
            }

            fn place_of(&self, key: &str) -> Option<&crate::place::Place> {
                let places =
                    [$( (stringify!($key), self.$key.as_ref().and_then(crate::table::Shape::place)) ),+];
                places.into_iter().find(|(name, _)| *name == key)?.1
            }

            fn first(&self, keys: &[&str]) -> &crate::place::Place {
                keys.iter().find_map(|key| self.place_of(key)).unwrap_or(&self.place)
            }

            fn describe(path: &str, found: &mut Vec<(String, &'static [crate::table::Key])>) {
                let dot = if path.is_empty() { "" } else { "." };
                found.push((path.into(), Self::keys()));
                $( <$type as crate::table::Shape>::describe(&format!("{path}{dot}{}", stringify!($key)), found); )+
            }
        }

        impl crate::table::Shape for $name {
            fn read(section: &mut crate::section::Section<'_, '_>, key: &'static str) -> Option<Self> {
                section.table(key, <Self as crate::table::Table>::read)
            }

            fn item(&self) -> crate::table::Item {
                crate::table::Item::Table(crate::table::Table::nodes(self))
            }

            fn place(&self) -> Option<&crate::place::Place> {
                Some(&self.place)
            }

            fn describe(path: &str, found: &mut Vec<(String, &'static [crate::table::Key])>) {
                <Self as crate::table::Table>::describe(path, found);
            }
        }
    };
}

pub(crate) use table;

/// The value type of a key that has one value.
pub(crate) trait Single {
    type Value;
}

impl<T: Value> Single for At<T> {
    type Value = T;
}
