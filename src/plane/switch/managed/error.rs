//! Errors of writing a managed object.

use core::fmt;

use super::entry::{Reason, Scope, Section};
use super::object::Object;
use super::value::Kind;
use ground::printable::excerpt;

/// A refused write, with the object and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectError {
    /// The object, or the unknown name.
    object: Result<Object, String>,
    reason: Reason,
}

impl ObjectError {
    #[must_use]
    pub const fn new(object: Object, reason: Reason) -> Self {
        Self { object: Ok(object), reason }
    }

    pub(super) fn unknown(name: &str, like: Option<&'static str>) -> Self {
        Self { object: Err(name.into()), reason: Reason::Unknown(like) }
    }

    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.reason
    }
}

impl std::error::Error for ObjectError {}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = match &self.object {
            Ok(object) => *object,
            Err(name) => {
                write!(f, "there is no managed object {}; ", excerpt(name))?;
                return match self.reason {
                    Reason::Unknown(Some(like)) => write!(f, "is {like} meant?"),
                    _ => f.write_str("`sluice ctl objects --describe` names them all"),
                };
            }
        };
        let (name, section) = (object.name(), object.section().key());
        let remedy = object.remedy();
        match &self.reason {
            Reason::Unknown(_) => write!(f, "{name} is unknown"),
            Reason::Range => write!(f, "{name}: {}", wanted(object.kind())),
            Reason::ReadOnly => write!(f, "{name} is a counter and cannot be written"),
            Reason::Start => {
                write!(f, "{name} is fixed when a switch starts; change it in the file and restart")
            }
            Reason::NoSection => {
                write!(f, "{name} is of a feature that is off; put `{remedy}` into the file")?;
                // Clients can create these.
                match object.section() {
                    Section::Sfc | Section::SfcProxy => {
                        write!(f, ", or `sluice ctl create {section}`")
                    }
                    _ => Ok(()),
                }
            }
            Reason::Scope => match object.scope() {
                Scope::Bridge => {
                    write!(f, "{name} is one for the whole switch; leave out the port")
                }
                _ => write!(f, "{name} is the same for all classes of a port; leave out the class"),
            },
            Reason::NoPort => write!(f, "{name}: the switch has no such port"),
            Reason::NoQueue if object.scope() == Scope::Port => {
                write!(f, "{name}: the port has none; put `{remedy}` into its part of the file")
            }
            Reason::NoQueue => write!(
                f,
                "{name}: this queue is not looked at; name its class in `{section}.queues` of the file"
            ),
            Reason::Needs(what) => write!(f, "{name}: {what}"),
            Reason::Contradicts(what) => write!(f, "{name}: {what}"),
        }
    }
}

/// Describes the valid values of a kind.
fn wanted(kind: Kind) -> String {
    format!("wanted is {}", kind.range())
}
