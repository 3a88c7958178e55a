//! Compiles the modules of an environment behind its first run.
//!
//! Runs can't keep what they compile, so that each would do it again. But compiling takes longer than most
//! installations, and a first run needs few of the modules. What is cut short is done again by the next process that
//! uses the environment.

use std::io;
use std::sync::Arc;

use gongfu_core::dependency::{Language, Record};

use crate::recipe::Recipe;
use crate::step::BuildSandbox;
use crate::storage::{BuildFolder, Storage};
use crate::tree::{Measurement, measure};
use crate::{Inner, LocalEnvironments, blocking, lock, python, recipe};
use gongfu_files::disk::Root;

impl LocalEnvironments {
    /// Starts to compile an environment, unless that is done, or another one does so.
    pub(crate) fn compile(&self, record: &Record) {
        let Some(interpreter) = record.interpreter.clone().filter(|_| !record.compiled) else {
            return;
        };
        let (inner, key) = (Arc::clone(&self.0), record.key.clone());
        let mut compiling = lock(&self.0.compiling);
        // Once in a process: what fails now fails again.
        compiling.entry(key.clone()).or_insert_with(|| {
            let task = async move { compile(&inner, key, interpreter).await };
            Some(tokio::spawn(async move {
                let _ = task.await;
            }))
        });
    }

    /// Waits until all that this process compiles is compiled.
    pub async fn finish(&self) {
        let tasks: Vec<_> = lock(&self.0.compiling)
            .values_mut()
            .filter_map(Option::take)
            .collect();
        for task in tasks {
            let _ = task.await;
        }
    }
}

async fn compile(inner: &Inner, key: String, interpreter: String) -> io::Result<()> {
    let (storage, now) = (inner.storage.clone(), inner.clock.now());
    let start = {
        let (storage, key) = (storage.clone(), key.clone());
        move || Ok((storage.start_addition(&key)?, storage.find(&key, now)?))
    };
    // Without the lock another process does it; the lease keeps the environment in place meanwhile.
    let (Some(folder), Some(leased)) = blocking(start).await? else {
        return Ok(());
    };
    if leased.record.compiled {
        return Ok(());
    }
    let folder = Arc::new(folder);
    let record = leased.record.clone();
    {
        // What was changed must not be run from compiled modules after it was mended.
        let (folder, record) = (Arc::clone(&folder), record.clone());
        blocking(move || measured(&folder, &record)).await?;
    }
    let mut sandbox = BuildSandbox {
        inner,
        language: Language::Python,
        folder: Arc::clone(&folder),
        listener: Arc::new(|_, _| {}),
        index: None,
        contacts: Vec::new(),
    };
    let recipe = Recipe {
        variables: recipe::variables(&[(python::INTERPRETER_VARIABLE, &interpreter)]),
        ..Recipe::default()
    };
    let compiled = sandbox.run(&recipe, python::COMPILE).await;
    compiled.map_err(|failure| io::Error::other(failure.why))?;
    blocking(move || finish(&storage, &folder, record)).await
}

/// Measures an environment.
///
/// # Errors
/// Its sources have changed since the build. The old record lets that be seen.
fn measured(folder: &BuildFolder, record: &Record) -> io::Result<Measurement> {
    let measured = measure(&Root::open(&folder.root)?)?;
    if measured.digest(false).to_string() == record.digest {
        return Ok(measured);
    }
    Err(io::Error::other(
        "its files have changed since they were built",
    ))
}

/// Records what was compiled.
fn finish(storage: &Storage, folder: &BuildFolder, mut record: Record) -> io::Result<()> {
    let measured = measured(folder, &record)?;
    record.compiled = true;
    measured.write_to(&mut record);
    storage.finish_addition(folder, &record)
}

#[cfg(test)]
mod tests;
