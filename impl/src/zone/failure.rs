//! Memory failure (page_alloc.md §1.17).

use super::Buddy;
use crate::frame::{Allocated, Frame};
use crate::platform::Platform;

impl<P: Platform> Buddy<'_, P> {
    /// Take one page out of the free block that holds it, and hand it out as unmovable; what is left
    /// of the block stays free. False if no free block holds it.
    pub(crate) fn take_page_off(&mut self, frame: u32) -> bool {
        let Some((head, state)) = self.block_around(frame).filter(|(_, state)| state.is_free())
        else {
            return false;
        };
        let migratetype = self.tables.block_type(head);
        self.unlink(head, state.order());
        for order in (0..state.order()).rev() {
            // The half of the block around the page that the page is not in: the neighbour of the
            // page's own aligned run of this order.
            let half = (frame ^ (1 << order)) & !((1 << order) - 1);
            self.link_head(half, order, migratetype);
        }
        self.account(-1, migratetype);
        self.tables.set_frame(frame, Frame::busy(0, migratetype));
        self.tables.links.at(frame).clear();
        self.tables.hand_out(frame, Allocated { order: 0, movable: false });
        true
    }
}
