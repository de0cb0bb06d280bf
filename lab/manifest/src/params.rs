//! Parameters of workloads and their values.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use super::read::Problems;

/// The value of one parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ParamValue {
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// A text, often one of several choices.
    Text(String),
}

/// The parameters of a workload, by name.
pub(super) type Specs = IndexMap<String, ParamSpec>;

/// The values of a workload's parameters, in the order of its manifest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(pub IndexMap<String, ParamValue>);

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the displayed texts say it")]
pub enum ParamKind {
    #[strum(to_string = "a whole number")]
    Integer,
    #[strum(to_string = "a number")]
    Number,
    #[strum(to_string = "true or false")]
    Boolean,
    #[strum(to_string = "a text")]
    Text,
}

/// One parameter of a workload.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamSpec {
    /// Its type.
    pub kind: ParamKind,
    /// Its default.
    pub default: ParamValue,
    /// The least value of a number.
    pub min: Option<ParamValue>,
    /// The greatest value of a number.
    pub max: Option<ParamValue>,
    /// The permitted values; empty: all.
    #[serde(default)]
    pub choices: Vec<ParamValue>,
    /// The unit, for display.
    pub unit: Option<String>,
    /// The meaning of 0 if it stands for the absence of a limit; it then sorts above all other values.
    pub zero: Option<String>,
    /// Whether it is shown in a report's headline.
    #[serde(default)]
    pub headline: bool,
    /// One-line description.
    pub about: String,
}

impl Params {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.get(name)
    }

    /// The value of a non-negative whole-number parameter.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.get(name)?.integer().and_then(|n| u64::try_from(n).ok())
    }

    /// The product of whole-number parameters; a missing one counts as 0.
    pub fn product(&self, names: &[String]) -> u64 {
        names.iter().map(|name| self.count(name).unwrap_or(0)).fold(1, u64::saturating_mul)
    }

    /// The value of a numeric parameter.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.number()
    }

    /// The value of a boolean parameter.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.get(name)?.boolean()
    }

    /// Every parameter and its value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParamValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl ParamValue {
    /// The value as a whole number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        if let Self::Integer(n) = self { Some(*n) } else { None }
    }

    /// The value as a number, whole or not.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(n) => Some(*n as f64),
            Self::Number(n) => Some(*n),
            Self::Boolean(_) | Self::Text(_) => None,
        }
    }

    /// The value as true or false, if it is.
    pub fn boolean(&self) -> Option<bool> {
        if let Self::Boolean(b) = self { Some(*b) } else { None }
    }

    /// The value as a text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(t) = self { Some(t) } else { None }
    }

    /// The value converted to `kind`: whole numbers convert to numbers; no other type changes.
    fn of_kind(self, kind: ParamKind) -> Option<Self> {
        match (kind, self) {
            (ParamKind::Number, Self::Integer(n)) => Some(Self::Number(n as f64)),
            (ParamKind::Number, Self::Number(n)) if n.is_finite() => Some(Self::Number(n)),
            (ParamKind::Integer, v @ Self::Integer(_))
            | (ParamKind::Boolean, v @ Self::Boolean(_))
            | (ParamKind::Text, v @ Self::Text(_)) => Some(v),
            _ => None,
        }
    }

    /// Whether `self < other`; false if they are not ordered.
    fn less(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a < b,
            _ => self.number().zip(other.number()).is_some_and(|(a, b)| a < b),
        }
    }
}

impl ParamSpec {
    /// Returns `value` if it is valid for this parameter, else the violated rule.
    pub fn check(&self, value: ParamValue) -> Result<ParamValue, String> {
        let shown = value.to_string();
        let value = value.of_kind(self.kind).ok_or_else(|| format!("{shown} is not {}", self.kind))?;
        let unit = self.unit.as_ref().map(|u| format!(" {u}")).unwrap_or_default();
        if let Some(min) = self.min.as_ref().filter(|min| value.less(min)) {
            return Err(format!("{shown} is too small; the minimum is {min}{unit}"));
        }
        if let Some(max) = self.max.as_ref().filter(|max| max.less(&value)) {
            return Err(format!("{shown} is too large; the maximum is {max}{unit}"));
        }
        if !self.choices.is_empty() && !self.choices.contains(&value) {
            let choices: Vec<String> = self.choices.iter().map(ParamValue::to_string).collect();
            let meant = super::nearest(&shown, &choices).map(|c| format!(" (did you mean {c}?)"));
            let meant = meant.unwrap_or_default();
            return Err(format!("{shown} is not one of {}{meant}", choices.join(", ")));
        }
        Ok(value)
    }

