//! Metrics and how they are computed from the stored samples of a trial.

use serde::{Deserialize, Serialize};

use super::ParamKind;
use super::params::{Specs, kind_of};
use super::read::Problems;

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

/// How a metric is computed from the stored samples of a trial. Fields of the same name have the same meaning:
///
/// | field | meaning |
/// |---|---|
/// | `role` | the role of the counter, of the setup times or of the histogram |
/// | `counter`, `histogram` | its name |
/// | `increments` | increments of the counter per unit of the metric |
/// | `field` | one of [`METER_FIELDS`], or of [`WIRE_FIELDS`] for the network |
/// | `of` | the role whose meter is read; all roles if missing. A role that spins by contract would hide the others |
/// | `quantile` | from 0 to 1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the table describes the fields")]
pub enum Source {
    /// A counter's difference between two marks divided by the time between them, per second.
    Rate {
        role: String,
        counter: String,
        #[serde(default = "default_one")]
        increments: u32,
    },
    /// A counter's difference between two marks.
    Count { role: String, counter: String },
    /// A quantile of the role's `setup_ns`.
    SetupQuantile { role: String, quantile: f64 },
    /// CPU time in the window, in ns, per increment of a counter.
    CpuPer {
        role: String,
        counter: String,
        #[serde(default = "default_one")]
        increments: u32,
        of: Option<String>,
    },
    /// A field of each role's meter at a moment, by default the last reading, and the sum over the roles.
    Meter { field: String, of: Option<String>, at: Option<Moment> },
    /// The growth of a meter field while the gate's role runs `verify`, per stored item. The number of items is the
    /// sum of the products of parameters in `each`; the metric is not measured for fewer than `least`.
    MeterGrowth { field: String, of: String, each: Vec<Vec<String>>, least: u64 },
    /// The sum of a meter field over the roles in the window, per increment of a counter.
    MeterPer {
        field: String,
        role: String,
        counter: String,
        #[serde(default = "default_one")]
        increments: u32,
        of: Option<String>,
    },
    /// A counter of the network namespace over the window.
    Wire { field: String },
    /// A counter of the network namespace over the window, per increment of a role's counter.
    WirePer {
        field: String,
        role: String,
        counter: String,
        #[serde(default = "default_one")]
        increments: u32,
    },
    /// A quantile of a histogram of the role's result.
    HistogramQuantile { role: String, histogram: String, quantile: f64 },
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
    pub(super) fn check(&self, at: &str, roles: &[String], params: &Specs, problems: &mut Problems) {
        problems.name(&format!("{at}.name"), &self.name);
        problems.not_empty(&format!("{at}.label"), &self.label);
        problems.not_empty(&format!("{at}.unit"), &self.unit);
        let rule = "it has no column: omit `column = false`";
        problems.require(self.column || !self.headline, format!("{at}.headline"), rule);
        if let Source::MeterGrowth { each, .. } = &self.from {
            for name in each.iter().flatten() {
                let at = format!("{at}.from.meter_growth.each");
                kind_of(&at, name, ParamKind::Integer, params, problems);
            }
        }
        // As JSON, since a field of the same name has the same rule in every source.
        let from = serde_json::to_value(&self.from).expect("a source holds nothing that JSON cannot");
        let sources = from.as_object().into_iter().flatten();
        let fields = sources.flat_map(|(kind, from)| Some(from.as_object()?.iter().map(move |f| (kind, f))));
        for (kind, (name, value)) in fields.flatten() {
            let at = format!("{at}.from.{kind}.{name}");
            match (name.as_str(), value.as_str()) {
                ("role" | "of", Some(role)) => problems.known(&at, "role", role, roles),
                ("counter" | "histogram", Some(text)) => problems.not_empty(&at, text),
                ("field", Some(field)) if kind.starts_with("wire") => {
                    problems.known(&at, "wire field", field, WIRE_FIELDS);
                }
                ("field", Some(field)) => problems.known(&at, "meter field", field, METER_FIELDS),
                ("increments", _) => problems.require(*value != 0, at, "must be at least 1"),
                ("quantile", _) => {
                    let quantile = value.as_f64().unwrap_or(f64::NAN);
                    let rule = format!("{quantile} is not from 0 to 1");
                    problems.require((0.0..=1.0).contains(&quantile), at, rule);
                }
                _ => {}
            }
        }
    }
}

fn default_true() -> bool {
    true
}

fn default_one() -> u32 {
    1
}
