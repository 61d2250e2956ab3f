//! Which lanes of a row a query reads.
//!
//! A program is followed with, in place of each value, the lane it is if it is a part
//! of the row as it stands there. What is done with such a part decides how much of it
//! is read: taking a field reads that field, all else reads the part as a whole. In
//! doubt everything is read.

use super::{
    Arg, ExprId, Keep, Output, Program, Reduction, Stage,
    keyed::KeyedPlan,
    program::{Const, Expr, Item, Member, Part},
};
use crate::value::{LaneId, Lanes};

/// The most expressions to analyse; queries written by hand have fewer.
const MAX_STEPS: u32 = 10_000;

/// The lanes that a query over each row reads.
pub(super) fn of_rows(program: &Program, output: Output) -> Lanes {
    let mut demand = Demand::new();
    let mut reader = Follower::new(program, Some(Lanes::ROW), &mut demand);
    match output {
        Output::Answer => {
            let answer = reader.value(program.root());
            demand.write(answer);
        }
        Output::Elements => {
            let element = reader.elements(program.root());
            demand.write(element);
        }
        Output::Match => reader.read_all(program.root()),
    }
    demand.lanes
}

/// The lanes that a query over all rows reads.
pub(super) fn of_stream(stages: &[Stage], reduction: Reduction) -> Lanes {
    let mut demand = Demand::new();
    let element = through(stages, Some(Lanes::ROW), &mut demand);
    match reduction {
        Reduction::Count => {}
        Reduction::Lines(..) => demand.write(element),
        _ => demand.read(element),
    }
    demand.lanes
}

/// The lanes that a query over all rows reads which holds the best elements by a key. Of a row that
/// is an element, the line is held, which takes no lane.
pub(super) fn of_pruned(stages: &[Stage], key: &Program) -> Lanes {
    let mut demand = Demand::new();
    let element = through(stages, Some(Lanes::ROW), &mut demand);
    Follower::new(key, element, &mut demand).read_all(key.root());
    demand.write(element);
    demand.lanes
}

/// The lanes that elements with keys are made of.
pub(super) fn of_keyed(plan: &KeyedPlan) -> Lanes {
    let mut demand = Demand::new();
    let element = through(&plan.stages, Some(Lanes::ROW), &mut demand);
    if let Some(key) = &plan.key {
        Follower::new(key, element, &mut demand).read_all(key.root());
    }
    let element = through(&plan.then, element, &mut demand);
    if plan.compact {
        demand.read(element);
    } else {
        demand.write(element);
    }
    demand.lanes
}

/// Follow the elements through the stages.
fn through(stages: &[Stage], mut element: Followed, demand: &mut Demand) -> Followed {
    for stage in stages {
        match stage {
            Stage::Each(program) => {
                element = Follower::new(program, element, demand).elements(program.root());
            }
            Stage::Distinct(program, _)
            | Stage::TakeWhile(program)
            | Stage::DropWhile(program, _) => {
                Follower::new(program, element, demand).read_all(program.root());
            }
            Stage::Take(_) | Stage::Skip(_) => {}
            Stage::Join(join) => {
                Follower::new(&join.key, element, demand).read_all(join.key.root());
                if join.kind.keep() != Keep::Keys {
                    demand.read(element);
                    element = None;
                }
            }
            Stage::Table(key, table) => {
                Follower::new(key, element, demand).read_all(key.root());
                if table.keep() != Keep::Keys {
                    demand.read(element);
                }
            }
            Stage::Zip(_) => {
                demand.read(element);
                element = None;
            }
        }
    }
    element
}

/// A value: a lane of the row, or something whose lanes are all read.
type Followed = Option<LaneId>;

struct Demand {
    lanes: Lanes,
    steps: u32,
}

impl Demand {
    fn new() -> Self {
        Self { lanes: Lanes::none(), steps: 0 }
    }

    fn read(&mut self, value: Followed) {
        if let Some(lane) = value {
            self.lanes.read(lane);
        }
    }

    /// The row itself is written as it stands in the file, which takes no lane.
    fn write(&mut self, value: Followed) {
        if value != Some(Lanes::ROW) {
            self.read(value);
        }
    }
}

/// Follows one program.
struct Follower<'p, 'd> {
    program: &'p Program,
    root: Followed,
    current: Followed,
    variables: Vec<Followed>,
    demand: &'d mut Demand,
}

impl<'p, 'd> Follower<'p, 'd> {
    fn new(program: &'p Program, row: Followed, demand: &'d mut Demand) -> Self {
        let variables = vec![None; program.variables];
        Self { program, root: row, current: row, variables, demand }
    }

    /// Follow an expression, and read all of its value.
    fn read_all(&mut self, id: ExprId) {
        let value = self.value(id);
        self.demand.read(value);
    }

    fn everything(&mut self) -> Followed {
        self.demand.lanes.read(Lanes::ROW);
        None
    }

