//! Inferences: untraced steps that must be proved.

use super::engine::Engine;
use super::report::{Kind, Verdict, block};
use mmspec_model::knowledge::FrameKnowledge;
use mmspec_model::vocab::{Order, Pfn, ZoneName};

/// An untraced step that explains one event.
#[derive(Clone, Debug)]
pub(super) struct Inference {
    pub(super) line: u64,
    /// Number of the event.
    pub(super) event: u64,
    pub(super) kind: Kind,
    pub(super) zone: ZoneName,
    pub(super) rule: &'static str,
    pub(super) expected: Pfn,
    pub(super) order: Order,
    pub(super) seen: String,
    /// Pages that left by the untraced step and have not shown up since.
    pub(super) open: usize,
    pub(super) refuted: bool,
}

impl Engine<'_> {
    /// The blocks in `passed_over` left their list untraced before the event at hand.
    pub(super) fn infer(
        &mut self,
        kind: Kind,
        z: usize,
        rule: &'static str,
        order: Order,
        seen: String,
        passed_over: &[Pfn],
    ) {
        let id = self.inferences.len() as u32;
        for &pfn in passed_over {
            self.k.uncache(z, pfn);
            self.k.set_frame(pfn, FrameKnowledge::Gone(order, id));
        }
        let blocks = passed_over.len() as u64;
        self.moved.alloc[z] += blocks * order.pages();
        self.moved.operations += blocks;
        self.inferences.push(Inference {
            line: self.line,
            event: self.report.events,
            kind,
            zone: self.k.shape().zones[z].0,
            rule,
            expected: passed_over[0],
            order,
            seen,
            open: passed_over.len(),
            refuted: false,
        });
    }

    /// An event shows that the untraced step did happen to `pfn`.
    pub(super) fn prove(&mut self, pfn: Pfn) {
        if let FrameKnowledge::Gone(_, id) = self.k.frame(pfn) {
            self.inferences[id as usize].open -= 1;
        }
    }

    /// An event shows that it did not.
    pub(super) fn refute(&mut self, pfn: Pfn) {
        if let FrameKnowledge::Gone(_, id) = self.k.frame(pfn) {
            self.inferences[id as usize].refuted = true;
        }
    }

    /// At the end every inference is proved, or it counts as contradicted.
    pub(super) fn settle(&mut self) {
        for inference in std::mem::take(&mut self.inferences) {
            let proved = inference.open == 0 && !inference.refuted;
            let verdict = if proved { Verdict::Inferred } else { Verdict::Contradicted };
            self.report.count_at(inference.event, inference.kind, inference.zone, verdict);
            if !proved {
                let Inference { line, rule, expected, order, seen, .. } = inference;
                self.report.keep(line, rule, block(expected, order), seen);
            }
        }
    }
}
