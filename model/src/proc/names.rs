//! The names of vmstat and zoneinfo, in the order in which each kernel release prints them.
//!
//! They are facts of the recorded builds (Debian's 6.1 and 6.12 kernels, a 6.18 cloud kernel):
//! another configuration of the same release may lack or add a few.

use crate::vocab::Vmstat;

/// The names that one build prints.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Counters of a zone, without the numa ones.
    zone: &'static str,
    /// Counters of a node.
    node: &'static str,
    /// What vmstat prints after these: thresholds, events and the closing line.
    rest: &'static str,
}

impl Names {
    /// The names of a release.
    #[must_use]
    pub const fn of(release: Vmstat) -> &'static Self {
        match release {
            Vmstat::V6_1 => &V6_1,
            Vmstat::V6_12 => &V6_12,
            Vmstat::V6_18 => &V6_18,
        }
    }

    /// The counters of a zone in zoneinfo, the numa ones last.
    pub fn zone(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.zone.split_ascii_whitespace().chain(NUMA.split_ascii_whitespace())
    }

    /// The counters of a node in zoneinfo.
    pub fn node(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.node.split_ascii_whitespace()
    }

    /// All names of vmstat.
    pub fn vmstat(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.zone().chain(self.node()).chain(self.rest.split_ascii_whitespace())
    }
}

const NUMA: &str = "numa_hit numa_miss numa_foreign numa_interleave numa_local numa_other";

const V6_1: Names = Names {
    zone: "
        nr_free_pages nr_zone_inactive_anon nr_zone_active_anon nr_zone_inactive_file
        nr_zone_active_file nr_zone_unevictable nr_zone_write_pending nr_mlock nr_bounce
        nr_zspages nr_free_cma",
    node: "
        nr_inactive_anon nr_active_anon nr_inactive_file nr_active_file nr_unevictable
        nr_slab_reclaimable nr_slab_unreclaimable nr_isolated_anon nr_isolated_file
        workingset_nodes workingset_refault_anon workingset_refault_file
        workingset_activate_anon workingset_activate_file workingset_restore_anon
        workingset_restore_file workingset_nodereclaim nr_anon_pages nr_mapped nr_file_pages
        nr_dirty nr_writeback nr_writeback_temp nr_shmem nr_shmem_hugepages nr_shmem_pmdmapped
        nr_file_hugepages nr_file_pmdmapped nr_anon_transparent_hugepages nr_vmscan_write
        nr_vmscan_immediate_reclaim nr_dirtied nr_written nr_throttled_written
        nr_kernel_misc_reclaimable nr_foll_pin_acquired nr_foll_pin_released nr_kernel_stack
        nr_page_table_pages nr_sec_page_table_pages nr_swapcached pgpromote_success
        pgpromote_candidate",
    rest: "
        nr_dirty_threshold nr_dirty_background_threshold pgpgin pgpgout pswpin pswpout
        pgalloc_dma pgalloc_dma32 pgalloc_normal pgalloc_movable pgalloc_device allocstall_dma
        allocstall_dma32 allocstall_normal allocstall_movable allocstall_device pgskip_dma
        pgskip_dma32 pgskip_normal pgskip_movable pgskip_device pgfree pgactivate pgdeactivate
        pglazyfree pgfault pgmajfault pglazyfreed pgrefill pgreuse pgsteal_kswapd pgsteal_direct
        pgdemote_kswapd pgdemote_direct pgscan_kswapd pgscan_direct pgscan_direct_throttle
        pgscan_anon pgscan_file pgsteal_anon pgsteal_file zone_reclaim_failed pginodesteal
        slabs_scanned kswapd_inodesteal kswapd_low_wmark_hit_quickly
        kswapd_high_wmark_hit_quickly pageoutrun pgrotated drop_pagecache drop_slab oom_kill
        numa_pte_updates numa_huge_pte_updates numa_hint_faults numa_hint_faults_local
        numa_pages_migrated pgmigrate_success pgmigrate_fail thp_migration_success
        thp_migration_fail thp_migration_split compact_migrate_scanned compact_free_scanned
        compact_isolated compact_stall compact_fail compact_success compact_daemon_wake
        compact_daemon_migrate_scanned compact_daemon_free_scanned htlb_buddy_alloc_success
        htlb_buddy_alloc_fail unevictable_pgs_culled unevictable_pgs_scanned
        unevictable_pgs_rescued unevictable_pgs_mlocked unevictable_pgs_munlocked
        unevictable_pgs_cleared unevictable_pgs_stranded thp_fault_alloc thp_fault_fallback
        thp_fault_fallback_charge thp_collapse_alloc thp_collapse_alloc_failed thp_file_alloc
        thp_file_fallback thp_file_fallback_charge thp_file_mapped thp_split_page
        thp_split_page_failed thp_deferred_split_page thp_split_pmd thp_scan_exceed_none_pte
        thp_scan_exceed_swap_pte thp_scan_exceed_share_pte thp_split_pud thp_zero_page_alloc
        thp_zero_page_alloc_failed thp_swpout thp_swpout_fallback balloon_inflate
        balloon_deflate balloon_migrate swap_ra swap_ra_hit ksm_swpin_copy cow_ksm
        direct_map_level2_splits direct_map_level3_splits nr_unstable",
};

