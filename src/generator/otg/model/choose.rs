//! Selection of the alternative of a choice.

use serde::de;

/// The selected alternative.
pub(super) enum Picked<T> {
    /// An alternative with its body.
    Given(T),
    /// An alternative by name, without a body.
    Bare(String),
    /// Neither a choice nor an alternative.
    Default,
}

/// Selects one of the `given` alternatives. With a `choice`, other alternatives beside it are
/// ignored, as OTG specifies, but fields that are not in `known` are refused.
///
/// # Errors
/// Several alternatives and no choice; unknown fields beside the alternative.
pub(super) fn pick<T, E: de::Error>(
    choice: Option<String>,
    given: Vec<(String, T)>,
    known: &'static [&'static str],
) -> Result<Picked<T>, E> {
    let Some(choice) = choice else {
        let mut given = given;
        return match given.len() {
            0 => Ok(Picked::Default),
            1 => Ok(given.pop().map_or(Picked::Default, |(_, body)| Picked::Given(body))),
            _ => {
                let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
                let names = names.join(", ");
                Err(E::custom(format!("has {names}; keep one, or name it in `choice`")))
            }
        };
    };
    let mut picked = Picked::Bare(choice);
    for (name, body) in given {
        match &picked {
            Picked::Bare(choice) if *choice == name => picked = Picked::Given(body),
            _ if known.contains(&name.as_str()) => {}
            _ => return Err(E::unknown_field(&name, known)),
        }
    }
    Ok(picked)
}
