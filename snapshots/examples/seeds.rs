//! Writes the seed corpora of the fuzz targets: `cargo run --example seeds -- FOLDER` fills
//! `FOLDER/differential`, `FOLDER/laws`, `FOLDER/script`, `FOLDER/trace`,
//! `FOLDER/compaction`, `FOLDER/memcg` and `FOLDER/slab`.
//!
//! Seeds come from the scenarios of this package, cut to what a fuzzer can mutate well, from the
//! scripts of any folders named after FOLDER (regressions), and from the generator.

use mmspec_model::contract::Request;
use mmspec_model::vocab::{CpuId, Gfp, Machine, Order, PfnRange, Rules};
use mmspec_proptests::engine::Folder;
use mmspec_proptests::flat::Language;
use mmspec_proptests::generate::{self, Limits, Rng};
use mmspec_proptests::memcg::Memcg;
use mmspec_proptests::script::{Handle, Op, Script};
use mmspec_proptests::slab::Slab;
use mmspec_snapshots::{SCENARIOS, record, rules_of};
use std::error::Error;
use std::fs;
use std::path::Path;

/// Operations of a seed: a few thousand bytes at most.
const OPS: usize = 80;
/// Machines above this are too slow to boot once for each input.
const FRAMES: u64 = 0x4000;
/// Scripts from the generator.
const GENERATED: u64 = 24;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let folder = args.next().ok_or("name the folder to fill, e.g. fuzz/corpus")?;
    let folder = Path::new(&folder);
    let mut scripts: Vec<(String, Script)> = Vec::new();
    for scenario in SCENARIOS {
        for name in scenario.presets {
            let rules = rules_of(name)?;
            let name = name.replace(['+', '='], "-");
            scripts.push((format!("{}-{name}", scenario.name), scenario.script(rules)?));
        }
    }
    for more in args {
        for (path, case) in Folder::new(&more).compactions()? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            write(folder, "compaction", &name, case.to_string().as_bytes())?;
        }
        flats::<Memcg>(folder, &Folder::new(&more))?;
        flats::<Slab>(folder, &Folder::new(&more))?;
        for (path, script) in Folder::new(more).scripts()? {
            scripts.push((path.file_stem().unwrap_or_default().to_string_lossy().into(), script));
        }
    }
    for case in 0..GENERATED {
        let limits = Limits { ops: OPS, ..Limits::default() };
        let script = generate::script(&mut Rng::for_case(1, case), &limits);
        scripts.push((format!("generated-{case:02}"), script));
    }
    for (name, script) in &mut scripts {
        script.ops.truncate(OPS);
        if script.machine.as_ref().end().0 <= FRAMES {
            write(folder, "differential", name, &script.encode())?;
            write(folder, "laws", name, &script.encode())?;
        }
        write(folder, "script", name, script.to_text().as_bytes())?;
    }
    for (at, (name, rules)) in Rules::PRESETS.iter().enumerate() {
        let mut bytes = vec![at as u8];
        bytes.extend(trace(*rules)?.bytes());
        write(folder, "trace", name, &bytes)?;
    }
    println!("{}: {} scripts, {} traces", folder.display(), scripts.len(), Rules::PRESETS.len());
    Ok(())
}

/// Stored cases of memory cgroups or slabs, as text.
fn flats<L: Language>(folder: &Path, cases: &Folder) -> Result<(), Box<dyn Error>> {
    for (path, case) in cases.flats::<L>()? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        write(folder, L::ENGINE, &name, case.to_string().as_bytes())?;
    }
    Ok(())
}

fn write(folder: &Path, target: &str, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let folder = folder.join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("seed-{name}")), bytes)
}

/// A short trace of a small load, as the kernel would print it.
fn trace(rules: Rules) -> Result<String, Box<dyn Error>> {
    let mut machine = Machine::small(2, 0x2000, 10, 9);
    machine.holes = vec![PfnRange::new(0, 1)];
    let mut ops = Vec::new();
    for number in 0..18 {
        let gfp = if number % 3 == 0 { Gfp::KERNEL } else { Gfp::HIGHUSER_MOVABLE };
        let order = Order::of([0, 0, 1, 3, 0, 4][number as usize % 6]);
        let (cpu, handle) = (CpuId(number as u16 % 2), Handle(number));
        ops.push(Op::Alloc { cpu, request: Request::new(order, gfp), handle });
        if number % 4 == 3 {
            ops.push(Op::Free { cpu, handle: Handle(number - 2) });
        }
    }
    ops.push(Op::DrainAll { by: CpuId(0), zone: None });
    let script = Script { machine, rules, tunables: Default::default(), ops };
    Ok(record(&script)?.trace)
}
