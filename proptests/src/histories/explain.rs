//! The search for an order.

use super::history::{Event, History};
use crate::drive::{Answer, Call, Caller, perform};
use crate::script::Script;
use mmspec_model::laws::{Lists, Numbers};
use mmspec_model::reference::{Reference, steps};
use mmspec_model::vocab::{CpuId, Pfn};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What the allocator under test looks like after the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// Every number.
    pub numbers: Numbers,
    /// Every list.
    pub lists: Lists,
}

/// A history has an order; what it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Explained {
    /// Some call took effect before one that had begun earlier.
    pub reordered: bool,
    /// Steps of one call fell between steps of another, and without that there is no order.
    pub mixed: bool,
    /// An attempt to lock failed because another call held the lock.
    pub busy: bool,
}

/// A history has no order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unexplained {
    /// The most calls that any order could explain, by their positions in the history.
    furthest: Vec<usize>,
    /// All calls were explained, but not the state after them: what differs.
    state: Option<String>,
    /// States looked at.
    states: usize,
}

impl Unexplained {
    /// In words: the history, and how far an order gets.
    #[must_use]
    pub fn tell(&self, script: &Script, history: &History) -> String {
        let mut text = String::from(
            "no order of these calls gives their results under the specification \
             (docs/concurrency.md)\n",
        );
        text.push_str(&history.tell(script));
        let names: Vec<String> = self
            .furthest
            .iter()
            .filter_map(|at| script.op_text(history.events()[*at].op))
            .collect();
        let far = names.join("; ");
        // Writing to a String cannot fail.
        let _ = match &self.state {
            Some(differs) => write!(text, "explained: all calls ({far}), but then {differs}"),
            None => write!(text, "explained at most: {} calls ({far})", names.len()),
        };
        let _ = write!(text, "\nstates looked at: {}", self.states);
        text
    }
}

/// Find an order, first of whole calls, then of their steps.
///
/// # Errors
/// There is none.
pub fn explain(
    history: &History,
    reference: &Reference,
    end: &End,
) -> Result<Explained, Unexplained> {
    let mut whole = Search::new(history, end, false);
    if whole.go(&whole.start(reference)) {
        return Ok(Explained { mixed: false, ..whole.explained });
    }
    let mut steps = Search::new(history, end, true);
    if steps.go(&steps.start(reference)) {
        return Ok(Explained { mixed: true, ..steps.explained });
    }
    Err(Unexplained {
        furthest: steps.furthest,
        state: steps.state,
        states: whole.seen.len() + steps.seen.len(),
    })
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Status {
    Waiting,
    Running(steps::Walk),
    Done,
}

#[derive(Clone)]
struct Node {
    reference: Reference,
    status: Vec<Status>,
    /// Calls in the order of their last steps.
    order: Vec<usize>,
    busy: bool,
}

struct Search<'a> {
    events: &'a [Event],
    end: &'a End,
    /// Steps of different calls may mix.
    mix: bool,
    /// Fingerprints of states that lead nowhere.
    seen: HashSet<u64>,
    explained: Explained,
    furthest: Vec<usize>,
    state: Option<String>,
}

/// Answers as the execution answered.
struct Again<'a>(&'a [(Pfn, bool)]);

impl Caller for Again<'_> {
    fn is_movable(&self, pfn: Pfn) -> bool {
        // A frame that was not asked about lay in no allocated block at that moment: then this is
        // not the moment.
        self.0.iter().any(|(asked, yes)| *asked == pfn && *yes)
    }
}

/// Locks lists of other CPUs.
const fn locks_lists(call: &Call) -> bool {
    matches!(
        call,
        Call::DrainCpu(..)
            | Call::DrainAll(..)
            | Call::PcpDisable(..)
            | Call::PcpEnable(..)
            | Call::Set(..)
    )
}

impl<'a> Search<'a> {
    fn new(history: &'a History, end: &'a End, mix: bool) -> Self {
        Self {
            events: history.events(),
            end,
            mix,
            seen: HashSet::new(),
            explained: Explained::default(),
            furthest: Vec::new(),
            state: None,
        }
    }

    fn start(&self, reference: &Reference) -> Node {
        Node {
            reference: reference.clone(),
            status: vec![Status::Waiting; self.events.len()],
            order: Vec::new(),
            busy: false,
        }
    }

    /// Whether an order is found from here on.
    fn go(&mut self, node: &Node) -> bool {
        let mut hasher = DefaultHasher::new();
        node.status.hash(&mut hasher);
        node.reference.fingerprint(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return false;
        }
        if node.order.len() > self.furthest.len() {
            self.furthest.clone_from(&node.order);
        }
        if node.order.len() == self.events.len() {
            return self.ends(node);
        }
        // What runs goes on first: so orders of whole calls come before mixed ones.
        let running = |at: &usize| matches!(node.status[*at], Status::Running(_));
        let all = 0..self.events.len();
        let underway: Vec<usize> = all.clone().filter(running).collect();
        let fresh =
            all.filter(|at| node.status[*at] == Status::Waiting && self.may_begin(node, *at));
        let next: Vec<usize> = if underway.is_empty() || self.mix {
            underway.iter().copied().chain(fresh).collect()
        } else {
            underway.clone()
        };
        next.into_iter().any(|at| self.moves(node, at))
    }

    /// All that ended before it began is done.
    fn may_begin(&self, node: &Node, at: usize) -> bool {
        let began = self.events[at].began;
        let mut before = self.events.iter().zip(&node.status);
        before.all(|(other, status)| other.ended > began || *status == Status::Done)
    }

