//! The skills that tests start from.

/// The SKILL.md of a skill with files of every kind.
pub const PDF_TOOLS: &str = "---\nname: pdf-tools\ndescription: Fills forms and merges PDF files.\nlicense: MIT\n---\n\n# PDF tools\n\nRead references/guide.md first.\n\n## Merge\n\nUse the merger.\n\n### Order\n\nKeep it.\n\n## Fill\n\nUse the filler.\n";
/// A binary file.
pub const DOT: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\xff\xfe";
/// The files of that skill, by their paths.
pub const PDF_TOOLS_FILES: [(&str, &[u8]); 4] = [
    ("SKILL.md", PDF_TOOLS.as_bytes()),
    ("references/guide.md", b"one\ntwo\nthree\n"),
    ("hello.txt", b"hello\n"),
    ("assets/dot.png", DOT),
];

/// The SKILL.md of a plain skill.
pub fn plain(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\nDo it well.\n")
}
