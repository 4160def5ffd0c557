//! `mmspec laws`.

use crate::Verdict;
use crate::output::Out;
use crate::table;
use mmspec_model::laws;

pub(crate) fn run(out: &mut Out) -> anyhow::Result<Verdict> {
    let rows = laws::all().map(|law| {
        let words = [law.id, law.family.name(), law.level.name(), law.when.name(), law.statement];
        words.map(str::to_owned).to_vec()
    });
    let head = ["law", "family", "level", "holds", "statement"];
    out.line(table::table(&head, head.len(), rows))?;
    Ok(Verdict::Holds)
}
