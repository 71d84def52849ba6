//! Writes descriptors and types of OTG's messages, by their descriptors, options and comments.
//!
//! A type is an invocation of one of the macros in `otg::model`, which make its fields into a Rust type
//! and its traits. The options are those of `options.proto`.

mod field;
mod item;
mod options;

use std::collections::BTreeMap;

use protox::Compiler;
use protox::prost::Message as _;
use protox::prost_reflect::{DescriptorPool, FileDescriptor, MessageDescriptor};

use field::{Error, module};

/// The file of our options, which no client needs.
const OPTIONS: &str = "options.proto";
/// The file that our options extend.
const EXTENDED: &str = "google/protobuf/descriptor.proto";

/// Returns the encoded descriptors without options and comments.
pub fn descriptors(compiler: &Compiler) -> Vec<u8> {
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
pub fn model(pool: &DescriptorPool) -> Result<Vec<(String, String)>, Error> {
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
        if let Some(of) = options::text(&message, "generic") {
            // The first message of a generic type describes it.
            let first = generic.entry(of).or_insert_with(|| message.clone());
            if !is_like(first, &message) {
                return Err(format!("{name}: other fields than {}", first.full_name()).into());
            }
            if *first != message {
                continue;
            }
        }
        out += &item::write(&message).map_err(|why| format!("{name}: {why}"))?;
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
