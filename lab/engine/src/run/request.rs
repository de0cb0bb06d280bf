//! A request, resolved against the catalogue.

use jiff::Timestamp;

use super::network_of;
use crate::plan::{self, Casting};
use netdyno_lab_analysis::claims::{Asked, keep_asked};
use netdyno_lab_analysis::duels;
use netdyno_lab_manifest::Net;
use netdyno_lab_manifest::{
    Catalog, Contender, ManifestError, ParamValue, Params, Placement, Preset, Workload,
};
use netdyno_lab_store::PlannedCell;
use netdyno_lab_store::Question;
use netdyno_lab_store::Settings;
use netdyno_lab_store::limits::CELLS_MAX;

/// Default preset, if the workload has it.
const STANDARD: &str = "standard";
/// Error level of the verdicts on one metric.
const ALPHA: f64 = 0.05;
/// Rounds of a run with questions, which ends when they are answered.
const ROUNDS_MAX: u32 = 10_000;
/// Relative difference that counts as no difference.
const MARGIN: f64 = 0.02;

/// A request for a run.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Workload.
    pub workload: String,
    /// Contenders; none: all.
    pub contenders: Vec<String>,
    /// Preset.
    pub preset: Option<String>,
    /// Parameters as typed.
    pub set: Vec<(String, String)>,
    /// Swept parameters as typed, with values separated by commas.
    pub sweep: Vec<(String, String)>,
    /// The assignment of contenders to roles.
    pub casting: Casting,
    /// The only compared role.
    pub role: Option<String>,
    /// Baseline.
    pub baseline: Option<String>,
    /// Budget of measuring time.
    pub budget_seconds: Option<f64>,
    /// Greatest number of blocks.
    pub max_blocks: Option<u32>,
    /// Wanted relative half-width of the intervals.
    pub precision: Option<f64>,
    /// Seed.
    pub seed: Option<u64>,
    /// Placement.
    pub placement: Option<Placement>,
    /// Network; none: the workload's default.
    pub net: Option<Net>,
    /// Omit the ceiling.
    pub no_ceiling: bool,
    /// Memory limit of each role.
    pub memory_limit_bytes: Option<u64>,
    /// Keep idle CPUs awake.
    pub awake: bool,
    /// Compare in blocks.
    pub blocks: bool,
    /// Factor for the time limits of the protocol.
    pub time_limits: f64,
    /// The tolerated regression, relative.
    pub regression: Option<f64>,
    /// Marks per second.
    pub marks_hz: Option<u32>,
    /// Questions of a run that does not need a verdict on every contender: nothing else is measured.
    pub asked: Option<Asked>,
    /// The command line.
    pub command: Vec<String>,
}

/// A valid request.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The workload.
    pub workload: Workload,
    /// The cells.
    pub cells: Vec<PlannedCell>,
    /// The settings.
    pub settings: Settings,
    /// Rounds for now; none: as many as the settings permit.
    pub rounds: Option<u32>,
    /// Warnings about the resolution.
    pub warnings: Vec<String>,
    /// The command line.
    pub command: Vec<String>,
}

impl Resolved {
    /// Sets the questions, and drops cells that they do not need.
    pub fn ask(&mut self, questions: Vec<Question>) {
        let Self { workload, settings, .. } = self;
        let in_duels = |cell: &PlannedCell| duels::turns(settings, workload, &cell.params).is_ok();
        keep_asked(&mut self.cells, &questions, settings.baseline.as_deref(), in_duels);
        self.settings.questions = questions;
    }
}

