//! Evaluating a program over one row.
//!
//! Methods that go over elements are not evaluated one after the other over whole
//! arrays: [`Machine::each`] pushes element by element through a chain of them, so
//! `filter(p).first()` ends at the first match and nothing behind it is evaluated.

use std::cmp::Ordering;

use bumpalo::{
    Bump,
    collections::{String as BumpString, Vec as BumpVec},
};

use super::{
    Arg, ExprId, Fault, Program,
    builtins::{Builtin, Run, Size, elements, limited},
    deep::{self, Fields},
    numbers, patch, pattern,
    program::{Comprehension, Const, Expr, Form, Item, Member, Operator, Part, Target},
    strings,
    watch::{Scales, Watch},
};
use crate::value::{
    Entry, Kind, Node, NodeKind, Value, compare, compare_numbers, equal, number, text_of,
};

/// Whether whoever pushes elements should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Give me more.
    Continue,
    /// I have what I need.
    Stop,
}

/// What evaluating gives.
pub type Evaluated<'r, T = Value<'r>> = Result<T, Fault>;

/// Takes elements one by one.
pub type Sink<'s, 'p, 'r> = dyn FnMut(&mut Machine<'p, 'r>, Value<'r>) -> Evaluated<'r, Flow> + 's;

/// What becomes of a single element.
#[derive(Clone, Copy)]
enum Single<'r> {
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
    sources: &'r [Value<'r>],
    variables: &'r mut [Value<'r>],
    watch: &'p Watch,
    scales: Scales,
}

impl<'p, 'r> Machine<'p, 'r> {
    /// A machine for one row.
    pub fn new(program: &'p Program, arena: &'r Bump, row: Value<'r>, watch: &'p Watch) -> Self {
        let variables = arena.alloc_slice_fill_copy(program.variables, Value::Null);
        let scales = Scales::new(row);
        Self { program, arena, root: row, current: row, sources: &[], variables, watch, scales }
    }

