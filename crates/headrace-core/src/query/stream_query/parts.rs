//! Runs over parts of the rows, put together.
//!
//! A *part* is what the elements of some rows were reduced to, as bytes that another machine
//! can take in. Parts that are merged in the order of their rows give what one run over all
//! these rows would have given: the elements that were held, counts, and sums to the last bit.

use bumpalo::Bump;

use super::{Fault, State, StreamQuery, Sum};
use crate::{
    json::{Limits, MAX_DEPTH},
    value::{Document, Tape},
};

impl StreamQuery {
    /// What the rows so far were reduced to, for [`Self::merge`]. Lines of output are no part.
    pub fn into_part(self) -> Vec<u8> {
        self.state.into_part()
    }

    /// How many elements are held in order.
    pub fn held_elements(&self) -> u64 {
        match &self.state {
            State::Collect { elements, .. } => *elements,
            State::Last { texts, .. } | State::LastFromEnd { texts, .. } => texts.len() as u64,
            _ => 0,
        }
    }

    /// Take in what rows behind those so far were reduced to, in a run like this one.
    ///
    /// # Errors
    /// If such a run cannot have given these bytes.
    pub fn merge(&mut self, part: &[u8]) -> Result<(), Fault> {
        if !self.done() {
            self.done = self.state.merge(part)?;
        }
        Ok(())
    }
}

impl State {
    pub(super) fn into_part(self) -> Vec<u8> {
        match self {
            Self::Lines { .. } => Vec::new(),
            Self::Collect { text, elements, .. } => {
                [&elements.to_le_bytes()[..], text.get(1..).unwrap_or_default()].concat()
            }
            Self::Last { texts, .. } | Self::LastFromEnd { texts, .. } => {
                let texts: Vec<_> = texts.into_iter().collect();
                texts.join(&b'\n')
            }
            Self::Count(count) => count.to_le_bytes().to_vec(),
            Self::CountBy(counts) => counts.to_bytes(),
            Self::Groups(groups) => groups.into_bytes(),
            Self::Sum(sum) => sum.to_bytes(),
            Self::Average(sum, count) => [&count.to_le_bytes()[..], &sum.to_bytes()].concat(),
            Self::Extreme(best) => best.to_bytes(),
        }
    }

    /// Take in a part; true if no further one can change the result.
    pub(super) fn merge(&mut self, part: &[u8]) -> Result<bool, Fault> {
        let malformed = || Fault::new("the result of a part of the rows is damaged".to_owned());
        match self {
            Self::Lines { .. } | Self::LastFromEnd { .. } => return Err(malformed()),
            Self::Collect { .. } => {
                let (count, texts) = split_count(part).ok_or_else(malformed)?;
                return self.collect(count, texts);
            }
            Self::Last { texts, bytes, limit } => {
                let parts = part.split(|byte| *byte == b'\n').filter(|text| !text.is_empty());
                for text in parts {
                    *bytes += text.len() as u64;
                    texts.push_back(text.to_vec());
                    if texts.len() as u64 > *limit {
                        *bytes -= texts.pop_front().map_or(0, |first| first.len() as u64);
                    }
                }
            }
            Self::Count(count) => *count += split_count(part).ok_or_else(malformed)?.0,
            Self::CountBy(counts) => counts.merge(part).ok_or_else(malformed)?,
            Self::Groups(groups) => groups.merge(part).ok_or_else(malformed)??,
            Self::Sum(sum) => sum.merge(&Sum::from_bytes(part).ok_or_else(malformed)?),
            Self::Average(sum, count) => {
                let (further, bytes) = split_count(part).ok_or_else(malformed)?;
                sum.merge(&Sum::from_bytes(bytes).ok_or_else(malformed)?);
                *count += further;
            }
            Self::Extreme(best) => best.merge(part).ok_or_else(malformed)?,
        }
        Ok(false)
    }

    /// Collect `count` elements with commas between them.
    fn collect(&mut self, count: u64, texts: &[u8]) -> Result<bool, Fault> {
        let Self::Collect { text, elements, limit, prune } = self else { return Ok(false) };
        let all = elements.saturating_add(count);
        if all > *limit {
            return self.collect_first(texts);
        }
        if *elements > 0 && count > 0 {
            text.push(b',');
        }
        text.extend_from_slice(texts);
        *elements = all;
        if let Some(pruning) = prune
            && pruning.is_due(*elements, text.len())
        {
            match pruning.prune(text) {
                Some(left) => *elements = left,
                None => *prune = None,
            }
        }
        Ok(*elements >= *limit)
    }

    /// Collect those elements that are still wanted.
    fn collect_first(&mut self, texts: &[u8]) -> Result<bool, Fault> {
        let array = [b"[", texts, b"]"].concat();
        let (arena, mut tape) = (Bump::new(), Tape::once());
        let parsed = tape.parse(&array, &Limits { max_depth: MAX_DEPTH });
        let parsed = parsed.map_err(|error| Fault::new(error.to_string()))?;
        let elements = parsed.root().as_array(&arena).unwrap_or_default();
        self.take_all(elements, &Document::default(), &arena)
    }
}

fn split_count(part: &[u8]) -> Option<(u64, &[u8])> {
    let (count, rest) = part.split_first_chunk()?;
    Some((u64::from_le_bytes(*count), rest))
}

