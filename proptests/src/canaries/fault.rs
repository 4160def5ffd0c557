//! The planted faults.

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal, laws: $laws:literal;)+) => {
        /// A planted fault.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Fault {
            $($(#[$doc])* $name),+
        }

        impl Fault {
            /// All faults.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The name in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text),+
                }
            }

            /// Whether it breaks a law that holds for any policy; others only differ from it.
            #[must_use]
            pub const fn breaks_a_law(self) -> bool {
                match self {
                    $(Self::$name => $laws),+
                }
            }
        }
    };
}

faults! {
    /// A free is swallowed now and then.
    LosesPage = "loses-page", laws: true;
    /// A block is handed out twice.
    HandsOutTwice = "hands-out-twice", laws: true;
    /// A block starts one frame late.
    Misaligned = "misaligned", laws: true;
    /// `pgalloc` counts one page too many.
    MiscountsEvent = "miscounts-event", laws: true;
    /// NR_FREE_PAGES is one too high.
    MiscountsFree = "miscounts-free", laws: true;
    /// A CPU's diff is one too high.
    MiscountsDiff = "miscounts-diff", laws: true;
    /// A list grew at the wrong end.
    WrongEnd = "wrong-end", laws: false;
    /// A batch is freed in reverse.
    WrongBatchOrder = "wrong-batch-order", laws: false;
    /// The two halves of a free block are not merged.
    SkipsMerge = "skips-merge", laws: true;
    /// A drain leaves a page behind.
    LeavesPage = "leaves-page", laws: true;
    /// Disabling per-CPU lists does nothing.
    IgnoresDisable = "ignores-disable", laws: true;
    /// A lock is never busy.
    IgnoresTrylock = "ignores-trylock", laws: false;
    /// The watermark check is off by one page.
    WatermarkOffByOne = "watermark-off-by-one", laws: true;
    /// A first attempt ignores its mark.
    ForgetsMark = "forgets-mark", laws: true;
    /// A request fails although it could be served.
    FailsEarly = "fails-early", laws: true;
    /// A request that can never be served is answered as if it could.
    ForgetsRefusal = "forgets-refusal", laws: true;
    /// A bulk allocation reports a page that it did not give.
    BulkMiscounts = "bulk-miscounts", laws: true;
    /// Isolation does not ask whether pages can move.
    IsolatesAnything = "isolates-anything", laws: false;
    /// The worker does nothing.
    IdleWorker = "idle-worker", laws: true;
    /// A drain by work items does not wait for the workers.
    DrainsAtOnce = "drains-at-once", laws: true;
    /// A CPU's worker does nothing, and says that it did.
    SkipsWork = "skips-work", laws: true;
    /// A request's node is forgotten.
    ForgetsNode = "forgets-node", laws: false;
    /// A request's memory policy is forgotten.
    ForgetsPolicy = "forgets-policy", laws: true;
    /// A walk that should give up goes on reclaiming.
    NeverGivesUp = "never-gives-up", laws: true;
    /// kswapd shrinks what is balanced.
    NeverSleeps = "never-sleeps", laws: false;
    /// numa_foreign is one too high.
    MiscountsForeign = "miscounts-foreign", laws: true;
    /// A sysctl write is dropped.
    DropsSysctl = "drops-sysctl", laws: false;
}
