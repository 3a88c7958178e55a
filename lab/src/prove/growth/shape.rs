//! The shapes of inputs that grow: something again and again, or in itself again and again.
//!
//! Data, as functions of a size; what is slow about one of them is for [`super`] to find.

use super::Shape;
use crate::prove::property::Kind;

/// A unit as often as it fits, in a frontmatter.
macro_rules! fields {
    ($unit:expr) => {
        |size| format!("---\n{}\n---\nbody\n", repeated($unit, size))
    };
}

/// A unit as often as it fits, as a body.
macro_rules! body {
    ($unit:expr) => {
        |size| repeated($unit, size)
    };
}

const fn shape(name: &'static str, kind: Kind, make: fn(usize) -> String) -> Shape {
    Shape { name, kind, make }
}

fn repeated(unit: &str, size: usize) -> String {
    unit.repeat(size / unit.len().max(1))
}

/// Lines with a number in them, so that no two are alike.
fn numbered(size: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(size + 100);
    let mut number = 0;
    while text.len() < size {
        text.push_str(&line(number));
        number += 1;
    }
    text
}

fn fenced(yaml: &str) -> String {
    format!("---\n{yaml}---\nbody\n")
}

/// Every shape.
pub(in crate::prove) const SHAPES: &[Shape] = &[
    shape("fields with other names", Kind::Document, |size| {
        fenced(&numbered(size, |number| format!("k{number}: v\n")))
    }),
    shape(
        "the same field again and again",
        Kind::Document,
        fields!("name: a\n"),
    ),
    shape(
        "fields that break YAML, each another",
        Kind::Document,
        |size| fenced(&numbered(size, |number| format!("k{number}: a: b\n"))),
    ),
    shape(
        "fields with one line that can't be fixed",
        Kind::Document,
        |size| {
            fenced(&format!(
                "{}\"x\n",
                numbered(size, |number| format!("k{number}: a: b\n"))
            ))
        },
    ),
    shape("deeper and deeper values", Kind::Document, |size| {
        let mut yaml = String::new();
        let mut depth = 0;
        while yaml.len() < size {
            yaml.push_str(&" ".repeat(depth));
            yaml.push_str("k: a: b\n");
            depth += 1;
        }
        fenced(&yaml)
    }),
    shape(
        "one value over many lines, with a colon in each",
        Kind::Document,
        |size| {
            fenced(&format!(
                "description: a: b\n{}",
                repeated("  c: d\n", size)
            ))
        },
    ),
    shape("one value of quotes and a colon", Kind::Document, |size| {
        fenced(&format!("description: @{}: x\n", repeated("\"\\", size)))
    }),
    shape(
        "a value of quotes before many fields",
        Kind::Document,
        |size| {
            let fields = numbered(size / 2, |number| format!("k{number}: [a, b, c]\n"));
            fenced(&format!(
                "description: @{}: x\n{fields}",
                repeated("\"", size / 2)
            ))
        },
    ),
    shape(
        "a flow sequence that never ends",
        Kind::Document,
        fields!("["),
    ),
    shape(
        "a flow mapping that never ends",
        Kind::Document,
        fields!("{a: "),
    ),
    shape("a flow sequence of many", Kind::Document, |size| {
        fenced(&format!("metadata: [{}]\n", repeated("a, ", size)))
    }),
    shape("anchors and aliases", Kind::Document, |size| {
        fenced(&numbered(size, |number| {
            format!("k{number}: &a{number} [x, x]\nj{number}: *a{number}\n")
        }))
    }),
    shape(
        "values to fix beside a text that becomes large",
        Kind::Document,
        |size| {
            let laughs = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n";
            fenced(&format!(
                "{laughs}{}",
                numbered(size / 8, |number| format!("k{number}: v: w\n"))
            ))
        },
    ),
    shape(
        "many values to fix, in a folder of another name",
        Kind::Document,
        |size| {
            // The name of the folder goes by the length; this one is no good name.
            let values = numbered(1_200, |number| format!("k{number}: Use: this \"now\"\n"));
            let mut text = fenced(&format!("{values}m: [{}]\n", repeated("a, ", size / 8)));
            while text.len() % 6 != 2 {
                text.push('b');
            }
            text
        },
    ),
    shape("keys in keys in keys", Kind::Document, |size| {
        fenced(&numbered(size.min(2_000), |_| {
            format!("{}a\n", "? ".repeat(60))
        }))
    }),
    shape("complex keys", Kind::Document, fields!("? a\n: b\n")),
    shape("no end of the frontmatter", Kind::Document, |size| {
        format!("---\n{}", repeated("a: b\n", size))
    }),
    shape("lines of dashes", Kind::Document, body!("---\n")),
    shape(
        "blank lines before the frontmatter",
        Kind::Document,
        |size| format!("{}---\nname: a\n---\n", repeated("\n", size)),
    ),
    shape("one long line", Kind::Document, fields!("a")),
    shape(
        "one long line without spaces as a description",
        Kind::Document,
        |size| fenced(&format!("description: {}\n", repeated("ab", size))),
    ),
    shape(
        "hidden characters",
        Kind::Document,
        body!("\u{200b}\u{202e}a\n"),
    ),
    shape("control characters", Kind::Document, |size| {
        repeated(&format!("{}\u{1}", "a".repeat(30)), size)
    }),
    shape(
        "references to files that are missing",
        Kind::Document,
        |size| {
            format!(
                "---\nname: a\n---\n{}",
                numbered(size, |number| format!(
                    "[a](references/{number}.md) `scripts/{number}.py`\n"
                ))
            )
        },
    ),
    shape("carriage returns alone", Kind::Document, fields!("a: b\r")),
    shape("reference: fields", Kind::Strict, |size| {
        fenced(&numbered(size, |number| format!("k{number}: v\n")))
    }),
    shape("reference: nested mappings", Kind::Strict, |size| {
        let mut yaml = String::new();
        let mut depth = 0;
        while yaml.len() < size && depth < 400 {
            yaml.push_str(&" ".repeat(depth));
            yaml.push_str("k:\n");
            depth += 1;
        }
        fenced(&yaml)
    }),
    shape("reference: one quoted value", Kind::Strict, |size| {
        fenced(&format!("description: \"{}\"\n", repeated("\\\"a ", size)))
    }),
    shape("reference: a block of lines", Kind::Strict, |size| {
        fenced(&format!("description: |\n{}", repeated("  a\n", size)))
    }),
    shape(
        "reference: a plain value over lines",
        Kind::Strict,
        |size| fenced(&format!("description: a\n{}", repeated("  b\n", size))),
    ),
    shape("reference: sequences", Kind::Strict, fields!("- a\n")),
    shape("reference: open brackets", Kind::Strict, fields!("[")),
    shape("reference: question marks", Kind::Strict, fields!("? ")),
    shape("reference: dashes", Kind::Strict, fields!("- ")),
    shape("reference: one long name", Kind::Strict, |size| {
        fenced(&format!("name: {}\n", repeated("e\u{301}", size)))
    }),
    shape("reference: comments", Kind::Strict, fields!("# a\n")),
    shape("reference: colons", Kind::Strict, fields!("a:")),
    shape("yaml: sequences in a line", Kind::Yaml, body!("- ")),
    shape("yaml: keys in a line", Kind::Yaml, body!("? ")),
    shape("yaml: quoted", Kind::Yaml, |size| {
        format!("\"{}\"", repeated("\\n a\n", size))
    }),
    shape("yaml: a block", Kind::Yaml, |size| {
        format!("|\n{}", repeated(" a\n\n", size))
    }),
    shape("yaml: documents", Kind::Yaml, body!("---\na\n")),
    shape("yaml: commas", Kind::Yaml, |size| {
        format!("[{}", repeated(",", size))
    }),
    shape("yaml: colons", Kind::Yaml, body!(": ")),
    shape("yaml: plain lines", Kind::Yaml, body!("a\n")),
    shape("yaml: nested anchors", Kind::Yaml, |size| {
        let laughs = numbered(size, |number| format!("- &a{number} [b, c]\n"));
        format!("{laughs}- [*a1, *a2]\n")
    }),
    shape("yaml: tags", Kind::Yaml, |size| {
        format!("!{} a", repeated("x", size))
    }),
    shape("a long name", Kind::Name, body!("ab-")),
    shape("a name of marks", Kind::Name, |size| {
        format!("a{}", repeated("\u{301}\u{316}", size))
    }),
    shape("a full name of many parts", Kind::Name, body!("a/")),
    shape("a long path", Kind::Path, body!("a/")),
    shape("a path of dots", Kind::Path, body!("./")),
    shape("headings", Kind::Section, body!("# a\n")),
    shape("headings of their own", Kind::Section, |size| {
        numbered(size, |number| format!("## h{number}\n\n"))
    }),
    shape("one long heading", Kind::Section, |size| {
        format!("# {}\n", repeated("a ", size))
    }),
    shape("quotes in quotes", Kind::Section, body!("> ")),
    shape("quotes in quotes, line by line", Kind::Section, |size| {
        let mut text = String::new();
        let mut depth = 1;
        while text.len() < size {
            text.push_str(&"> ".repeat(depth));
            text.push_str("a\n");
            depth += 1;
        }
        text
    }),
    shape("lists in lists", Kind::Section, body!("- ")),
    shape("lists in lists, line by line", Kind::Section, |size| {
        let mut text = String::new();
        let mut depth = 0;
        while text.len() < size {
            text.push_str(&"  ".repeat(depth));
            text.push_str("- a\n");
            depth += 1;
        }
        text
    }),
    shape("open links", Kind::Section, body!("[a](")),
    shape("open brackets", Kind::Section, body!("[")),
    shape("open images", Kind::Section, body!("![[")),
    shape("stars", Kind::Section, body!("*a_ ")),
    shape("stars and words", Kind::Section, body!("a**b_c*")),
    shape("backquotes", Kind::Section, |size| {
        let mut text = String::new();
        let mut length = 1;
        while text.len() < size {
            text.push_str(&"`".repeat(length));
            text.push(' ');
            length += 1;
        }
        text
    }),
    shape("open comments", Kind::Section, body!("<!--")),
    shape("open declarations", Kind::Section, body!("<!A ")),
    shape("open instructions", Kind::Section, body!("<?")),
    shape("open tags", Kind::Section, body!("<a b=\"")),
    shape("references to link definitions", Kind::Section, |size| {
        format!(
            "{}\n{}",
            numbered(size / 2, |number| format!("[r{number}]: u\n")),
            numbered(size / 2, |number| format!("[r{number}] "))
        )
    }),
    shape("footnotes", Kind::Section, |size| {
        numbered(size, |number| format!("[^{number}]: a [^{number}]\n\n"))
    }),
    shape("a wide table", Kind::Section, |size| {
        format!(
            "{}\n{}\n{}",
            repeated("|a", size / 3),
            repeated("|-", size / 3),
            repeated("|b", size / 3)
        )
    }),
    shape("a wide table with narrow rows", Kind::Section, |size| {
        format!(
            "{}\n{}\n{}",
            repeated("|a", size / 3),
            repeated("|-", size / 3),
            repeated("b\n", size / 3)
        )
    }),
    shape("entities", Kind::Section, body!("&amp")),
    shape("backslashes", Kind::Section, body!("\\")),
    shape("a long path as an argument", Kind::Arguments, |size| {
        format!(
            "{{\"tool\":\"skill_read\",\"arguments\":{{\"skill_name\":\"alpha\",\"path\":\"{}\"}}}}",
            repeated("ab/", size)
        )
    }),
    shape("a long name as an argument", Kind::Arguments, |size| {
        format!(
            "{{\"tool\":\"skill_load\",\"arguments\":{{\"skill_name\":\"{}\"}}}}",
            repeated("a", size)
        )
    }),
    shape("a long section as an argument", Kind::Arguments, |size| {
        format!(
            "{{\"tool\":\"skill_load\",\"arguments\":{{\"skill_name\":\"alpha\",\"section\":\"{}\"}}}}",
            repeated("# a", size)
        )
    }),
    shape("many arguments", Kind::Arguments, |size| {
        format!(
            "{{\"tool\":\"skill_list\",\"arguments\":{{{}\"z\":1}}}}",
            numbered(size, |number| format!("\"a{number}\":1,"))
        )
    }),
    shape("a long tool name", Kind::Arguments, |size| {
        format!(
            "{{\"tool\":\"{}\",\"arguments\":{{}}}}",
            repeated("skill_", size)
        )
    }),
];
