//! Enums whose variants have stable names.

/// Declares an enum whose variants have stable names: the meaning of each, its name, and `default` after one. Behind
/// the name of the enum stand, in brackets, its further parts: `serde`, `ALL` and `about`, in this order.
#[macro_export]
macro_rules! named {
    (@ALL $name:ident { $($(#[doc = $about:literal])+ $variant:ident = $text:literal $($default:ident)?,)+ }) => {
        impl $name {
            /// All variants, in the order of their numbers.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];
        }
    };
    (@about $name:ident { $($(#[doc = $about:literal])+ $variant:ident = $text:literal $($default:ident)?,)+ }) => {
        impl $name {
            /// Its meaning, as a sentence.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($about),+).trim_ascii(),)+
                }
            }
        }
    };
    (@name $name:ident { $($(#[doc = $about:literal])+ $variant:ident = $text:literal $($default:ident)?,)+ }) => {
        impl $name {
            /// The name in reports, metrics, options and documentation; stable.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
    (@serde [$($meta:tt)*] $name:ident {
        $($(#[doc = $about:literal])+ $variant:ident = $text:literal $($default:ident)?,)+
    }) => {
        $($meta)*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $about])+ #[serde(rename = $text)] $(#[$default])? $variant,)+
        }
    };
    (@plain [$($meta:tt)*] $name:ident {
        $($(#[doc = $about:literal])+ $variant:ident = $text:literal $($default:ident)?,)+
    }) => {
        $($meta)*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $about])+ $(#[$default])? $variant,)+
        }
    };
    ($(#[$meta:meta])* $name:ident [serde $(, $part:ident)*] $variants:tt) => {
        $crate::named! { @serde [$(#[$meta])*] $name $variants }
        $crate::named! { @name $name $variants }
        $($crate::named! { @$part $name $variants })*
    };
    ($(#[$meta:meta])* $name:ident [$($part:ident),*] $variants:tt) => {
        $crate::named! { @plain [$(#[$meta])*] $name $variants }
        $crate::named! { @name $name $variants }
        $($crate::named! { @$part $name $variants })*
    };
    ($(#[$meta:meta])* $name:ident { $($variants:tt)+ }) => {
        $crate::named! { $(#[$meta])* $name [] { $($variants)+ } }
    };
}
