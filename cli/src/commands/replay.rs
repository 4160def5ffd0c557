//! `mmspec replay`.

use crate::output::Out;
use crate::{Verdict, args, input, show};
use mmspec_proptests::check;
use mmspec_proptests::compaction;
use mmspec_proptests::engine::{Case, Failure, OwnCase};
use mmspec_proptests::flat::{self, Language};
use mmspec_proptests::memcg::Memcg;
use mmspec_proptests::slab::Slab;

pub(crate) fn run(args: &args::Replay, out: &mut Out) -> anyhow::Result<Verdict> {
    let text = input::text(&args.file)?;
    let name = input::name(&args.file);
    if compaction::is_case(&text) {
        return compacted(compaction::Case::parse(&name, &text)?, out);
    }
    if flat::begins::<Memcg>(&text) {
        return flat(flat::Case::<Memcg>::parse(&name, &text)?, out);
    }
    if flat::begins::<Slab>(&text) {
        return flat(flat::Case::<Slab>::parse(&name, &text)?, out);
    }
    let case = Case::parse(&name, &text)?;
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
        own: None,
        seed: 0,
        case: 0,
        file: None,
    }))?;
    out.line("FAILED")?;
    Ok(Verdict::Violated)
}

/// A case of one-line operations.
fn flat<L: Language>(case: flat::Case<L>, out: &mut Out) -> anyhow::Result<Verdict>
where
    OwnCase: From<flat::Case<L>>,
{
    let ops = case.ops.len();
    let how = if case.schedule.is_some() {
        "by threads, under its schedule"
    } else {
        "compared, and by the laws"
    };
    out.line(format_args!("{ops} operations, {how}"))?;
    match flat::replay(&case) {
        Ok(done) => {
            out.line(format_args!("ok: {done} did something"))?;
            Ok(Verdict::Holds)
        }
        Err(finding) => {
            out.print(show::failure(&Failure::own(L::ENGINE, finding, case, 0, 0, ops)))?;
            out.line("FAILED")?;
            Ok(Verdict::Violated)
        }
    }
}

/// A case of compaction.
fn compacted(case: compaction::Case, out: &mut Out) -> anyhow::Result<Verdict> {
    let acts = case.acts.len();
    out.line(format_args!("{acts} acts of compaction, by the laws at every iteration"))?;
    match compaction::replay(&case) {
        Ok(played) => {
            let (runs, iterations) = (played.runs, played.iterations);
            out.line(format_args!("ok: {runs} runs, {iterations} iterations"))?;
            Ok(Verdict::Holds)
        }
        Err(finding) => {
            out.print(show::failure(&Failure::own("compaction", finding, case, 0, 0, acts)))?;
            out.line("FAILED")?;
            Ok(Verdict::Violated)
        }
    }
}
