//! Lists: an answer holds at most 1,000 rows and 1 MB, and links to the rest in its `Link` header.

use std::io;

use poem::{FromRequest, Request, RequestBody};
use poem_openapi::{ApiResponse, Object};
use serde::Serialize;
use url::form_urlencoded;

use super::{
    app,
    envelope::{Envelope, Page as PageEnvelope, Uncoded, envelope, page_envelope},
    json::{Answer, Json, Written, write},
    number::Number,
    rows::Rows,
};
use crate::{
    domain::page::{DEEPEST, Page},
    error::Result,
};

/// At most this many rows in one answer.
pub const MOST: u32 = 1000;
/// At most this many bytes of rows in one answer: 1 MB less the envelope around them.
pub const BYTES: usize = 990_000;
/// Rows in the first part that is read. With messages of the largest size they take some megabytes of memory.
const FIRST: usize = 16;

/// The number of a page, from 1.
pub type PageNumber = Number<1>;
/// The number of a page of a list that ends at [`DEEPEST`], in which a page has at least one row.
pub type ShallowPage = Number<1, DEEPEST>;
/// Rows to skip.
pub type Offset = Number<0>;
/// Rows to skip in a list that ends at [`DEEPEST`].
pub type ShallowOffset = Number<0, { DEEPEST - 1 }>;
/// Rows on a page. Sizes above the list's largest are cut.
pub type Size = Number<1>;

/// The page that a request asks for, by its number or by `offset`, which takes precedence. `size` is the request's
/// `limit` or `page_size`.
pub fn requested_page<const MOST_PAGES: u32, const MOST_ROWS: u32>(
    number: Option<Number<1, MOST_PAGES>>,
    offset: Option<Number<0, MOST_ROWS>>,
    size: Option<Size>,
    default: u32,
    largest: u32,
) -> Page {
    let page = Page::new(number.map_or(1, |number| number.0), self::capped_size(size, default, largest));
    offset.map_or(page, |offset| Page { offset: offset.0.into(), ..page })
}

/// The page of a list that has no pages by default: the whole list, if it fits into one answer.
pub fn page_or_whole_list(offset: Option<Offset>, limit: Option<Size>) -> Page {
    requested_page(None::<PageNumber>, offset, limit, MOST, MOST)
}

/// Caps a page's size at `largest`.
pub fn capped_size(asked: Option<Size>, default: u32, largest: u32) -> u32 {
    asked.map_or(default, |asked| asked.0.min(largest))
}

/// One page of a list.
pub struct Filled<T> {
    pub data: T,
    /// The offset of the first row that is left, if there is one.
    pub rest: Option<i64>,
}

impl<T> Filled<T> {
    pub fn map<D>(self, f: impl FnOnce(T) -> D) -> Filled<D> {
        Filled { data: f(self.data), rest: self.rest }
    }
}

/// The limits of one answer, and of one read for it.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub bytes: usize,
    /// Rows in one part.
    pub part: usize,
}

impl Bounds {
    /// The bounds of most lists.
    pub const ANSWER: Bounds = Bounds { bytes: BYTES, part: MOST as usize };
}

/// Fills one answer with the rows of a page. `read` reads a part of the list; `show` turns a row into what is answered.
pub fn fill<R, T: Answer>(
    page: Page,
    read: impl FnMut(Page) -> Result<Vec<R>>,
    show: impl FnMut(R) -> T,
) -> Result<Filled<Rows<T>>> {
    fill_within(Bounds::ANSWER, page, read, show)
}

