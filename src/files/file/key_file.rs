//! Reads keys from files and from text: hexadecimal digits that others can neither read nor keep.
//!
//! A key file is refused unless it is a regular file, belongs to the user of this process or to
//! root, and has no permissions for others. The buffers are wiped before these functions return,
//! and no error quotes them.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Once;

use zeroize::Zeroizing;

use secure::Sak;

/// Longest text of a key in bytes: 64 digits, and white space around them.
const TEXT_MAX: usize = 256;
/// Permission bits of group and others.
const OTHERS: u32 = 0o077;
const ROOT: u32 = 0;

/// Reads the key in a file.
///
/// # Errors
/// The file cannot be read, others could read or change it, or it has no key. The text includes the
/// remedy.
pub fn read_key(path: &Path) -> Result<Sak, String> {
    let name = path.display();
    // Before any message names the file.
    if looks_like_a_key(path) {
        return Err(
            "this is a key, not the name of a file: write `key`, or put it into a file".into()
        );
    }
    let unreadable = |e: std::io::Error| format!("`{name}` cannot be read: {e}");
    // Checked before opening, because opening a pipe would block.
    check(&std::fs::metadata(path).map_err(unreadable)?, path)?;
    let mut file = File::open(path).map_err(unreadable)?;
    // And once more what was opened, which may be another file by now.
    check(&file.metadata().map_err(unreadable)?, path)?;
    read_from(&mut file).map_err(|why| format!("`{name}` {why}"))
}

/// Reads a key from a stream that ends, such as standard input.
///
/// # Errors
/// The stream cannot be read, or has no key.
pub fn read_from(from: &mut impl Read) -> Result<Sak, String> {
    keep_out_of_core_dumps();
    // A buffer of fixed size: one that grows would leave copies behind that are not wiped.
    let mut text = Zeroizing::new([0_u8; TEXT_MAX]);
    let mut len = 0;
    while len < TEXT_MAX {
        match from.read(&mut text[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(format!("cannot be read: {e}")),
        }
    }
    // There may be more to read, and no key is that long.
    if len == TEXT_MAX {
        return Err("is too long for a key of 32 or 64 hexadecimal digits".into());
    }
    key_of(text[..len].trim_ascii()).map_err(|why| format!("has no key: {why}"))
}

/// Parses a key of 32 or 64 hexadecimal digits.
///
/// # Errors
/// The problem, without quoting any digit.
pub fn key_of(text: &[u8]) -> Result<Sak, String> {
    keep_out_of_core_dumps();
    let mut key = Zeroizing::new([0_u8; 32]);
    match text.len() {
        32 | 64 => {}
        n => return Err(format!("{n} characters; a key has 32 or 64 hexadecimal digits")),
    }
    let len = text.len() / 2;
    octets_of(text, &mut key[..len])?;
    Sak::new(&key[..len]).ok_or_else(|| "a key has 16 or 32 octets".into())
}

/// Disables core dumps of this process for its lifetime, because they would contain its keys.
///
/// RLIMIT_CORE has no effect where the kernel pipes dumps to a program (core(5)), so the process is
/// made undumpable, too.
pub fn keep_out_of_core_dumps() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, setrlimit};
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let limit = Rlimit { current: Some(0), maximum: Some(0) };
        let limited = setrlimit(Resource::Core, limit);
        let undumpable = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        if let Err(error) = limited.and(undumpable) {
            tracing::warn!("core dumps cannot be turned off, and would have keys in them: {error}");
        }
    });
}

/// Fills `out` with the bytes of twice as many hexadecimal digits.
///
/// # Errors
/// The number of digits is wrong, or a character is not a hexadecimal digit.
pub fn octets_of(text: &[u8], out: &mut [u8]) -> Result<(), String> {
    let wanted = 2 * out.len();
    if text.len() != wanted {
        return Err(format!("{} characters; {wanted} hexadecimal digits are needed", text.len()));
    }
    let digit = |c: u8| char::from(c).to_digit(16);
    for (n, (octet, pair)) in out.iter_mut().zip(text.chunks_exact(2)).enumerate() {
        let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else {
            // Counted from 1, as the digit itself must not be shown.
            let place = 2 * n + 1 + usize::from(digit(pair[0]).is_some());
            return Err(format!("character {place} is no hexadecimal digit"));
        };
        *octet = (high << 4 | low) as u8;
    }
    Ok(())
}

