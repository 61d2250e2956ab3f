//! Errors of evaluation: what went wrong, and in which part of the query.

use std::fmt;

use super::ExprId;

/// An error that stops the evaluation of a row; `try` catches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The expression that could not be evaluated, once it is known.
    pub expr: Option<ExprId>,
    /// The error message.
    pub reason: String,
}

impl Fault {
    /// A fault of whatever expression is being evaluated.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { expr: None, reason: reason.into() }
    }

    /// The same, of expression `id` unless an inner one is to blame.
    #[must_use]
    pub(super) fn at(mut self, id: ExprId) -> Self {
        self.expr.get_or_insert(id);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for Fault {}