/// Works like [`fill`], within other bounds. It reads the list in parts, so that memory and time depend on the answer and not
/// on the list. It always answers the first row, so that the next page makes progress.
pub fn fill_within<R, T: Answer>(
    bounds: Bounds,
    page: Page,
    mut read: impl FnMut(Page) -> Result<Vec<R>>,
    mut show: impl FnMut(R) -> T,
) -> Result<Filled<Rows<T>>> {
    let Bounds { bytes, part: most } = bounds;
    let (mut filling, mut part) = (Filling { page, rows: Rows::default(), left: bytes }, FIRST.min(most));
    loop {
        // One row more than the page has tells whether there is a rest.
        let number = filling.rows.len();
        let size = part.min(page.size as usize + 1 - number);
        let found = read(Page { offset: page.offset + number as i64, size: size as u32 })?;
        let is_last = found.len() < size;
        for row in found {
            if !filling.takes(&show(row)) {
                return Ok(filling.end(true));
            }
        }
        if is_last {
            return Ok(filling.end(false));
        }
        // As many rows as fit if they have the average length so far, and one that will not fit. They may be longer.
        part = (filling.left * filling.rows.len() / (bytes - filling.left).max(1) + 1).min(part * 2).min(most);
    }
}

/// Works like [`fill`] for a list that is costly to sort: `find` finds the rows of the page once, and `read` completes them in
/// parts.
pub fn fill_in_two_steps<F, R, T: Answer>(
    page: Page,
    find: impl FnOnce(Page) -> Result<Vec<F>>,
    read: impl FnMut(Vec<F>) -> Result<Vec<R>>,
    show: impl FnMut(R) -> T,
) -> Result<Filled<Rows<T>>> {
    fill_in_two_steps_within(Bounds::ANSWER, page, find, read, show)
}

/// Works like [`fill_in_two_steps`], within other bounds.
pub fn fill_in_two_steps_within<F, R, T: Answer>(
    bounds: Bounds,
    page: Page,
    find: impl FnOnce(Page) -> Result<Vec<F>>,
    mut read: impl FnMut(Vec<F>) -> Result<Vec<R>>,
    show: impl FnMut(R) -> T,
) -> Result<Filled<Rows<T>>> {
    let found = find(page.and_one())?;
    let is_more = found.len() > page.size as usize;
    let mut found = found.into_iter().take(page.size as usize);
    let part = |part: Page| read(found.by_ref().take(part.size as usize).collect());
    let Filled { data, rest } = fill_within(bounds, page, part, show)?;
    Ok(Filled { rest: rest.or(is_more.then(|| page.offset + data.len() as i64)), data })
}

/// An answer that is being filled.
struct Filling<T> {
    page: Page,
    rows: Rows<T>,
    /// Bytes that are left.
    left: usize,
}

impl<T: Answer> Filling<T> {
    /// Takes the next row, unless the answer is full or the row does not fit.
    fn takes(&mut self, row: &T) -> bool {
        if self.rows.len() == self.page.size as usize {
            return false;
        }
        let length = self.rows.push(row);
        if length > self.left && self.rows.len() > 1 {
            self.rows.pop();
            return false;
        }
        self.left = self.left.saturating_sub(length);
        true
    }

    fn end(self, is_more: bool) -> Filled<Rows<T>> {
        Filled { rest: is_more.then(|| self.page.offset + self.rows.len() as i64), data: self.rows }
    }
}

/// Bytes of a value's JSON in an answer.
pub fn json_length(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    write(&mut counter, value);
    counter.0
}

/// Shortens a row that is longer than an answer of `bytes`: drops one part of it after the other until it fits or `drop` has
/// none left.
pub fn shorten_row<T: Answer, P>(mut row: T, bytes: usize, drop: impl Fn(&mut T) -> Option<P>) -> T {
    while json_length(&row) > bytes && drop(&mut row).is_some() {}
    row
}

/// A list, or the part of it that one answer holds.
#[derive(ApiResponse)]
pub enum Listed<T: Answer> {
    /// Success.
    #[oai(status = 200)]
    Ok(
        Json<Envelope<T>>,
        /// The link to the rest of the list, if there is one: `<address>; rel="next"`
        #[oai(header = "Link")]
        Option<String>,
    ),
}

