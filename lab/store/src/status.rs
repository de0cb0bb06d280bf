//! The status of a run, and why it stopped.

use serde::{Deserialize, Serialize};

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
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
        match self {
            RunStatus::Running => "running",
            RunStatus::Finished => "finished",
            RunStatus::Interrupted => "interrupted",
        }
    }

    pub(super) fn parse(text: &str) -> Option<RunStatus> {
        [RunStatus::Running, RunStatus::Finished, RunStatus::Interrupted]
            .into_iter()
            .find(|s| s.as_str() == text)
    }
}

/// Why a run stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum StopReason {
    /// It has not stopped.
    #[default]
    Running,
    /// Every question is answered.
    Decided,
    /// No contender is left that can run.
    NothingLeft,
    /// The budget is spent.
    Budget,
    /// The limit of blocks or sessions is reached.
    BlockLimit,
    /// The user stopped it.
    Interrupted,
}

impl StopReason {
    const TEXTS: [(StopReason, &str); 6] = [
        (StopReason::Running, ""),
        (StopReason::Decided, "decided"),
        (StopReason::NothingLeft, "nothing left to measure"),
        (StopReason::Budget, "budget"),
        (StopReason::BlockLimit, "block limit"),
        (StopReason::Interrupted, "interrupted"),
    ];

    /// The text in reports and in the store; empty if the run has not stopped.
    pub fn as_str(self) -> &'static str {
        Self::TEXTS.iter().find(|(reason, _)| *reason == self).map_or("", |(_, text)| text)
    }
}

impl From<StopReason> for &'static str {
    fn from(reason: StopReason) -> &'static str {
        reason.as_str()
    }
}

impl TryFrom<String> for StopReason {
    type Error = String;

    fn try_from(text: String) -> Result<StopReason, String> {
        let known = Self::TEXTS.iter().find(|(_, known)| *known == text);
        known.map(|(reason, _)| *reason).ok_or_else(|| format!("the reason for stopping {text:?}"))
    }
}
