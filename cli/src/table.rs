//! Tables and numbers for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table without rulers; columns from `texts` on are numbers and stand to the right.
pub(crate) fn table(
    head: &[&str],
    texts: usize,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    for row in rows {
        table.add_row(row);
    }
    for column in texts..head.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// `1 234 567`.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// `99.97 %`, rounded down: never 100 while something is missing.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let hundredths = u128::from(part) * 10_000 / u128::from(whole);
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_from_the_right() {
        let shown = [0, 999, 1000, 1_234_567].map(number);
        assert_eq!(shown, ["0", "999", "1 000", "1 234 567"]);
    }

    #[test]
    fn a_share_is_never_rounded_up_to_all() {
        assert_eq!(percent(99_999, 100_000), "99.99 %");
        assert_eq!(percent(3, 3), "100.00 %");
        assert_eq!(percent(0, 0), "-");
    }
}
