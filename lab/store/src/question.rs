//! What a run is to find out, where that is less than a verdict on every contender.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use netdyno_lab_manifest::ParamValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::planned::PlannedCell;

/// One ratio that a run is to find out, as exactly as what is said of it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// In which metric.
    pub metric: String,
    /// Of whom.
    pub a: Side,
    /// To whom, or to what.
    pub b: Side,
    /// What is said of it.
    pub says: Relation,
    /// How soon it is asked: one of the next rank waits until it is half as far from its end.
    pub rank: u8,
}

/// A cell of a run, or a number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Who plays all the roles that are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contender: Option<String>,
    /// Or who plays which role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, String>,
    /// At which values of parameters, where the run has several.
    #[serde(default, rename = "where", skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub at: IndexMap<String, ParamValue>,
    /// Or a number, in the metric's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
}

/// What is said of a ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// Which order, or which amount.
    pub is: Is,
    /// About how much; if nothing else is said, the published ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Within which factor of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
}

/// The kinds of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// a is more than b.
    More,
    /// a is less than b.
    Less,
    /// a / b is about so much.
    About,
}

impl Side {
    /// Whether this is one of its cells. A bound is none, nor somebody a second time.
    #[must_use]
    pub fn is(&self, cell: &PlannedCell) -> bool {
        let who = match &self.contender {
            Some(name) => cell.contenders.iter().all(|(role, n)| n == name || cell.partners.contains(role)),
            None => self.roles.iter().all(|(role, name)| cell.contenders.get(role) == Some(name)),
        };
        let at = self.at.iter().all(|(name, value)| match (cell.params.get(name), value.number()) {
            (Some(given), Some(number)) => given.number() == Some(number),
            (given, _) => given == Some(value),
        });
        who && at && !cell.ceiling && !cell.again
    }

    /// `one at rate=100`, `load > server`.
    #[must_use]
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
