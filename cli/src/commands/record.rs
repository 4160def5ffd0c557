//! `mmspec record`.

use crate::output::Out;
use crate::progress::Progress;
use crate::{Verdict, args, interrupt};
use mmspec_proptests::trace::{Recording, record};
use std::time::Duration;

pub(crate) fn run(args: &args::Record, out: &mut Out) -> anyhow::Result<Verdict> {
    let mut recording = Recording {
        duration: Duration::from_secs(args.seconds),
        buffer_kb: args.buffer_mb << 10,
        ..Recording::default()
    };
    recording.events.extend(args.events.iter().cloned());
    let cancel = interrupt::flag();
    let progress = Progress::new(false);
    let mut show = |passed: Duration| {
        progress.say(format!("recording, {} of {} s", passed.as_secs(), args.seconds));
    };
    record(&args.folder, &recording, &cancel, &mut show)?;
    drop(progress);
    let folder = args.folder.display();
    out.line(format_args!("recorded into {folder}: mmspec trace {folder}/trace.txt.gz"))?;
    Ok(Verdict::Holds)
}
