//! Sites of synthetic stores: complete, reproducible, and never overwriting foreign files.

use super::*;
use netdyno_lab_store::fixture::{self, CannedContender};
use netdyno_lab_store::{CellStatus, Run};

fn run(number: u32) -> Run {
    let contender =
        |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
    let mut run =
        fixture::run(&[contender("base", &[1000, 1001, 999]), contender("rival", &[2000, 2001, 1999])], None);
    run.header.id = format!("20260101-12{number:04}-0007");
    run.header.started_at += jiff::Span::new().seconds(i64::from(number));
    run
}

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
}

impl Bench {
    fn with_runs(count: u32) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let mut bench = Bench { store: Store::open(&folder.path().join("runs.db")).unwrap(), folder };
        (0..count).for_each(|number| bench.add(&run(number)));
        bench
    }

    fn add(&mut self, run: &Run) {
        fixture::write(&mut self.store, run);
    }

    fn site(&self) -> PathBuf {
        self.folder.path().join("deep/site")
    }

    fn write(&self, runs: usize) -> Result<Written, SiteError> {
        write(&self.store, None, &self.site(), runs)
    }

    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.site()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.site()).unwrap().display().to_string();
                    files.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        files
    }
}

#[test]
fn every_link_of_a_site_has_a_page() {
    let bench = Bench::with_runs(5);
    let written = bench.write(3).unwrap();
    assert_eq!(written, Written { pages: 6, changed: 6, removed: 0 });
    let files = bench.files();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            LIST,
            "history/dummy.html",
            "index.html",
            "runs-1.html",
            "runs/20260101-120002-0007.html",
            "runs/20260101-120003-0007.html",
            "runs/20260101-120004-0007.html",
        ]
    );
    let all = &files["runs-1.html"];
    assert!(
        all.contains("href=\"runs&#x2f;20260101-120002-0007.html\"")
            && all.contains("20260101-120000-0007")
            && !all.contains("href=\"runs&#x2f;20260101-120000-0007.html\""),
        "{all}"
    );
    assert!(all.contains("rival has the highest counted: 2.00 times that of base"), "{all}");
    assert!(files.values().all(|page| !page.contains("<script")
        && !page.contains("href=\"/")
        && !page.contains("href=\"&#x2f;")));
}

#[test]
fn a_second_call_writes_changed_pages_and_removes_obsolete_ones() {
    let mut bench = Bench::with_runs(3);
    bench.write(9).unwrap();
    let first = bench.files();
    assert_eq!(bench.write(9).unwrap(), Written { pages: 6, changed: 0, removed: 0 });
    assert_eq!(bench.files(), first);
    fs::write(bench.site().join("CNAME"), "example.org").unwrap();
    bench.store.remove(&run(0).header.id).unwrap();
    bench.add(&run(7));
    let written = bench.write(9).unwrap();
    assert_eq!((written.pages, written.removed), (6, 1));
    let files = bench.files();
    assert!(files.contains_key("CNAME") && !files.contains_key("runs/20260101-120000-0007.html"));
    assert_eq!(files["runs/20260101-120001-0007.html"], first["runs/20260101-120001-0007.html"]);
}

#[test]
fn foreign_files_are_neither_overwritten_nor_removed() {
    let mut bench = Bench::with_runs(2);
    fs::create_dir_all(bench.site()).unwrap();
    fs::write(bench.site().join("index.html"), "mine").unwrap();
    let error = bench.write(9).unwrap_err().to_string();
    assert!(error.contains("index.html") && error.contains("another folder"), "{error}");
    assert_eq!(fs::read_to_string(bench.site().join("index.html")).unwrap(), "mine");
    fs::remove_file(bench.site().join("index.html")).unwrap();
    bench.write(9).unwrap();

    // A modified page whose run is then removed.
    let page = bench.site().join("runs/20260101-120000-0007.html");
    fs::write(&page, "mine").unwrap();
    assert!(matches!(bench.write(9), Err(SiteError::NotOurs(path)) if path == page));
    bench.store.remove(&run(0).header.id).unwrap();
    bench.write(9).unwrap();
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");

    // A list that names files other than pages.
    let precious = bench.folder.path().join("precious");
    fs::write(&precious, "x").unwrap();
    let list = bench.site().join(LIST);
    let mut list_content: FileList = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
    list_content.files.insert("../../precious".into(), hash(b"x"));
    list_content.files.insert("runs/../../../precious".into(), hash(b"x"));
    fs::write(&list, serde_json::to_vec(&list_content).unwrap()).unwrap();
    bench.write(9).unwrap();
    assert!(precious.exists());
    fs::write(&list, "no list").unwrap();
    assert!(matches!(bench.write(9), Err(SiteError::NotAList(_))));
}
