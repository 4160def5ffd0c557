//! The /proc files beside a trace.

use super::error::{TraceError, TraceErrorKind};
use flate2::read::MultiGzDecoder;
use mmspec_model::proc::{
    Buddyinfo, NamedCounters, Pagetypeinfo, Zoneinfo, parse_buddyinfo, parse_pagetypeinfo,
    parse_vmstat, parse_zoneinfo,
};
use mmspec_model::vocab::{MAX_CPUS, Order, Pfn, Rules};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One moment of a machine, as far as files of it exist.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// /proc/buddyinfo.
    pub buddyinfo: Option<Buddyinfo>,
    /// /proc/pagetypeinfo.
    pub pagetypeinfo: Option<Pagetypeinfo>,
    /// /proc/zoneinfo.
    pub zoneinfo: Option<Zoneinfo>,
    /// /proc/vmstat.
    pub vmstat: Option<NamedCounters>,
    /// /proc/kpageflags.
    pub kpageflags: Option<Vec<u64>>,
    /// The CPUs of each node, from `node-cpus.txt`: lines `Node 0: 0-1,4`.
    pub node_cpus: Option<BTreeMap<u32, Vec<u16>>>,
}

/// KPF_BUDDY and KPF_NOPAGE of /proc/kpageflags.
const KPF_BUDDY: u64 = 1 << 10;
const KPF_NOPAGE: u64 = 1 << 20;

impl Snapshot {
    /// The files of `folder` for the moment `when` (`before`, `after`): `zoneinfo.before.txt`,
    /// `zoneinfo.txt` or `zoneinfo`, and so on; a file that is not there is not known.
    ///
    /// # Errors
    /// A file can't be read or does not have the kernel's format.
    pub fn load(folder: &Path, when: &str) -> Result<Self, TraceError> {
        let text = |name: &str| read_text(folder, name, when);
        let proc = |path: &Path, error| TraceError::new(path, None, TraceErrorKind::Proc(error));
        macro_rules! parsed {
            ($name:literal, $parse:ident) => {
                match text($name)? {
                    Some((path, text)) => Some(
                        $parse(&path.display().to_string(), &text)
                            .map_err(|error| proc(&path, error))?,
                    ),
                    None => None,
                }
            };
        }
        Ok(Self {
            buddyinfo: parsed!("buddyinfo", parse_buddyinfo),
            pagetypeinfo: parsed!("pagetypeinfo", parse_pagetypeinfo),
            zoneinfo: parsed!("zoneinfo", parse_zoneinfo),
            vmstat: parsed!("vmstat", parse_vmstat),
            kpageflags: read_kpageflags(folder, when)?,
            node_cpus: read_node_cpus(folder)?,
        })
    }

    /// Number of CPUs of a node, of `all` on a machine with one; `None` if that is not known.
    pub(super) fn cpus_of(&self, node: u32, all: u64) -> Option<u64> {
        let zones = self.zoneinfo.iter().flat_map(|text| &text.zones);
        match &self.node_cpus {
            // A node without CPUs counts all of them (page_alloc.md §2.3).
            Some(nodes) => {
                let own = nodes.get(&node).map_or(0, |cpus| cpus.len() as u64);
                Some(if own == 0 { all } else { own })
            }
            None if zones.clone().all(|zone| zone.node == 0) => Some(all),
            None => None,
        }
    }

    /// Whether a frame is on a free list, by kpageflags.
    pub fn is_free(&self, pfn: Pfn) -> bool {
        self.flags(pfn).is_some_and(|flags| flags & KPF_BUDDY != 0)
    }

    /// Correct whether the frames of a block are free.
    pub(super) fn set_free(&mut self, pfn: Pfn, order: Order, free: bool) {
        let Some(flags) = &mut self.kpageflags else { return };
        for offset in 0..order.pages() {
            if let Some(word) = flags.get_mut(pfn.add(offset).index()) {
                *word = if free { *word | KPF_BUDDY } else { *word & !KPF_BUDDY };
            }
        }
    }

    /// Whether a frame exists, by kpageflags.
    pub fn exists(&self, pfn: Pfn) -> bool {
        self.flags(pfn).is_some_and(|flags| flags & KPF_NOPAGE == 0)
    }

