//! Hand-outs, frees and takes.

use super::engine::{Amount, Engine, Taking};
use super::event::Payload;
use super::report::{Kind, Verdict, block};
use super::window::Window;
use mmspec_model::knowledge::{Answer, FrameKnowledge, TypeSet};
use mmspec_model::vocab::{KmemEvent, MigrateType, Order, Pfn};
use std::io::BufRead;

impl Engine<'_> {
    /// mm_page_alloc.
    pub(super) fn on_alloc(
        &mut self,
        cpu: usize,
        pfn: Pfn,
        order: Order,
        migratetype: MigrateType,
    ) {
        let Some(z) = self.k.zone_of(pfn) else {
            self.ownership("a page lies in a zone", "a zone".into(), block(pfn, order));
            return;
        };
        self.note_request(z, order);
        self.forget_sizes_from(cpu, z + 1);
        match self.k.frame(pfn) {
            FrameKnowledge::Taken(taken) if taken == order => {}
            FrameKnowledge::Gone(left, _) => {
                // It left before its event: counted then, in the size that its list had it in.
                self.moved.alloc[z] -= left.pages();
                self.moved.operations -= 1;
                self.sizes[z][cpu].note_alloc();
                if left == order {
                    self.prove(pfn);
                    self.verdict(Kind::PcpAlloc, z, Verdict::Inferred);
                } else {
                    self.refute(pfn);
                    self.verdict(Kind::PcpAlloc, z, Verdict::Undecidable);
                }
            }
            FrameKnowledge::Allocated(_) => {
                self.ownership(
                    "a block is handed out once",
                    "a free block".into(),
                    format!("{} is handed out already", block(pfn, order)),
                );
            }
            _ if !self.k.is_pcp_order(order) => self.alloc_without_take(z, pfn, order, migratetype),
            _ => self.alloc_from_list(cpu, z, pfn, order, migratetype),
        }
        self.k.set_frame(pfn, FrameKnowledge::Allocated(order));
        self.moved.alloc[z] += order.pages();
        self.moved.operations += 1;
    }

    /// A block of an order that no per-CPU list holds, without a take before it.
    fn alloc_without_take(&mut self, z: usize, pfn: Pfn, order: Order, migratetype: MigrateType) {
        if let Some((head, _)) = self.k.free_block_around(pfn) {
            self.contradict(
                Kind::BuddyTake,
                z,
                "a block of this order is taken under the zone lock first",
                "mm_page_alloc_zone_locked or _extfrag".into(),
                format!("{} straight from a free list", block(pfn, order)),
            );
            if head == pfn {
                self.k.split_off(z, pfn, order, migratetype);
            }
        } else {
            self.verdict(Kind::BuddyTake, z, Verdict::Undecidable);
        }
    }

    fn alloc_from_list(
        &mut self,
        cpu: usize,
        z: usize,
        pfn: Pfn,
        order: Order,
        migratetype: MigrateType,
    ) {
        let predicted = self.k.predict_pop(cpu, z, order, migratetype);
        self.amount_of_alloc(cpu, z, order);
        if predicted == Answer::Exactly(pfn) {
            self.k.pop(cpu, z, order, migratetype, pfn);
            self.verdict(Kind::PcpAlloc, z, Verdict::Predicted);
            return;
        }
        let could_be_unknown = self.k.may_hold_unknown(cpu, z, order, migratetype);
        let frame = self.k.frame(pfn);
        let not_known = matches!(frame, FrameKnowledge::Unknown | FrameKnowledge::NotFree);
        let departure = self.k.pop(cpu, z, order, migratetype, pfn);
        let could_be = departure.was_known || (not_known && could_be_unknown);
        if !could_be {
            let expected = format!("{predicted}, at the head of the list");
            self.contradict(
                Kind::PcpAlloc,
                z,
                "the head of the per-CPU list is handed out (§2.1)",
                expected,
                format!("{} ({frame})", block(pfn, order)),
            );
            if matches!(frame, FrameKnowledge::Cached { cpu: owner, .. } if usize::from(owner) == cpu)
            {
                // What was known of its pageblock's type was wrong: this word is newer.
                self.k.learn_block(pfn, TypeSet::of(migratetype));
            }
            self.repair(z, pfn, order, migratetype);
            return;
        }
        if departure.passed_over.is_empty() {
            self.verdict(Kind::PcpAlloc, z, Verdict::Undecidable);
            return;
        }
        self.left_untraced(cpu, z, order, departure.passed_over.len());
        self.infer(
            Kind::PcpAlloc,
            z,
            "the head of the per-CPU list is handed out (§2.1); blocks passed over must have left untraced",
            order,
            block(pfn, order),
            &departure.passed_over,
        );
    }

    /// Take `pfn` out of wherever it was thought to be.
    fn repair(&mut self, z: usize, pfn: Pfn, order: Order, migratetype: MigrateType) {
        match self.k.frame(pfn) {
            FrameKnowledge::Cached { .. } => self.k.uncache(z, pfn),
            FrameKnowledge::Free { .. } => self.k.split_off(z, pfn, order, migratetype),
            _ => {}
        }
    }

    /// mm_page_free. A page of a batch is put on its list later.
    pub(super) fn on_free(&mut self, cpu: usize, pfn: Pfn, order: Order, batched: bool) {
        let Some(z) = self.k.zone_of(pfn) else {
            self.ownership("a page lies in a zone", "a zone".into(), block(pfn, order));
            return;
        };
        match self.k.frame(pfn) {
            FrameKnowledge::Gone(..) => {
                self.prove(pfn);
                self.k.doubt_pageblock(pfn);
            }
            FrameKnowledge::Cached { cpu: owner, order: cached, .. } => {
                self.freed_while_cached(usize::from(owner), z, pfn, cached);
            }
            FrameKnowledge::Free { .. } | FrameKnowledge::FreeTail => {
                if self.k.is_complete() {
                    self.ownership(
                        "only a block that was handed out is freed",
                        "a block in use".into(),
                        format!("{} is on a free list", block(pfn, order)),
                    );
                }
                if let Some((head, _)) = self.k.free_block_around(pfn) {
                    self.k.split_off(z, head, Order::ZERO, MigrateType::Movable);
                }
            }
            _ => {}
        }
        self.moved.free += order.pages();
        self.k.set_frame(pfn, FrameKnowledge::Allocated(order));
        if !self.k.is_pcp_order(order) {
            self.free_direct(z, pfn, order);
        } else if !batched {
            self.k.cache_freed(cpu, z, pfn, order);
            self.cpus[cpu].amount = Amount::freed(z, order);
            self.cpus[cpu].committed = Some((z, pfn, self.pid));
        }
    }

    /// A page that should lie on a per-CPU list is freed: it was handed out untraced (a bulk
    /// allocation), and so were those of its refill before it.
    fn freed_while_cached(&mut self, owner: usize, z: usize, pfn: Pfn, order: Order) {
        let before = self.k.refilled_before(pfn);
        self.k.uncache(z, pfn);
        self.k.doubt_pageblock(pfn);
        self.moved.alloc[z] += order.pages();
        self.moved.operations += 1;
        self.left_untraced(owner, z, order, before.len() + 1);
        if !before.is_empty() {
            self.infer(
                Kind::PcpAlloc,
                z,
                "a page is freed that was handed out untraced; those before it on its list must have left with it",
                order,
                block(pfn, order),
                &before,
            );
        }
    }

    /// A free that no per-CPU list takes (§1.16).
    fn free_direct(&mut self, z: usize, pfn: Pfn, order: Order) {
        let shape = self.k.shape();
        let piece =
            if shape.rules.split_large_frees { order.min(shape.pageblock_order) } else { order };
        let mut at = 0;
        while at < order.pages() {
            let part = pfn.add(at);
            let source = self.k.pageblock_source(part);
            self.k.free(z, part, piece, source);
            at += piece.pages();
        }
    }

    /// mm_page_free_batched: now the page is put on its list.
    pub(super) fn on_batched(&mut self, cpu: usize, pfn: Pfn) {
        let Some(z) = self.k.zone_of(pfn) else { return };
        let order = match self.k.frame(pfn) {
            FrameKnowledge::Allocated(order) => order,
            _ => Order::ZERO,
        };
        self.repair(z, pfn, order, MigrateType::Movable);
        self.k.cache_freed(cpu, z, pfn, order);
        self.cpus[cpu].amount = Amount::freed(z, order);
        self.cpus[cpu].committed = Some((z, pfn, self.pid));
    }

    /// mm_page_alloc_zone_locked.
    #[expect(clippy::too_many_arguments, reason = "the fields of one event and its surroundings")]
    pub(super) fn on_take<R: BufRead>(
        &mut self,
        cpu: usize,
        pfn: Pfn,
        order: Order,
        migratetype: MigrateType,
        percpu_refill: bool,
        alone: bool,
        window: &Window<R>,
    ) {
        let Some(z) = self.k.zone_of(pfn) else {
            self.ownership("a page lies in a zone", "a zone".into(), block(pfn, order));
            return;
        };
        self.claim_ahead(cpu, z, pfn, window);
        let mut predicted = self.k.predict_take(z, order, migratetype);
        let mut corrected = false;
        while let Answer::Exactly(head) = predicted
            && head != pfn
            && self.drop_assumed(z, head)
        {
            corrected = true;
            predicted = self.k.predict_take(z, order, migratetype);
        }
        let frame = self.k.frame(pfn);
        let passed_over = self.k.take(z, order, migratetype, pfn);
        match (predicted, passed_over) {
            (Answer::Exactly(p), _) if p == pfn => {
                let verdict = if corrected { Verdict::Undecidable } else { Verdict::Predicted };
                self.verdict(Kind::BuddyTake, z, verdict);
            }
            (Answer::Depends, Some(over)) if over.is_empty() => {
                self.verdict(Kind::BuddyTake, z, Verdict::Undecidable);
            }
            (_, None) if !self.k.is_complete() => {
                self.verdict(Kind::BuddyTake, z, Verdict::Undecidable);
            }
            (predicted, over) => {
                let expected = match over.as_deref() {
                    Some([first, ..]) => format!("{first}, nearer to the head"),
                    _ => predicted.to_string(),
                };
                self.contradict(
                    Kind::BuddyTake,
                    z,
                    "the head of the smallest fitting list of the type is taken (§1.6)",
                    expected,
                    format!("{} of {migratetype} ({frame})", block(pfn, order)),
                );
                if let FrameKnowledge::Cached { .. } = frame {
                    self.k.uncache(z, pfn);
                    self.k.set_frame(pfn, FrameKnowledge::Taken(order));
                }
                self.refute(pfn);
            }
        }
        self.taken(cpu, z, pfn, order, migratetype, percpu_refill, alone);
    }

    /// A block left the free lists: to the per-CPU list that is being refilled, or to its new
    /// owner.
    #[expect(clippy::too_many_arguments, reason = "the fields of one event and its surroundings")]
    pub(super) fn taken(
        &mut self,
        cpu: usize,
        z: usize,
        pfn: Pfn,
        order: Order,
        migratetype: MigrateType,
        percpu_refill: bool,
        alone: bool,
    ) {
        self.note_taken(z);
        let run = Taking { z, order, migratetype, refill: true };
        let goes_on = self.cpus[cpu].taking == Some(run);
        // A single take that is handed out at once while the list holds pages is one that went
        // past the per-CPU list: its lock was busy.
        let list_holds = !matches!(self.k.predict_pop(cpu, z, order, migratetype), Answer::Nothing)
            && !self.k.may_hold_unknown(cpu, z, order, migratetype);
        let refill = percpu_refill && (goes_on || !(alone && list_holds));
        self.cpus[cpu].taking = Some(Taking { refill, ..run });
        if !refill {
            self.k.set_frame(pfn, FrameKnowledge::Taken(order));
            return;
        }
        if !goes_on {
            let left = self.k.prove_empty(cpu, z, order, migratetype);
            if !left.is_empty() {
                self.left_untraced(cpu, z, order, left.len());
                self.infer(
                    Kind::PcpAlloc,
                    z,
                    "only an empty list is refilled (§2.4); its blocks must have left untraced",
                    order,
                    format!("a refill with {}", block(pfn, order)),
                    &left,
                );
            }
        }
        self.amount_of_refill(cpu, run, goes_on, pfn);
        self.k.cache_refilled(cpu, z, pfn, order, migratetype);
    }

    /// What the next event on the CPU of this take tells: a fallback moved a pageblock's blocks
    /// just before.
    fn claim_ahead<R: BufRead>(&mut self, cpu: usize, z: usize, pfn: Pfn, window: &Window<R>) {
        let Some(next) = window.ahead_on(cpu as u16, 0) else { return };
        if let Payload::Kmem(event @ KmemEvent::ExtFrag { pfn: p, .. }) = next.payload
            && p == pfn
        {
            self.claim_before_take(cpu, z, event);
        }
    }
}
