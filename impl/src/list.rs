//! Intrusive doubly linked lists of frames, linked by index.
//!
//! The outer links of the two end frames are stale: taking the head does not write to the frame
//! behind it, whose record may be cold. But no frame on a list is linked to itself, which is how
//! allocated frames are told.

use crate::frame::Records;

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

    /// The last frame, [`NIL`] if there is none.
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }

    /// Turn the list so that `frame`, which is on it, is the first: [a, e, b] becomes [e, b, a].
    pub(crate) fn turn_to_head(&mut self, links: Records<'_>, frame: u32) {
        if frame == self.head {
            return;
        }
        let last = links.at(frame).prev();
        links.at(self.tail).set_next(self.head);
        links.at(self.head).set_prev(self.tail);
        (self.head, self.tail) = (frame, last);
    }

    /// Turn the list so that `frame`, which is on it, is the last: [a, e, b] becomes [b, a, e].
    pub(crate) fn turn_to_tail(&mut self, links: Records<'_>, frame: u32) {
        if frame == self.tail {
            return;
        }
        let first = links.at(frame).next();
        links.at(self.tail).set_next(self.head);
        links.at(self.head).set_prev(self.tail);
        (self.head, self.tail) = (first, frame);
    }

    #[inline]
    pub(crate) fn push_head(&mut self, links: Records<'_>, frame: u32) {
        if self.is_empty() {
            links.at(frame).clear();
            self.tail = frame;
        } else {
            links.at(frame).set_next(self.head);
            links.at(self.head).set_prev(frame);
        }
        self.head = frame;
    }

    #[inline]
    pub(crate) fn push_tail(&mut self, links: Records<'_>, frame: u32) {
        links.at(frame).clear();
        if self.is_empty() {
            self.head = frame;
        } else {
            links.at(frame).set_prev(self.tail);
            links.at(self.tail).set_next(frame);
        }
        self.tail = frame;
    }

    /// Put `first`, `first` + `step` and so on, as far as `last`, at the tail.
    #[inline(always)]
    pub(crate) fn push_tail_run(&mut self, links: Records<'_>, first: u32, last: u32, step: u32) {
        let (mut prev, mut frame) = (self.tail, first);
        if self.is_empty() {
            self.head = first;
        } else {
            links.at(self.tail).set_next(first);
        }
        loop {
            let record = &links.at(frame);
            record.set_prev(prev);
            if frame == last {
                break;
            }
            record.set_next(frame + step);
            (prev, frame) = (frame, frame + step);
        }
        links.at(last).clear();
        self.tail = last;
    }

    /// Put the first frames of `from`, which is not empty, at the tail, up to `most`; each is
    /// visited. How many they are.
    #[inline(always)]
    pub(crate) fn splice_tail(
        &mut self,
        links: Records<'_>,
        from: &mut Self,
        most: u32,
        mut visit: impl FnMut(u32),
    ) -> u32 {
        let (first, mut last, mut count) = (from.head, from.head, 1);
        visit(last);
        while count < most && last != from.tail {
            last = links.at(last).next();
            visit(last);
            count += 1;
        }
        if last == from.tail {
            *from = Self::EMPTY;
        } else {
            from.head = links.at(last).next();
        }
        if self.is_empty() {
            self.head = first;
        } else {
            links.at(self.tail).set_next(first);
            links.at(first).set_prev(self.tail);
        }
        links.at(last).clear();
        self.tail = last;
        count
    }

    /// Whether the last two frames lie side by side, 2^`shift` apart, and make up an aligned pair.
    #[inline(always)]
    pub(crate) fn ends_in_pair(&self, links: Records<'_>, shift: u8) -> bool {
        let last = self.tail;
        last != self.head && links.at(last).prev() == last ^ (1 << shift)
    }

    /// Take from the tail, of a list that is not empty, as many frames as lie side by side,
    /// 2^`shift` apart, and make up an aligned group: 2^n frames for the largest n up to `most`.
    /// Its lowest frame and n.
    #[inline(never)]
    pub(crate) fn pop_tail_group(
        &mut self,
        links: Records<'_>,
        shift: u8,
        most: u32,
    ) -> (u32, u32) {
        let last = self.tail;
        // A group that starts with its highest frame goes down, else up.
        let place = last >> shift;
        let down = place & 1 != 0;
        let aligned = if down { place.trailing_ones() } else { place.trailing_zeros() };
        let step = if down { (1_u32 << shift).wrapping_neg() } else { 1 << shift };
        let size = 1 << aligned.min(most);
        // `end` is the frame before the group, once the group is as long as `alike`.
        let (mut frame, mut alike, mut group, mut end) = (last, 1_u32, 0, NIL);
        loop {
            let before = if frame == self.head { NIL } else { links.at(frame).prev() };
            if alike.is_power_of_two() {
                (group, end) = (alike.trailing_zeros(), before);
            }
            if alike >= size || before != frame.wrapping_add(step) {
                break;
            }
            frame = before;
            alike += 1;
        }
        if end == NIL {
            *self = Self::EMPTY;
        } else {
            self.tail = end;
        }
        (if down { last - (((1 << group) - 1) << shift) } else { last }, group)
    }

    #[inline]
    pub(crate) fn pop_head(&mut self, links: Records<'_>) -> Option<u32> {
        let frame = self.head;
        if frame == NIL {
            return None;
        }
        if frame == self.tail {
            *self = Self::EMPTY;
        } else {
            self.head = links.at(frame).next();
        }
        Some(frame)
    }

    #[inline]
    pub(crate) fn pop_tail(&mut self, links: Records<'_>) -> Option<u32> {
        let frame = self.tail;
        if frame == NIL {
            return None;
        }
        if frame == self.head {
            *self = Self::EMPTY;
        } else {
            self.tail = links.at(frame).prev();
        }
        Some(frame)
    }

    /// Take `frame`, which is on this list, out of it.
    #[inline]
    pub(crate) fn unlink(&mut self, links: Records<'_>, frame: u32) {
        if frame == self.head {
            self.pop_head(links);
        } else if frame == self.tail {
            self.pop_tail(links);
        } else {
            let (prev, next) = (links.at(frame).prev(), links.at(frame).next());
            links.at(prev).set_next(next);
            links.at(next).set_prev(prev);
        }
    }

    /// Visit all frames, head first.
    ///
    /// # Panics
    /// If the list has more frames than exist: one that was put on it twice made it a ring.
    pub(crate) fn for_each(&self, links: Records<'_>, mut visit: impl FnMut(u32)) {
        let mut frame = self.head;
        let mut left = links.frames();
        while frame != NIL {
            assert!(left > 0, "a list is a ring: a frame was put on it twice");
            left -= 1;
            visit(frame);
            frame = if frame == self.tail { NIL } else { links.at(frame).next() };
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::frame::{Links, Spread};
    use std::{collections::VecDeque, vec::Vec};

    fn links(frames: usize) -> Vec<Links> {
        (0..frames).map(|_| Links::default()).collect()
    }

    /// Groups against the plain way, over random lists.
    #[test]
    fn groups_are_what_single_pops_would_give() {
        let links = links(64);
        let links = Records::new(&links, Spread::Dense);
        let mut seed = 1_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % bound
        };
        let mut sizes = [0; 7];
        for _ in 0..20_000 {
            let (shift, most) = (random(2) as u8, random(5) as u32);
            let step = 1 << shift;
            // Runs up and down from random places, each frame at most once.
            let (mut list, mut deque) = (List::EMPTY, VecDeque::new());
            for _ in 0..4 {
                let (start, up) = (random(64 / step) as i64, random(2) == 0);
                for at in 0..random(17) as i64 {
                    let place = if up { start + at } else { start - at };
                    let frame = place * step as i64;
                    if !(0..64).contains(&frame) || deque.contains(&(frame as u32)) {
                        break;
                    }
                    list.push_tail(links, frame as u32);
                    deque.push_back(frame as u32);
                }
            }
            while !list.is_empty() {
                let pair = list.ends_in_pair(links, shift);
                let (lowest, group) = list.pop_tail_group(links, shift, most);
                assert_eq!(pair && most > 0, group > 0);
                assert!(group <= most && (lowest >> shift) % (1 << group) == 0);
                let mut singles: Vec<u32> =
                    (0..1 << group).map(|_| deque.pop_back().unwrap()).collect();
                assert!(singles.is_sorted() || singles.is_sorted_by(|a, b| a > b));
                singles.sort_unstable();
                let expected: Vec<u32> =
                    (0..1 << group).map(|at| lowest + at * step as u32).collect();
                assert_eq!(singles, expected);
                sizes[group as usize] += 1;
            }
            assert!(deque.is_empty() && list.is_empty());
        }
        assert!(sizes[..5].iter().all(|seen| *seen > 0), "{sizes:?}");
    }

    #[test]
    fn splicing_is_popping_and_pushing() {
        let links = links(16);
        let links = Records::new(&links, Spread::Dense);
        for (here, there, most) in (0..4)
            .flat_map(|here| (1..5).map(move |there| (here, there)))
            .flat_map(|(here, there)| (1..6).map(move |most| (here, there, most)))
        {
            let (mut to, mut from) = (List::EMPTY, List::EMPTY);
            (0..here).for_each(|frame| to.push_tail(links, frame));
            (8..8 + there).for_each(|frame| from.push_tail(links, frame));
            let mut visited = Vec::new();
            let count = to.splice_tail(links, &mut from, most, |frame| visited.push(frame));
            assert_eq!(count, there.min(most));
            assert_eq!(visited, (8..8 + count).collect::<Vec<_>>());
            let frames = |list: &List| {
                let mut frames = Vec::new();
                list.for_each(links, |frame| frames.push(frame));
                frames
            };
            assert_eq!(frames(&to), (0..here).chain(8..8 + count).collect::<Vec<_>>());
            assert_eq!(frames(&from), (8 + count..8 + there).collect::<Vec<_>>());
            let mut tail_first = frames(&to);
            while let Some(frame) = to.pop_tail(links) {
                assert_eq!(Some(frame), tail_first.pop());
            }
        }
    }

    /// The list against a plain deque, over every operation sequence of length 7.
    #[test]
    fn behaves_as_a_deque() {
        let links = links(8);
        let links = Records::new(&links, Spread::Dense);
        for code in 0..5_u32.pow(7) {
            let (mut list, mut deque) = (List::EMPTY, VecDeque::new());
            let mut code = code;
            for frame in 0..7 {
                match code % 5 {
                    0 => {
                        list.push_head(links, frame);
                        deque.push_front(frame);
                    }
                    1 => {
                        list.push_tail(links, frame);
                        deque.push_back(frame);
                    }
                    2 => assert_eq!(list.pop_head(links), deque.pop_front()),
                    3 => assert_eq!(list.pop_tail(links), deque.pop_back()),
                    _ => {
                        if let Some(middle) = deque.remove(deque.len() / 2) {
                            list.unlink(links, middle);
                        }
                    }
                }
                code /= 5;
            }
            let mut seen = Vec::new();
            list.for_each(links, |frame| seen.push(frame));
            assert_eq!(seen, Vec::from(deque));
            assert_eq!(list.is_empty(), seen.is_empty());
        }
    }

    #[test]
    #[should_panic(expected = "a list is a ring")]
    fn a_frame_put_on_a_list_twice_is_noticed() {
        let links = links(4);
        let links = Records::new(&links, Spread::Dense);
        let mut list = List::EMPTY;
        (0..3).for_each(|frame| list.push_tail(links, frame));
        list.push_head(links, 1);
        list.for_each(links, |_| {});
    }
}
