//! memory.events and memory.events.local (memcg-slub.md §6.1).

use super::Memcg;
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{MemcgEvent, MemcgId};

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// Count an event of `memcg`, and with every group above it but the root, unless events stay local
    /// ([`MemcgRules::local_events`](mmspec_model::vocab::MemcgRules)). The root shows none. The memory controller
    /// raises all events itself but `low`, `oom_kill` and `oom_group_kill`, which are the reclaimer's and the killer's.
    pub fn raise(&self, memcg: MemcgId, event: MemcgEvent) {
        let Some(slot) = self.chargeable(memcg) else { return };
        let at = event as usize;
        slot.events.local[at].fetch_add(1);
        let levels = if self.rules.local_events { 1 } else { usize::MAX };
        for (_, slot) in self.below_root(memcg).take(levels) {
            slot.events.hierarchical[at].fetch_add(1);
        }
    }
}
