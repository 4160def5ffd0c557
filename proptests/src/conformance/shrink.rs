//! Making a failing case small. Each pass walks its edits by position and keeps what still fails;
//! passes repeat until none gets further.

use super::case::{Case, Step};
use crate::script::Handle;
use mmspec_model::contract::Run;
use std::collections::BTreeMap;

/// Shrink `case` as long as `fails` says so, with at most `runs` trials.
pub(super) fn shrink(case: &Case, runs: usize, fails: impl Fn(&Case) -> bool) -> Case {
    let mut search = Search { best: case.clone(), left: runs, fails: &fails };
    loop {
        let before = search.best.clone();
        search.fewer_steps();
        search.walk(|case| case.steps.len(), STEP_EDITS, edit_step);
        search.walk(|case| case.memory.len(), MEMORY_EDITS, edit_memory);
        if search.best == before || search.left == 0 {
            break;
        }
    }
    let plain = renumbered(&search.best);
    search.offer(plain);
    search.best
}

struct Search<'a> {
    best: Case,
    left: usize,
    fails: &'a dyn Fn(&Case) -> bool,
}

impl Search<'_> {
    /// Whether the candidate still fails; it is then the best.
    fn offer(&mut self, candidate: Case) -> bool {
        if self.left == 0 || candidate == self.best {
            return false;
        }
        self.left -= 1;
        let fails = (self.fails)(&candidate);
        if fails {
            self.best = candidate;
        }
        fails
    }

    /// Drop halves, quarters and so on, from the end; then runs with all that is done to them.
    fn fewer_steps(&mut self) {
        let mut chunk = self.best.steps.len().max(1);
        while chunk > 0 {
            let mut end = self.best.steps.len();
            while end > 0 {
                let start = end.saturating_sub(chunk);
                let mut new = self.best.clone();
                new.steps.drain(start..end);
                self.offer(new);
                end = start;
            }
            chunk /= 2;
        }
        let mut at = 0;
        while let Some(step) = self.best.steps.get(at) {
            let gone = *step.clone().handle_mut();
            let mut new = self.best.clone();
            new.steps.retain_mut(|step| *step.handle_mut() != gone);
            if !self.offer(new) {
                at += 1;
            }
        }
    }

    /// Try `edits` at every position.
    fn walk(
        &mut self,
        length: impl Fn(&Case) -> usize,
        edits: usize,
        edit: impl Fn(&mut Case, usize, usize),
    ) {
        let mut at = 0;
        while at < length(&self.best) {
            for which in 0..edits {
                while at < length(&self.best) {
                    let mut new = self.best.clone();
                    edit(&mut new, at, which);
                    if !self.offer(new) {
                        break;
                    }
                }
            }
            at += 1;
        }
    }
}

const STEP_EDITS: usize = 6;

fn edit_step(case: &mut Case, at: usize, which: usize) {
    let step = &mut case.steps[at];
    match (step, which) {
        (Step::Alloc { align, .. }, 0) => *align = 1,
        (Step::AllocAt { handle, run }, 0) => {
            case.steps[at] = Step::Alloc { handle: *handle, len: run.len, align: 1 };
        }
        (Step::Alloc { align, .. }, 1) => *align = (*align / 2).max(1),
        // Blocks of 2^order frames: both at once.
        (Step::Alloc { len, align, .. }, 2) => {
            *len = (*len / 2).max(1);
            *align = *len;
        }
        (Step::Alloc { len, align, .. }, 3) => (*len, *align) = (1, 1),
        (Step::Alloc { len, .. } | Step::Resize { len, .. }, 4) => *len = (*len / 2).max(1),
        (Step::Alloc { len, .. } | Step::Resize { len, .. }, 5) => *len = (*len - 1).max(1),
        (Step::AllocAt { run, .. }, 4) => run.len = (run.len - 1).max(1),
        (Step::AllocAt { run, .. }, 5) => run.start = run.start.saturating_sub(1),
        _ => {}
    }
}

const MEMORY_EDITS: usize = 11;

fn edit_memory(case: &mut Case, at: usize, which: usize) {
    let run = &mut case.memory[at];
    match which {
        0 => {
            case.memory.remove(at);
        }
        // Everything moves down: to 0, or so that alignments below are kept.
        1 | 8 => {
            let lowest = case.memory.iter().map(|run| run.start).min().unwrap_or(0);
            let highest_bit = lowest.checked_ilog2().map_or(0, |bit| 1 << bit);
            shift(case, if which == 1 { lowest } else { highest_bit });
        }
        // What lies behind moves along, so that regions that touch still do.
        9 => cut(case, at, case.memory[at].len / 2),
        10 => cut(case, at, 1),
        2 => run.len /= 2,
        3 => run.len = run.len.saturating_sub(8),
        4 => run.len -= 1,
        5 => *run = Run::new(run.start + 1, run.len - 1),
        6 => case.memory.sort_unstable(),
        // What is asked for fits the memory only as long as both shrink.
        _ => {
            run.len = run.len.div_ceil(2);
            for at in 0..case.steps.len() {
                edit_step(case, at, 2);
            }
        }
    }
}

/// Take `less` units from the end of a region and move the regions behind it down.
fn cut(case: &mut Case, at: usize, less: u64) {
    let end = case.memory[at].end();
    case.memory[at].len -= less;
    for run in case.memory.iter_mut().filter(|run| run.start >= end) {
        run.start -= less;
    }
}

fn shift(case: &mut Case, down: u64) {
    for run in &mut case.memory {
        run.start -= down;
    }
    for step in &mut case.steps {
        if let Step::AllocAt { run, .. } = step {
            run.start = run.start.saturating_sub(down);
        }
    }
}

/// Handles from 1 in the order in which they first appear.
fn renumbered(case: &Case) -> Case {
    let mut numbers: BTreeMap<Handle, Handle> = BTreeMap::new();
    let mut new = case.clone();
    for step in &mut new.steps {
        let fresh = Handle(numbers.len() as u32 + 1);
        let handle = step.handle_mut();
        *handle = *numbers.entry(*handle).or_insert(fresh);
    }
    new
}
