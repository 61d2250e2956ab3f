//! Whole graph indexes: built, gone along, damaged, continued.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use proptest::prelude::*;

use super::{
    events::{Event, Events},
    expand::{Emit, Options},
    path::Way,
    write::{Outcome, Plan},
    *,
};
use crate::{
    Result,
    input::DataFile,
    json::Limits,
    keys::{self, KeyFields, KeyScan},
    rows::{RowStream, nameless_file},
    sealed::{
        AnyBaseDelta, BaseDelta, IndexFile,
        testing::{self, content, covered, made_of},
    },
};

/// From, predicate, to.
type Triple = (String, String, String);

fn fields() -> EdgeFields {
    EdgeFields { from: "f".into(), pred: Some("p".into()), to: "t".into() }
}

fn row((from, predicate, to): &Triple) -> String {
    format!("{{\"f\":{from:?},\"p\":{predicate:?},\"t\":{to:?}}}\n")
}

fn rows(edges: &[Triple]) -> String {
    edges.iter().map(row).collect()
}

/// How an index is built.
#[derive(Clone, Copy)]
struct How {
    reverse: bool,
    version: Option<u32>,
    budget: usize,
    collectors: u32,
    /// As another process would: from files.
    saved: bool,
}

const PLAIN: How =
    How { reverse: true, version: None, budget: 1 << 20, collectors: 1, saved: false };

fn saved(mut runs: EdgeRuns) -> EdgeRuns {
    let file = nameless_file(&std::env::temp_dir()).unwrap();
    runs.save(&file).unwrap();
    EdgeRuns::saved(&file).unwrap()
}

/// Build the index of a source; or of what lies behind an index, or of all that an index has.
fn build_onto(
    kept: Option<(&BaseDelta<GraphIndex>, bool)>,
    data: &[u8],
    how: How,
) -> (Outcome, Vec<u8>) {
    let size = data.len() as u64;
    let coverage_end = covered(data);
    let new = |number| EdgeRuns::new(std::env::temp_dir(), how.budget, number).unwrap();
    let mut runs: Vec<_> = (0..how.collectors).map(new).collect();
    let (mut from, mut first) = (0, 0);
    if let Some((index, all)) = kept {
        if all {
            runs[0].keep(index.base(), index.base_ends()).unwrap();
            from = size;
        } else {
            from = index.newest().meta().made_of.coverage_end;
            first = index.base().meta().made_of.coverage_end;
        }
        if let Some(delta) = index.delta() {
            let ends = if all { u64::MAX } else { delta.meta().made_of.coverage_end };
            runs[0].keep(delta, ends).unwrap();
        }
    }
    let unterminated = Some(coverage_end).filter(|&end| end < size);
    let names = KeyFields::new(fields().names());
    let mut scan = KeyScan::apart(names, Limits::default(), unterminated);
    let start = usize::try_from(from).unwrap();
    let mut stream = RowStream::new(&data[start..], from, 0, u64::MAX, 1 << 20);
    let mut number = 0;
    while let Some(row) = stream.next_row().unwrap() {
        if scan.key(&row).is_some() {
            let parts: Vec<_> = scan.parts().collect();
            let into = number % runs.len();
            runs[into].push(parts[0], parts[1], parts[2], row.offset).unwrap();
            number += 1;
        }
    }
    let known = kept.and_then(|(index, _)| index.newest().meta().made_of.last.clone());
    let last = scan.last().map(Into::into).or(known.filter(|_| from == size));
    let (made_of, hashes) = made_of(data, first, last);
    let plan = Plan {
        fields: fields(),
        reverse: how.reverse,
        version: how.version,
        memory: how.budget,
        lines: scan.lines(),
        made_of,
        hashes,
        directory: std::env::temp_dir(),
    };
    if how.saved {
        runs = runs.into_iter().map(saved).collect();
    }
    let out = nameless_file(&std::env::temp_dir()).unwrap();
    let base = kept.filter(|(_, all)| !all).map(|(index, _)| index);
    let outcome = write(runs, base, &out, &plan, &|| true).unwrap();
    (outcome, content(out))
}

