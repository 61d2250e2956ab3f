//! New arrays, objects and texts.

use bumpalo::collections::{String as BumpString, Vec as BumpVec};

use super::{Evaluated, Flow, Machine, Sink};
use crate::query::{
    ExprId, Fault,
    builtins::{Size, limited},
    deep::{self, Fields},
    numbers::{no_elements, shown},
    program::{Comprehension, Form, Item, Member, Part},
};
use crate::value::{Entry, Kind, Value, text_of};

impl<'p, 'r> Machine<'p, 'r> {
    pub(super) fn array(&mut self, items: &[Item]) -> Evaluated<'r> {
        let mut elements = BumpVec::with_capacity_in(items.len(), self.arena);
        for item in items {
            let value = self.eval(item.value)?;
            if !item.spread {
                elements.push(value);
                continue;
            }
            match value.as_array(self.arena) {
                Some(spliced) => {
                    self.room(elements.len() + spliced.len())?;
                    elements.extend_from_slice(spliced);
                }
                None if value.is_null() => {}
                None => return Err(no_elements(value, self.arena)),
            }
        }
        Ok(Value::Array(elements.into_bump_slice()))
    }

    pub(super) fn object(&mut self, members: &[Member]) -> Evaluated<'r> {
        let mut fields = Fields::with_room(members.len(), self.arena);
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
                    let added = self.spread(*of)?;
                    for (key, value) in added.as_object(self.arena).unwrap_or(&[]) {
                        fields.put(key, *value);
                    }
                }
                Member::DeepSpread(of) => {
                    let added = self.spread(*of)?;
                    let below = fields.into_entries().into_bump_slice();
                    let merged = deep::spread(below, added, self.arena);
                    fields = Fields::with(merged.iter().copied(), self.arena);
                }
            }
        }
        Ok(Value::Object(fields.into_entries().into_bump_slice()))
    }

    /// What is spread into an object: an object, or null, which has no fields.
    fn spread(&mut self, of: ExprId) -> Evaluated<'r> {
        let value = self.eval(of)?;
        if value.is_null() || value.kind() == Kind::Object {
            return Ok(value);
        }
        Err(Fault::new(format!("{} has no fields to spread", shown(value, self.arena))))
    }

    pub(super) fn text(&mut self, parts: &[Part]) -> Evaluated<'r> {
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
                        Some(spec) => spec.write(value, &mut text, self.arena)?,
                    }
                }
            }
        }
        Ok(Value::Str(text.into_bump_str()))
    }

    pub(super) fn comprehension(&mut self, comprehension: &Comprehension) -> Evaluated<'r> {
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

    pub(super) fn run_loops(
        &mut self,
        comprehension: &Comprehension,
        depth: usize,
        sink: &mut Sink<'_, 'p, 'r>,
    ) -> Evaluated<'r, Flow> {
        let each = &comprehension.loops[depth];
        let source = self.eval(each.source)?;
        let elements = self.loop_elements(source)?;
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

    /// What a comprehension goes over: elements, or the entries of an object; nothing of null.
    pub(super) fn loop_elements(&self, source: Value<'r>) -> Evaluated<'r, &'r [Value<'r>]> {
        let arena = self.arena;
        if let Some(elements) = source.as_array(arena) {
            return Ok(elements);
        }
        if let Some(entries) = source.as_object(arena) {
            let records = entries.iter().map(|(key, value)| {
                let record: [Entry<'r>; 2] = [("key", Value::Str(key)), ("value", *value)];
                Value::Object(arena.alloc_slice_copy(&record))
            });
            return Ok(arena.alloc_slice_fill_iter(records.collect::<Vec<_>>()));
        }
        if source.is_null() { Ok(&[]) } else { Err(no_elements(source, arena)) }
    }

    /// The two variables of a loop: a pair's halves, or a record's key or index and value.
    pub(super) fn pair(&self, source: Value<'r>, element: Value<'r>) -> (Value<'r>, Value<'r>) {
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
