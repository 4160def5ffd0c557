//! A process whose every allocation comes from the slab heap: threads, collections, storms of
//! realloc.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // Calls the allocator itself, and uses what it gives.

use mmspec_impl::{heap::SlabHeap, slab::KMALLOC_SIZES};
use mmspec_model::vocab::SlabStat;
use std::{
    alloc::{GlobalAlloc, Layout},
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, mpsc},
    thread,
};

#[global_allocator]
static HEAP: SlabHeap = SlabHeap::with_arena(1 << 30);

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// An allocation that knows what its bytes must be.
struct Piece {
    at: *mut u8,
    layout: Layout,
    tag: u8,
}

// SAFETY: the piece owns its memory.
unsafe impl Send for Piece {}

impl Piece {
    fn new(layout: Layout, tag: u8, zeroed: bool) -> Self {
        // SAFETY: no layout here has size 0.
        let at = unsafe { if zeroed { HEAP.alloc_zeroed(layout) } else { HEAP.alloc(layout) } };
        assert!(!at.is_null() && at.addr().is_multiple_of(layout.align()), "{layout:?} at {at:p}");
        let piece = Self { at, layout, tag };
        if zeroed {
            assert!(piece.bytes().iter().all(|byte| *byte == 0), "{layout:?} is not zeroed");
        }
        piece.fill();
        piece
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is the piece's own, and was written or zeroed.
        unsafe { core::slice::from_raw_parts(self.at, self.layout.size()) }
    }

    fn fill(&self) {
        // SAFETY: as above.
        unsafe { self.at.write_bytes(self.tag, self.layout.size()) };
    }

    fn check(&self) {
        let bytes = self.bytes();
        // All of the small ones, of the large ones the ends and some between.
        let step = (bytes.len() / 4096).max(1);
        let whole = bytes.iter().step_by(step).chain(bytes.last()).all(|byte| *byte == self.tag);
        assert!(whole, "{:?} was written over", self.layout);
    }

    fn resize(&mut self, size: usize) {
        self.check();
        let kept = size.min(self.layout.size());
        // SAFETY: the piece's own memory with its layout; the size is not 0.
        let at = unsafe { HEAP.realloc(self.at, self.layout, size) };
        assert!(!at.is_null() && at.addr().is_multiple_of(self.layout.align()));
        self.at = at;
        self.layout = Layout::from_size_align(kept, self.layout.align()).unwrap();
        self.check();
        self.layout = Layout::from_size_align(size, self.layout.align()).unwrap();
        self.fill();
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.check();
        // SAFETY: the piece's own memory with its layout.
        unsafe { HEAP.dealloc(self.at, self.layout) };
    }
}

fn layout(random: &mut Random) -> Layout {
    let size = match random.below(20) {
        0 => 1 + random.below(6 << 20),
        1..4 => 1 + random.below(100_000),
        4..8 => 1 + random.below(9000),
        _ => 1 + random.below(600),
    };
    let align = match random.below(12) {
        0 => 1 << random.below(14),
        1..4 => 16,
        _ => 1 << random.below(4),
    };
    Layout::from_size_align(size, align).unwrap()
}

fn churn(seed: u64, steps: usize, mut swap: impl FnMut(Piece) -> Option<Piece>) {
    let mut random = Random(seed);
    let mut held: Vec<Piece> = Vec::new();
    for step in 0..steps {
        match random.below(10) {
            0..5 if held.len() < 300 => {
                held.push(Piece::new(layout(&mut random), step as u8, random.below(3) == 0));
            }
            0..7 if !held.is_empty() => {
                let at = random.below(held.len());
                held[at].resize(layout(&mut random).size());
            }
            7 if !held.is_empty() => {
                let at = random.below(held.len());
                let given = held.swap_remove(at);
                held.extend(swap(given));
            }
            _ if !held.is_empty() => drop(held.swap_remove(random.below(held.len()))),
            _ => {}
        }
    }
}

#[test]
fn pieces_of_all_sizes_keep_their_bytes() {
    churn(0x1234_5678_9abc, 20_000, Some);
}

