//! The switches of [`Rules`] and the allocation flags by name and by number, for text and bytes.

use mmspec_model::contract::TaskFlags;
use mmspec_model::vocab::{
    AllocFlags, DrainLoop, DrainScheme, FairPolicy, Fallback, FreeCheck, FreeListType,
    HighatomicAccess, HighatomicLimit, MarkGaps, MergeRetype, NodeLoad, PcpOrders, PcpTuning,
    ReserveFlags, ReserveIndex, Rules, ThpLists, Vmstat, ZonelistOrder,
};

/// One switch: its name, the names of its values, and how it is read and written by the value's
/// position.
pub(crate) struct Switch {
    /// The field's name.
    pub(crate) name: &'static str,
    /// The values' names.
    pub(crate) values: &'static [&'static str],
    /// The position of the value that `rules` holds.
    pub(crate) get: fn(&Rules) -> usize,
    /// Set the value at a position (below the number of values).
    pub(crate) set: fn(&mut Rules, usize),
}

macro_rules! choice {
    ($field:ident: $($name:literal = $value:expr),+ $(,)?) => {
        Switch {
            name: stringify!($field),
            values: &[$($name),+],
            get: |rules| {
                [$($value),+].iter().position(|known| *known == rules.$field).unwrap_or(0)
            },
            set: |rules, at| rules.$field = [$($value),+][at],
        }
    };
}

macro_rules! toggle {
    ($field:ident) => {
        choice!($field: "off" = false, "on" = true)
    };
}

/// Every field of [`Rules`]. The codec stores positions in this table: append only.
pub(crate) const SWITCHES: [Switch; 38] = [
    choice!(fallback:
        "move_then_retype" = Fallback::MoveThenRetype,
        "whole" = Fallback::Whole,
        "claim_then_steal" = Fallback::ClaimThenSteal),
    choice!(pcp_tuning:
        "free_factor" = PcpTuning::FreeFactor,
        "auto" = PcpTuning::Auto,
        "fixed" = PcpTuning::Fixed),
    choice!(thp_lists:
        "per_type" = ThpLists::PerType,
        "shared" = ThpLists::Shared,
        "movable_or_not" = ThpLists::MovableOrNot),
    choice!(free_list_type:
        "cached" = FreeListType::Cached,
        "pageblock" = FreeListType::Pageblock),
    choice!(merge_retype:
        "never" = MergeRetype::Never,
        "first_block" = MergeRetype::FirstBlock,
        "all_blocks" = MergeRetype::AllBlocks),
    choice!(highatomic_limit:
        "plus_one_block" = HighatomicLimit::PlusOneBlock,
        "rounded_up" = HighatomicLimit::RoundedUp,
        "no_reserve" = HighatomicLimit::NoReserve),
    choice!(highatomic_access:
        "oom" = HighatomicAccess::Oom,
        "oom_or_non_block" = HighatomicAccess::OomOrNonBlock),
    toggle!(highatomic_free_only),
    choice!(reserve_flags:
        "harder" = ReserveFlags::Harder,
        "min_reserve" = ReserveFlags::MinReserve),
    toggle!(free_high_half_min),
    toggle!(direct_free_counted),
    toggle!(direct_free_true_type),
    toggle!(split_large_frees),
    toggle!(refuse_straddling),
    toggle!(below_high),
    choice!(drain_loop: "one_shot" = DrainLoop::OneShot, "bounded" = DrainLoop::Bounded),
    toggle!(batch_may_be_zero),
    toggle!(movable_is_lowmem),
    toggle!(show_promo),
    toggle!(free_pages_blocks),
    choice!(vmstat: "6.1" = Vmstat::V6_1, "6.12" = Vmstat::V6_12, "6.18" = Vmstat::V6_18),
    choice!(drain_scheme: "work_item" = DrainScheme::WorkItem, "remote" = DrainScheme::Remote),
    choice!(pcp_orders: "zero" = PcpOrders::Zero, "to_costly" = PcpOrders::ToCostly),
    choice!(fair_policy:
        "none" = FairPolicy::None,
        "3.16" = FairPolicy::V3_16,
        "draft" = FairPolicy::Draft,
        "3.17" = FairPolicy::V3_17,
        "4.7" = FairPolicy::V4_7),
    choice!(zonelist_order:
        "node" = ZonelistOrder::Node,
        "zone" = ZonelistOrder::Zone,
        "heuristic" = ZonelistOrder::Heuristic),
    choice!(node_load:
        "decreasing" = NodeLoad::Decreasing,
        "on_new_distance" = NodeLoad::OnNewDistance),
    choice!(mark_gaps: "quarters" = MarkGaps::Quarters, "scale_factor" = MarkGaps::ScaleFactor),
    choice!(free_check: "halve_per_order" = FreeCheck::HalvePerOrder, "lists" = FreeCheck::Lists),
    choice!(reserve_index:
        "preferred" = ReserveIndex::Preferred,
        "highest" = ReserveIndex::Highest),
    toggle!(boost),
    toggle!(nofragment),
    toggle!(avoid_awake_nodes),
    toggle!(early_restart),
    toggle!(retry_minds_cpuset),
    toggle!(unreserve_before_oom),
    toggle!(highatomic_needs_high),
    toggle!(kswapd_checks_low),
    toggle!(noretry_minds_skipped),
];

