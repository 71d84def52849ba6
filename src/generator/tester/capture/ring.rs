//! Bounded memory for frames: when it is full, it either accepts no more or overwrites the oldest
//! frames.

use ground::time::Instant;
use text::packets::Way;

/// Bytes in front of each frame: time (16), length (4), captured length and direction (4).
const HEADER: usize = 24;

/// The bit of a header's last word for a sent frame.
const SENT: u32 = 1 << 31;

/// A captured frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Time of reception or transmission.
    pub at: Instant,
    pub way: Way,
    /// Original length in bytes, without FCS.
    pub len: u32,
    /// The captured bytes.
    pub octets: Vec<u8>,
}

/// The memory. A frame may wrap around its end.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    memory: Vec<u8>,
    /// Offset of the oldest frame.
    first: usize,
    used: usize,
    frames: u64,
}

impl Ring {
    /// Allocates `bytes` of memory and touches all of it, so that a capture has no page faults.
    pub(super) fn new(bytes: usize) -> Self {
        Self { memory: vec![0xff; bytes.max(1)], first: 0, used: 0, frames: 0 }
    }

    /// Returns the number of frames.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Stores a frame if there is room; with `overwrite`, the oldest frames make room for it.
    /// Returns the number of frames lost, including this one if it was not stored.
    pub(super) fn push(
        &mut self,
        at: Instant,
        way: Way,
        len: u32,
        octets: &[u8],
        overwrite: bool,
    ) -> u64 {
        let need = HEADER + octets.len();
        // A frame longer than the memory would push out all others and still not fit.
        if need > self.memory.len() || (!overwrite && need > self.free()) {
            return 1;
        }
        let mut lost = 0;
        while need > self.free() {
            let (_, kept) = self.header(self.first);
            self.first = self.after(self.first, HEADER + kept);
            self.used -= HEADER + kept;
            self.frames -= 1;
            lost += 1;
        }
        let mut header = [0; HEADER];
        let kept = octets.len() as u32 | if way == Way::Out { SENT } else { 0 };
        header[..16].copy_from_slice(&at.as_picos().to_le_bytes());
        header[16..20].copy_from_slice(&len.to_le_bytes());
        header[20..].copy_from_slice(&kept.to_le_bytes());
        let place = self.after(self.first, self.used);
        self.write(place, &header);
        self.write(self.after(place, HEADER), octets);
        self.used += need;
        self.frames += 1;
        lost
    }

    /// Returns the frames, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Kept> {
        let mut place = self.first;
        (0..self.frames).map(move |_| {
            let (header, kept) = self.header(place);
            let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| header[at + n]));
            let at = [12, 8, 4, 0].iter().fold(0, |at, n| at << 32 | u128::from(word(*n)));
            let mut octets = vec![0; kept];
            self.read(self.after(place, HEADER), &mut octets);
            place = self.after(place, HEADER + kept);
            let way = if word(20) & SENT == 0 { Way::In } else { Way::Out };
            Kept { at: Instant::from_picos(at), way, len: word(16), octets }
        })
    }

    fn free(&self) -> usize {
        self.memory.len() - self.used
    }

    /// Returns the offset `n` bytes after another.
    fn after(&self, place: usize, n: usize) -> usize {
        (place + n) % self.memory.len()
    }

    /// Returns the header at an offset, and the captured length of the frame.
    fn header(&self, place: usize) -> ([u8; HEADER], usize) {
        let mut header = [0; HEADER];
        self.read(place, &mut header);
        let kept = u32::from_le_bytes([20, 21, 22, 23].map(|n| header[n])) & !SENT;
        (header, kept as usize)
    }

    fn write(&mut self, place: usize, octets: &[u8]) {
        // A frame may begin at the end of the memory and go on at its start.
        let (here, round) = octets.split_at(octets.len().min(self.memory.len() - place));
        self.memory[place..place + here.len()].copy_from_slice(here);
        self.memory[..round.len()].copy_from_slice(round);
    }

    fn read(&self, place: usize, out: &mut [u8]) {
        let here = out.len().min(self.memory.len() - place);
        let (first, round) = out.split_at_mut(here);
        first.copy_from_slice(&self.memory[place..place + here]);
        round.copy_from_slice(&self.memory[..round.len()]);
    }
}
