//! Resolves the fields that set managed objects: range, default and place in the plan are in the
//! table of objects.

use super::{Cx, Place};
use crate::raw::{MessageLimit, Settings, out_of_range};
use ground::time::Duration;
use switch::CongestionPlan;
use switch::managed::{At, Kind, Object, configure};

/// Writes the objects that the fields of `said` set, to their defaults where the file has no valid
/// value. An object without a default stays as it is in the plan. `section` begins the names of
/// this project's objects.
pub(super) fn settings(
    cx: &mut Cx,
    (at, section): (&Place<'_>, &str),
    said: &impl Settings,
    plan: &mut CongestionPlan,
    spot: At,
) {
    said.visit(|key, name, said| {
        let own = Object::named(&format!("{section}.{name}"));
        let object = own.or_else(|_| Object::named(name)).expect("a name of the table");
        let kind = object.kind();
        let read = |said: &dyn crate::raw::Setting| {
            let value = said.value(kind)?;
            kind.takes(&value).then_some(value).ok_or_else(|| out_of_range(kind, value))
        };
        let valid =
            said.and_then(|said| read(said).map_err(|what| cx.error(&at.key(key), what)).ok());
        if let Some(value) = valid.or(object.default()) {
            configure(plan, object, spot, value).expect("the plan has the section and the queue");
        }
    });
}

/// Returns the range of an object, a number, in its unit.
pub(super) fn range(name: &str) -> (i64, i64) {
    match Object::named(name).map(Object::kind) {
        Ok(Kind::Number { least, most, .. }) => (least, most),
        _ => unreachable!("{name} is no number of the table"),
    }
}

/// Returns the range of an object that is a time.
pub(super) fn times(name: &str) -> (Duration, Duration) {
    let (least, most) = range(name);
    (Duration::from_picos(least.unsigned_abs()), Duration::from_picos(most.unsigned_abs()))
}

/// Resolves a rate limit of messages; without one the defaults of its objects.
pub(super) fn limit(
    cx: &mut Cx,
    (at, section, key): (&Place<'_>, &str, &str),
    said: Option<&MessageLimit>,
    plan: &mut CongestionPlan,
) {
    let (usual, name) = (MessageLimit::default(), format!("{section}.{key}"));
    settings(cx, (&at.key(key), &name), said.unwrap_or(&usual), plan, At::default());
}
