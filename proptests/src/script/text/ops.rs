//! The lines that describe operations.

use super::ParseError;
use super::args::{Args, Word};
use super::header::tunables;
use crate::script::names::{ALLOC_FLAGS, TASK_FLAGS};
use crate::script::{Handle, KSWAPD_HINT, Op, REPLY_HINT, Reply, parse_kswapd};
use mmspec_model::contract::{KswapdReply, Request, Task, TaskFlags};
use mmspec_model::vocab::{
    AllocFlags, Gfp, MAX_NODES, Mark, MigrateType, NodeId, Tunables, ZoneIdx, ZoneKind,
};

const HANDLE_HINT: &str = "name a block a1, a2 and so on";

/// The names of all operations, for errors.
const NAMES: &str = "alloc, bulk, free, free-batch, drain, drain-all, drain-begin, work, \
     pcp-disable, pcp-enable, fail-trylock, tick, set, reclaim-active, isolate, unisolate, unreserve, cpu-dead, cpu-online, \
     slow, take-off, kswapd, rebuild-zonelists, reclaimable or check";

/// One operation whose first word is `first`. `in_force`: the tunables before it.
pub(super) fn op(
    args: &mut Args<'_>,
    first: Word<'_>,
    in_force: &Tunables,
) -> Result<Op, ParseError> {
    if is_handle(first.text) || first.text == "=" {
        return definition(args, first);
    }
    Ok(match first.text {
        "free" => Op::Free { cpu: args.cpu("cpu")?, handle: one_handle(args)? },
        "free-batch" => Op::FreeBatch { cpu: args.cpu("cpu")?, handles: all_handles(args)? },
        "drain" => Op::DrainCpu { by: args.cpu("by")?, cpu: args.cpu("cpu")? },
        "drain-all" => Op::DrainAll { by: args.cpu("by")?, zone: any_zone(args)? },
        "drain-begin" => Op::DrainBegin { by: args.cpu("by")?, zone: any_zone(args)? },
        "work" => Op::Work { cpu: args.cpu("cpu")? },
        "pcp-disable" => Op::PcpDisable { by: args.cpu("by")?, zone: args.zone()? },
        "pcp-enable" => Op::PcpEnable { zone: args.zone()? },
        "fail-trylock" => {
            let cpu = args.cpu("cpu")?;
            let word = args.required("times", "say how many attempts fail")?;
            Op::FailTrylock { cpu, times: args.u32(word)? }
        }
        "tick" => Op::Tick { cpu: args.cpu("cpu")? },
        "set" => Op::Set { tunables: tunables(args, in_force)? },
        "reclaim-active" => {
            let zone = args.zone()?;
            let word = args.expect("on or off", "write reclaim-active zone=0 on")?;
            Op::ReclaimActive { zone, active: args.switch(word)? }
        }
        "isolate" => Op::Isolate { cpu: args.cpu("cpu")?, pfn: frame(args)? },
        "unisolate" => {
            let (cpu, pfn) = (args.cpu("cpu")?, frame(args)?);
            Op::Unisolate { cpu, pfn, migratetype: migratetype(args)? }
        }
        "unreserve" => {
            let (cpu, migratetype) = (args.cpu("cpu")?, migratetype(args)?);
            Op::Unreserve { cpu, migratetype, force: args.flag("force") }
        }
        "cpu-dead" => Op::CpuDead { by: args.cpu("by")?, cpu: args.cpu("cpu")? },
        "cpu-online" => Op::CpuOnline { cpu: args.cpu("cpu")? },
        "kswapd" => {
            let word = args.required("node", "name the node by its number, from 0")?;
            let node = NodeId(args.number(word, MAX_NODES as u64 - 1)? as u8);
            Op::Kswapd { node, reply: kswapd_reply(args)? }
        }
        "rebuild-zonelists" => Op::Rebuild,
        "reclaimable" => {
            let zone = args.zone()?;
            let word = args.required("pages", "say how many pages")?;
            Op::Reclaimable { zone, pages: args.number(word, u64::from(u32::MAX))? }
        }
        "check" => check(args)?,
        other => {
            let what = format!("\"{other}\" is no operation");
            return Err(args.error(first.column, what, format!("use {NAMES}")));
        }
    })
}

