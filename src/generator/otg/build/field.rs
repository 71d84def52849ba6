//! Rust types and defaults of fields.

use protox::prost_reflect::{
    EnumDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor,
};

use super::options;

/// The reason for which the model cannot have a message.
pub(super) type Error = Box<dyn std::error::Error>;

/// A field of the model.
pub(super) struct Field {
    /// The type of one value.
    value: String,
    is_list: bool,
    /// The value of a field that is left out, in Rust.
    pub(super) default: Option<String>,
    pub(super) is_required: bool,
    pub(super) docs: String,
}

impl Field {
    /// Reads a field's descriptor; `None` for a field that the model does not know.
    pub(super) fn read(field: &FieldDescriptor) -> Result<Option<Self>, Error> {
        let kind = field.kind();
        let has_no_type = kind.as_message().is_some_and(|m| m.name() == "Unsupported");
        if has_no_type || options::is(field, "unsupported") {
            return Ok(None);
        }
        let value = match options::meaning(field, "meaning") {
            Some(meaning) => meaning.to_owned(),
            None => value_type(&kind)?,
        };
        let is_required = options::is(field, "required");
        let given = options::text(field, "default");
        let sentence = match given.as_deref() {
            Some(text) if !is_required && !text.is_empty() => format!("Default: {text}."),
            _ => String::new(),
        };
        let default = match given {
            Some(text) => Some(literal(&kind, &value, &text)?),
            // Addresses have no default of their type.
            None if is_required && value.starts_with("core::net") => {
                Some(format!("{value}::UNSPECIFIED"))
            }
            None => None,
        };
        Ok(Some(Self {
            value,
            is_list: field.is_list(),
            default,
            is_required,
            docs: options::docs(field, &sentence),
        }))
    }

    /// Returns the type of the alternative's body.
    pub(super) fn body(&self, is_boxed: bool) -> String {
        match (self.is_list, is_boxed) {
            (true, _) => format!("Vec<{}>", self.value),
            (false, true) => format!("Box<{}>", self.value),
            (false, false) => self.value.clone(),
        }
    }

    /// Returns the type of the message's field.
    pub(super) fn member(&self) -> String {
        let is_always = self.is_required || self.default.is_some();
        if self.is_list || is_always { self.body(false) } else { format!("Option<{}>", self.value) }
    }

    /// Returns the type of the generic type's field, whose text is a value `T`.
    pub(super) fn generic(&self) -> String {
        if self.value == "String" { "Option<T>".to_owned() } else { self.member() }
    }

    /// Returns the default as the macros take it.
    pub(super) fn assignment(&self) -> String {
        self.default.as_ref().map_or_else(String::new, |default| format!(" = {default}"))
    }
}

/// Returns the type of a value without a meaning.
fn value_type(kind: &Kind) -> Result<String, Error> {
    Ok(match kind {
        Kind::Bool => "bool".to_owned(),
        Kind::Int32 => "i32".to_owned(),
        Kind::Uint32 => "u32".to_owned(),
        Kind::Uint64 => "u64".to_owned(),
        Kind::Float | Kind::Double => "f64".to_owned(),
        Kind::String => "String".to_owned(),
        Kind::Enum(words) => words_type(words).unwrap_or_else(|| "String".to_owned()),
        Kind::Message(message) => match options::meaning(message, "pattern") {
            Some(value) => format!("crate::model::pattern::Pattern<{value}>"),
            None => path(message),
        },
        other => return Err(format!("the model has no type for {other:?}").into()),
    })
}

/// Returns the type of words, if they stand outside of other messages.
fn words_type(words: &EnumDescriptor) -> Option<String> {
    words.parent_message().filter(|outer| outer.parent_message().is_none()).map(|m| path(&m))
}

/// Returns the module with the types of a file.
pub(super) fn module(file: &FileDescriptor) -> &str {
    file.name().trim_end_matches(".proto")
}

fn path(message: &MessageDescriptor) -> String {
    format!("crate::model::{}::{}", module(&message.parent_file()), message.name())
}

/// Writes a default in Rust.
fn literal(kind: &Kind, value: &str, text: &str) -> Result<String, Error> {
    Ok(match kind {
        Kind::Enum(words) => {
            if words.get_value_by_name(text).is_none() {
                return Err(
                    format!("`{text}` is none of the words of {}", words.full_name()).into()
                );
            }
            match words_type(words) {
                Some(words) => format!("{words}::{}", camel(text)),
                None => format!("{text:?}.into()"),
            }
        }
        Kind::Message(_) => return Err("a message has no default".into()),
        _ if value == "String" => format!("{text:?}.into()"),
        _ if value == "f64" && !text.contains('.') => format!("{text}.0"),
        _ => text.to_owned(),
    })
}

/// Returns the name of a variant: `one_to_one` is `OneToOne`.
pub(super) fn camel(word: &str) -> String {
    let capital = |part: &str| {
        let mut chars = part.chars();
        chars
            .next()
            .map_or_else(String::new, |c| format!("{}{}", c.to_ascii_uppercase(), chars.as_str()))
    };
    word.split('_').map(capital).collect()
}
