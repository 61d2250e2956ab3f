//! Every builtin, in one table.
//!
//! Name resolution, the list of functions, the manual and the tests read the table. To add
//! a builtin, write one function in the file of its group and one entry in that file's list.

mod arrays;
mod case;
mod convert;
mod globals;
mod grouping;
pub(in crate::query) mod iteration;
mod joins;
pub(in crate::query) mod kinds;
mod math;
mod objects;
mod output;
mod paths;
mod patterns;
mod predicates;
mod recursive;
mod reducers;
mod reshape;
mod search;
mod sorting;
mod statistics;
mod text;
mod text_builder;
mod times;
mod windows;
mod writes;

pub(in crate::query) use paths::{append_index, append_key};
pub use patterns::unknown_group;

use super::{
    Arg, ExprId, Fault, Machine,
    machine::{Evaluated, Flow, Sink},
};
use crate::{
    times::{Bucket, Pattern, Span, Unit, Zone},
    value::Value,
};

/// A function or method of the language.
pub struct Builtin {
    /// The name in queries.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The chapter of the manual.
    pub group: &'static str,
    /// The parameters, in order.
    pub parameters: &'static [Parameter],
    /// The least number of arguments.
    pub required: usize,
    /// One or two sentences for the manual.
    pub doc: &'static str,
    /// Query, document and answer; the answer is `error` if the query fails.
    pub examples: &'static [Example],
    /// The code.
    pub run: Run,
}

/// Query, document and answer.
type Example = [&'static str; 3];

impl Builtin {
    const fn new(name: &'static str, run: Run) -> Self {
        Self {
            name,
            aliases: &[],
            group: "",
            parameters: &[],
            required: 0,
            doc: "",
            examples: &[],
            run,
        }
    }

    const fn value(name: &'static str, run: ValueFn) -> Self {
        Self::new(name, Run::Value(run))
    }

    const fn stage(name: &'static str, run: StageFn) -> Self {
        Self::new(name, Run::Stage(run))
    }

    const fn reduce(name: &'static str, run: ReduceFn) -> Self {
        Self::new(name, Run::Reduce(run))
    }

    /// Parameters; all are required unless [`Self::required`] follows.
    const fn takes(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, required: parameters.len(), ..self }
    }

    const fn required(self, required: usize) -> Self {
        Self { required, ..self }
    }

    const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn doc(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    const fn examples(self, examples: &'static [Example]) -> Self {
        Self { examples, ..self }
    }
}

/// Put builtins into one chapter of the manual.
const fn in_group<const N: usize>(name: &'static str, mut builtins: [Builtin; N]) -> [Builtin; N] {
    let mut at = 0;
    while at < N {
        builtins[at].group = name;
        at += 1;
    }
    builtins
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.name.fmt(f)
    }
}

