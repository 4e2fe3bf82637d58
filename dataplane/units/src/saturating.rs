//! The arithmetic that quantities share.

/// Implements sums and differences of quantities, whose only field is a number. They saturate.
macro_rules! saturating {
    ($quantity:ident) => {
        impl core::ops::Add for $quantity {
            type Output = Self;

            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl core::ops::AddAssign for $quantity {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl core::ops::Sub for $quantity {
            type Output = Self;

            #[inline]
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl core::iter::Sum for $quantity {
            fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
                terms.fold(Self(0), |sum, term| sum + term)
            }
        }
    };
}

pub(crate) use saturating;
