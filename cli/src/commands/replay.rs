//! `mmspec replay`.

use crate::output::Out;
use crate::{Verdict, args, input, show};
use mmspec_proptests::check;
use mmspec_proptests::engine::{Case, Failure};

pub(crate) fn run(args: &args::Replay, out: &mut Out) -> anyhow::Result<Verdict> {
    let case = Case::parse(&input::name(&args.file), &input::text(&args.file)?)?;
    let operations = case.script.ops.len();
    let how = if case.schedule.is_some() {
        "under its schedule"
    } else {
        "compared, and by the laws on both allocators"
    };
    out.line(format_args!("{operations} operations, {how}"))?;
    let Err(finding) = check::replay(&case) else {
        out.line("ok")?;
        return Ok(Verdict::Holds);
    };
    out.print(show::failure(&Failure {
        engine: "replay",
        finding,
        operations_before: operations,
        script: case.script,
        schedule: case.schedule,
        runs: None,
        compaction: None,
        seed: 0,
        case: 0,
        file: None,
    }))?;
    out.line("FAILED")?;
    Ok(Verdict::Violated)
}
