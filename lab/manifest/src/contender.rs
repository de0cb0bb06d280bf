//! A contender: an implementation of a workload's roles, and how to build and start it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::read::{Problems, decode, decode_variant};
use super::{BuildSpec, Checked, InputSpec, ParamValue, Params, RoleSpec, Workload, nearest};

/// A contender, valid by construction.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// Its name; equal to its folder's.
    pub name: String,
    /// Its workload; equal to the name of the parent folder.
    pub workload: String,
    /// The programming language of the library under test.
    pub language: String,
    /// One-line description.
    pub about: String,
    /// Home page of the library.
    pub homepage: Option<String>,
    /// The library's licence.
    pub license: String,
    /// Whether the library is used with its documented defaults.
    pub tuning: Tuning,
    /// The changes of a `peak` contender.
    #[serde(default)]
    pub tuned: Vec<String>,
    /// Whether it is an upper bound, which is never ranked.
    #[serde(default)]
    pub ceiling: bool,
    /// A remark that is needed to interpret its figures; printed below every table that includes it.
    pub caveat: Option<String>,
    /// Why it interoperates only with itself, if that is the case.
    pub alone: Option<String>,
    /// The library under test.
    pub implementation: LibraryVersion,
    /// How it is built.
    pub build: BuildSpec,
    /// The roles that it can play.
    pub roles: IndexMap<String, RoleSpec>,
    /// Its capabilities, as named in the workload's `requires`.
    #[serde(default)]
    pub capabilities: BTreeMap<String, ParamValue>,
    /// The folder it is built from: its own, or that of the sibling named by `build.from`. Not in the file.
    #[serde(skip)]
    pub dir: PathBuf,
    /// The description of the revision, if revisions are compared. Not in the file.
    #[serde(skip)]
    pub revision: Option<String>,
}

/// Whether the library is used with its documented defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tuning {
    /// Documented defaults.
    #[default]
    Defaults,
    /// Tuned; `tuned` lists the changes.
    Peak,
}

/// The library under test. The `ready` message must agree with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryVersion {
    /// The package name in its ecosystem.
    pub module: String,
    /// Its version. `toolchain` for the language's own library and `distribution` for a package of the distribution;
    /// in these cases `ready` reports the version.
    pub version: String,
}

/// Versions of libraries that are part of the toolchain or the distribution.
const AS_INSTALLED: [&str; 2] = ["toolchain", "distribution"];

/// Whether a role may report this version, given the one in its manifest.
pub fn version_matches(manifest: &str, said: &str) -> bool {
    AS_INSTALLED.contains(&manifest) || manifest == said
}

impl LibraryVersion {
    /// `toolchain` or `distribution`, if the library is part of it.
    pub fn comes_with(&self) -> Option<&str> {
        AS_INSTALLED.contains(&self.version.as_str()).then_some(&self.version)
    }
}

impl Contender {
    /// The program that generates an input, as a contender without roles. `folder` contains the workload's manifest.
    pub fn maker(input: &InputSpec, folder: &Path, workload: &str, name: &str) -> Contender {
        Contender {
            name: name.to_owned(),
            workload: workload.to_owned(),
            about: input.about.clone(),
            implementation: LibraryVersion { module: name.to_owned(), version: String::new() },
            build: input.build.clone(),
            dir: folder.join(workload).join(name),
            ..Contender::default()
        }
    }

    /// Parses and validates a contender; errors name `file`, which is `<dir>/contender.toml`.
    /// [`Contender::check_against`] checks what depends on the workload.
    pub fn parse(file: &Path, text: &str) -> Checked<Self> {
        Self::checked(decode(file, text).map_err(|e| vec![e])?, file, text)
    }

    /// Like `parse`, for a variant; `sibling` is the manifest of the sibling.
    pub(super) fn parse_variant(file: &Path, text: &str, sibling: &str) -> Checked<Self> {
        Self::checked(decode_variant(file, text, sibling).map_err(|e| vec![e])?, file, text)
    }

    fn checked(mut contender: Self, file: &Path, text: &str) -> Checked<Self> {
        contender.dir = file.parent().unwrap_or(Path::new("")).to_owned();
        let mut problems = Problems::new(file, text);
        contender.check(&mut problems);
        problems.finish(contender)
    }

