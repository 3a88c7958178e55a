//! Paths are read with their names and lines.

use super::paths;

/// The paths of a text as `within|path|name|line`.
fn read(text: &str) -> Vec<String> {
    let line = |path: super::Path| {
        format!(
            "{}|{}|{}|{}",
            path.within.join("::"),
            path.segments.join("::"),
            path.name.unwrap_or_default(),
            path.line
        )
    };
    paths(text).into_iter().map(line).collect()
}

#[test]
fn reads_every_branch_of_a_use() {
    let text = "use crate::{a::{self, B}, c as d};\npub(crate) use super::*;\n";
    let found = [
        "|crate::a|a|1",
        "|crate::a::B|B|1",
        "|crate::c|d|1",
        "|super::*|*|2",
    ];
    assert_eq!(read(text), found);
}

#[test]
fn reads_paths_in_code() {
    let text = "fn f(x: crate::a::B) -> self::C {\n    name::call::<u8>(x.y)\n}\n";
    let found = ["|crate::a::B||1", "|self::C||1", "|name::call||2"];
    assert_eq!(read(text), found);
}

#[test]
fn reads_inline_modules_and_skips_tests() {
    let text = "mod inner {\n    use super::A;\n}\nuse crate::b;\n\
                #[cfg(test)]\nmod tests {\n    use crate::c;\n}\n#[cfg(test)]\nuse crate::d;\n\
                fn f<'a>() -> impl Sized + use<'a> {}\n";
    assert_eq!(read(text), ["inner|super::A|A|2", "|crate::b|b|4"]);
}
