//! The contract.

use super::{Counter, Group, MemcgId, Peak, Reference, Running};
use crate::contract::{MemcgCall, MemcgError, MemcgReply, MemcgStep, MemoryCgroups};
use crate::vocab::{
    CounterKind, CpuId, MAX_MEMCGS, MemcgEvent, MemcgRules, MemcgState, PAGE_COUNTER_MAX,
    PageCounterState, StockState,
};

fn shown(counter: &Counter) -> PageCounterState {
    PageCounterState {
        usage: counter.used(),
        max: counter.max,
        min: counter.min,
        low: counter.low,
        high: counter.high,
        min_usage: counter.min_usage,
        low_usage: counter.low_usage,
        children_min_usage: counter.children_min_usage,
        children_low_usage: counter.children_low_usage,
        emin: counter.emin,
        elow: counter.elow,
        watermark: counter.watermark,
        local_watermark: counter.local_watermark,
        failcnt: counter.failcnt,
    }
}

impl MemoryCgroups for Reference {
    type Running = Running;

    fn memcg_rules(&self) -> MemcgRules {
        self.rules
    }

    fn create(&mut self, parent: MemcgId) -> Result<MemcgId, MemcgError> {
        if !self.online(parent) {
            return Err(MemcgError::NoGroup);
        }
        if self.tree.0.len() >= MAX_MEMCGS {
            return Err(MemcgError::TooMany);
        }
        let memcg = MemcgId(self.tree.0.len() as u16);
        self.tree.0.push(Group::new(memcg, Some(parent)));
        self.hold(parent, 1);
        Ok(memcg)
    }

    fn offline(&mut self, cpu: CpuId, memcg: MemcgId) -> Result<(), MemcgError> {
        if !self.online(memcg) {
            return Err(MemcgError::NoGroup);
        }
        let Some(parent) = self.tree.group(memcg).parent else { return Err(MemcgError::Root) };
        if self.tree.0.iter().any(|group| group.online && group.parent == Some(memcg)) {
            return Err(MemcgError::Busy);
        }
        self.tree.group_mut(memcg).memory.min = 0;
        self.tree.group_mut(memcg).memory.low = 0;
        self.tree.claim_anew(memcg);
        // Its own objcg and those that it inherited.
        for group in &mut self.tree.0 {
            if group.objcg_owner == memcg {
                group.objcg_owner = parent;
            }
        }
        self.drain_stocks(cpu, memcg);
        self.tree.group_mut(memcg).online = false;
        self.end_objcg(memcg);
        // Nothing may be left that keeps it.
        self.release(memcg, 0);
        Ok(())
    }

    fn begin(&mut self, cpu: CpuId, call: MemcgCall) -> (Running, MemcgStep) {
        let mut running = Running(self.state_of(cpu, call));
        let step = self.step(&mut running, None);
        (running, step)
    }

    fn go_on(&mut self, running: &mut Running, reply: MemcgReply) -> MemcgStep {
        self.step(running, Some(reply))
    }

    fn uncharge(&mut self, memcg: MemcgId, pages: u32) {
        if memcg != MemcgId::ROOT {
            self.tree.uncharge_walk(CounterKind::Memory, memcg, u64::from(pages));
            self.release(memcg, u64::from(pages));
        }
    }

    fn refill(&mut self, cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool) {
        if memcg != MemcgId::ROOT {
            self.refill_stock(cpu, memcg, pages, nested);
            self.release(memcg, u64::from(pages));
        }
    }

    fn charge_replacement(&mut self, memcg: MemcgId, pages: u32) {
        if memcg != MemcgId::ROOT {
            self.tree.charge_forced(CounterKind::Memory, memcg, u64::from(pages));
            self.hold(memcg, u64::from(pages));
        }
    }

    fn uncharge_object(&mut self, cpu: CpuId, objcg: MemcgId, bytes: u32, nested: bool) {
        self.refill_bytes(cpu, objcg, bytes, true, nested);
        self.release_objcg(objcg, 1);
    }

    fn uncharge_kernel_pages(&mut self, objcg: MemcgId, pages: u32) {
        self.uncharge_of_objcg(objcg, pages);
        self.release_objcg(objcg, u64::from(pages));
    }

    fn set_min(&mut self, memcg: MemcgId, pages: u64) -> Result<(), MemcgError> {
        self.set_protection(memcg, |counter| counter.min = pages.min(PAGE_COUNTER_MAX))
    }

