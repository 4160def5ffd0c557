//! Record a running kernel: the folder that [`super::explain`] reads.
//!
//! Recording uses a tracing *instance* of its own, made for the purpose and removed at the end, so
//! that whatever tracing was set up on the machine stays as it is.

use super::reader::{SNAPSHOT_BEGINS, SNAPSHOT_ENDS};
use flate2::Compression;
use flate2::write::GzEncoder;
use mmspec_model::vocab::MAX_NODES;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The events that the trace engine reads.
pub const EVENTS: [&str; 8] = [
    "kmem:mm_page_alloc",
    "kmem:mm_page_free",
    "kmem:mm_page_free_batched",
    "kmem:mm_page_alloc_zone_locked",
    "kmem:mm_page_pcpu_drain",
    "kmem:mm_page_alloc_extfrag",
    "compaction:mm_compaction_begin",
    "compaction:mm_compaction_end",
];

/// What to record.
#[derive(Clone, Debug)]
pub struct Recording {
    /// For how long.
    pub duration: Duration,
    /// Events, as `group:name` or `group` for all of a group.
    pub events: Vec<String>,
    /// Size of each CPU's ring buffer, in KiB.
    pub buffer_kb: u64,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(10),
            events: EVENTS.map(str::to_owned).to_vec(),
            buffer_kb: 64 << 10,
        }
    }
}

/// Why nothing was recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// No tracefs.
    #[error(
        "no tracefs under /sys/kernel/tracing or /sys/kernel/debug/tracing: as root, run `mount -t tracefs nodev /sys/kernel/tracing`"
    )]
    NoTracefs,
    /// Not root.
    #[error("{path}: {error}; recording needs root: run it with sudo")]
    Denied {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// No such event.
    #[error("no event {0:?} in this kernel: see available_events in tracefs; give group:name")]
    NoEvent(String),
    /// The folder holds something already.
    #[error("{0} exists and is not empty: give a new folder, nothing is overwritten")]
    NotEmpty(PathBuf),
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> RecordError + '_ {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => RecordError::Denied { path: path.into(), error },
        _ => RecordError::Io { path: path.into(), error },
    }
}

/// A tracing instance that goes away with this value.
struct Instance {
    folder: PathBuf,
}

