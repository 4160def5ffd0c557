//! A text trace, streamed: the kernel's own form, and those that `perf script` and `trace-cmd report`
//! print.

use super::compaction;
use super::error::{TraceError, TraceErrorKind};
use super::event::{Payload, TraceEvent};
use flate2::read::MultiGzDecoder;
use mmspec_model::vocab::{Gfp, KmemEvent, MigrateType, Order, Pfn};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Open a trace, plain or gzip (told by its first bytes).
///
/// # Errors
/// The file can't be opened or read.
pub fn open(path: &Path) -> Result<Reader<Box<dyn BufRead>>, TraceError> {
    let io = |error| TraceError::new(path, None, TraceErrorKind::Io(error));
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(io)?);
    let gzip = file.fill_buf().map_err(io)?.starts_with(&[0x1f, 0x8b]);
    let source: Box<dyn BufRead> = if gzip {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    };
    let mut reader = Reader::new(source, path);
    reader.gzip = gzip;
    Ok(reader)
}

/// Texts of the markers that the recorder writes into the trace.
pub(super) const SNAPSHOT_BEGINS: &str = "mmspec: snapshot begins";
pub(super) const SNAPSHOT_ENDS: &str = "mmspec: snapshot ends";

/// Events of a text trace. Memory is bounded by the longest line.
pub struct Reader<R> {
    source: R,
    file: PathBuf,
    line: u64,
    text: Vec<u8>,
    gzip: bool,
    gfp: BTreeMap<Vec<u8>, Gfp>,
    events: u64,
}

/// No line of a text trace is longer.
const LONGEST_LINE: u64 = 1 << 16;

impl<R: BufRead> Reader<R> {
    /// Read from `source`; `file` is its name in errors.
    pub fn new(source: R, file: impl Into<PathBuf>) -> Self {
        Self {
            source,
            file: file.into(),
            line: 0,
            text: Vec::new(),
            gzip: false,
            gfp: BTreeMap::new(),
            events: 0,
        }
    }

    /// The name for errors.
    pub fn file(&self) -> &Path {
        &self.file
    }

    fn error(&self, kind: TraceErrorKind) -> TraceError {
        TraceError::new(&self.file, Some(self.line), kind)
    }

