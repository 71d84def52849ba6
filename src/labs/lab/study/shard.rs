//! A part of the runs of a study, for one of several machines.

use core::fmt;
use core::str::FromStr;

/// Every `of`th run, from number `part - 1` on: neighbours differ in the last axis alone and take about as
/// long, so parts take about as long as each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Number of the part, from 1 to `of`.
    part: u64,
    /// Number of parts.
    of: u64,
}

/// Most parts. A choice: more than the indices of an array job.
const PARTS_MAX: u64 = 1_000_000;

impl Shard {
    /// All runs: the only part.
    pub const WHOLE: Self = Self { part: 1, of: 1 };

    /// True if the part has a run.
    #[must_use]
    pub const fn has(self, n: u64) -> bool {
        n % self.of == self.part - 1
    }

    /// Returns the number of the part, from 1, and that of all parts.
    #[must_use]
    pub const fn numbers_of_parts(self) -> (u64, u64) {
        (self.part, self.of)
    }

    /// Returns the numbers of the part's runs among `len`.
    pub fn numbers(self, len: u64) -> impl Iterator<Item = u64> + Send {
        (self.part - 1..len).step_by(self.of as usize)
    }

    /// Returns the number of the part's runs among `len`.
    #[must_use]
    pub const fn len_of(self, len: u64) -> u64 {
        (len + self.of - self.part) / self.of
    }

    /// True for all runs.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.of == 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u64>().ok();
        let parts = text.split_once('/').and_then(|(part, of)| number(part).zip(number(of)));
        match parts {
            Some((part, of)) if (1..=of).contains(&part) && of <= PARTS_MAX => {
                Ok(Self { part, of })
            }
            _ => Err(format!(
                "write the number of the part, from 1, and the number of parts up to {PARTS_MAX}, \
                 such as 1/4"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_every_run_once_and_as_many_as_they_say() {
        for of in 1..9 {
            for len in [0, 1, 7, 8, 100] {
                let mut all = Vec::new();
                for part in 1..=of {
                    let shard: Shard = format!("{part}/{of}").parse().unwrap();
                    let own: Vec<u64> = shard.numbers(len).collect();
                    assert_eq!(own.len() as u64, shard.len_of(len), "{shard} of {len}");
                    assert!(own.iter().all(|n| shard.has(*n)), "{shard} of {len}");
                    all.extend(own);
                }
                all.sort_unstable();
                assert_eq!(all, (0..len).collect::<Vec<_>>(), "{of} parts of {len}");
            }
        }
    }

    #[test]
    fn a_part_is_one_of_the_parts() {
        for bad in ["0/4", "5/4", "1", "1/", "/4", "1/0", "-1/4", "1/4/2", "1/1000001"] {
            assert!(bad.parse::<Shard>().unwrap_err().contains("such as 1/4"), "{bad}");
        }
        assert!("1/1".parse::<Shard>().unwrap().is_whole());
        assert_eq!("3/8".parse::<Shard>().unwrap().to_string(), "3/8");
    }
}
