//! One attempt at a zonelist, zone by zone (page_alloc.md §4.1 to §4.3).

use super::{class::Class, fair::FairStep};
use crate::{
    allocator::PageAllocator,
    pcp::{Count, Want},
    platform::Platform,
    slow::flags::in_scope,
    storage::Backing,
    zone::{Check, Zone},
    zonelist::{Cursor, Entry, Next},
};
use mmspec_model::{
    contract::{Outcome, Refusal, Request},
    vocab::{AllocFlags, CpuId, FairPolicy, Gfp, Mark, NodeId, NodeMask, ZoneFlags, ZoneKind},
};

/// A request with everything decided that does not depend on the zone tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) want: Want,
    pub(crate) gfp: Gfp,
    pub(crate) mark: Mark,
    /// Zones of higher kinds are passed over.
    pub(crate) highest: ZoneKind,
    /// The kind whose `lowmem_reserve` entry checks mind.
    pub(crate) classzone: ZoneKind,
    /// Whose list it is.
    pub(crate) node: NodeId,
    /// Zones of other nodes are passed over.
    pub(crate) nodes: NodeMask,
    /// And of nodes out of this set, with the CPUSET flag.
    pub(crate) mems: NodeMask,
    /// ALLOC_FAIR.
    pub(crate) fair: bool,
    pub(crate) preferred: Entry,
    /// The place of the preferred zone: every scan begins there.
    first: Cursor,
}

impl Attempt {
    /// A check of a zone for this attempt.
    #[inline]
    pub(crate) fn check(&self, mark: Mark) -> Check {
        let (order, flags) = (self.want.order, self.want.flags);
        Check { order, mark, extra: 0, highest: self.classzone, flags }
    }

    /// Whether the scan passes over a zone without looking at it.
    pub(super) fn passes_over(&self, entry: Entry) -> bool {
        entry.kind > self.highest
            || !self.nodes.contains(entry.node)
            || (self.want.flags.contains(AllocFlags::CPUSET) && !self.mems.contains(entry.node))
    }

    /// Where scans begin.
    pub(super) fn start(&self) -> Cursor {
        self.first
    }

    /// The rebuild of the zonelists that the attempt goes by.
    pub(crate) fn zonelist_cookie(&self) -> u64 {
        self.first.sequence
    }
}

/// What one scan has seen and how the next one goes.
#[derive(Clone, Copy, Debug)]
struct Scan {
    /// Pass over nodes whose kswapd is awake.
    avoid_awake: bool,
    skipped_awake: bool,
    /// Zones passed over by the fair pass because their batch is used up.
    skipped_fair: bool,
}

