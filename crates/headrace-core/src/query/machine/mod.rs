//! Evaluating a program over one row.
//!
//! Methods that go over elements are not evaluated one after the other over whole
//! arrays: [`Machine::each`] pushes element by element through a chain of them, so
//! `filter(p).first()` ends at the first match and nothing behind it is evaluated.

mod construction;
mod each;
mod operators;
mod projection;

use bumpalo::{Bump, collections::Vec as BumpVec};

use self::operators::{comparable, compared, order_of};
pub(super) use self::projection::Projection;
use super::{
    Arg, ExprId, Fault, Known, Place, Program,
    builtins::{Builtin, Run, kinds},
    deep,
    limits::{Scales, Watch},
    numbers, patch, pattern,
    program::{Const, Expr, Operator},
};
use crate::value::{Kind, Node, Value};

/// Whether the source of elements should push more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Push further elements.
    Continue,
    /// I have what I need.
    Stop,
}

/// The result of an evaluation.
pub type Evaluated<'r, T = Value<'r>> = Result<T, Fault>;

/// Takes elements one by one.
pub type Sink<'s, 'p, 'r> = dyn FnMut(&mut Machine<'p, 'r>, Value<'r>) -> Evaluated<'r, Flow> + 's;

/// What an expression returns for a single element.
#[derive(Clone, Copy)]
pub(super) enum Single<'r> {
    Part(Node<'r>),
    None,
    /// Something else, or more than one.
    Other,
}

/// A program, a row, and what the names in scope stand for.
pub struct Machine<'p, 'r> {
    program: &'p Program,
    /// The memory of this row.
    pub arena: &'r Bump,
    root: Value<'r>,
    current: Value<'r>,
    known: Known<'r>,
    variables: &'r mut [Value<'r>],
    watch: &'p Watch,
    scales: Scales,
    /// Whether types are strict here.
    pub(super) strict: bool,
}

impl<'p, 'r> Machine<'p, 'r> {
    /// A machine for one row.
    pub fn new(program: &'p Program, arena: &'r Bump, row: Value<'r>, watch: &'p Watch) -> Self {
        let variables = arena.alloc_slice_fill_copy(program.variables, Value::Null);
        let scales = Scales::new(row);
        Self {
            program,
            arena,
            root: row,
            current: row,
            known: Known::default(),
            variables,
            watch,
            scales,
            strict: program.strict,
        }
    }

    /// The machine, knowing the values that the program has by number, and where the row stands.
    #[must_use]
    pub fn knowing(mut self, known: Known<'r>) -> Self {
        self.known = known;
        self
    }

