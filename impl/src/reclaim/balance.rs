//! How much of which list to scan (compaction.md §4.7, the costs of 6.12).

use super::{LruList, list::NodeLists};

/// What decides amounts besides the lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    pub(super) priority: u8,
    pub(super) swappiness: u8,
    /// Anonymous memory can and may go.
    pub(super) swap: bool,
    /// The kinds of zones whose pages count.
    pub(super) kinds: u8,
    /// Free pages of the node, and the sum of its HIGH marks.
    pub(super) free: u64,
    pub(super) high: u64,
}

/// Whether the inactive list is too short beside the active one.
pub(super) fn is_inactive_low(lists: &NodeLists, file: bool, kinds: u8) -> bool {
    let inactive = lists.size(LruList::of(file, false), kinds);
    let active = lists.size(LruList::of(file, true), kinds);
    is_low(inactive, active)
}

fn is_low(inactive: u64, active: u64) -> bool {
    const PAGES_PER_GIB_SHIFT: u32 = 30 - 12;
    let gib = (inactive + active) >> PAGES_PER_GIB_SHIFT;
    let ratio = if gib == 0 { 1 } else { (10 * gib).isqrt() };
    inactive * ratio < active
}

/// Pages to scan of each evictable list.
pub(super) fn amounts(lists: &NodeLists, around: &Surroundings) -> [u64; 4] {
    let size = |list| lists.size(list, around.kinds);
    let share = |list| size(list) >> around.priority;
    let file = size(LruList::InactiveFile) + size(LruList::ActiveFile);
    let tiny = file + around.free <= around.high && share(LruList::InactiveAnon) > 0;
    let plenty = share(LruList::InactiveFile) > 0 && !is_inactive_low(lists, true, around.kinds);
    let (anon, of_file) = if !around.swap {
        (0, 1)
    } else if around.priority == 0 && around.swappiness > 0 {
        // In despair all alike.
        return LruList::EVICTABLE.map(share);
    } else if tiny {
        (1, 0)
    } else if plenty {
        (0, 1)
    } else {
        by_cost(lists.cost, around.swappiness)
    };
    LruList::EVICTABLE.map(|list| {
        let part = if list.is_file() { of_file } else { anon };
        let all = u128::from(anon + of_file).max(1);
        (u128::from(share(list)) * u128::from(part) / all) as u64
    })
}

/// The parts of anonymous memory and of files by what their reclaim cost.
fn by_cost([anon, file]: [u64; 2], swappiness: u8) -> (u64, u64) {
    let swappiness = u64::from(swappiness.min(200));
    let (anon, file) = (2 * anon + file, anon + 2 * file);
    let total = anon + file;
    (swappiness * (total + 1) / (anon + 1), (200 - swappiness) * (total + 1) / (file + 1))
}

/// Book what reclaim cost; old costs fade as new ones come (lru_note_cost [mem for the fading]).
pub(super) fn note_cost(lists: &mut NodeLists, file: bool, cost: u64) {
    lists.cost[usize::from(file)] += cost;
    if lists.cost[0] + lists.cost[1] > lists.total() / 4 {
        lists.cost = lists.cost.map(|cost| cost / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::StdPlatform;

    #[test]
    fn costs_fade_beyond_a_quarter_of_the_lists() {
        let node = super::super::LruNode::<StdPlatform>::new();
        let mut lists = node.0.lock();
        lists.pages[LruList::InactiveFile.index()][0] = 600;
        lists.pages[LruList::ActiveAnon.index()][1] = 400;
        note_cost(&mut lists, true, 100);
        assert_eq!(lists.cost, [0, 100]);
        note_cost(&mut lists, false, 150);
        assert_eq!(lists.cost, [150, 100], "a quarter, not more");
        note_cost(&mut lists, false, 50);
        assert_eq!(lists.cost, [100, 50]);
    }

    #[test]
    fn inactive_lists_may_be_shorter_on_large_machines() {
        const GIB: u64 = 1 << 18;
        assert!(is_low(99, 100) && !is_low(100, 100));
        // 1 GiB: √10 is 3; 10 GiB: 10.
        assert!(!is_low(GIB / 4, GIB * 3 / 4) && is_low(GIB / 4 - 1, GIB * 3 / 4 + 1));
        assert!(!is_low(GIB, 9 * GIB));
    }

    #[test]
    fn what_costs_more_is_scanned_less() {
        assert_eq!(by_cost([0, 0], 60), (60, 140));
        assert_eq!(by_cost([0, 0], 100), (100, 100));
        let (anon, file) = by_cost([0, 1000], 100);
        assert!(anon > file, "{anon} {file}");
        assert_eq!(by_cost([1000, 0], 0).0, 0);
        // 500 and 700 with each other's: 60 × 1201 / 501 and 140 × 1201 / 701.
        assert_eq!(by_cost([100, 300], 60), (143, 239));
    }
}
