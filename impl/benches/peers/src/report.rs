//! Tables of what was measured.

use comfy_table::{CellAlignment, Table, presets};

pub const OURS: &str = "mmspec-impl";
pub const NULL: &str = "null (the load alone)";

/// One slice.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The unit L just before, in nanoseconds.
    pub unit: f64,
    pub ns: f64,
}

/// One allocator under one load.
#[derive(Clone, Debug)]
pub struct Row {
    name: &'static str,
    frames: u64,
    cells: Vec<Cell>,
    /// Requests refused and requests made.
    pub refused: (u64, u64),
}

/// The median; not a number if there are none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Row {
    pub fn new(name: &'static str, frames: u64) -> Self {
        Self { name, frames, cells: Vec::new(), refused: (0, 0) }
    }

    pub fn add(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    fn ns(&self) -> f64 {
        median(self.cells.iter().map(|cell| cell.ns))
    }

    fn in_units(&self) -> f64 {
        median(self.cells.iter().map(|cell| cell.ns / cell.unit))
    }

    /// The range of what was measured.
    fn range(&self) -> (f64, f64) {
        let ns = || self.cells.iter().map(|cell| cell.ns).filter(|ns| ns.is_finite());
        (ns().fold(f64::INFINITY, f64::min), ns().fold(0.0, f64::max))
    }

    /// The median of the ratios to `other`, round by round.
    fn to(&self, other: &Self) -> f64 {
        let ratio = |(own, other): (&Cell, &Cell)| own.ns / other.ns;
        median(self.cells.iter().zip(&other.cells).map(ratio))
    }
}

/// Two figures behind the point, fewer for large numbers; a dash for none.
fn figure(value: f64) -> String {
    match value {
        value if !value.is_finite() => "—".to_owned(),
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

fn size(frames: u64) -> String {
    match frames >> 8 {
        mib @ ..1024 => format!("{mib} MiB"),
        mib => format!("{} GiB", mib / 1024),
    }
}

/// Print the rows of one load.
pub fn print(title: &str, rows: &[Row]) {
    let of =
        |name: &str, frames: u64| rows.iter().find(|row| row.name == name && row.frames == frames);
    let several = rows.iter().any(|row| row.frames != rows[0].frames);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([title, "ns", "", "L", "L less null", "to ours", "to the least size"]);
    for row in rows {
        let own = of(OURS, row.frames).filter(|_| row.name != OURS && row.name != NULL);
        let null = of(NULL, row.frames).filter(|_| row.name != NULL).map(Row::in_units);
        let (least, most) = row.range();
        let ns = row.ns();
        let range = format!("({} to {})", figure(least), figure(most));
        let least_size = of(row.name, rows[0].frames).filter(|_| several);
        table.add_row([
            format!("{}, {}", row.name, size(row.frames)),
            figure(ns),
            if ns.is_finite() { range } else { String::new() },
            figure(row.in_units()),
            null.map_or(String::new(), |null| figure(row.in_units() - null)),
            own.map_or(String::new(), |own| figure(row.to(own))),
            least_size.map_or(String::new(), |least| figure(row.to(least))),
        ]);
    }
    for column in [1, 3, 4, 5, 6] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("\n{table}");
    for row in rows.iter().filter(|row| row.refused.0 > 0) {
        let percent = 100.0 * row.refused.0 as f64 / row.refused.1 as f64;
        println!("{}, {}: {percent:.3} % refused", row.name, size(row.frames));
    }
}

/// Print what each allocator keeps for a frame, where that is a matter of types.
pub fn print_metadata() {
    let ours = size_of::<mmspec_impl::FrameState>() + size_of::<mmspec_impl::Links>();
    let slab = size_of::<buddy_slab_allocator::buddy::PageMeta>();
    println!("\nmetadata, bytes a frame: {OURS} {ours}; buddy-slab-allocator {slab}");
}