    fn set_low(&mut self, memcg: MemcgId, pages: u64) -> Result<(), MemcgError> {
        self.set_protection(memcg, |counter| counter.low = pages.min(PAGE_COUNTER_MAX))
    }

    fn set_max_v1(
        &mut self,
        memcg: MemcgId,
        kind: CounterKind,
        pages: u64,
    ) -> Result<(), MemcgError> {
        if !self.online(memcg) {
            return Err(MemcgError::NoGroup);
        }
        if memcg == MemcgId::ROOT {
            return Err(MemcgError::Root);
        }
        let counter = self.tree.counter_mut(memcg, kind);
        if counter.used() > pages {
            return Err(MemcgError::Busy);
        }
        counter.max = pages.min(PAGE_COUNTER_MAX);
        Ok(())
    }

    fn charge_swap(&mut self, memcg: MemcgId, pages: u32) -> Result<MemcgId, MemcgError> {
        if !self.known(memcg) {
            return Err(MemcgError::NoGroup);
        }
        let levels = self.tree.levels(memcg);
        let target = levels.into_iter().find(|level| self.online(*level)).unwrap_or(MemcgId::ROOT);
        if target == MemcgId::ROOT {
            return Ok(target);
        }
        self.tree
            .try_charge(CounterKind::Swap, target, u64::from(pages))
            .map_err(MemcgError::Limit)?;
        self.hold(target, u64::from(pages));
        Ok(target)
    }

    fn uncharge_swap(&mut self, memcg: MemcgId, pages: u32) {
        if memcg != MemcgId::ROOT {
            self.tree.uncharge_walk(CounterKind::Swap, memcg, u64::from(pages));
            self.release(memcg, u64::from(pages));
        }
    }

    fn drain_all_stock(&mut self, cpu: CpuId, root: MemcgId) {
        self.drain_stocks(cpu, root);
    }

    fn run_stock_work(&mut self, cpu: CpuId) -> bool {
        self.stock_work(cpu)
    }

    fn stock_cpu_dead(&mut self, cpu: CpuId) {
        self.cpu_dead(cpu);
    }

    fn raise(&mut self, memcg: MemcgId, event: MemcgEvent) {
        self.raise_event(memcg, event);
    }

    fn protection(&mut self, root: MemcgId, memcg: MemcgId) -> (u64, u64) {
        self.effective(root, memcg)
    }

    fn open_peak(&mut self, memcg: MemcgId) -> u32 {
        let peak = Peak { memcg, open: true, local: None };
        if let Some(at) = self.peaks.iter().position(|peak| !peak.open) {
            self.peaks[at] = peak;
            return at as u32;
        }
        self.peaks.push(peak);
        self.peaks.len() as u32 - 1
    }

    fn reset_peak(&mut self, handle: u32) {
        let memcg = self.peaks[handle as usize].memcg;
        let usage = self.tree.group(memcg).memory.used();
        self.tree.group_mut(memcg).memory.local_watermark = usage;
        for (at, peak) in self.peaks.iter_mut().enumerate() {
            if at == handle as usize {
                peak.local = Some(usage);
            } else if peak.open && peak.memcg == memcg {
                peak.local = peak.local.map(|value| value.max(usage));
            }
        }
    }

    fn read_peak(&self, handle: u32) -> u64 {
        let peak = &self.peaks[handle as usize];
        let counter = &self.tree.group(peak.memcg).memory;
        peak.local.map_or(counter.watermark, |value| value.max(counter.local_watermark))
    }

    fn close_peak(&mut self, handle: u32) {
        self.peaks[handle as usize].open = false;
    }

    fn memcg_count(&self) -> usize {
        self.tree.0.len()
    }

    fn memcg_state(&self, memcg: MemcgId) -> MemcgState {
        let group = self.tree.group(memcg);
        MemcgState {
            parent: group.parent,
            online: group.online,
            memory: shown(&group.memory),
            swap: shown(&group.swap),
            local: group.local,
            events: group.events,
            kernel: group.kernel,
            references: group.references,
            charged_bytes: group.charged_bytes,
            objcg_owner: group.objcg_owner,
        }
    }

    fn stock_state(&self, cpu: CpuId) -> StockState {
        self.stock(cpu).shown(cpu)
    }
}
