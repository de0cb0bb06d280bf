//! Inputs: files for a trial's roles, each generated once by a program of the workload and cached by its parameters.
//!
//! ```text
//! <cache>/inputs/<input>-<16 hex>/file          the generated file
//!                               /input.json    the record, written last: marks a finished input
//! ```
//!
//! The program is started as `PROGRAM PATH name=value ..`, with the parameters that the workload names for it. It
//! writes the file at PATH and prints one line of JSON, the expected result of the gate: `{"digest": "64 hex digits",
//! "messages": N, "bytes": N}`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::job::Job;
use super::limits::{INPUT_BYTES_MAX, INPUT_LIMIT};
use super::process::Watch;
use super::{BuildError, BuildEvent, Builder, Built, Result, lock_path, read_whole, write_whole};
use netdyno_lab_manifest::{Contender, Expected, InputSpec, Params, Workload, hex};

/// Incremented if the layout of an input or the arguments of its program change.
const FORMAT: u32 = 1;
/// The file that marks a finished input.
pub(super) const RECORD: &str = "input.json";
const DIGEST_DIGITS: usize = 64;

/// The inputs of a trial, by name.
pub type Prepared = BTreeMap<String, PreparedInput>;

/// A generated file for a trial's roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedInput {
    /// Its path.
    pub path: PathBuf,
    /// The gate's expected result.
    pub expected: Expected,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    key: String,
    /// The generating program, as `<workload>/<input>`.
    maker: String,
    /// The key of the program's build.
    program: String,
    arguments: Vec<String>,
    file_bytes: u64,
    expected: Expected,
    made_at: String,
}

impl Builder {
    /// The inputs of a workload's roles with these parameters, from the cache or generated now. `folder` contains its
    /// manifest.
    pub fn prepare(
        &self,
        (workload, folder): (&Workload, &Path),
        params: &Params,
        events: &mut dyn FnMut(BuildEvent),
    ) -> Result<Prepared> {
        let one = |(name, spec): (&String, &InputSpec)| {
            let maker = Contender::maker(spec, folder, &workload.name, name);
            Ok((name.clone(), self.input(&maker, spec.arguments(params), events)?))
        };
        workload.inputs.iter().map(one).collect()
    }

    fn input(
        &self,
        maker: &Contender,
        arguments: Vec<String>,
        events: &mut dyn FnMut(BuildEvent),
    ) -> Result<PreparedInput> {
        let built = self.build(maker, events)?;
        let mut hash = Sha256::new();
        hash.update(format!("{FORMAT} {} {arguments:?}", built.record.key));
        let key = hex(&hash.finalize());
        let entry = self.cache.join("inputs").join(format!("{}-{}", maker.name, &key[..16]));
        let record = match read_record(&entry, &key) {
            Some(record) => record,
            None => self.make_input(maker, &entry, &built, (key, arguments), events)?,
        };
        Ok(PreparedInput { path: entry.join("file"), expected: record.expected })
    }

    /// Generates an input under its lock, unless another lab did so in the meantime.
    fn make_input(
        &self,
        maker: &Contender,
        entry: &Path,
        program: &Built,
        (key, arguments): (String, Vec<String>),
        events: &mut dyn FnMut(BuildEvent),
    ) -> Result<Record> {
        let work = self.cache.join("work");
        let cache_error = |e| BuildError::cache(entry, e);
        let partial = entry.join("file.partial");
        let watch = Watch::new(&self.cancel, INPUT_LIMIT).making(&partial, INPUT_BYTES_MAX);
        let mut job = Job::new(maker, entry, &work, watch, events);
        let _lock = job.lock(&lock_path(&work, &job.name()))?;
        if let Some(record) = read_record(entry, &key) {
            return Ok(record);
        }
        let begun = job.begin(RECORD)?;
        let mut command = Command::new(program.dir.join(&maker.name));
        command.arg(&partial).args(&arguments).current_dir(entry);
        let mut announced = None;
        job.run_reading("the input's program", &mut command, &mut |line| {
            let expected = serde_json::from_str::<Expected>(line).ok();
            let is_digest_line = expected.is_some();
            announced = expected.or(announced.take());
            is_digest_line
        })?;
        let broken = |rule: &str| job.source_error(&maker.dir, format!("its program {rule}"));
        let is_digest =
            |text: &str| text.len() == DIGEST_DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit());
        let expected = announced.filter(|expected| is_digest(&expected.digest)).ok_or_else(|| {
            broken("did not print a line {\"digest\": .., \"messages\": .., \"bytes\": ..}")
        })?;
        let file = File::open(&partial).map_err(|_| broken("did not write the requested file"))?;
        let file_bytes = file.metadata().map_err(cache_error)?.len();
        if file_bytes > INPUT_BYTES_MAX {
            return Err(broken(&format!("wrote more than {INPUT_BYTES_MAX} bytes")));
        }
        file.sync_all().and_then(|()| fs::rename(&partial, entry.join("file"))).map_err(cache_error)?;
        let record = Record {
            key,
            maker: maker.id(),
            program: program.record.key.clone(),
            arguments,
            file_bytes,
            expected,
            made_at: jiff::Timestamp::now().to_string(),
        };
        write_whole(entry, RECORD, &record).map_err(cache_error)?;
        (job.events)(BuildEvent::Finished { cached: false, seconds: begun.elapsed().as_secs_f64() });
        Ok(record)
    }
}

/// The record of a complete input with this key.
fn read_record(entry: &Path, key: &str) -> Option<Record> {
    let record: Record = read_whole(entry, RECORD)?;
    let whole = fs::metadata(entry.join("file")).is_ok_and(|file| file.len() == record.file_bytes);
    (record.key == key && whole).then_some(record)
}

/// The program that generated a finished input, and the key of its build.
pub(super) fn program_of(entry: &Path) -> Option<(String, String)> {
    read_whole::<Record>(entry, RECORD).map(|record| (record.maker, record.program))
}