/// A parameter. The last one may be repeated if it is one of the `Rest` kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A value, evaluated once, where the call stands.
    Value(&'static str),
    /// An expression, evaluated for each element, which is its `@`.
    Each(&'static str),
    /// A value if the expression does not mention the element, else as [`Parameter::Each`].
    Either(&'static str),
    /// A name: a bare identifier or a string.
    Name(&'static str),
    /// As [`Parameter::Each`], any number of times.
    EachRest(&'static str),
    /// As [`Parameter::Name`], any number of times; `alias: name` where the builtin allows it.
    NameRest(&'static str),
    /// As [`Parameter::Value`], any number of times.
    ValueRest(&'static str),
}

/// Receiver value to value.
pub(super) type ValueFn =
    for<'a, 'p, 'r> fn(&'a mut Machine<'p, 'r>, Value<'r>, &'p [Arg]) -> Evaluated<'r>;
/// Elements of the receiver to elements, pushed into the sink.
pub(super) type StageFn = for<'a, 's, 'p, 'r> fn(
    &'a mut Machine<'p, 'r>,
    ExprId,
    &'p [Arg],
    &'a mut Sink<'s, 'p, 'r>,
) -> Evaluated<'r, Flow>;
/// Elements of the receiver to one value.
pub(super) type ReduceFn =
    for<'a, 'p, 'r> fn(&'a mut Machine<'p, 'r>, ExprId, &'p [Arg]) -> Evaluated<'r>;

/// How a builtin runs.
#[derive(Clone, Copy)]
pub enum Run {
    /// On the receiver's value.
    Value(ValueFn),
    /// On the receiver's elements, one by one; returns elements.
    Stage(StageFn),
    /// The elements of the receiver for which all arguments are true.
    Filter,
    /// The argument, evaluated for each element of the receiver.
    Map,
    /// On the receiver's elements, one by one; returns a value.
    Reduce(ReduceFn),
}

impl Run {
    /// Whether it returns elements.
    pub(super) fn is_stage(self) -> bool {
        matches!(self, Self::Stage(_) | Self::Filter | Self::Map)
    }
}

/// All builtins, group by group.
pub static BUILTINS: &[&[Builtin]] = &[
    iteration::BUILTINS,
    reducers::BUILTINS,
    sorting::BUILTINS,
    grouping::BUILTINS,
    statistics::BUILTINS,
    windows::BUILTINS,
    arrays::BUILTINS,
    joins::BUILTINS,
    objects::BUILTINS,
    paths::BUILTINS,
    predicates::BUILTINS,
    text::BUILTINS,
    case::BUILTINS,
    search::BUILTINS,
    patterns::BUILTINS,
    convert::BUILTINS,
    math::BUILTINS,
    times::BUILTINS,
    output::BUILTINS,
    recursive::BUILTINS,
    writes::BUILTINS,
    globals::BUILTINS,
];

/// Refuse a text that no row can make right as the argument of this name: a pattern, time zone,
/// unit or span that is none.
///
/// # Errors
/// The error message.
pub fn check_literal(parameter: &str, text: &str) -> Result<(), String> {
    match parameter {
        "pattern" => super::regex::compile(text).map(drop),
        "zone" => Zone::find(text).map(drop),
        "unit" => Unit::find(text).map(drop),
        "bucket" => Bucket::parse(text).map(drop),
        "span" | "step" => Span::parse(text).map(drop),
        "pattern to read" => Pattern::to_read(text).map(drop),
        "pattern to write" => Pattern::to_write(text).map(drop),
        _ => Ok(()),
    }
}

/// The builtin of that name or alias.
pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS
        .iter()
        .flat_map(|group| group.iter())
        .find(|builtin| builtin.name == name || builtin.aliases.contains(&name))
}

/// How large a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// The bytes of a text.
    Bytes(usize),
    /// The elements of an array.
    Elements(usize),
}

/// Refuse a result that is too large, before it is allocated.
///
/// # Errors
/// More than 256 MiB of text, or 50 million elements.
pub(super) fn limited(size: Size) -> Result<(), Fault> {
    const MAX_BYTES: usize = 256 << 20;
    const MAX_ELEMENTS: usize = 50_000_000;
    match size {
        Size::Bytes(bytes) if bytes > MAX_BYTES => {
            Err(Fault::new("the result would be a text of more than 256 MiB"))
        }
        Size::Elements(elements) if elements > MAX_ELEMENTS => {
            Err(Fault::new("the result would have more than 50 million elements"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_name_stands_for_two_builtins() {
        let mut names = HashSet::new();
        for builtin in BUILTINS.iter().flat_map(|group| group.iter()) {
            for name in std::iter::once(&builtin.name).chain(builtin.aliases) {
                assert!(names.insert(*name), "{name}");
            }
        }
        assert!(!names.is_empty());
    }

    #[test]
    fn every_builtin_says_what_it_does_and_shows_it() {
        for builtin in BUILTINS.iter().flat_map(|group| group.iter()) {
            assert!(builtin.doc.ends_with('.'), "{}", builtin.name);
            assert!(!builtin.examples.is_empty(), "{}", builtin.name);
            let repeats = matches!(
                builtin.parameters.last(),
                Some(Parameter::EachRest(_) | Parameter::NameRest(_) | Parameter::ValueRest(_))
            );
            assert!(repeats || builtin.required <= builtin.parameters.len(), "{}", builtin.name);
        }
    }
}
