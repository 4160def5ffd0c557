//! An experiment as text, JSON and CSV.

use super::{Experiment, Histogram, Pair, Parameter, Row};
use std::fmt::Write;

/// For people.
#[must_use]
pub fn text(experiment: &Experiment) -> String {
    let mut out = String::new();
    line(
        &mut out,
        &format!("{}: published against simulated (* direction must agree)", experiment.name),
    );
    line(&mut out, "");
    let head = ["figure", "", "published", "", "ratio", "simulated", "", "ratio", "direction"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.push(
        ["", "", "base", "patched", "", "base", "patched", "", ""].map(str::to_owned).to_vec(),
    );
    rows.extend(experiment.rows.iter().map(row));
    table(&mut out, &rows, 2);
    for histogram in &experiment.histograms {
        section(&mut out, &histogram.figure);
        table(&mut out, &buckets(histogram), 1);
    }
    section(&mut out, "cost model");
    table(&mut out, &parameters(&experiment.cost_model), 1);
    if !experiment.sensitivity.is_empty() {
        section(&mut out, "patched / base with a parameter halved and doubled");
        let head = ["parameter", "figure", "halved", "as is", "doubled"].map(str::to_owned);
        let mut rows = vec![head.to_vec()];
        rows.extend(experiment.sensitivity.iter().map(|one| {
            let mut row = vec![one.parameter.clone(), one.figure.clone()];
            row.extend([one.halved, one.as_is, one.doubled].map(ratio));
            row
        }));
        table(&mut out, &rows, 2);
    }
    if !experiment.notes.is_empty() {
        section(&mut out, "notes");
        experiment.notes.iter().for_each(|note| line(&mut out, &format!("* {note}")));
    }
    out
}

/// One JSON object: `{name, rows: [{figure, starred, published: {base, patched}, simulated: {base,
/// patched}, direction_ok}], cost_model}` and more keys (docs/json.md).
#[must_use]
pub fn json(experiment: &Experiment) -> String {
    // Strings, numbers that are finite, and lists of them: this cannot fail.
    serde_json::to_string_pretty(experiment).unwrap_or_default()
}

/// One line for each row, with a head.
#[must_use]
pub fn csv(experiment: &Experiment) -> String {
    let mut out = String::from(
        "experiment,figure,starred,published_base,published_patched,published_ratio,\
         simulated_base,simulated_patched,simulated_ratio,direction_ok\n",
    );
    for row in &experiment.rows {
        let mut cells =
            vec![quoted(&experiment.name), quoted(&row.figure), row.starred.to_string()];
        for pair in [row.published, row.simulated] {
            cells.extend([pair.base, pair.patched, pair.ratio()].map(plain));
        }
        cells.push(row.direction_ok.to_string());
        line(&mut out, &cells.join(","));
    }
    out
}

fn row(row: &Row) -> Vec<String> {
    let star = if row.starred { "*" } else { "" };
    let mut cells = vec![row.figure.clone(), star.to_owned()];
    let pair = |pair: Pair| [number(pair.base), number(pair.patched), ratio(pair.ratio())];
    cells.extend(pair(row.published));
    cells.extend(pair(row.simulated));
    let direction = match (row.judged, row.direction_ok) {
        (false, _) => "-",
        (true, true) => "ok",
        (true, false) => "WRONG",
    };
    cells.push(direction.to_owned());
    cells
}

fn buckets(histogram: &Histogram) -> Vec<Vec<String>> {
    let mut rows = vec![["below", "base", "patched"].map(str::to_owned).to_vec()];
    for at in 0..histogram.base.len().max(histogram.patched.len()) {
        let below = histogram.below.get(at).map_or("more".to_owned(), |end| number(Some(*end)));
        let count = |counts: &[u64]| counts.get(at).copied().unwrap_or(0).to_string();
        rows.push(vec![below, count(&histogram.base), count(&histogram.patched)]);
    }
    rows
}

fn parameters(parameters: &[Parameter]) -> Vec<Vec<String>> {
    let mut rows =
        vec![["parameter", "value", "unit", "range", "source"].map(str::to_owned).to_vec()];
    rows.extend(parameters.iter().map(|one| {
        let range = one.range.map_or_else(String::new, |(low, high)| {
            format!("{} to {}", number(Some(low)), number(Some(high)))
        });
        let value = number(Some(one.value));
        vec![one.name.clone(), value, one.unit.clone(), range, one.source.clone()]
    }));
    rows
}

/// Thousands apart, at most three places.
fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let text = format!("{:.3}", value.abs());
    let (whole, places) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::from(if value < 0.0 { "-" } else { "" });
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    let places = places.trim_end_matches('0');
    if !places.is_empty() {
        out.push('.');
        out.push_str(places);
    }
    out
}

fn ratio(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value != 0.0 && value.abs() < 0.001 => format!("{value:.1e}"),
        Some(value) => format!("{value:.3}"),
    }
}

fn plain(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// As RFC 4180 wants a cell.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Columns as wide as they must be; the first `left` of them and those of words flush left.
fn table(out: &mut String, rows: &[Vec<String>], left: usize) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let is_number = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    for row in rows {
        let mut text = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = if column > 0 { "  " } else { "" };
            let body = rows.iter().skip(1).filter_map(|row| row.get(column));
            let flush_left = column < left || !body.clone().any(|cell| is_number(cell));
            let cell = if flush_left {
                format!("{gap}{cell:<width$}")
            } else {
                format!("{gap}{cell:>width$}")
            };
            text.push_str(&cell);
        }
        line(out, text.trim_end());
    }
}

fn section(out: &mut String, title: &str) {
    line(out, "");
    line(out, &format!("-- {title}"));
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(number(Some(166_713_013.0)), "166 713 013");
        assert_eq!(number(Some(487_511.8)), "487 511.8");
        assert_eq!(number(Some(-0.25)), "-0.25");
        assert_eq!((number(Some(0.0)), number(None)), ("0".to_owned(), "-".to_owned()));
        assert_eq!((ratio(Some(0.686)), ratio(Some(0.000_004))), ("0.686".into(), "4.0e-6".into()));
    }

    #[test]
    fn cells_with_commas_are_quoted() {
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
        assert_eq!(quoted("a b"), "a b");
    }

    #[test]
    fn json_holds_the_keys_that_are_promised() {
        let rows = vec![Row::new("f (s)", true, Pair::of(2.0, 1.0), Pair::of(4.0, 3.0))];
        let experiment = Experiment {
            name: "x".to_owned(),
            rows,
            cost_model: Vec::new(),
            notes: Vec::new(),
            histograms: Vec::new(),
            sensitivity: Vec::new(),
        };
        let value: serde_json::Value = serde_json::from_str(&json(&experiment)).expect("JSON");
        assert_eq!(value["name"], "x");
        assert_eq!(value["rows"][0]["published"]["base"], 2.0);
        assert_eq!(value["rows"][0]["simulated"]["patched"], 3.0);
        assert_eq!(value["rows"][0]["direction_ok"], true);
        assert!(value["cost_model"].is_array());
        assert_eq!(csv(&experiment).lines().nth(1), Some("x,f (s),true,2,1,0.5,4,3,0.75,true"));
        assert!(text(&experiment).contains("f (s)   *"), "{}", text(&experiment));
    }
}
