//! A short queue whose first item is stored apart, beside what its owner needs anyway: most often there is
//! no other.

use arrayvec::ArrayVec;

/// At most `MORE + 1` items.
#[derive(Clone, Debug)]
pub(super) struct Queue<T, const MORE: usize> {
    first: Option<T>,
    /// Number of items behind the first.
    others: u8,
    more: Box<ArrayVec<T, MORE>>,
}

impl<T, const MORE: usize> Queue<T, MORE> {
    /// Creates an empty queue, with all memory that it ever needs.
    pub(super) fn new() -> Self {
        const { assert!(MORE <= u8::MAX as usize) }
        Self { first: None, others: 0, more: Box::default() }
    }

    /// Returns the oldest item.
    #[inline]
    pub(super) const fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds an item; returns false if there is no room for it.
    #[inline]
    pub(super) fn push(&mut self, item: T) -> bool {
        if self.first.is_none() {
            self.first = Some(item);
            return true;
        }
        let has_room = self.more.try_push(item).is_ok();
        self.others += u8::from(has_room);
        has_room
    }

    /// Removes the oldest item.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let oldest = self.first.take();
        if self.others > 0 {
            self.first = Some(self.more.remove(0));
            self.others -= 1;
        }
        oldest
    }

    pub(super) fn clear(&mut self) {
        self.first = None;
        self.others = 0;
        self.more.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with a queue of the standard library.
        #[test]
        fn items_leave_in_order(pushes in prop::collection::vec(any::<bool>(), 0..60)) {
            let (mut queue, mut model) = (Queue::<usize, 3>::new(), VecDeque::new());
            for (n, push) in pushes.into_iter().enumerate() {
                if push {
                    prop_assert_eq!(queue.push(n), model.len() < 4);
                    if model.len() < 4 {
                        model.push_back(n);
                    }
                } else {
                    prop_assert_eq!(queue.pop(), model.pop_front());
                }
                prop_assert_eq!((queue.first(), queue.is_empty()), (model.front(), model.is_empty()));
            }
            queue.clear();
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
