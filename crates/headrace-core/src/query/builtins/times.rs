//! Dates and times.
//!
//! JSON has none, so a time is a text. What these functions give is RFC 3339 in UTC, with the
//! fraction it needs: then the order of the texts is that of the times.

use super::{Builtin, Parameter, Run, Size, in_group, limited, text_builder::text_argument};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        machine::{Evaluated, Flow, Sink},
        numbers::shown,
    },
    times::{Bucket, Civil, Moment, Pattern, Span, Unit, Zone},
    value::{Kind, Value},
};

/// A builtin that returns one field of a time on the clock of a zone.
const fn part(name: &'static str, run: Run) -> Builtin {
    Builtin::new(name, run).takes(&[Parameter::Value("zone")]).required(0)
}

macro_rules! of_date {
    ($part:expr) => {
        Run::Value(|machine, receiver, args| part_of(machine, receiver, args, $part))
    };
}

pub(super) static BUILTINS: &[Builtin] = &in_group("Times", [
    Builtin::value("to_time", to_time)
        .takes(&[Parameter::Value("unit"), Parameter::Value("zone")])
        .required(0)
        .doc("The time that a text of ISO 8601, RFC 3339 or RFC 2822 is, or a number of units \
              since the beginning of 1970: `s`, `ms`, `us` or `ns`. It is a text in UTC, and the \
              order of such texts is that of their times. A text without an offset is about the \
              clock of `zone` [default: UTC].")
        .examples(&[
            [
                r#""2026-11-18T22:09:41.50+01:00".to_time()"#,
                "null",
                r#""2026-11-18T21:09:41.5+00:00""#,
            ],
            [
                r#""Wed, 18 Nov 2026 21:09:41 GMT".to_time()"#,
                "null",
                r#""2026-11-18T21:09:41+00:00""#,
            ],
            [r#"1700000000123.to_time("ms")"#, "null", r#""2023-11-14T22:13:20.123+00:00""#],
            [
                r#""2026-07-01".to_time(zone: "Europe/Berlin")"#,
                "null",
                r#""2026-06-30T22:00:00+00:00""#,
            ],
            [
                r#"to_time("2026-01-01T00:00:00Z") < to_time("2026-01-01T00:00:00-01:00")"#,
                "null",
                "true",
            ],
            [r#""yesterday".to_time()"#, "null", "error"],
            ["1700000000.to_time()", "null", "error"],
            ["$.to_time()", "null", "null"],
        ]),
    Builtin::value("parse_time", parse_time)
        .takes(&[Parameter::Value("pattern to read"), Parameter::Value("zone")])
        .required(1)
        .aliases(&["strptime"])
        .doc("The time that a text is by a pattern of `strptime`: %Y %m %d %H %M %S %f (1 to 9 \
              digits) %z %b %B %a %A %j %y %I %p %s %F %T. Without an offset, it is about the \
              clock of `zone` [default: UTC].")
        .examples(&[
            [
                r#""10/Oct/2000:13:55:36 -0700".parse_time("%d/%b/%Y:%H:%M:%S %z")"#,
                "null",
                r#""2000-10-10T20:55:36+00:00""#,
            ],
            [
                r#""18.11.2026 22:00".parse_time("%d.%m.%Y %H:%M", zone: "Europe/Berlin")"#,
                "null",
                r#""2026-11-18T21:00:00+00:00""#,
            ],
            [r#""18.11.".parse_time("%d.%m.")"#, "null", "error"],
            [r#""2026-02-30".parse_time("%F")"#, "null", "error"],
        ]),
    Builtin::value("format_time", format_time)
        .takes(&[Parameter::Value("pattern to write"), Parameter::Value("zone")])
        .required(1)
        .aliases(&["strftime"])
        .doc("A time as text by a pattern of `strftime`, by the clock of `zone` [default: UTC]. \
              Beside those of `parse_time` there are %V and %G (week and year of ISO 8601), %u, %Z, \
              %:z, %3f, %6f and %9f; `-` leaves zeros out, as in %-d.")
        .examples(&[
            [r#""2026-11-18T21:09:41Z".format_time("%Y-%m")"#, "null", r#""2026-11""#],
            [
                r#""2026-07-01T12:00:00Z".format_time("%-d %B, %H:%M %Z", zone: "Europe/Berlin")"#,
                "null",
                r#""1 July, 14:00 CEST""#,
            ],
            [r#""2026-11-18".format_time("%Q")"#, "null", "error"],
            [r#""2026-11-18".format_time("YYYY-MM")"#, "null", "error"],
        ]),
    Builtin::value("to_epoch", to_epoch)
        .takes(&[Parameter::Value("unit"), Parameter::Value("zone")])
        .required(0)
        .doc("The number of whole units from the beginning of 1970 in UTC to a time [default: s].")
        .examples(&[
            [r#""2023-11-14T22:13:20.123Z".to_epoch()"#, "null", "1700000000"],
            [r#""2023-11-14T22:13:20.123Z".to_epoch("ms")"#, "null", "1700000000123"],
            [r#""1969-12-31T23:59:59.5Z".to_epoch()"#, "null", "-1"],
        ]),
    Builtin::value("trunc_time", trunc_time)
        .takes(&[Parameter::Value("bucket"), Parameter::Value("zone")])
        .required(1)
        .aliases(&["date_trunc"])
        .doc("The beginning of the year, quarter, month, week (Monday), day, hour, minute, second, \
              ms or us of a time, or of a part of a day or year as `15m`, `6h` or `3mo`, by the \
              clock of `zone` [default: UTC].")
        .examples(&[
            [
                r#""2026-11-18T21:09:41Z".trunc_time("hour")"#,
                "null",
                r#""2026-11-18T21:00:00+00:00""#,
            ],
            [
                r#""2026-11-18T21:09:41Z".trunc_time("15m")"#,
                "null",
                r#""2026-11-18T21:00:00+00:00""#,
            ],
            [
                r#""2026-07-01T23:00:00Z".trunc_time("day", zone: "Europe/Berlin")"#,
                "null",
                r#""2026-07-01T22:00:00+00:00""#,
            ],
            [r#""2026-11-18".trunc_time("7m")"#, "null", "error"],
        ]),
    Builtin::value("add_time", add_time)
        .takes(&[Parameter::Value("span"), Parameter::Value("zone")])
        .required(1)
        .doc("The time that is a span later: a text as `1h30m`, `-2d` or `3mo`, or an object as \
              `{months: 1, days: -1}`. Years to days are those of the calendar, by the clock of \
              `zone` [default: UTC], and then the rest passes; of a month that is too short it is the \
              last day.")
        .examples(&[
            [
                r#""2026-11-18T21:09:41Z".add_time("1h30m")"#,
                "null",
                r#""2026-11-18T22:39:41+00:00""#,
            ],
            [r#""2026-01-31".add_time({months: 1})"#, "null", r#""2026-02-28T00:00:00+00:00""#],
            [
                r#""2026-03-28T12:00:00+01:00".add_time("1d", zone: "Europe/Berlin")"#,
                "null",
                r#""2026-03-29T10:00:00+00:00""#,
            ],
            [r#""2026-01-31".add_time("soon")"#, "null", "error"],
        ]),
    Builtin::value("time_diff", time_diff)
        .takes(&[
            Parameter::Value("before"),
            Parameter::Value("unit"),
            Parameter::Value("zone"),
        ])
        .required(1)
        .doc("A time minus another one, in a unit [default: s]; negative if it is before it. Of \
              weeks and shorter units an exact count, which may have a fraction; of months, quarters \
              and years how many are complete by the clock of `zone` [default: UTC].")
        .examples(&[
            [r#"time_diff("2026-11-18T12:00:00Z", "2026-11-18T10:30:00Z", "h")"#, "null", "1.5"],
            [r#"time_diff("2026-11-18", "2026-11-19", "day")"#, "null", "-1"],
            [r#""2026-11-18".time_diff("1990-11-19", "year")"#, "null", "35"],
            [r#""2026-11-18".time_diff(null)"#, "null", "null"],
        ]),
    part("year", of_date!(|date| date.year))
        .doc("The year of a time, by the clock of `zone` [default: UTC].")
        .examples(&[
            [r#"year("2026-11-18T21:09:41Z")"#, "null", "2026"],
            [r#""2026-12-31T23:30:00Z".year(zone: "+01:00")"#, "null", "2027"],
            ["{a: 1}.year()", "null", "error"],
        ]),
    part("month", of_date!(|date| date.month))
        .doc("The month of a time, from 1 to 12; see `year`.")
        .examples(&[[r#"month("2026-11-18T21:09:41Z")"#, "null", "11"]]),
    part("day", of_date!(|date| date.day))
        .doc("The day of the month of a time, from 1 to 31; see `year`.")
        .examples(&[[r#"day("2026-11-18T21:09:41Z")"#, "null", "18"]]),
    part("hour", of_date!(|date| date.hour))
        .doc("The hour of a time, from 0 to 23; see `year`.")
        .examples(&[
            [r#"hour("2026-11-18T21:09:41Z")"#, "null", "21"],
            [r#"hour("2026-11-18T21:09:41Z", zone: "America/New_York")"#, "null", "16"],
        ]),
    part("minute", of_date!(|date| date.minute))
        .doc("The minute of a time, from 0 to 59; see `year`.")
        .examples(&[[r#"minute("2026-11-18T21:09:41Z")"#, "null", "9"]]),
    part("second", of_date!(|date| date.second))
        .doc("The second of a time, from 0 to 59, without its fraction; see `year`.")
        .examples(&[[r#"second("2026-11-18T21:09:41.9Z")"#, "null", "41"]]),
    part("weekday", of_date!(Civil::weekday))
        .doc("The day of the week of a time, from 1 for Monday to 7 for Sunday; see `year`.")
        .examples(&[[r#"weekday("2026-11-18")"#, "null", "3"]]),
    part("iso_week", of_date!(|date| date.iso_week().1))
        .doc("The week of ISO 8601 of a time, from 1 to 53; see `year`.")
        .examples(&[[r#"iso_week("2027-01-01")"#, "null", "53"]]),
    part("day_of_year", of_date!(Civil::day_of_year))
        .doc("The day of the year of a time, from 1 to 366; see `year`.")
        .examples(&[[r#"day_of_year("2026-12-31")"#, "null", "365"]]),
    Builtin::stage("time_range", time_range)
        .takes(&[Parameter::Value("end"), Parameter::Value("step"), Parameter::Value("zone")])
        .required(2)
        .doc("Times from the first to before the end, in steps as `add_time` takes them; downwards \
              if the step is negative.")
        .examples(&[
            [
                r#"time_range("2026-01-31", "2026-04-01", "1mo")"#,
                "null",
                r#"["2026-01-31T00:00:00+00:00", "2026-02-28T00:00:00+00:00", "2026-03-31T00:00:00+00:00"]"#,
            ],
            [r#"time_range("2026-01-01", "2026-01-02", "12h").count()"#, "null", "2"],
            [r#"time_range("2026-01-01", "2026-01-02", "0s")"#, "null", "error"],
        ]),
]);

/// An argument by its name, or by its place.
fn argument<'p>(args: &'p [Arg], name: &str, place: usize) -> Option<&'p Arg> {
    let by_name = args.iter().find(|arg| arg.name.as_deref() == Some(name));
    by_name.or_else(|| args.get(place).filter(|arg| arg.name.is_none()))
}

fn zone_of<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    args: &'p [Arg],
    place: usize,
) -> Evaluated<'r, Zone> {
    match argument(args, "zone", place) {
        None => Ok(Zone::UTC),
        Some(arg) => Zone::find(text_argument(machine, arg)?).map_err(Fault::new),
    }
}

fn unit_of<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    args: &'p [Arg],
    place: usize,
) -> Evaluated<'r, Option<Unit>> {
    match argument(args, "unit", place) {
        None => Ok(None),
        Some(arg) => Unit::find(text_argument(machine, arg)?).map(Some).map_err(Fault::new),
    }
}

/// The time that a value is; None for null.
fn moment_of<'r>(
    machine: &Machine<'_, 'r>,
    value: Value<'r>,
    zone: &Zone,
) -> Evaluated<'r, Option<Moment>> {
    if value.is_null() {
        return Ok(None);
    }
    let Some(text) = value.as_str(machine.arena) else {
        let cure = match value.kind() {
            Kind::Number => "; write to_time(n, \"s\") or to_time(n, \"ms\")",
            Kind::Object => "; for its field of this name write @.name",
            _ => "",
        };
        let shown = shown(value, machine.arena);
        return Err(Fault::new(format!("{shown} is no time{cure}")));
    };
    Moment::parse(text, zone).map(Some).map_err(Fault::new)
}

fn text_value<'r>(machine: &Machine<'_, 'r>, moment: Moment) -> Value<'r> {
    Value::Str(machine.arena.alloc_str(&moment.text()))
}

fn to_time<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let (unit, zone) = (unit_of(machine, args, 0)?, zone_of(machine, args, 1)?);
    let Some(unit) = unit else {
        let moment = moment_of(machine, receiver, &zone)?;
        return Ok(moment.map_or(Value::Null, |moment| text_value(machine, moment)));
    };
    let scale = unit.nanos().ok_or_else(|| {
        Fault::new("numbers are counted in s, ms, us or ns: months and years are not all alike")
    })?;
    let nanos = match receiver.resolved(machine.arena) {
        Value::Null => return Ok(Value::Null),
        Value::Int(number) => i128::from(number).saturating_mul(scale),
        Value::Float(number) => {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                reason = "saturates; units are doubles"
            )]
            let (whole, part) =
                (number.trunc() as i128, (number.fract() * scale as f64).round_ties_even() as i128);
            whole.saturating_mul(scale).saturating_add(part)
        }
        other => {
            let shown = shown(other, machine.arena);
            return Err(Fault::new(format!("a unit goes with a number, not {shown}")));
        }
    };
    let moment = Moment::of_nanos(nanos).map_err(Fault::new)?;
    Ok(text_value(machine, moment))
}

fn parse_time<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let pattern = Pattern::to_read(text_argument(machine, &args[0])?).map_err(Fault::new)?;
    let zone = zone_of(machine, args, 1)?;
    let Some(text) = receiver.as_str(machine.arena) else {
        if receiver.is_null() {
            return Ok(Value::Null);
        }
        let shown = shown(receiver, machine.arena);
        return Err(Fault::new(format!("parse_time takes a string, not {shown}")));
    };
    let moment = pattern.read(text, &zone).map_err(Fault::new)?;
    Ok(text_value(machine, moment))
}

fn format_time<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let pattern = Pattern::to_write(text_argument(machine, &args[0])?).map_err(Fault::new)?;
    let zone = zone_of(machine, args, 1)?;
    let Some(moment) = moment_of(machine, receiver, &zone)? else { return Ok(Value::Null) };
    let text = pattern.write(moment, &zone).map_err(Fault::new)?;
    Ok(Value::Str(machine.arena.alloc_str(&text)))
}

/// An integer of any size.
fn integer<'r>(machine: &Machine<'_, 'r>, number: i128) -> Value<'r> {
    let big = |_| Value::Big(machine.arena.alloc_str(&number.to_string()));
    i64::try_from(number).map_or_else(big, Value::Int)
}

fn to_epoch<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let unit = unit_of(machine, args, 0)?.unwrap_or(Unit::Second);
    let zone = zone_of(machine, args, 1)?;
    let scale = unit.nanos().ok_or_else(|| {
        Fault::new(
            "times are counted in weeks or shorter units: months and years are not all alike",
        )
    })?;
    let moment = moment_of(machine, receiver, &zone)?;
    Ok(moment.map_or(Value::Null, |moment| integer(machine, moment.nanos().div_euclid(scale))))
}

fn trunc_time<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let bucket = Bucket::parse(text_argument(machine, &args[0])?).map_err(Fault::new)?;
    let zone = zone_of(machine, args, 1)?;
    let Some(moment) = moment_of(machine, receiver, &zone)? else { return Ok(Value::Null) };
    let start = bucket.cut(moment, &zone).map_err(Fault::new)?;
    Ok(text_value(machine, start))
}

/// The span that an argument is: a text, or an object of units.
fn span_of<'p, 'r>(machine: &mut Machine<'p, 'r>, arg: &'p Arg) -> Evaluated<'r, Span> {
    let value = machine.value_of(arg)?;
    let arena = machine.arena;
    if let Some(text) = value.as_str(arena) {
        return Span::parse(text).map_err(Fault::new);
    }
    let Some(entries) = value.as_object(arena) else {
        let shown = shown(value, arena);
        return Err(Fault::new(format!(
            "a span is a text as \"1h30m\", or an object as {{days: 1}}, not {shown}"
        )));
    };
    let mut span = Span::default();
    for (name, count) in entries {
        let unit = Unit::find(name).map_err(Fault::new)?;
        let Value::Int(count) = count.resolved(arena) else {
            let shown = shown(*count, arena);
            return Err(Fault::new(format!("{name} must be an integer, not {shown}")));
        };
        span = span.plus(count, unit).map_err(Fault::new)?;
    }
    Ok(span)
}

fn add_time<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let span = span_of(machine, &args[0])?;
    let zone = zone_of(machine, args, 1)?;
    let Some(moment) = moment_of(machine, receiver, &zone)? else { return Ok(Value::Null) };
    let later = span.after(moment, &zone).map_err(Fault::new)?;
    Ok(text_value(machine, later))
}

fn time_diff<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let other = machine.value_of(&args[0])?;
    let unit = unit_of(machine, args, 1)?.unwrap_or(Unit::Second);
    let zone = zone_of(machine, args, 2)?;
    let (Some(late), Some(early)) =
        (moment_of(machine, receiver, &zone)?, moment_of(machine, other, &zone)?)
    else {
        return Ok(Value::Null);
    };
    if let Some(months) = unit.months() {
        let count = months_between(early, late, &zone).map_err(Fault::new)?;
        return Ok(Value::Int(count / months));
    }
    let nanos = late.nanos() - early.nanos();
    let scale = unit.nanos().unwrap_or(1);
    if nanos % scale == 0 {
        return Ok(integer(machine, nanos / scale));
    }
    #[allow(clippy::cast_precision_loss, reason = "a count with a fraction is a double")]
    let count = (nanos / scale) as f64 + (nanos % scale) as f64 / scale as f64;
    Ok(Value::Float(count))
}

/// How many complete months there are from one time to another, by the clock of a zone.
fn months_between(early: Moment, late: Moment, zone: &Zone) -> Result<i64, String> {
    let (early, late) = (early.wall(zone)?, late.wall(zone)?);
    let (first, last) = (Civil::of(early.seconds), Civil::of(late.seconds));
    let months = (last.year - first.year) * 12 + last.month - first.month;
    let reached = first.plus_months(months).and_then(Civil::seconds);
    let reached = reached.map(|seconds| Moment { seconds, nanos: early.nanos });
    Ok(match reached {
        Some(reached) if late >= early && reached > late => months - 1,
        Some(reached) if late < early && reached < late => months + 1,
        _ => months,
    })
}

fn part_of<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
    part: fn(Civil) -> i64,
) -> Evaluated<'r> {
    let zone = zone_of(machine, args, 0)?;
    let Some(moment) = moment_of(machine, receiver, &zone)? else { return Ok(Value::Null) };
    let wall = moment.wall(&zone).map_err(Fault::new)?;
    Ok(Value::Int(part(Civil::of(wall.seconds))))
}

fn time_range<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let (first, end) = (machine.eval(receiver)?, machine.value_of(&args[0])?);
    let Some(step) = args.get(1) else {
        return Err(Fault::new("time_range takes a step, as \"1h\""));
    };
    let step = span_of(machine, step)?;
    let zone = zone_of(machine, args, 2)?;
    let (Some(first), Some(end)) =
        (moment_of(machine, first, &zone)?, moment_of(machine, end, &zone)?)
    else {
        return Ok(Flow::Continue);
    };
    let second = step.after(first, &zone).map_err(Fault::new)?;
    if second == first {
        return Err(Fault::new("the step of time_range goes nowhere"));
    }
    let upwards = second > first;
    let (mut moment, mut count) = (first, 0_i64);
    while if upwards { moment < end } else { moment > end } {
        let value = text_value(machine, moment);
        if sink(machine, value)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        count += 1;
        limited(Size::Elements(usize::try_from(count).unwrap_or(usize::MAX)))?;
        // Counted from the first, so that a short month does not shorten those behind it.
        let Ok(next) = step.times(count).after(first, &zone) else { break };
        if (next > moment) != upwards {
            return Err(Fault::new("the step of time_range goes back and forth"));
        }
        moment = next;
    }
    Ok(Flow::Continue)
}