fn index_of(data: &[u8], how: How) -> Vec<u8> {
    let (outcome, bytes) = build_onto(None, data, how);
    assert!(matches!(outcome, Outcome::Written(written) if written.size == bytes.len() as u64));
    bytes
}

fn open(bytes: &[u8]) -> Result<GraphIndex> {
    GraphIndex::open(DataFile::new(bytes.to_vec()))
}

fn base_delta(base: &[u8], delta: Option<&[u8]>) -> Arc<BaseDelta<GraphIndex>> {
    let delta = delta.map(|delta| open(delta).unwrap());
    Arc::new(BaseDelta::new(open(base).unwrap(), delta).unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// All edges, as the index has them from one end.
fn edges_of(view: &mut dyn Adjacency, id: &str, incoming: bool) -> Result<Vec<(String, String)>> {
    let Some(node) = view.find(id.as_bytes())? else { return Ok(Vec::new()) };
    let mut cursor = view.cursor(node, incoming)?;
    let (mut edges, mut bytes, mut found) = (Vec::new(), Vec::new(), Vec::new());
    while !cursor.is_empty() {
        view.advance(&mut cursor, &mut edges)?;
    }
    for edge in edges {
        view.predicate(edge.predicate, &mut bytes)?;
        let predicate = text(&bytes);
        view.id(edge.node, &mut bytes)?;
        found.push((predicate, text(&bytes)));
    }
    Ok(found)
}

fn slow_edges(all: &[Triple], id: &str, incoming: bool) -> Vec<(String, String)> {
    let ends = all.iter().map(
        |(from, predicate, to)| {
            if incoming { (to, predicate, from) } else { (from, predicate, to) }
        },
    );
    let own = ends.filter(|(of, ..)| *of == id);
    own.map(|(_, predicate, other)| (predicate.clone(), other.clone())).collect()
}

fn triple() -> impl Strategy<Value = Triple> {
    ("[a-f]{1,2}", "[pq]", "[a-f]{1,2}")
}

fn triples() -> impl Strategy<Value = Vec<Triple>> {
    prop::collection::vec(triple(), 0..60)
}

fn ids(all: &[Triple]) -> Vec<String> {
    let mut ids: Vec<_> = all.iter().flat_map(|(from, _, to)| [from.clone(), to.clone()]).collect();
    ids.push("unknown".into());
    ids.sort();
    ids.dedup();
    ids
}

fn assert_has(graph: &Arc<BaseDelta<GraphIndex>>, all: &[Triple]) {
    graph.verify(&|| true).unwrap();
    let mut view = GraphView::new(Arc::clone(graph));
    for id in ids(all) {
        for incoming in [false, true] {
            if incoming && !graph.base().meta().reverse {
                continue;
            }
            let found = edges_of(&mut view, &id, incoming).unwrap();
            assert_eq!(found, slow_edges(all, &id, incoming), "{id}, incoming: {incoming}");
        }
    }
}

proptest! {
    #[test]
    fn every_node_has_its_edges(
        all in triples(),
        reverse in any::<bool>(),
        wide in any::<bool>(),
        budget in 1_usize..9000,
        collectors in 1_u32..4,
        saved in any::<bool>(),
    ) {
        let data = rows(&all);
        let how = How { reverse, version: wide.then_some(2), budget, collectors, saved };
        let bytes = index_of(data.as_bytes(), how);
        assert_has(&base_delta(&bytes, None), &all);
        // However it was cut.
        let once = How { budget: 1 << 20, collectors: 1, saved: false, ..how };
        prop_assert_eq!(bytes, index_of(data.as_bytes(), once));
    }

    #[test]
    fn what_was_saved_of_edges_is_refused_when_it_is_cut_off(all in triples()) {
        let file = nameless_file(&std::env::temp_dir()).unwrap();
        let mut runs = EdgeRuns::new(std::env::temp_dir(), 1 << 20, 0).unwrap();
        for (offset, (from, predicate, to)) in (0..).zip(&all) {
            runs.push(from.as_bytes(), predicate.as_bytes(), to.as_bytes(), offset).unwrap();
        }
        runs.save(&file).unwrap();
        for size in 0..file.metadata().unwrap().len() {
            let cut = nameless_file(&std::env::temp_dir()).unwrap();
            let whole = content(file.try_clone().unwrap());
            std::io::Write::write_all(&mut &cut, &whole[..usize::try_from(size).unwrap()]).unwrap();
            prop_assert!(EdgeRuns::saved(&cut).is_err(), "{size} bytes");
        }
    }

    #[test]
    fn a_delta_and_its_base_are_one_graph(
        before in triples(),
        torn in prop::option::of(triple()),
        between in triples(),
        after in triples(),
        reverse in any::<bool>(),
    ) {
        let how = How { reverse, ..PLAIN };
        let last = torn.as_ref().map(row).unwrap_or_default();
        let mut data = rows(&before) + last.trim_end();
        let base = index_of(data.as_bytes(), how);
        let mut all: Vec<_> = before.iter().chain(&torn).cloned().collect();
        assert_has(&base_delta(&base, None), &all);
        if torn.is_some() {
            data.push('\n');
        }
        let mut delta = None;
        for more in [&between, &after] {
            data += &rows(more);
            all.extend(more.iter().cloned());
            let known = base_delta(&base, delta.as_deref());
            delta = Some(build_onto(Some((&known, false)), data.as_bytes(), how).1);
            assert_has(&base_delta(&base, delta.as_deref()), &all);
        }
        let both = base_delta(&base, delta.as_deref());
        let (outcome, one) = build_onto(Some((&both, true)), data.as_bytes(), how);
        prop_assert!(matches!(outcome, Outcome::Written(_)));
        let built = index_of(data.as_bytes(), how);
        let tables = usize::try_from(open(&built).unwrap().sealed.end).unwrap();
        prop_assert_eq!(&one[..tables], &built[..tables]);
        let (one, new) = (open(&one).unwrap(), open(&built).unwrap());
        prop_assert_eq!(one.has_edges_of(&new, &|| true).unwrap(), Some(true));
        let same = new.has_edges_of(&open(&base).unwrap(), &|| true).unwrap();
        prop_assert_eq!(same, Some(between.is_empty() && after.is_empty()));
        // All but the counts of lines.
        let lines = new.meta().lines;
        prop_assert_eq!(Meta { lines, ..one.meta().clone() }, new.meta().clone());
    }

    #[test]
    fn an_expansion_is_that_of_a_slow_search(
        all in triples(),
        seeds in prop::collection::vec("[a-f]{1,2}", 0..4),
        hops in prop::option::of(0_u32..4),
        only in prop::option::of("[pqr]"),
        direction in 0_usize..3,
        emit in 0_usize..3,
        limit in prop::option::of(0_u64..8),
        most in prop::option::of(0_u64..4),
        split in 0_usize..60,
        at_once in 1_usize..5,
    ) {
        let data = rows(&all);
        let direction = [Direction::Out, Direction::In, Direction::Both][direction];
        let emit = [Emit::Nodes, Emit::Edges, Emit::Tree][emit];
        let base = index_of(rows(&all[..split.min(all.len())]).as_bytes(), PLAIN);
        let delta =
            build_onto(Some((&base_delta(&base, None), false)), data.as_bytes(), PLAIN).1;
        let expected = slow_expansion(&all, &seeds, hops, only.as_deref(), direction, emit, limit, most);
        let views: [Box<dyn Adjacency>; 3] = [
            Box::new(GraphView::new(base_delta(&index_of(data.as_bytes(), PLAIN), None))),
            Box::new(GraphView::new(base_delta(&base, Some(&delta)))),
            Box::new(keyed(data.as_bytes())),
        ];
        for mut view in views {
            let predicates = only.as_ref().map(|only| {
                view.find_predicate(only.as_bytes()).unwrap().into_iter().collect()
            });
            let which = Which { direction, predicates, most };
            for together in [0, 3, 1 << 23] {
                let which = which.clone();
                let options = Options { which, hops, limit, emit, together };
                let ids = seeds.iter().map(|id| id.clone().into_bytes()).collect();
                let mut expansion = Expansion::new(&*view, ids, options);
                let (mut steps, mut all) = (Events::default(), Vec::new());
                loop {
                    expansion.advance(&mut *view, at_once, &|| true, &mut steps).unwrap();
                    if steps.list().is_empty() {
                        break;
                    }
                    all.extend(steps.list().iter().map(|&step| owned(step, &steps, &mut *view)));
                    steps.clear();
                }
                prop_assert_eq!(&(all, expansion.truncated()), &expected);
            }
        }
    }

    #[test]
    fn a_way_is_the_first_of_the_shortest(
        all in triples(),
        from in "[a-c]{1,2}",
        to in "[a-c]{1,2}",
        hops in prop::option::of(0_u32..4),
    ) {
        let graph = base_delta(&index_of(rows(&all).as_bytes(), PLAIN), None);
        let mut view = GraphView::new(graph);
        let which = Which::default();
        let ends = [from.as_bytes(), to.as_bytes()];
        let way = shortest_path(&mut view, ends, &which, hops, &|| true).unwrap();
        let known = ids(&all);
        let seeds = [from.clone()];
        let tree =
            slow_expansion(&all, &seeds, hops, None, Direction::Out, Emit::Nodes, None, None).0;
        let level = tree.iter().find_map(|event| match event {
            OwnedEvent::Node(id, level, _) if *id == to => Some(*level),
            _ => None,
        });
        match way {
            Way::NoNode(id) => prop_assert!(!known.contains(&text(&id))),
            Way::None => prop_assert!(level.is_none()),
            Way::Found(hops) => {
                prop_assert_eq!(Some(hops.len()), level.map(|level| level as usize));
                let mut at = from;
                for hop in hops {
                    let mut predicate = Vec::new();
                    view.predicate(hop.predicate, &mut predicate).unwrap();
                    let edge = (at.clone(), text(&predicate), text(&hop.id));
                    prop_assert!(all.contains(&edge));
                    at = text(&hop.id);
                }
                prop_assert_eq!(at, to);
            }
            Way::Stopped => prop_assert!(false),
        }
    }

    #[test]
    fn stats_are_those_of_all_edges(all in triples(), split in 0_usize..60) {
        let base = index_of(rows(&all[..split.min(all.len())]).as_bytes(), PLAIN);
        let known = base_delta(&base, None);
        let delta = build_onto(Some((&known, false)), rows(&all).as_bytes(), PLAIN).1;
        let found = stats(&base_delta(&base, Some(&delta)), &|| true).unwrap().unwrap();
        let mut nodes = ids(&all);
        nodes.retain(|id| id != "unknown");
        prop_assert_eq!((found.nodes, found.edges), (nodes.len() as u64, all.len() as u64));
        let most = |incoming| {
            nodes.iter().map(|id| slow_edges(&all, id, incoming).len() as u64).max().unwrap_or(0)
        };
        prop_assert_eq!((found.out.most, found.incoming.most), (most(false), most(true)));
        for degrees in [&found.out, &found.incoming] {
            prop_assert_eq!(degrees.none + degrees.powers.iter().sum::<u64>(), found.nodes);
        }
        let loops = all.iter().filter(|(from, _, to)| from == to).count();
        prop_assert_eq!(found.loops, loops as u64);
        let mut left = nodes;
        let (mut components, mut largest) = (0, 0);
        while let Some(first) = left.first().cloned() {
            let steps = slow_expansion(
                &all, &[first], None, None, Direction::Both, Emit::Nodes, None, None,
            );
            components += 1;
            largest = largest.max(steps.0.len() as u64);
            left.retain(|id| !steps.0.iter().any(|event| matches!(event, OwnedEvent::Node(other, ..) if other == id)));
        }
        prop_assert_eq!((found.components, found.largest), (components, largest));
    }
}

/// An event that owns its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnedEvent {
    Node(String, u32, Option<String>),
    Edge(String, String, String, bool),
}

fn owned(step: Event, steps: &Events, view: &mut dyn Adjacency) -> OwnedEvent {
    let mut said = |number| {
        let mut bytes = Vec::new();
        view.predicate(number, &mut bytes).unwrap();
        text(&bytes)
    };
    match step {
        Event::Node { id, level, via } => {
            OwnedEvent::Node(text(steps.text(id)), level, via.map(said))
        }
        Event::Edge { from, predicate, to, leads, .. } => {
            let [from, to] = [from, to].map(|id| text(steps.text(id)));
            OwnedEvent::Edge(from, said(predicate), to, leads)
        }
    }
}

/// The events of an expansion, found by scanning all edges again and again.
#[allow(clippy::too_many_arguments, reason = "each is an option")]
fn slow_expansion(
    all: &[Triple],
    seeds: &[String],
    hops: Option<u32>,
    only: Option<&str>,
    direction: Direction,
    emit: Emit,
    limit: Option<u64>,
    most: Option<u64>,
) -> (Vec<OwnedEvent>, bool) {
    let mut levels: BTreeMap<String, u32> = BTreeMap::new();
    let (mut queue, mut steps, mut done) = (VecDeque::new(), Vec::new(), Vec::<String>::new());
    let full =
        |levels: &BTreeMap<String, u32>| limit.is_some_and(|limit| levels.len() as u64 >= limit);
    for seed in seeds {
        if !levels.contains_key(seed) {
            if full(&levels) {
                return (steps, true);
            }
            levels.insert(seed.clone(), 0);
            steps.push(OwnedEvent::Node(seed.clone(), 0, None));
            queue.push_back(seed.clone());
        }
    }
    while let Some(node) = queue.pop_front() {
        let level = levels[&node];
        if hops.is_some_and(|hops| level >= hops) {
            continue;
        }
        let mut followed = 0;
        for (from, predicate, to) in all {
            let out = direction != Direction::In && *from == node;
            let incoming = direction != Direction::Out && *to == node;
            let wanted = only.is_none_or(|only| only == predicate);
            if !(out || incoming) || !wanted {
                continue;
            }
            if most == Some(followed) {
                break;
            }
            followed += 1;
            let other = if out { to } else { from };
            let new = !levels.contains_key(other);
            if new && full(&levels) {
                return (steps, true);
            }
            let again = direction == Direction::Both && done.contains(other);
            if (emit == Emit::Edges && !again) || (emit == Emit::Tree && new) {
                steps.push(OwnedEvent::Edge(from.clone(), predicate.clone(), to.clone(), new));
            }
            if new {
                levels.insert(other.clone(), level + 1);
                steps.push(OwnedEvent::Node(other.clone(), level + 1, Some(predicate.clone())));
                queue.push_back(other.clone());
            }
        }
        done.push(node);
    }
    (steps, false)
}

/// The same edges by key indexes of both ends.
fn keyed(data: &[u8]) -> KeyedEdges {
    let size = data.len() as u64;
    let index = |field: &str| {
        let names = KeyFields::new(vec![field.into()]);
        let mut runs = [keys::Runs::new(std::env::temp_dir(), 1 << 20)];
        let mut scan = KeyScan::new(names.clone(), Limits::default(), None);
        let mut stream = RowStream::new(data, 0, 0, u64::MAX, 1 << 20);
        while let Some(row) = stream.next_row().unwrap() {
            if let Some(key) = scan.key(&row) {
                runs[0].push(key, row.offset).unwrap();
            }
        }
        let (made_of, hashes) = made_of(data, 0, None);
        let plan = keys::Plan {
            fields: names,
            unique: false,
            version: Some(2),
            lines: scan.lines(),
            plain_numbers: true,
            made_of,
            hashes,
            directory: std::env::temp_dir(),
        };
        let out = nameless_file(&std::env::temp_dir()).unwrap();
        keys::write(&mut runs, None, &out, &plan, &|| true).unwrap();
        let index = keys::KeyIndex::open(DataFile::new(content(out))).unwrap();
        Some(Arc::new(BaseDelta::new(keys::SetSegments::one(index), None).unwrap()))
    };
    let source = Arc::new(DataFile::new(data.to_vec()));
    KeyedEdges::new(&fields(), [index("f"), index("t")], source, size)
}

fn some_edges() -> Vec<Triple> {
    let edge =
        |(from, predicate, to): (&str, &str, &str)| (from.into(), predicate.into(), to.into());
    [("a", "p", "b"), ("a", "q", "c"), ("b", "p", "a"), ("c", "p", "c"), ("a", "p", "b")]
        .map(edge)
        .to_vec()
}

#[test]
fn what_narrow_fields_have_no_room_for_is_wide() {
    let hub: Vec<Triple> =
        (0..70_000).map(|n| (format!("n{n}"), "p".into(), "hub".into())).collect();
    let data = rows(&hub);
    for (reverse, why) in [(true, Some("edges_of_a_node")), (false, None)] {
        let how = How { reverse, ..PLAIN };
        let (outcome, bytes) = build_onto(None, data.as_bytes(), how);
        let Outcome::Written(written) = outcome else { panic!("{outcome:?}") };
        assert_eq!((written.why, written.edges), (why, 70_000));
        assert_eq!(written.version, if reverse { 2 } else { 1 });
        let mut view = GraphView::new(base_delta(&bytes, None));
        assert_eq!(edges_of(&mut view, "n69999", false).unwrap(), [("p".into(), "hub".into())]);
        if reverse {
            assert_eq!(edges_of(&mut view, "hub", true).unwrap().len(), 70_000);
        } else {
            assert!(edges_of(&mut view, "hub", true).is_err());
        }
    }
    let narrow = How { version: Some(1), ..PLAIN };
    assert_eq!(build_onto(None, data.as_bytes(), narrow).0, Outcome::NoRoom("edges_of_a_node"));
    let long = "x".repeat(70_000);
    let predicates: Vec<Triple> = (0..65_537)
        .map(|n| ("a".to_string() + &n.to_string(), format!("p{n}"), "b".into()))
        .collect();
    for (edges, why) in [
        (vec![(long.clone(), "p".into(), "b".into())], "id_length"),
        (vec![("a".into(), long, "b".into())], "predicate_length"),
        (predicates, "predicate_count"),
    ] {
        let how = How { reverse: false, ..PLAIN };
        let (outcome, bytes) = build_onto(None, rows(&edges).as_bytes(), how);
        assert!(matches!(outcome, Outcome::Written(written) if written.why == Some(why)), "{why}");
        let graph = base_delta(&bytes, None);
        graph.verify(&|| true).unwrap();
        let mut view = GraphView::new(graph);
        for (from, predicate, to) in edges.iter().step_by(999) {
            let found = edges_of(&mut view, from, false).unwrap();
            assert_eq!(found, [(predicate.clone(), to.clone())]);
            assert!(view.find_predicate(predicate.as_bytes()).unwrap().is_some());
        }
    }
}

#[test]
fn every_truncation_and_every_bit_is_noticed_or_harmless() {
    let all = some_edges();
    for version in [1, 2] {
        let how = How { version: Some(version), ..PLAIN };
        let bytes = index_of(rows(&all).as_bytes(), how);
        for length in 0..bytes.len() {
            assert!(open(&bytes[..length]).is_err(), "first {length} bytes");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let Ok(index) = open(&damaged) else { continue };
            let graph = Arc::new(BaseDelta::new(index, None).unwrap());
            assert!(graph.verify(&|| true).is_err(), "bit {bit}");
            let mut view = GraphView::new(graph);
            for id in ids(&all) {
                if let Ok(found) = edges_of(&mut view, &id, false) {
                    assert_eq!(found, slow_edges(&all, &id, false), "bit {bit}");
                }
            }
        }
    }
}

/// Where the fields of header and entries are, and how many bytes they have.
fn numbers_in(tables: &layout::Tables) -> Vec<(u64, usize)> {
    let (text, count) = if tables.wide { (8, 4) } else { (4, 2) };
    let entry = |at: u64, widths: &[usize]| {
        let ends = widths.iter().scan(at, |end, &width| {
            let begins = *end;
            *end += width as u64;
            Some((begins, width))
        });
        ends.collect::<Vec<_>>()
    };
    let node = [8, text, count, text, count, text, count];
    let mut fields = entry(12, &[4, 4, 4, 8, 8, 8]);
    for number in 0..u64::from(tables.node_count) {
        fields.extend(entry(tables.nodes + number * tables.node_bytes(), &node));
    }
    for number in 0..2 * tables.edge_count {
        fields.extend(entry(tables.edges + number * tables.edge_bytes(), &[count, 4, 8]));
    }
    for number in 0..u64::from(tables.predicate_count) {
        let at = tables.predicates + number * (text + count) as u64;
        fields.extend(entry(at, &[text, count]));
    }
    fields
}

#[test]
fn hostile_counts_and_offsets_do_no_harm() {
    let triple = |from: &str, to: &str| (from.to_string(), "p".to_string(), to.to_string());
    let all = [triple("a", "b"), triple("b", "c"), triple("c", "a"), triple("a", "a")];
    let data = rows(&all);
    for version in [1, 2] {
        let bytes = index_of(data.as_bytes(), How { version: Some(version), ..PLAIN });
        let fields = numbers_in(&open(&bytes).unwrap().header.tables);
        assert!(fields.len() > 50);
        for (at, width) in fields {
            let place = usize::try_from(at).unwrap();
            for lie in [[0xFF; 8], u64::MAX.wrapping_shr(1).to_le_bytes(), [0x7F; 8], [9; 8]] {
                let mut lying = bytes.clone();
                lying[place..place + width].copy_from_slice(&lie[..width]);
                testing::put_checksums(&mut lying);
                let Ok(index) = open(&lying) else { continue };
                let graph = Arc::new(BaseDelta::new(index, None).unwrap());
                assert!(graph.verify(&|| true).is_err(), "byte {at}: {lie:?}");
                let mut view = GraphView::new(Arc::clone(&graph));
                let which = Which { direction: Direction::Both, predicates: None, most: None };
                for emit in [Emit::Nodes, Emit::Edges] {
                    let which = which.clone();
                    let options = Options { which, emit, ..Options::default() };
                    let mut expansion = Expansion::new(&view, vec![b"a".to_vec()], options);
                    let mut steps = Events::default();
                    // An error, or an end.
                    let _ = expansion.advance(&mut view, 10_000, &|| true, &mut steps);
                    assert!(steps.list().len() < 10_000, "byte {at}: {lie:?}");
                }
            }
        }
    }
}

#[test]
fn an_expansion_can_be_stopped_where_it_reaches_nothing_new() {
    let edge = |number: u32| {
        let (from, to) = (number / 100, number % 100);
        (format!("n{from}"), "p".into(), format!("n{to}"))
    };
    let data = rows(&(0..10_000).map(edge).collect::<Vec<Triple>>());
    let graph = base_delta(&index_of(data.as_bytes(), PLAIN), None);
    for together in [0, 1 << 23] {
        let mut view = GraphView::new(Arc::clone(&graph));
        let options = Options { together, ..Options::default() };
        let mut expansion = Expansion::new(&view, vec![b"n0".to_vec()], options);
        let calls = std::cell::Cell::new(0);
        let stop = || {
            calls.set(calls.get() + 1);
            false
        };
        let (mut steps, mut reached) = (Events::default(), 0);
        for _ in 0..10 {
            expansion.advance(&mut view, usize::MAX, &stop, &mut steps).unwrap();
            reached += steps.list().len();
            steps.clear();
        }
        assert_eq!(reached, 100);
        // Edge by edge, 10,000 edges are followed; in a sweep, only nodes count.
        assert_eq!(calls.get(), if together == 0 { 2 } else { 0 });
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let all = some_edges();
    let bytes = index_of(rows(&all).as_bytes(), PLAIN);
    let graph = open(&bytes).unwrap();
    let tables = graph.header.tables;
    assert!(graph.verify(&|| true).unwrap());
    assert!(!graph.verify(&|| false).unwrap());
    assert!(graph.edge_numbers(tables.node_count, false).is_err());
    assert!(graph.predicate(tables.predicate_count, &mut Vec::new()).is_err());
}

#[test]
fn an_index_without_rows_is_one() {
    let graph = base_delta(&index_of(b"", PLAIN), None);
    assert_has(&graph, &[]);
    assert_eq!(stats(&graph, &|| true).unwrap().unwrap(), stats::Stats::default());
}
