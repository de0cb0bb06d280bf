//! Metrics: what a trial's stored samples are turned into, and how.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::params::kind_of;
use super::read::Problems;
use super::{ParamKind, ParamSpec};

/// The fields of a role's meter that a metric may name.
pub const METER_FIELDS: &[&str] = &[
    "cpu_ns",
    "cpu_user_ns",
    "cpu_system_ns",
    "peak_rss_bytes",
    "rss_bytes",
    "context_switches",
    "pss_bytes",
    "private_bytes",
];

/// The fields of the network namespace's counters that a metric may name.
pub const WIRE_FIELDS: &[&str] =
    &["bytes", "packets", "ip_packets", "udp_datagrams", "udp_drops", "udp_errors", "interface_drops"];

/// One figure of a trial.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name in JSON and in the store.
    pub name: String,
    /// Its name in a table's head.
    pub label: String,
    /// Its unit: `B/s`, `ns`, `B`, `1/s`, or `1` for a plain number.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Whether verdicts, bars and the share of the ceiling are of this one. One metric of a workload is.
    #[serde(default)]
    pub primary: bool,
    /// Whether its intervals, too, must be as narrow as was asked for before a run stops; the primary's must in any case.
    #[serde(default)]
    pub decides: bool,
    /// Whether the tables have a column for it.
    #[serde(default = "yes")]
    pub column: bool,
    /// Whether its column stands beside the primary one's where there is little room: on a narrow terminal, and in
    /// Markdown before the fold that has the whole table.
    #[serde(default)]
    pub headline: bool,
    /// How it is computed.
    pub from: Source,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A moment before the measured window, at which nothing is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Every role is connected, and `verify` has not begun.
    Connected,
    /// `verify` is over, and the warm-up has not begun.
    Verified,
}

/// How a metric is computed from what was stored of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// A counter's difference between two marks over the difference of its own `at_ns`, a second.
    Rate {
        /// Whose counter.
        role: String,
        /// Which counter.
        counter: String,
        /// How many increments of the counter are one of what the figure is of.
        #[serde(default = "one")]
        increments: u32,
    },
    /// A counter's difference between two marks.
    Count {
        /// Whose counter.
        role: String,
        /// Which counter.
        counter: String,
    },
    /// A quantile of the role's `setup_ns`.
    SetupQuantile {
        /// Whose setup times.
        role: String,
        /// From 0 to 1.
        quantile: f64,
    },
    /// CPU time in the window, in ns, for one increment of a counter.
    CpuPer {
        /// Whose counter.
        role: String,
        /// Which counter.
        counter: String,
        /// How many increments of the counter are one of what the figure is of.
        #[serde(default = "one")]
        increments: u32,
        /// Whose CPU time, where it is not that of all roles: one that spins by contract would hide the others.
        of: Option<String>,
    },
    /// A field of each role's meter, and the sum over the roles.
    Meter {
        /// One of [`METER_FIELDS`].
        field: String,
        /// Whose, where it is not that of all roles.
        of: Option<String>,
        /// When it was read, where it is not the last reading.
        at: Option<Moment>,
    },
    /// By how much a field of a role's meter grew while the gate's role did `verify`, for each thing that this put in.
    MeterGrowth {
        /// One of [`METER_FIELDS`].
        field: String,
        /// Whose.
        of: String,
        /// What was put in: the sum of these products of parameters.
        each: Vec<Vec<String>>,
        /// Of fewer nothing is told.
        least: u64,
    },
    /// The sum of a meter's field over the roles in the window, for one increment of a counter.
    MeterPer {
        /// One of [`METER_FIELDS`].
        field: String,
        /// Whose counter.
        role: String,
        /// Which counter.
        counter: String,
        /// How many increments of the counter are one of what the figure is of.
        #[serde(default = "one")]
        increments: u32,
        /// Whose meter, where it is not that of all roles.
        of: Option<String>,
    },
    /// A counter of the network namespace over the window.
    Wire {
        /// One of [`WIRE_FIELDS`].
        field: String,
    },
    /// A counter of the network namespace over the window, for one increment of a counter.
    WirePer {
        /// One of [`WIRE_FIELDS`].
        field: String,
        /// Whose counter.
        role: String,
        /// Which counter.
        counter: String,
        /// How many increments of the counter are one of what the figure is of.
        #[serde(default = "one")]
        increments: u32,
    },
    /// A quantile of a histogram of the role's result.
    HistogramQuantile {
        /// Whose histogram.
        role: String,
        /// Which histogram.
        histogram: String,
        /// From 0 to 1.
        quantile: f64,
    },
}

impl Source {
    /// The role that it reads, where it reads one.
    pub fn role(&self) -> Option<&str> {
        match self {
            Self::Rate { role, .. }
            | Self::Count { role, .. }
            | Self::SetupQuantile { role, .. }
            | Self::CpuPer { role, .. }
            | Self::MeterPer { role, .. }
            | Self::WirePer { role, .. }
            | Self::HistogramQuantile { role, .. } => Some(role),
            Self::Meter { .. } | Self::MeterGrowth { .. } | Self::Wire { .. } => None,
        }
    }

