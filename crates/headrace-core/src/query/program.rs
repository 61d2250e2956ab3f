//! A query as the evaluator takes it: expressions in one table, referring to each other
//! by number.
//!
//! Python compiles the query text and hands it over as plain bytes; `decode` is the only
//! way in and trusts nothing of them.
//!
//! | byte | content |
//! |---|---|
//! | 0 | `HRQP`, then one byte: the version |
//! | 5 | one byte: 1 if types are strict, else 0 |
//! | 6 | number of variables, number of expressions (variable-length integers) |
//! | | the expressions; each refers only to those before it |
//!
//! Integers are LEB128, signed ones zigzag; a text is its length and UTF-8; an expression
//! is one byte that says which, where it stands in the query (start, end), and its parts.

use std::{cmp::Ordering, sync::Arc};

use regex::Regex;

use super::{FormatSpec, builtins::Builtin};
use crate::value::Kind;

/// The only version there is.
pub const VERSION: u8 = 2;

/// The number of an expression.
pub type ExprId = u32;

/// A compiled query. It is shared by all rows and threads.
#[derive(Debug)]
pub struct Program {
    pub(super) exprs: Vec<Expr>,
    pub(super) spans: Vec<(u32, u32)>,
    pub(super) variables: usize,
    /// Whether a value of a kind that an operation is not for is an error, not null or as it was.
    pub(super) strict: bool,
}

impl Program {
    /// The expression that is the query.
    pub fn root(&self) -> ExprId {
        // Neither empty nor longer than its numbers: `decode` sees to it.
        ExprId::try_from(self.exprs.len() - 1).unwrap_or_default()
    }

    /// Where an expression stands in the query text.
    pub fn span(&self, id: ExprId) -> (u32, u32) {
        self.spans[id as usize]
    }
}

/// One expression.
#[derive(Debug)]
pub(super) enum Expr {
    Const(Const),
    Root,
    Current,
    /// A value that was found before, of other rows.
    Source(u32),
    Variable(u32),
    Field(ExprId, Box<str>),
    Index(ExprId, ExprId),
    Slice {
        of: ExprId,
        start: Option<ExprId>,
        end: Option<ExprId>,
        step: Option<ExprId>,
    },
    /// Every value under a key, or every node.
    Descend(ExprId, Option<Box<str>>),
    Negate(ExprId),
    Not(ExprId),
    Binary(Operator, ExprId, ExprId),
    And(ExprId, ExprId),
    Or(ExprId, ExprId),
    Coalesce(ExprId, ExprId),
    Is(ExprId, Kind),
    Cast(ExprId, Target),
    Conditional {
        test: ExprId,
        yes: ExprId,
        no: ExprId,
    },
    Try(ExprId, ExprId),
    Let {
        variable: u32,
        value: ExprId,
        body: ExprId,
    },
    /// The body with another current value.
    With(ExprId, ExprId),
    Array(Vec<Item>),
    Object(Vec<Member>),
    /// An f-string.
    Text(Vec<Part>),
    /// A one-element array's element.
    One(ExprId),
    Call {
        builtin: &'static Builtin,
        receiver: ExprId,
        args: Vec<Arg>,
    },
    Match {
        subject: ExprId,
        arms: Vec<Arm>,
    },
    /// The truthy results of the arms over all nodes, or the first of them.
    DeepMatch {
        of: ExprId,
        arms: Vec<Arm>,
        first: bool,
    },
    Comprehension(Box<Comprehension>),
    /// The whole document with some places changed.
    Patch {
        of: ExprId,
        edits: Vec<Edit>,
    },
    /// A field of the object that holds a place which is being changed. There must be such
    /// an object and, if it is `required`, such a field.
    Held {
        holder: ExprId,
        name: Box<str>,
        required: bool,
    },
}