impl Instance {
    fn create() -> Result<Self, RecordError> {
        let root = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
            .map(PathBuf::from)
            .into_iter()
            .find(|root| root.join("instances").exists())
            .ok_or_else(|| match fs::read_dir("/sys/kernel/tracing") {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    RecordError::Denied { path: "/sys/kernel/tracing".into(), error }
                }
                _ => RecordError::NoTracefs,
            })?;
        let folder = root.join("instances").join(format!("mmspec-{}", std::process::id()));
        fs::create_dir(&folder).map_err(at(&folder))?;
        let instance = Self { folder };
        instance.write("tracing_on", "0")?;
        Ok(instance)
    }

    fn write(&self, file: &str, text: &str) -> Result<(), RecordError> {
        let path = self.folder.join(file);
        let mut file = OpenOptions::new().write(true).open(&path).map_err(at(&path))?;
        file.write_all(text.as_bytes()).map_err(at(&path))
    }

    fn enable(&self, event: &str) -> Result<(), RecordError> {
        let folder = match event.split_once(':') {
            Some((group, name)) => self.folder.join("events").join(group).join(name),
            None => self.folder.join("events").join(event),
        };
        if event.is_empty() || event.contains('/') || !folder.join("enable").exists() {
            return Err(RecordError::NoEvent(event.to_owned()));
        }
        let path = folder.join("enable");
        fs::write(&path, "1").map_err(at(&path))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and nothing else depends on it.
        let _ = self.write("tracing_on", "0");
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Record into `folder`, which must be new or empty. Ends early, and cleanly, on `cancel`.
/// `progress` is told the time passed.
///
/// # Errors
/// No tracefs, no permission, an unknown event, or a file that can't be written. The instance is
/// removed in any case; files written so far stay.
pub fn record(
    folder: &Path,
    recording: &Recording,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Duration),
) -> Result<(), RecordError> {
    if folder.exists() && fs::read_dir(folder).map_err(at(folder))?.next().is_some() {
        return Err(RecordError::NotEmpty(folder.into()));
    }
    let instance = Instance::create()?;
    fs::create_dir_all(folder).map_err(at(folder))?;
    instance.write("buffer_size_kb", &recording.buffer_kb.to_string())?;
    for event in &recording.events {
        instance.enable(event)?;
    }
    copy(Path::new("/proc/sys/kernel/osrelease"), &folder.join("kernel.txt"))?;
    node_cpus(folder)?;
    // The machine goes on while kpageflags is read. So tracing is on by then, and two markers tell
    // which events fall into the reading.
    let mut flags = touched(&fs::read(KPAGEFLAGS).map_err(at(Path::new(KPAGEFLAGS)))?);
    texts(folder, "before")?;
    instance.write("tracing_on", "1")?;
    instance.write("trace_marker", SNAPSHOT_BEGINS)?;
    read_into(Path::new(KPAGEFLAGS), &mut flags)?;
    instance.write("trace_marker", SNAPSHOT_ENDS)?;
    let start = Instant::now();
    while start.elapsed() < recording.duration && !cancel.load(Ordering::Relaxed) {
        let left = recording.duration.saturating_sub(start.elapsed());
        std::thread::sleep(left.min(Duration::from_millis(100)));
        progress(start.elapsed());
    }
    instance.write("tracing_on", "0")?;
    let after = fs::read(KPAGEFLAGS).map_err(at(Path::new(KPAGEFLAGS)))?;
    texts(folder, "after")?;
    compress(&flags, &folder.join("kpageflags.before.gz"))?;
    compress(&after, &folder.join("kpageflags.after.gz"))?;
    let trace = instance.folder.join("trace");
    compress(&fs::read(&trace).map_err(at(&trace))?, &folder.join("trace.txt.gz"))
}

const KPAGEFLAGS: &str = "/proc/kpageflags";

/// A buffer of the same size whose pages are there already: filling it allocates nothing.
fn touched(like: &[u8]) -> Vec<u8> {
    vec![1; like.len()]
}

/// Fill `buffer` from a file.
fn read_into(path: &Path, buffer: &mut [u8]) -> Result<(), RecordError> {
    let mut file = File::open(path).map_err(at(path))?;
    file.read_exact(buffer).map_err(at(path))
}

/// Which CPUs belong to which node; a kernel built without nodes tells nothing.
fn node_cpus(folder: &Path) -> Result<(), RecordError> {
    let mut text = String::new();
    for node in 0..MAX_NODES {
        let path = format!("/sys/devices/system/node/node{node}/cpulist");
        let path = Path::new(&path);
        if path.exists() {
            let cpus = fs::read_to_string(path).map_err(at(path))?;
            text.push_str(&format!("Node {node}: {}\n", cpus.trim()));
        }
    }
    if text.is_empty() {
        return Ok(());
    }
    let to = folder.join("node-cpus.txt");
    File::create_new(&to).and_then(|mut file| file.write_all(text.as_bytes())).map_err(at(&to))
}

fn texts(folder: &Path, when: &str) -> Result<(), RecordError> {
    for name in ["vmstat", "pagetypeinfo", "zoneinfo", "buddyinfo"] {
        let from = Path::new("/proc").join(name);
        copy(&from, &folder.join(format!("{name}.{when}.txt")))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), RecordError> {
    let text = fs::read(from).map_err(at(from))?;
    let mut file = File::create_new(to).map_err(at(to))?;
    file.write_all(&text).map_err(at(to))
}

fn compress(bytes: &[u8], to: &Path) -> Result<(), RecordError> {
    let file = File::create_new(to).map_err(at(to))?;
    let mut out = GzEncoder::new(file, Compression::default());
    out.write_all(bytes).map_err(at(to))?;
    out.finish().map(drop).map_err(at(to))
}
