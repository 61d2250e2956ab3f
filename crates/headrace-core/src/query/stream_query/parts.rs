//! Runs over parts of the rows, put together.
//!
//! A *part* is what the elements of some rows were reduced to, as bytes that another machine
//! can take in. Parts that are merged in the order of their rows give what one run over all
//! these rows would have given: the elements that were held, counts, and sums to the last bit.

use super::{Fault, State, StreamQuery};

impl StreamQuery {
    /// The reduced rows so far, for [`Self::merge`]. Lines of output are no part.
    pub fn into_part(self) -> Vec<u8> {
        self.state.into_part()
    }

    /// How many elements are held in order.
    pub fn held_elements(&self) -> u64 {
        match &self.state {
            State::LastFromEnd { texts, .. } => texts.len() as u64,
            State::One(one) => one.held_elements(),
            _ => 0,
        }
    }

    /// How many groups there are so far, in a run that has groups.
    pub fn groups(&self) -> Option<u64> {
        match &self.state {
            State::Groups(groups) => Some(groups.count()),
            _ => None,
        }
    }

    /// Take in what a run like this one has reduced the rows behind those so far to. It is the same
    /// as to merge its part, and takes no bytes apart.
    ///
    /// # Errors
    /// If it is no such run.
    pub fn append(&mut self, other: Self) -> Result<(), Fault> {
        if !self.done() {
            self.done = self.state.append(other.state)?;
        }
        Ok(())
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

/// The fault of bytes that are no part.
pub(super) fn malformed() -> Fault {
    Fault::new("the result of a part of the rows is damaged".to_owned())
}

impl State {
    fn into_part(self) -> Vec<u8> {
        match self {
            Self::Lines { .. } | Self::LastFromEnd { .. } => Vec::new(),
            Self::Pruned(prune) => prune.best.into_bytes(),
            Self::Groups(groups) => groups.into_bytes(),
            Self::One(one) => one.into_part(),
        }
    }

    /// Take in what a run like this one holds; true if no further one can change the result.
    fn append(&mut self, other: Self) -> Result<bool, Fault> {
        match (&mut *self, other) {
            (Self::Groups(groups), Self::Groups(others)) => groups.append(*others)?,
            (Self::One(one), Self::One(other)) => one.append(other)?,
            (_, other) => return self.merge(&other.into_part()),
        }
        Ok(self.wanted() == 0)
    }

    /// Take in a part; true if no further one can change the result.
    fn merge(&mut self, part: &[u8]) -> Result<bool, Fault> {
        match self {
            Self::Lines { .. } | Self::LastFromEnd { .. } => return Err(malformed()),
            Self::Pruned(prune) => prune.best.merge(part).ok_or_else(malformed)?,
            Self::Groups(groups) => groups.merge(part).ok_or_else(malformed)??,
            Self::One(one) => one.merge(part)?,
        }
        Ok(self.wanted() == 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::{
        json::Limits,
        query::{GroupParts, MergedGroups, Reading, Reduction, Slot, StreamQuery, Texts, Watch},
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
                        let mut appended = run(reduction, &[]);
                        for rows in [&all[..cut], &all[cut..second], &all[second..]] {
                            appended.append(run(reduction, rows)).unwrap();
                        }
                        let appended = appended.finish();
                        assert_eq!(appended, whole, "{reduction:?} cut at {cut} and {second}");
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
        r#"[["a"],[true,3,1,null,7,7,[[2],"p"],1,"a"]]"#,
        r#"[[1],[false,0.1,2,{"x":[1]},8,8,[[null],"q"],1.0,2]]"#,
        r#"[["a"],[true,0.2,0.5,"x",9,9,[[2.0],"r"],[1],"a"]]"#,
        r#"[[1.0],[1,-0.1,7,1.50,null,null,[["s"],"s"],"1",2.0]]"#,
        r#"[["1"],["",9007199254740993,-1,[],{},[],[[0],[]],null,null]]"#,
    ];

    /// The groups of the elements, with all kinds of slots.
    const GROUPS: &str = concat!(
        r#"[[["a"],[2,3.2,1,[null,"x"],[7],[9],["p","r"],[1,[1]],1]],"#,
        r#"[[1],[1,0.0,7,[{"x":[1]},1.50],[8],[null],["s","q"],[1.0,"1"],1]],"#,
        r#"[["1"],[0,9007199254740993,-1,[[]],[{}],[[]],[[]],[null],1]]]"#
    );

    fn in_groups(reduction: Reduction, rows: &[&str]) -> StreamQuery {
        let slots = vec![
            Slot::Count,
            Slot::Sum,
            Slot::Max,
            Slot::Collect,
            Slot::First(1),
            Slot::Last(1),
            Slot::Best(2, [true].into()),
            Slot::Distinct,
            Slot::Approximate,
        ];
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
        assert_eq!(String::from_utf8(whole.clone()).unwrap(), GROUPS);
        for cut in 0..=ELEMENTS.len() {
            let mut merged = in_groups(Reduction::Group, &[]);
            for rows in [&ELEMENTS[..cut], &ELEMENTS[cut..]] {
                merged.merge(&in_groups(Reduction::Group, rows).into_part()).unwrap();
            }
            assert_eq!(merged.finish().unwrap(), whole, "cut at {cut}");
            let mut appended = in_groups(Reduction::Group, &[]);
            for rows in [&ELEMENTS[..cut], &ELEMENTS[cut..]] {
                appended.append(in_groups(Reduction::Group, rows)).unwrap();
            }
            assert_eq!(appended.finish().unwrap(), whole, "cut at {cut}");
        }
    }

    fn texts(texts: &Texts) -> Vec<&[u8]> {
        let ends: Vec<_> = texts.ends.iter().map(|end| usize::try_from(*end).unwrap()).collect();
        ends.windows(2).map(|span| &texts.data[span[0]..span[1]]).collect()
    }

    /// The groups of parts of the rows, merged name by name, in the order of their places.
    fn merged_one_by_one(parts: &[GroupParts], begin: impl Fn() -> StreamQuery) -> MergedGroups {
        let mut members = BTreeMap::<_, Vec<_>>::new();
        for (part, groups) in (0_u64..).zip(parts) {
            let groups = groups
                .firsts
                .iter()
                .zip(texts(&groups.names).into_iter().zip(texts(&groups.parts)));
            for (first, (name, group)) in groups {
                members.entry(name.to_vec()).or_default().push((part * 100 + first, group));
            }
        }
        let mut merged = begin();
        for (place, group) in members.into_values().flatten() {
            merged.merge_group(place, group).unwrap();
        }
        merged.into_merged_groups().unwrap()
    }

    #[test]
    fn groups_that_are_merged_one_by_one_are_those_of_all_rows() {
        for cut in 0..=ELEMENTS.len() {
            let parts: Vec<_> = [&ELEMENTS[..cut], &ELEMENTS[cut..]]
                .map(|rows| in_groups(Reduction::Group, rows).into_group_parts().unwrap())
                .into();
            let merged = merged_one_by_one(&parts, || in_groups(Reduction::Group, &[]));
            let mut found: Vec<_> = merged.firsts.iter().zip(texts(&merged.texts)).collect();
            found.sort_unstable();
            let groups: Vec<_> = found.into_iter().map(|(_, text)| text).collect();
            let json = [b"[", groups.join(&b',').as_slice(), b"]"].concat();
            assert_eq!(String::from_utf8(json).unwrap(), GROUPS, "cut at {cut}");
            assert_eq!((merged.colliding, merged.failed), (None, None));
        }
    }

    #[test]
    fn the_first_key_of_another_kind_has_its_place_in_merged_groups() {
        let rows = ["\"1\"", "2", "1", "\"2\"", "true", "\"true\""];
        let whole = run(Reduction::CountBy, &rows).finish().unwrap_err();
        for cut in 0..=rows.len() {
            let parts: Vec<_> = [&rows[..cut], &rows[cut..]]
                .map(|rows| run(Reduction::CountBy, rows).into_group_parts().unwrap())
                .into();
            let merged = merged_one_by_one(&parts, || run(Reduction::CountBy, &[]));
            let (place, reason) = merged.colliding.unwrap();
            assert_eq!(reason, whole.reason, "cut at {cut}");
            let expected = if cut > 2 { 2 } else { 100 + 2 - cut as u64 };
            assert_eq!(place, expected, "cut at {cut}");
        }
    }

    #[test]
    fn the_first_group_with_a_slot_without_a_result_has_its_place() {
        let mixed = [r#"[["a"],[1]]"#, r#"[["b"],[1]]"#, r#"[["b"],["x"]]"#, r#"[["a"],["y"]]"#];
        let begin = || run(Reduction::Group, &[]).in_slots(vec![Slot::Min]);
        let mut first = begin();
        for (number, content) in (0..).zip(mixed) {
            first.row(Row::new(number, 0, content.as_bytes())).unwrap();
        }
        let merged = merged_one_by_one(&[first.into_group_parts().unwrap()], begin);
        let (place, reason) = merged.failed.unwrap();
        assert_eq!(place, 0);
        assert!(reason.contains("min"), "{reason}");
        assert!(merged.firsts.is_empty());
    }

    #[test]
    fn the_last_of_each_key_is_that_of_all_rows() {
        let rows =
            [r#"[["b"],[1]]"#, r#"[["a"],[{"x": 1.50}]]"#, r#"[["b"],[[2]]]"#, r#"[["b"],[null]]"#];
        for cut in 0..=rows.len() {
            let parts = [&rows[..cut], &rows[cut..]].map(|rows| run(Reduction::IndexBy, rows));
            let mut merged = run(Reduction::IndexBy, &[]);
            for part in parts {
                merged.merge(&part.into_part()).unwrap();
            }
            let json = String::from_utf8(merged.finish().unwrap()).unwrap();
            assert_eq!(json, r#"{"b":null,"a":{"x":1.50}}"#, "cut at {cut}");
        }
    }

    #[test]
    fn the_last_of_each_cell_is_that_of_all_rows() {
        let rows = [
            r#"[["b", 1],[1]]"#,
            r#"[["a", null],[{"x": 1.50}]]"#,
            r#"[["b", "1"],[[2]]]"#,
            r#"[["b", 2],[3]]"#,
            r#"[["", "b"],[4]]"#,
        ];
        let cells = r#"{"b":{"1":[2],"2":3},"a":{"null":{"x":1.50}},"":{"b":4}}"#;
        for (reduction, expected) in
            [(Reduction::PivotCells, cells), (Reduction::Pivot, r#"{"b":3,"a":{"x":1.50},"":4}"#)]
        {
            for cut in 0..=rows.len() {
                let mut merged = run(reduction, &[]);
                for rows in [&rows[..cut], &rows[cut..]] {
                    merged.merge(&run(reduction, rows).into_part()).unwrap();
                }
                let json = String::from_utf8(merged.finish().unwrap()).unwrap();
                assert_eq!(json, expected, "{reduction:?} cut at {cut}");
            }
        }
        assert_eq!(run(Reduction::PivotCells, &[]).finish().unwrap(), b"{}");
    }

    #[test]
    fn an_aggregate_of_no_elements_has_a_group() {
        let none = in_groups(Reduction::Aggregate, &[]);
        let mut merged = in_groups(Reduction::Aggregate, &[]);
        merged.merge(&none.into_part()).unwrap();
        assert_eq!(merged.finish().unwrap(), b"[[[],[0,0,null,[],[],[],[],[],0]]]");
        assert_eq!(in_groups(Reduction::Group, &[]).finish().unwrap(), b"[]");
    }

    #[test]
    fn the_first_key_of_another_kind_is_named_wherever_rows_are_cut() {
        let rows = ["\"1\"", "2", "1", "\"2\"", "true", "\"true\""];
        let whole = run(Reduction::CountBy, &rows).finish().unwrap_err();
        assert!(whole.reason.contains("number 1 from string 1"), "{}", whole.reason);
        for cut in 0..=rows.len() {
            for second in cut..=rows.len() {
                let mut merged = run(Reduction::CountBy, &[]);
                for rows in [&rows[..cut], &rows[cut..second], &rows[second..]] {
                    merged.merge(&run(Reduction::CountBy, rows).into_part()).unwrap();
                }
                assert_eq!(merged.finish().unwrap_err(), whole, "cut at {cut} and {second}");
                let mut appended = run(Reduction::CountBy, &[]);
                for rows in [&rows[..cut], &rows[cut..second], &rows[second..]] {
                    appended.append(run(Reduction::CountBy, rows)).unwrap();
                }
                assert_eq!(appended.finish().unwrap_err(), whole, "cut at {cut} and {second}");
            }
        }
    }

    #[test]
    fn other_bytes_are_no_groups() {
        let part = in_groups(Reduction::Group, ELEMENTS).into_part();
        for length in 0..part.len() {
            let merged = in_groups(Reduction::Group, &[]).merge(&part[..length]);
            // What ends between two groups is a shorter part.
            assert!(merged.is_err() || length >= 16, "{length}");
        }
    }

    #[test]
    fn the_only_group_is_there_without_slots_too() {
        assert_eq!(
            run(Reduction::Aggregate, &[]).in_slots(Vec::new()).finish().unwrap(),
            b"[[[],[]]]"
        );
    }
}
