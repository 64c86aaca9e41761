use poem_openapi::types::ToJSON;

use super::*;

/// Fills answers from a list of texts, and records how many rows were asked for each time.
fn filled(list: &[String], page: Page, bytes: usize) -> (Vec<String>, Option<i64>, Vec<u32>) {
    let mut asked = Vec::new();
    let read = |part: Page| {
        asked.push(part.size);
        Ok(list.iter().skip(part.offset as usize).take(part.size as usize).cloned().collect())
    };
    let Filled { data, rest } = fill_within(Bounds { bytes, ..Bounds::ANSWER }, page, read, |row| row).unwrap();
    (serde_json::from_value(data.to_json().unwrap()).unwrap(), rest, asked)
}

fn texts(number: usize, length: usize) -> Vec<String> {
    (0..number).map(|n| format!("{n:0length$}")).collect()
}

#[test]
fn an_answer_holds_at_most_the_rows_of_the_page() {
    let list = texts(100, 7);
    let page = |offset, size| filled(&list, Page { offset, size }, 10_000);
    assert_eq!(page(0, 10), (list[..10].to_vec(), Some(10), vec![11]));
    assert_eq!(page(90, 10), (list[90..].to_vec(), None, vec![11]));
    assert_eq!(page(0, 100), (list.clone(), None, vec![16, 32, 53]));
    assert_eq!(page(0, 99), (list[..99].to_vec(), Some(99), vec![16, 32, 52]));
    assert_eq!(page(100, 10), (Vec::new(), None, vec![11]));
}

#[test]
fn an_answer_holds_at_most_its_bytes() {
    // Each text is 10 bytes with its quotes and the comma.
    let list = texts(100, 7);
    let page = |offset, bytes| filled(&list, Page { offset, size: 100 }, bytes);
    assert_eq!(page(0, 300), (list[..30].to_vec(), Some(30), vec![16, 15]));
    assert_eq!(page(0, 299), (list[..29].to_vec(), Some(29), vec![16, 14]));
    assert_eq!(page(30, 300), (list[30..60].to_vec(), Some(60), vec![16, 15]));
    assert_eq!(page(99, 3), (list[99..].to_vec(), None, vec![16]), "a row that is too large has an answer of its own");
    assert_eq!(page(98, 3), (list[98..99].to_vec(), Some(99), vec![16]));
}

#[test]
fn a_list_that_is_found_at_once_is_read_in_parts() {
    let filled = |size: u32, rows: usize, length: usize, part: usize| {
        let mut asked = Vec::new();
        let find = |page: Page| Ok((0..rows.min(page.size as usize)).collect());
        let read = |found: Vec<usize>| {
            asked.push(found.len());
            Ok(found.into_iter().map(|row| format!("{row:0length$}")).collect())
        };
        let page = Page { offset: 20, size };
        let Filled { data, rest } = fill_in_two_steps_within(Bounds { bytes: 1000, part }, page, find, read, |row| row).unwrap();
        (data.len(), rest, asked)
    };
    assert_eq!(filled(30, 20, 7, 99), (20, None, vec![16, 4]));
    assert_eq!(filled(30, 30, 7, 99), (30, None, vec![16, 14]));
    assert_eq!(filled(30, 31, 7, 99), (30, Some(50), vec![16, 14]), "the row after the page is not read");
    assert_eq!(filled(30, 31, 47, 99), (20, Some(40), vec![16, 5]), "no more fit");
    assert_eq!(filled(30, 0, 7, 99), (0, None, vec![0]));
    assert_eq!(filled(7, 30, 7, 3), (7, Some(27), vec![3, 3, 1]));
}

#[test]
fn the_length_of_a_value_counts_escaped_characters() {
    assert_eq!(json_length(&"a\"\n\u{1}é".to_owned()), r#""a\"\n\u0001é""#.len());
}

#[test]
fn the_link_to_the_rest_keeps_the_query_but_for_page_and_offset() {
    let query = [("page", "2"), ("q", "a&b é"), ("offset", "7"), ("limit", "50")];
    let query = query.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let address = Address { path: "https://chat.example.org/api/v1/channels".into(), query };
    let link = "<https://chat.example.org/api/v1/channels?q=a%26b+%C3%A9&limit=50&offset=90>; rel=\"next\"";
    assert_eq!(address.next_link(Some(90)).as_deref(), Some(link));
    assert_eq!(address.next_link(None), None);
}