#[test]
fn threads_hand_pieces_to_each_other() {
    let exchange = Arc::new(Mutex::new(VecDeque::new()));
    let threads: Vec<_> = (0..6_u64)
        .map(|at| {
            let exchange = exchange.clone();
            thread::spawn(move || {
                churn(0x9876_5432 + at * 7919, 6_000, |piece| {
                    let mut exchange = exchange.lock().unwrap();
                    exchange.push_back(piece);
                    (exchange.len() > 20).then(|| exchange.pop_front()).flatten()
                });
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn collections_work() {
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            thread::spawn(move || {
                let mut map = HashMap::new();
                let mut tree = BTreeMap::new();
                for at in 0..20_000_u64 {
                    map.insert(at, format!("{worker}: {at}"));
                    tree.insert(at.wrapping_mul(0x9E37_79B9) % 65_521, vec![at; at as usize % 50]);
                    if at % 3 == 0 {
                        map.remove(&(at / 2));
                    }
                }
                assert!(map.iter().all(|(at, text)| *text == format!("{worker}: {at}")));
                tree.values().map(Vec::len).sum::<usize>()
            })
        })
        .collect();
    let sums: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    assert!(sums.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn vectors_grow_and_shrink() {
    let mut all: Vec<Vec<u32>> = vec![Vec::new(); 50];
    for at in 0..200_000_u32 {
        all[at as usize % 50].push(at);
    }
    for (at, vector) in all.iter_mut().enumerate() {
        assert!(vector.iter().enumerate().all(|(turn, value)| *value == (turn * 50 + at) as u32));
        vector.truncate(3);
        vector.shrink_to_fit();
        assert_eq!(vector.len(), 3);
    }
}

/// More threads than CPUs of the heap, many of them short.
#[test]
fn more_threads_than_cpus() {
    for _ in 0..3 {
        let (sender, receiver) = mpsc::channel();
        let threads: Vec<_> = (0..70_u64)
            .map(|at| {
                let sender = sender.clone();
                thread::spawn(move || {
                    let texts: Vec<String> = (0..50).map(|line| format!("{at} {line}")).collect();
                    sender.send(texts).unwrap();
                })
            })
            .collect();
        drop(sender);
        assert_eq!(receiver.iter().map(|texts| texts.len()).sum::<usize>(), 70 * 50);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn allocations_are_of_their_classes() {
    let boxed = Box::new([0_u8; 100]);
    assert!(HEAP.owns(boxed.as_ptr()));
    // Above the largest block: a mapping, which may grow where it is.
    let mut large = vec![1_u8; 5 << 20];
    assert!(!HEAP.owns(large.as_ptr()));
    large.resize(50 << 20, 2);
    assert_eq!((large[0], large[(5 << 20) - 1], large[5 << 20]), (1, 1, 2));
    let block = vec![7_u8; 1 << 20];
    assert!(HEAP.owns(block.as_ptr()) && block.as_ptr().addr().is_multiple_of(1 << 20));
    let class = KMALLOC_SIZES.iter().position(|size| *size == 128).unwrap();
    assert!(
        HEAP.stat(class, SlabStat::AllocFastpath) + HEAP.stat(class, SlabStat::AllocSlowpath) > 0
    );
    HEAP.shrink();
    assert!(HEAP.slab_bytes() > 0 && HEAP.free_bytes() > 0);
}

/// With a small arena all goes on in mappings when it is used up.
#[test]
fn an_arena_may_be_used_up() {
    static SMALL: SlabHeap = SlabHeap::with_arena(8 << 20);
    let layouts = [1000, 5000, 3 << 20].map(|size| Layout::from_size_align(size, 16).unwrap());
    let mut held = Vec::new();
    for _ in 0..4000 {
        for layout in &layouts[..2] {
            // SAFETY: the size is not 0.
            let at = unsafe { SMALL.alloc(*layout) };
            assert!(!at.is_null());
            // SAFETY: just allocated.
            unsafe { at.write_bytes(3, layout.size()) };
            held.push((at, *layout));
        }
    }
    assert!(held.iter().any(|(at, _)| !SMALL.owns(*at)));
    // SAFETY: the size is not 0.
    let large = unsafe { SMALL.alloc(layouts[2]) };
    assert!(!large.is_null() && !SMALL.owns(large));
    held.push((large, layouts[2]));
    for (at, layout) in held {
        // SAFETY: allocated above with this layout.
        unsafe { SMALL.dealloc(at, layout) };
    }
    SMALL.shrink();
    assert_eq!(SMALL.slab_bytes(), 0);
}