/// `zone=`, if it is there.
fn any_zone(args: &mut Args<'_>) -> Result<Option<ZoneIdx>, ParseError> {
    args.named("zone").map(|word| args.zone_of(word)).transpose()
}

fn is_handle(text: &str) -> bool {
    text.strip_prefix('a').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn handle(args: &Args<'_>, word: Word<'_>) -> Result<Handle, ParseError> {
    let number = word.text.strip_prefix('a').filter(|_| is_handle(word.text));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => Ok(Handle(number)),
        None => {
            let what = format!("\"{}\" is no handle", word.text);
            Err(args.error(word.column, what, HANDLE_HINT))
        }
    }
}

fn one_handle(args: &mut Args<'_>) -> Result<Handle, ParseError> {
    let word = args.expect("the handle", HANDLE_HINT)?;
    handle(args, word)
}

fn all_handles(args: &mut Args<'_>) -> Result<Vec<Handle>, ParseError> {
    let mut all = Vec::new();
    while let Some(word) = args.next() {
        all.push(handle(args, word)?);
    }
    Ok(all)
}

/// `a1 = alloc …` or `a1 a2 = bulk …`.
fn definition(args: &mut Args<'_>, first: Word<'_>) -> Result<Op, ParseError> {
    let mut handles = Vec::new();
    let mut word = first;
    while word.text != "=" {
        handles.push(handle(args, word)?);
        word = args.expect("\"=\"", "write a1 = alloc … or a1 a2 = bulk …")?;
    }
    let verb = args.expect("alloc or bulk", "write a1 = alloc … or a1 a2 = bulk …")?;
    match (verb.text, handles.as_slice()) {
        ("alloc" | "slow", [handle]) => {
            let handle = *handle;
            let cpu = args.cpu("cpu")?;
            let word = args.required("order", "say order=0 for one page")?;
            let order = args.order(word)?;
            let gfp = gfp(args)?;
            let attempt = attempt(args)?;
            let request = Request { attempt, ..placed(args, Request::new(order, gfp))? };
            if verb.text == "slow" {
                return Ok(Op::Slow { cpu, request, handle, replies: replies(args)? });
            }
            Ok(Op::Alloc { cpu, request, handle })
        }
        ("take-off", [handle]) => {
            let handle = *handle;
            let cpu = args.cpu("cpu")?;
            let word = args.required("pfn", "name the page by its frame")?;
            Ok(Op::TakeOff { cpu, pfn: args.pfn(word)?, handle })
        }
        ("alloc" | "slow" | "take-off", _) => Err(args.error(
            first.column,
            format!("{} defines exactly one handle", verb.text),
            "write a1 = alloc …, or use bulk",
        )),
        ("bulk", _) => Ok(Op::Bulk { cpu: args.cpu("cpu")?, gfp: gfp(args)?, handles }),
        (other, _) => Err(args.error(
            verb.column,
            format!("\"{other}\" defines no handle"),
            "use alloc, slow, take-off or bulk after \"=\"",
        )),
    }
}

/// The replies of a walk.
fn replies(args: &mut Args<'_>) -> Result<Vec<Reply>, ParseError> {
    let Some(list) = args.named("reply") else { return Ok(Vec::new()) };
    let mut column = list.column;
    let parsed = list.text.split(',').map(|word| {
        let at = column;
        column += word.chars().count() + 1;
        Reply::parse(word)
            .ok_or_else(|| args.error(at, format!("\"{word}\" is no reply"), REPLY_HINT))
    });
    parsed.collect()
}