const V6_12: Names = Names {
    zone: "
        nr_free_pages nr_zone_inactive_anon nr_zone_active_anon nr_zone_inactive_file
        nr_zone_active_file nr_zone_unevictable nr_zone_write_pending nr_mlock nr_bounce
        nr_zspages nr_free_cma nr_unaccepted",
    node: "
        nr_inactive_anon nr_active_anon nr_inactive_file nr_active_file nr_unevictable
        nr_slab_reclaimable nr_slab_unreclaimable nr_isolated_anon nr_isolated_file
        workingset_nodes workingset_refault_anon workingset_refault_file
        workingset_activate_anon workingset_activate_file workingset_restore_anon
        workingset_restore_file workingset_nodereclaim nr_anon_pages nr_mapped nr_file_pages
        nr_dirty nr_writeback nr_writeback_temp nr_shmem nr_shmem_hugepages nr_shmem_pmdmapped
        nr_file_hugepages nr_file_pmdmapped nr_anon_transparent_hugepages nr_vmscan_write
        nr_vmscan_immediate_reclaim nr_dirtied nr_written nr_throttled_written
        nr_kernel_misc_reclaimable nr_foll_pin_acquired nr_foll_pin_released nr_kernel_stack
        nr_page_table_pages nr_sec_page_table_pages nr_iommu_pages nr_swapcached
        pgpromote_success pgpromote_candidate pgdemote_kswapd pgdemote_direct
        pgdemote_khugepaged",
    rest: "
        nr_dirty_threshold nr_dirty_background_threshold nr_memmap_pages nr_memmap_boot_pages
        pgpgin pgpgout pswpin pswpout pgalloc_dma pgalloc_dma32 pgalloc_normal pgalloc_movable
        pgalloc_device allocstall_dma allocstall_dma32 allocstall_normal allocstall_movable
        allocstall_device pgskip_dma pgskip_dma32 pgskip_normal pgskip_movable pgskip_device
        pgfree pgactivate pgdeactivate pglazyfree pgfault pgmajfault pglazyfreed pgrefill
        pgreuse pgsteal_kswapd pgsteal_direct pgsteal_khugepaged pgscan_kswapd pgscan_direct
        pgscan_khugepaged pgscan_direct_throttle pgscan_anon pgscan_file pgsteal_anon
        pgsteal_file zone_reclaim_success zone_reclaim_failed pginodesteal slabs_scanned
        kswapd_inodesteal kswapd_low_wmark_hit_quickly kswapd_high_wmark_hit_quickly pageoutrun
        pgrotated drop_pagecache drop_slab oom_kill numa_pte_updates numa_huge_pte_updates
        numa_hint_faults numa_hint_faults_local numa_pages_migrated pgmigrate_success
        pgmigrate_fail thp_migration_success thp_migration_fail thp_migration_split
        compact_migrate_scanned compact_free_scanned compact_isolated compact_stall compact_fail
        compact_success compact_daemon_wake compact_daemon_migrate_scanned
        compact_daemon_free_scanned htlb_buddy_alloc_success htlb_buddy_alloc_fail
        unevictable_pgs_culled unevictable_pgs_scanned unevictable_pgs_rescued
        unevictable_pgs_mlocked unevictable_pgs_munlocked unevictable_pgs_cleared
        unevictable_pgs_stranded thp_fault_alloc thp_fault_fallback thp_fault_fallback_charge
        thp_collapse_alloc thp_collapse_alloc_failed thp_file_alloc thp_file_fallback
        thp_file_fallback_charge thp_file_mapped thp_split_page thp_split_page_failed
        thp_deferred_split_page thp_underused_split_page thp_split_pmd thp_scan_exceed_none_pte
        thp_scan_exceed_swap_pte thp_scan_exceed_share_pte thp_split_pud thp_zero_page_alloc
        thp_zero_page_alloc_failed thp_swpout thp_swpout_fallback balloon_inflate
        balloon_deflate balloon_migrate swap_ra swap_ra_hit swpin_zero swpout_zero
        ksm_swpin_copy cow_ksm direct_map_level2_splits direct_map_level3_splits nr_unstable",
};

