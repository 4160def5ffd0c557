//! Sets of migratetypes.

use crate::vocab::MigrateType;
use core::fmt;

/// A set of migratetypes: what something may be, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TypeSet(u8);

impl TypeSet {
    /// No type: a contradiction.
    pub const EMPTY: Self = Self(0);
    /// The three types of per-CPU lists.
    pub const PCP: Self = Self(0b111);
    /// Any type.
    pub const ALL: Self = Self(0b11_1111);

    /// Just this type.
    #[must_use]
    pub const fn of(migratetype: MigrateType) -> Self {
        Self(1 << migratetype as u8)
    }

    /// Whether the type is in the set.
    #[must_use]
    pub const fn contains(self, migratetype: MigrateType) -> bool {
        self.0 & (1 << migratetype as u8) != 0
    }

    /// The only member, if there is just one.
    #[must_use]
    pub const fn single(self) -> Option<MigrateType> {
        if self.0.count_ones() == 1 {
            MigrateType::from_index(self.0.trailing_zeros() as usize)
        } else {
            None
        }
    }

    /// Whether nothing is left.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// In both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// In either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// In this one only.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The members, ascending.
    pub fn iter(self) -> impl Iterator<Item = MigrateType> {
        MigrateType::ALL.into_iter().filter(move |mt| self.contains(*mt))
    }
}

impl FromIterator<MigrateType> for TypeSet {
    fn from_iter<I: IntoIterator<Item = MigrateType>>(types: I) -> Self {
        types.into_iter().fold(Self::EMPTY, |set, mt| set.or(Self::of(mt)))
    }
}

impl fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