    /// The machine, knowing the values that the program has by number.
    #[must_use]
    pub fn knowing(mut self, sources: &'r [Value<'r>]) -> Self {
        self.sources = sources;
        self
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
    /// It is.
    #[inline]
    pub(super) fn made(&mut self, value: Value<'r>) -> Evaluated<'r> {
        self.scales.weigh(value)?;
        Ok(value)
    }

    /// Make sure that there is room for so many more values.
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

    /// The value of an expression that is there already, such as a field of the row. Most
    /// of what rows are asked is made of these, and none of them can fail.
    #[inline]
    fn found(&self, id: ExprId) -> Option<Value<'r>> {
        match &self.program.exprs[id as usize] {
            Expr::Const(constant) => Some(self.constant(constant)),
            Expr::Root => Some(self.root),
            Expr::Current => Some(self.current),
            Expr::Variable(variable) => Some(self.variables[*variable as usize]),
            Expr::Source(number) => {
                Some(self.sources.get(*number as usize).copied().unwrap_or(Value::Null))
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
            Expr::Field(of, name) => Some(self.part(*of)?.get(name).unwrap_or(Node::NULL)),
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
            Expr::Field(of, name) => Ok(self.eval(*of)?.get(name).unwrap_or(Value::Null)),
            Expr::Index(of, index) => {
                let (of, index) = (self.eval(*of)?, self.eval(*index)?);
                Ok(self.index(of, index))
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
            Expr::Call { builtin, receiver, args } => {
                let value = match builtin.run {
                    Run::Value(run) => {
                        let receiver = self.eval(*receiver)?;
                        self.watch.charge(receiver);
                        run(self, receiver, args)?
                    }
                    Run::Reduce(run) => run(self, *receiver, args)?,
                    Run::Stage(_) | Run::Filter | Run::Map => self.collected(id)?,
                };
                self.made(value)
            }
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

    /// The document of the query.
    pub(super) fn root(&self) -> Value<'r> {
        self.root
    }

    /// An expression with another current value.
    #[inline]
    pub(super) fn with(&mut self, value: Value<'r>, body: ExprId) -> Evaluated<'r> {
        self.about(value, |machine| machine.eval(body))
    }

    /// What `ask` finds while `@` is `value`.
    pub(super) fn about<T>(&mut self, value: Value<'r>, ask: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.current, value);
        let found = ask(self);
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

    /// Whether an expression gives elements one by one, and is an array if it is asked for
    /// its value.
    pub(super) fn is_stream(&self, id: ExprId) -> bool {
        matches!(
            &self.program.exprs[id as usize],
            Expr::Call { builtin, .. } if builtin.run.is_stage()
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

    // Elements

    /// Push each element of an expression into `sink`, through the stages it consists of.
    ///
    /// # Errors
    /// A fault in an element that was reached.
    pub fn each(&mut self, id: ExprId, sink: &mut Sink<'_, 'p, 'r>) -> Evaluated<'r, Flow> {
        match self.single(id)? {
            Single::Part(node) => return sink(self, Value::Node(node)),
            Single::None => return Ok(Flow::Continue),
            Single::Other => {}
        }
        let program = self.program;
        let flow = match &program.exprs[id as usize] {
            Expr::Call { builtin: Builtin { run: Run::Filter, .. }, receiver, args } => {
                elements::filter(self, *receiver, args, sink)
            }
            Expr::Call { builtin: Builtin { run: Run::Map, .. }, receiver, args } => {
                elements::map(self, *receiver, args, sink)
            }
            Expr::Call { builtin: Builtin { run: Run::Stage(run), .. }, receiver, args } => {
                let mut weighed = |machine: &mut Self, value| {
                    machine.within_limits()?;
                    let value = machine.made(value)?;
                    sink(machine, value)
                };
                run(self, *receiver, args, &mut weighed)
            }
            // As a stage over rows begins: no array is made of a single element.
            Expr::Array(items) if matches!(items[..], [Item { spread: false, .. }]) => {
                let value = self.eval(items[0].value)?;
                return sink(self, value);
            }
            _ => {
                let value = self.eval(id)?;
                return self.each_of(value, sink);
            }
        };
        flow.map_err(|fault| fault.at(id))
    }

    /// What a single part of the row becomes, as a stage over rows begins with one: it stays
    /// in registers, no array is made of it, and it passes through no sinks.
    fn single(&mut self, id: ExprId) -> Evaluated<'r, Single<'r>> {
        let program = self.program;
        match &program.exprs[id as usize] {
            Expr::Array(items) if matches!(items[..], [Item { spread: false, .. }]) => {
                Ok(self.part(items[0].value).map_or(Single::Other, Single::Part))
            }
            Expr::Call { builtin: Builtin { run: Run::Filter, .. }, receiver, args } => {
                let single = self.single(*receiver)?;
                let Single::Part(node) = single else { return Ok(single) };
                for arg in args {
                    if !self.accepts_part(arg, node).map_err(|fault| fault.at(id))? {
                        return Ok(Single::None);
                    }
                }
                Ok(single)
            }
            Expr::Call { builtin: Builtin { run: Run::Map, .. }, receiver, args }
                if args[0].params.is_empty() && self.is_path(args[0].body) =>
            {
                let single = self.single(*receiver)?;
                let Single::Part(node) = single else { return Ok(single) };
                let outer = std::mem::replace(&mut self.current, Value::Node(node));
                let mapped = self.part(args[0].body);
                self.current = outer;
                Ok(mapped.map_or(Single::Other, Single::Part))
            }
            _ => Ok(Single::Other),
        }
    }

    /// Whether an expression is a field of a field of the current value.
    fn is_path(&self, mut id: ExprId) -> bool {
        while let Expr::Field(of, _) = &self.program.exprs[id as usize] {
            id = *of;
        }
        matches!(&self.program.exprs[id as usize], Expr::Current)
    }

    fn accepts_part(&mut self, arg: &Arg, node: Node<'r>) -> Evaluated<'r, bool> {
        if !arg.params.is_empty() {
            return self.accepts(arg, Value::Node(node));
        }
        let outer = std::mem::replace(&mut self.current, Value::Node(node));
        let result = self.test(arg.body);
        self.current = outer;
        result
    }

    /// Push each element of a value: those of an array, nothing of null, else the value itself.
    ///
    /// # Errors
    /// What the sink says.
    pub fn each_of(
        &mut self,
        value: Value<'r>,
        sink: &mut Sink<'_, 'p, 'r>,
    ) -> Evaluated<'r, Flow> {
        let Some(elements) = value.as_array(self.arena) else {
            return if value.is_null() { Ok(Flow::Continue) } else { sink(self, value) };
        };
        for element in elements {
            if sink(self, *element)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// All elements of an expression.
    ///
    /// # Errors
    /// A fault in one of them.
    pub fn elements(&mut self, id: ExprId) -> Evaluated<'r, BumpVec<'r, Value<'r>>> {
        let mut elements = BumpVec::new_in(self.arena);
        self.each(id, &mut |machine, element| {
            machine.push(&mut elements, element)?;
            Ok(Flow::Continue)
        })?;
        Ok(elements)
    }

    fn collected(&mut self, id: ExprId) -> Evaluated<'r> {
        Ok(Value::Array(self.elements(id)?.into_bump_slice()))
    }

    // Paths

    /// `of[index]`: a field for a string, an element for an integer.
    pub(super) fn index(&self, of: Value<'r>, index: Value<'r>) -> Value<'r> {
        match index.resolved(self.arena) {
            Value::Str(key) => of.get(key).unwrap_or(Value::Null),
            Value::Int(at) => self.element(of, at),
            _ => Value::Null,
        }
    }

    /// An element, counted from the end if negative.
    pub(super) fn element(&self, of: Value<'r>, at: i64) -> Value<'r> {
        let Some(elements) = of.as_array(self.arena) else { return Value::Null };
        let length = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        let at = if at < 0 { at.saturating_add(length) } else { at };
        usize::try_from(at).ok().and_then(|at| elements.get(at)).copied().unwrap_or(Value::Null)
    }

    fn slice(&mut self, of: ExprId, bounds: [Option<ExprId>; 3]) -> Evaluated<'r> {
        let of = self.eval(of)?;
        let mut values = [None; 3];
        for (value, bound) in values.iter_mut().zip(bounds) {
            if let Some(bound) = bound {
                match self.eval(bound)?.resolved(self.arena) {
                    Value::Int(number) => *value = Some(number),
                    Value::Null => {}
                    other => {
                        let shown = numbers::shown(other, self.arena);
                        return Err(Fault::new(format!("a slice takes integers, not {shown}")));
                    }
                }
            }
        }
        let [start, end, step] = values;
        Ok(self.sliced(of, start, end, step.unwrap_or(1)))
    }

    /// As Python slices; null for a step of 0 and for what has no elements.
    pub(super) fn sliced(
        &self,
        of: Value<'r>,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> Value<'r> {
        if step == 0 {
            return Value::Null;
        }
        if let Some(elements) = of.as_array(self.arena) {
            let kept = positions(elements.len(), start, end, step).map(|at| elements[at]);
            let mut slice = BumpVec::new_in(self.arena);
            slice.extend(kept);
            return Value::Array(slice.into_bump_slice());
        }
        if let Some(text) = of.as_str(self.arena) {
            let chars: Vec<char> = text.chars().collect();
            let mut slice = BumpString::new_in(self.arena);
            slice.extend(positions(chars.len(), start, end, step).map(|at| chars[at]));
            return Value::Str(slice.into_bump_str());
        }
        Value::Null
    }

    fn one(&mut self, of: ExprId) -> Evaluated<'r> {
        let of = self.eval(of)?;
        match of.as_array(self.arena) {
            None => Ok(of),
            Some([one]) => Ok(*one),
            Some(others) => {
                Err(Fault::new(format!("! wants exactly one element, not {}", others.len())))
            }
        }
    }

    // Operators

    fn negate(&mut self, of: ExprId) -> Evaluated<'r> {
        match self.eval(of)?.resolved(self.arena) {
            Value::Int(value) if value != 0 => {
                #[allow(clippy::cast_precision_loss, reason = "-i64::MIN is a double")]
                let as_double = -(value as f64);
                Ok(value.checked_neg().map_or(Value::Float(as_double), Value::Int))
            }
            Value::Int(_) => Ok(Value::Int(0)),
            other => match numbers::double(other) {
                Some(value) => Ok(Value::Float(-value)),
                None => Err(Fault::new(format!(
                    "-{} cannot be computed",
                    numbers::shown(other, self.arena)
                ))),
            },
        }
    }

    /// `left + right`: a sum, or one after the other.
    pub(super) fn add(&self, left: Value<'r>, right: Value<'r>) -> Evaluated<'r> {
        let arena = self.arena;
        if let (Some(left), Some(right)) = (left.as_str(arena), right.as_str(arena)) {
            limited(Size::Bytes(left.len() + right.len()))?;
            let mut text = BumpString::with_capacity_in(left.len() + right.len(), arena);
            text.push_str(left);
            text.push_str(right);
            return Ok(Value::Str(text.into_bump_str()));
        }
        if let (Some(left), Some(right)) = (left.as_array(arena), right.as_array(arena)) {
            self.room(left.len() + right.len())?;
            let mut elements = BumpVec::with_capacity_in(left.len() + right.len(), arena);
            elements.extend_from_slice(left);
            elements.extend_from_slice(right);
            return Ok(Value::Array(elements.into_bump_slice()));
        }
        numbers::arithmetic(Operator::Add, left, right, arena)
    }

    fn cast(&mut self, of: ExprId, target: Target) -> Evaluated<'r> {
        let arena = self.arena;
        let given = self.eval(of)?;
        let value = given.resolved(arena);
        let impossible = |to: &str| {
            Err(Fault::new(format!("{} cannot be cast to {to}", numbers::shown(value, arena))))
        };
        match target {
            Target::Int => match strings::cast_integer(value) {
                Some(number) => Ok(Value::Int(number)),
                None => impossible("int"),
            },
            Target::Float => match strings::cast_number(value) {
                Some(number) => numbers::finite(number),
                None => impossible("float"),
            },
            Target::String => Ok(Value::Str(text_of(value, arena))),
            Target::Bool => Ok(Value::Bool(value.truthy(arena))),
            Target::Array if value.is_null() => Ok(Value::Array(&[])),
            Target::Array if value.kind() == Kind::Array => Ok(given),
            // As it was given: a number keeps the text it was written with.
            Target::Array => Ok(Value::Array(arena.alloc_slice_copy(&[given]))),
            Target::Object if value.kind() == Kind::Object => Ok(given),
            Target::Object => impossible("object"),
            Target::Null => Ok(Value::Null),
        }
    }

    // Construction

    fn array(&mut self, items: &[Item]) -> Evaluated<'r> {
        let mut elements = BumpVec::with_capacity_in(items.len(), self.arena);
        for item in items {
            let value = self.eval(item.value)?;
            match value.as_array(self.arena) {
                Some(spliced) if item.spread => {
                    self.room(elements.len() + spliced.len())?;
                    elements.extend_from_slice(spliced);
                }
                _ => elements.push(value),
            }
        }
        Ok(Value::Array(elements.into_bump_slice()))
    }

    fn object(&mut self, members: &[Member]) -> Evaluated<'r> {
        let mut fields = Fields::new(self.arena);
        for member in members {
            match member {
                Member::Entry { key, value, optional, when } => {
                    if let Some(when) = when
                        && !self.test(*when)?
                    {
                        continue;
                    }
                    let key = self.eval(*key)?;
                    let value = self.eval(*value)?;
                    if !(*optional && value.is_null()) {
                        fields.put(text_of(key, self.arena), value);
                    }
                }
                Member::Spread(of) => {
                    for (key, value) in self.eval(*of)?.as_object(self.arena).unwrap_or(&[]) {
                        fields.put(key, *value);
                    }
                }
                Member::DeepSpread(of) => {
                    let added = self.eval(*of)?;
                    let below = fields.into_entries().into_bump_slice();
                    let merged = deep::spread(below, added, self.arena);
                    fields = Fields::with(merged.iter().copied(), self.arena);
                }
            }
        }
        Ok(Value::Object(fields.into_entries().into_bump_slice()))
    }

    fn text(&mut self, parts: &[Part]) -> Evaluated<'r> {
        let mut text = BumpString::new_in(self.arena);
        for part in parts {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Value { value, spec } => {
                    let value = self.eval(*value)?;
                    match spec {
                        None => {
                            let added = text_of(value, self.arena);
                            limited(Size::Bytes(text.len() + added.len()))?;
                            text.push_str(added);
                        }
                        Some(spec) => strings::formatted(value, spec, &mut text, self.arena),
                    }
                }
            }
        }
        Ok(Value::Str(text.into_bump_str()))
    }

    fn comprehension(&mut self, comprehension: &Comprehension) -> Evaluated<'r> {
        let mut values = BumpVec::new_in(self.arena);
        let mut fields = Fields::new(self.arena);
        self.run_loops(comprehension, 0, &mut |machine, element| {
            let value = machine.with(element, comprehension.body)?;
            match comprehension.key {
                Some(key) => {
                    let key = machine.with(element, key)?;
                    fields.put(text_of(key, machine.arena), value);
                }
                None => machine.push(&mut values, value)?,
            }
            Ok(Flow::Continue)
        })?;
        match comprehension.form {
            Form::List => Ok(Value::Array(values.into_bump_slice())),
            Form::Dict => Ok(Value::Object(fields.into_entries().into_bump_slice())),
            Form::Set => {
                let mut seen = deep::Seen::new(self.arena);
                values.retain(|value| seen.insert(*value));
                Ok(Value::Array(values.into_bump_slice()))
            }
        }
    }

    fn run_loops(
        &mut self,
        comprehension: &Comprehension,
        depth: usize,
        sink: &mut Sink<'_, 'p, 'r>,
    ) -> Evaluated<'r, Flow> {
        let each = &comprehension.loops[depth];
        let source = self.eval(each.source)?;
        let elements = self.loop_elements(source);
        for element in elements {
            match each.variables[..] {
                [variable] => self.set(variable, *element),
                [first, second, ..] => {
                    let (key, value) = self.pair(source, *element);
                    self.set(first, key);
                    self.set(second, value);
                }
                [] => {}
            }
            let mut wanted = true;
            for condition in &each.conditions {
                wanted = wanted && self.with(*element, *condition)?.truthy(self.arena);
            }
            if !wanted {
                continue;
            }
            let outer = std::mem::replace(&mut self.current, *element);
            let flow = if depth + 1 < comprehension.loops.len() {
                self.run_loops(comprehension, depth + 1, sink)
            } else {
                sink(self, *element)
            };
            self.current = outer;
            if flow? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// What a comprehension goes over: elements, the entries of an object, or the value itself.
    fn loop_elements(&self, source: Value<'r>) -> &'r [Value<'r>] {
        let arena = self.arena;
        if let Some(elements) = source.as_array(arena) {
            return elements;
        }
        if let Some(entries) = source.as_object(arena) {
            let records = entries.iter().map(|(key, value)| {
                let record: [Entry<'r>; 2] = [("key", Value::Str(key)), ("value", *value)];
                Value::Object(arena.alloc_slice_copy(&record))
            });
            return arena.alloc_slice_fill_iter(records.collect::<Vec<_>>());
        }
        if source.is_null() { &[] } else { arena.alloc_slice_copy(&[source]) }
    }

    /// The two variables of a loop: a pair's halves, or a record's key or index and value.
    fn pair(&self, source: Value<'r>, element: Value<'r>) -> (Value<'r>, Value<'r>) {
        if let Some([first, second]) = element.as_array(self.arena) {
            return (*first, *second);
        }
        let key = if source.kind() == Kind::Object { "key" } else { "index" };
        match (element.get(key), element.get("value")) {
            (Some(key), Some(value)) => (key, value),
            _ => (Value::Null, element),
        }
    }
}

/// The positions of a slice, as Python counts them.
fn positions(
    length: usize,
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let clamped = |bound: i64| {
        let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
        bound.clamp(low, high)
    };
    let start = start.map_or(if step > 0 { low } else { high }, clamped);
    let end = end.map_or(if step > 0 { high } else { low }, clamped);
    let mut at = Some(start);
    std::iter::from_fn(move || {
        let here = at.filter(|at| if step > 0 { *at < end } else { *at > end })?;
        at = here.checked_add(step);
        usize::try_from(here).ok()
    })
}

/// How a number or a text of the row compares with a constant of the same kind; none if it
/// is of another, or has to be decoded.
fn order_of(node: Node<'_>, constant: &Const) -> Option<Ordering> {
    let right = match constant {
        Const::Int(value) => Value::Int(*value),
        Const::Float(value) => Value::Float(*value),
        Const::Str(text) if node.node_kind() == NodeKind::Plain => {
            return Some(node.raw().cmp(text));
        }
        _ => return None,
    };
    let is_integer = match node.node_kind() {
        NodeKind::Integer => true,
        NodeKind::Decimal => false,
        _ => return None,
    };
    Some(compare_numbers(number(node.raw(), is_integer), right))
}

/// Whether a comparison holds.
fn compared<'r>(operator: Operator, left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> bool {
    match operator {
        Operator::Equal => equal(left, right, arena),
        Operator::NotEqual => !equal(left, right, arena),
        Operator::Like => strings::alike(left, right, arena),
        _ => ordered(operator, left, right, arena),
    }
}

/// `<`, `<=`, `>`, `>=`: between values of one kind that has an order; else false.
fn ordered<'r>(operator: Operator, left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> bool {
    let (left, right) = (left.resolved(arena), right.resolved(arena));
    let kind = left.kind();
    let comparable =
        kind == right.kind() && matches!(kind, Kind::Number | Kind::String | Kind::Bool);
    comparable && operator.holds(compare(left, right, arena)) == Some(true)
}
