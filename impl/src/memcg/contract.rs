//! The specification's trait for handles: `&Memcg`, `OwnedMemcg`, `&OwnedMemcg`.

#[cfg(feature = "std")]
use super::OwnedMemcg;
use super::{Memcg, Running};
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{MemcgCall, MemcgError, MemcgReply, MemcgStep, MemoryCgroups},
    vocab::{CounterKind, CpuId, MemcgEvent, MemcgId, MemcgRules, MemcgState, StockState},
};

/// Methods of the trait by the groups' methods of the same names.
macro_rules! by_name {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)+) => {
        $(
            fn $name(&mut self, $($arg: $type),*) $(-> $result)? {
                Memcg::$name(self, $($arg),*)
            }
        )+
    };
}

/// Implement the trait for a handle type.
macro_rules! handle {
    ([$($generics:tt)*] $handle:ty) => {
        impl<$($generics)*> MemoryCgroups for $handle {
            type Running = Running;

            by_name! {
                create(parent: MemcgId) -> Result<MemcgId, MemcgError>;
                offline(cpu: CpuId, memcg: MemcgId) -> Result<(), MemcgError>;
                begin(cpu: CpuId, call: MemcgCall) -> (Running, MemcgStep);
                go_on(running: &mut Running, reply: MemcgReply) -> MemcgStep;
                uncharge(memcg: MemcgId, pages: u32);
                refill(cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool);
                charge_replacement(memcg: MemcgId, pages: u32);
                uncharge_object(cpu: CpuId, objcg: MemcgId, bytes: u32, nested: bool);
                uncharge_kernel_pages(objcg: MemcgId, pages: u32);
                set_min(memcg: MemcgId, pages: u64) -> Result<(), MemcgError>;
                set_low(memcg: MemcgId, pages: u64) -> Result<(), MemcgError>;
                set_max_v1(memcg: MemcgId, kind: CounterKind, pages: u64) -> Result<(), MemcgError>;
                charge_swap(memcg: MemcgId, pages: u32) -> Result<MemcgId, MemcgError>;
                uncharge_swap(memcg: MemcgId, pages: u32);
                drain_all_stock(cpu: CpuId, root: MemcgId);
                run_stock_work(cpu: CpuId) -> bool;
                stock_cpu_dead(cpu: CpuId);
                raise(memcg: MemcgId, event: MemcgEvent);
                protection(root: MemcgId, memcg: MemcgId) -> (u64, u64);
                open_peak(memcg: MemcgId) -> u32;
                reset_peak(handle: u32);
                close_peak(handle: u32);
            }

            fn read_peak(&self, handle: u32) -> u64 {
                Memcg::read_peak(self, handle)
            }

            fn memcg_rules(&self) -> MemcgRules {
                self.rules()
            }

            fn memcg_count(&self) -> usize {
                self.count()
            }

            fn memcg_state(&self, memcg: MemcgId) -> MemcgState {
                self.state(memcg)
            }

            fn stock_state(&self, cpu: CpuId) -> StockState {
                Memcg::stock_state(self, cpu)
            }
        }
    };
}

handle!([P: Platform, B: Backing] &Memcg<P, B>);
#[cfg(feature = "std")]
handle!([P: Platform] OwnedMemcg<P>);
#[cfg(feature = "std")]
handle!([P: Platform] &OwnedMemcg<P>);