#[cfg(test)]
mod tests {
    use crate::{
        json::Limits,
        query::{Reading, Reduction, Slot, StreamQuery, Watch},
        rows::Row,
    };

    const ROWS: &[&str] =
        &["3", "0.1", "-7", "null", "0.2", "9007199254740993", "1e+16", "1.50", "3.0"];
    const TEXTS: &[&str] = &["\"b\"", "null", "\"a\\u00e9\"", "\"ab\"", "\"b\""];
    const KINDS: &[&str] = &["1", "\"1\"", "[2]", "null", "\"null\"", "1.0", "{}", "true"];

    fn run(reduction: Reduction, rows: &[&str]) -> StreamQuery {
        let reading = Reading { limits: Limits { max_depth: 9 }, frame: None, whole: true };
        let mut run =
            StreamQuery::new(Vec::new(), reduction, 1 << 20, reading, Watch::new(|| false));
        for (number, content) in (0..).zip(rows) {
            if run.done() {
                break;
            }
            let content = content.as_bytes();
            run.row(Row::new(number, 0, content)).unwrap();
        }
        run
    }

    #[test]
    fn parts_give_what_one_run_gives() {
        let reductions = [
            Reduction::Collect(u64::MAX),
            Reduction::Collect(4),
            Reduction::Last(3),
            Reduction::Count,
            Reduction::CountBy,
            Reduction::Sum,
            Reduction::Average,
            Reduction::Min,
            Reduction::Max,
        ];
        for reduction in reductions {
            let adds = matches!(reduction, Reduction::Sum | Reduction::Average);
            for all in if adds { &[ROWS][..] } else { &[ROWS, TEXTS, KINDS] } {
                let whole = run(reduction, all).finish();
                for cut in 0..=all.len() {
                    for second in cut..=all.len() {
                        let mut merged = run(reduction, &[]);
                        for rows in [&all[..cut], &all[cut..second], &all[second..]] {
                            merged.merge(&run(reduction, rows).into_part()).unwrap();
                        }
                        let merged = merged.finish();
                        assert_eq!(merged, whole, "{reduction:?} cut at {cut} and {second}");
                    }
                }
            }
        }
    }

    #[test]
    fn kinds_that_do_not_go_together_are_refused() {
        for reduction in [Reduction::Min, Reduction::Max, Reduction::CountBy] {
            assert!(run(reduction, KINDS).finish().is_err(), "{reduction:?}");
            assert!(run(reduction, TEXTS).finish().is_ok(), "{reduction:?}");
        }
    }

    #[test]
    fn other_bytes_are_no_part() {
        for reduction in [Reduction::Sum, Reduction::Average, Reduction::Count, Reduction::CountBy]
        {
            let part = run(reduction, ROWS).into_part();
            assert!(run(reduction, &[]).merge(&part[..7]).is_err(), "{reduction:?}");
        }
        assert!(run(Reduction::Lines(9, true), &[]).merge(b"").is_err());
    }

    const ELEMENTS: &[&str] = &[
        r#"[["a"],[true,3,1,null]]"#,
        r#"[[1],[false,0.1,2,{"x":[1]}]]"#,
        r#"[["a"],[true,0.2,0.5,"x"]]"#,
        "[[1.0],[1,-0.1,7,1.50]]",
        r#"[["1"],["",9007199254740993,-1,[]]]"#,
    ];

    fn in_groups(reduction: Reduction, rows: &[&str]) -> StreamQuery {
        let slots = vec![Slot::Count, Slot::Sum, Slot::Max, Slot::Collect];
        let mut run = run(reduction, &[]).in_slots(slots);
        for (number, content) in (0..).zip(rows) {
            let content = content.as_bytes();
            run.row(Row::new(number, 0, content)).unwrap();
        }
        run
    }

    #[test]
    fn groups_of_parts_are_those_of_all_rows() {
        let whole = in_groups(Reduction::Group, ELEMENTS).finish().unwrap();
        assert_eq!(
            String::from_utf8(whole.clone()).unwrap(),
            r#"[[["a"],[2,3.2,1,[null,"x"]]],[[1],[1,0.0,7,[{"x":[1]},1.50]]],[["1"],[0,9007199254740993,-1,[[]]]]]"#
        );
        for cut in 0..=ELEMENTS.len() {
            let mut merged = in_groups(Reduction::Group, &[]);
            for rows in [&ELEMENTS[..cut], &ELEMENTS[cut..]] {
                merged.merge(&in_groups(Reduction::Group, rows).into_part()).unwrap();
            }
            assert_eq!(merged.finish().unwrap(), whole, "cut at {cut}");
        }
    }

    #[test]
    fn an_aggregate_of_no_elements_has_a_group() {
        let none = in_groups(Reduction::Aggregate, &[]);
        let mut merged = in_groups(Reduction::Aggregate, &[]);
        merged.merge(&none.into_part()).unwrap();
        assert_eq!(merged.finish().unwrap(), b"[[[],[0,0,null,[]]]]");
        assert_eq!(in_groups(Reduction::Group, &[]).finish().unwrap(), b"[]");
    }

    #[test]
    fn other_bytes_are_no_groups() {
        let part = in_groups(Reduction::Group, ELEMENTS).into_part();
        for length in 1..part.len() {
            let merged = in_groups(Reduction::Group, &[]).merge(&part[..length]);
            // What ends between two groups is a shorter part.
            assert!(merged.is_err() || length > 8, "{length}");
        }
    }
}
