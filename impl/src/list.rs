//! Intrusive doubly linked lists of frames, linked by index.
//!
//! The outer links of the two end frames are stale: taking the head does not write to the frame
//! behind it, whose record may be cold. But no frame on a list is linked to itself, which is how
//! allocated frames are told.

use crate::frame::Links;

/// No frame.
pub(crate) const NIL: u32 = u32::MAX;

/// Head and tail of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self { head: NIL, tail: NIL };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// The first frame, [`NIL`] if there is none.
    #[inline]
    pub(crate) fn head(&self) -> u32 {
        self.head
    }

    #[inline]
    pub(crate) fn push_head(&mut self, links: &[Links], frame: u32) {
        if self.is_empty() {
            links[frame as usize].clear();
            self.tail = frame;
        } else {
            links[frame as usize].set_next(self.head);
            links[self.head as usize].set_prev(frame);
        }
        self.head = frame;
    }

    #[inline]
    pub(crate) fn push_tail(&mut self, links: &[Links], frame: u32) {
        links[frame as usize].clear();
        if self.is_empty() {
            self.head = frame;
        } else {
            links[frame as usize].set_prev(self.tail);
            links[self.tail as usize].set_next(frame);
        }
        self.tail = frame;
    }

    #[inline]
    pub(crate) fn pop_head(&mut self, links: &[Links]) -> Option<u32> {
        let frame = self.head;
        if frame == NIL {
            return None;
        }
        if frame == self.tail {
            *self = Self::EMPTY;
        } else {
            self.head = links[frame as usize].next();
        }
        Some(frame)
    }

    #[inline]
    pub(crate) fn pop_tail(&mut self, links: &[Links]) -> Option<u32> {
        let frame = self.tail;
        if frame == NIL {
            return None;
        }
        if frame == self.head {
            *self = Self::EMPTY;
        } else {
            self.tail = links[frame as usize].prev();
        }
        Some(frame)
    }

    /// Take `frame`, which is on this list, out of it.
    #[inline]
    pub(crate) fn unlink(&mut self, links: &[Links], frame: u32) {
        if frame == self.head {
            self.pop_head(links);
        } else if frame == self.tail {
            self.pop_tail(links);
        } else {
            let (prev, next) = (links[frame as usize].prev(), links[frame as usize].next());
            links[prev as usize].set_next(next);
            links[next as usize].set_prev(prev);
        }
    }

    /// Visit all frames, head first.
    ///
    /// # Panics
    /// If the list has more frames than exist: one that was put on it twice made it a ring.
    pub(crate) fn for_each(&self, links: &[Links], mut visit: impl FnMut(u32)) {
        let mut frame = self.head;
        let mut left = links.len();
        while frame != NIL {
            assert!(left > 0, "a list is a ring: a frame was put on it twice");
            left -= 1;
            visit(frame);
            frame = if frame == self.tail { NIL } else { links[frame as usize].next() };
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::{collections::VecDeque, vec::Vec};

    /// The list against a plain deque, over every operation sequence of length 7.
    #[test]
    fn behaves_as_a_deque() {
        let links: Vec<Links> = (0..8).map(|_| Links::default()).collect();
        for code in 0..5_u32.pow(7) {
            let (mut list, mut deque) = (List::EMPTY, VecDeque::new());
            let mut code = code;
            for frame in 0..7 {
                match code % 5 {
                    0 => {
                        list.push_head(&links, frame);
                        deque.push_front(frame);
                    }
                    1 => {
                        list.push_tail(&links, frame);
                        deque.push_back(frame);
                    }
                    2 => assert_eq!(list.pop_head(&links), deque.pop_front()),
                    3 => assert_eq!(list.pop_tail(&links), deque.pop_back()),
                    _ => {
                        if let Some(middle) = deque.remove(deque.len() / 2) {
                            list.unlink(&links, middle);
                        }
                    }
                }
                code /= 5;
            }
            let mut seen = Vec::new();
            list.for_each(&links, |frame| seen.push(frame));
            assert_eq!(seen, Vec::from(deque));
            assert_eq!(list.is_empty(), seen.is_empty());
        }
    }
}