/// True if the name of the file is probably a key, written in place of a file name. It must not be
/// shown then.
fn looks_like_a_key(path: &Path) -> bool {
    let text = path.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    text.len() >= 24 && !path.exists() && text.iter().all(u8::is_ascii_hexdigit)
}

/// Checks that only the owner can read and write a file.
fn check(file: &Metadata, path: &Path) -> Result<(), String> {
    let name = path.display();
    if !file.is_file() {
        return Err(format!("`{name}` is no ordinary file; a key file is one"));
    }
    let mode = file.mode() & 0o7777;
    // Others who can write could put in a key that they know.
    if mode & OTHERS != 0 {
        return Err(format!(
            "`{name}` is open to others (mode {mode:04o}): `chmod 600 {name}`, and take a new key if \
             someone may have read this one"
        ));
    }
    let me = rustix::process::geteuid().as_raw();
    if file.uid() == me || file.uid() == ROOT {
        return Ok(());
    }
    let owner = file.uid();
    Err(format!("`{name}` belongs to user {owner}, who could change it: `chown {me} {name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testfolder::Folder;
    use std::os::unix::fs::PermissionsExt;

    const KEY: &str = "000102030405060708090a0b0c0d0e0F";

    /// Writes a file with these permissions.
    fn file(folder: &Folder, text: &str, mode: u32) -> std::path::PathBuf {
        let path = folder.at("key");
        // A file that its owner cannot write is replaced.
        let _ = std::fs::remove_file(&path);
        folder.put("key", text.as_bytes());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_key_is_read_with_white_space_around_it() {
        let folder = Folder::new("key-read");
        let octets: Vec<u8> = (0..16).collect();
        for text in [KEY.to_owned(), format!("{KEY}\n"), format!(" \t{KEY}\r\n\n")] {
            let key = read_key(&file(&folder, &text, 0o600)).unwrap();
            assert_eq!(key.octets(), octets);
        }
        let long = read_key(&file(&folder, &KEY.repeat(2), 0o400)).unwrap();
        assert_eq!(long.len(), 32);
    }

    #[test]
    fn a_file_that_others_can_read_or_change_is_refused() {
        let folder = Folder::new("key-open");
        for mode in [0o604, 0o640, 0o620, 0o602, 0o610, 0o644, 0o666, 0o777] {
            let path = file(&folder, KEY, mode);
            let why = read_key(&path).unwrap_err();
            assert!(why.contains(&format!("{mode:04o}")), "{mode:o}: {why}");
            assert!(why.contains("chmod 600"), "{why}");
        }
        assert!(read_key(&folder.0).unwrap_err().contains("no ordinary file"));
        assert!(read_key(&folder.at("none")).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn who_has_a_key_leaves_no_core_dump() {
        use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};
        key_of(KEY.as_bytes()).unwrap();
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }

    #[test]
    fn no_refusal_quotes_what_was_read() {
        let folder = Folder::new("key-bad");
        for text in ["", "00", &KEY[1..], &format!("{KEY}0"), &format!("{}g", &KEY[1..])] {
            let why = read_key(&file(&folder, text, 0o600)).unwrap_err();
            assert!(why.contains("has no key"), "{why}");
            assert!(text.len() < 8 || !why.contains(&text[..8]), "{why}");
        }
        let why = read_key(&file(&folder, &KEY.repeat(100), 0o600)).unwrap_err();
        assert!(why.contains("too long") && !why.contains(&KEY[..8]), "{why}");
        // A key in place of a file name is not shown either.
        let why = read_key(Path::new(KEY)).unwrap_err();
        assert!(why.contains("write `key`") && !why.contains(&KEY[..8]), "{why}");
    }

    #[test]
    fn what_is_no_digit_is_named_by_its_place() {
        let wrong = |n: usize| {
            let mut text = KEY.as_bytes().to_vec();
            text[n] = b'g';
            key_of(&text).unwrap_err()
        };
        for n in [0, 1, 16, 31] {
            assert_eq!(wrong(n), format!("character {} is no hexadecimal digit", n + 1));
        }
    }
}
