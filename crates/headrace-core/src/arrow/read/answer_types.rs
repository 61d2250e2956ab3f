//! Types of the columns of answers, from what was seen of them.
//!
//! A type takes each value of its column exactly. Where there is none, at any depth, the whole
//! column is [`Shape::Json`], with the place and the first answer that does not fit those before.

use super::{
    Shape,
    infer::{Fields, Kind, MOST_FIELDS, MOST_LEVELS, Seen},
};

/// Why a column has no type.
#[derive(Clone, Debug)]
struct Conflict {
    /// The first row that does not fit those before it.
    row: u64,
    reason: String,
}

impl Fields {
    pub(super) fn columns(&self, may_follow: bool, mixed: &mut Vec<(String, String)>) -> Shape {
        let columns = self.ordered.iter().map(|field| {
            let shape = field.seen.common(&field.name, may_follow).unwrap_or_else(|conflict| {
                let Conflict { row, reason } = conflict;
                mixed.push((field.name.to_string(), format!("{reason} (answer {})", row + 1)));
                Shape::Json
            });
            (field.name.to_string(), shape)
        });
        Shape::Struct(columns.collect())
    }

    fn common(&self, path: &str, may_follow: bool) -> Result<Shape, Conflict> {
        if let Some(row) = self.overfull {
            let reason = format!("{path} has more than {MOST_FIELDS} fields");
            return Err(Conflict { row, reason });
        }
        let mut first: Option<Conflict> = None;
        let mut fields = Vec::with_capacity(self.ordered.len());
        for field in &self.ordered {
            match field.seen.common(&format!("{path}.{}", field.name), may_follow) {
                Ok(shape) => fields.push((field.name.to_string(), shape)),
                Err(conflict) if first.as_ref().is_none_or(|first| conflict.row < first.row) => {
                    first = Some(conflict);
                }
                Err(_) => {}
            }
        }
        first.map_or(Ok(Shape::Struct(fields)), Err)
    }
}

impl Seen {
    /// The type that takes each value exactly, or the first row in which there is none.
    fn common(&self, path: &str, may_follow: bool) -> Result<Shape, Conflict> {
        let own = self.common_kind(path, may_follow);
        let object = self.object.as_ref().map(|fields| fields.common(path, may_follow));
        let array =
            self.array.as_ref().map(|element| element.common(&format!("{path}[]"), may_follow));
        let conflicts = [
            own.as_ref().err(),
            object.as_ref().and_then(|shape| shape.as_ref().err()),
            array.as_ref().and_then(|shape| shape.as_ref().err()),
        ];
        if let Some(first) = conflicts.into_iter().flatten().min_by_key(|conflict| conflict.row) {
            return Err(first.clone());
        }
        match (own?, object, array) {
            (Some(Kind::Object), Some(fields), _) => fields,
            (Some(Kind::Array), _, Some(element)) => Ok(Shape::Array(Box::new(element?))),
            (Some(Kind::Boolean), ..) => Ok(Shape::Boolean),
            (Some(Kind::Integer), ..) => Ok(Shape::Exact),
            (Some(Kind::Wide), ..) => Ok(Shape::Integer(8)),
            (Some(Kind::Decimal), ..) => Ok(Shape::Double),
            (Some(Kind::Text), ..) => Ok(Shape::String),
            _ => Ok(Shape::Null),
        }
    }

    fn common_kind(&self, path: &str, may_follow: bool) -> Result<Option<Kind>, Conflict> {
        let mut common = None;
        for &(kind, row) in &self.met {
            let conflict = |reason| Err(Conflict { row, reason });
            common = Some(match (common, kind) {
                (_, Kind::Huge) => {
                    return conflict(format!("{path} has integers of more than 64 bits"));
                }
                (_, Kind::Vast) => {
                    return conflict(format!("{path} has numbers beyond every double"));
                }
                (_, Kind::Deep) => {
                    return conflict(format!("{path} is nested deeper than {MOST_LEVELS} levels"));
                }
                (None, Kind::Object) if !may_follow && self.has_no_fields() => {
                    return conflict(format!("{path} is an object without fields"));
                }
                (None, kind) => kind,
                (Some(Kind::Integer | Kind::Wide), Kind::Integer | Kind::Wide) => Kind::Wide,
                (Some(Kind::Integer), Kind::Decimal) | (Some(Kind::Decimal), Kind::Integer) => {
                    Kind::Decimal
                }
                (Some(before), kind) => return conflict(format!("{path} is {before} and {kind}")),
            });
        }
        Ok(common)
    }

    fn has_no_fields(&self) -> bool {
        let is_empty = |fields: &Fields| fields.ordered.is_empty() && fields.overfull.is_none();
        self.object.as_ref().is_some_and(is_empty)
    }
}
