//! The search.

use super::key::key;
use super::machine::{Scope, scopes};
use crate::differential::check_script;
use crate::drive::{Answer, Call, Held, Ledger, catch, perform};
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::lawful::{Exercised, Quiet, quiet_laws};
use crate::script::{Handle, Op, Script};
use crate::shrink;
use mmspec_model::contract::{LinuxPolicy, Outcome};
use mmspec_model::laws::{Law, Lists, Live, LiveBlock, Numbers, Past, Setting, Step};
use mmspec_model::vocab::Order;
use stateright::{Checker, Model, Property};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How far to search one scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Longest sequence of operations; `None`: no bound.
    pub depth: Option<usize>,
    /// Most states of one scope. Each takes about half a kilobyte until its turn comes.
    pub states: u64,
    /// Most transitions of one scope, as near as the checker keeps to it: with one thread always at
    /// the same one, unlike the other bounds.
    pub transitions: Option<u64>,
    /// Most time.
    pub time: Option<Duration>,
    /// Only the first so many machines.
    pub scopes: Option<usize>,
    /// Threads that search.
    pub threads: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            depth: Some(6),
            states: 2_000_000,
            transitions: None,
            time: None,
            scopes: None,
            threads: 1,
        }
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

/// How an allocator is made for a script.
type Boot<A> = Box<dyn Fn(&Script) -> A + Send + Sync>;

struct Space<R, S> {
    scope: Scope,
    setting: Setting,
    boot_expected: Boot<R>,
    boot_got: Boot<S>,
    /// States this deep are not gone on from.
    last: Option<usize>,
    asked: Vec<&'static Law>,
    found: Mutex<Option<(Vec<Op>, Finding)>>,
    laws: Mutex<Exercised>,
    /// Go on from no further state.
    stop: Arc<AtomicBool>,
}

/// Both allocators and everything around them in one state.
#[derive(Clone)]
struct Built<R, S> {
    expected: R,
    got: S,
    ledger: Ledger,
    past: Past,
    /// Attempts of each CPU to lock that are still to fail; contracts do not show them.
    pending: Vec<u32>,
}

/// One state. What waits to be visited is its key and how it was reached; the allocators are built
/// again, by doing the operations, when its turn comes. So millions of states can wait.
struct State<R, S> {
    path: Vec<Op>,
    key: Vec<u8>,
    right: bool,
    built: OnceLock<Box<Built<R, S>>>,
}

