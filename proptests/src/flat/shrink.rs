//! Making a failing case smaller.

use super::{Case, Language};
use mmspec_model::vocab::Gfp;

/// The smallest case found within `trials` that `fails` still.
pub(super) fn shrink<L: Language>(
    case: &Case<L>,
    trials: usize,
    fails: impl Fn(&Case<L>) -> bool,
) -> Case<L> {
    let mut best = case.clone();
    let mut left = trials;
    loop {
        let before = best.ops.clone();
        for chunk in [64, 16, 4, 1] {
            let mut end = best.ops.len();
            while end > 0 && left > 0 {
                let start = end.saturating_sub(chunk);
                let mut small = best.clone();
                small.ops.drain(start..end);
                left -= 1;
                if fails(&small) {
                    best = small;
                }
                end = start.min(best.ops.len());
            }
        }
        for at in 0..best.ops.len() {
            for plainer in <() as Plain<L>>::ALL {
                let mut small = best.clone();
                plainer(&mut small, at);
                if small != best && left > 0 {
                    left -= 1;
                    if fails(&small) {
                        best = small;
                    }
                }
            }
        }
        if let Some((_, preset)) = L::PRESETS.last() {
            let small = Case { rules: *preset, ..best.clone() };
            if small != best && left > 0 && fails(&small) {
                best = small;
            }
        }
        if best.ops == before || left == 0 {
            return best;
        }
    }
}

type Plainer<L> = fn(&mut Case<L>, usize);

/// Changes of one operation, greatest first. One array for all languages: functions are made for each.
trait Plain<L: Language> {
    const ALL: [Plainer<L>; 7];
}

impl<L: Language> Plain<L> for () {
    const ALL: [Plainer<L>; 7] = [
        |case, at| case.ops[at].flags = 0,
        |case, at| case.ops[at].gfp = Gfp::KERNEL,
        |case, at| case.ops[at].cpu = 0,
        |case, at| case.ops[at].m = 0,
        |case, at| case.ops[at].n /= 2,
        |case, at| case.ops[at].n = case.ops[at].n.saturating_sub(1),
        |case, at| case.ops[at].id = case.ops[at].id.saturating_sub(1),
    ];
}
