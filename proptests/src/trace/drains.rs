//! mm_page_pcpu_drain: pages leave the per-CPU lists for the free lists.

use super::engine::{CpuState, Engine};
use super::report::{Kind, Verdict, block};
use mmspec_model::knowledge::{Answer, FrameKnowledge, Knowledge, Source, TypeSet};
use mmspec_model::vocab::{FreeListType, MigrateType, Order, Pfn};

impl Engine<'_> {
    /// mm_page_pcpu_drain.
    pub(super) fn on_drain(
        &mut self,
        cpu: usize,
        state: CpuState,
        pfn: Pfn,
        order: Order,
        migratetype: MigrateType,
    ) {
        let Some(z) = self.k.zone_of(pfn) else {
            self.ownership("a page lies in a zone", "a zone".into(), block(pfn, order));
            return;
        };
        // From 6.10 on the event shows the pageblock's type: it also tells the list that the page was on.
        let hygiene = self.k.shape().rules.free_list_type == FreeListType::Pageblock;
        if hygiene {
            self.k.learn_pageblock(pfn, TypeSet::of(migratetype));
        }
        let frame = self.k.frame(pfn);
        match frame {
            FrameKnowledge::Cached { cpu: owner, .. } => {
                self.drain_known(cpu, state, usize::from(owner), z, pfn, order);
            }
            FrameKnowledge::Unknown | FrameKnowledge::NotFree => {
                self.verdict(Kind::Drain, z, Verdict::Undecidable);
                self.cpus[cpu].draining = None;
            }
            other => {
                self.refute(pfn);
                self.contradict(
                    Kind::Drain,
                    z,
                    "a drained page was on a per-CPU list",
                    "a cached page".into(),
                    format!("{} ({other})", block(pfn, order)),
                );
            }
        }
        let source = if hygiene { self.k.pageblock_source(pfn) } else { Source::Type(migratetype) };
        self.k.free(z, pfn, order, source);
    }

    fn drain_known(
        &mut self,
        cpu: usize,
        state: CpuState,
        owner: usize,
        z: usize,
        pfn: Pfn,
        order: Order,
    ) {
        // Where the drain stands: in the list that its task was emptying, or at the list of the page
        // that the task just freed, or at list 0, as every drain that no free asked for.
        let lists = self.k.list_count();
        let first = match (state.draining, state.committed) {
            (Some((o, zone, list, pid)), _) if (o, zone, pid) == (owner, z, self.pid) => Some(list),
            (_, Some((zone, page, pid))) if zone == z && owner == cpu && pid == self.pid => {
                match self.k.lists_of(page).as_slice() {
                    [list] => Some(*list),
                    _ => None,
                }
            }
            _ => Some(0),
        };
        let predict = |k: &Knowledge, start: usize| {
            (0..lists)
                .map(|step| k.predict_drain(owner, z, (start + step) % lists))
                .find(|answer| *answer != Answer::Nothing)
                .unwrap_or(Answer::Nothing)
        };
        let mut start = first;
        let mut predicted = first.map_or(Answer::Depends, |start| predict(&self.k, start));
        // A task may begin another drain right after one that a free asked for.
        if state.draining.is_some() && predict(&self.k, 0) == Answer::Exactly(pfn) {
            (start, predicted) = (Some(0), Answer::Exactly(pfn));
        }
        let on = self.k.lists_of(pfn);
        let list =
            on.iter().copied().min_by_key(|list| (list + lists - start.unwrap_or(*list)) % lists);
        let Some(list) = list else { return };
        if on.len() > 1 {
            // Which of its lists it was on is not known, so nothing follows for the others.
            self.k.uncache(z, pfn);
            self.cpus[cpu].draining = None;
            self.verdict(Kind::Drain, z, Verdict::Undecidable);
            return;
        }
        let freed_since =
            matches!(self.k.frame(pfn), FrameKnowledge::Cached { place, .. } if place < 0);
        // The lists that the drain passed are empty, and what stood nearer to this one's tail is gone.
        // Only order-0 pages leave untraced, and only before a page that was freed after them.
        let mut gone = Vec::new();
        let passed =
            start.filter(|_| on.len() == 1).map_or(0, |start| (list + lists - start) % lists);
        for step in 0..passed {
            let (order, migratetype) = self.k.list_meaning((list + lists - passed + step) % lists);
            gone.extend(self.k.prove_empty(owner, z, order, migratetype));
        }
        let departure = self.k.drain(owner, z, list, pfn);
        self.cpus[cpu].draining = Some((owner, z, list, self.pid));
        let explained = departure.passed_over.is_empty() || freed_since;
        gone.extend(departure.passed_over);
        let single = gone.iter().all(|pfn| {
            matches!(self.k.frame(*pfn), FrameKnowledge::Cached { order: Order::ZERO, .. })
        });
        if !gone.is_empty() && explained && single {
            self.infer(
                Kind::Drain,
                z,
                "a drain empties lists in turn, each from its tail (§2.6); blocks passed over must have left untraced",
                Order::ZERO,
                block(pfn, order),
                &gone,
            );
        } else if predicted == Answer::Exactly(pfn) {
            self.verdict(Kind::Drain, z, Verdict::Predicted);
        } else if predicted == Answer::Depends && gone.is_empty() {
            self.verdict(Kind::Drain, z, Verdict::Undecidable);
        } else {
            self.contradict(
                Kind::Drain,
                z,
                "a drain empties a list from its tail before it goes on to the next (§2.6)",
                predicted.to_string(),
                format!("{} of list {list}", block(pfn, order)),
            );
        }
    }
}
