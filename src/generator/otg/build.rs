//! Makes what the OTG server needs of the messages in `proto`: descriptors, by which it reads and
//! writes gRPC, and the types of its model.
//!
//! A type is an invocation of one of the macros in `otg::model`, which make its fields into a Rust type
//! and its traits. The options are those of `options.proto`. The compiler is written in Rust, so no machine needs
//! `protoc` to build this.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use protox::Compiler;
use protox::prost::Message as _;
use protox::prost_reflect::{
    DescriptorPool, DynamicMessage, EnumDescriptor, EnumValueDescriptor, FieldDescriptor,
    FileDescriptor, Kind, MessageDescriptor, Value,
};

/// The reason for which the model cannot be made.
type Error = Box<dyn std::error::Error>;

const PROTO: &str = "proto";

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed={PROTO}");
    let mut compiler = protox::Compiler::new([PROTO])?;
    compiler.include_imports(true).open_file("otg.proto")?;
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let out = Path::new(&out);
    fs::write(out.join("otg.bin"), descriptors(&compiler))?;
    for (name, types) in model(&compiler.descriptor_pool())? {
        fs::write(out.join(name).with_extension("rs"), types)?;
    }
    Ok(())
}

/// The file of our options, which no client needs.
const OPTIONS: &str = "options.proto";
/// The file that our options extend.
const EXTENDED: &str = "google/protobuf/descriptor.proto";

/// Returns the encoded descriptors without options and comments.
fn descriptors(compiler: &Compiler) -> Vec<u8> {
    // Without the file that declares them, our options are not part of the set.
    let mut set = compiler.file_descriptor_set();
    set.file.retain(|file| ![OPTIONS, EXTENDED].contains(&file.name()));
    for file in &mut set.file {
        file.dependency.retain(|name| name != OPTIONS);
    }
    set.encode_to_vec()
}

/// Returns the model's types by the name of their file, without its ending.
///
/// # Errors
/// A message that is not described in full.
fn model(pool: &DescriptorPool) -> Result<Vec<(String, String)>, Error> {
    let ours = |file: &FileDescriptor| file.package_name() == "otg" && file.services().len() == 0;
    let mut files = Vec::new();
    for file in pool.files().filter(ours) {
        let types = types(&file)?;
        if !types.is_empty() {
            files.push((module(&file).to_owned(), types));
        }
    }
    Ok(files)
}

