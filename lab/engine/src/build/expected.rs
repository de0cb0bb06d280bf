//! How long a build is likely to take, so that a run can begin with what is there soonest.

use std::fs;

use jiff::Timestamp;

use super::{Builder, Record, built};
use netdyno_lab_manifest::{Contender, Tool};

impl Builder {
    /// 0 where the build is there already; else what the last one of this contender took, else what its manifest says,
    /// else what its tool takes as a rule. A contender that cannot be built says so at once: 0 too.
    #[must_use]
    pub fn expected_seconds(&self, contender: &Contender) -> f64 {
        let Some(last) = self.last(contender) else {
            return contender.build.seconds.map_or(usual_seconds(contender.build.tool), f64::from);
        };
        // Asked only where there may be such a build: tools are to be started for it.
        match self.inputs(contender) {
            Ok(inputs)
                if built::read_record(&self.entry(contender, &inputs.key), &inputs.key, contender)
                    .is_none() =>
            {
                last.seconds
            }
            _ => 0.0,
        }
    }

    /// The newest finished build of this contender, of whatever sources.
    fn last(&self, contender: &Contender) -> Option<Record> {
        let prefix = format!("{}-", contender.name);
        let entries = fs::read_dir(self.cache.join("builds")).into_iter().flatten().flatten();
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .filter_map(|entry| built::read_any_record(&entry.path()))
            .filter(|record| record.contender == contender.id())
            .max_by_key(|record| record.built_at.parse::<Timestamp>().ok())
    }
}

/// On two cores, from nothing.
fn usual_seconds(tool: Tool) -> f64 {
    match tool {
        Tool::System => 0.0,
        Tool::Cc => 1.0,
        Tool::Npm => 5.0,
        Tool::Pip | Tool::Java => 10.0,
        Tool::Go => 20.0,
        Tool::Cargo => 60.0,
    }
}
