//! Objects of fields, written from the row without making values.
//!
//! It is the same as evaluating the object and writing it.

use super::Machine;
use crate::{
    query::{
        ExprId, Program,
        program::{Const, Expr, Member},
    },
    value::{Kind, Value, write_json, write_string},
};

/// The fields of an object in their order.
#[derive(Debug)]
pub(in crate::query) struct Projection(Vec<Field>);

#[derive(Debug)]
struct Field {
    /// The key and a colon, as JSON.
    key: Vec<u8>,
    of: ExprId,
    /// Left out if it is null.
    optional: bool,
}

impl Projection {
    /// That of an expression, if it is an object of different constant keys and of fields.
    pub(in crate::query) fn of(program: &Program, id: ExprId) -> Option<Self> {
        let Expr::Object(members) = &program.exprs[id as usize] else { return None };
        let mut fields: Vec<Field> = Vec::new();
        for member in members {
            let Member::Entry { key, value, optional, when: None } = member else { return None };
            let Expr::Const(Const::Str(name)) = &program.exprs[*key as usize] else { return None };
            let mut key = Vec::new();
            write_string(name, &mut key);
            key.push(b':');
            if fields.iter().any(|field| field.key == key) || !is_field(program, *value) {
                return None;
            }
            fields.push(Field { key, of: *value, optional: *optional });
        }
        Some(Self(fields))
    }
}

fn is_field(program: &Program, mut id: ExprId) -> bool {
    loop {
        match &program.exprs[id as usize] {
            Expr::Field(of, _) => id = *of,
            Expr::Root | Expr::Current => return true,
            _ => return false,
        }
    }
}

impl Machine<'_, '_> {
    /// Append the object of a projection to `out`; false if it must be evaluated.
    pub(in crate::query) fn project(&self, projection: &Projection, out: &mut Vec<u8>) -> bool {
        /// As many parts of so short a row break no limit.
        const FEW: usize = 64;
        const LIGHT: usize = 1 << 16;

        let Projection(fields) = projection;
        if self.root.as_node().is_none_or(|node| node.line().len() > LIGHT) || fields.len() > FEW {
            return false;
        }
        let start = out.len();
        out.push(b'{');
        for Field { key, of, optional } in fields {
            let Some(part) = self.part(*of) else {
                out.truncate(start);
                return false;
            };
            if *optional && part.kind() == Kind::Null {
                continue;
            }
            if out.len() > start + 1 {
                out.push(b',');
            }
            out.extend_from_slice(key);
            write_json(Value::Node(part), out, self.arena);
        }
        out.push(b'}');
        true
    }
}
