//! Resolution of the arguments of `run` against the catalogue. Other verbs that measure fill in [`RunArgs`], too.

use jiff::Timestamp;

use super::command_line;
use super::fail_conditions::FailConditions;
use crate::cli::RunArgs;
use netdyno_lab_engine::plan::{self, Casting};
use netdyno_lab_engine::run::{Resolved, network_of};
use netdyno_lab_manifest::{
    Catalog, Contender, ManifestError, ParamValue, Params, Placement, Preset, Workload,
};
use netdyno_lab_store::Settings;
use netdyno_lab_store::limits::CELLS_MAX;
use netdyno_stats::Rules;

/// Default preset, if the workload has it.
const STANDARD: &str = "standard";
/// Rounds of a run with questions, which ends when they are answered.
const ROUNDS_MAX: u32 = 10_000;

impl RunArgs {
    /// Resolves names, parameters and presets.
    pub(crate) fn resolve(
        self,
        conditions: &FailConditions,
        catalog: &Catalog,
    ) -> Result<Resolved, ManifestError> {
        let workload = catalog.workload(self.workload.as_deref().unwrap_or_default())?.clone();
        let casting = self.casting();
        let workload = match &self.role {
            Some(role) => workload.of_role(role)?,
            None => workload,
        };
        self.check_against(&workload)?;
        let standard = || workload.presets.contains_key(STANDARD).then(|| STANDARD.to_owned());
        let preset_name = self.preset.clone().or_else(standard);
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
        let contender = |name: &str| catalog.contender(&workload.name, name).ok();
        let plays = |name: &str, role: &str| contender(name).is_some_and(|c| c.plays(role));
        let is_alone = |name: &str| contender(name).is_some_and(|c| c.alone.is_some());
        let (roles, partners, stand_ins) = (&workload.roles, &workload.partners, &workload.stand_ins);
        let stage = plan::Stage { roles, partners, stand_ins, plays: &plays, is_alone: &is_alone };
        let cells = plan::cells(&stage, &contenders, ceiling.as_deref(), &casting, &params);
        if cells.len() > CELLS_MAX {
            let rule = format!("{} cells to measure; at most {CELLS_MAX}: sweep fewer values", cells.len());
            return Err(invalid("sweep", rule));
        }
        // Questions end the run by themselves.
        let usual = if self.ask.is_some() { Some(ROUNDS_MAX) } else { preset.map(|p| p.max_blocks) };
        let max_blocks = self.max_blocks.or(usual).unwrap_or(30);
        let min_blocks = match casting {
            // A measurement of false positives must not stop at a result.
            Casting::Itself { .. } => max_blocks,
            _ => preset.map_or(3, |p| p.min_blocks).min(max_blocks),
        };
        let budget = self.budget.map(|b| b.as_secs_f64()).or(preset.map(|p| p.budget_seconds));
        let rules = Rules::default();
        let settings = Settings {
            preset: preset_name.clone(),
            placement: self.placement.or(preset.and_then(|p| p.placement)).unwrap_or(Placement::Apart),
            net: network_of(&workload, self.net)?,
            baseline,
            role: self.role.clone(),
            seed: self.seed.unwrap_or_else(seed_of_now),
            min_blocks,
            max_blocks,
            budget_seconds: budget.unwrap_or(900.0),
            alpha: rules.alpha,
            margin: rules.margin,
            precision: self.precision.or(preset.and_then(|p| p.precision)),
            time_limits: self.time_limits.unwrap_or(1.0),
            marks_hz: self.marks_hz.unwrap_or(workload.marks_hz),
            memory_limit_bytes: self.memory_limit,
            awake: self.awake,
            blocks: self.blocks,
            regression: conditions.regression(),
            fail_on_undecided: conditions.undecided,
            tolerances: conditions.of_named_metrics(),
            equal: None,
            questions: Vec::new(),
        };
        let mut resolved =
            Resolved { workload, cells, settings, rounds: None, warnings, command: command_line() };
        if let Some(asked) = self.ask {
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
                return Err(invalid("contender", rule));
            }
            if Some(name) != workload.ceiling.as_ref() && !contenders.contains(name) {
                contenders.push(name.clone());
            }
        }
        // Ratios need the baseline in every block.
        for name in self.baseline.as_ref().into_iter().chain(self.against.as_ref()) {
            let contender = catalog.contender(&workload.name, name)?;
            let bound = || format!("{name} is the ceiling: choose another contender");
            let rule = contender.ceiling.then(bound).or_else(|| self.not_compared(workload, contender));
            if let Some(rule) = rule {
                return Err(invalid("contender", rule));
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
        let usual = self.against.as_ref().or(workload.baseline.as_ref());
        if self.contenders.is_empty() || usual.is_some_and(|name| contenders.contains(name)) {
            return (usual.cloned(), Vec::new());
        }
        let why = match usual {
            Some(name) => format!("the workload's own, {name}, is not compared"),
            None => "the workload has none of its own".to_owned(),
        };
        let warning = |first: &String| {
            format!(
                "ratios are relative to {first}, the first one named, because {why}; --baseline selects another"
            )
        };
        let warnings = contenders.first().filter(|_| contenders.len() > 1).map(warning);
        (contenders.first().cloned(), warnings.into_iter().collect())
    }

    /// Why a contender cannot be compared, if so: it plays only roles of partners, or does not interoperate with the
    /// partner.
    fn not_compared(&self, workload: &Workload, contender: &Contender) -> Option<String> {
        if let (Some(why), Some((role, partner))) = (&contender.alone, workload.partners.first()) {
            let name = &contender.name;
            let alone = format!("works only with itself ({why})");
            return Some(format!("{name} {alone}, and here {partner} plays the {role}"));
        }
        let plays = workload.compared().any(|role| contender.plays(role));
        if plays || workload.partners.is_empty() || self.matrix {
            return None;
        }
        let (role, partner) = workload.partners.iter().find(|(role, _)| contender.plays(role))?;
        let name = &contender.name;
        Some(if name == partner {
            format!("{name} plays the {role} for all others: leave it out")
        } else {
            format!("{name} plays only the {role}, as {partner} does for all others: --matrix varies it, too")
        })
    }

    /// Rejects `--against` for workloads with partners.
    fn check_against(&self, workload: &Workload) -> Result<(), ManifestError> {
        let (Some(_), Some((role, partner))) = (&self.against, workload.partners.first()) else {
            return Ok(());
        };
        let rule = format!("{partner} plays the {role} for all here: --matrix varies it, too");
        Err(invalid("against", rule))
    }

    fn casting(&self) -> Casting {
        match (&self.against, self.itself) {
            (Some(name), _) => Casting::Against(name.clone()),
            (None, Some(stalled)) => Casting::Itself { stalled },
            (None, None) if self.matrix => Casting::Matrix,
            (None, None) => Casting::Alone,
        }
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
                let is_set = |name: &String| self.set.iter().any(|(n, _)| n == name);
                let axes = table.iter().filter(|(name, _)| !is_set(name));
                let axes: Vec<_> = axes.map(|(name, values)| (name.clone(), values.clone())).collect();
                for params in plan::sweep(base, &axes) {
                    if !sets.contains(&params) {
                        sets.push(params);
                    }
                }
            }
            return Ok(sets);
        }
        let parsed = |(name, values): &(String, String)| {
            let values = values.split(',').map(|value| workload.parse_param(name, value));
            Ok((name.clone(), values.collect::<Result<Vec<ParamValue>, ManifestError>>()?))
        };
        let axes = self.sweep.iter().map(parsed).collect::<Result<Vec<_>, ManifestError>>()?;
        Ok(plan::sweep(base, &axes))
    }
}

fn invalid(name: &str, rule: String) -> ManifestError {
    ManifestError::Value { name: name.to_owned(), rule }
}

/// A seed below 2^53 from the clock; it is printed and stored.
fn seed_of_now() -> u64 {
    Timestamp::now().as_nanosecond().unsigned_abs() as u64 & ((1 << 53) - 1)
}
