//! Writes patterns into header fields.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::draft::{Draft, Field};
use crate::resolve::findings::Findings;
use host::plan::stream::{self, Checksum, Covered};
use otg::model::pattern::{self, Counter, Generated, Pattern, Random, Values};
use otg::model::read::MacText;

/// The values of a field, as numbers.
pub(super) trait Number: Copy {
    /// Returns the number that the field holds.
    fn number(self) -> u128;
}

impl Number for u32 {
    fn number(self) -> u128 {
        self.into()
    }
}

impl Number for MacText {
    fn number(self) -> u128 {
        self.0.to_u64().into()
    }
}

impl Number for Ipv4Addr {
    fn number(self) -> u128 {
        self.to_bits().into()
    }
}

impl Number for Ipv6Addr {
    fn number(self) -> u128 {
        self.to_bits()
    }
}

/// The resolved pattern of a field.
pub(super) enum Setting {
    /// Not set: the field's default.
    Nothing,
    /// The correct value for the frame.
    Auto,
    These(stream::Values),
}

pub(super) struct Writer<'a> {
    /// The headers so far.
    pub(super) draft: &'a mut Draft,
    pub(super) cx: &'a mut Findings,
    /// The path of the header, such as `flows[0].packet[1].ipv4`.
    pub(super) path: String,
}

impl Writer<'_> {
    /// Writes a field that has a default.
    pub(super) fn put<T: Number>(
        &mut self,
        base: u16,
        field: &Field,
        pattern: &Option<Pattern<T>>,
    ) {
        match self.setting(field, pattern.as_ref()) {
            Setting::These(values) => self.draft.vary(base, field, values),
            Setting::Nothing => self.draft.set(base, field, field.default),
            Setting::Auto => {
                self.draft.set(base, field, field.default);
                self.error(field, "", "there is nothing to fill this in from; give its value");
            }
        }
    }

    /// Writes several fields that have defaults.
    pub(super) fn put_all<T: Number>(&mut self, base: u16, all: &[(Field, &Option<Pattern<T>>)]) {
        for (field, pattern) in all {
            self.put(base, field, pattern);
        }
    }

    /// Writes a field with `right` as the value for auto and for an unset field; returns true if
    /// `right` was used.
    pub(super) fn fill<T: Number>(
        &mut self,
        base: u16,
        field: &Field,
        pattern: &Option<Pattern<T>>,
        right: u128,
    ) -> bool {
        match self.setting(field, pattern.as_ref()) {
            Setting::These(values) => {
                self.draft.vary(base, field, values);
                false
            }
            Setting::Nothing | Setting::Auto => {
                self.draft.set(base, field, right);
                true
            }
        }
    }

    /// Writes a checksum over `over`; without that, a calculated checksum stays 0, with a warning.
    pub(super) fn checksum(
        &mut self,
        base: u16,
        field: &Field,
        pattern: &Option<pattern::Checksum>,
        over: Option<Covered>,
    ) {
        let bad = match pattern {
            Some(pattern::Checksum::Custom(value)) => {
                let value = u128::from(*value);
                if value > field.max() {
                    self.too_much(field, ".custom", value);
                }
                self.draft.set(base, field, value);
                return;
            }
            Some(pattern::Checksum::Generated(Generated::Bad)) => true,
            _ => false,
        };
        match over {
            Some(over) => {
                // Made at the end, when all bytes that it covers are known.
                let at = base + field.bit / 8;
                self.draft.checksums.push(Checksum { at, over, bad });
            }
            None => {
                let what = "stays 0, because there is no IP header in front of it";
                self.cx.warn(self.path_of(field, ""), what);
            }
        }
    }

    /// Resolves the pattern of a field. Values that do not fit are reported and ignored.
    pub(super) fn setting<T: Number>(
        &mut self,
        field: &Field,
        pattern: Option<&Pattern<T>>,
    ) -> Setting {
        let Some(pattern) = pattern else { return Setting::Nothing };
        if !pattern.metric_tags.is_empty() {
            let what = "metrics are not split by tags here; take them out, and give each value \
                        a separate flow";
            self.error(field, ".metric_tags", what);
        }
        let before = self.cx.errors();
        let values = match &pattern.values {
            Values::One(None) => return Setting::Nothing,
            Values::One(Some(value)) => {
                stream::Values::List(vec![self.fitting(field, ".value", value.number())])
            }
            Values::List(list) if list.is_empty() => {
                self.error(field, ".values", "an empty list; give at least one value");
                return Setting::Nothing;
            }
            Values::List(list) => stream::Values::List(self.list(field, list)),
            Values::Increment(c) => {
                let (start, step, count) = self.counter(field, ".increment", c);
                stream::Values::Increment { start, step, count }
            }
            Values::Decrement(c) => {
                let (start, step, count) = self.counter(field, ".decrement", c);
                stream::Values::Decrement { start, step, count }
            }
            Values::Random(random) => self.random(field, random),
            Values::Auto => return Setting::Auto,
            Values::Other { .. } => return Setting::Nothing,
        };
        // A value with an error would not fit, so the field counts as not set.
        if self.cx.errors() == before { Setting::These(values) } else { Setting::Nothing }
    }

    fn list<T: Number>(&mut self, field: &Field, list: &[T]) -> Vec<u128> {
        let one =
            |(i, value): (usize, &T)| self.fitting(field, &format!(".values[{i}]"), value.number());
        list.iter().enumerate().map(one).collect()
    }

    fn counter<T: Number>(
        &mut self,
        field: &Field,
        name: &str,
        counter: &Counter<T>,
    ) -> (u128, u128, u64) {
        // Without a start a counter begins at the field's default.
        let start = counter.start.map_or(field.default, Number::number);
        let start = self.fitting(field, &format!("{name}.start"), start);
        let step = counter.step.map_or(1, Number::number);
        let step = self.fitting(field, &format!("{name}.step"), step);
        (start, step, self.count(field, name, counter.count))
    }

    fn random<T: Number>(&mut self, field: &Field, random: &Random<T>) -> stream::Values {
        let min = random.min.map_or(0, Number::number);
        let max = random.max.map_or(field.max(), Number::number);
        // `min` is at most `max`, and so fits as well.
        self.fitting(field, ".random.max", max);
        if min > max {
            self.error(field, ".random", "`min` is above `max`; swap them");
        }
        let count = self.count(field, ".random", random.count);
        let seed = match random.seed {
            // OTG: seed 0 gives values that differ in every run.
            0 => chance(),
            seed => seed.into(),
        };
        stream::Values::Random { min, max, count, seed }
    }

    fn count(&mut self, field: &Field, name: &str, count: u32) -> u64 {
        if count == 0 {
            self.error(field, &format!("{name}.count"), "0 values are none; write 1 or more");
        }
        count.into()
    }

    /// Checks that a value fits its field and reports an error otherwise.
    fn fitting(&mut self, field: &Field, name: &str, value: u128) -> u128 {
        if value > field.max() {
            self.too_much(field, name, value);
        }
        value
    }

    fn too_much(&mut self, field: &Field, name: &str, value: u128) {
        let (bits, max) = (field.bits, field.max());
        let what = format!("{value} does not fit into {bits} bits; write 0 to {max}");
        self.error(field, name, &what);
    }

    fn error(&mut self, field: &Field, name: &str, what: &str) {
        self.cx.error(self.path_of(field, name), what);
    }

    fn path_of(&self, field: &Field, name: &str) -> String {
        format!("{}.{}{name}", self.path, field.name)
    }
}

/// Returns a random number.
fn chance() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::hash::RandomState::new().build_hasher().finish()
}