/// The preset that differs least from `rules` (its position), and the positions of the switches
/// that differ.
pub(crate) fn nearest_preset(rules: &Rules) -> (usize, Vec<usize>) {
    let differing = |preset: &Rules| -> Vec<usize> {
        (0..SWITCHES.len())
            .filter(|&at| (SWITCHES[at].get)(preset) != (SWITCHES[at].get)(rules))
            .collect()
    };
    Rules::PRESETS
        .iter()
        .enumerate()
        .map(|(at, (_, preset))| (at, differing(preset)))
        .min_by_key(|(_, differing)| differing.len())
        .unwrap_or((0, Vec::new()))
}

/// Allocation flags by their names in scripts.
pub(crate) const ALLOC_FLAGS: [(&str, AllocFlags); 9] = [
    ("no_watermarks", AllocFlags::NO_WATERMARKS),
    ("oom", AllocFlags::OOM),
    ("non_block", AllocFlags::NON_BLOCK),
    ("min_reserve", AllocFlags::MIN_RESERVE),
    ("cpuset", AllocFlags::CPUSET),
    ("cma", AllocFlags::CMA),
    ("nofragment", AllocFlags::NOFRAGMENT),
    ("highatomic", AllocFlags::HIGHATOMIC),
    ("kswapd", AllocFlags::KSWAPD),
];

/// States of the task by their names in scripts.
pub(crate) const TASK_FLAGS: [(&str, TaskFlags); 8] = [
    ("memalloc", TaskFlags::MEMALLOC),
    ("oom_victim", TaskFlags::OOM_VICTIM),
    ("dying", TaskFlags::DYING),
    ("kthread", TaskFlags::KTHREAD),
    ("realtime", TaskFlags::REALTIME),
    ("noio", TaskFlags::NOIO),
    ("nofs", TaskFlags::NOFS),
    ("pin", TaskFlags::PIN),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_can_be_set_to_every_value() {
        for switch in &SWITCHES {
            for at in 0..switch.values.len() {
                let mut rules = Rules::default();
                (switch.set)(&mut rules, at);
                assert_eq!((switch.get)(&rules), at, "{}", switch.name);
            }
        }
    }

    #[test]
    fn presets_are_their_own_nearest() {
        for (at, (_, rules)) in Rules::PRESETS.iter().enumerate() {
            assert_eq!(nearest_preset(rules), (at, Vec::new()));
        }
    }

    #[test]
    fn the_names_cover_every_allocation_flag() {
        let all = ALLOC_FLAGS.iter().fold(AllocFlags::empty(), |all, (_, flag)| all | *flag);
        assert_eq!(all, AllocFlags::all());
        let all = TASK_FLAGS.iter().fold(TaskFlags::empty(), |all, (_, flag)| all | *flag);
        assert_eq!(all, TaskFlags::all());
    }
}
