//! Expected durations of builds, so that a run can start with the fastest.

use std::fs;

use jiff::Timestamp;

use super::{Builder, Inputs, Record, built};
use netdyno_lab_manifest::{Contender, Tool};

impl Builder {
    /// 0 if the build is in the cache or impossible; else the duration of the contender's last build, else that in
    /// its manifest, else a default for its tool.
    pub fn expected_seconds(&self, contender: &Contender) -> f64 {
        let Some(last) = self.last(contender) else {
            return contender.build.seconds.map_or(usual_seconds(contender.build.tool), f64::from);
        };
        // Only queried if such a build may exist, because this starts tools.
        let Ok(Inputs { record: Record { key, .. }, .. }) = self.inputs(contender) else { return 0.0 };
        let found = built::read_record(&self.entry(contender, &key), &key, contender);
        if found.is_some() { 0.0 } else { last.seconds }
    }

    /// The newest finished build of this contender, of any sources.
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