const V6_18: Names = Names {
    zone: "
        nr_free_pages nr_free_pages_blocks nr_zone_inactive_anon nr_zone_active_anon
        nr_zone_inactive_file nr_zone_active_file nr_zone_unevictable nr_zone_write_pending
        nr_mlock nr_zspages nr_free_cma",
    node: "
        nr_inactive_anon nr_active_anon nr_inactive_file nr_active_file nr_unevictable
        nr_slab_reclaimable nr_slab_unreclaimable nr_isolated_anon nr_isolated_file
        workingset_nodes workingset_refault_anon workingset_refault_file
        workingset_activate_anon workingset_activate_file workingset_restore_anon
        workingset_restore_file workingset_nodereclaim nr_anon_pages nr_mapped nr_file_pages
        nr_dirty nr_writeback nr_shmem nr_shmem_hugepages nr_shmem_pmdmapped nr_file_hugepages
        nr_file_pmdmapped nr_anon_transparent_hugepages nr_vmscan_write
        nr_vmscan_immediate_reclaim nr_dirtied nr_written nr_throttled_written
        nr_kernel_misc_reclaimable nr_foll_pin_acquired nr_foll_pin_released nr_kernel_stack
        nr_page_table_pages nr_sec_page_table_pages nr_iommu_pages nr_swapcached
        pgpromote_success pgpromote_candidate pgpromote_candidate_nrl pgdemote_kswapd
        pgdemote_direct pgdemote_khugepaged pgdemote_proactive nr_hugetlb nr_balloon_pages
        nr_kernel_file_pages",
    rest: "
        nr_dirty_threshold nr_dirty_background_threshold nr_memmap_pages nr_memmap_boot_pages
        pgpgin pgpgout pswpin pswpout pgalloc_dma pgalloc_dma32 pgalloc_normal pgalloc_movable
        pgalloc_device allocstall_dma allocstall_dma32 allocstall_normal allocstall_movable
        allocstall_device pgskip_dma pgskip_dma32 pgskip_normal pgskip_movable pgskip_device
        pgfree pgactivate pgdeactivate pglazyfree pgfault pgmajfault pglazyfreed pgrefill
        pgreuse pgsteal_kswapd pgsteal_direct pgsteal_khugepaged pgsteal_proactive pgscan_kswapd
        pgscan_direct pgscan_khugepaged pgscan_proactive pgscan_direct_throttle pgscan_anon
        pgscan_file pgsteal_anon pgsteal_file zone_reclaim_success zone_reclaim_failed
        pginodesteal slabs_scanned kswapd_inodesteal kswapd_low_wmark_hit_quickly
        kswapd_high_wmark_hit_quickly pageoutrun pgrotated drop_pagecache drop_slab oom_kill
        numa_pte_updates numa_huge_pte_updates numa_hint_faults numa_hint_faults_local
        numa_pages_migrated pgmigrate_success pgmigrate_fail thp_migration_success
        thp_migration_fail thp_migration_split compact_migrate_scanned compact_free_scanned
        compact_isolated compact_stall compact_fail compact_success compact_daemon_wake
        compact_daemon_migrate_scanned compact_daemon_free_scanned htlb_buddy_alloc_success
        htlb_buddy_alloc_fail unevictable_pgs_culled unevictable_pgs_scanned
        unevictable_pgs_rescued unevictable_pgs_mlocked unevictable_pgs_munlocked
        unevictable_pgs_cleared unevictable_pgs_stranded thp_fault_alloc thp_fault_fallback
        thp_fault_fallback_charge thp_collapse_alloc thp_collapse_alloc_failed thp_file_alloc
        thp_file_fallback thp_file_fallback_charge thp_file_mapped thp_split_page
        thp_split_page_failed thp_deferred_split_page thp_underused_split_page thp_split_pmd
        thp_scan_exceed_none_pte thp_scan_exceed_swap_pte thp_scan_exceed_share_pte
        thp_split_pud thp_zero_page_alloc thp_zero_page_alloc_failed thp_swpout
        thp_swpout_fallback balloon_inflate balloon_deflate balloon_migrate swap_ra swap_ra_hit
        swpin_zero swpout_zero ksm_swpin_copy cow_ksm zswpin zswpout zswpwb
        direct_map_level2_splits direct_map_level3_splits direct_map_level2_collapses
        direct_map_level3_collapses nr_unstable",
};
