//! Types: messages, choices, words, and types over values of any meaning.

use std::fmt::Write as _;

use protox::prost_reflect::{EnumDescriptor, FieldDescriptor, MessageDescriptor};

use super::field::{Error, Field, camel};
use super::options;

/// Writes the type of a message; nothing for one that the model has by hand or not at all.
pub(super) fn write(message: &MessageDescriptor) -> Result<String, Error> {
    if message.name() == "Unsupported" || options::meaning(message, "pattern").is_some() {
        return Ok(String::new());
    }
    let name = message.name();
    let (using, head, members) = if let Some(name) = options::text(message, "generic") {
        ("parts", name, generic(message)?)
    } else if let Some(first) = options::text(message, "default_choice") {
        ("choice", format!("{name} = {first}"), choice(message, &first)?)
    } else if let (Some(words), 0) = (words(message, "Enum"), message.fields().len()) {
        ("words", name.to_owned(), variants(&words))
    } else {
        ("message", name.to_owned(), members(message)?)
    };
    Ok(format!("{using}! {{\n{}{head} {{\n{members}}}\n}}\n", options::docs(message, "")))
}

/// Returns a message's fields in the order of the file, in which the model writes them.
fn fields(message: &MessageDescriptor) -> impl Iterator<Item = FieldDescriptor> {
    let mut fields: Vec<_> = message.fields().collect();
    fields.sort_by_key(|field| field.path().last().copied());
    fields.into_iter()
}

/// Returns a message's enum by its name.
fn words(message: &MessageDescriptor, name: &str) -> Option<EnumDescriptor> {
    message.child_enums().find(|words| words.name() == name)
}

/// Writes the words of an enum, without the one for no word.
fn variants(words: &EnumDescriptor) -> String {
    let words = words.values().filter(|word| word.number() != 0);
    words.fold(String::new(), |mut out, word| {
        let (docs, name) = (options::docs(&word, ""), word.name());
        let _ = writeln!(out, "{docs}{name}: {},", camel(name));
        out
    })
}

/// Writes the fields of a message.
fn members(message: &MessageDescriptor) -> Result<String, Error> {
    each(message, |name, field| {
        let required = if field.is_required { "; required" } else { "" };
        format!("{}{name}: {}{}{required},\n", field.docs, field.member(), field.assignment())
    })
}

/// Writes the fields of a type over values of any meaning.
fn generic(message: &MessageDescriptor) -> Result<String, Error> {
    each(message, |name, field| {
        format!("{}{name}: {}{},\n", field.docs, field.generic(), field.assignment())
    })
}

/// Writes each field that the model knows.
fn each(
    message: &MessageDescriptor,
    write: impl Fn(&str, &Field) -> String,
) -> Result<String, Error> {
    let mut out = String::new();
    for field in fields(message) {
        if let Some(known) =
            Field::read(&field).map_err(|why| format!("{}: {why}", field.name()))?
        {
            out += &write(field.name(), &known);
        }
    }
    Ok(out)
}

/// Writes the alternatives of a choice: its fields, and the words that are no fields.
fn choice(message: &MessageDescriptor, first: &str) -> Result<String, Error> {
    let choices = message.child_messages().find(|inner| inner.name() == "Choice");
    let choices = choices.and_then(|inner| words(&inner, "Enum")).ok_or("it has no `Choice`")?;
    if choices.get_value_by_name(first).is_none() {
        return Err(format!("`{first}` is none of the choices").into());
    }
    let mut out = String::new();
    for word in choices.values().filter(|word| word.number() != 0) {
        match message.get_field_by_name(word.name()) {
            Some(field) => out += &alternative(&field)?,
            None => {
                let (docs, name) = (options::docs(&word, ""), word.name());
                let _ = writeln!(out, "{docs}{name}: {},", camel(name));
            }
        }
    }
    // OTG has alternatives without a word.
    let is_word = |field: &FieldDescriptor| choices.get_value_by_name(field.name()).is_some();
    for field in fields(message).filter(|field| field.name() != "choice" && !is_word(field)) {
        out += &alternative(&field)?;
    }
    Ok(out)
}

/// Writes an alternative with a body; nothing for one that the model does not know.
fn alternative(field: &FieldDescriptor) -> Result<String, Error> {
    let name = field.name();
    let Some(known) = Field::read(field).map_err(|why| format!("{name}: {why}"))? else {
        return Ok(String::new());
    };
    let body = format!("({}{})", known.body(options::is(field, "boxed")), known.assignment());
    let body = if options::is(field, "bare") { "" } else { &body };
    Ok(format!("{}{name}: {}{body},\n", known.docs, camel(name)))
}
