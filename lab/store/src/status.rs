//! The status of a run, and why it stopped.

use serde::{Deserialize, Serialize};

/// The status of a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumString,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RunStatus {
    /// In progress, or killed.
    Running,
    /// Ended by its own rules.
    Finished,
    /// Ended by the user.
    Interrupted,
}

impl RunStatus {
    /// The name in the store.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Why a run stopped. The texts are those of reports and of the store.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumString,
)]
#[serde(into = "&'static str", try_from = "String")]
#[strum(serialize_all = "snake_case")]
pub enum StopReason {
    /// It has not stopped.
    #[default]
    #[strum(serialize = "")]
    Running,
    /// Every question is answered.
    Decided,
    /// No contender is left that can run.
    #[strum(serialize = "nothing left to measure")]
    NothingLeft,
    /// The budget is spent.
    Budget,
    /// The limit of blocks or sessions is reached.
    #[strum(serialize = "block limit")]
    BlockLimit,
    /// The user stopped it.
    Interrupted,
}

impl StopReason {
    /// The text; empty if the run has not stopped.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl TryFrom<String> for StopReason {
    type Error = String;

    fn try_from(text: String) -> Result<StopReason, String> {
        text.parse().map_err(|_| format!("the reason for stopping {text:?}"))
    }
}
