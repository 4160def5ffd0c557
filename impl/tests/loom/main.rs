//! The locks, and the counters of memory cgroups, under loom: every interleaving and every reordering that the memory model allows, within
//! a bound on preemptions. It is the lock code of `src/platform` itself, included here over loom's
//! atomics; beside it the same code with weaker orderings, which must go red.
//!
//! `just loom`, or `RUSTFLAGS="--cfg loom" cargo test -p mmspec-impl --test loom --release`.
#![cfg(loom)]
#![allow(dead_code, unreachable_pub, missing_docs, missing_debug_implementations)]
#![allow(unsafe_code, unused_imports, reason = "the locks' code, and some of it in each variant")]

mod as_built;
mod memcg;
mod models;
mod no_barrier;
mod no_owner_fence;
mod shim;
mod weak_acquire;
mod weak_release;

macro_rules! hold {
    ($($model:ident),+ $(,)?) => {
        $(
            #[test]
            fn $model() {
                as_built::$model();
            }
        )+
    };
}

hold!(
    spin_holders_take_turns,
    the_owner_and_a_remote_holder_take_turns,
    rival_owners_take_turns,
    three_sides_take_turns,
    pages_change_hands_whole,
    settings_are_seen_whole,
    hints_are_made_good_under_the_lock,
);

/// The model must end in the very panic with which loom tells of unordered accesses.
macro_rules! red {
    ($($name:ident: $variant:ident, $model:ident;)+) => {
        $(
            #[test]
            #[should_panic(expected = "Causality violation")]
            fn $name() {
                $variant::$model();
            }
        )+
    };
}

red! {
    a_relaxed_acquire_is_seen: weak_acquire, spin_holders_take_turns;
    a_relaxed_acquire_is_seen_in_settings: weak_acquire, settings_are_seen_whole;
    a_relaxed_release_is_seen: weak_release, spin_holders_take_turns;
    a_relaxed_release_is_seen_in_page_moves: weak_release, pages_change_hands_whole;
    an_owner_without_order_is_seen: no_owner_fence, the_owner_and_a_remote_holder_take_turns;
    a_missing_barrier_is_seen: no_barrier, the_owner_and_a_remote_holder_take_turns;
    a_missing_barrier_is_seen_by_rivals: no_barrier, rival_owners_take_turns;
}

#[test]
fn a_charge_and_a_lower_limit_see_each_other() {
    memcg::a_charge_and_a_lower_limit::<memcg::OneOrder>();
}

#[test]
#[should_panic(expected = "charged over a limit that was accepted")]
fn a_charge_without_one_order_is_seen() {
    memcg::a_charge_and_a_lower_limit::<memcg::AcquireRelease>();
}

#[test]
fn charges_keep_to_the_limit() {
    memcg::charges_keep_to_the_limit::<memcg::OneOrder>();
}
