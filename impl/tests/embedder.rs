//! The allocator as a kernel uses it: its own slices, plain spin locks.

use mmspec_impl::{
    BlockType, Borrowed, CpuSlot, FrameState, Links, NodeSlot, OwnedAllocator, PageAllocator,
    PcpSlot, SetupError, Spread, Storage, StorageSize, ZoneSlot, ZonelistEntry,
    platform::SpinPlatform,
};
use mmspec_model::{
    contract::{LinuxPolicy, Request},
    vocab::{CpuId, Gfp, Machine, MachineError, Order, Rules, Tunables, ZoneIdx, ZoneKind},
};
use std::vec::Vec;

struct Slices {
    frames: Vec<FrameState>,
    links: Vec<Links>,
    blocks: Vec<BlockType>,
    pcps: Vec<PcpSlot<SpinPlatform>>,
    cpus: Vec<CpuSlot<SpinPlatform>>,
    zones: Vec<ZoneSlot<SpinPlatform>>,
    nodes: Vec<NodeSlot<SpinPlatform>>,
    lists: Vec<ZonelistEntry>,
}

fn many<T: Default>(len: usize) -> Vec<T> {
    (0..len).map(|_| T::default()).collect()
}

impl Slices {
    fn new(size: &StorageSize) -> Self {
        Self {
            frames: many(size.frames),
            links: many(Spread::Apart.records(size.frames)),
            blocks: many(size.blocks),
            pcps: many(size.pcps),
            cpus: many(size.cpus),
            zones: many(size.zones),
            nodes: many(size.nodes),
            lists: many(size.lists),
        }
    }

    fn lend(&mut self) -> Storage<SpinPlatform, Borrowed<'_>> {
        Storage {
            frames: &mut self.frames,
            links: &mut self.links,
            spread: Spread::Apart,
            blocks: &mut self.blocks,
            pcps: &mut self.pcps,
            cpus: &mut self.cpus,
            zones: &mut self.zones,
            nodes: &mut self.nodes,
            lists: &mut self.lists,
        }
    }
}

fn machine() -> Machine {
    Machine::new(
        2,
        &[(ZoneKind::Dma32, 0x8_0000, 0x8_4000), (ZoneKind::Normal, 0x8_4000, 0x9_0123)],
    )
}

/// A fixed run; the frames handed out.
fn run(mut pages: impl LinuxPolicy) -> Vec<u64> {
    let mut frames = Vec::new();
    let mut held = Vec::new();
    for turn in 0..3000_u16 {
        let order = Order::of([0, 0, 1, 3, 4, 9][usize::from(turn) % 6]);
        let gfp = [Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE, Gfp::DMA32][usize::from(turn) % 3];
        if let Some(pfn) = pages.alloc_pages(CpuId(turn % 2), Request::new(order, gfp)).page() {
            frames.push(pfn.0);
            held.push((pfn, order));
        }
        if turn % 3 == 0 {
            let (pfn, order) = held.swap_remove(held.len() / 2);
            pages.free_pages(CpuId(turn / 3 % 2), pfn, order);
        }
    }
    frames.push(pages.zone_state(ZoneIdx(1)).nr_free_pages_exact as u64);
    frames
}

#[test]
fn lent_slices_on_another_platform_give_the_same_frames_even_used_ones() {
    let machine = machine();
    let (rules, tunables) = (Rules::linux_6_12(), Tunables::default());
    let owned: OwnedAllocator = OwnedAllocator::new(machine.as_ref(), rules, tunables).unwrap();
    let expected = run(&owned);
    let size = StorageSize::of(&machine.as_ref());
    assert_eq!((size.base, size.frames), (0x8_0000, 0x1_0123));
    let mut slices = Slices::new(&size);
    for turn in ["fresh", "used"] {
        let pages = PageAllocator::new(machine.as_ref(), rules, tunables, slices.lend()).unwrap();
        assert_eq!(run(&pages), expected, "{turn} slices");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let mut machine = machine();
    let size = StorageSize::of(&machine.as_ref());
    let build = |machine: &Machine, tunables: Tunables, size: &StorageSize| {
        let mut slices = Slices::new(size);
        let storage = slices.lend();
        PageAllocator::new(machine.as_ref(), Rules::linux_6_12(), tunables, storage).err()
    };
    assert_eq!(build(&machine, Tunables::default(), &size), None);
    let short = StorageSize { pcps: size.pcps - 1, ..size };
    assert_eq!(
        build(&machine, Tunables::default(), &short),
        Some(SetupError::Storage { what: "pcps", given: size.pcps - 1, needed: size.pcps })
    );
    let tunables = Tunables { watermark_scale_factor: 0, ..Tunables::default() };
    assert!(matches!(build(&machine, tunables, &size), Some(SetupError::Tunables(_))));
    machine.cpus = 0;
    assert_eq!(
        build(&machine, Tunables::default(), &size),
        Some(SetupError::Machine(MachineError::Cpus(0)))
    );
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "freed twice")]
fn a_debug_build_tells_a_double_free() {
    let pages: OwnedAllocator =
        OwnedAllocator::new(machine().as_ref(), Rules::linux_6_12(), Tunables::default()).unwrap();
    let page = pages.alloc_pages(CpuId(0), Request::new(Order::ZERO, Gfp::KERNEL)).page().unwrap();
    pages.free_pages(CpuId(0), page, Order::ZERO);
    pages.free_pages(CpuId(0), page, Order::ZERO);
}
