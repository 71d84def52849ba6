//! The nodes of all queues of a switch: linked lists in one vector, with a free list.

use crate::units::Priority;

/// The link of a node that is the last of its list.
const NIL: u32 = u32::MAX;

/// One queued item.
#[derive(Debug)]
struct Node<H> {
    item: Option<H>,
    next: u32,
    len: u32,
    priority: Priority,
}

/// Memory for queued items. The free list is a stack, so that an uncongested switch keeps using
/// the same few nodes, which stay in the nearest cache.
#[derive(Debug)]
pub struct Arena<H> {
    nodes: Vec<Node<H>>,
    free: u32,
    used: u32,
}

/// A first-in first-out list of nodes of an arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
    frames: u32,
    bytes: u64,
    /// Length and priority of the first item, if there is one. Kept here because the node itself
    /// is out of the caches after a long wait: it is read when the one before leaves, and nobody
    /// waits for that.
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

    /// Length and priority of the item that comes next.
    #[inline]
    pub(super) fn peek(&self) -> Option<(u32, Priority)> {
        (self.head != NIL).then_some(self.first)
    }

    /// The item that comes next.
    #[inline]
    pub(super) fn first<'a, H>(&self, arena: &'a Arena<H>) -> Option<&'a H> {
        arena.nodes.get(self.head as usize)?.item.as_ref()
    }

    #[inline]
    pub(super) fn push<H>(&mut self, arena: &mut Arena<H>, item: H, len: u32, priority: Priority) {
        let at = arena.take(Node { item: Some(item), next: NIL, len, priority });
        if self.tail == NIL {
            self.head = at;
            self.first = (len, priority);
        } else {
            arena.nodes[self.tail as usize].next = at;
        }
        self.tail = at;
        self.frames += 1;
        self.bytes += u64::from(len);
    }

    #[inline]
    pub(super) fn pop<H>(&mut self, arena: &mut Arena<H>) -> Option<(H, u32, Priority)> {
        if self.head == NIL {
            return None;
        }
        let at = self.head;
        let node = &mut arena.nodes[at as usize];
        let (len, priority) = (node.len, node.priority);
        let item = node.item.take().expect("a linked node holds an item");
        self.head = node.next;
        match arena.nodes.get(self.head as usize) {
            Some(next) => self.first = (next.len, next.priority),
            None => self.tail = NIL,
        }
        arena.give(at);
        self.frames -= 1;
        self.bytes -= u64::from(len);
        Some((item, len, priority))
    }
}

impl<H> Arena<H> {
    /// An arena with memory for `capacity` items set aside. More make it grow, which allocates.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { nodes: Vec::with_capacity(capacity), free: NIL, used: 0 }
    }

    /// How many items it holds.
    #[must_use]
    pub const fn used(&self) -> u32 {
        self.used
    }

    /// All items, in no particular order: to look at when nothing is in a hurry.
    pub fn items(&self) -> impl Iterator<Item = &H> {
        self.nodes.iter().filter_map(|node| node.item.as_ref())
    }

    #[inline]
    fn take(&mut self, node: Node<H>) -> u32 {
        self.used += 1;
        if self.free == NIL {
            let at = u32::try_from(self.nodes.len()).expect("fewer than 2^32 queued items");
            self.nodes.push(node);
            return at;
        }
        let at = self.free;
        let slot = &mut self.nodes[at as usize];
        self.free = slot.next;
        debug_assert!(slot.item.is_none(), "a free node is empty");
        *slot = node;
        at
    }

    #[inline]
    fn give(&mut self, at: u32) {
        self.nodes[at as usize].next = self.free;
        self.free = at;
        self.used -= 1;
    }
}
