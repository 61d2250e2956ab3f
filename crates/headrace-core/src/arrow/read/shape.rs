//! Which types the columns have.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::time::Zone;

/// The type of a column; its names are Spark's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Null, and nothing else.
    Null,
    /// `true` and `false`.
    Boolean,
    /// Integers of 1, 2, 4 or 8 bytes.
    Integer(u8),
    /// Integers of 8 bytes that are doubles as well.
    Exact,
    /// Floats of 4 bytes.
    Float,
    /// Floats of 8 bytes.
    Double,
    /// A decimal: its precision and its scale.
    Decimal(u8, u8),
    /// Strings as they are; of rows all else as JSON, of answers nothing else.
    String,
    /// Any value but null as JSON.
    Json,
    /// Bytes, in Base64.
    Binary,
    /// A date.
    Date,
    /// Points in time; those without an offset are in UTC.
    Timestamp,
    /// Points in time; those without an offset are in this zone.
    TimestampIn(Zone),
    /// Dates with a time of day, wherever.
    TimestampNtz,
    /// Objects whose fields have names.
    Struct(Vec<(String, Shape)>),
    /// An array.
    Array(Box<Shape>),
    /// Objects with any keys.
    Map(Box<Shape>),
    /// Any value.
    Variant,
}

impl Shape {
    /// Read the shape that Python has spelled as JSON.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shape: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        shape.checked()?;
        Ok(shape)
    }

    /// The same the other way round.
    pub fn spelled(&self) -> String {
        // Nothing in a shape can be refused by JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn checked(&self) -> Result<(), String> {
        match self {
            Self::Integer(1 | 2 | 4 | 8) => Ok(()),
            Self::Integer(bytes) => Err(format!("no integer has {bytes} bytes")),
            Self::Decimal(1..=38, scale) if *scale <= 38 => Ok(()),
            Self::Decimal(precision, scale) => Err(format!("no decimal({precision},{scale})")),
            Self::Struct(fields) => fields.iter().try_for_each(|(_, shape)| shape.checked()),
            Self::Array(of) | Self::Map(of) => of.checked(),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Exact => "integer of 53 bits",
            Self::Json => "json",
            Self::Integer(1) => "tinyint",
            Self::Integer(2) => "smallint",
            Self::Integer(4) => "int",
            Self::Integer(_) => "bigint",
            Self::Float => "float",
            Self::Double => "double",
            Self::Decimal(precision, scale) => return write!(f, "decimal({precision},{scale})"),
            Self::String => "string",
            Self::Binary => "binary",
            Self::Date => "date",
            Self::Timestamp | Self::TimestampIn(_) => "timestamp",
            Self::TimestampNtz => "timestamp_ntz",
            Self::Struct(_) => "struct",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Variant => "variant",
        })
    }
}