    /// The role's counter that it reads, where it reads one.
    pub fn counter(&self) -> Option<&str> {
        match self {
            Self::Rate { counter, .. }
            | Self::Count { counter, .. }
            | Self::CpuPer { counter, .. }
            | Self::MeterPer { counter, .. }
            | Self::WirePer { counter, .. } => Some(counter),
            Self::SetupQuantile { .. }
            | Self::Meter { .. }
            | Self::MeterGrowth { .. }
            | Self::Wire { .. }
            | Self::HistogramQuantile { .. } => None,
        }
    }

    /// How many increments of its counter are one of what it is of, where that is not fixed.
    fn increments(&self) -> Option<u32> {
        match self {
            Self::Rate { increments, .. }
            | Self::CpuPer { increments, .. }
            | Self::MeterPer { increments, .. }
            | Self::WirePer { increments, .. } => Some(*increments),
            _ => None,
        }
    }

    /// The role whose meter it reads, where it is that of one alone.
    pub fn metered(&self) -> Option<&String> {
        match self {
            Self::CpuPer { of, .. } | Self::MeterPer { of, .. } | Self::Meter { of, .. } => of.as_ref(),
            Self::MeterGrowth { of, .. } => Some(of),
            _ => None,
        }
    }

    /// The moments at which the meter is read for it, beside the window's ends.
    pub fn moments(&self) -> &[Moment] {
        match self {
            Self::Meter { at: Some(Moment::Connected), .. } => &[Moment::Connected],
            Self::Meter { at: Some(Moment::Verified), .. } => &[Moment::Verified],
            Self::MeterGrowth { .. } => &[Moment::Connected, Moment::Verified],
            _ => &[],
        }
    }
}

impl Metric {
    pub(super) fn check(
        &self,
        at: &str,
        roles: &[String],
        params: &IndexMap<String, ParamSpec>,
        problems: &mut Problems,
    ) {
        problems.name(&format!("{at}.name"), &self.name);
        problems.not_empty(&format!("{at}.label"), &self.label);
        problems.not_empty(&format!("{at}.unit"), &self.unit);
        if self.headline && !self.column {
            problems
                .push(format!("{at}.headline"), "it has no column: leave `column = false` out".to_owned());
        }
        let (kind, quantile) = match &self.from {
            Source::Rate { .. } => ("rate", None),
            Source::Count { .. } => ("count", None),
            Source::SetupQuantile { quantile, .. } => ("setup_quantile", Some(quantile)),
            Source::CpuPer { .. } => ("cpu_per", None),
            Source::MeterGrowth { field, each, .. } => {
                let at = format!("{at}.from.meter_growth");
                problems.known(&format!("{at}.field"), "meter field", field, METER_FIELDS);
                for name in each.iter().flatten() {
                    kind_of(&format!("{at}.each"), name, ParamKind::Integer, params, problems);
                }
                ("meter_growth", None)
            }
            Source::Meter { field, .. } => {
                problems.known(&format!("{at}.from.meter.field"), "meter field", field, METER_FIELDS);
                ("meter", None)
            }
            Source::MeterPer { field, .. } => {
                problems.known(&format!("{at}.from.meter_per.field"), "meter field", field, METER_FIELDS);
                ("meter_per", None)
            }
            Source::Wire { field } => {
                problems.known(&format!("{at}.from.wire.field"), "wire field", field, WIRE_FIELDS);
                ("wire", None)
            }
            Source::WirePer { field, .. } => {
                problems.known(&format!("{at}.from.wire_per.field"), "wire field", field, WIRE_FIELDS);
                ("wire_per", None)
            }
            Source::HistogramQuantile { histogram, quantile, .. } => {
                problems.not_empty(&format!("{at}.from.histogram_quantile.histogram"), histogram);
                ("histogram_quantile", Some(quantile))
            }
        };
        if let Some(of) = self.from.metered() {
            problems.known(&format!("{at}.from.{kind}.of"), "role", of, roles);
        }
        if let Some(role) = self.from.role() {
            problems.known(&format!("{at}.from.{kind}.role"), "role", role, roles);
        }
        if let Some(counter) = self.from.counter() {
            problems.not_empty(&format!("{at}.from.{kind}.counter"), counter);
        }
        if self.from.increments() == Some(0) {
            problems.push(format!("{at}.from.{kind}.increments"), "must be at least 1");
        }
        if let Some(quantile) = quantile.filter(|q| !(0.0..=1.0).contains(*q)) {
            problems.push(format!("{at}.from.{kind}.quantile"), format!("{quantile} is not from 0 to 1"));
        }
    }
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}
