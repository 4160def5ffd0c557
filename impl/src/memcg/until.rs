//! Charges up to 2014, before and after "fix transparent huge page allocations under pressure"
//! (memcg-slub.md §2.14): where they differ from today's steps.

use super::{
    Memcg,
    charge::Charge,
    running::{Go, ask_reclaim},
};
use crate::{platform::Platform, storage::Backing};
use mmspec_model::vocab::{ChargeReclaim, Gfp, MemcgId};

/// Rounds of reclaim at most.
const ROUNDS: u32 = 100;
/// What each round asks for.
const ROUND_PAGES: u64 = 32;

impl<P: Platform, B: Backing> Memcg<P, B> {
    pub(super) fn is_of_2014(&self) -> bool {
        self.rules.reclaim != ChargeReclaim::WholeRequest
    }

    /// The charge goes to the root instead, which counts nothing. Of a folio only: what an objcg is charged it is
    /// uncharged later by its own account.
    pub(super) fn bypass(&self, charge: &Charge) -> Option<Go> {
        (self.rules.bypass_to_root && charge.is_of_folio())
            .then(|| charge.charged_to(MemcgId::ROOT))
    }

    /// A dying task does not wait.
    pub(super) fn before_reclaim_2014(&self, charge: &Charge) -> Option<Go> {
        if self.is_of_2014() && charge.is_dying() { self.bypass(charge) } else { None }
    }

    /// Who may not fail, or has been killed meanwhile, has nobody else killed.
    pub(super) fn before_oom_2014(&self, charge: &Charge) -> Option<Go> {
        let bypasses = charge.gfp.contains(Gfp::NOFAIL) || charge.is_dying();
        if self.is_of_2014() && bypasses { self.bypass(charge) } else { None }
    }

    /// The first round, where there are rounds.
    pub(super) fn begin_rounds(&self, charge: &mut Charge) -> Option<Go> {
        (self.rules.reclaim == ChargeReclaim::UntilOnePage).then(|| {
            (charge.rounds, charge.reclaimed) = (1, 0);
            ask_reclaim(charge.over, ROUND_PAGES)
        })
    }

    /// A round freed `pages`. A single free page ends the rounds, which was bug M1: with 512 wanted the charge
    /// fails although reclaim could go on.
    pub(super) fn round_done(&self, charge: &mut Charge, pages: u64) -> Go {
        charge.reclaimed = charge.reclaimed.saturating_add(pages);
        let fruitless = charge.rounds >= 2 && charge.reclaimed == 0;
        if self.margin(charge.over) > 0 || fruitless || charge.rounds == ROUNDS {
            return self.after_reclaim(charge);
        }
        charge.rounds += 1;
        self.drain_all_stock(charge.cpu, charge.over);
        ask_reclaim(charge.over, ROUND_PAGES)
    }
}