    /// The flags of a frame.
    pub fn flags(&self, pfn: Pfn) -> Option<u64> {
        self.kpageflags.as_ref()?.get(pfn.index()).copied()
    }
}

fn candidates(folder: &Path, name: &str, when: &str, ending: &str) -> [PathBuf; 3] {
    [
        folder.join(format!("{name}.{when}{ending}")),
        folder.join(format!("{name}{ending}")),
        folder.join(name),
    ]
}

fn find(folder: &Path, name: &str, when: &str, ending: &str) -> Option<PathBuf> {
    candidates(folder, name, when, ending).into_iter().find(|path| path.is_file())
}

fn read_text(
    folder: &Path,
    name: &str,
    when: &str,
) -> Result<Option<(PathBuf, String)>, TraceError> {
    let Some(path) = find(folder, name, when, ".txt") else { return Ok(None) };
    let text = fs::read_to_string(&path)
        .map_err(|error| TraceError::new(&path, None, TraceErrorKind::Io(error)))?;
    Ok(Some((path, text)))
}

/// `node-cpus.txt`: what /sys/devices/system/node tells, one line for each node.
fn read_node_cpus(folder: &Path) -> Result<Option<BTreeMap<u32, Vec<u16>>>, TraceError> {
    let path = folder.join("node-cpus.txt");
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path)
        .map_err(|error| TraceError::new(&path, None, TraceErrorKind::Io(error)))?;
    let mut nodes = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let Some((node, cpus)) = node_line(line) else {
            let kind = TraceErrorKind::NodeCpus(line.to_owned());
            return Err(TraceError::new(&path, Some(at as u64 + 1), kind));
        };
        nodes.insert(node, cpus);
    }
    Ok(Some(nodes))
}

/// `Node 0: 0-1,4`.
fn node_line(line: &str) -> Option<(u32, Vec<u16>)> {
    let (node, list) = line.strip_prefix("Node ")?.split_once(':')?;
    let mut cpus = Vec::new();
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        cpus.extend(first..=last.min(MAX_CPUS));
    }
    Some((node.parse().ok()?, cpus))
}

fn read_kpageflags(folder: &Path, when: &str) -> Result<Option<Vec<u64>>, TraceError> {
    let Some(path) = find(folder, "kpageflags", when, ".gz") else { return Ok(None) };
    let bytes = fs::read(&path).map_err(|e| TraceError::new(&path, None, TraceErrorKind::Io(e)))?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut out = Vec::new();
        MultiGzDecoder::new(bytes.as_slice())
            .read_to_end(&mut out)
            .map_err(|e| TraceError::new(&path, None, TraceErrorKind::Gzip(e)))?;
        out
    } else {
        bytes
    };
    if bytes.len() % 8 != 0 {
        let kind = TraceErrorKind::KpageflagsLength(bytes.len());
        return Err(TraceError::new(&path, None, kind));
    }
    let words =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    Ok(Some(words.collect()))
}

/// The rules for the release named in `kernel.txt` of a folder.
///
/// # Errors
/// The file names a release without a preset.
pub(crate) fn rules_of(folder: &Path) -> Result<Option<Rules>, TraceError> {
    let path = folder.join("kernel.txt");
    let Ok(release) = fs::read_to_string(&path) else { return Ok(None) };
    let release = release.trim();
    let mut numbers = release.split(['.', '-', '+']);
    let mut next = || numbers.next().and_then(|n| n.parse::<u32>().ok());
    match (next(), next(), next()) {
        (Some(6), Some(1..=6), _) => Ok(Some(Rules::linux_6_1())),
        (Some(6), Some(12), Some(29..)) => Ok(Some(Rules::linux_6_12_29())),
        (Some(6), Some(10..=14), _) => Ok(Some(Rules::linux_6_12())),
        (Some(6), Some(15..), _) => Ok(Some(Rules::linux_6_18())),
        _ => {
            let kind = TraceErrorKind::UnknownRelease(release.to_owned());
            Err(TraceError::new(path, None, kind))
        }
    }
}