    /// Every way in which call `at` can make its next step.
    fn moves(&mut self, node: &Node, at: usize) -> bool {
        let event = &self.events[at];
        let mut node = node.clone();
        if node.status[at] == Status::Waiting {
            if self.may_do_nothing(at) {
                let mut idle = node.clone();
                idle.status[at] = Status::Done;
                idle.order.push(at);
                if self.go(&idle) {
                    return true;
                }
            }
            match begin(&mut node.reference, &event.call) {
                Begin::Walk(walk) => node.status[at] = Status::Running(walk),
                Begin::Never => return false,
                Begin::Whole => {
                    let again = Again(&event.asked);
                    let answer = perform(&mut node.reference, &event.call, &again);
                    return answer == event.answer && self.done(node, at);
                }
            }
        }
        let Status::Running(walk) = &node.status[at] else { return false };
        let held =
            |status: &Status| matches!(status, Status::Running(walk) if walk.holds_settings());
        if walk.wants_settings() && node.status.iter().any(held) {
            return false;
        }
        if !(walk.tries_lock() && self.may_be_busy(at)) {
            return self.step(node, at, false);
        }
        let busy = Node { busy: true, ..node.clone() };
        self.step(node, at, false) || self.step(busy, at, true)
    }

    fn step(&mut self, mut node: Node, at: usize, busy: bool) -> bool {
        let Status::Running(mut walk) = std::mem::replace(&mut node.status[at], Status::Done)
        else {
            return false;
        };
        let Some(answer) = node.reference.step(&mut walk, busy) else {
            node.status[at] = Status::Running(walk);
            return self.go(&node);
        };
        let answer = match answer {
            steps::Answer::Done => Answer::Done,
            steps::Answer::Outcome(outcome) => Answer::Outcome(outcome),
            steps::Answer::WorkLeft(left) => Answer::Flag(left),
        };
        answer == self.events[at].answer && self.done(node, at)
    }

    fn done(&mut self, mut node: Node, at: usize) -> bool {
        node.status[at] = Status::Done;
        node.order.push(at);
        self.go(&node)
    }

    fn may_be_busy(&self, at: usize) -> bool {
        let own = &self.events[at];
        self.others(at).any(|other| own.overlaps(other) && locks_lists(&other.call))
    }

    fn may_do_nothing(&self, at: usize) -> bool {
        let own = &self.events[at];
        matches!(own.call, Call::DrainAll(_, None))
            && self.others(at).any(|other| {
                own.overlaps(other)
                    && matches!(other.call, Call::DrainAll(..) | Call::PcpDisable(..))
            })
    }

    fn others(&self, at: usize) -> impl Iterator<Item = &Event> {
        self.events
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != at)
            .map(|(_, event)| event)
    }

    /// All calls are explained: is what is left, too?
    fn ends(&mut self, node: &Node) -> bool {
        let cpus = self.end.numbers.pcps.len() / self.end.numbers.zones.len().max(1);
        let numbers = Numbers::of(&node.reference, cpus as u16);
        let lists = Lists::of(&node.reference, node.reference.machine());
        if numbers == self.end.numbers && lists == self.end.lists {
            let began = |at: &usize| self.events[*at].began;
            let reordered = node.order.windows(2).any(|pair| began(&pair[0]) > began(&pair[1]));
            self.explained = Explained { reordered, mixed: self.mix, busy: node.busy };
            return true;
        }
        self.state.get_or_insert_with(|| {
            if numbers == self.end.numbers {
                "the lists differ".to_owned()
            } else {
                difference(&numbers, &self.end.numbers)
            }
        });
        false
    }
}

/// The first words in which two states' texts differ.
fn difference(expected: &Numbers, got: &Numbers) -> String {
    let (expected, got) = (format!("{expected:?}"), format!("{got:?}"));
    let at = expected.bytes().zip(got.bytes()).position(|(one, other)| one != other).unwrap_or(0);
    // Debug texts of numbers are ASCII; anything else is cut at no letter.
    let near = |text: &str| {
        let (from, to) = (at.saturating_sub(60), (at + 20).min(text.len()));
        text.get(from..to).unwrap_or(text).to_owned()
    };
    format!("the numbers differ: expected …{}…, got …{}…", near(&expected), near(&got))
}

/// How a call begins.
enum Begin {
    /// With the first of its steps.
    Walk(steps::Walk),
    /// It is one step.
    Whole,
    /// Not in this state: it frees what is not handed out.
    Never,
}

fn begin(reference: &mut Reference, call: &Call) -> Begin {
    let walk = match call {
        Call::Alloc(cpu, request) => reference.walk_alloc(*cpu, *request),
        Call::Free(cpu, pfn, order) => {
            return reference.walk_free(*cpu, &[(*pfn, *order)]).map_or(Begin::Never, Begin::Walk);
        }
        Call::FreeBatch(cpu, blocks) => {
            return reference.walk_free(*cpu, blocks).map_or(Begin::Never, Begin::Walk);
        }
        Call::DrainCpu(by, cpu) => reference.walk_drain(*by, Some(*cpu), None),
        Call::DrainAll(by, zone) => reference.walk_drain(*by, None, *zone),
        Call::PcpDisable(by, zone) => reference.walk_switch(*by, *zone, true),
        // Nobody's diffs take part.
        Call::PcpEnable(zone) => reference.walk_switch(CpuId(0), *zone, false),
        Call::Tick(cpu) => reference.walk_tick(*cpu),
        _ => return Begin::Whole,
    };
    Begin::Walk(walk)
}
