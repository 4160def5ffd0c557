//! Marks: named situations that a run must reach. A clean run that never merged to the top or
//! never met a busy list says little; the report lists what was reached.

mod nodes;
mod watch;

pub use watch::{Moment, Watcher};

use std::fmt;

macro_rules! marks {
    ($($name:ident = $text:literal),+ $(,)?) => {
        /// A situation.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the text of each mark is its documentation")]
        pub enum Mark {
            $($name),+
        }

        impl Mark {
            /// All marks.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// What the situation is.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text),+
                }
            }

            /// The name in reports: `merged-to-top`.
            #[must_use]
            pub fn name(self) -> String {
                let mut name = String::new();
                for letter in format!("{self:?}").chars() {
                    if letter.is_ascii_uppercase() && !name.is_empty() {
                        name.push('-');
                    }
                    name.push(letter.to_ascii_lowercase());
                }
                name
            }
        }
    };
}

marks! {
    MergedToTop = "a free merged up to the largest block",
    SplitFromTop = "a request split a block of the largest order",
    ServedTop = "a block of the largest order was handed out",
    Refused = "a request was refused as impossible",
    BelowMark = "an attempt failed because no zone passed its mark",
    Exhausted = "an attempt without watermarks failed: no block was left",
    FromLists = "a request was served from a per-CPU list",
    Refilled = "a per-CPU list was refilled with more than it gave",
    Flushed = "a free overflowed a per-CPU list",
    HugeCached = "a huge page was kept on a per-CPU list",
    HighOrderFlush = "a high-order free emptied per-CPU lists",
    FactorGrew = "the refill factor grew",
    HighMoved = "the high mark of a per-CPU list moved",
    TrylockFailedAlloc = "a busy per-CPU list was passed by on allocation",
    TrylockFailedFree = "a busy per-CPU list was passed by on free",
    DrainedPages = "a drain gave pages back",
    DrainedRemote = "a drain emptied another CPU's lists",
    DrainedNothing = "a drain found nothing",
    WorkQueued = "a drain queued work on CPUs with pages",
    WorkLate = "a CPU made other calls before it ran the work queued on it",
    WorkBuried = "a CPU died with work queued on it",
    DrainFoundBusy = "a drain of all zones found another one underway",
    DisabledFree = "a free met disabled per-CPU lists",
    OtherZone = "a lower zone served because the preferred one could not",
    OtherType = "a request took a block from another type's pageblock",
    Claimed = "a request claimed a pageblock of another type",
    HalfRuleFailed = "a fallback took a block, but its pageblock kept its type",
    Boosted = "a fallback boosted the watermark",
    KswapdWoken = "a boosted zone woke kswapd",
    BelowHighSet = "a zone fell below its high mark",
    BelowHighCleared = "a zone rose above its high mark again",
    Reserved = "a pageblock was reserved for high-order atomic requests",
    ReserveUsed = "the high-order atomic reserve served a request",
    Unreserved = "a reserved pageblock was released",
    Isolated = "a pageblock was isolated",
    IsolateRefused = "an isolation was refused",
    IsolatedFree = "a free met an isolated pageblock",
    Unisolated = "an isolation was undone",
    PageTaken = "memory failure took a page out of a free block",
    TakeRefused = "memory failure met a page that is not free",
    CmaServed = "a CMA pageblock served a movable request",
    DiffPushed = "a per-CPU diff went over its threshold",
    DiffFolded = "a worker folded a diff",
    Decayed = "a worker let a high mark decay",
    BulkFilled = "a bulk allocation filled all its slots",
    BulkShort = "a bulk allocation came back short",
    BatchFreed = "a batch of several blocks was freed",
    SysctlWrite = "the tunables were written while blocks were held",
    CpuDied = "a CPU died with pages on its lists",
    CpuReturned = "a CPU came back",
    GroupingOff = "a machine too small for mobility grouping",
    SharedPageblock = "two zones shared a pageblock",
    FilledUp = "nine tenths of the memory were held",
    Emptied = "everything was given back",
    NodeMissed = "another node served than the preferred one",
    OtherNode = "a zone of another node than the CPU's served",
    RemoteExpired = "a worker drained lists of another node's zone that had not been used",
    ZonelistsRebuilt = "the zonelists were built anew",
    BatchDepleted = "a zone's allocation batch was used up",
    BatchesReset = "allocation batches were reset",
    WalkServed = "a walk through the slow path ended with a page after the embedder was asked",
    WalkGaveUp = "a walk through the slow path gave up",
    WalkWasLong = "a walk asked the embedder more than forty times",
    WalkWaitedForWork = "a walk waited for a drain by work items",
    Throttled = "a request was held back while reserves were low",
    KillAsked = "a walk asked for a kill",
    Yielded = "a request that may not fail let others run",
    KswapdNapped = "kswapd took its nap",
    KswapdSlept = "kswapd went back to sleep",
    KswapdUrgent = "kswapd raised its priority past 10",
    BoostedMeanwhile = "a fallback boosted a zone that kswapd was working on",
    BoostWorkedOff = "kswapd worked off a boost",
    ListsBusy = "an owner found its lists locked by another CPU",
    WeakFailed = "a weak compare-and-swap failed for no reason",
    DrainMetCall = "lists were drained while their CPU was in a call",
    DrainJudged = "a drain beside which nobody allocated or freed was judged",
    WaitServed = "a CPU ran its work while the drainer waited",
    SwitchMetFree = "per-CPU lists were switched off while another CPU freed",
    SwitchMetAlloc = "per-CPU lists were switched off while another CPU allocated",
    DeathMetCall = "a CPU died while another one was in a call",
    ReturnMetCall = "a CPU came back while another one was in a call",
    IsolationMetFree = "a pageblock was isolated while one of its blocks was being freed",
    IsolationMetAlloc = "a pageblock was isolated while another CPU allocated",
    WorkerMetDrain = "a worker ran while its CPU's lists were drained",
    DecayMetCall = "a worker let a high mark decay while another CPU was in a call",
    SysctlMetCall = "the tunables were written while another CPU was in a call",
    WalkMetFree = "another CPU freed while one walked through the slow path",
    WalkMetKswapd = "a kswapd was stepped while another CPU walked through the slow path",
    WalkMetWalk = "two CPUs walked through the slow path",
    WalkWaited = "a walk waited for other CPUs' workers",
    RebuildMetScan = "the zonelists were rebuilt while another CPU looked for a page",
    Explained = "an order of operations that overlapped explains their results",
    Reordered = "operations took effect in another order than they began",
    StepsMixed = "only an order of steps explains a history, none of whole operations",
    BusyExplained = "a history is explained by lists found busy",
}