    /// The next event of interest; `None` at the end.
    ///
    /// # Errors
    /// The text is no trace, is cut off, or can't be read.
    pub fn next_event(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        loop {
            self.text.clear();
            let mut limited = (&mut self.source).take(LONGEST_LINE);
            let read = limited.read_until(b'\n', &mut self.text);
            self.line += 1;
            match read {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if self.gzip => return Err(self.error(TraceErrorKind::Gzip(error))),
                Err(error) => return Err(self.error(TraceErrorKind::Io(error))),
            }
            let text = std::mem::take(&mut self.text);
            let parsed = self.parse(&text);
            self.text = text;
            match parsed {
                Ok(None) => {}
                Ok(Some(event)) => {
                    self.events += 1;
                    return Ok(Some(event));
                }
                Err(kind) => return Err(self.error(kind)),
            }
        }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Option<TraceEvent>, TraceErrorKind> {
        let line = line.trim_ascii_end();
        if line.is_empty() || line[0] == b'#' {
            let overwritten = parse_overwritten(line).filter(|count| *count > 0);
            return Ok(overwritten.map(|count| self.marker(0, Payload::Overwritten(count))));
        }
        if is_heading(line) {
            return Ok(None);
        }
        let Some(head) = Head::parse(line) else {
            let (cpu, count) = parse_lost(line).ok_or(TraceErrorKind::Line)?;
            return Ok(Some(self.marker(cpu, Payload::Lost(count))));
        };
        let payload = match head.name {
            name if name.starts_with(b"mm_page_") => self.kmem(name, head.fields)?,
            b"tracing_mark_write" => match head.fields.trim_ascii() {
                text if text == SNAPSHOT_BEGINS.as_bytes() => Some(Payload::SnapshotBegins),
                text if text == SNAPSHOT_ENDS.as_bytes() => Some(Payload::SnapshotEnds),
                _ => None,
            },
            name if name.starts_with(b"mm_compaction_") => {
                compaction::parse(name, head.fields)?.map(Payload::Compaction)
            }
            _ => None,
        };
        Ok(payload.map(|payload| TraceEvent {
            line: self.line,
            cpu: head.cpu,
            pid: head.pid,
            worker: head.worker,
            interrupt: head.interrupt,
            time_us: head.time_us,
            payload,
        }))
    }

    fn marker(&self, cpu: u16, payload: Payload) -> TraceEvent {
        TraceEvent {
            line: self.line,
            cpu,
            pid: 0,
            worker: false,
            interrupt: false,
            time_us: 0,
            payload,
        }
    }

    fn kmem(&mut self, name: &[u8], text: &[u8]) -> Result<Option<Payload>, TraceErrorKind> {
        let event = match name {
            b"mm_page_alloc" => {
                let fields = Fields { event: "mm_page_alloc", text };
                let pfn = fields.pfn()?;
                let gfp = self.gfp(fields.raw(b"gfp_flags=").unwrap_or(b""));
                KmemEvent::PageAlloc {
                    pfn: (pfn.0 != 0).then_some(pfn),
                    order: fields.order(b"order=", "order")?,
                    gfp: gfp.ok_or(fields.missing("gfp_flags"))?,
                    migratetype: fields.migratetype(b"migratetype=", "migratetype")?,
                }
            }
            b"mm_page_free" => {
                let fields = Fields { event: "mm_page_free", text };
                KmemEvent::PageFree { pfn: fields.pfn()?, order: fields.order(b"order=", "order")? }
            }
            b"mm_page_free_batched" => {
                let fields = Fields { event: "mm_page_free_batched", text };
                KmemEvent::PageFreeBatched { pfn: fields.pfn()? }
            }
            b"mm_page_alloc_zone_locked" => {
                let fields = Fields { event: "mm_page_alloc_zone_locked", text };
                KmemEvent::ZoneLocked {
                    pfn: fields.pfn()?,
                    order: fields.order(b"order=", "order")?,
                    migratetype: fields.migratetype(b"migratetype=", "migratetype")?,
                    percpu_refill: fields.number(b"percpu_refill=", "percpu_refill")? != 0,
                }
            }
            b"mm_page_pcpu_drain" => {
                let fields = Fields { event: "mm_page_pcpu_drain", text };
                KmemEvent::PcpuDrain {
                    pfn: fields.pfn()?,
                    order: fields.order(b"order=", "order")?,
                    migratetype: fields.migratetype(b"migratetype=", "migratetype")?,
                }
            }
            b"mm_page_alloc_extfrag" => {
                let fields = Fields { event: "mm_page_alloc_extfrag", text };
                KmemEvent::ExtFrag {
                    pfn: fields.pfn()?,
                    alloc_order: fields.order(b"alloc_order=", "alloc_order")?,
                    fallback_order: fields.order(b"fallback_order=", "fallback_order")?,
                    alloc_migratetype: fields
                        .migratetype(b"alloc_migratetype=", "alloc_migratetype")?,
                    fallback_migratetype: fields
                        .migratetype(b"fallback_migratetype=", "fallback_migratetype")?,
                    change_ownership: fields.number(b"change_ownership=", "change_ownership")? != 0,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Payload::Kmem(event)))
    }

    fn gfp(&mut self, text: &[u8]) -> Option<Gfp> {
        if let Some(gfp) = self.gfp.get(text) {
            return Some(*gfp);
        }
        let gfp = Gfp::parse(std::str::from_utf8(text).ok()?).ok()?;
        // A recording has a few dozen spellings; a hostile file must not fill memory with them.
        if self.gfp.len() < 4096 {
            self.gfp.insert(text.to_vec(), gfp);
        }
        Some(gfp)
    }
}

/// `# entries-in-buffer/entries-written: 277686/355000   #P:2`: the difference was overwritten.
fn parse_overwritten(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"# entries-in-buffer/entries-written: ")?;
    let (kept, rest) = number(rest)?;
    let (written, _) = number(rest.strip_prefix(b"/")?)?;
    Some(written.saturating_sub(kept))
}

/// What `trace-cmd report` prints before the events: `version = 7`, `cpus=2`, `CPU 1 is empty`.
fn is_heading(line: &[u8]) -> bool {
    line.starts_with(b"cpus=")
        || line.starts_with(b"version = ")
        || (line.starts_with(b"CPU ") && line.ends_with(b" is empty"))
}

/// `CPU:1 [LOST 1234 EVENTS]` of the kernel, `CPU:1 [1234 EVENTS DROPPED]` of trace-cmd, and
/// `task 42 [001] 16.000000: PERF_RECORD_LOST lost 1234` of perf.
fn parse_lost(line: &[u8]) -> Option<(u16, u64)> {
    if let Some(rest) = line.strip_prefix(b"CPU:") {
        let (cpu, rest) = number(rest)?;
        let rest = rest.trim_ascii_start().strip_prefix(b"[")?;
        let lost = rest.strip_prefix(b"LOST").map(<[u8]>::trim_ascii_start);
        let dropped = rest.strip_suffix(b"EVENTS DROPPED]");
        // The kernel prints no number when it does not know one.
        let count = number(lost.or(dropped)?).map_or(1, |(count, _)| count);
        return Some((u16::try_from(cpu).ok()?, count));
    }
    let name = b"PERF_RECORD_LOST";
    let at = line.windows(name.len()).position(|window| window == name)?;
    let open = line[..at].iter().rposition(|c| *c == b'[')?;
    let (cpu, _) = number(&line[open + 1..])?;
    let rest = line[at + name.len()..].trim_ascii().strip_prefix(b"lost ")?;
    Some((u16::try_from(cpu).ok()?, number(rest)?.0))
}

/// Leading decimal digits and the rest.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|c| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 || end > 19 {
        return None;
    }
    let value = text[..end].iter().fold(0u64, |v, c| v.wrapping_mul(10) + u64::from(c - b'0'));
    Some((value, &text[end..]))
}

