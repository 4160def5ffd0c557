//! The slab heap and its peers under the same loads, in one process.
//!
//! `cargo run --release -- [rounds] [load] [heap]`: only loads and heaps with that word in
//! their name run. In every round each heap runs for a slice in turn; threads are timed by their own clocks, so that other work on
//! the machine does not count. Ratios are medians over rounds against mimalloc of the same round.

mod heaps;
mod loads;

use heaps::{HEAPS, Heap};
use std::hint::black_box;

/// One load: its name, and nanoseconds a unit on a heap.
type Load = (&'static str, fn(&'static dyn Heap) -> f64);

const LOADS: [Load; 13] = [
    ("hot pair, 64 B", |heap| loads::hot(heap, 64)),
    ("hot pair, 256 B", |heap| loads::hot(heap, 256)),
    ("hot pair, 1024 B", |heap| loads::hot(heap, 1024)),
    ("hot pair, 4096 B", |heap| loads::hot(heap, 4096)),
    ("bulk of 20,000 freed at random, 64 B; a pair", |heap| loads::bulk(heap, 64)),
    ("bulk of 20,000 freed at random, 256 B; a pair", |heap| loads::bulk(heap, 256)),
    ("bulk of 20,000 freed at random, 1024 B; a pair", |heap| loads::bulk(heap, 1024)),
    ("mixed sizes 8 to 2048, 1000 held; a pair", |heap| loads::mixed(heap)),
    ("2 threads: hot pair, 64 B; and thread", |heap| loads::two_hot(heap, 64)),
    ("2 threads: hot pair, 256 B; and thread", |heap| loads::two_hot(heap, 256)),
    ("2 threads: bulk, 256 B; a pair and thread", |heap| loads::two_bulk(heap, 256)),
    ("2 threads: one allocates, the other frees, 64 B; an object", |heap| loads::remote(heap, 64)),
    ("2 threads: one allocates, the other frees, 256 B; an object", |heap| {
        loads::remote(heap, 256)
    }),
];

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let words = || std::env::args().skip(1);
    let rounds: usize = words().find_map(|word| word.parse().ok()).unwrap_or(9);
    let mut names = words().filter(|word| word.parse::<usize>().is_err());
    let (wanted, only) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let heaps: Vec<_> = HEAPS.iter().filter(|heap| heap.0.contains(&only)).collect();
    let base = heaps.iter().position(|heap| heap.0 == "mimalloc").unwrap_or(0);
    println!("{rounds} rounds; ns: median (least to most), x: median ratio to mimalloc");
    for (name, load) in LOADS.iter().filter(|(name, _)| name.contains(&wanted)) {
        println!("\n{name}");
        let mut ns = vec![Vec::new(); heaps.len()];
        for round in 0..rounds {
            for at in 0..heaps.len() {
                // A different one leads in every round.
                let at = (at + round) % heaps.len();
                ns[at].push(black_box(load(heaps[at].1)));
            }
        }
        for (at, (heap, _)) in heaps.iter().enumerate() {
            let mut ratios: Vec<f64> =
                ns[at].iter().zip(&ns[base]).map(|(ours, base)| ours / base).collect();
            let ratio = median(&mut ratios);
            let mut sorted = ns[at].clone();
            let middle = median(&mut sorted);
            let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
            println!("  {heap:<20} {middle:>7.1} ({least:.1} to {most:.1})  x{ratio:.2}");
        }
    }
}