    /// Checks what depends on the workload: its name, the roles and the required capabilities.
    pub fn check_against(&self, workload: &Workload, file: &Path, text: &str) -> Checked<()> {
        let mut problems = Problems::new(file, text);
        for role in self.roles.keys() {
            problems.known(&format!("roles.{role}"), "role", role, &workload.roles);
        }
        for (key, capability) in workload.requires.values().flatten() {
            let at = format!("capabilities.{capability}");
            let bound = matches!(key.as_str(), "min" | "max");
            match self.capabilities.get(capability) {
                Some(ParamValue::Integer(_)) if bound => {}
                Some(ParamValue::Boolean(_)) if !bound => {}
                found => {
                    let kind = if bound { "a whole number" } else { "true or false" };
                    let fault = if found.is_none() { "missing" } else { "of the wrong type" };
                    let mut rule = format!("{fault}; workload {} needs it as {kind}", workload.name);
                    let near = nearest(capability, self.capabilities.keys()).filter(|_| found.is_none());
                    if let Some(near) = near {
                        rule.push_str(&format!(" ({near} stands there instead)"));
                    }
                    problems.push(at, rule);
                }
            }
        }
        let plays_all = workload.roles.iter().all(|role| self.plays(role));
        let rule = "a contender that interoperates only with itself must play all roles";
        problems.require(self.alone.is_none() || plays_all, "alone", rule);
        let ceiling = workload.ceiling.as_deref().unwrap_or("none");
        let rule = format!("is {}, but the workload's ceiling is {ceiling}", self.ceiling);
        problems.require(self.ceiling == (workload.ceiling.as_ref() == Some(&self.name)), "ceiling", rule);
        problems.finish(())
    }

    /// Checks whether it can run the workload with these parameters; the error has the reason.
    pub fn supports(&self, workload: &Workload, params: &Params) -> Result<(), String> {
        for (name, needs) in &workload.requires {
            let Some(value) = params.get(name) else { continue };
            for (key, capability) in needs {
                let found = self.capabilities.get(capability);
                let bound = found.and_then(ParamValue::number);
                let able = match key.as_str() {
                    "max" => bound.zip(value.number()).is_some_and(|(most, value)| value <= most),
                    "min" => bound.zip(value.number()).is_some_and(|(least, value)| value >= least),
                    key => key != value.to_string() || found == Some(&ParamValue::Boolean(true)),
                };
                if !able {
                    let has = found.map_or("missing".to_owned(), ParamValue::to_string);
                    return Err(format!("{name}={value} needs the capability {capability}, which is {has}"));
                }
            }
        }
        Ok(())
    }

    /// Whether it plays a role.
    pub fn plays(&self, role: &str) -> bool {
        self.roles.contains_key(role)
    }

    /// The parent of the folder of contenders, to which `build.sources` is relative. For an input's program, the
    /// parent of the folder of workloads.
    pub fn root(&self) -> &Path {
        self.dir.ancestors().nth(3).unwrap_or(&self.dir)
    }

    /// `<workload>/<name>`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.workload, self.name)
    }

    fn check(&self, problems: &mut Problems) {
        problems.name("name", &self.name);
        problems.name("workload", &self.workload);
        let folders: Vec<_> = self.dir.iter().rev().map(|f| f.to_string_lossy()).collect();
        let rule = format!("\"{}\" must be its folder's name", self.name);
        problems.require(folders.first().is_none_or(|folder| *folder == self.name), "name", rule);
        let rule = format!("\"{}\" must be the name of the folder above", self.workload);
        problems.require(folders.get(1).is_none_or(|folder| *folder == self.workload), "workload", rule);
        let texts = [
            ("language", &self.language),
            ("about", &self.about),
            ("license", &self.license),
            ("implementation.module", &self.implementation.module),
            ("implementation.version", &self.implementation.version),
        ];
        for (field, text) in texts {
            problems.not_empty(field, text);
        }
        let rule = match self.tuning {
            Tuning::Peak => "must list what was tuned, since tuning = \"peak\"",
            Tuning::Defaults => {
                "must be empty with tuning = \"defaults\"; a tuned contender is a separate one"
            }
        };
        problems.require(self.tuned.is_empty() == (self.tuning == Tuning::Defaults), "tuned", rule);
        for (field, text) in [("caveat", &self.caveat), ("alone", &self.alone)] {
            text.iter().for_each(|text| problems.not_empty(field, text));
        }
        self.build.check("build", problems);
        problems.require(!self.roles.is_empty(), "roles", "must have at least one role");
        for (name, role) in &self.roles {
            role.check(name, self.build.tool, problems);
        }
        problems.entries("capabilities", self.capabilities.len());
        for (name, value) in &self.capabilities {
            let rule = "must be a whole number, a boolean or a string";
            problems.require(!matches!(value, ParamValue::Number(_)), format!("capabilities.{name}"), rule);
        }
    }
}
