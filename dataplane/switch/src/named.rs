//! Enums whose variants have stable names.

/// Declares an enum whose variants have stable names: the meaning of each, its name, and `default` after one.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident {
        $($(#[doc = $about:literal])+ $variant:ident = $text:literal $($default:ident)?,)+
    }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[doc = $about])+ $(#[$default])? $variant,)+
        }

        impl $name {
            /// All variants, in the order of their numbers.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The name in reports, metrics and documentation; stable.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// Its meaning, as a sentence.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($about),+).trim_ascii(),)+
                }
            }
        }
    };
}

pub(crate) use named;
