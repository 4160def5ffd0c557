//! mm_page_alloc_extfrag: blocks of other types.

use super::engine::Engine;
use super::event::{Payload, TraceEvent};
use super::report::{Kind, Verdict, block};
use super::window::Window;
use mmspec_model::knowledge::{Answer, FallbackChoice, FrameKnowledge, TypeSet};
use mmspec_model::vocab::{AllocFlags, Fallback, KmemEvent, MigrateType, Order, Pfn, ZoneKind};
use std::io::BufRead;

/// The fields of one fallback event.
#[derive(Clone, Copy)]
struct ExtFrag {
    pfn: Pfn,
    order: Order,
    found: Order,
    wanted: MigrateType,
    other: MigrateType,
    change_ownership: bool,
}

impl ExtFrag {
    fn of(event: KmemEvent) -> Option<Self> {
        match event {
            KmemEvent::ExtFrag {
                pfn,
                alloc_order,
                fallback_order,
                alloc_migratetype,
                fallback_migratetype,
                change_ownership,
            } => Some(Self {
                pfn,
                order: alloc_order,
                found: fallback_order,
                wanted: alloc_migratetype,
                other: fallback_migratetype,
                change_ownership,
            }),
            _ => None,
        }
    }
}

impl Engine<'_> {
    /// The choice that the rules make, against the one that was made.
    fn judge(&mut self, cpu: usize, z: usize, event: ExtFrag) {
        self.forget_sizes_from(cpu, 0);
        let choice = self.choice(z, event);
        let seen = (event.found, event.other);
        match choice {
            FallbackChoice::Block { order, migratetype, head } if (order, migratetype) == seen => {
                // Which block heads that list may be open; that it is this list is not. Of a claim the
                // event names the block that was then taken from the pageblock.
                let taken = |first: Pfn| {
                    if event.change_ownership && event.found < self.k.shape().pageblock_order {
                        let size = self.k.shape().pageblock_order.pages();
                        first.0 / size == event.pfn.0 / size
                    } else {
                        first == event.pfn
                    }
                };
                if matches!(head, Answer::Exactly(first) if !taken(first)) {
                    self.contradict(
                        Kind::Fallback,
                        z,
                        "a fallback takes the head of the list that it chose (§1.10)",
                        head.to_string(),
                        block(event.pfn, event.found),
                    );
                } else {
                    self.verdict(Kind::Fallback, z, Verdict::Predicted);
                }
            }
            FallbackChoice::Depends => self.verdict(Kind::Fallback, z, Verdict::Undecidable),
            FallbackChoice::Block { head: Answer::Depends, .. } => {
                self.verdict(Kind::Fallback, z, Verdict::Undecidable);
            }
            other => self.contradict(
                Kind::Fallback,
                z,
                "the largest block of the first other type is taken, or the smallest (§1.10 to §1.12)",
                other.to_string(),
                format!("{} of {}", block(event.pfn, event.found), event.other),
            ),
        }
    }

    fn choice(&self, z: usize, event: ExtFrag) -> FallbackChoice {
        let ExtFrag { order, found, wanted, .. } = event;
        if self.k.shape().rules.fallback == Fallback::ClaimThenSteal {
            return if event.change_ownership {
                self.k.predict_claim(z, found, wanted)
            } else {
                self.k.predict_steal(z, order, wanted)
            };
        }
        // Without the slow path in the trace, the first attempt's NOFRAGMENT is not known; a block
        // below a pageblock tells that it was not set.
        let loose = self.k.predict_fallback(z, order, wanted, AllocFlags::empty());
        let normal = self.zone_name(z).kind == ZoneKind::Normal;
        if normal && found >= self.k.shape().pageblock_order {
            let strict = self.k.predict_fallback(z, order, wanted, AllocFlags::NOFRAGMENT);
            if matches!(strict, FallbackChoice::Block { order, migratetype, .. }
                if (order, migratetype) == (found, event.other))
            {
                return strict;
            }
        }
        loose
    }

    /// A take whose fallback event follows: the pageblock was taken over first.
    pub(super) fn claim_before_take(&mut self, cpu: usize, z: usize, event: KmemEvent) {
        let Some(event) = ExtFrag::of(event) else { return };
        if self.k.shape().rules.fallback == Fallback::MoveThenRetype {
            return;
        }
        self.judge(cpu, z, event);
        self.k.learn_block(event.pfn, TypeSet::of(event.other));
        self.k.claim_pageblock(z, event.pfn, event.wanted, event.change_ownership);
    }

    /// The event itself.
    pub(super) fn on_extfrag<R: BufRead>(
        &mut self,
        at: &TraceEvent,
        event: KmemEvent,
        window: &Window<R>,
    ) {
        let cpu = usize::from(at.cpu);
        let Some(event) = ExtFrag::of(event) else { return };
        let Some(z) = self.k.zone_of(event.pfn) else {
            let seen = block(event.pfn, event.order);
            self.ownership("a page lies in a zone", "a zone".into(), seen);
            return;
        };
        if self.k.shape().rules.fallback == Fallback::MoveThenRetype {
            self.moved_then_searched(cpu, z, event);
            return;
        }
        // Taken by the zone-locked event just before it: nothing is left to do.
        let done = match self.k.frame(event.pfn) {
            FrameKnowledge::Taken(_) => true,
            FrameKnowledge::Cached { cpu: owner, .. } => usize::from(owner) == cpu,
            _ => false,
        };
        if done {
            return;
        }
        self.judge(cpu, z, event);
        self.k.learn_block(event.pfn, TypeSet::of(event.other));
        let rest = if event.change_ownership {
            self.k.retype(event.pfn, event.found, TypeSet::of(event.wanted));
            event.wanted
        } else {
            event.other
        };
        self.k.split_off(z, event.pfn, event.order, rest);
        let alone = matches!(window.ahead_on(at.cpu, 0).map(|e| e.payload),
            Some(Payload::Kmem(KmemEvent::PageAlloc { pfn: Some(p), .. })) if p == event.pfn);
        let refill = self.k.is_pcp_order(event.order) && event.wanted.is_pcp_type();
        self.taken(cpu, z, event.pfn, event.order, event.wanted, refill, alone);
    }

    /// Up to 6.9 the event comes first: one block, or all of its pageblock, was moved to the
    /// wanted lists, which are searched again.
    fn moved_then_searched(&mut self, cpu: usize, z: usize, event: ExtFrag) {
        self.judge(cpu, z, event);
        let block_order = self.k.shape().pageblock_order;
        if event.found >= block_order {
            self.k.retype(event.pfn, event.found, TypeSet::of(event.wanted));
            self.k.move_block(z, event.pfn, event.wanted);
            return;
        }
        let claims =
            mmspec_model::reference::arith::may_claim(event.found, event.wanted, block_order, true);
        if claims {
            self.k.claim_pageblock(z, event.pfn, event.wanted, event.change_ownership);
        } else {
            self.k.move_block(z, event.pfn, event.wanted);
        }
    }
}
