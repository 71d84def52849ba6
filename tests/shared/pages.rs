//! The pages for readers, `README.md` and those of `docs/src`: their blocks of code, headings, links.
//!
//! A block of code says by its language what a test does with it: `sh` and `console` hold commands that
//! are run, `yaml` a file that is written before them, and `text` neither. Those of `python` are run by
//! `src/python/tests/test_wheel.py`.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Languages that a block of code may be in.
pub const LANGUAGES: &[&str] = &["sh", "console", "yaml", "python", "text"];

/// Words with which commands of a shell begin.
const PROGRAMS: &[&str] =
    &["$ ", "./dev", "./target", "target/", "sluice ", "sudo ", "perf/run", "cargo ", "tshark "];

/// A page, by its path in the package.
pub struct Page {
    pub path: String,
    pub text: String,
}

/// A block of code of a page.
#[derive(PartialEq, Eq, Debug)]
pub struct Block {
    pub language: String,
    /// Number of its first line in the page.
    pub line: usize,
    pub text: String,
}

/// A command of a page and the output that the page shows of it.
#[derive(PartialEq, Eq, Debug)]
pub struct Command {
    pub line: String,
    pub shown: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page that the package has.
pub fn page(path: &str) -> Page {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    Page { path: path.into(), text }
}

/// `README.md` and every page of `docs/src`, in the order of their paths.
pub fn pages() -> Vec<Page> {
    let mut paths = vec!["README.md".to_owned()];
    let mut folders = vec![root().join("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                paths.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| page(path)).collect()
}

impl Page {
    /// Lines outside of blocks of code, with their numbers.
    fn prose(&self) -> Vec<(usize, &str)> {
        let mut inside = false;
        let lines = self.text.lines().enumerate().map(|(number, line)| (number + 1, line));
        let outside = lines.filter(|(_, line)| {
            let fence = line.trim_start().starts_with("```");
            inside ^= fence;
            !inside && !fence
        });
        outside.collect()
    }

    /// Blocks of code in their order.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (number, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), open.as_mut()) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(language), None) => {
                    let (language, line) = (language.to_owned(), number + 2);
                    open = Some(Block { language, line, text: String::new() });
                }
                (None, Some(block)) => block.text += &format!("{line}\n"),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block of code does not end", self.path);
        blocks
    }

    /// The anchors that other pages can link to: headings in lower case, spaces as dashes, without
    /// punctuation.
    pub fn anchors(&self) -> Vec<String> {
        let headings = self.prose().into_iter().filter(|(_, line)| line.starts_with('#'));
        headings.map(|(_, line)| anchor(line.trim_start_matches('#').trim())).collect()
    }

    /// Targets of links and pictures outside of code, with the numbers of their lines.
    pub fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in self.prose() {
            let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            for part in plain.split("](").skip(1) {
                links.push((number, part.split(')').next().unwrap_or_default().to_owned()));
            }
        }
        links
    }

    /// Paths in the prose between backticks that begin with one of these folders, with the numbers of
    /// their lines. Patterns are none.
    pub fn named_paths(&self, folders: &[&str]) -> Vec<(usize, &str)> {
        let mut paths = Vec::new();
        for (number, line) in self.prose() {
            let spans = line.split('`').skip(1).step_by(2);
            let plain = spans.filter(|span| !span.contains([' ', '*', '{', '<']));
            let under = plain.filter(|span| folders.iter().any(|folder| span.starts_with(folder)));
            paths.extend(under.map(|span| (number, span)));
        }
        paths
    }

    /// Path in the package of a link's target that is no address of the web, and its anchor.
    pub fn target(&self, link: &str) -> (String, Option<String>) {
        let (path, anchor) = match link.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor.to_owned())),
            None => (link, None),
        };
        if path.is_empty() {
            return (self.path.clone(), anchor);
        }
        let mut whole = PathBuf::from(&self.path);
        whole.pop();
        for part in Path::new(path).components() {
            match part {
                Component::ParentDir => {
                    assert!(whole.pop(), "{}: {link} leaves the package", self.path)
                }
                Component::CurDir => {}
                other => whole.push(other),
            }
        }
        (whole.to_string_lossy().into_owned(), anchor)
    }
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

