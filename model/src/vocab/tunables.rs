//! The sysctls and build-time numbers that decide amounts.

/// Tunables with the kernel's defaults (page_alloc.md §2.4, §3.1 to §3.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tunables {
    /// `vm.min_free_kbytes` as written by the user, in KiB; `None` lets the formula decide.
    pub min_free_kbytes: Option<u32>,
    /// `vm.watermark_scale_factor`, in 1/10000 of managed memory, 1 to 3000.
    pub watermark_scale_factor: u32,
    /// `vm.watermark_boost_factor`, in 1/10000 of the high mark; 0 switches boosting off.
    pub watermark_boost_factor: u32,
    /// `vm.lowmem_reserve_ratio` for DMA, DMA32, Normal, Movable; 0 reserves nothing.
    pub lowmem_reserve_ratio: [u32; 4],
    /// `vm.percpu_pagelist_high_fraction`: 0, or 8 and above.
    pub percpu_pagelist_high_fraction: u32,
    /// CONFIG_PCP_BATCH_SCALE_MAX, 0 to 6.
    pub pcp_batch_scale_max: u8,
}

impl Default for Tunables {
    fn default() -> Self {
        Self {
            min_free_kbytes: None,
            watermark_scale_factor: 10,
            watermark_boost_factor: 15000,
            lowmem_reserve_ratio: [256, 256, 32, 0],
            percpu_pagelist_high_fraction: 0,
            pcp_batch_scale_max: 5,
        }
    }
}

impl Tunables {
    /// Check the ranges that the kernel enforces.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn validate(&self) -> Result<(), TunablesError> {
        if !(1..=3000).contains(&self.watermark_scale_factor) {
            return Err(TunablesError::WatermarkScaleFactor(self.watermark_scale_factor));
        }
        let fraction = self.percpu_pagelist_high_fraction;
        if fraction != 0 && fraction < 8 {
            return Err(TunablesError::HighFraction(fraction));
        }
        if self.pcp_batch_scale_max > 6 {
            return Err(TunablesError::BatchScaleMax(self.pcp_batch_scale_max));
        }
        Ok(())
    }
}

/// A tunable outside the range that the kernel accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TunablesError {
    /// Out of 1..=3000.
    #[error("watermark_scale_factor {0}: give 1 to 3000")]
    WatermarkScaleFactor(u32),
    /// 1 to 7.
    #[error("percpu_pagelist_high_fraction {0}: give 0, or 8 and above")]
    HighFraction(u32),
    /// Above 6.
    #[error("pcp_batch_scale_max {0}: give 0 to 6")]
    BatchScaleMax(u8),
}
