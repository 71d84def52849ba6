//! Why an object was not written.

use core::fmt;

use super::{Access, Kind, Object, Scope};
use crate::printable::excerpt;

/// A refusal, with the object and what to do instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectError {
    /// The object, or the name that is none.
    object: Result<Object, String>,
    reason: Reason,
}

/// Why an object was not written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No object has this name; another one may be meant.
    Unknown(Option<&'static str>),
    /// Not of its kind, or out of its range.
    Range,
    /// It is read only.
    ReadOnly,
    /// It is fixed when the switch starts.
    Start,
    /// The plan does not have the section that it is in.
    NoSection,
    /// It does not exist per port, or not per traffic class.
    Scope,
    /// There is no such port.
    NoPort,
    /// The section does not look at this queue.
    NoQueue,
    /// Something else has to be set before it.
    Needs(&'static str),
    /// It would contradict something else.
    Contradicts(String),
}

impl ObjectError {
    /// An object that was not written.
    #[must_use]
    pub const fn new(object: Object, reason: Reason) -> Self {
        Self { object: Ok(object), reason }
    }

    pub(super) fn unknown(name: &str, like: Option<&'static str>) -> Self {
        Self { object: Err(name.into()), reason: Reason::Unknown(like) }
    }

    /// Why.
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
        match &self.reason {
            Reason::Unknown(_) => write!(f, "{name} is unknown"),
            Reason::Range => write!(f, "{name}: {}", wanted(object.kind())),
            Reason::ReadOnly => write!(f, "{name} is a counter and cannot be written"),
            Reason::Start => {
                write!(f, "{name} is fixed when a switch starts; change it in the file and restart")
            }
            Reason::NoSection => {
                write!(f, "{name} is of a feature that is off; put `{section}: {{}}` into the file")
            }
            Reason::Scope => match object.scope() {
                Scope::Bridge => {
                    write!(f, "{name} is one for the whole switch; leave out the port")
                }
                _ => write!(f, "{name} is the same for all classes of a port; leave out the class"),
            },
            Reason::NoPort => write!(f, "{name}: the switch has no such port"),
            Reason::NoQueue if object.scope() == Scope::Port => {
                write!(
                    f,
                    "{name}: the port has none; put `{section}: {{}}` into its part of the file"
                )
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

/// What values of a kind are.
fn wanted(kind: Kind) -> String {
    format!("wanted is {}", kind.range())
}

impl Access {
    /// A word for tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ReadWrite => "rw",
            Self::Start => "start",
            Self::ReadOnly => "ro",
        }
    }
}
