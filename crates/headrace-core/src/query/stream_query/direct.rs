//! Groups whose keys and parts are evaluated where they stand: no element is made of them.
//!
//! It is the same as running the only stage, which makes an array of two arrays of each element,
//! and adding what that gives.

use bumpalo::Bump;

use crate::{
    query::{
        ExprId, Machine, Program,
        builtins::{Builtin, Run},
        machine::{Evaluated, Single},
        program::{Expr, Item},
    },
    value::Value,
};

/// The keys and the parts that a program maps its elements to.
pub(super) struct Direct {
    receiver: ExprId,
    keys: Vec<ExprId>,
    parts: Vec<ExprId>,
}

/// The result of a row.
pub(super) enum Found<'r> {
    Element(&'r [Value<'r>], &'r mut [Value<'r>]),
    None,
    /// More than one element, or none that is a part of the row.
    Other,
}

impl Direct {
    /// Those of a program that ends with a map to an array of two arrays.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let Expr::Call { builtin: Builtin { run: Run::Map, .. }, receiver, args } =
            expr(program, program.root())
        else {
            return None;
        };
        let [arg] = &args[..] else { return None };
        if !arg.params.is_empty() {
            return None;
        }
        let [keys, parts] = items(program, arg.body)?[..] else { return None };
        Some(Self {
            receiver: *receiver,
            keys: items(program, keys)?,
            parts: items(program, parts)?,
        })
    }

    /// The keys and parts of the element that a row gives.
    ///
    /// # Errors
    /// A fault in one of them.
    pub(super) fn found<'r>(
        &self,
        machine: &mut Machine<'_, 'r>,
        arena: &'r Bump,
    ) -> Evaluated<'r, Found<'r>> {
        let node = match machine.single(self.receiver)? {
            Single::Part(node) => node,
            Single::None => return Ok(Found::None),
            Single::Other => return Ok(Found::Other),
        };
        machine.about(Value::Node(node), |machine| {
            let keys = arena.alloc_slice_fill_copy(self.keys.len(), Value::Null);
            for (value, id) in keys.iter_mut().zip(&self.keys) {
                *value = machine.eval(*id)?;
            }
            let parts = arena.alloc_slice_fill_copy(self.parts.len(), Value::Null);
            for (value, id) in parts.iter_mut().zip(&self.parts) {
                *value = machine.eval(*id)?;
            }
            Ok(Found::Element(keys, parts))
        })
    }
}

fn expr(program: &Program, id: ExprId) -> &Expr {
    &program.exprs[id as usize]
}

fn items(program: &Program, id: ExprId) -> Option<Vec<ExprId>> {
    let Expr::Array(items) = expr(program, id) else { return None };
    items.iter().map(|Item { value, spread }| (!spread).then_some(*value)).collect()
}
