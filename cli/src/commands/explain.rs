//! `mmspec explain`.

use crate::args::{self, Side};
use crate::output::Out;
use crate::{Verdict, input};
use mmspec_impl::OwnedAllocator;
use mmspec_model::contract::LinuxPolicy;
use mmspec_model::picture::LEGEND;
use mmspec_model::reference::Reference;
use mmspec_proptests::script::Script;
use mmspec_snapshots::explain::Explain;

pub(crate) fn run(args: &args::Explain, out: &mut Out) -> anyhow::Result<Verdict> {
    let script = input::script(&args.file)?;
    let (rules, tunables) = (script.rules, script.tunables);
    match args.on {
        Side::Reference => {
            tell(&script, Reference::new(&script.machine, rules, tunables)?, args.brief, out)
        }
        Side::Impl => {
            let booted: OwnedAllocator =
                OwnedAllocator::new(script.machine.as_ref(), rules, tunables)?;
            tell(&script, booted, args.brief, out)
        }
    }
}

fn tell<T: LinuxPolicy>(
    script: &Script,
    booted: T,
    brief: bool,
    out: &mut Out,
) -> anyhow::Result<Verdict> {
    let mut explain = Explain::new(script, booted)?;
    out.line(LEGEND)?;
    picture(&explain, out)?;
    while let Some(step) = explain.next().transpose()? {
        if out.closed() {
            break;
        }
        if !brief {
            out.print(step)?;
        }
    }
    picture(&explain, out)?;
    Ok(Verdict::Holds)
}

fn picture<T: LinuxPolicy>(explain: &Explain<'_, T>, out: &mut Out) -> anyhow::Result<()> {
    explain.picture().iter().try_for_each(|zone| out.print(zone))
}
