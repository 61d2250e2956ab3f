//! Slots: how the values of groups are aggregated.

use super::{Sum, accumulator::Accumulator};

/// How the values of a group are aggregated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// How many are truthy.
    Count,
    /// The total of the numbers among them.
    Sum,
    /// The mean.
    Average,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// An array of those that are not null, for the function of this name; each must be a number.
    Numbers(Box<str>),
    /// An array of them all.
    Collect,
    /// An array of the first.
    First(u64),
    /// An array of the last.
    Last(u64),
    /// An array of the best. A value is an array of two: its keys, some of which fall, and what
    /// is held of it.
    Best(u64, Box<[bool]>),
    /// An array of those that are different.
    Distinct,
    /// About how many are different.
    Approximate,
}

impl Slot {
    /// Its accumulator in a group without elements.
    pub(super) fn begin(&self) -> Accumulator {
        match self {
            Self::Count => Accumulator::Count(0),
            Self::Sum => Accumulator::Sum(Sum::new()),
            Self::Average => Accumulator::Average(Sum::new(), 0),
            Self::Min => Accumulator::least(),
            Self::Max => Accumulator::greatest(),
            Self::Numbers(_) | Self::Collect => Accumulator::first(u64::MAX),
            Self::First(limit) => Accumulator::first(*limit),
            Self::Last(limit) => Accumulator::last(*limit),
            Self::Best(keep, falling) => Accumulator::best(*keep, falling.clone()),
            Self::Distinct => Accumulator::Distinct(Box::default()),
            Self::Approximate => Accumulator::Approximate(Box::default()),
        }
    }

    /// The function that refuses values which are neither numbers nor null.
    pub(super) fn of_numbers(&self) -> Option<&str> {
        match self {
            Self::Sum => Some("sum"),
            Self::Average => Some("avg"),
            Self::Numbers(function) => Some(function),
            _ => None,
        }
    }
}
