//! A small file of JSON in the home, which all processes of a home read, and change one at a time.

use std::io;

use gongfu_core::skill::SkillPath;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::disk::Root;
use crate::home::Home;

/// The longest file, in bytes.
const LIMIT: u64 = 16 * 1024 * 1024;

/// Such a file.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    home: Home,
    /// What is held while it is changed.
    lock: &'static str,
}

impl Record {
    /// Files below a home that are changed under this lock; they are made with the first change.
    pub(crate) fn new(home: Home, lock: &'static str) -> Self {
        Self { home, lock }
    }

    /// What a file holds; what is there by default where there is none, or no home. It makes none.
    ///
    /// # Errors
    /// It can't be read, or is damaged.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self, file: &str) -> io::Result<T> {
        match Root::open(self.home.path()) {
            Ok(root) => read(&root, file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => {
                let text = format!("{} can't be opened: {error}", self.home.path().display());
                Err(io::Error::new(error.kind(), text))
            }
        }
    }

    /// Has something be done to what a file holds, and writes it where that changed anything.
    ///
    /// # Errors
    /// It can't be read or written, or is damaged: then it stays as it is.
    pub(crate) fn change<T, A>(&self, file: &str, change: impl FnOnce(&mut T) -> A) -> io::Result<A>
    where
        T: DeserializeOwned + Serialize + Default + Clone + PartialEq,
    {
        let root = self.home.open()?;
        let lock = root.dir().create(self.lock)?.into_std();
        lock.lock()?;
        let before: T = read(&root, file)?;
        let mut now = before.clone();
        let outcome = change(&mut now);
        if now != before {
            let mut text = serde_json::to_vec_pretty(&now).map_err(io::Error::other)?;
            text.push(b'\n');
            root.replace(file, &text, true)?;
        }
        Ok(outcome)
    }
}

fn read<T: DeserializeOwned + Default>(root: &Root, file: &str) -> io::Result<T> {
    let path = SkillPath::new(file).map_err(io::Error::other)?;
    let content = match root.read(&path, LIMIT) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(error),
    };
    // An object and nothing else: serde would take a list for it as well.
    let object = serde_json::from_slice::<Map<String, Value>>(&content.bytes);
    let parsed = object.and_then(|object| serde_json::from_value(Value::Object(object)));
    parsed.map_err(|error| {
        let file = root.path().join(file);
        let text = format!("{} is damaged ({error}); mend or remove it", file.display());
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}
