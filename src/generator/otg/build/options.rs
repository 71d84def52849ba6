//! Reads the options and comments of messages, fields and words.

use protox::prost_reflect::{
    DescriptorPool, DynamicMessage, EnumValueDescriptor, FieldDescriptor, FileDescriptor,
    MessageDescriptor, Value,
};

/// A part of a file that can have options and a comment.
pub(super) trait Described {
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
pub(super) fn text(of: &impl Described, name: &str) -> Option<String> {
    option(of, name).and_then(|(_, value)| value.as_str().map(str::to_owned))
}

/// Returns true if an option is given and true.
pub(super) fn is(of: &impl Described, name: &str) -> bool {
    option(of, name).is_some_and(|(_, value)| value.as_bool() == Some(true))
}

/// Returns the type of the values with the meaning that an option gives.
pub(super) fn meaning(of: &impl Described, name: &str) -> Option<&'static str> {
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
pub(super) fn docs(of: &impl Described, sentence: &str) -> String {
    let file = of.file();
    let info = file.file_descriptor_proto().source_code_info.as_ref();
    let place = info.and_then(|info| info.location.iter().find(|l| l.path == of.place()));
    let comment = place.map_or("", |place| place.leading_comments()).trim_end();
    let space = if comment.is_empty() || sentence.is_empty() { "" } else { " " };
    let text = format!("{comment}{space}{sentence}");
    text.lines().map(|line| format!("/// {}\n", line.trim())).collect()
}
