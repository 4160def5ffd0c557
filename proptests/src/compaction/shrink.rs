//! Making a failing case smaller.

use super::case::{Act, Case, Kind, Scan};
use mmspec_model::contract::CompactMode;
use mmspec_model::vocab::{CompactRules, Pfn, PfnRange, Rules};

/// The smallest case found within `trials` that `fails` still.
pub(super) fn shrink(case: &Case, trials: usize, fails: impl Fn(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut left = trials;
    loop {
        let before = best.clone();
        for candidates in PASSES {
            let mut at = 0;
            while let Some(candidate) = candidates(&best, at) {
                if left == 0 {
                    return best;
                }
                left -= 1;
                if candidate != best && candidate.validate().is_ok() && fails(&candidate) {
                    best = candidate;
                } else {
                    at += 1;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

/// The candidate of a pass with that number; none: the pass is over.
type Candidates = fn(&Case, usize) -> Option<Case>;

const PASSES: [Candidates; 8] =
    [drop_act, drop_zone, drop_used, halve_used, drop_hint, plain_rules, plain_kind, plain_scan];

fn drop_act(case: &Case, at: usize) -> Option<Case> {
    let mut small = case.clone();
    // From the end: what comes before prepares it.
    let place = case.acts.len().checked_sub(at + 1)?;
    small.acts.remove(place);
    Some(small)
}

/// Drop the last zone, or its last pageblocks.
fn drop_zone(case: &Case, at: usize) -> Option<Case> {
    let mut small = case.clone();
    if at == 0 && case.zones.len() > 1 {
        small.zones.pop();
    } else {
        let cut = [16, 8, 4, 2, 1].get(at.checked_sub(usize::from(case.zones.len() > 1))?)?;
        let zone = small.zones.last_mut()?;
        let end =
            (zone.end.0 >> case.pageblock << case.pageblock).checked_sub(cut << case.pageblock)?;
        zone.end = Pfn(end.max(zone.start.0 + 1));
    }
    let end = small.zones.last()?.end;
    small.used.retain(|used| used.range.end <= end);
    small.skips.retain(|block| *block < end);
    small.unmovable.retain(|block| *block < end);
    let zones = small.zones.len();
    small.cached.retain(|(zone, _)| usize::from(*zone) < zones);
    Some(small)
}

/// Chunks of ranges, large ones first, then single ones.
fn drop_used(case: &Case, at: usize) -> Option<Case> {
    let len = case.used.len();
    let mut number = at;
    let mut chunk = len / 2;
    while chunk > 0 {
        let places = len.div_ceil(chunk);
        if number < places {
            let mut small = case.clone();
            let start = number * chunk;
            small.used.drain(start..(start + chunk).min(len));
            return Some(small);
        }
        number -= places;
        chunk /= 2;
    }
    None
}

fn halve_used(case: &Case, at: usize) -> Option<Case> {
    let mut small = case.clone();
    let used = small.used.get_mut(at / 2)?;
    let PfnRange { start, end } = used.range;
    let middle = Pfn(start.0 + (end.0 - start.0) / 2);
    if middle > start {
        used.range = if at.is_multiple_of(2) {
            PfnRange { start, end: middle }
        } else {
            PfnRange { start: middle, end }
        };
    }
    Some(small)
}

fn drop_hint(case: &Case, at: usize) -> Option<Case> {
    let mut small = case.clone();
    let (skips, blocks) = (case.skips.len(), case.unmovable.len());
    if at < skips {
        small.skips.remove(at);
    } else if at < skips + blocks {
        small.unmovable.remove(at - skips);
    } else if at < skips + blocks + case.cached.len() {
        small.cached.remove(at - skips - blocks);
    } else {
        return None;
    }
    Some(small)
}

fn plain_rules(case: &Case, at: usize) -> Option<Case> {
    let mut small = case.clone();
    let presets = CompactRules::PRESETS;
    if at == 0 {
        small.kernel = Rules::linux_6_12();
    } else {
        small.compact = presets.get(presets.len().checked_sub(at)?)?.1;
        // A preset is plain; another preset is no plainer.
        if presets.iter().any(|(_, preset)| *preset == case.compact) {
            return None;
        }
    }
    Some(small)
}

fn plain_kind(case: &Case, at: usize) -> Option<Case> {
    let mut small = case.clone();
    small.used.get_mut(at)?.kind = Kind::Movable;
    Some(small)
}

fn plain_scan(case: &Case, at: usize) -> Option<Case> {
    let mut small = case.clone();
    let Act::Scan(scan) = small.acts.get_mut(at / 6)? else { return Some(small) };
    *scan = match at % 6 {
        0 => Scan { contended: false, ..*scan },
        1 => Scan { resched: false, ..*scan },
        2 => Scan { signal: None, ..*scan },
        3 => Scan { no_set_skip: false, ..*scan },
        4 => Scan { mode: CompactMode::SyncLight, ..*scan },
        _ => Scan { direct: false, ..*scan },
    };
    Some(small)
}
