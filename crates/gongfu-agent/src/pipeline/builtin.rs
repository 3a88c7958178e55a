//! The pipelines that come with gongfu, as files.

use gongfu_core::pipeline::{FileKind, Mistake, Pipeline, read};

/// Lists the files below `builtin/`: the one line that adds a pipeline.
macro_rules! builtins {
    ($($name:literal,)+) => {
        const BUILTINS: &[Builtin] = &[$(Builtin {
            name: $name,
            text: include_str!(concat!("builtin/", $name, ".yaml")),
        },)+];
    };
}

builtins! {
    "demonstration",
    "skill_check_all",
}

/// A pipeline that comes with gongfu.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

impl Builtin {
    /// Reads its file.
    ///
    /// # Errors
    /// The file is wrong, which the tests of this crate exclude.
    pub fn pipeline(&self) -> Result<Pipeline, Vec<Mistake>> {
        read(self.text, FileKind::Yaml)
    }
}

/// The pipelines that come with gongfu, by name.
pub fn builtins() -> &'static [Builtin] {
    BUILTINS
}

/// The pipeline of this name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}