/// The part of a line before the event's fields.
struct Head<'a> {
    pid: u32,
    worker: bool,
    cpu: u16,
    interrupt: bool,
    time_us: u64,
    name: &'a [u8],
    fields: &'a [u8],
}

impl<'a> Head<'a> {
    /// `comm-pid [cpu] flags seconds.micros: name: fields` of the kernel; trace-cmd leaves the flags
    /// out, and perf writes `comm tid [cpu] seconds.micros: system:name: fields`. The comm may hold
    /// anything, so every place that looks like a CPU is tried.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut from = 0;
        loop {
            let open = from + line[from..].iter().position(|c| *c == b'[')?;
            if let Some(head) = Self::parse_at(line, open) {
                return Some(head);
            }
            from = open + 1;
        }
    }

    fn parse_at(line: &'a [u8], open: usize) -> Option<Self> {
        let (cpu, rest) = number(&line[open + 1..])?;
        let rest = rest.strip_prefix(b"] ")?.trim_ascii_start();
        let (flags, (time_us, rest)) = match time(rest) {
            Some(time) => (&b""[..], time),
            None => {
                let blank = rest.iter().position(|c| *c == b' ')?;
                (&rest[..blank], time(rest[blank..].trim_ascii_start())?)
            }
        };
        let rest = rest.trim_ascii_start();
        let rest = rest.strip_prefix(b"kmem:").unwrap_or(rest);
        let rest = rest.strip_prefix(b"compaction:").unwrap_or(rest);
        let colon = rest.iter().position(|c| *c == b':')?;
        let before = line[..open].trim_ascii_end();
        // `comm-pid`, perhaps followed by `(tgid)`.
        let before = match before.strip_suffix(b")") {
            Some(inner) => inner[..inner.iter().rposition(|c| *c == b'(')?].trim_ascii_end(),
            None => before,
        };
        // `-`, or of perf a blank or, with process and thread, a slash.
        let end = before.iter().rposition(|c| !c.is_ascii_digit())?;
        if !matches!(before[end], b'-' | b' ' | b'/') {
            return None;
        }
        let (pid, _) = number(&before[end + 1..])?;
        Some(Self {
            pid: u32::try_from(pid).ok()?,
            worker: before.trim_ascii_start().starts_with(b"kworker/"),
            cpu: u16::try_from(cpu).ok()?,
            interrupt: flags.get(2).is_some_and(|c| *c != b'.'),
            time_us,
            name: &rest[..colon],
            fields: &rest[colon + 1..],
        })
    }
}

/// `seconds.micros: `, or nanoseconds, and what follows.
fn time(text: &[u8]) -> Option<(u64, &[u8])> {
    let (seconds, rest) = number(text)?;
    let rest = rest.strip_prefix(b".")?;
    let (fraction, after) = number(rest)?;
    let micros = match rest.len() - after.len() {
        6 => fraction,
        9 => fraction / 1000,
        _ => return None,
    };
    let time = seconds.checked_mul(1_000_000)?.checked_add(micros)?;
    Some((time, after.strip_prefix(b": ")?))
}

/// `key=value` pairs of one event.
pub(super) struct Fields<'a> {
    pub(super) event: &'static str,
    pub(super) text: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn missing(&self, field: &'static str) -> TraceErrorKind {
        TraceErrorKind::Field { event: self.event, field }
    }

    pub(super) fn raw(&self, key: &[u8]) -> Option<&'a [u8]> {
        self.text.split(|c| *c == b' ').find_map(|word| word.strip_prefix(key))
    }

    pub(super) fn number(&self, key: &[u8], field: &'static str) -> Result<u64, TraceErrorKind> {
        let text = self.raw(key).ok_or(self.missing(field))?;
        match number(text) {
            Some((value, [])) => Ok(value),
            _ => Err(self.missing(field)),
        }
    }

    fn pfn(&self) -> Result<Pfn, TraceErrorKind> {
        self.frame(b"pfn=", "pfn")
    }

    /// A frame number, in hexadecimal or not.
    pub(super) fn frame(&self, key: &[u8], field: &'static str) -> Result<Pfn, TraceErrorKind> {
        let missing = || self.missing(field);
        let text = self.raw(key).ok_or_else(missing)?;
        let value = match text.strip_prefix(b"0x") {
            Some(hex) if !hex.is_empty() && hex.len() <= 16 => {
                let hex = std::str::from_utf8(hex).map_err(|_| missing())?;
                u64::from_str_radix(hex, 16).map_err(|_| missing())?
            }
            _ => number(text).filter(|(_, rest)| rest.is_empty()).ok_or_else(missing)?.0,
        };
        // All ones is the kernel's "no page".
        Ok(Pfn(if value == u64::MAX { 0 } else { value }))
    }

    fn order(&self, key: &[u8], field: &'static str) -> Result<Order, TraceErrorKind> {
        let value = self.number(key, field)?;
        u8::try_from(value).ok().and_then(Order::new).ok_or(self.missing(field))
    }

    fn migratetype(&self, key: &[u8], field: &'static str) -> Result<MigrateType, TraceErrorKind> {
        let value = self.number(key, field)?;
        MigrateType::from_index(value as usize).ok_or(self.missing(field))
    }
}
