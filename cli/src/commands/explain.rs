//! `mmspec explain`.

use crate::args;
use crate::output::Out;
use crate::{Verdict, input};
use mmspec_model::picture::LEGEND;
use mmspec_model::reference::Reference;
use mmspec_snapshots::explain::Explain;

pub(crate) fn run(args: &args::Explain, out: &mut Out) -> anyhow::Result<Verdict> {
    let script = input::script(&args.file)?;
    let booted = Reference::new(&script.machine, script.rules, script.tunables)?;
    let mut explain = Explain::new(&script, booted)?;
    out.line(LEGEND)?;
    out.line("")?;
    picture(&explain, out)?;
    while let Some(step) = explain.next().transpose()? {
        if out.closed() {
            break;
        }
        if !args.brief {
            out.print(step)?;
        }
    }
    picture(&explain, out)?;
    Ok(Verdict::Holds)
}

fn picture(explain: &Explain<'_, Reference>, out: &mut Out) -> anyhow::Result<()> {
    explain.picture().iter().try_for_each(|zone| out.print(zone))
}
