//! Metrics and how they are computed from the stored samples of a trial.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::params::kind_of;
use super::read::Problems;
use super::{ParamKind, ParamSpec};

/// Fields of a role's meter that a metric may use.
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

/// Fields of the network counters that a metric may use.
pub const WIRE_FIELDS: &[&str] =
    &["bytes", "packets", "ip_packets", "udp_datagrams", "udp_drops", "udp_errors", "interface_drops"];

/// One figure of a trial.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name in JSON and in the store.
    pub name: String,
    /// Its name in the head of a table.
    pub label: String,
    /// Its unit: `B/s`, `ns`, `B`, `1/s`, or `1` for a plain number.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Whether verdicts, bars and the percentage of the ceiling are based on this metric; exactly one of a workload.
    #[serde(default)]
    pub primary: bool,
    /// Whether its intervals, like the primary metric's, must reach the wanted precision before a run stops.
    #[serde(default)]
    pub decides: bool,
    /// Whether tables have a column for it.
    #[serde(default = "default_true")]
    pub column: bool,
    /// Whether its column is shown next to the primary metric's in narrow tables: on narrow terminals, and in
    /// Markdown before the fold with the whole table.
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

/// A moment before the measured window at which no traffic is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// All roles are connected, and `verify` has not started.
    Connected,
    /// `verify` has finished, and the warm-up has not started.
    Verified,
}

/// How a metric is computed from the stored samples of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// A counter's difference between two marks divided by the time between them, per second.
    Rate {
        /// The role of the counter.
        role: String,
        /// The counter.
        counter: String,
        /// Increments of the counter per unit of the metric.
        #[serde(default = "default_one")]
        increments: u32,
    },
    /// A counter's difference between two marks.
    Count {
        /// The role of the counter.
        role: String,
        /// The counter.
        counter: String,
    },
    /// A quantile of the role's `setup_ns`.
    SetupQuantile {
        /// The role of the setup times.
        role: String,
        /// From 0 to 1.
        quantile: f64,
    },
    /// CPU time in the window, in ns, per increment of a counter.
    CpuPer {
        /// The role of the counter.
        role: String,
        /// The counter.
        counter: String,
        /// Increments of the counter per unit of the metric.
        #[serde(default = "default_one")]
        increments: u32,
        /// The role whose CPU time is used; all roles if missing. A role that spins by contract would hide the
        /// others.
        of: Option<String>,
    },
    /// A field of each role's meter, and the sum over the roles.
    Meter {
        /// One of [`METER_FIELDS`].
        field: String,
        /// The role; all roles if missing.
        of: Option<String>,
        /// The moment of the reading; the last reading if missing.
        at: Option<Moment>,
    },
    /// The growth of a meter field while the gate's role runs `verify`, per stored item.
    MeterGrowth {
        /// One of [`METER_FIELDS`].
        field: String,
        /// The role.
        of: String,
        /// The number of items: the sum of these products of parameters.
        each: Vec<Vec<String>>,
        /// The metric is not measured for fewer items.
        least: u64,
    },
    /// The sum of a meter field over the roles in the window, per increment of a counter.
    MeterPer {
        /// One of [`METER_FIELDS`].
        field: String,
        /// The role of the counter.
        role: String,
        /// The counter.
        counter: String,
        /// Increments of the counter per unit of the metric.
        #[serde(default = "default_one")]
        increments: u32,
        /// The role whose meter is read; all roles if missing.
        of: Option<String>,
    },
    /// A counter of the network namespace over the window.
    Wire {
        /// One of [`WIRE_FIELDS`].
        field: String,
    },
    /// A counter of the network namespace over the window, per increment of a role's counter.
    WirePer {
        /// One of [`WIRE_FIELDS`].
        field: String,
        /// The role of the counter.
        role: String,
        /// The counter.
        counter: String,
        /// Increments of the counter per unit of the metric.
        #[serde(default = "default_one")]
        increments: u32,
    },
    /// A quantile of a histogram of the role's result.
    HistogramQuantile {
        /// The role of the histogram.
        role: String,
        /// The histogram.
        histogram: String,
        /// From 0 to 1.
        quantile: f64,
    },
}

impl Source {
    /// The role whose counter, setup times or histogram it uses.
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

    /// The counter that it uses.
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

    /// Increments of its counter per unit of the metric.
    fn increments(&self) -> Option<u32> {
        match self {
            Self::Rate { increments, .. }
            | Self::CpuPer { increments, .. }
            | Self::MeterPer { increments, .. }
            | Self::WirePer { increments, .. } => Some(*increments),
            _ => None,
        }
    }

    /// The role whose meter it uses, if it is a single one.
    pub fn metered(&self) -> Option<&String> {
        match self {
            Self::CpuPer { of, .. } | Self::MeterPer { of, .. } | Self::Meter { of, .. } => of.as_ref(),
            Self::MeterGrowth { of, .. } => Some(of),
            _ => None,
        }
    }

    /// The moments at which it needs a meter reading, in addition to the ends of the window.
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
            problems.push(format!("{at}.headline"), "it has no column: omit `column = false`".to_owned());
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

fn default_true() -> bool {
    true
}

fn default_one() -> u32 {
    1
}
