//! Stored probes of a run's cells.

use rusqlite::params;

use super::load::Json;
use super::{Store, StoreError, json};
use crate::probe::Probe;

impl Store {
    /// Stores a probe of a role, replacing one of the same kind.
    pub fn keep_probe(
        &mut self,
        run: &str,
        cell: usize,
        role: &str,
        probe: &Probe,
    ) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO probes (run, cell, role, kind, record) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.execute(sql, params![run, cell, role, probe.kind.as_str(), json(probe)])
    }

    /// The probes of a cell, by role.
    pub fn probes(&self, run: &str, cell: usize) -> Result<Vec<(String, Probe)>, StoreError> {
        let sql = "SELECT role, record FROM probes WHERE run = ?1 AND cell = ?2 ORDER BY role, kind";
        self.rows(sql, params![run, cell], |r| Ok((r.get(0)?, r.get::<_, Json<_>>(1)?.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Found, KernelCounts, ProbeKind};

    #[test]
    fn a_probe_is_kept_replaced_and_goes_with_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
        let run = crate::fixture::run(&[], None);
        store.begin_run(&run.header, &[]).unwrap();
        let probe = |found| Probe {
            kind: ProbeKind::Kernel,
            source: "made up".to_owned(),
            units: 10.0,
            speed: Some(0.9),
            found,
        };
        let (id, failed) = (&run.header.id, probe(Err("not here".to_owned())));
        store.keep_probe(id, 1, "sink", &failed).unwrap();
        assert_eq!(store.probes(id, 1).unwrap(), [("sink".to_owned(), failed)]);
        let good = probe(Ok(Found::Kernel(KernelCounts { voluntary: 3, ..KernelCounts::default() })));
        store.keep_probe(id, 1, "sink", &good).unwrap();
        assert_eq!(store.probes(id, 1).unwrap(), [("sink".to_owned(), good)]);
        assert!(store.probes(id, 0).unwrap().is_empty());
        store.remove(id).unwrap();
        assert!(store.probes(id, 1).unwrap().is_empty());
    }
}
