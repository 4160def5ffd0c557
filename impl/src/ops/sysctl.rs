//! Watermarks, reserves and limits from the sysctls (page_alloc.md §3.1 to §3.3, §2.3, §3.8).

use crate::{
    allocator::{Config, PageAllocator},
    pcp::{Limits, Sizing},
    platform::{Lock, PcpLock, Platform, Word},
    storage::Backing,
    vmstat::{StatDiff, normal_threshold, pressure_threshold},
    zone::mult_frac,
};
use mmspec_model::vocab::{
    FairPolicy, Mark, MarkGaps, NR_ZONES, NodeId, Tunables, TunablesError, ZoneKind,
};

const KIB_PER_PAGE: u64 = 4;

/// The guard of the sysctl lock.
type ConfigGuard<'a, P> = <<P as Platform>::ZoneLock<Config> as Lock<Config>>::Guard<'a>;

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    pub(crate) fn lock_config(&self) -> ConfigGuard<'_, P> {
        self.config.lock()
    }

    /// Write all tunables; see [`mmspec_model::contract::Tuning::set_tunables`].
    ///
    /// # Errors
    /// A value out of range; nothing is changed.
    pub fn set_tunables(&self, tunables: Tunables) -> Result<(), TunablesError> {
        tunables.validate()?;
        let mut config = self.lock_config();
        config.tunables = tunables;
        self.apply_tunables(&mut config);
        Ok(())
    }

    /// Recompute all that follows from the tunables.
    pub(crate) fn apply_tunables(&self, config: &mut Config) {
        config.min_free_kbytes = match config.tunables.min_free_kbytes {
            Some(given) => u64::from(given),
            None => self.default_min_free_kbytes(),
        };
        self.set_marks(config);
        self.set_lowmem_reserves(config);
        for zone in 0..self.nr_zones {
            self.refresh_limits(config, zone);
        }
    }

    fn default_min_free_kbytes(&self) -> u64 {
        let lowmem = self.zones().iter().filter(|zone| zone.info.kind <= ZoneKind::Normal);
        let pages: u64 =
            lowmem.map(|zone| zone.info.managed.saturating_sub(zone.mark(Mark::High))).sum();
        let most = match self.geometry.rules.mark_gaps {
            MarkGaps::Quarters => 65_536,
            MarkGaps::ScaleFactor => 262_144,
        };
        (16 * pages * KIB_PER_PAGE).isqrt().clamp(128, most)
    }

    /// Whether min_free_kbytes is shared out over a kind of zone.
    fn is_lowmem(&self, kind: ZoneKind) -> bool {
        kind != ZoneKind::Movable || self.geometry.rules.movable_is_lowmem
    }

    fn set_marks(&self, config: &Config) {
        let pages_min = config.min_free_kbytes / KIB_PER_PAGE;
        let lowmem = self.zones().iter().filter(|zone| self.is_lowmem(zone.info.kind));
        let lowmem: u64 = lowmem.map(|zone| zone.info.managed).sum();
        let diff = StatDiff::default();
        for zone in self.zones() {
            let managed = zone.info.managed;
            let share = (pages_min * managed).checked_div(lowmem).unwrap_or(0);
            let min = if self.is_lowmem(zone.info.kind) {
                share
            } else {
                (managed / 1024).clamp(32, 128)
            };
            let scale = u64::from(config.tunables.watermark_scale_factor);
            let marks = match self.geometry.rules.mark_gaps {
                MarkGaps::Quarters => [min, min + share / 4, min + share / 2, min + share / 2],
                MarkGaps::ScaleFactor => {
                    let step = (share / 4).max(mult_frac(managed, scale, 10_000));
                    core::array::from_fn(|mark| min + mark as u64 * step)
                }
            };
            let mut locked = zone.lock(self.tables(), &diff);
            let lists = locked.buddy().z;
            lists.now.rare_mut().boost = 0;
            lists.now.rare_mut().high = marks[Mark::High.index()];
            lists.boost_factor = config.tunables.watermark_boost_factor;
            for mark in Mark::ALL {
                zone.rare.marks[mark.index()].store(marks[mark.index()]);
            }
            if self.geometry.rules.fair_policy != FairPolicy::None {
                let batch = marks[Mark::High.index()] - marks[Mark::Low.index()];
                let missing = (batch as i64).wrapping_sub(zone.batch());
                zone.counters.batch.fetch_add(missing as u64);
            }
        }
    }

    fn set_lowmem_reserves(&self, config: &Config) {
        for zone in self.zones() {
            let kind = zone.info.kind.index();
            let ratio = u64::from(config.tunables.lowmem_reserve_ratio[kind]);
            let mut above = 0;
            for highest in 0..NR_ZONES {
                if highest > kind {
                    above += self.managed_of(zone.info.node, highest);
                }
                let reserve =
                    if zone.info.managed == 0 { 0 } else { above.checked_div(ratio).unwrap_or(0) };
                zone.rare.lowmem_reserve[highest].store(reserve);
            }
        }
    }

    /// Managed pages of the zone of a kind on a node.
    fn managed_of(&self, node: NodeId, kind: usize) -> u64 {
        let zones = self.node(node).zones().map(|at| &self.zone(at).info);
        zones.filter(|info| info.kind.index() == kind).map(|info| info.managed).sum()
    }

    /// The CPUs that share a zone's pages out: the online ones of its node, or all if it has none.
    fn cpus_of(&self, config: &Config, node: NodeId) -> u64 {
        let own = |cpu: &mmspec_model::vocab::CpuId| {
            self.cpu(*cpu).is_online() && self.cpu(*cpu).node() == node
        };
        match self.cpu_ids().filter(own).count() as u64 {
            0 => u64::from(config.online_cpus),
            cpus => cpus,
        }
    }

    /// Recompute the limits of the per-CPU lists of a zone. Disabled lists stay disabled.
    pub(crate) fn refresh_limits(&self, config: &Config, zone: usize) {
        let scale_max = config.tunables.pcp_batch_scale_max;
        if config.disabled[zone] {
            return self.set_limits(zone, Limits { scale_max, ..Limits::THROUGH });
        }
        let limits = Limits::of(&Sizing {
            managed: self.zones()[zone].info.managed,
            low: self.zones()[zone].mark(Mark::Low),
            cpus: self.cpus_of(config, self.zones()[zone].info.node),
            fraction: config.tunables.percpu_pagelist_high_fraction,
            scale_max,
            tuning: self.geometry.rules.pcp_tuning,
        });
        self.set_limits(zone, limits);
    }

    pub(crate) fn set_limits(&self, zone: usize, limits: Limits) {
        for cpu in self.cpu_ids() {
            let mut pcp = self.slot(cpu, zone).lock.lock_remote();
            pcp.set_limits(limits, self.geometry.auto_tuning);
        }
    }

    /// Recompute the statistics thresholds, and the marks below which cached counts are too coarse
    /// (page_alloc.md §3.8).
    pub(crate) fn refresh_thresholds(&self, config: &Config) {
        let cpus = u64::from(config.online_cpus);
        for (at, zone) in self.zones().iter().enumerate() {
            let threshold = normal_threshold(cpus, zone.info.managed);
            let drift = cpus * threshold as u64;
            if drift > zone.base_mark(Mark::Low) - zone.base_mark(Mark::Min) {
                zone.rare.drift_mark.store(zone.mark(Mark::High) + drift);
            }
            self.set_threshold(at, cpus, self.node(zone.info.node).pressure.load() != 0);
        }
    }

    /// Set a zone's threshold: the normal one, or the smaller one of a node whose kswapd works.
    pub(crate) fn set_threshold(&self, at: usize, online_cpus: u64, pressure: bool) {
        let zone = self.zone(at);
        let threshold = if pressure && zone.rare.drift_mark.load() != 0 {
            let (low, min) = (zone.base_mark(Mark::Low), zone.base_mark(Mark::Min));
            pressure_threshold(online_cpus, low, min)
        } else {
            normal_threshold(online_cpus, zone.info.managed)
        };
        let diff = StatDiff::default();
        zone.lock(self.tables(), &diff).buddy().z.threshold = threshold;
        zone.rare.threshold.store(threshold as u64);
    }
}
