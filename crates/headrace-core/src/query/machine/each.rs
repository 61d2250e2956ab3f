//! Elements, pushed one by one through the stages that an expression consists of.

use bumpalo::collections::Vec as BumpVec;

use super::{Evaluated, Flow, Machine, Single, Sink};
use crate::query::{
    Arg, ExprId,
    builtins::{Builtin, Run, iteration},
    numbers::{no_elements, row_without_elements},
    program::{Expr, Item},
};
use crate::value::{Kind, Node, Value};

impl<'p, 'r> Machine<'p, 'r> {
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
                iteration::filter(self, *receiver, args, sink)
            }
            Expr::Call { builtin: Builtin { run: Run::Map, .. }, receiver, args } => {
                iteration::map(self, *receiver, args, sink)
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
            expr => {
                let value = self.eval(id)?;
                if value.kind() == Kind::Object && self.is_row(expr) {
                    return Err(row_without_elements());
                }
                return self.each_of(value, sink);
            }
        };
        flow.map_err(|fault| fault.at(id))
    }

    /// Whether an expression is `$`, or `@` where that is `$`.
    fn is_row(&self, expr: &Expr) -> bool {
        match (expr, self.root, self.current) {
            (Expr::Root, _, _) => true,
            (Expr::Current, Value::Node(root), Value::Node(current)) => root.is_same_part(current),
            _ => false,
        }
    }

    /// What a single part of the row becomes, as a stage over rows begins with one: it stays
    /// in registers, no array is made of it, and it passes through no sinks.
    pub(in crate::query) fn single(&mut self, id: ExprId) -> Evaluated<'r, Single<'r>> {
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
    pub(super) fn is_path(&self, mut id: ExprId) -> bool {
        while let Expr::Field(of, _) = &self.program.exprs[id as usize] {
            id = *of;
        }
        matches!(&self.program.exprs[id as usize], Expr::Current)
    }

    pub(super) fn accepts_part(&mut self, arg: &Arg, node: Node<'r>) -> Evaluated<'r, bool> {
        if !arg.params.is_empty() {
            return self.accepts(arg, Value::Node(node));
        }
        let outer = std::mem::replace(&mut self.current, Value::Node(node));
        let result = self.test(arg.body);
        self.current = outer;
        result
    }

    /// Push each element of a value: those of an array, none of null.
    ///
    /// # Errors
    /// The value has no elements, or what the sink says.
    pub fn each_of(
        &mut self,
        value: Value<'r>,
        sink: &mut Sink<'_, 'p, 'r>,
    ) -> Evaluated<'r, Flow> {
        let Some(elements) = value.as_array(self.arena) else {
            return match value.kind() {
                Kind::Null => Ok(Flow::Continue),
                _ => Err(no_elements(value, self.arena)),
            };
        };
        for element in elements {
            if sink(self, *element)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Push each element of a value as [`Self::each_of`] does, or a value that has none itself.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn each_or_itself(
        &mut self,
        value: Value<'r>,
        sink: &mut Sink<'_, 'p, 'r>,
    ) -> Evaluated<'r, Flow> {
        match value.kind() {
            Kind::Array | Kind::Null => self.each_of(value, sink),
            _ => sink(self, value),
        }
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

    pub(super) fn collected(&mut self, id: ExprId) -> Evaluated<'r> {
        Ok(Value::Array(self.elements(id)?.into_bump_slice()))
    }
}