impl Block {
    /// The name in the first line of a file, a comment.
    pub fn file(&self) -> Option<&str> {
        let name = self.text.lines().next()?.strip_prefix("# ")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        (name.ends_with(".yaml") && name.chars().all(plain)).then_some(name)
    }

    /// The reason for which a test would pass over something in this block.
    pub fn unchecked(&self) -> Option<String> {
        let bad_command = |line: &str| PROGRAMS.iter().any(|program| line.starts_with(program));
        let reason = match self.language.as_str() {
            "sh" if self.text.lines().any(|line| line.starts_with("$ ")) => {
                "a prompt; with output it is `console`, without it needs none"
            }
            "sh" => return None,
            "console" if self.text.starts_with("$ ") => return None,
            "console" => "output without a command in front of it",
            "yaml" if self.file().is_some() => return None,
            "yaml" => "a file without its name in the first line: `# name.yaml`",
            "python" if self.text.lines().any(bad_command) => "commands; they belong into `sh`",
            "python" => return None,
            "text" if self.text.lines().any(bad_command) => "commands; they belong into `sh`",
            "text" => return None,
            _ => "a language that is none of sh, console, yaml, python and text",
        };
        Some(reason.into())
    }

    /// Its commands without prompts and comments. A block of `sh` that leaves something running
    /// behind its lines is one command.
    pub fn commands(&self) -> Vec<Command> {
        let mut commands: Vec<Command> = Vec::new();
        match self.language.as_str() {
            "sh" if self.text.lines().any(|line| line.ends_with(" &")) => {
                commands.push(Command { line: self.text.clone(), shown: Vec::new() });
            }
            "sh" => {
                let lines = self.text.lines().map(without_comment);
                let lines = lines.filter(|line| !line.is_empty());
                commands.extend(lines.map(|line| Command { line, shown: Vec::new() }));
            }
            "console" => {
                for line in self.text.lines() {
                    match (line.strip_prefix("$ "), commands.last_mut()) {
                        (Some(line), _) => {
                            let line = without_comment(line);
                            commands.push(Command { line, shown: Vec::new() });
                        }
                        (None, Some(command)) => command.shown.push(line.to_owned()),
                        (None, None) => panic!("output without a command: {line}"),
                    }
                }
            }
            _ => {}
        }
        commands
    }
}

fn without_comment(line: &str) -> String {
    match line.starts_with('#') {
        true => String::new(),
        false => line.split(" #").next().unwrap_or_default().trim().to_owned(),
    }
}

/// Every link of these pages that leads nowhere.
pub fn broken_links(pages: &[Page]) -> Vec<String> {
    let anchors: BTreeMap<&str, Vec<String>> =
        pages.iter().map(|page| (page.path.as_str(), page.anchors())).collect();
    let mut broken = Vec::new();
    for page in pages {
        for (line, link) in page.links() {
            if link.starts_with("http://") || link.starts_with("https://") {
                continue;
            }
            let (path, anchor) = page.target(&link);
            let book = page.path.starts_with("docs/src/");
            let why = match anchor {
                _ if !anchors.contains_key(path.as_str()) && !root().join(&path).exists() => {
                    "there is no such file"
                }
                _ if book && !path.starts_with("docs/src/") => "it is outside of the book",
                Some(anchor)
                    if !anchors.get(path.as_str()).is_some_and(|a| a.contains(&anchor)) =>
                {
                    "there is no such heading"
                }
                _ => continue,
            };
            broken.push(format!("{}:{line}: {link}: {why}", page.path));
        }
    }
    broken
}