fn kswapd_reply(args: &mut Args<'_>) -> Result<Option<KswapdReply>, ParseError> {
    let Some(word) = args.named("reply") else { return Ok(None) };
    let wrong = || {
        let what = format!("\"{}\" is no reply to kswapd", word.text);
        args.error(word.column, what, KSWAPD_HINT)
    };
    parse_kswapd(word.text).ok_or_else(wrong).map(Some)
}

/// Where, and for which task.
fn placed(args: &mut Args<'_>, request: Request) -> Result<Request, ParseError> {
    let (node, nodes) = (args.node("node")?, args.node_mask("nodes")?);
    let task = Task { mems: args.node_mask("mems")?, flags: task_flags(args)? };
    Ok(Request { node, nodes, task, ..request })
}

fn task_flags(args: &mut Args<'_>) -> Result<TaskFlags, ParseError> {
    let mut all = TaskFlags::empty();
    let Some(list) = args.named("task") else { return Ok(all) };
    let mut column = list.column;
    for text in list.text.split(',') {
        all |= args.choice(Word { column, text }, "state of a task", TASK_FLAGS)?;
        column += text.chars().count() + 1;
    }
    Ok(all)
}

fn gfp(args: &mut Args<'_>) -> Result<Gfp, ParseError> {
    let word = args.required("gfp", "say gfp=GFP_KERNEL or other kernel names joined by |")?;
    let wrong =
        |hint: String| args.error(word.column, format!("\"{}\" is no gfp", word.text), hint);
    let gfp = Gfp::parse(word.text).map_err(|error| wrong(error.to_string()))?;
    Ok(gfp)
}

fn attempt(args: &mut Args<'_>) -> Result<Option<(Mark, AllocFlags)>, ParseError> {
    let mark = match args.named("at") {
        Some(word) => Some(mark(args, word)?),
        None => None,
    };
    let column = args.error_here(String::new(), "").column;
    let given = flags(args)?;
    match (mark, given) {
        (Some(mark), given) => Ok(Some((mark, given.unwrap_or_default()))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(args.error(
            column,
            "flags= without at=".to_owned(),
            "name the mark as well, e.g. at=min",
        )),
    }
}

fn mark(args: &Args<'_>, word: Word<'_>) -> Result<Mark, ParseError> {
    args.choice(word, "watermark", Mark::ALL.map(|mark| (mark.name(), mark)))
}

fn flags(args: &mut Args<'_>) -> Result<Option<AllocFlags>, ParseError> {
    let Some(list) = args.named("flags") else { return Ok(None) };
    let mut all = AllocFlags::empty();
    let mut column = list.column;
    for text in list.text.split(',') {
        all |= args.choice(Word { column, text }, "allocation flag", ALLOC_FLAGS)?;
        column += text.chars().count() + 1;
    }
    Ok(Some(all))
}

fn frame(args: &mut Args<'_>) -> Result<mmspec_model::vocab::Pfn, ParseError> {
    let word = args.required("pfn", "name a frame of the pageblock")?;
    args.pfn(word)
}

fn migratetype(args: &mut Args<'_>) -> Result<MigrateType, ParseError> {
    let word = args.required("to", "name the migratetype, e.g. to=Movable")?;
    args.choice(word, "migratetype", MigrateType::ALL.map(|each| (each.name(), each)))
}

fn check(args: &mut Args<'_>) -> Result<Op, ParseError> {
    let zone = args.zone()?;
    let word = args.required("order", "say order=0 for one page")?;
    let order = args.order(word)?;
    let word = args.required("mark", "say mark=low")?;
    let mark = mark(args, word)?;
    let word = args.required("highest", "say highest=Normal")?;
    let kinds = ZoneKind::ALL.map(|kind| (kind.name(), kind));
    let highest = args.choice(word, "zone kind", kinds)?;
    Ok(Op::Check { zone, order, mark, highest, flags: flags(args)?.unwrap_or_default() })
}
