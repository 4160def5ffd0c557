//! The search.

use super::key::key;
use super::machine::{Scope, scopes};
use crate::differential::check_script;
use crate::drive::{Answer, Call, Held, Ledger, catch, perform};
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::lawful::{Exercised, Quiet};
use crate::script::{Handle, Op, Script};
use crate::shrink;
use mmspec_model::contract::{LinuxPolicy, Outcome};
use mmspec_model::laws::{Lists, Live, LiveBlock, Numbers, Past, Setting, Step};
use mmspec_model::vocab::Order;
use stateright::{Checker, Model, Property};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How far to search one scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Longest sequence of operations; `None`: no bound.
    pub depth: Option<usize>,
    /// Most states generated.
    pub states: Option<usize>,
    /// Most time.
    pub time: Option<Duration>,
    /// Threads that search.
    pub threads: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: Some(6), states: None, time: None, threads: 1 }
    }
}

/// Laws asked in every state: those that look at a state alone.
const LAWS: [&str; 9] = [
    "one-place",
    "blocks-fit",
    "merged",
    "cached-orders",
    "nr-free-lists",
    "nr-free-pages",
    "pcp-count",
    "diffs-add-up",
    "conservation",
];

struct Space<R, S> {
    scope: Scope,
    setting: Setting,
    boot: (fn(&Script) -> R, fn(&Script) -> S),
    found: Mutex<Option<(Vec<Op>, Finding)>>,
    laws: Mutex<Exercised>,
}

/// One state: both allocators, what is held, and how it was reached.
struct State<R, S> {
    expected: R,
    got: S,
    ledger: Ledger,
    past: Past,
    /// Attempts of each CPU to lock that are still to fail; contracts do not show them. Only upper
    /// bounds: what was consumed is seen from the path.
    pending: Vec<u32>,
    path: Vec<Op>,
    next: u32,
    key: Vec<u8>,
    right: bool,
}

impl<R: Clone, S: Clone> Clone for State<R, S> {
    fn clone(&self) -> Self {
        Self {
            expected: self.expected.clone(),
            got: self.got.clone(),
            ledger: self.ledger.clone(),
            past: self.past.clone(),
            pending: self.pending.clone(),
            path: self.path.clone(),
            key: self.key.clone(),
            ..*self
        }
    }
}

impl<R, S> fmt::Debug for State<R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<R, S> PartialEq for State<R, S> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.right == other.right
    }
}

impl<R, S> Hash for State<R, S> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
        self.right.hash(state);
    }
}

impl<R, S> Space<R, S>
where
    R: LinuxPolicy + Clone,
    S: LinuxPolicy + Clone,
{
    fn note(&self, path: &[Op], finding: Finding) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.as_ref().is_none_or(|(known, _)| known.len() > path.len()) {
            *found = Some((path.to_vec(), finding));
        }
    }

    /// The transition; what differs or breaks.
    fn step(&self, state: &mut State<R, S>, op: &Op) -> Result<(), Finding> {
        let at = Some(state.path.len());
        let call = state.ledger.call(op);
        let wanted = perform(&mut state.expected, &call, &state.ledger);
        let answer = perform(&mut state.got, &call, &state.ledger);
        let difference = |what: String| Err(Finding { kind: "difference".to_owned(), what, at });
        if wanted != answer {
            return difference(format!("answer: expected {wanted:?}, got {answer:?}"));
        }
        self.note_pages(state, op, &call, &wanted);
        state.ledger.record(op, &call, &wanted);
        let cpus = self.scope.script.machine.cpus;
        let (left, right) = (Numbers::of(&state.expected, cpus), Numbers::of(&state.got, cpus));
        if left != right {
            return difference("numbers differ".to_owned());
        }
        let machine = &self.scope.script.machine;
        if Lists::of(&state.expected, machine) != Lists::of(&state.got, machine) {
            return difference("lists differ".to_owned());
        }
        let mut live = Live::default();
        for (_, held) in state.ledger.all() {
            live.insert(held.pfn, LiveBlock { order: held.order, movable: held.movable });
        }
        let quiet = Quiet {
            script: &self.scope.script,
            setting: &self.setting,
            tunables: &self.scope.script.tunables,
            only: Some(&LAWS),
        };
        let mut laws = Exercised::new();
        let judged = quiet.judge(&state.got, &live, &state.past, Step::Other, &mut laws);
        let mut all = self.laws.lock().unwrap_or_else(PoisonError::into_inner);
        for (law, times) in laws {
            *all.entry(law).or_default() += times;
        }
        judged.map_err(|broke| Finding { at, ..broke.finding() })
    }

    fn note_pages(&self, state: &mut State<R, S>, op: &Op, call: &Call, answer: &Answer) {
        let zone_of = |pfn| self.scope.script.machine.as_ref().zone_of(pfn);
        match (op, call, answer) {
            (Op::Alloc { request, .. }, _, Answer::Outcome(Outcome::Page(pfn))) => {
                if let Some(zone) = zone_of(*pfn) {
                    state.past.grants[zone.index()] += 1;
                    state.past.granted_pages[zone.index()] += request.order.pages();
                }
            }
            (_, Call::Free(_, pfn, order), _) => {
                if let Some(zone) = zone_of(*pfn) {
                    state.past.freed_pages[zone.index()] += order.pages();
                }
            }
            _ => {}
        }
        // A pending failure is consumed by the next operation that reaches the lists.
        match call {
            Call::FailTrylock(cpu, times) => state.pending[cpu.index()] += times,
            Call::Alloc(cpu, request) if request.order <= Order::COSTLY => {
                let pending = &mut state.pending[cpu.index()];
                *pending = pending.saturating_sub(1);
            }
            Call::Free(cpu, _, order) if *order <= Order::COSTLY => {
                let pending = &mut state.pending[cpu.index()];
                *pending = pending.saturating_sub(1);
            }
            _ => {}
        }
    }

    fn held(state: &State<R, S>) -> Vec<(Handle, Held)> {
        state.ledger.all().collect()
    }
}

