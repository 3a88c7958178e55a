//! The faults that remain from before a check came, as numbers that may only shrink.
//!
//! They stand in [`FILE`]: a table for each kind of fault, a line for each crate or document. What is
//! not there has none. More faults than the ceiling are an error; fewer are a note, and
//! `cargo xtask tidy --lower` writes the lower number.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Finding;
use crate::tree::Tree;

/// The file with the ceilings.
pub(super) const FILE: &str = "xtask/ceilings.toml";
const HEADER: &str = "\
# Faults that remain from before a check came: these numbers may only shrink.
# `cargo xtask tidy --lower` writes lower ones, `cargo xtask tidy --all` shows the places.
";

/// The faults of one kind in one crate or document.
pub(super) struct Group {
    /// The kind.
    pub(super) table: &'static str,
    /// The crate or document.
    pub(super) subject: String,
    /// The size of the fault, which the ceiling limits.
    pub(super) count: usize,
    /// The places.
    pub(super) findings: Vec<Finding>,
}

/// The ceilings by kind and by crate or document.
pub(super) struct Ceilings(BTreeMap<String, BTreeMap<String, usize>>);

impl Ceilings {
    /// Reads [`FILE`]; a fault in it is a finding.
    pub(super) fn read(tree: &Tree) -> Result<Self, Finding> {
        toml::from_str(tree.text(FILE)).map(Self).map_err(|error| {
            Finding::new(
                FILE,
                1,
                format!("the ceilings can't be read: {}", error.message()),
                "write a table for each kind of fault, with lines such as `gongfu-core = 3`",
            )
        })
    }

    fn of(&self, group: &Group) -> usize {
        let table = self.0.get(group.table);
        let ceiling = table.and_then(|table| table.get(&group.subject));
        ceiling.copied().unwrap_or_default()
    }

    /// The findings of a group that is above its ceiling, a note for one that is below.
    pub(super) fn judge(&self, tree: &Tree, group: Group) -> Vec<Finding> {
        let (count, ceiling) = (group.count, self.of(&group));
        if count > ceiling {
            let line = line(tree, &group);
            let mut findings = group.findings;
            if ceiling > 0 {
                let fix = "bring it down to the ceiling again; the number may only shrink";
                let what = format!(
                    "{} of {}: {count}, at most {ceiling}; one of the places above is new",
                    group.table, group.subject
                );
                findings.push(Finding::new(FILE, line, what, fix));
            }
            return findings;
        }
        if count == ceiling {
            return Vec::new();
        }
        vec![Finding::note(
            FILE,
            line(tree, &group),
            format!(
                "{} of {}: {count}, below its ceiling of {ceiling}",
                group.table, group.subject
            ),
            "run `cargo xtask tidy --lower`",
        )]
    }

    /// The text of [`FILE`] with each ceiling as low as it can be.
    pub(super) fn lowered(&self, groups: &[Group]) -> String {
        let mut tables: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for group in groups {
            let lower = group.count.min(self.of(group));
            if lower > 0 {
                let table = tables.entry(group.table).or_default();
                table.insert(&group.subject, lower);
            }
        }
        let mut text = HEADER.to_owned();
        for (name, table) in tables {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n[{name}]");
            for (subject, ceiling) in table {
                let _ = writeln!(text, "\"{subject}\" = {ceiling}");
            }
        }
        text
    }
}

/// The line of a group's ceiling.
fn line(tree: &Tree, group: &Group) -> usize {
    let table = format!("[{}]", group.table);
    let lines = tree.text(FILE).lines().enumerate();
    let mut own = lines.skip_while(|(_, line)| line.trim() != table);
    own.find(|(_, line)| line.contains(&group.subject))
        .map_or(1, |(index, _)| index + 1)
}