/// A list, or the part of it that one answer holds, without an envelope.
#[derive(ApiResponse)]
pub enum BareListed<T: Answer> {
    /// Success.
    #[oai(status = 200)]
    Ok(
        Written<T>,
        /// The link to the rest of the list, if there is one: `<address>; rel="next"`
        #[oai(header = "Link")]
        Option<String>,
    ),
}

/// A list, or the part of it that one answer holds, in an envelope without the HTTP status.
#[derive(ApiResponse)]
pub enum UncodedListed<T: Answer> {
    /// Success.
    #[oai(status = 200)]
    Ok(
        Json<Uncoded<T>>,
        /// The link to the rest of the list, if there is one: `<address>; rel="next"`
        #[oai(header = "Link")]
        Option<String>,
    ),
}

/// A page among all pages of a list.
#[derive(Object, Serialize)]
pub struct Pagination {
    current_page: u32,
    page_size: u32,
    total_items: u32,
    total_pages: u32,
}

impl Pagination {
    pub fn new(page: Page, total_items: u32) -> Pagination {
        let total_pages = total_items.div_ceil(page.size);
        Pagination { current_page: page.number(), page_size: page.size, total_items, total_pages }
    }
}

/// A page of a list, in an envelope with the number of all rows.
#[derive(ApiResponse)]
pub enum Paged<T: Answer, P: Answer> {
    /// Success.
    #[oai(status = 200)]
    Ok(
        Json<PageEnvelope<T, P>>,
        /// The link to the rest of the list, if there is one: `<address>; rel="next"`
        #[oai(header = "Link")]
        Option<String>,
    ),
}

/// Answers a list that was asked for at `address`.
pub fn answer_list<T: Answer>(message: &str, Filled { data, rest }: Filled<T>, address: &Address) -> Listed<T> {
    linked(message, data, address.next_link(rest))
}

/// Answers a list with a link to its rest, if there is one.
pub fn linked<T: Answer>(message: &str, data: T, link: Option<String>) -> Listed<T> {
    Listed::Ok(envelope(200, message, data), link)
}

/// Answers a list without an envelope.
pub fn bare<T: Answer>(Filled { data, rest }: Filled<T>, address: &Address) -> BareListed<T> {
    BareListed::Ok(Written::new(&data), address.next_link(rest))
}

/// Answers a page of a list that was asked for at `address`.
pub fn paged<T, P>(message: &str, Filled { data, rest }: Filled<T>, pagination: P, address: &Address) -> Paged<T, P>
where
    T: Answer,
    P: Answer,
{
    paged_with_link(message, data, pagination, address.next_link(rest))
}

/// [`paged`], with the `Link` header to the rest of the list.
pub fn paged_with_link<T, P>(message: &str, data: T, pagination: P, link: Option<String>) -> Paged<T, P>
where
    T: Answer,
    P: Answer,
{
    Paged::Ok(page_envelope(message, data, pagination), link)
}

/// The path and query of a request for a list, to link to its rest.
pub struct Address {
    path: String,
    query: Vec<(String, String)>,
}

impl<'a> FromRequest<'a> for Address {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let uri = req.original_uri();
        let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        Ok(Address { path: format!("{}{}", app(req).site.base_url, uri.path()), query })
    }
}

impl Address {
    /// The `Link` header to the rows from the offset `rest` on.
    pub fn next_link(&self, rest: Option<i64>) -> Option<String> {
        rest.map(|rest| self.link("next", "offset", &rest.to_string()))
    }

    /// Whether the query has these parameters in this order, and no others.
    pub fn has_exactly(&self, parameters: &[(&str, &str)]) -> bool {
        self.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(parameters.iter().copied())
    }

    /// The `Link` header (RFC 8288) to the same list from another position, which `parameter` names.
    pub fn link(&self, relation: &str, parameter: &str, place: &str) -> String {
        let kept = self.query.iter().filter(|(name, _)| ![parameter, "around", "page", "offset"].contains(&name.as_str()));
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).append_pair(parameter, place).finish();
        format!("<{}?{query}>; rel=\"{relation}\"", self.path)
    }
}

#[cfg(test)]
mod tests;