impl<R, S> Model for Space<R, S>
where
    R: LinuxPolicy + Clone + Send + Sync + 'static,
    S: LinuxPolicy + Clone + Send + Sync + 'static,
{
    type State = State<R, S>;
    type Action = Op;

    fn init_states(&self) -> Vec<Self::State> {
        let script = &self.scope.script;
        let (expected, got) = ((self.boot.0)(script), (self.boot.1)(script));
        let zones = script.machine.zones.len();
        let pending = vec![0; usize::from(script.machine.cpus)];
        let key = key(&expected, &script.machine, &[], &pending);
        vec![State {
            expected,
            got,
            ledger: Ledger::new(script),
            past: Past {
                disabled: vec![false; zones],
                grants: vec![0; zones],
                granted_pages: vec![0; zones],
                freed_pages: vec![0; zones],
                ..Past::default()
            },
            pending,
            path: Vec::new(),
            next: 1,
            key,
            right: true,
        }]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Op>) {
        if !state.right {
            return;
        }
        let held: Vec<Handle> = state.ledger.all().map(|(handle, _)| handle).collect();
        let fails = |op: &Op| match op {
            Op::FailTrylock { cpu, .. } => state.pending[cpu.index()] == 0,
            _ => true,
        };
        actions.extend(self.scope.operations(&held, Handle(state.next)).into_iter().filter(fails));
    }

    fn next_state(&self, last: &Self::State, op: Op) -> Option<Self::State> {
        let mut state = last.clone();
        let stepped = catch(|| self.step(&mut state, &op));
        state.path.push(op);
        let stepped = stepped.unwrap_or_else(|what| {
            let at = Some(state.path.len() - 1);
            Err(Finding { kind: "panic".to_owned(), what, at })
        });
        match stepped {
            Ok(()) => {
                state.next += 1;
                let held = Self::held(&state);
                let machine = &self.scope.script.machine;
                state.key = key(&state.expected, machine, &held, &state.pending);
            }
            Err(finding) => {
                self.note(&state.path, finding);
                state.right = false;
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("equal and lawful", |_, state: &State<R, S>| state.right)]
    }
}

/// Search every scope within `bounds`, each with its share of the time. The budget of `config` is
/// not looked at: bounds say how far.
pub fn explore<R, S>(
    config: &Config<'_>,
    bounds: Bounds,
    boot_expected: fn(&Script) -> R,
    boot_got: fn(&Script) -> S,
) -> EngineReport
where
    R: LinuxPolicy + Clone + Send + Sync + 'static,
    S: LinuxPolicy + Clone + Send + Sync + 'static,
{
    let mut report = EngineReport::new("explorer");
    let mut clock = config.clock("explorer");
    let all = scopes();
    let share = bounds.time.map(|time| time / all.len() as u32);
    let (mut states, mut depth) = (0, 0);
    for scope in all {
        if !clock.goes_on(states, report.operations) && clock.cancelled() {
            break;
        }
        report.cases += 1;
        let numbers = Numbers::of(&boot_expected(&scope.script), scope.script.machine.cpus);
        let setting = Setting::new(&scope.script.machine, scope.script.rules, numbers);
        let head = scope.script.clone();
        let space = Space {
            scope,
            setting,
            boot: (boot_expected, boot_got),
            found: Mutex::new(None),
            laws: Mutex::new(Exercised::new()),
        };
        let mut checker = space.checker().threads(bounds.threads.max(1));
        if let Some(depth) = bounds.depth.and_then(|depth| NonZeroUsize::new(depth + 1)) {
            checker = checker.target_max_depth(depth.get());
        }
        if let Some(states) = bounds.states {
            checker = checker.target_state_count(states);
        }
        if let Some(share) = share {
            checker = checker.timeout(share);
        }
        let checker = checker.spawn_bfs().join();
        report.operations += checker.state_count() as u64;
        states += checker.unique_state_count() as u64;
        depth = depth.max(checker.max_depth() as u64 - 1);
        let laws = checker.model().laws.lock().unwrap_or_else(PoisonError::into_inner);
        report.add_laws(&laws);
        let found = checker.model().found.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((path, finding)) = found {
            let script = Script { ops: path, ..head };
            report.failures.push(shrunk(config, script, finding, boot_expected, boot_got));
            if report.failures.len() >= config.failures {
                break;
            }
        }
    }
    report.states = Some(states);
    report.depth = Some(depth);
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}

/// Breadth first finds a shortest sequence; the rest is made plainer where the differential driver
/// sees the same.
fn shrunk<R: LinuxPolicy, S: LinuxPolicy>(
    config: &Config<'_>,
    script: Script,
    finding: Finding,
    boot_expected: fn(&Script) -> R,
    boot_got: fn(&Script) -> S,
) -> Failure {
    let look = |script: &Script| check_script(script, boot_expected, boot_got, None).err();
    let same = |script: &Script| look(script).is_some_and(|other| other.kind == finding.kind);
    let operations_before = script.ops.len();
    let (script, finding) = if same(&script) {
        let small = shrink::shrink(&script, config.shrink_runs, same);
        let finding = look(&small).unwrap_or(finding);
        (small, finding)
    } else {
        (script, finding)
    };
    Failure {
        engine: "explorer",
        finding,
        script,
        schedule: None,
        seed: config.seed,
        case: 0,
        operations_before,
        file: None,
    }
}