/// Writes the types of a file.
fn types(file: &FileDescriptor) -> Result<String, Error> {
    let mut out = String::new();
    let mut generic = BTreeMap::new();
    for message in file.messages() {
        let name = message.full_name();
        if let Some(of) = option_text(&message, "generic") {
            // The first message of a generic type describes it.
            let first = generic.entry(of).or_insert_with(|| message.clone());
            if !is_like(first, &message) {
                return Err(format!("{name}: other fields than {}", first.full_name()).into());
            }
            // All of them are one type in Rust.
            if *first != message {
                continue;
            }
        }
        out += &write_type(&message).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(out)
}

/// Compares the names and numbers of two messages' fields.
fn is_like(a: &MessageDescriptor, b: &MessageDescriptor) -> bool {
    let fields = |message: &MessageDescriptor| -> Vec<_> {
        message.fields().map(|field| (field.number(), field.name().to_owned())).collect()
    };
    fields(a) == fields(b)
}

/// Writes the type of a message; nothing for one that the model has by hand or not at all.
fn write_type(message: &MessageDescriptor) -> Result<String, Error> {
    if message.name() == "Unsupported" || meaning(message, "pattern").is_some() {
        return Ok(String::new());
    }
    let name = message.name();
    let (using, head, members) = if let Some(name) = option_text(message, "generic") {
        ("parts", name, generic(message)?)
    } else if let Some(first) = option_text(message, "default_choice") {
        ("choice", format!("{name} = {first}"), choice(message, &first)?)
    } else if let (Some(words), 0) = (words(message, "Enum"), message.fields().len()) {
        ("words", name.to_owned(), variants(&words))
    } else {
        ("message", name.to_owned(), members(message)?)
    };
    Ok(format!("{using}! {{\n{}{head} {{\n{members}}}\n}}\n", docs(message, "")))
}

/// Returns a message's fields in the order of the file, in which the model writes them.
fn fields(message: &MessageDescriptor) -> impl Iterator<Item = FieldDescriptor> {
    let mut fields: Vec<_> = message.fields().collect();
    // By the place in the file, which need not be the order of numbers.
    fields.sort_by_key(|field| field.path().last().copied());
    fields.into_iter()
}

/// Returns a message's enum by its name.
fn words(message: &MessageDescriptor, name: &str) -> Option<EnumDescriptor> {
    message.child_enums().find(|words| words.name() == name)
}

/// Writes the words of an enum, without the one for no word.
fn variants(words: &EnumDescriptor) -> String {
    // Number 0 is no word: the field was not set.
    let words = words.values().filter(|word| word.number() != 0);
    words.fold(String::new(), |mut out, word| {
        let (docs, name) = (docs(&word, ""), word.name());
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
            // A word that is also the name of a field has a body.
            Some(field) => out += &alternative(&field)?,
            None => {
                let (docs, name) = (docs(&word, ""), word.name());
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
    let body = format!("({}{})", known.body(is_set(field, "boxed")), known.assignment());
    let body = if is_set(field, "bare") { "" } else { &body };
    Ok(format!("{}{name}: {}{body},\n", known.docs, camel(name)))
}

/// A field of the model.
struct Field {
    /// The type of one value.
    value: String,
    is_list: bool,
    /// The value of a field that is left out, in Rust.
    default: Option<String>,
    is_required: bool,
    docs: String,
}

impl Field {
    /// Reads a field's descriptor; `None` for a field that the model does not know.
    fn read(field: &FieldDescriptor) -> Result<Option<Self>, Error> {
        let kind = field.kind();
        // `Unsupported` stands for every part of OTG that has no type here.
        let has_no_type = kind.as_message().is_some_and(|m| m.name() == "Unsupported");
        if has_no_type || is_set(field, "unsupported") {
            return Ok(None);
        }
        let value = match meaning(field, "meaning") {
            Some(meaning) => meaning.to_owned(),
            None => value_type(&kind)?,
        };
        let is_required = is_set(field, "required");
        let given = option_text(field, "default");
        // A required field is never left out, so its default means nothing to a reader.
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
            docs: docs(field, &sentence),
        }))
    }

    /// Returns the type of the alternative's body.
    fn body(&self, is_boxed: bool) -> String {
        match (self.is_list, is_boxed) {
            (true, _) => format!("Vec<{}>", self.value),
            (false, true) => format!("Box<{}>", self.value),
            (false, false) => self.value.clone(),
        }
    }

    /// Returns the type of the message's field.
    fn member(&self) -> String {
        let is_always = self.is_required || self.default.is_some();
        if self.is_list || is_always { self.body(false) } else { format!("Option<{}>", self.value) }
    }

    /// Returns the type of the generic type's field, whose text is a value `T`.
    fn generic(&self) -> String {
        if self.value == "String" { "Option<T>".to_owned() } else { self.member() }
    }

    /// Returns the default as the macros take it.
    fn assignment(&self) -> String {
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
        Kind::Message(message) => match meaning(message, "pattern") {
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
fn module(file: &FileDescriptor) -> &str {
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
        // In Rust a float has a point.
        _ if value == "f64" && !text.contains('.') => format!("{text}.0"),
        _ => text.to_owned(),
    })
}

/// Returns the name of a variant: `one_to_one` is `OneToOne`.
fn camel(word: &str) -> String {
    let capital = |part: &str| {
        let mut chars = part.chars();
        chars
            .next()
            .map_or_else(String::new, |c| format!("{}{}", c.to_ascii_uppercase(), chars.as_str()))
    };
    word.split('_').map(capital).collect()
}

/// A part of a file that can have options and a comment.
trait Described {
    fn file(&self) -> FileDescriptor;
    /// Returns the place in the file's descriptor.
    fn place(&self) -> &[i32];
    fn set(&self) -> DynamicMessage;
}

macro_rules! described {
    ($($part:ty: $self:ident => $file:expr;)*) => {$(
        impl Described for $part {
            fn file(&$self) -> FileDescriptor {
                $file
            }

            fn place(&self) -> &[i32] {
                self.path()
            }

            fn set(&self) -> DynamicMessage {
                self.options()
            }
        }
    )*};
}

described! {
    MessageDescriptor: self => self.parent_file();
    FieldDescriptor: self => self.parent_file();
    EnumValueDescriptor: self => self.parent_file();
}

/// Returns the value of an option of ours.
fn option(of: &impl Described, name: &str) -> Option<(DescriptorPool, Value)> {
    let (set, pool) = (of.set(), of.file().parent_pool().clone());
    let extension = pool.get_extension_by_name(&format!("otg.{name}"));
    let extension = extension.expect("options.proto declares the option");
    let given = set.has_extension(&extension).then(|| set.get_extension(&extension).into_owned());
    given.map(|value| (pool, value))
}

/// Returns an option with a text.
fn option_text(of: &impl Described, name: &str) -> Option<String> {
    option(of, name).and_then(|(_, value)| value.as_str().map(str::to_owned))
}

/// Returns true if an option is given and true.
fn is_set(of: &impl Described, name: &str) -> bool {
    option(of, name).is_some_and(|(_, value)| value.as_bool() == Some(true))
}

/// Returns the type of the values with the meaning that an option gives.
fn meaning(of: &impl Described, name: &str) -> Option<&'static str> {
    let (pool, value) = option(of, name)?;
    let words = pool.get_enum_by_name("otg.Meaning").expect("options.proto declares the meanings");
    Some(match words.get_value(value.as_enum_number()?)?.name() {
        "NUMBER" => "u32",
        "MAC" => "crate::model::read::MacText",
        "IPV4" => "core::net::Ipv4Addr",
        "IPV6" => "core::net::Ipv6Addr",
        _ => "String",
    })
}

/// Returns the comment above a part as doc comments, with a sentence after it.
fn docs(of: &impl Described, sentence: &str) -> String {
    let file = of.file();
    let info = file.file_descriptor_proto().source_code_info.as_ref();
    // A comment is found by the path of its part in the file's descriptor.
    let place = info.and_then(|info| info.location.iter().find(|l| l.path == of.place()));
    let comment = place.map_or("", |place| place.leading_comments()).trim_end();
    let space = if comment.is_empty() || sentence.is_empty() { "" } else { " " };
    let text = format!("{comment}{space}{sentence}");
    text.lines().map(|line| format!("/// {}\n", line.trim())).collect()
}
