//! The methods that sets of small numbers share.

/// Implements a set of `$member`, whose only field is its number, with one bit of `$bits` per member.
macro_rules! bit_set {
    ($set:ident($bits:ty) of $member:ident) => {
        impl $set {
            /// The empty set.
            pub const EMPTY: Self = Self(0);

            /// Whether `member` is in the set.
            #[inline]
            pub const fn contains(self, member: $member) -> bool {
                self.0 & (1 << member.0) != 0
            }

            /// Whether it has no member.
            #[inline]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Whether it has exactly one member.
            #[inline]
            pub const fn is_single(self) -> bool {
                self.0.is_power_of_two()
            }

            /// This set and `member`.
            #[inline]
            #[must_use]
            pub const fn with(self, member: $member) -> Self {
                Self(self.0 | (1 << member.0))
            }

            /// This set without `member`.
            #[inline]
            #[must_use]
            pub const fn without(self, member: $member) -> Self {
                Self(self.0 & !(1 << member.0))
            }

            /// The members of either set.
            #[inline]
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// The members of both sets.
            #[inline]
            #[must_use]
            pub const fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// The members of this set that are not in `other`.
            #[inline]
            #[must_use]
            pub const fn difference(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// The highest member.
            #[inline]
            pub const fn highest(self) -> Option<$member> {
                if self.0 == 0 { None } else { Some($member(self.0.ilog2() as u8)) }
            }

            /// Its members, lowest first.
            #[inline]
            pub fn iter(self) -> impl Iterator<Item = $member> {
                let mut rest = self.0;
                core::iter::from_fn(move || {
                    let lowest = rest.trailing_zeros() as u8;
                    (rest != 0).then(|| {
                        rest &= rest - 1;
                        $member(lowest)
                    })
                })
            }
        }

        impl FromIterator<$member> for $set {
            fn from_iter<I: IntoIterator<Item = $member>>(members: I) -> Self {
                members.into_iter().fold(Self::EMPTY, Self::with)
            }
        }
    };
}

pub(crate) use bit_set;