    /// The file, line and byte of the row.
    ///
    /// # Errors
    /// The value is not a row of a file, or no longer.
    pub(super) fn place(&self) -> Result<Place<'r>, Fault> {
        self.known.place.ok_or_else(|| {
            Fault::new("only of a row of a file it is known where it stands, while it is read")
        })
    }

    /// A machine for the same row that allocates in another arena.
    pub(super) fn within<'s>(&self, arena: &'s Bump) -> Machine<'p, 's>
    where
        'r: 's,
    {
        Machine {
            program: self.program,
            arena,
            root: self.root,
            current: self.current,
            known: self.known,
            variables: arena.alloc_slice_copy(self.variables),
            watch: self.watch,
            scales: Scales::new(self.root),
            strict: self.strict,
        }
    }

    /// The value of the query over the row.
    ///
    /// # Errors
    /// The first fault that no `try` catches.
    pub fn run(&mut self) -> Evaluated<'r> {
        self.eval(self.program.root())
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// A fault inside it.
    #[inline]
    pub fn eval(&mut self, id: ExprId) -> Evaluated<'r> {
        match self.found(id) {
            Some(value) => Ok(value),
            None => {
                self.within_limits().and_then(|()| self.computed(id)).map_err(|fault| fault.at(id))
            }
        }
    }

    #[inline]
    fn within_limits(&self) -> Result<(), Fault> {
        self.watch.step()?;
        self.scales.hold(self.arena.allocated_bytes())
    }

    /// A value that was made of others, if it is not too large.
    ///
    /// # Errors
    /// The value breaks no limit.
    #[inline]
    pub(super) fn made(&mut self, value: Value<'r>) -> Evaluated<'r> {
        self.scales.weigh(value)?;
        Ok(value)
    }

    /// Check that `values` more values fit.
    fn room(&self, values: usize) -> Result<(), Fault> {
        let bytes = values.saturating_mul(size_of::<Value>());
        self.scales.hold(self.arena.allocated_bytes().saturating_add(bytes))
    }

    /// Add a value to those of an array that is being made.
    fn push(&self, values: &mut BumpVec<'r, Value<'r>>, value: Value<'r>) -> Result<(), Fault> {
        if values.len() == values.capacity() {
            self.room(2 * values.len())?;
        }
        values.push(value);
        Ok(())
    }

    /// The value of an expression that needs no computing, such as a field of the row. Most
    /// expressions of a query are of this kind, and none of them can fail.
    #[inline]
    fn found(&self, id: ExprId) -> Option<Value<'r>> {
        match &self.program.exprs[id as usize] {
            Expr::Const(constant) => Some(self.constant(constant)),
            Expr::Root => Some(self.root),
            Expr::Current => Some(self.current),
            Expr::Variable(variable) => Some(self.variables[*variable as usize]),
            Expr::Source(number) => {
                Some(self.known.sources.get(*number as usize).copied().unwrap_or(Value::Null))
            }
            _ => self.part(id).map(Value::Node),
        }
    }

    /// The part of the row that an expression is, if it is one: unlike a value, it stays in
    /// registers.
    fn part(&self, id: ExprId) -> Option<Node<'r>> {
        match &self.program.exprs[id as usize] {
            Expr::Root => self.root.as_node(),
            Expr::Current => self.current.as_node(),
            Expr::Field(of, name) => {
                let of = self.part(*of)?;
                // With strict types, what has no fields has no value that is there already.
                if self.strict && !matches!(of.kind(), Kind::Object | Kind::Null) {
                    return None;
                }
                Some(of.get(name).unwrap_or(Node::NULL))
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn computed(&mut self, id: ExprId) -> Evaluated<'r> {
        let program = self.program;
        match &program.exprs[id as usize] {
            Expr::Const(_) | Expr::Root | Expr::Current | Expr::Source(_) | Expr::Variable(_) => {
                Ok(self.found(id).unwrap_or(Value::Null))
            }
            Expr::Field(of, name) => {
                let of = self.eval(*of)?;
                self.field(of, name)
            }
            Expr::Index(of, index) => {
                let (of, index) = (self.eval(*of)?, self.eval(*index)?);
                self.index(of, index)
            }
            Expr::Slice { of, start, end, step } => self.slice(*of, [*start, *end, *step]),
            Expr::Descend(of, key) => {
                let of = self.eval(*of)?;
                let found = deep::descend(of, key.as_deref(), self.arena);
                self.made(found)
            }
            Expr::Negate(of) => self.negate(*of),
            Expr::Binary(operator, left, right) if !operator.compares() => {
                let (left, right) = (self.eval(*left)?, self.eval(*right)?);
                self.watch.charge(left);
                self.watch.charge(right);
                match operator {
                    Operator::Add => self.add(left, right).and_then(|sum| self.made(sum)),
                    _ => numbers::arithmetic(*operator, left, right, self.arena),
                }
            }
            Expr::Binary(..) | Expr::Not(_) | Expr::And(..) => self.test(id).map(Value::Bool),
            Expr::Or(left, right) => {
                let left = self.eval(*left)?;
                if left.truthy(self.arena) { Ok(left) } else { self.eval(*right) }
            }
            Expr::Coalesce(left, right) => {
                let left = self.eval(*left)?;
                if left.is_null() { self.eval(*right) } else { Ok(left) }
            }
            Expr::Is(of, kind) => Ok(Value::Bool(self.eval(*of)?.kind() == *kind)),
            Expr::Cast(of, target) => self.cast(*of, *target),
            Expr::Conditional { test, yes, no } => {
                let chosen = if self.test(*test)? { *yes } else { *no };
                self.eval(chosen)
            }
            Expr::Try(risky, other) => match self.eval(*risky) {
                Ok(value) if !value.is_null() => Ok(value),
                _ => self.eval(*other),
            },
            Expr::Let { variable, value, body } => {
                let value = self.eval(*value)?;
                self.set(*variable, value);
                self.eval(*body)
            }
            Expr::With(value, body) => {
                let value = self.eval(*value)?;
                self.with(value, *body)
            }
            Expr::Array(items) => self.array(items).and_then(|array| self.made(array)),
            Expr::Object(members) => self.object(members).and_then(|object| self.made(object)),
            Expr::Text(parts) => self.text(parts).and_then(|text| self.made(text)),
            Expr::One(of) => self.one(*of),
            Expr::Call { builtin, receiver, args } => self.called(id, builtin, *receiver, args),
            Expr::Match { subject, arms } => {
                let subject = self.eval(*subject)?;
                match pattern::first_arm(self, arms, subject)? {
                    Some(value) => Ok(value),
                    None => Err(Fault::new(format!(
                        "no arm matches {}",
                        numbers::shown(subject, self.arena)
                    ))),
                }
            }
            Expr::DeepMatch { of, arms, first } => {
                let of = self.eval(*of)?;
                let found = deep::matches(self, of, arms, *first)?;
                self.made(found)
            }
            Expr::Comprehension(comprehension) => {
                let value = self.comprehension(comprehension)?;
                self.made(value)
            }
            Expr::Patch { of, edits } => {
                let of = self.eval(*of)?;
                let patched = patch::apply(self, of, edits)?;
                self.made(patched)
            }
            Expr::Held { holder, name, required } => self.held(*holder, name, *required),
        }
    }

    /// The value of a builtin.
    fn called(
        &mut self,
        id: ExprId,
        builtin: &Builtin,
        receiver: ExprId,
        args: &'p [Arg],
    ) -> Evaluated<'r> {
        let value = match builtin.run {
            Run::Value(run) => {
                let receiver = self.eval(receiver)?;
                self.watch.charge(receiver);
                if self.strict {
                    kinds::check(builtin, receiver, self.arena)?;
                }
                run(self, receiver, args)?
            }
            Run::Reduce(run) => run(self, receiver, args)?,
            Run::Stage(_) | Run::Filter | Run::Map => self.collected(id)?,
        };
        self.made(value)
    }

    /// A field of the object that holds a place which is being changed.
    fn held(&mut self, holder: ExprId, name: &str, required: bool) -> Evaluated<'r> {
        let holder = self.eval(holder)?;
        if holder.kind() != Kind::Object {
            let shown = numbers::shown(holder, self.arena);
            return Err(Fault::new(format!(
                "{name} is looked up in {shown}; write $.{name} for a field of the document"
            )));
        }
        match holder.get(name) {
            None if required => Err(Fault::new(format!(
                "there is no field {name} beside the one that is changed; write $.{name} for a \
                 field of the document, @.{name} for one of the old value, {name} ?? null if it \
                 may be missing"
            ))),
            found => Ok(found.unwrap_or(Value::Null)),
        }
    }

    pub(super) fn constant(&self, constant: &Const) -> Value<'r> {
        match constant {
            Const::Null => Value::Null,
            Const::Bool(value) => Value::Bool(*value),
            Const::Int(value) => Value::Int(*value),
            Const::Float(value) => Value::Float(*value),
            Const::Big(text) => Value::Big(self.arena.alloc_str(text)),
            Const::Str(text) => Value::Str(self.arena.alloc_str(text)),
        }
    }

    /// Whether an expression is truthy.
    pub(super) fn test(&mut self, id: ExprId) -> Evaluated<'r, bool> {
        let (program, arena) = (self.program, self.arena);
        match &program.exprs[id as usize] {
            Expr::Binary(operator, left, right) if operator.compares() => {
                if let Expr::Const(constant) = &program.exprs[*right as usize]
                    && let Some(node) = self.part(*left)
                    && let Some(order) = order_of(node, constant)
                    && let Some(holds) = operator.holds(order)
                {
                    return Ok(holds);
                }
                let (left, right) = (self.eval(*left)?, self.eval(*right)?);
                self.watch.charge(left);
                self.watch.charge(right);
                if self.strict {
                    comparable(*operator, left, right, arena)?;
                }
                Ok(compared(*operator, left, right, arena))
            }
            Expr::And(left, right) => Ok(self.test(*left)? && self.test(*right)?),
            Expr::Not(of) => Ok(!self.test(*of)?),
            _ => Ok(self.eval(id)?.truthy(arena)),
        }
    }

    pub(super) fn set(&mut self, variable: u32, value: Value<'r>) {
        self.variables[variable as usize] = value;
    }

    /// An expression with another current value.
    #[inline]
    pub(super) fn with(&mut self, value: Value<'r>, body: ExprId) -> Evaluated<'r> {
        self.about(value, |machine| machine.eval(body))
    }

    /// The result of `evaluate` with `value` as `@`.
    pub(super) fn about<T>(
        &mut self,
        value: Value<'r>,
        evaluate: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = std::mem::replace(&mut self.current, value);
        let found = evaluate(self);
        self.current = outer;
        found
    }

    /// An argument's value, where it says nothing of elements.
    ///
    /// # Errors
    /// A fault inside it.
    pub fn value_of(&mut self, arg: &Arg) -> Evaluated<'r> {
        self.eval(arg.body)
    }

    /// An argument's value for one element.
    ///
    /// # Errors
    /// A fault inside it.
    #[inline]
    pub fn apply(&mut self, arg: &Arg, element: Value<'r>) -> Evaluated<'r> {
        self.apply_all(arg, &[element])
    }

    /// An argument's value for the values that its parameters take; the first is `@`.
    ///
    /// # Errors
    /// A fault inside it.
    #[inline]
    pub fn apply_all(&mut self, arg: &Arg, values: &[Value<'r>]) -> Evaluated<'r> {
        self.bind(arg, values)?;
        self.with(values.first().copied().unwrap_or(Value::Null), arg.body)
    }

    /// Give the parameters of an argument their values.
    #[inline]
    fn bind(&mut self, arg: &Arg, values: &[Value<'r>]) -> Evaluated<'r, ()> {
        for value in values {
            self.made(*value)?;
        }
        for (at, variable) in arg.params.iter().enumerate() {
            self.set(*variable, values.get(at).copied().unwrap_or(Value::Null));
        }
        Ok(())
    }

    /// An argument's value for one element as something to sort by, and whether a minus in
    /// front of it turns the order around: `-name` sorts texts as well.
    ///
    /// # Errors
    /// A fault inside it.
    pub(super) fn sort_key(
        &mut self,
        arg: &Arg,
        element: Value<'r>,
    ) -> Evaluated<'r, (Value<'r>, bool)> {
        if let Some(variable) = arg.params.first() {
            self.set(*variable, element);
        }
        let program = self.program;
        let outer = std::mem::replace(&mut self.current, element);
        let mut body = arg.body;
        let result = loop {
            match &program.exprs[body as usize] {
                // The names of a lambda's parameter stand in front of the minus.
                Expr::Let { variable, value, body: inner } => match self.eval(*value) {
                    Ok(value) => {
                        self.set(*variable, value);
                        body = *inner;
                    }
                    Err(fault) => break Err(fault),
                },
                Expr::Negate(of) => break self.eval(*of).map(|key| (key, true)),
                _ => break self.eval(body).map(|key| (key, false)),
            }
        };
        self.current = outer;
        result
    }

    /// The name under which an argument's value stands in an object: its own, or that of the
    /// field it reads.
    pub(super) fn name_of<'a>(&self, arg: &'a Arg) -> Option<&'a str>
    where
        'p: 'a,
    {
        if arg.name.is_some() {
            return arg.name.as_deref();
        }
        let program = self.program;
        let mut body = arg.body;
        loop {
            match &program.exprs[body as usize] {
                Expr::Let { body: inner, .. } => body = *inner,
                Expr::Field(_, name) => return Some(name),
                _ => return None,
            }
        }
    }

    /// Whether an expression produces elements one by one; its value is then an array.
    pub(super) fn is_stream(&self, id: ExprId) -> bool {
        matches!(
            &self.program.exprs[id as usize],
            Expr::Call { builtin, .. } if builtin.run.is_stage()
        )
    }

    /// Whether an expression is a call that gives one of the elements before it.
    pub(super) fn gives_one(&self, id: ExprId) -> bool {
        const ONE: [&str; 5] = ["find", "find_one", "first", "last", "nth"];
        matches!(
            &self.program.exprs[id as usize],
            Expr::Call { builtin, args, .. } if ONE.contains(&builtin.name)
                && (args.is_empty() || !matches!(builtin.name, "first" | "last"))
        )
    }

    /// Whether an argument is truthy for an element.
    ///
    /// # Errors
    /// A fault inside it.
    pub fn accepts(&mut self, arg: &Arg, element: Value<'r>) -> Evaluated<'r, bool> {
        self.bind(arg, &[element])?;
        let outer = std::mem::replace(&mut self.current, element);
        let result = self.test(arg.body);
        self.current = outer;
        result.map_err(|fault| fault.at(arg.body))
    }
}
