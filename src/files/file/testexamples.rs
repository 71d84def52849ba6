//! Examples of a kind of file, and changes of them that no reader may panic about.

/// Folder that paths are relative to.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Returns the YAML files of a folder, relative to the root of the workspace, with their names and in
/// the order of these.
pub fn all(folder: &str) -> Vec<(String, String)> {
    let paths = std::fs::read_dir(format!("{ROOT}/{folder}")).unwrap().map(|e| e.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|e| e == "yaml"));
    let mut all: Vec<_> = paths
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    all.sort();
    all
}

/// Returns a text with a character put in at a place, which is counted round.
pub fn with_character(text: &str, place: usize, c: char) -> String {
    let mut text = text.to_owned();
    let place = (0..=place % text.len()).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    text.insert(place, c);
    text
}

/// Returns a text in which the value of this line, counted over all lines with a key, is another one.
pub fn with_value(text: &str, field: usize, value: &str) -> String {
    let mut count = 0;
    let lines = text.lines().map(|line| {
        let Some((key, _)) = line.split_once(": ").filter(|(key, _)| !key.contains('#')) else {
            return line.to_owned();
        };
        count += 1;
        if count == field { format!("{key}: {value}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Values that are unusual in every field.
pub const ODD: [&str; 21] = [
    "0",
    "-1",
    "18446744073709551615",
    "18446744073709551616",
    "4GiB",
    "99999999 GiB",
    "1e308",
    "~",
    "[]",
    "{}",
    "[0, 0, 0]",
    "0-4095",
    "10Tbps",
    "1ps",
    "100d",
    "all",
    "{hosts: 4294967295}",
    "{star: {hosts: 1000000}}",
    "{fat_tree: {k: 32}}",
    "{parking_lot: {switches: 1024, hosts_per_switch: 1000}}",
    "{name: s1, from: s1, to: s1, at: 0s}",
];
