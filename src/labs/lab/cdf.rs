//! Distributions of message sizes: points of a cumulative distribution function (CDF), linear in
//! between.

use crate::raw::Published;
use config::quantity::Size;
use ground::rand::Rng;

/// Largest size in bytes: 1 TB.
const SIZE_MAX: u64 = 1_000_000_000_000;

/// Most points of a distribution.
const POINTS_MAX: usize = 100_000;

/// A validated distribution of sizes in bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Cdf {
    /// Sizes with their cumulative probabilities. Neither decreases; the last probability is 1.
    points: Vec<(f64, f64)>,
}

/// A point that is refused: its number from 1 (of a file its line), and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadPoint {
    pub number: usize,
    pub why: String,
}

impl Cdf {
    /// Returns a published distribution.
    pub fn published(which: Published) -> Self {
        let text = match which {
            Published::Websearch => include_str!("cdf/websearch.txt"),
            Published::Hadoop => include_str!("cdf/hadoop.txt"),
        };
        Self::parse(text).expect("the program's own files are valid")
    }

    /// Reads a text with a size and its cumulative probability on each line; `#` starts a comment.
    ///
    /// # Errors
    /// The first line that is not valid.
    pub fn parse(text: &str) -> Result<Self, BadPoint> {
        let mut points = Vec::new();
        let mut last = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split(|c: char| c.is_whitespace() || c == ',');
            let words: Vec<&str> = words.by_ref().filter(|word| !word.is_empty()).collect();
            let bad = |why: String| BadPoint { number, why };
            let point = match words[..] {
                [] => continue,
                [size, probability] => {
                    let size = size.parse::<Size>().map_err(bad)?;
                    (number, size.0, self::probability(probability).map_err(bad)?)
                }
                _ => {
                    let what = "needs two numbers: a size in bytes and its cumulative probability";
                    return Err(bad(what.into()));
                }
            };
            last = number;
            points.push(point);
        }
        Self::new(points, last.max(1))
    }

    /// Makes a distribution of points in a list.
    ///
    /// # Errors
    /// The first point that is not valid.
    pub fn of_points(points: &[(Size, f64)]) -> Result<Self, BadPoint> {
        let numbered = (1..).zip(points).map(|(number, (size, p))| (number, size.0, *p));
        Self::new(numbered.collect(), points.len().max(1))
    }

    /// Validates points, each with its number; `last` is the place of what is missing at the end.
    fn new(points: Vec<(usize, u64, f64)>, last: usize) -> Result<Self, BadPoint> {
        let mut before = (0, 0.0);
        for (number, size, p) in &points {
            let bad = |why: String| Err(BadPoint { number: *number, why });
            if !(0.0..=1.0).contains(p) {
                // Percent without the sign is the usual mistake.
                let percent = if *p > 1.0 && *p <= 100.0 { "; for percent write 15%" } else { "" };
                return bad(format!("{p} is no probability: choose 0 to 1{percent}"));
            }
            if *size > SIZE_MAX {
                return bad(format!("{size} bytes are more than {SIZE_MAX}"));
            }
            if *size < before.0 {
                return bad(format!("size {size} is below {}, the size before it", before.0));
            }
            if *p < before.1 {
                return bad(format!("probability {p} is below {}, the one before it", before.1));
            }
            before = (*size, *p);
        }
        let bad = |why: String| Err(BadPoint { number: last, why });
        if points.is_empty() {
            return bad("there are no points".into());
        }
        if points.len() > POINTS_MAX {
            return bad(format!("{} points are more than {POINTS_MAX}", points.len()));
        }
        if before.1 < 1.0 {
            return bad(format!("ends at probability {}; the last one must be 1", before.1));
        }
        // A mean of 0 would make the interval of messages under a load 0.
        if before.0 == 0 {
            return bad("no message has any bytes; the last size must be above 0".into());
        }
        Ok(Self { points: points.iter().map(|(_, size, p)| (*size as f64, *p)).collect() })
    }

    /// Returns the mean size in bytes.
    pub fn mean(&self) -> f64 {
        self.sum(|from, to| (from + to) / 2.0)
    }

    /// Returns the mean number of packets of up to `payload` bytes that a message takes.
    pub fn mean_packets(&self, payload: u32) -> f64 {
        let full = f64::from(payload.max(1));
        // The integral of the number of packets over sizes from 0 to x.
        let integral = |x: f64| {
            // A message of s bytes takes ceil(s / full) packets: `full` bytes of each number up to x, and the rest.
            let whole = (x / full).floor();
            full * whole * (whole + 1.0) / 2.0 + (x - whole * full) * (whole + 1.0)
        };
        self.sum(|from, to| {
            if to > from {
                (integral(to) - integral(from)) / (to - from)
            } else {
                // Two points of one size are a step of the distribution: a share of messages with that very size.
                (from / full).ceil().max(1.0)
            }
        })
    }

    /// Returns the weighted sum of a function's means over the parts of the distribution. A first
    /// probability above 0 is that of the first size alone.
    fn sum(&self, mean: impl Fn(f64, f64) -> f64) -> f64 {
        let (first, p) = self.points[0];
        let rest = self.points.windows(2).map(|w| (w[1].1 - w[0].1) * mean(w[0].0, w[1].0));
        p * mean(first, first) + rest.sum::<f64>()
    }

    /// Draws a size in bytes, at least 1.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.at(rng.unit())
    }

    /// Returns the size of this cumulative probability, 0 up to but not including 1.
    fn at(&self, u: f64) -> u64 {
        // The first point above `u`, so a step is met by its upper end and `high - low` is never 0.
        let i = self.points.partition_point(|(_, p)| *p <= u);
        let (to, high) = self.points[i.min(self.points.len() - 1)];
        let size = match i.checked_sub(1).map(|before| self.points[before]) {
            Some((from, low)) => from + (to - from) * ((u - low) / (high - low)),
            None => to,
        };
        (size.round() as u64).max(1)
    }
}