impl<R, S> Clone for State<R, S> {
    fn clone(&self) -> Self {
        Self {
            path: self.path.clone(),
            key: self.key.clone(),
            right: self.right,
            built: OnceLock::new(),
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

    /// Right after boot.
    fn boot(&self) -> Built<R, S> {
        let script = &self.scope.script;
        let zones = script.machine.zones.len();
        Built {
            expected: (self.boot_expected)(script),
            got: (self.boot_got)(script),
            ledger: Ledger::new(script),
            past: Past::new(zones),
            pending: vec![0; usize::from(script.machine.cpus)],
        }
    }

    /// The state at the end of a path that was right.
    fn rebuild(&self, path: &[Op]) -> Built<R, S> {
        let mut built = self.boot();
        for op in path {
            let call = built.ledger.call(op);
            let answer = perform(&mut built.expected, &call, &built.ledger);
            perform(&mut built.got, &call, &built.ledger);
            self.note_pages(&mut built, op, &call, &answer);
            built.ledger.record(op, &call, &answer);
        }
        built
    }

    /// The transition by operation number `at`: the key of the state reached, or what differs or
    /// breaks.
    fn step(&self, state: &mut Built<R, S>, op: &Op, at: usize) -> Result<Vec<u8>, Finding> {
        let (expected, got) = (&mut state.expected, &mut state.got);
        let at = Some(at);
        let call = state.ledger.call(op);
        let wanted = perform(expected, &call, &state.ledger);
        let answer = perform(got, &call, &state.ledger);
        let difference = |what: String| Finding { kind: "difference".to_owned(), what, at };
        if wanted != answer {
            return Err(difference(format!("answer: expected {wanted:?}, got {answer:?}")));
        }
        self.note_pages(state, op, &call, &wanted);
        state.ledger.record(op, &call, &wanted);
        let (expected, got) = (&state.expected, &state.got);
        let machine = &self.scope.script.machine;
        let numbers = Numbers::of(got, machine.cpus);
        if Numbers::of(expected, machine.cpus) != numbers {
            return Err(difference("numbers differ".to_owned()));
        }
        let lists = Lists::of(got, machine);
        if Lists::of(expected, machine) != lists {
            return Err(difference("lists differ".to_owned()));
        }
        let mut live = Live::default();
        for (_, held) in state.ledger.all() {
            live.insert(held.pfn, LiveBlock { order: held.order, movable: held.movable });
        }
        let quiet = Quiet {
            script: &self.scope.script,
            setting: &self.setting,
            tunables: &self.scope.script.tunables,
            laws: &self.asked,
        };
        let mut laws = self.laws.lock().unwrap_or_else(PoisonError::into_inner);
        quiet
            .judge_seen(&numbers, &lists, &live, &state.past, Step::Other, &mut laws)
            .map_err(|broke| Finding { at, ..broke.finding() })?;
        let held: Vec<(Handle, Held)> = state.ledger.all().collect();
        Ok(key(expected, machine, &held, &state.pending, self.scope.diffs))
    }

    fn note_pages(&self, state: &mut Built<R, S>, op: &Op, call: &Call, answer: &Answer) {
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
}

impl<R, S> Model for Space<R, S>
where
    R: LinuxPolicy + Clone + Send + Sync + 'static,
    S: LinuxPolicy + Clone + Send + Sync + 'static,
{
    type State = State<R, S>;
    type Action = Op;

    fn init_states(&self) -> Vec<Self::State> {
        let built = self.boot();
        let key =
            key(&built.expected, &self.scope.script.machine, &[], &built.pending, self.scope.diffs);
        vec![State { path: Vec::new(), key, right: true, built: OnceLock::from(Box::new(built)) }]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Op>) {
        let deep = self.last.is_some_and(|last| state.path.len() >= last);
        if !state.right || deep || self.stop.load(Ordering::Relaxed) {
            return;
        }
        let built = state.built.get_or_init(|| Box::new(self.rebuild(&state.path)));
        let held: Vec<Handle> = built.ledger.all().map(|(handle, _)| handle).collect();
        let next = Handle(state.path.len() as u32 + 1);
        let can = |op: &Op| match op {
            Op::FailTrylock { cpu, .. } => built.pending[cpu.index()] == 0,
            _ => true,
        };
        actions.extend(self.scope.operations(&held, next).into_iter().filter(can));
    }

    fn next_state(&self, last: &Self::State, op: Op) -> Option<Self::State> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let at = last.path.len();
        let mut built = last.built.get_or_init(|| Box::new(self.rebuild(&last.path))).clone();
        let stepped = catch(|| self.step(&mut built, &op, at))
            .unwrap_or_else(|what| Err(Finding { kind: "panic".to_owned(), what, at: Some(at) }));
        let mut path = Vec::with_capacity(at + 1);
        path.extend_from_slice(&last.path);
        path.push(op);
        let (key, right) = match stepped {
            Ok(key) => (key, true),
            Err(finding) => {
                self.note(&path, finding);
                (Vec::new(), false)
            }
        };
        Some(State { path, key, right, built: OnceLock::new() })
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
    boot_expected: impl Fn(&Script) -> R + Clone + Send + Sync + 'static,
    boot_got: impl Fn(&Script) -> S + Clone + Send + Sync + 'static,
) -> EngineReport
where
    R: LinuxPolicy + Clone + Send + Sync + 'static,
    S: LinuxPolicy + Clone + Send + Sync + 'static,
{
    let mut report = EngineReport::new("explorer");
    let mut clock = config.clock("explorer");
    let mut all = scopes();
    all.truncate(bounds.scopes.unwrap_or(usize::MAX));
    let share = bounds.time.map(|time| time / all.len() as u32);
    let (mut states, mut depth) = (0, 0);
    for scope in all {
        if clock.cancelled() {
            break;
        }
        report.cases += 1;
        let numbers = Numbers::of(&boot_expected(&scope.script), scope.script.machine.cpus);
        let setting = Setting::new(&scope.script.machine, scope.script.rules, numbers);
        let head = scope.script.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let space = Space {
            scope,
            setting,
            boot_expected: Box::new(boot_expected.clone()),
            boot_got: Box::new(boot_got.clone()),
            last: bounds.depth,
            asked: quiet_laws(Some(&LAWS)),
            found: Mutex::new(None),
            laws: Mutex::new(Exercised::new()),
            stop: Arc::clone(&stop),
        };
        let started = Instant::now();
        let mut builder = space.checker().threads(bounds.threads.max(1));
        if let Some(transitions) = bounds.transitions {
            let most = usize::try_from(transitions).unwrap_or(usize::MAX);
            builder = builder.target_state_count(most);
        }
        let checker = builder.spawn_bfs();
        while !checker.is_done() {
            let seen = checker.unique_state_count() as u64;
            clock.goes_on(states + seen, report.operations + checker.state_count() as u64);
            let late = share.is_some_and(|share| started.elapsed() >= share);
            if late || seen >= bounds.states || clock.cancelled() {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let checker = checker.join();
        report.operations += checker.state_count() as u64;
        states += checker.unique_state_count() as u64;
        depth = depth.max(checker.max_depth() as u64 - 1);
        let laws = checker.model().laws.lock().unwrap_or_else(PoisonError::into_inner);
        report.add_laws(&laws);
        let found = checker.model().found.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((path, finding)) = found {
            let script = Script { ops: path, ..head };
            report.failures.push(shrunk(config, script, finding, &boot_expected, &boot_got));
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
    boot_expected: &impl Fn(&Script) -> R,
    boot_got: &impl Fn(&Script) -> S,
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
        own: None,
        seed: config.seed,
        case: 0,
        operations_before,
        file: None,
    }
}
