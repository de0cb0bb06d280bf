//! How a contender is built: the tool and its prerequisites.

use serde::{Deserialize, Serialize};
use strum::IntoEnumIterator;

use super::Placeholder;
use super::limits::BUILD_SECONDS_MAX;
use super::read::{Problems, is_name};

/// How a contender is built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildSpec {
    /// The ecosystem's tool.
    pub tool: Tool,
    /// The contender of the same workload that this one is a variant of. Both share sources and lock file; fields
    /// that are missing here have the sibling's values.
    pub from: Option<String>,
    /// The SDK in `contenders/sdk` that it uses.
    pub sdk: Option<String>,
    /// The binary to build if the package has several: for cargo its name, for Go a folder below `cmd`.
    pub bin: Option<String>,
    /// Further folders of the repository that belong to its sources. For pip, those that are Python packages are
    /// installed.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Programs and libraries required in addition to the tool.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Approximate duration of a clean build on two cores. Contenders that build faster are measured first.
    pub seconds: Option<u32>,
}

/// The tools that build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Tool {
    /// Rust's cargo.
    Cargo,
    /// The C compiler.
    Cc,
    /// The Go tool.
    Go,
    /// The Java compiler; jars by Maven, the runtime by pip.
    Java,
    /// Node's npm.
    Npm,
    /// Python's pip, in a virtual environment.
    Pip,
    /// None: the distribution's programs are used.
    #[default]
    System,
}

/// A prerequisite and the Debian package that provides it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "NeedFields")]
#[expect(missing_docs, reason = "the variants describe the fields")]
pub enum Need {
    /// The name of a program on the PATH, and its package.
    Program { program: String, apt: String },
    /// The name of a library in pkg-config, and its package.
    PkgConfig { pkg_config: String, apt: String },
}

/// A need as written in the manifest, with exactly one of the first two fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NeedFields {
    program: Option<String>,
    pkg_config: Option<String>,
    apt: String,
}

impl TryFrom<NeedFields> for Need {
    type Error = &'static str;

    fn try_from(fields: NeedFields) -> Result<Self, Self::Error> {
        match (fields.program, fields.pkg_config) {
            (Some(program), None) => Ok(Self::Program { program, apt: fields.apt }),
            (None, Some(pkg_config)) => Ok(Self::PkgConfig { pkg_config, apt: fields.apt }),
            _ => Err("needs exactly one of program and pkg_config"),
        }
    }
}

impl BuildSpec {
    /// Checks the table at the path `at`.
    pub(super) fn check(&self, at: &str, problems: &mut Problems) {
        for (field, name) in [("from", &self.from), ("sdk", &self.sdk), ("bin", &self.bin)] {
            name.iter().for_each(|name| problems.name(&format!("{at}.{field}"), name));
        }
        let is_valid = self.seconds.is_none_or(|seconds| (1..=BUILD_SECONDS_MAX).contains(&seconds));
        let rule = format!("must be from 1 to {BUILD_SECONDS_MAX}");
        problems.require(is_valid, format!("{at}.seconds"), rule);
        problems.entries(&format!("{at}.sources"), self.sources.len());
        problems.entries(&format!("{at}.needs"), self.needs.len());
        for (i, folder) in self.sources.iter().enumerate() {
            // `.` is the root of the repository.
            let is_folder = folder == "." || folder.split('/').all(is_name);
            let rule = format!("\"{folder}\" is not a folder of the repository");
            problems.require(is_folder, format!("{at}.sources[{i}]"), rule);
        }
        for (i, need) in self.needs.iter().enumerate() {
            let (Need::Program { program: name, apt } | Need::PkgConfig { pkg_config: name, apt }) = need;
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"+-._".contains(&b);
            let is_plain = |n: &String| !n.is_empty() && !n.starts_with('-') && n.bytes().all(plain);
            let rule = "a program, library or package has an invalid name";
            problems.require([name, apt].into_iter().all(is_plain), format!("{at}.needs[{i}]"), rule);
        }
    }
}

impl Tool {
    /// Whether builds of this tool define the placeholder.
    pub fn offers(self, placeholder: Placeholder) -> bool {
        match placeholder {
            Placeholder::Dir | Placeholder::Src => true,
            Placeholder::Bin => matches!(self, Self::Cargo | Self::Cc | Self::Go),
            Placeholder::Python => self == Self::Pip,
            Placeholder::Node => self == Self::Npm,
        }
    }

    /// The name used in manifests.
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub(super) fn placeholders(self) -> String {
        let known = Placeholder::iter().filter(|p| self.offers(*p));
        known.map(|p| format!("{{{p}}}")).collect::<Vec<_>>().join(" ")
    }
}