/// Parses a probability: `0.15` or `15%`.
fn probability(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let found = number.parse::<f64>().ok().filter(|p| p.is_finite());
    found.map(|p| p / scale).ok_or_else(|| {
        let text = ground::printable::excerpt(text);
        format!("`{text}` is no probability; write 0.15 or 15%")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(text: &str) -> (usize, String) {
        let BadPoint { number, why } = Cdf::parse(text).expect_err(text);
        (number, why)
    }

    #[test]
    fn the_published_means_are_those_of_the_literature() {
        let websearch = Cdf::published(Published::Websearch);
        let hadoop = Cdf::published(Published::Hadoop);
        // By hand: the sums of (from + to) / 2 times the difference of probabilities.
        assert!((websearch.mean() - 1_711_250.0).abs() < 1e-3, "{}", websearch.mean());
        assert!((hadoop.mean() - 120_420.75).abs() < 1e-3, "{}", hadoop.mean());
        assert_eq!((websearch.at(0.53), websearch.at(0.565)), (80_000, 140_000));
        assert_eq!((hadoop.at(0.0), hadoop.at(0.5)), (1, 700));
    }

    #[test]
    fn between_two_points_it_is_linear() {
        let cdf = Cdf::parse("# bytes, probability\n1KB 0\n3KB, 50%  # half\n\n10KB\t1").unwrap();
        assert_eq!([0.0, 0.25, 0.5, 0.75].map(|u| cdf.at(u)), [1_000, 2_000, 3_000, 6_500]);
        assert_eq!(cdf.at(1.0 - f64::EPSILON), 10_000);
        assert_eq!(cdf.mean(), 0.5 * 2_000.0 + 0.5 * 6_500.0);
        // A first probability above 0, and a step, are those of single sizes.
        let steps = Cdf::parse("100 0.5\n200 0.5\n200 1").unwrap();
        assert_eq!([0.0, 0.49, 0.5, 0.99].map(|u| steps.at(u)), [100, 100, 200, 200]);
        assert_eq!((steps.mean(), steps.mean_packets(150)), (150.0, 1.5));
    }

    #[test]
    fn drawn_sizes_have_the_distribution() {
        let (seed, n) = (11, 200_000);
        for which in [Published::Websearch, Published::Hadoop] {
            let cdf = Cdf::published(which);
            let mut rng = Rng::new(seed);
            let all: Vec<u64> = (0..n).map(|_| cdf.draw(&mut rng)).collect();
            for (size, p) in &cdf.points {
                let below = all.iter().filter(|drawn| (**drawn as f64) <= *size).count();
                // Five standard deviations of a share of 200,000 are below 0.0056.
                let share = below as f64 / f64::from(n);
                assert!((share - p).abs() < 0.0057, "{which:?} seed {seed}: {size} {share} {p}");
            }
            let packets = all.iter().map(|bytes| bytes.div_ceil(1_456) as f64).sum::<f64>();
            let (found, mean) = (packets / f64::from(n), cdf.mean_packets(1_456));
            assert!((found / mean - 1.0).abs() < 0.04, "{which:?} seed {seed}: {found} {mean}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_its_line() {
        for (text, line, why) in [
            ("", 1, "there are no points"),
            ("# none\n", 1, "there are no points"),
            ("0 0\n10 0.5\n", 2, "ends at probability 0.5; the last one must be 1"),
            ("0 0\n10 0.5\n5 1", 3, "size 5 is below 10, the size before it"),
            ("0 0\n10 0.5\n\n20 0.4\n30 1", 4, "probability 0.4 is below 0.5, the one before it"),
            ("0 0\n10 15", 2, "15 is no probability: choose 0 to 1; for percent write 15%"),
            ("0 -0.1\n10 1", 1, "-0.1 is no probability: choose 0 to 1"),
            ("0 0 0\n10 1", 1, "needs two numbers: a size in bytes and its cumulative probability"),
            ("10", 1, "needs two numbers: a size in bytes and its cumulative probability"),
            ("10 nan", 1, "`nan` is no probability; write 0.15 or 15%"),
            ("10 x", 1, "`x` is no probability; write 0.15 or 15%"),
            ("0 1", 1, "no message has any bytes; the last size must be above 0"),
            ("2000GB 1", 1, "2000000000000 bytes are more than 1000000000000"),
        ] {
            assert_eq!(bad(text), (line, why.to_owned()), "{text:?}");
        }
        let (line, why) = bad("0 0\n64K 1");
        assert!(line == 2 && why.contains("write KB or KiB"), "{why}");
        let points = [(Size(5), 0.5), (Size(1), 1.0)];
        assert_eq!(Cdf::of_points(&points).map_err(|bad| bad.number), Err(2));
    }
}
