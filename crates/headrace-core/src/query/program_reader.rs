//! Program reader: bytes of the compiler to a [`Program`]. It trusts no byte.

use std::sync::Arc;

use regex::Regex;

use super::{
    FormatSpec, builtins,
    program::{
        Arg, Arm, Change, Comprehension, Const, Edit, Expr, ExprId, Form, Item, Loop, Member,
        Operator, Part, Pattern, Program, Rest, Step, Target, VERSION,
    },
};
use crate::{
    json::{self, Limits},
    value::Kind,
};

/// Bytes that are no program of this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

type Decoded<T> = Result<T, Malformed>;

/// Read a program.
///
/// # Errors
/// When the bytes are anything but a program that [`VERSION`] describes.
pub fn decode(bytes: &[u8]) -> Decoded<Program> {
    let Some(rest) = bytes.strip_prefix(b"HRQP") else { return Err(malformed("not a program")) };
    let mut reader = Reader { bytes: rest, depths: Vec::new(), deepest: 0 };
    let version = reader.byte()?;
    if version != VERSION {
        return Err(malformed(&format!("version {version}, not {VERSION}")));
    }
    let strict = match reader.byte()? {
        0 => false,
        1 => true,
        other => return Err(malformed(&format!("{other} for whether types are strict"))),
    };
    let variables = reader.count()?;
    let count = reader.count()?;
    let mut program = Program { exprs: Vec::new(), spans: Vec::new(), variables, strict };
    for _ in 0..count {
        reader.deepest = 0;
        let tag = reader.byte()?;
        program.spans.push((reader.number()?, reader.number()?));
        program.exprs.push(reader.expr(tag)?);
        if reader.deepest == MAX_DEPTH {
            return Err(malformed("it is nested too deep"));
        }
        reader.depths.push(reader.deepest + 1);
    }
    if program.exprs.is_empty() || !reader.bytes.is_empty() {
        return Err(malformed("its length is wrong"));
    }
    let within = |used: u32| (used as usize) < variables;
    if !reader_variables(&program).all(within) {
        return Err(malformed("a variable that was not announced"));
    }
    Ok(program)
}

fn malformed(reason: &str) -> Malformed {
    Malformed(reason.to_owned())
}

/// Every variable that an expression uses.
fn reader_variables(program: &Program) -> impl Iterator<Item = u32> + '_ {
    program.exprs.iter().flat_map(|expr| {
        let mut used = Vec::new();
        match expr {
            Expr::Variable(variable) | Expr::Let { variable, .. } => used.push(*variable),
            Expr::Call { args, .. } => {
                used.extend(args.iter().flat_map(|arg| arg.params.iter().copied()));
            }
            Expr::Match { arms, .. } | Expr::DeepMatch { arms, .. } => {
                for arm in arms {
                    pattern_variables(&arm.pattern, &mut used);
                }
            }
            Expr::Comprehension(comprehension) => {
                used.extend(
                    comprehension.loops.iter().flat_map(|each| each.variables.iter().copied()),
                );
            }
            Expr::Patch { edits, .. } => used.extend(edits.iter().map(|edit| edit.holder)),
            _ => {}
        }
        used
    })
}

fn pattern_variables(pattern: &Pattern, used: &mut Vec<u32>) {
    match pattern {
        Pattern::Any | Pattern::Literal(_) | Pattern::Kind(_) | Pattern::Range { .. } => {}
        Pattern::Bind(variable) => used.push(*variable),
        Pattern::Object { fields, rest } => {
            for field in fields {
                pattern_variables(&field.1, used);
            }
            used.extend(rest);
        }
        Pattern::Array { items, rest } => {
            for item in items {
                pattern_variables(item, used);
            }
            if let Rest::Any(rest) = rest {
                used.extend(rest);
            }
        }
        Pattern::Either(patterns) | Pattern::Both(patterns) => {
            for pattern in patterns {
                pattern_variables(pattern, used);
            }
        }
    }
}

/// Patterns within patterns; queries are not deeper than this.
const MAX_PATTERN_DEPTH: u32 = 1000;

/// How deep expressions may be nested: evaluation is recursive, and its stack is finite.
pub const MAX_DEPTH: u32 = 2000;

struct Reader<'b> {
    bytes: &'b [u8],
    /// How deep each expression read so far is nested; the next may refer to these.
    depths: Vec<u32>,
    /// The deepest that the one being read refers to.
    deepest: u32,
}

