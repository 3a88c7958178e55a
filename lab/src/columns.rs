//! Tables for a terminal.

/// Lines of cells, each column as wide as its widest cell. The first columns are words, and begin at the
/// left; the others are figures, and end at the right.
pub(crate) fn columns<L: AsRef<[String]>>(lines: &[L], words: usize) -> String {
    let count = lines.iter().map(|cells| cells.as_ref().len()).max();
    let width = |column: usize| {
        let cells = lines
            .iter()
            .filter_map(|cells| cells.as_ref().get(column).map(String::as_str));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count.unwrap_or(0)).map(width).collect();
    let mut text = String::new();
    for cells in lines {
        let padded = cells.as_ref().iter().zip(&widths).enumerate();
        let padded = padded.map(|(column, (cell, &width))| {
            if column < words {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn words_begin_at_the_left_and_figures_end_at_the_right() {
        let lines = [["a", "b", "c"], ["long", "x", "100"]].map(|line| line.map(str::to_owned));
        assert_eq!(columns(&lines, 2), "a     b    c\nlong  x  100\n");
        assert_eq!(columns::<[String; 1]>(&[], 1), "");
    }
}
