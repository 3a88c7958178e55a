//! Rows of measurements, for people as a table and for programs as JSON.

use serde_json::{Map, Value, json};

use crate::columns::columns;
use crate::sample::{Sample, Unit};

/// One quantity of one set.
pub(super) struct Row {
    /// The measured quantity.
    pub(super) what: String,
    pub(super) unit: Unit,
    pub(super) ours: Sample,
    /// The value to reach.
    pub(super) goal: Option<f64>,
    /// The same of the server beside it.
    pub(super) theirs: Option<Sample>,
}

/// All rows of one set, and what could not be measured.
#[derive(Default)]
pub(super) struct Table {
    pub(super) title: String,
    pub(super) rows: Vec<Row>,
    pub(super) notes: Vec<String>,
    /// Answers that were wrong: they fail the run.
    pub(super) wrong: Vec<String>,
}

const HEAD: [&str; 9] = [
    "what", "n", "min", "median", "p99", "goal", "met", "FastMCP", "ratio",
];

impl Row {
    /// The same with a goal.
    pub(super) fn goal(self, goal: f64) -> Self {
        Self {
            goal: Some(goal),
            ..self
        }
    }

    /// The same with the figures of the server beside ours.
    pub(super) fn beside(self, theirs: Sample) -> Self {
        Self {
            theirs: (theirs.len() > 0).then_some(theirs),
            ..self
        }
    }

    /// True when the median reaches the goal; `None` without a goal.
    pub(super) fn is_met(&self) -> Option<bool> {
        let (median, goal) = (self.ours.median()?, self.goal?);
        Some(if self.unit.more_is_better() {
            median > goal
        } else {
            median < goal
        })
    }

    /// FastMCP's median divided by ours.
    fn ratio(&self) -> Option<f64> {
        let (ours, theirs) = (self.ours.median()?, self.theirs.as_ref()?.median()?);
        (ours > 0.0).then_some(theirs / ours)
    }

    fn cells(&self) -> [String; 9] {
        let shown = |value: Option<f64>| value.map_or(String::new(), |value| self.unit.show(value));
        let sign = if self.unit.more_is_better() { '>' } else { '<' };
        let least = if self.unit.more_is_better() {
            self.ours.most()
        } else {
            self.ours.least()
        };
        // Of a few values, the 99th percentile is the largest: that says nothing more.
        let tail = (self.ours.len() >= 20)
            .then(|| self.ours.percentile(99))
            .flatten();
        [
            self.what.clone(),
            self.ours.len().to_string(),
            shown(least),
            shown(self.ours.median()),
            shown(tail),
            self.goal.map_or(String::new(), |goal| {
                format!("{sign} {}", self.unit.show(goal))
            }),
            match self.is_met() {
                None => String::new(),
                Some(true) => "yes".to_owned(),
                Some(false) => "NO".to_owned(),
            },
            shown(self.theirs.as_ref().and_then(Sample::median)),
            self.ratio()
                .map_or(String::new(), |ratio| format!("{ratio:.1}×")),
        ]
    }

    fn to_json(&self) -> Value {
        let mut row = Map::new();
        row.insert("what".to_owned(), self.what.clone().into());
        row.insert("unit".to_owned(), self.unit.name().into());
        row.insert("values".to_owned(), self.ours.len().into());
        let mut add = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                row.insert(name.to_owned(), json!(value));
            }
        };
        add("min", self.ours.least());
        add("median", self.ours.median());
        add("p99", self.ours.percentile(99));
        add("max", self.ours.most());
        add("goal", self.goal);
        add(
            "fastmcp_median",
            self.theirs.as_ref().and_then(Sample::median),
        );
        add("fastmcp_ratio", self.ratio());
        if let Some(met) = self.is_met() {
            row.insert("met".to_owned(), met.into());
        }
        Value::Object(row)
    }
}

impl Table {
    /// The table as text: a column is as wide as its widest cell.
    pub(super) fn to_text(&self) -> String {
        let mut lines: Vec<[String; 9]> = vec![HEAD.map(str::to_owned)];
        lines.extend(self.rows.iter().map(Row::cells));
        let mut text = format!("{}\n\n{}", self.title, columns(&lines, 1));
        for note in &self.notes {
            text.push_str("note: ");
            text.push_str(note);
            text.push('\n');
        }
        for wrong in &self.wrong {
            text.push_str("wrong: ");
            text.push_str(wrong);
            text.push('\n');
        }
        text
    }

    /// The table for programs.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "title": self.title,
            "rows": self.rows.iter().map(Row::to_json).collect::<Vec<_>>(),
            "notes": self.notes,
            "wrong": self.wrong,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, Table};
    use crate::sample::{Sample, Unit};

    #[test]
    fn a_goal_is_met_or_not_and_the_columns_line_up() {
        let mut ours = Sample::default();
        ours.value(5.0);
        let mut theirs = Sample::default();
        theirs.value(50.0);
        let row = |goal| Row {
            what: "start".to_owned(),
            unit: Unit::Milliseconds,
            ours: ours.clone(),
            goal: Some(goal),
            theirs: Some(theirs.clone()),
        };
        let table = Table {
            title: "a set".to_owned(),
            rows: vec![row(6.0), row(4.0)],
            notes: vec!["n".to_owned()],
            wrong: Vec::new(),
        };
        let text = table.to_text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[3].contains("yes") && lines[4].contains("NO"),
            "{text}"
        );
        assert!(lines[3].ends_with("10.0×"), "{text}");
        assert_eq!(lines[2].find("ratio"), lines[3].find("10.0×"), "{text}");
    }
}