impl Request {
    /// Resolves names, parameters and presets.
    pub fn resolve(self, catalog: &Catalog) -> Result<Resolved, ManifestError> {
        let workload = catalog.workload(&self.workload)?.clone();
        let workload = match &self.role {
            Some(role) => workload.of_role(role)?,
            None => workload,
        };
        self.check_against(&workload)?;
        let preset_name = self
            .preset
            .clone()
            .or_else(|| workload.presets.contains_key(STANDARD).then(|| STANDARD.to_owned()));
        let preset = preset_name.as_deref().map(|name| workload.preset(name)).transpose()?;
        let base = workload.resolve(preset_name.as_deref(), &self.set)?;
        let (contenders, ceiling) = self.cast(catalog, &workload)?;
        let (baseline, warnings) = match &self.baseline {
            Some(name) => {
                catalog.contender(&workload.name, name)?;
                (Some(name.clone()), Vec::new())
            }
            None => self.baseline_of(&workload, &contenders),
        };
        let params = self.parameter_sets(&workload, preset, &base)?;
        let plays = |name: &str, role: &str| {
            catalog.contender(&workload.name, name).is_ok_and(|contender| contender.plays(role))
        };
        let (roles, partners, stand_ins) = (&workload.roles, &workload.partners, &workload.stand_ins);
        let is_alone = |name: &str| {
            catalog.contender(&workload.name, name).is_ok_and(|contender| contender.alone.is_some())
        };
        let stage = plan::Stage { roles, partners, stand_ins, plays: &plays, is_alone: &is_alone };
        let cells = plan::cells(&stage, &contenders, ceiling.as_deref(), &self.casting, &params);
        if cells.len() > CELLS_MAX {
            let rule = format!("{} cells to measure; at most {CELLS_MAX}: sweep fewer values", cells.len());
            return Err(ManifestError::Value { name: "sweep".to_owned(), rule });
        }
        // Questions end the run by themselves.
        let usual = if self.asked.is_some() { Some(ROUNDS_MAX) } else { preset.map(|p| p.max_blocks) };
        let max_blocks = self.max_blocks.or(usual).unwrap_or(30);
        let min_blocks = match self.casting {
            // A measurement of false positives must not stop at a result.
            Casting::Itself { .. } => max_blocks,
            _ => preset.map_or(3, |p| p.min_blocks).min(max_blocks),
        };
        let settings = Settings {
            preset: preset_name.clone(),
            placement: self.placement.or(preset.and_then(|p| p.placement)).unwrap_or(Placement::Apart),
            net: network_of(&workload, self.net)?,
            baseline,
            role: self.role.clone(),
            seed: self.seed.unwrap_or_else(seed_of_now),
            min_blocks,
            max_blocks,
            budget_seconds: self.budget_seconds.or(preset.map(|p| p.budget_seconds)).unwrap_or(900.0),
            alpha: ALPHA,
            margin: MARGIN,
            precision: self.precision.or(preset.and_then(|p| p.precision)),
            time_limits: self.time_limits,
            marks_hz: self.marks_hz.unwrap_or(workload.marks_hz),
            memory_limit_bytes: self.memory_limit_bytes,
            awake: self.awake,
            blocks: self.blocks,
            regression: self.regression,
            equal: None,
            questions: Vec::new(),
        };
        let mut resolved =
            Resolved { workload, cells, settings, rounds: None, warnings, command: self.command };
        if let Some(asked) = self.asked {
            resolved.ask(asked.questions);
            resolved.rounds = Some(asked.rounds);
        }
        Ok(resolved)
    }

    /// The contenders and the ceiling.
    fn cast(
        &self,
        catalog: &Catalog,
        workload: &Workload,
    ) -> Result<(Vec<String>, Option<String>), ManifestError> {
        let mut contenders = Vec::new();
        if self.contenders.is_empty() {
            let all = catalog.contenders_of(&workload.name).filter(|c| !c.ceiling);
            let all = all.filter(|c| self.not_compared(workload, c).is_none());
            contenders.extend(all.map(|c| c.name.clone()));
        }
        for name in &self.contenders {
            let contender = catalog.contender(&workload.name, name)?;
            if let Some(rule) = self.not_compared(workload, contender) {
                return Err(ManifestError::Value { name: "contender".to_owned(), rule });
            }
            if Some(name) != workload.ceiling.as_ref() && !contenders.contains(name) {
                contenders.push(name.clone());
            }
        }
        // Ratios need the baseline in every block.
        for name in self.baseline.as_ref().into_iter().chain(self.against()) {
            let contender = catalog.contender(&workload.name, name)?;
            let bound = || format!("{} is the bound: choose a contender", contender.name);
            let rule = contender.ceiling.then(bound).or_else(|| self.not_compared(workload, contender));
            if let Some(rule) = rule {
                return Err(ManifestError::Value { name: "contender".to_owned(), rule });
            }
            if !contenders.contains(name) {
                contenders.push(name.clone());
            }
        }
        let ceiling = workload.ceiling.clone().filter(|_| !self.no_ceiling);
        Ok((contenders, ceiling.filter(|c| catalog.contender(&workload.name, c).is_ok())))
    }