    /// Follow the value of an expression.
    fn value(&mut self, id: ExprId) -> Followed {
        self.demand.steps += 1;
        if self.demand.steps > MAX_STEPS {
            return self.everything();
        }
        let program = self.program;
        match &program.exprs[id as usize] {
            Expr::Const(_) | Expr::Source(_) => None,
            Expr::Root => self.root,
            Expr::Current => self.current,
            Expr::Variable(variable) => self.variables[*variable as usize],
            Expr::Field(of, name) => {
                let of = self.value(*of)?;
                Some(self.demand.lanes.add(of, name))
            }
            Expr::Index(of, index) => match &program.exprs[*index as usize] {
                Expr::Const(Const::Str(name)) => {
                    let of = self.value(*of)?;
                    Some(self.demand.lanes.add(of, name))
                }
                _ => self.all_of(&[*of, *index]),
            },
            // The kind of a value is known of every lane.
            Expr::Is(of, _) => {
                self.value(*of);
                None
            }
            Expr::Coalesce(left, right) | Expr::Try(left, right) => self.either(*left, *right),
            Expr::Conditional { test, yes, no } => {
                self.read_all(*test);
                self.either(*yes, *no)
            }
            Expr::Let { variable, value, body } => {
                let value = self.value(*value);
                self.set(*variable, value);
                self.value(*body)
            }
            Expr::With(value, body) => {
                let value = self.value(*value);
                self.with(value, *body)
            }
            Expr::Negate(of)
            | Expr::Not(of)
            | Expr::Cast(of, _)
            | Expr::One(of)
            | Expr::Descend(of, _) => self.all_of(&[*of]),
            Expr::Binary(_, left, right) | Expr::And(left, right) | Expr::Or(left, right) => {
                self.all_of(&[*left, *right])
            }
            Expr::Array(items) => {
                for item in items {
                    self.read_all(item.value);
                }
                None
            }
            Expr::Object(members) => {
                for member in members {
                    self.member(member);
                }
                None
            }
            Expr::Text(parts) => {
                for part in parts {
                    if let Part::Value { value, .. } = part {
                        self.read_all(*value);
                    }
                }
                None
            }
            Expr::Call { .. } => {
                let elements = self.elements(id);
                self.demand.read(elements);
                None
            }
            Expr::Slice { .. }
            | Expr::Match { .. }
            | Expr::DeepMatch { .. }
            | Expr::Comprehension(_)
            | Expr::Patch { .. }
            | Expr::Held { .. } => self.everything(),
        }
    }

    /// Follow each element of an expression.
    fn elements(&mut self, id: ExprId) -> Followed {
        let program = self.program;
        match &program.exprs[id as usize] {
            Expr::Call { builtin, receiver, args } => match (builtin.name, &args[..]) {
                ("filter", conditions) => {
                    let element = self.elements(*receiver);
                    for condition in conditions {
                        let accepted = self.applied(condition, element);
                        self.demand.read(accepted);
                    }
                    element
                }
                ("map", [expression]) => {
                    let element = self.elements(*receiver);
                    self.applied(expression, element)
                }
                _ => self.call(*receiver, args),
            },
            Expr::Array(items) if matches!(items[..], [Item { spread: false, .. }]) => {
                self.value(items[0].value)
            }
            _ => {
                self.read_all(id);
                None
            }
        }
    }

    /// Any builtin: its arguments are evaluated on values that were read, or on the current one.
    fn call(&mut self, receiver: ExprId, args: &[Arg]) -> Followed {
        self.read_all(receiver);
        for arg in args {
            for current in [None, self.current] {
                let value = self.applied_to(arg, None, current);
                self.demand.read(value);
            }
        }
        None
    }

    fn applied(&mut self, arg: &Arg, element: Followed) -> Followed {
        self.applied_to(arg, element, element)
    }

    fn applied_to(&mut self, arg: &Arg, first: Followed, current: Followed) -> Followed {
        for (at, variable) in arg.params.iter().enumerate() {
            self.set(*variable, if at == 0 { first } else { None });
        }
        self.with(current, arg.body)
    }

    fn with(&mut self, current: Followed, body: ExprId) -> Followed {
        let outer = std::mem::replace(&mut self.current, current);
        let value = self.value(body);
        self.current = outer;
        value
    }

    /// A name that stands for two things may be either wherever it is used.
    fn set(&mut self, variable: u32, value: Followed) {
        let earlier = std::mem::replace(&mut self.variables[variable as usize], value);
        if earlier.is_some() && earlier != value {
            self.demand.read(earlier);
            self.demand.read(value);
        }
    }

    fn either(&mut self, left: ExprId, right: ExprId) -> Followed {
        let (left, right) = (self.value(left), self.value(right));
        if left == right {
            return left;
        }
        self.demand.read(left);
        self.demand.read(right);
        None
    }

    fn all_of(&mut self, expressions: &[ExprId]) -> Followed {
        for id in expressions {
            self.read_all(*id);
        }
        None
    }

    fn member(&mut self, member: &Member) {
        match member {
            Member::Entry { key, value, when, .. } => {
                self.all_of(&[*key, *value]);
                if let Some(when) = when {
                    self.read_all(*when);
                }
            }
            Member::Spread(of) | Member::DeepSpread(of) => self.read_all(*of),
        }
    }
}