impl Mark {
    /// Only the engines with threads can reach it.
    #[must_use]
    pub const fn needs_threads(self) -> bool {
        self as u8 >= Self::ListsBusy as u8
    }
}

/// How often each situation was reached.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Marks {
    counts: Vec<u64>,
    /// The order of the largest block handed out, plus one.
    pub largest_block: u64,
    /// The most pages seen on one CPU's lists of one zone.
    pub deepest_cache: u64,
    /// The most calls that a CPU made between the queueing of a drain's work on it and its run:
    /// recorded, not judged (no kernel promises anything about it).
    pub longest_wait: u64,
    /// Free operations that merged up to each order, where a single block shows it.
    pub merges: [u64; mmspec_model::vocab::NR_PAGE_ORDERS],
    /// Requests refused or failed.
    pub refused: u64,
}

impl Marks {
    /// Count a situation.
    pub fn hit(&mut self, mark: Mark) {
        if self.counts.is_empty() {
            self.counts = vec![0; Mark::ALL.len()];
        }
        self.counts[mark as usize] += 1;
    }

    /// How often a situation was reached.
    #[must_use]
    pub fn count(&self, mark: Mark) -> u64 {
        self.counts.get(mark as usize).copied().unwrap_or(0)
    }

    /// The situations never reached.
    pub fn missing(&self) -> impl Iterator<Item = Mark> + '_ {
        Mark::ALL.iter().copied().filter(|mark| self.count(*mark) == 0)
    }

    /// Add what another run reached.
    pub fn add(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts = vec![0; Mark::ALL.len()];
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        for (mine, theirs) in self.merges.iter_mut().zip(&other.merges) {
            *mine += theirs;
        }
        self.largest_block = self.largest_block.max(other.largest_block);
        self.deepest_cache = self.deepest_cache.max(other.deepest_cache);
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        self.refused += other.refused;
    }
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reached = Mark::ALL.iter().filter(|mark| self.count(**mark) > 0);
        f.debug_map().entries(reached.map(|mark| (mark, self.count(*mark)))).finish()
    }
}
