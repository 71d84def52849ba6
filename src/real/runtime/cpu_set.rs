//! A set of CPUs, as lists of the kernel name them.

use core::fmt;
use core::str::FromStr;

/// Most CPUs of a machine that a set can name: as many as the kernel's own type for C programs.
const CPUS_MAX: usize = 1024;

/// A set of CPUs: `2,4-7`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuSet([u64; CPUS_MAX / 64]);

/// An error in a list of CPUs.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CpuSetError {
    #[error("`{0}` is no CPU; give numbers and ranges, such as 2,4-7")]
    NoNumber(String),
    #[error("CPU {0} is above {max}, the last one that can be named", max = CPUS_MAX - 1)]
    TooLarge(usize),
    #[error("the range {0}-{1} ends before it begins; swap its ends")]
    Reversed(usize, usize),
}

impl CpuSet {
    /// Returns true if a CPU is in the set.
    #[must_use]
    pub const fn contains(&self, cpu: usize) -> bool {
        cpu < CPUS_MAX && self.0[cpu / 64] >> (cpu % 64) & 1 == 1
    }

    /// Returns the CPUs in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..CPUS_MAX).filter(|cpu| self.contains(*cpu))
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(list: &str) -> Result<Self, CpuSetError> {
        let number = |text: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
            let parsed = text.parse::<usize>().ok().filter(|_| is_plain);
            let cpu = parsed.ok_or_else(|| CpuSetError::NoNumber(text.to_owned()))?;
            if cpu < CPUS_MAX { Ok(cpu) } else { Err(CpuSetError::TooLarge(cpu)) }
        };
        let mut set = Self([0; CPUS_MAX / 64]);
        for part in list.split(',').map(str::trim) {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (number(from)?, number(to)?);
            if from > to {
                return Err(CpuSetError::Reversed(from, to));
            }
            (from..=to).for_each(|cpu| set.0[cpu / 64] |= 1 << (cpu % 64));
        }
        Ok(set)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut cpus = self.iter().peekable();
        while let Some(from) = cpus.next() {
            let mut to = from;
            while let Some(next) = cpus.next_if(|next| *next == to + 1) {
                to = next;
            }
            write!(f, "{separator}{from}")?;
            if to > from {
                write!(f, "-{to}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_written() {
        for (list, written) in
            [("3", "3"), ("2,4-7", "2,4-7"), ("7, 5-6,5", "5-7"), ("0-1023", "0-1023")]
        {
            let set: CpuSet = list.parse().unwrap();
            assert_eq!(set.to_string(), written);
            assert_eq!(written.parse(), Ok(set));
        }
        let set: CpuSet = "2,64-65".parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [2, 64, 65]);
        assert!(!set.contains(3) && !set.contains(5_000));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (list, part) in [
            ("", "`` is no CPU"),
            ("a", "`a` is no CPU"),
            ("+1", "`+1` is no CPU"),
            ("1-", "`` is no CPU"),
            ("1,,2", "`` is no CPU"),
            ("99999999999999999999999", "is no CPU"),
            ("1024", "CPU 1024 is above 1023"),
            ("5-4", "ends before it begins"),
        ] {
            let error = list.parse::<CpuSet>().unwrap_err().to_string();
            assert!(error.contains(part), "{list}: {error}");
        }
    }
}
