//! A custom storage: a directory with one file per key.
//!
//! `cargo run -p netdyno-kv --example own_storage -- /tmp/keys`, then `redis-cli -p 7000 set greeting hello`.
//! Kill the server and start it again: acknowledged writes are still there.
//!
//! Unlike the append-only file, it does not lock out a second server. It is slow when many keys change,
//! because each file is synced separately.

use std::fs::{self, File};
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use netdyno_kv::storage::{Change, Form, Loader, Storage, StorageError, changes};
use netdyno_kv::{Server, StartError};

/// Databases are directories, named by their numbers. A batch is stored as one file until each of its keys
/// has been written, so that a crash leaves either the whole batch or nothing.
pub(crate) struct Directory(PathBuf);

impl Storage for Directory {
    fn form(&self) -> Form {
        Form::Values
    }

    fn load(&mut self, loader: &mut Loader<'_>) -> std::result::Result<(), StorageError> {
        fs::create_dir_all(&self.0)?;
        self.put_away()?;
        for (db, directory) in self.databases()? {
            let mut directories = vec![directory];
            while let Some(directory) = directories.pop() {
                for path in fs::read_dir(directory)?.map(|entry| Ok::<_, StorageError>(entry?.path())) {
                    match path? {
                        path if path.is_dir() => directories.push(path),
                        path => loader.load_value(db, &fs::read(path)?)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self, batch: &[u8]) -> std::result::Result<(), StorageError> {
        if !batch.is_empty() {
            write(&self.0.join("batch.new"), batch)?;
            fs::rename(self.0.join("batch.new"), self.0.join("batch"))?;
            sync(&self.0)?;
        }
        Ok(self.put_away()?)
    }
}

impl Directory {
    /// Writes each key of the batch to its own file.
    fn put_away(&self) -> Result<()> {
        let Some(batch) = unless_missing(fs::read(self.0.join("batch")))? else { return Ok(()) };
        for change in changes(&batch) {
            match change {
                Change::Emptied(emptied) => {
                    let concerned = |db: usize| emptied.is_none_or(|emptied| emptied == db);
                    for (_, directory) in self.databases()?.into_iter().filter(|(db, _)| concerned(*db)) {
                        fs::remove_dir_all(directory)?;
                    }
                }
                Change::Key { db, key, value: None } => {
                    let path = self.path(db, key);
                    unless_missing(fs::remove_file(&path))?;
                    unless_missing(sync(parent(&path)))?;
                }
                Change::Key { db, key, value: Some(value) } => {
                    let path = self.path(db, key);
                    fs::create_dir_all(parent(&path))?;
                    write(&path, value)?;
                    // The path components, from the leaf to the root.
                    parent(&path)
                        .ancestors()
                        .take_while(|above| above.starts_with(&self.0))
                        .try_for_each(sync)?;
                }
            }
        }
        fs::remove_file(self.0.join("batch"))
    }

    fn databases(&self) -> Result<Vec<(usize, PathBuf)>> {
        let entries = fs::read_dir(&self.0)?.collect::<Result<Vec<_>>>()?;
        let number = |name: &str| name.parse().ok();
        let database = |entry: &fs::DirEntry| Some((number(entry.file_name().to_str()?)?, entry.path()));
        Ok(entries.iter().filter_map(database).collect())
    }

    /// Encodes a key in hexadecimal, split into several path components: file systems limit a name to 255
    /// bytes.
    fn path(&self, db: usize, key: &[u8]) -> PathBuf {
        let mut path = self.0.join(db.to_string());
        for part in key.chunks(100) {
            path.push(part.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
        path.push("value");
        path
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync(directory: &Path) -> Result<()> {
    File::open(directory)?.sync_all()
}

fn unless_missing<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Starts a server that keeps its keys in `directory`.
pub(crate) fn start(directory: PathBuf, port: u16) -> std::result::Result<Server, StartError> {
    Server::builder().bind(([127, 0, 0, 1], port)).storage(Directory(directory)).start()
}

#[allow(dead_code)]
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).ok_or("usage: own_storage DIRECTORY")?;
    let server = start(directory.into(), 7000)?;
    println!("listening on {}", server.addresses()[0]);
    Ok(server.wait()?)
}