/// How a scan ended without a page.
enum Ended {
    /// At the end of the list, or where the fair pass stops.
    Over,
    /// Begin again at the preferred zone: the attempt changed.
    Again,
    /// The zonelists changed.
    Changed,
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// The first zone of a list that a request with zones up to `highest` on `nodes` may have.
    pub(crate) fn first_zone(
        &self,
        node: NodeId,
        this_node: bool,
        highest: ZoneKind,
        nodes: NodeMask,
    ) -> Option<(Cursor, Entry)> {
        'list: loop {
            let mut cursor = self.list_start(node, this_node);
            loop {
                let here = cursor;
                match self.next_entry(&mut cursor) {
                    Next::Entry(entry) if entry.kind <= highest && nodes.contains(entry.node) => {
                        return Some((here, entry));
                    }
                    Next::Entry(_) => {}
                    Next::End => return None,
                    Next::Changed => continue 'list,
                }
            }
        }
    }

    /// Decide flags, type and preferred zone of a first attempt (or of the one that the request
    /// describes), or refuse.
    pub(crate) fn prepare(&self, cpu: CpuId, request: &Request) -> Result<Attempt, Refusal> {
        let Request { order, task, .. } = *request;
        let gfp = in_scope(request.gfp, task.flags);
        let mut nodes = request.nodes;
        let mut extra = AllocFlags::empty();
        if request.attempt.is_none() && task.mems != NodeMask::ALL {
            if nodes == NodeMask::ALL {
                nodes = task.mems;
            } else {
                extra = AllocFlags::CPUSET;
            }
        }
        let mut attempt = self.locate(cpu, request, gfp, nodes)?;
        attempt.want.flags |= extra;
        if let Some((mark, flags)) = request.attempt {
            attempt.mark = mark;
            attempt.want.flags = (attempt.want.flags - AllocFlags::NOFRAGMENT) | flags;
        } else {
            attempt.fair = self.is_fair(&attempt);
        }
        debug_assert!(order.get() == attempt.want.order);
        Ok(attempt)
    }

    /// An attempt with the flags of a first one, on a list from its preferred zone on.
    pub(crate) fn locate(
        &self,
        cpu: CpuId,
        request: &Request,
        gfp: Gfp,
        nodes: NodeMask,
    ) -> Result<Attempt, Refusal> {
        let order = request.order;
        if order.get() > self.geometry.max_order {
            return Err(Refusal::OrderTooLarge(order));
        }
        let highest = gfp.highest_zone()?;
        let asked = gfp.migratetype()?;
        let node = request.node.unwrap_or_else(|| self.cpu(cpu).node());
        if node.index() >= self.nr_nodes {
            return Err(Refusal::NoZone);
        }
        let this_node = gfp.contains(Gfp::THISNODE);
        let found = self.first_zone(node, this_node, highest, nodes);
        let (first, preferred) = found.ok_or(Refusal::NoZone)?;
        let class: Class = self.first_class(highest, asked, preferred);
        Ok(Attempt {
            want: class.want(order.get(), gfp),
            gfp,
            mark: Mark::Low,
            highest,
            classzone: class.classzone,
            node,
            nodes,
            mems: request.task.mems,
            fair: false,
            preferred,
            first,
        })
    }

    /// Find the preferred zone again after the zonelists changed; whether there is one.
    pub(crate) fn relocate(&self, attempt: &mut Attempt) -> bool {
        let this_node = attempt.gfp.contains(Gfp::THISNODE);
        let found = self.first_zone(attempt.node, this_node, attempt.highest, attempt.nodes);
        let Some((first, preferred)) = found else { return false };
        (attempt.first, attempt.preferred) = (first, preferred);
        if self.geometry.rules.reserve_index == mmspec_model::vocab::ReserveIndex::Preferred {
            attempt.classzone = preferred.kind;
        }
        true
    }

    /// Try the zones from the preferred one on; again without the rules that kept zones out, each
    /// in its turn. With `failed`, the first scan leaves out the preferred zone.
    pub(crate) fn get_page(&self, cpu: CpuId, attempt: &mut Attempt, failed: bool) -> Outcome {
        let mut left_out = failed.then_some(attempt.preferred.zone);
        let asked = *attempt;
        let mut scan = self.new_scan();
        loop {
            (scan.skipped_awake, scan.skipped_fair) = (false, false);
            match self.scan(cpu, attempt, &mut scan, &mut left_out) {
                Ok((frame, zone)) => {
                    self.took(cpu, attempt, zone);
                    return Outcome::Page(self.geometry.pfn(frame));
                }
                Err(Ended::Again) => {}
                Err(Ended::Changed) => {
                    *attempt = asked;
                    scan = self.new_scan();
                    if !self.relocate(attempt) {
                        return Outcome::SlowPath;
                    }
                }
                Err(Ended::Over) => {
                    if !self.scans_again(cpu, attempt, &mut scan) {
                        return Outcome::SlowPath;
                    }
                }
            }
        }
    }

    fn new_scan(&self) -> Scan {
        Scan {
            avoid_awake: self.geometry.rules.avoid_awake_nodes && self.nr_nodes > 1,
            skipped_awake: false,
            skipped_fair: false,
        }
    }

    /// Give up one of the rules that keep zones out, after a scan without a page. False if there is
    /// none left.
    fn scans_again(&self, cpu: CpuId, attempt: &mut Attempt, scan: &mut Scan) -> bool {
        if attempt.fair {
            attempt.fair = false;
            if self.ends_fair_pass(cpu, attempt, scan.skipped_fair) {
                return true;
            }
        }
        if scan.avoid_awake && scan.skipped_awake {
            scan.avoid_awake = false;
            return true;
        }
        let mixes = !attempt.want.flags.contains(AllocFlags::NOFRAGMENT);
        attempt.want.flags -= AllocFlags::NOFRAGMENT;
        !mixes
    }

    /// One scan; a block and its zone.
    fn scan(
        &self,
        cpu: CpuId,
        attempt: &mut Attempt,
        scan: &mut Scan,
        left_out: &mut Option<usize>,
    ) -> Result<(u32, Entry), Ended> {
        let counts = self.geometry.rules.fair_policy != FairPolicy::None;
        let mut cursor = attempt.first;
        loop {
            let entry = match self.next_entry(&mut cursor) {
                Next::Entry(entry) => entry,
                Next::End => return Err(Ended::Over),
                Next::Changed => return Err(Ended::Changed),
            };
            if attempt.passes_over(entry) {
                continue;
            }
            let zone = self.zone(entry.zone);
            if counts {
                self.cpu(cpu).count(Count::ZonesScanned);
            }
            if attempt.fair {
                match self.fair_step(cpu, attempt, entry, &mut scan.skipped_fair) {
                    FairStep::Look => {}
                    FairStep::Skip => continue,
                    FairStep::Stop => return Err(Ended::Over),
                    FairStep::LookUnfairly => attempt.fair = false,
                }
            }
            let remote = entry.node != attempt.preferred.node;
            if remote && attempt.want.flags.contains(AllocFlags::NOFRAGMENT) {
                // Better mixed at home than unmixed elsewhere.
                attempt.want.flags -= AllocFlags::NOFRAGMENT;
                return Err(Ended::Again);
            }
            if scan.avoid_awake && self.node(entry.node).is_awake() {
                scan.skipped_awake = true;
                continue;
            }
            if left_out.take_if(|zone| *zone == entry.zone).is_some()
                || !self.may_take(zone, attempt)
            {
                continue;
            }
            if let Some(frame) = self.rmqueue(cpu, entry.zone, attempt.want) {
                return Ok((frame, entry));
            }
        }
    }

    /// Book an operation that took a block from the zone of `entry` (page_alloc.md §6.1, §5.1).
    fn took(&self, cpu: CpuId, attempt: &Attempt, entry: Entry) {
        self.count_numa(cpu, attempt.preferred, entry);
        if self.geometry.rules.fair_policy != FairPolicy::None {
            self.take_batch(cpu, entry.zone, 1 << attempt.want.order);
        }
    }

    /// Count one hand-out where it is not a hit on the CPU's own node: those follow from the
    /// others.
    pub(crate) fn count_numa(&self, cpu: CpuId, preferred: Entry, served: Entry) {
        let numa = &self.slot(cpu, served.zone).numa;
        if served.node != preferred.node {
            numa.count_miss();
            self.slot(cpu, preferred.zone).numa.count_foreign();
        }
        if served.node != self.cpu(cpu).node() {
            numa.count_other();
        }
    }

    /// Whether the watermarks let the attempt have a zone's pages.
    fn may_take(&self, zone: &Zone<P>, attempt: &Attempt) -> bool {
        let rules = &self.geometry.rules;
        if rules.below_high && !zone.flags().contains(ZoneFlags::BELOW_HIGH) {
            if zone.watermark_fast(rules, &attempt.check(Mark::High), attempt.gfp) {
                return true;
            }
            zone.set_flag(ZoneFlags::BELOW_HIGH);
        }
        zone.watermark_fast(rules, &attempt.check(attempt.mark), attempt.gfp)
            || attempt.want.flags.contains(AllocFlags::NO_WATERMARKS)
    }
}
