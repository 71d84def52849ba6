//! Tables in which equal items share a row.

use ::text::{Align, Table};

/// Makes a table of named items. Items with equal cells share a row, whose first cell `names` makes
/// of their names. None without items.
pub fn table<'a>(
    head: impl IntoIterator<Item = (&'a str, Align)>,
    items: impl Iterator<Item = (String, Vec<String>)>,
    names: fn(&[&str]) -> String,
) -> Option<Table> {
    let items: Vec<_> = items.collect();
    let mut table = Table::new(head);
    for (cells, alike) in gather(items.iter(), |(_, cells)| cells.clone()) {
        let all: Vec<&str> = alike.iter().map(|(name, _)| name.as_str()).collect();
        table.row([vec![names(&all)], cells].concat());
    }
    (!table.is_empty()).then_some(table)
}

/// Groups items with equal keys, in the order of the first of each.
pub fn gather<'a, T, K: PartialEq>(
    items: impl Iterator<Item = &'a T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<&'a T>)> {
    let mut out: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let k = key(item);
        match out.iter_mut().find(|(other, _)| *other == k) {
            Some((_, alike)) => alike.push(item),
            None => out.push((k, vec![item])),
        }
    }
    out
}

/// Joins names; of more than four, the first and the last.
pub fn few(names: &[&str]) -> String {
    if names.len() > 4 { ends(names) } else { names.join(", ") }
}

/// Joins names; of more than two, the first and the last: `h1-s1 to h9-s1 (9)`.
pub fn ends(names: &[&str]) -> String {
    match names {
        [first, _, .., last] => format!("{first} to {last} ({})", names.len()),
        few => few.join(", "),
    }
}

/// Formats an absent cell as a dash.
pub fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

/// Formats numbers, with three or more consecutive ones as a range: `0-2,5`.
pub fn ranges(numbers: impl IntoIterator<Item = impl Into<u16>>) -> String {
    let mut numbers: Vec<u16> = numbers.into_iter().map(Into::into).collect();
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first}-{last}")],
        few => few.iter().map(ToString::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_become_ranges() {
        assert_eq!(ranges([7_u16, 0, 1, 2, 4, 5]), "0-2,4,5,7");
        assert_eq!(ranges([0_u8; 0]), "");
    }

    #[test]
    fn equal_items_share_a_row() {
        let item = |name: &str, cell: &str| (name.to_owned(), vec![cell.to_owned()]);
        let items = [item("a", "1"), item("b", "2"), item("c", "1"), item("d", "1")];
        let head = [("name", Align::Left), ("n", Align::Right)];
        let text = table(head, items.into_iter(), ends).unwrap().to_string();
        assert_eq!(text, "name        n\na to d (3)  1\nb           2\n");
        assert!(table(head, std::iter::empty(), few).is_none());
    }
}
