//! Memory that a file requires, as a product that its author can check, and the memory that is
//! available.

use std::fs;

use super::quantity::octets;

/// Memory for a number of equal objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// Number of objects.
    pub count: u64,
    /// Name of the objects, with the field that sets their number.
    pub of: &'static str,
    /// Bytes per object.
    pub each: u64,
}

impl Need {
    /// Total bytes, saturating.
    pub const fn bytes(self) -> u64 {
        self.count.saturating_mul(self.each)
    }

    /// Error text for memory beyond `limit`; `of_what` describes the limit ("that are available").
    pub fn refusal(self, limit: u64, of_what: &str, remedy: &str) -> String {
        let Self { count, of, each } = self;
        format!(
            "{count} {of} x {each} bytes = {}, more than the {} {of_what}: {remedy}",
            octets(self.bytes()),
            octets(limit)
        )
    }
}

/// Error text for needs whose sum is more than `available`, with the sum.
pub fn sum_refusal(needs: &[Need], available: u64, remedy: &str) -> Option<String> {
    let sum = needs.iter().map(|need| need.bytes()).fold(0, u64::saturating_add);
    if sum <= available {
        return None;
    }
    // Parts that take nothing would only lengthen the sum.
    let used = needs.iter().filter(|need| need.count > 0);
    let term = |Need { count, of, each }: &Need| format!("{count} {of} x {each} bytes");
    Some(format!(
        "{} = {}, more than the {} that are available here: {remedy}",
        used.map(term).collect::<Vec<_>>().join(" + "),
        octets(sum),
        octets(available)
    ))
}

/// Bytes that a new process can allocate without swapping, free hugepages included. None if the
/// kernel does not report them.
pub fn available() -> Option<u64> {
    let meminfo = meminfo()?;
    Some(heap_of(&meminfo)?.saturating_add(hugepages_of(&meminfo)))
}

/// Bytes that a new process can allocate without swapping in pages of the ordinary size: all that it can
/// have but for DPDK, which takes hugepages. None if the kernel does not report them.
pub fn heap_available() -> Option<u64> {
    heap_of(&meminfo()?)
}

fn meminfo() -> Option<String> {
    fs::read_to_string("/proc/meminfo").ok()
}

/// A field of `/proc/meminfo` (proc(5)), which it gives in KiB or as a number.
fn field(meminfo: &str, name: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    rest.trim().trim_end_matches("kB").trim_end().parse().ok()
}

fn heap_of(meminfo: &str) -> Option<u64> {
    Some(field(meminfo, "MemAvailable")?.saturating_mul(1_024))
}

fn hugepages_of(meminfo: &str) -> u64 {
    let pages = field(meminfo, "HugePages_Free").zip(field(meminfo, "Hugepagesize"));
    pages.map_or(0, |(free, kib)| free.saturating_mul(kib).saturating_mul(1_024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_shows_the_product() {
        let need = Need { count: 67_108_864, of: "frames", each: 2_432 };
        assert_eq!(
            need.refusal(8 << 30, "that are available", "lower `total`"),
            "67108864 frames x 2432 bytes = 152 GiB, more than the 8 GiB that are available: lower \
             `total`"
        );
        let endless = Need { count: u64::MAX, of: "frames", each: 2 };
        assert_eq!(endless.bytes(), u64::MAX);
    }

    #[test]
    fn a_refused_sum_shows_its_terms() {
        let needs = [(2, "ports", 100), (0, "hosts", 7), (3, "flows", 50)]
            .map(|(count, of, each)| Need { count, of, each });
        assert_eq!(sum_refusal(&needs, 350, "have less"), None);
        assert_eq!(
            sum_refusal(&needs, 349, "have less").unwrap(),
            "2 ports x 100 bytes + 3 flows x 50 bytes = 350 B, more than the 349 B that are \
             available here: have less"
        );
        let endless = [Need { count: u64::MAX, of: "flows", each: 2 }; 2];
        assert!(sum_refusal(&endless, u64::MAX - 1, "").is_some());
    }

    #[test]
    fn free_hugepages_are_told_apart_from_the_heap() {
        let text = "MemTotal: 9 kB\nMemAvailable:   1000 kB\nHugePages_Free:    3\nHugepagesize: 2048 kB\n";
        assert_eq!((heap_of(text), hugepages_of(text)), (Some(1_000 << 10), 6_144 << 10));
        let without = "MemAvailable: 7 kB\n";
        assert_eq!((heap_of(without), hugepages_of(without)), (Some(7 << 10), 0));
        assert_eq!(heap_of("MemTotal: 9 kB\n"), None);
        assert!(heap_available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