    /// The default baseline: the workload's if it takes part, else the first named contender, with a warning.
    fn baseline_of(&self, workload: &Workload, contenders: &[String]) -> (Option<String>, Vec<String>) {
        let usual = self.against().or(workload.baseline.as_ref());
        if self.contenders.is_empty() || usual.is_some_and(|name| contenders.contains(name)) {
            return (usual.cloned(), Vec::new());
        }
        let why = match usual {
            Some(name) => format!("the workload's own, {name}, takes no part"),
            None => "the workload has none of its own".to_owned(),
        };
        let told = |first: &String| {
            format!("ratios are to {first}, the first that was named, since {why}; --baseline names another")
        };
        let warnings = contenders.first().filter(|_| contenders.len() > 1).map(told);
        (contenders.first().cloned(), warnings.into_iter().collect())
    }

    /// Why a contender cannot be compared, if so: it plays only roles of partners, or does not interoperate with the
    /// partner.
    fn not_compared(&self, workload: &Workload, contender: &Contender) -> Option<String> {
        if let (Some(why), Some((role, partner))) = (&contender.alone, workload.partners.first()) {
            let name = &contender.name;
            return Some(format!(
                "{name} plays with itself alone ({why}), and here {partner} plays the {role}"
            ));
        }
        let plays = workload.compared().any(|role| contender.plays(role));
        if plays || workload.partners.is_empty() || self.casting == Casting::Matrix {
            return None;
        }
        let (role, partner) = workload.partners.iter().find(|(role, _)| contender.plays(role))?;
        let name = &contender.name;
        Some(if name == partner {
            format!("{name} plays the {role} for all the others: leave it out")
        } else {
            format!(
                "{name} plays only the {role}, as {partner} does for all the others: --matrix varies it, too"
            )
        })
    }

    /// Rejects `--against` for workloads with partners.
    fn check_against(&self, workload: &Workload) -> Result<(), ManifestError> {
        match (self.against(), workload.partners.first()) {
            (Some(_), Some((role, partner))) => {
                let rule = format!("{partner} plays the {role} for all here: --matrix varies it, too");
                Err(ManifestError::Value { name: "against".to_owned(), rule })
            }
            _ => Ok(()),
        }
    }

    fn against(&self) -> Option<&String> {
        if let Casting::Against(name) = &self.casting { Some(name) } else { None }
    }

    /// The parameter sets: the typed values, else those of the preset, except for parameters set explicitly.
    fn parameter_sets(
        &self,
        workload: &Workload,
        preset: Option<&Preset>,
        base: &Params,
    ) -> Result<Vec<Params>, ManifestError> {
        let presets = preset.filter(|p| self.sweep.is_empty() && !p.sweep.is_empty());
        if let Some(preset) = presets {
            let mut sets: Vec<Params> = Vec::new();
            for table in &preset.sweep {
                let set = |name: &String| self.set.iter().any(|(n, _)| n == name);
                let axes: Vec<_> = table
                    .iter()
                    .filter(|(name, _)| !set(name))
                    .map(|(n, v)| (n.clone(), v.clone()))
                    .collect();
                for params in plan::sweep(base, &axes) {
                    if !sets.contains(&params) {
                        sets.push(params);
                    }
                }
            }
            return Ok(sets);
        }
        let axes = self
            .sweep
            .iter()
            .map(|(name, values)| {
                let values: Result<Vec<ParamValue>, ManifestError> =
                    values.split(',').map(|v| workload.parse_param(name, v)).collect();
                Ok((name.clone(), values?))
            })
            .collect::<Result<Vec<_>, ManifestError>>()?;
        Ok(plan::sweep(base, &axes))
    }
}

/// A seed below 2^53 from the clock; it is printed and stored.
fn seed_of_now() -> u64 {
    Timestamp::now().as_nanosecond().unsigned_abs() as u64 & ((1 << 53) - 1)
}