    /// Parses a value from a command line.
    pub fn parse(&self, text: &str) -> Result<ParamValue, String> {
        let text = text.trim();
        let value = match self.kind {
            ParamKind::Integer => text.replace('_', "").parse().ok().map(ParamValue::Integer),
            ParamKind::Number => text.parse().ok().map(ParamValue::Number),
            ParamKind::Boolean => text.parse().ok().map(ParamValue::Boolean),
            ParamKind::Text => Some(ParamValue::Text(text.to_owned())),
        };
        self.check(value.ok_or_else(|| format!("\"{text}\" is not {}", self.kind))?)
    }

    /// Converts all values of the specification to its type, or returns the invalid field and the violated rule.
    pub(super) fn settle(&mut self) -> Result<(), (&'static str, String)> {
        let kind = self.kind;
        let numeric = matches!(kind, ParamKind::Integer | ParamKind::Number);
        for (field, bound) in [("min", &mut self.min), ("max", &mut self.max)] {
            let Some(value) = bound.take() else { continue };
            if !numeric {
                return Err((field, format!("{kind} has no min and max; use choices")));
            }
            *bound = Some(value.of_kind(kind).ok_or_else(|| (field, format!("must be {kind}")))?);
        }
        if let (Some(min), Some(max)) = (&self.min, &self.max)
            && max.less(min)
        {
            return Err(("min", format!("{min} is greater than max, {max}")));
        }
        for choice in &mut self.choices {
            let value = choice.clone().of_kind(kind);
            *choice = value.ok_or_else(|| ("choices", format!("{choice} is not {kind}")))?;
        }
        self.default = self.check(self.default.clone()).map_err(|rule| ("default", rule))?;
        Ok(())
    }
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n) => n.fmt(f),
            Self::Number(n) => n.fmt(f),
            Self::Boolean(b) => b.fmt(f),
            Self::Text(t) => t.fmt(f),
        }
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for ParamValue {
    // By hand: a derived untagged enum would read a whole number above 63 bits as an inexact one, and permit infinity.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = ParamValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a boolean or a string")
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<ParamValue, E> {
                Ok(ParamValue::Integer(n))
            }
            fn visit_u64<E: de::Error>(self, n: u64) -> Result<ParamValue, E> {
                let n =
                    i64::try_from(n).map_err(|_| E::custom("a whole number that exceeds 64 signed bits"))?;
                Ok(ParamValue::Integer(n))
            }
            fn visit_f64<E: de::Error>(self, n: f64) -> Result<ParamValue, E> {
                if n.is_finite() { Ok(ParamValue::Number(n)) } else { Err(E::custom("not a finite number")) }
            }
            fn visit_bool<E: de::Error>(self, b: bool) -> Result<ParamValue, E> {
                Ok(ParamValue::Boolean(b))
            }
            fn visit_str<E: de::Error>(self, t: &str) -> Result<ParamValue, E> {
                Ok(ParamValue::Text(t.to_owned()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Records a parameter that is unknown or of another kind. A whole number is also a number.
pub(super) fn kind_of(at: &str, name: &str, kind: ParamKind, params: &Specs, problems: &mut Problems) {
    match params.get(name) {
        None => problems.known(at, "parameter", name, params.keys()),
        Some(spec) => {
            let is_kind = spec.kind == kind || (spec.kind, kind) == (ParamKind::Integer, ParamKind::Number);
            problems.require(is_kind, at, format!("parameter \"{name}\" must be {kind}"));
        }
    }
}

/// Converts a value to the type of its parameter, or records why it is invalid.
pub(super) fn settle_value(
    at: &str,
    param: &str,
    value: &mut ParamValue,
    params: &Specs,
    problems: &mut Problems,
) {
    match params.get(param).map(|spec| spec.check(value.clone())) {
        None => problems.known(at, "parameter", param, params.keys()),
        Some(Err(rule)) => problems.push(at, rule),
        Some(Ok(checked)) => *value = checked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_exact_are_refused() {
        #[derive(Debug, Deserialize)]
        struct Row {
            value: ParamValue,
        }
        let json = |text: &str| serde_json::from_str::<Row>(text).map(|row| row.value).ok();
        let toml = |text: &str| toml::from_str::<Row>(text).map(|row| row.value).ok();
        for (read, wanted) in [
            (json(r#"{"value": 9223372036854775807}"#), Some(ParamValue::Integer(i64::MAX))),
            (json(r#"{"value": 9223372036854775808}"#), None),
            (toml("value = 1.5"), Some(ParamValue::Number(1.5))),
            (toml("value = inf"), None),
            (toml("value = nan"), None),
        ] {
            assert_eq!(read, wanted);
        }
    }
}
