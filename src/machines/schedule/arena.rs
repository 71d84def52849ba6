//! The nodes of all queues of a switch: linked lists in one vector, with a free list.

use ground::memory::fetch_item;
use ground::units::Priority;

/// Link of the last node of a list.
const NIL: u32 = u32::MAX;

/// One queued item.
#[derive(Debug)]
struct Node<H> {
    item: Option<H>,
    next: u32,
    len: u32,
    priority: Priority,
}

/// Memory for queued items. The free list is a stack, so that an uncongested switch reuses the same
/// few nodes, which stay in the L1 cache.
#[derive(Debug)]
pub struct Arena<H> {
    nodes: Vec<Node<H>>,
    free: u32,
    used: u32,
}

/// FIFO of nodes of an arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
    frames: u32,
    bytes: u64,
    /// Length and priority of the first item, if there is one. Stored here because the node itself
    /// is no longer cached after a long wait: it is read when the previous item leaves, off the
    /// critical path.
    first: (u32, Priority),
}

impl Fifo {
    pub(super) const EMPTY: Self =
        Self { head: NIL, tail: NIL, frames: 0, bytes: 0, first: (0, Priority::MIN) };

    pub(super) const fn frames(&self) -> u32 {
        self.frames
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the length and priority of the first item.
    #[inline]
    pub(super) fn peek(&self) -> Option<(u32, Priority)> {
        (self.head != NIL).then_some(self.first)
    }

    /// Returns the first item.
    #[inline]
    pub(super) fn first<'a, H>(&self, arena: &'a Arena<H>) -> Option<&'a H> {
        arena.nodes.get(self.head as usize)?.item.as_ref()
    }

    /// Returns all items, from the first on; slow.
    pub(super) fn items<'a, H>(
        &self,
        arena: &'a Arena<H>,
    ) -> impl Iterator<Item = &'a H> + use<'a, H> {
        let first = arena.nodes.get(self.head as usize);
        let all = core::iter::successors(first, |node| arena.nodes.get(node.next as usize));
        all.filter_map(|node| node.item.as_ref())
    }

    #[inline]
    pub(super) fn push<H>(&mut self, arena: &mut Arena<H>, item: H, len: u32, priority: Priority) {
        let slot = arena.take(item, len, priority);
        if self.tail == NIL {
            self.head = slot;
            self.first = (len, priority);
        } else {
            arena.nodes[self.tail as usize].next = slot;
        }
        self.tail = slot;
        self.frames += 1;
        self.bytes += u64::from(len);
    }

    #[inline]
    pub(super) fn pop<H>(&mut self, arena: &mut Arena<H>) -> Option<(H, u32, Priority)> {
        if self.head == NIL {
            return None;
        }
        let slot = self.head;
        let node = &mut arena.nodes[slot as usize];
        let (len, priority) = (node.len, node.priority);
        let item = node.item.take().expect("a linked node holds an item");
        self.head = node.next;
        match arena.nodes.get(self.head as usize) {
            Some(next) => {
                self.first = (next.len, next.priority);
                // After a long wait the one behind it is no longer in the caches, either.
                fetch_item(&arena.nodes, next.next as usize);
            }
            None => self.tail = NIL,
        }
        arena.give(slot);
        self.frames -= 1;
        self.bytes -= u64::from(len);
        Some((item, len, priority))
    }
}

impl<H> Arena<H> {
    /// Creates an arena with memory for `capacity` items. It grows beyond that, which allocates.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { nodes: Vec::with_capacity(capacity), free: NIL, used: 0 }
    }

    /// Brings the place of the next item into the caches.
    #[inline]
    pub fn fetch(&self) {
        fetch_item(&self.nodes, self.free as usize);
    }

    /// Returns the number of items.
    #[must_use]
    pub const fn used(&self) -> u32 {
        self.used
    }

    /// Returns all items in no particular order; slow.
    pub fn items(&self) -> impl Iterator<Item = &H> {
        self.nodes.iter().filter_map(|node| node.item.as_ref())
    }

    #[inline]
    fn take(&mut self, item: H, len: u32, priority: Priority) -> u32 {
        self.used += 1;
        // The vector grows only while more items wait than ever before.
        if self.free == NIL {
            let slot = u32::try_from(self.nodes.len()).expect("fewer than 2^32 queued items");
            self.nodes.push(Node { item: Some(item), next: NIL, len, priority });
            return slot;
        }
        let slot = self.free;
        let node = &mut self.nodes[slot as usize];
        self.free = node.next;
        debug_assert!(node.item.is_none(), "a free node is empty");
        // Field by field: a whole node would be built on the stack and copied from there at once, which waits
        // for all of its fields to be stored.
        node.item = Some(item);
        (node.next, node.len, node.priority) = (NIL, len, priority);
        slot
    }

    #[inline]
    fn give(&mut self, slot: u32) {
        self.nodes[slot as usize].next = self.free;
        self.free = slot;
        self.used -= 1;
    }
}
