//! Watermarks, reserves and limits from the sysctls (page_alloc.md §3.1 to §3.3, §2.3, §3.8).

use crate::{
    allocator::{Config, PageAllocator},
    pcp::{Limits, Sizing},
    platform::{Lock, PcpLock, Platform, Word},
    storage::Backing,
    vmstat::{StatDiff, normal_threshold},
    zone::mult_frac,
};
use mmspec_model::vocab::{Mark, NR_ZONES, Tunables, TunablesError, ZoneKind};

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
        (16 * pages * KIB_PER_PAGE).isqrt().clamp(128, 262_144)
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
            let step = (share / 4).max(mult_frac(managed, scale, 10_000));
            let mut locked = zone.lock(self.tables(), &diff);
            let lists = locked.buddy().z;
            lists.now.rare_mut().boost = 0;
            lists.now.rare_mut().high = min + 2 * step;
            lists.boost_factor = config.tunables.watermark_boost_factor;
            for mark in Mark::ALL {
                zone.rare.marks[mark.index()].store(min + mark.index() as u64 * step);
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
                    above += self.managed_of(highest);
                }
                let reserve =
                    if zone.info.managed == 0 { 0 } else { above.checked_div(ratio).unwrap_or(0) };
                zone.rare.lowmem_reserve[highest].store(reserve);
            }
        }
    }

    /// Managed pages of the zone of a kind.
    fn managed_of(&self, kind: usize) -> u64 {
        let zone = self.zones().iter().find(|zone| zone.info.kind.index() == kind);
        zone.map_or(0, |zone| zone.info.managed)
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
            cpus: u64::from(config.online_cpus),
            fraction: config.tunables.percpu_pagelist_high_fraction,
            scale_max,
            auto_tuning: self.geometry.auto_tuning,
        });
        self.set_limits(zone, limits);
    }

    pub(crate) fn set_limits(&self, zone: usize, limits: Limits) {
        for cpu in self.cpu_ids() {
            let mut pcp = self.slot(cpu, zone).lock.lock_remote();
            pcp.set_limits(limits, self.geometry.auto_tuning);
        }
    }

    /// Recompute the statistics thresholds.
    pub(crate) fn refresh_thresholds(&self, config: &Config) {
        let diff = StatDiff::default();
        for zone in self.zones() {
            let threshold = normal_threshold(u64::from(config.online_cpus), zone.info.managed);
            zone.lock(self.tables(), &diff).buddy().z.threshold = threshold;
        }
    }
}
