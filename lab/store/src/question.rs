//! Questions of a run that does not need a verdict on every contender.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use netdyno_lab_manifest::ParamValue;
use serde::{Deserialize, Serialize};

/// A ratio to determine, as precisely as its relation requires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// The metric.
    pub metric: String,
    /// The numerator.
    pub a: Side,
    /// The denominator.
    pub b: Side,
    /// The relation to test.
    pub says: Relation,
    /// Priority: a question of the next rank waits until it is half as far from its end.
    pub rank: u8,
}

/// A cell of a run, or a number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The contender of all compared roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contender: Option<String>,
    /// Or the contender of each role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, String>,
    /// Values of parameters, if the run has several.
    #[serde(default, rename = "where", skip_serializing_if = "IndexMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, serde_json::Value>"))]
    pub at: IndexMap<String, ParamValue>,
    /// Or a number, in the metric's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
}

/// A relation of the two sides of a ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// The kind of relation.
    pub is: Is,
    /// The approximate ratio; by default the published one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The tolerated factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// The factor to which the published ratio is tested; by default from its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
}

/// The kinds of relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// a is more than b.
    More,
    /// a is less than b.
    Less,
    /// a / b is approximately a value.
    About,
}

impl Side {
    /// `one at rate=100`, `load > server`.
    pub fn label(&self) -> String {
        let who = match (&self.contender, self.figure) {
            (Some(name), _) => name.clone(),
            (None, Some(_)) => "the published figure".to_owned(),
            (None, None) => self.roles.values().map(String::as_str).collect::<Vec<_>>().join(" > "),
        };
        let at: Vec<String> = self.at.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if at.is_empty() { who } else { format!("{who} at {}", at.join(" ")) }
    }
}
