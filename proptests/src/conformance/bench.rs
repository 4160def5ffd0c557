//! One script on one allocator of frames.

use super::generate::regions_of;
use super::promise::Promise;
use crate::engine::Finding;
use crate::lawful::Exercised;
use crate::script::{Handle, Op, Script};
use mmspec_model::contract::FrameAllocator;
use mmspec_model::laws::{self, FrameView, Live, LiveBlock, Observation, Step, World};
use mmspec_model::vocab::{Order, Pfn, PfnRange};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Free and managed frames as the allocator counts them.
pub(super) type Counters<'a, A> = Option<&'a dyn Fn(&A) -> (u64, u64)>;

struct Memory {
    max_order: Order,
    regions: Vec<PfnRange>,
}

impl World for Memory {
    fn max_order(&self) -> Order {
        self.max_order
    }

    fn is_managed(&self, pfn: Pfn) -> bool {
        self.regions.iter().any(|region| region.contains(pfn))
    }

    fn managed(&self) -> u64 {
        self.regions.iter().map(PfnRange::len).sum()
    }
}

pub(super) struct Bench<'a, A> {
    promise: &'a Promise,
    memory: Memory,
    live: Live,
    counters: Counters<'a, A>,
    exercised: &'a mut Exercised,
    pub(super) position: &'a Cell<usize>,
}

impl<'a, A: FrameAllocator> Bench<'a, A> {
    pub(super) fn new(
        promise: &'a Promise,
        script: &Script,
        counters: Counters<'a, A>,
        exercised: &'a mut Exercised,
        position: &'a Cell<usize>,
    ) -> Self {
        let memory = Memory { max_order: promise.max_order, regions: regions_of(script) };
        Self { promise, memory, live: Live::default(), counters, exercised, position }
    }

    /// Run and judge; the number of operations.
    pub(super) fn run(
        mut self,
        script: &Script,
        make: &impl Fn(&[PfnRange]) -> A,
    ) -> Result<u64, Finding> {
        let mut allocator = make(&self.memory.regions);
        self.judge(&allocator, &[], None, None)?;
        let mut blocks: BTreeMap<Handle, (Pfn, Order)> = BTreeMap::new();
        let mut operations = 0;
        for (at, op) in script.ops.iter().enumerate() {
            self.position.set(at);
            match op {
                Op::Alloc { request, handle, .. } => {
                    operations += 1;
                    let possible = self.possible(request.order);
                    let answer = allocator.allocate(request.order);
                    let granted: Vec<_> = answer.iter().map(|pfn| (*pfn, request.order)).collect();
                    let asked = Some((request.order, answer.is_some(), possible));
                    self.judge(&allocator, &granted, asked, None)?;
                    if let Some(pfn) = answer {
                        let block = LiveBlock { order: request.order, movable: false };
                        self.live.insert(pfn, block);
                        blocks.insert(*handle, (pfn, request.order));
                    }
                }
                Op::Free { handle, .. } => {
                    let Some((pfn, order)) = blocks.remove(handle) else { continue };
                    operations += 1;
                    self.live.remove(pfn);
                    allocator.free(pfn, order);
                    self.judge(&allocator, &[], None, None)?;
                }
                _ => {}
            }
        }
        for (pfn, order) in blocks.into_values() {
            self.live.remove(pfn);
            allocator.free(pfn, order);
        }
        self.judge(&allocator, &[], None, None)?;
        let fresh = served(&mut make(&self.memory.regions), self.promise, &self.memory);
        let again = served(&mut allocator, self.promise, &self.memory);
        self.judge(&allocator, &[], None, Some((&fresh, &again)))?;
        Ok(operations)
    }

    /// Whether an aligned run of free frames exists, in one region or across those that touch.
    fn possible(&self, order: Order) -> bool {
        if order > self.promise.max_order {
            return false;
        }
        let mut joined: Vec<PfnRange> = Vec::new();
        for region in &self.memory.regions {
            match joined.last_mut() {
                Some(last) if self.promise.across_regions && last.end == region.start => {
                    last.end = region.end;
                }
                _ => joined.push(*region),
            }
        }
        joined.iter().any(|region| {
            let first = region.start.0.next_multiple_of(order.pages());
            (first..region.end.0)
                .step_by(order.pages() as usize)
                .take_while(|start| start + order.pages() <= region.end.0)
                .any(|start| self.live.overlapping(Pfn(start), order).is_none())
        })
    }

    fn judge(
        &mut self,
        allocator: &A,
        granted: &[(Pfn, Order)],
        asked: Option<(Order, bool, bool)>,
        fresh: Option<(&[Order], &[Order])>,
    ) -> Result<(), Finding> {
        // Counters are not compared while the fresh order list is: that emptied the allocator.
        let counters =
            if fresh.is_none() { self.counters.map(|count| count(allocator)) } else { None };
        let observation = Observation {
            world: &self.memory,
            live: &self.live,
            granted,
            step: Step::Other,
            linux: None,
            lists: None,
            frames: Some(FrameView {
                counters,
                asked: asked.map(|(order, served, _)| (order, served)),
                fresh,
                possible: asked.is_some_and(|(_, _, possible)| possible),
            }),
        };
        for law in laws::all().filter(|law| self.promise.levels.contains(&law.level)) {
            let count = self.exercised.entry(law.id).or_default();
            law.judge(&observation, count).map_err(|violation| Finding {
                kind: violation.law.to_owned(),
                what: violation.to_string(),
                at: Some(self.position.get()),
            })?;
        }
        Ok(())
    }
}

/// What an allocator serves from the largest order down until it has nothing left.
fn served<A: FrameAllocator>(allocator: &mut A, promise: &Promise, memory: &Memory) -> Vec<Order> {
    let mut orders = Vec::new();
    let mut frames = 0;
    for order in Order::ZERO.up_to(promise.max_order).rev() {
        // An allocator that serves more than it has is caught by the other laws.
        while frames <= memory.managed() && allocator.allocate(order).is_some() {
            frames += order.pages();
            orders.push(order);
        }
    }
    orders
}