impl Reader<'_> {
    fn byte(&mut self) -> Decoded<u8> {
        let (&byte, rest) = self.bytes.split_first().ok_or_else(|| malformed("it ends early"))?;
        self.bytes = rest;
        Ok(byte)
    }

    fn long(&mut self) -> Decoded<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(malformed("a number is too long"))
    }

    fn number(&mut self) -> Decoded<u32> {
        u32::try_from(self.long()?).map_err(|_| malformed("a number is too large"))
    }

    /// How many things follow; each takes a byte at least.
    fn count(&mut self) -> Decoded<usize> {
        let count = self.number()? as usize;
        // Variables take no bytes, but a program has no more of them than expressions.
        if count > self.bytes.len() { Err(malformed("a count is too large")) } else { Ok(count) }
    }

    fn signed(&mut self) -> Decoded<i64> {
        let value = self.long()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn float(&mut self) -> Decoded<f64> {
        let (bytes, rest) =
            self.bytes.split_first_chunk().ok_or_else(|| malformed("it ends early"))?;
        self.bytes = rest;
        let value = f64::from_le_bytes(*bytes);
        if value.is_finite() { Ok(value) } else { Err(malformed("a number is not finite")) }
    }

    fn text(&mut self) -> Decoded<Box<str>> {
        let length = self.count()?;
        let (text, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        std::str::from_utf8(text).map(Into::into).map_err(|_| malformed("a text is not UTF-8"))
    }

    fn id(&mut self) -> Decoded<ExprId> {
        let id = self.number()?;
        let Some(depth) = self.depths.get(id as usize) else {
            return Err(malformed("an expression that comes later"));
        };
        self.deepest = self.deepest.max(*depth);
        Ok(id)
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Decoded<T>) -> Decoded<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    fn flag(&mut self) -> Decoded<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(malformed("a flag is neither 0 nor 1")),
        }
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Decoded<T>) -> Decoded<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> Decoded<T> {
        let at = self.byte()? as usize;
        choices.get(at).copied().ok_or_else(|| malformed("an unknown choice"))
    }

    fn expr(&mut self, tag: u8) -> Decoded<Expr> {
        Ok(match tag {
            0 => Expr::Const(self.constant()?),
            1 => Expr::Root,
            2 => Expr::Current,
            3 => Expr::Variable(self.number()?),
            4 => Expr::Field(self.id()?, self.text()?),
            5 => Expr::Index(self.id()?, self.id()?),
            6 => Expr::Slice {
                of: self.id()?,
                start: self.option(Self::id)?,
                end: self.option(Self::id)?,
                step: self.option(Self::id)?,
            },
            7 => Expr::Descend(self.id()?, self.option(Self::text)?),
            8 => Expr::Negate(self.id()?),
            9 => Expr::Not(self.id()?),
            10 => Expr::Binary(self.one_of(&OPERATORS)?, self.id()?, self.id()?),
            11 => Expr::And(self.id()?, self.id()?),
            12 => Expr::Or(self.id()?, self.id()?),
            13 => Expr::Coalesce(self.id()?, self.id()?),
            14 => Expr::Is(self.id()?, self.one_of(&KINDS)?),
            15 => Expr::Cast(self.id()?, self.one_of(&TARGETS)?),
            16 => Expr::Conditional { test: self.id()?, yes: self.id()?, no: self.id()? },
            17 => Expr::Try(self.id()?, self.id()?),
            18 => Expr::Let { variable: self.number()?, value: self.id()?, body: self.id()? },
            19 => Expr::With(self.id()?, self.id()?),
            20 => Expr::Array(
                self.list(|reader| Ok(Item { value: reader.id()?, spread: reader.flag()? }))?,
            ),
            21 => Expr::Object(self.list(Self::member)?),
            22 => Expr::Text(self.list(Self::part)?),
            23 => Expr::One(self.id()?),
            24 => self.call()?,
            25 => Expr::Match { subject: self.id()?, arms: self.list(Self::arm)? },
            26 => {
                Expr::DeepMatch { of: self.id()?, arms: self.list(Self::arm)?, first: self.flag()? }
            }
            27 => Expr::Comprehension(Box::new(self.comprehension()?)),
            28 => Expr::Patch { of: self.id()?, edits: self.list(Self::edit)? },
            29 => Expr::Source(self.number()?),
            30 => Expr::Held { holder: self.id()?, name: self.text()?, required: self.flag()? },
            _ => return Err(malformed("an unknown expression")),
        })
    }

    fn constant(&mut self) -> Decoded<Const> {
        Ok(match self.byte()? {
            0 => Const::Null,
            1 => Const::Bool(false),
            2 => Const::Bool(true),
            3 => Const::Int(self.signed()?),
            4 => Const::Float(self.float()?),
            5 => Const::Big(self.big()?),
            6 => Const::Str(self.text()?),
            _ => return Err(malformed("an unknown constant")),
        })
    }

    /// The text of a number, as a row could have it.
    fn big(&mut self) -> Decoded<Box<str>> {
        let text = self.text()?;
        let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        if numeric && json::check(text.as_bytes(), &Limits::default()).is_ok() {
            Ok(text)
        } else {
            Err(malformed("a number is none"))
        }
    }

    fn member(&mut self) -> Decoded<Member> {
        Ok(match self.byte()? {
            0 => Member::Entry {
                key: self.id()?,
                value: self.id()?,
                optional: self.flag()?,
                when: self.option(Self::id)?,
            },
            1 => Member::Spread(self.id()?),
            2 => Member::DeepSpread(self.id()?),
            _ => return Err(malformed("an unknown member")),
        })
    }

    fn part(&mut self) -> Decoded<Part> {
        Ok(match self.byte()? {
            0 => Part::Text(self.text()?),
            1 => Part::Value { value: self.id()?, spec: self.option(Self::format)? },
            _ => return Err(malformed("an unknown part")),
        })
    }

    fn call(&mut self) -> Decoded<Expr> {
        let name = self.text()?;
        let builtin = builtins::find(&name).ok_or_else(|| malformed("an unknown builtin"))?;
        let (receiver, args) = (self.id()?, self.list(Self::arg)?);
        if args.len() < builtin.required {
            return Err(malformed("a builtin has too few arguments"));
        }
        Ok(Expr::Call { builtin, receiver, args })
    }

    fn arg(&mut self) -> Decoded<Arg> {
        Ok(Arg {
            name: self.option(Self::text)?,
            params: self.list(Self::number)?,
            body: self.id()?,
            per_element: self.flag()?,
            regex: self.option(Self::regex)?,
        })
    }

    fn format(&mut self) -> Decoded<FormatSpec> {
        FormatSpec::parse(&self.text()?).map_err(|reason| malformed(&reason))
    }

    fn regex(&mut self) -> Decoded<Arc<Regex>> {
        let pattern = self.text()?;
        super::regex::compile(&pattern).map(Arc::new).map_err(Malformed)
    }

    fn arm(&mut self) -> Decoded<Arm> {
        Ok(Arm { pattern: self.pattern(0)?, guard: self.option(Self::id)?, body: self.id()? })
    }

    fn pattern(&mut self, depth: u32) -> Decoded<Pattern> {
        if depth > MAX_PATTERN_DEPTH {
            return Err(malformed("a pattern is nested too deep"));
        }
        Ok(match self.byte()? {
            0 => Pattern::Any,
            1 => Pattern::Bind(self.number()?),
            2 => Pattern::Literal(self.constant()?),
            3 => Pattern::Kind(self.one_of(&KINDS)?),
            4 => {
                Pattern::Range { low: self.float()?, high: self.float()?, inclusive: self.flag()? }
            }
            5 => Pattern::Object {
                fields: self.list(|reader| Ok((reader.text()?, reader.pattern(depth + 1)?)))?,
                rest: self.option(Self::number)?,
            },
            6 => Pattern::Array {
                items: self.list(|reader| reader.pattern(depth + 1))?,
                rest: if self.flag()? { Rest::Any(self.option(Self::number)?) } else { Rest::None },
            },
            7 => Pattern::Either(self.list(|reader| reader.pattern(depth + 1))?),
            8 => Pattern::Both(self.list(|reader| reader.pattern(depth + 1))?),
            _ => return Err(malformed("an unknown pattern")),
        })
    }

    fn comprehension(&mut self) -> Decoded<Comprehension> {
        let form = self.one_of(&[Form::List, Form::Set, Form::Dict])?;
        let (key, body) = (self.option(Self::id)?, self.id()?);
        let loops = self.list(Self::a_loop)?;
        if loops.is_empty() {
            return Err(malformed("a comprehension goes over nothing"));
        }
        Ok(Comprehension { form, key, body, loops })
    }

    fn a_loop(&mut self) -> Decoded<Loop> {
        let variables = self.list(Self::number)?;
        if !(1..=2).contains(&variables.len()) {
            return Err(malformed("a loop has one variable or two"));
        }
        Ok(Loop { variables, source: self.id()?, conditions: self.list(Self::id)? })
    }

    fn edit(&mut self) -> Decoded<Edit> {
        Ok(Edit {
            path: self.list(Self::step)?,
            change: match self.byte()? {
                0 => Change::Set(self.id()?),
                1 => Change::Delete,
                _ => return Err(malformed("an unknown change")),
            },
            when: self.option(Self::id)?,
            holder: self.number()?,
        })
    }

    fn step(&mut self) -> Decoded<Step> {
        Ok(match self.byte()? {
            0 => Step::Field(self.text()?),
            1 => Step::Index(self.signed()?),
            2 => Step::Each(self.option(Self::id)?),
            3 => Step::Descend(self.text()?),
            4 => Step::Dynamic(self.id()?),
            _ => return Err(malformed("an unknown step")),
        })
    }
}

const OPERATORS: [Operator; 12] = [
    Operator::Add,
    Operator::Subtract,
    Operator::Multiply,
    Operator::Divide,
    Operator::Remainder,
    Operator::Equal,
    Operator::NotEqual,
    Operator::Less,
    Operator::LessOrEqual,
    Operator::Greater,
    Operator::GreaterOrEqual,
    Operator::Like,
];

const KINDS: [Kind; 6] =
    [Kind::Null, Kind::Bool, Kind::Number, Kind::String, Kind::Array, Kind::Object];

const TARGETS: [Target; 7] = [
    Target::Int,
    Target::Float,
    Target::String,
    Target::Bool,
    Target::Array,
    Target::Object,
    Target::Null,
];