#[derive(Debug)]
pub(super) enum Const {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Big(Box<str>),
    Str(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Contained in each other, whatever the case.
    Like,
}

impl Operator {
    /// Whether it gives true or false.
    pub(super) fn compares(self) -> bool {
        !matches!(
            self,
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder
        )
    }

    /// Whether it holds between values of one kind in this order; none if that is not enough
    /// to say so.
    pub(super) fn holds(self, order: Ordering) -> Option<bool> {
        match self {
            Self::Equal => Some(order.is_eq()),
            Self::NotEqual => Some(order.is_ne()),
            Self::Less => Some(order.is_lt()),
            Self::LessOrEqual => Some(order.is_le()),
            Self::Greater => Some(order.is_gt()),
            Self::GreaterOrEqual => Some(order.is_ge()),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Int,
    Float,
    String,
    Bool,
    Array,
    Object,
    Null,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) value: ExprId,
    pub(super) spread: bool,
}

#[derive(Debug)]
pub(super) enum Member {
    /// Left out if `when` is not truthy, or if it is optional and null.
    Entry {
        key: ExprId,
        value: ExprId,
        optional: bool,
        when: Option<ExprId>,
    },
    Spread(ExprId),
    DeepSpread(ExprId),
}

#[derive(Debug)]
pub(super) enum Part {
    Text(Box<str>),
    Value { value: ExprId, spec: Option<FormatSpec> },
}

/// An argument of a builtin.
#[derive(Debug)]
pub struct Arg {
    pub(super) name: Option<Box<str>>,
    /// Where the values that the builtin passes go; the first one is the current value as well.
    pub(super) params: Vec<u32>,
    pub(super) body: ExprId,
    /// Whether it says something of the element it is given: it is a lambda or uses `@`.
    pub(super) per_element: bool,
    /// Compiled once, if the argument is a pattern that is known beforehand.
    pub(super) regex: Option<Arc<Regex>>,
}

#[derive(Debug)]
pub(super) struct Arm {
    pub(super) pattern: Pattern,
    pub(super) guard: Option<ExprId>,
    pub(super) body: ExprId,
}

#[derive(Debug)]
pub(super) enum Pattern {
    Any,
    Bind(u32),
    Literal(Const),
    Kind(Kind),
    Range {
        low: f64,
        high: f64,
        inclusive: bool,
    },
    Object {
        fields: Vec<(Box<str>, Pattern)>,
        rest: Option<u32>,
    },
    Array {
        items: Vec<Pattern>,
        rest: Rest,
    },
    Either(Vec<Pattern>),
    /// All of them: a kind and a name.
    Both(Vec<Pattern>),
}

/// What may stand behind the items of an array pattern.
#[derive(Debug)]
pub(super) enum Rest {
    /// Nothing: the length is exact.
    None,
    /// Anything, whether it has a name or not.
    Any(Option<u32>),
}

#[derive(Debug)]
pub(super) struct Comprehension {
    pub(super) form: Form,
    pub(super) key: Option<ExprId>,
    pub(super) body: ExprId,
    pub(super) loops: Vec<Loop>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    List,
    Set,
    Dict,
}

#[derive(Debug)]
pub(super) struct Loop {
    /// One variable, or key and value.
    pub(super) variables: Vec<u32>,
    pub(super) source: ExprId,
    pub(super) conditions: Vec<ExprId>,
}

/// A change at the places a path leads to.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) path: Vec<Step>,
    pub(super) change: Change,
    /// Whether a place is changed; it sees what the change does.
    pub(super) when: Option<ExprId>,
    /// The variable that has the object around a place.
    pub(super) holder: u32,
}

#[derive(Debug)]
pub(super) enum Step {
    Field(Box<str>),
    Index(i64),
    Each(Option<ExprId>),
    Descend(Box<str>),
    Dynamic(ExprId),
}

#[derive(Debug)]
pub(super) enum Change {
    /// The expression sees the old value as the current one.
    Set(ExprId),
    Delete,
}
