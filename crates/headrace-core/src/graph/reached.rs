//! All nodes that an expansion comes upon, as columns.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    Expansion,
    adjacency::Adjacency,
    columns::Texts,
    events::{Event, Events},
};
use crate::Result;

/// Events between two questions whether to go on.
const TOGETHER: usize = 1 << 18;

/// Nodes in the order in which they are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The ids of the nodes.
    pub nodes: Texts,
    /// How many edges each of them is away.
    pub level: Vec<u32>,
    /// The texts of predicates, in the order in which they come.
    pub predicates: Texts,
    /// The predicate of the edge that led to each node, 0 if none did.
    pub via: Vec<u32>,
    /// Whether an edge led to each node: eight of them in a byte, the lowest bit first.
    pub led: Vec<u8>,
}

/// Take what is left of an expansion into memory; edges are skipped. `None` if `go_on` returns false.
///
/// # Errors
/// As [`Expansion::advance`].
pub fn reached(
    expansion: &mut Expansion,
    adjacency: &mut dyn Adjacency,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Reached>> {
    let (mut found, mut steps, mut known) = (Reached::default(), Events::default(), HashMap::new());
    while go_on() {
        steps.clear();
        expansion.advance(adjacency, TOGETHER, go_on, &mut steps)?;
        if steps.list().is_empty() && go_on() {
            return Ok(Some(found));
        }
        for &step in steps.list() {
            let Event::Node { id, level, via } = step else { continue };
            let number = match via.map(|via| known.entry(via)) {
                None => 0,
                Some(Entry::Occupied(known)) => *known.get(),
                Some(Entry::Vacant(new)) => {
                    let mut text = Vec::new();
                    adjacency.predicate(*new.key(), &mut text)?;
                    // Predicates have numbers of 32 bits, so there are not more.
                    let next = u32::try_from(found.predicates.ends.len()).unwrap_or(u32::MAX);
                    found.predicates.push(&text);
                    *new.insert(next)
                }
            };
            let bit = found.level.len() % 8;
            if bit == 0 {
                found.led.push(0);
            }
            if let Some(byte) = found.led.last_mut() {
                *byte |= u8::from(via.is_some()) << bit;
            }
            found.via.push(number);
            found.level.push(level);
            found.nodes.push(steps.text(id));
        }
    }
    Ok(None)
}
