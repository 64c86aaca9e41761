//! The answer to a request, and what a test expects of it.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tidings::error::Code;

use crate::shapes::assert_failure;

pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    /// The JSON; a text that is none, as a string.
    pub body: Value,
    what: String,
    sent: String,
}

impl Reply {
    /// Sends the request; `what` and `sent` name it in a failure.
    pub async fn of(request: reqwest::RequestBuilder, what: &str, sent: &str) -> Reply {
        Reply::try_of(request, what, sent).await.unwrap_or_else(|err| panic!("{what}: {err:?}"))
    }

    /// [`Reply::of`] of a server that may be killed meanwhile.
    pub async fn try_of(request: reqwest::RequestBuilder, what: &str, sent: &str) -> reqwest::Result<Reply> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Reply { status, headers, body, what: what.into(), sent: sent.chars().take(300).collect() })
    }

    /// The place in the event log that the answer names.
    pub fn position(&self) -> Option<String> {
        self.headers.get("tidings-position").map(|value| value.to_str().unwrap().to_owned())
    }

    /// The values of `Set-Cookie`.
    pub fn cookies(&self) -> Vec<&str> {
        self.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect()
    }

    /// What a browser without cookies sends as `Cookie` after this answer.
    pub fn kept_cookies(&self) -> String {
        let pairs = self.cookies().into_iter().map(|cookie| cookie.split(';').next().unwrap());
        pairs.collect::<Vec<_>>().join("; ")
    }

    /// The body of an answer with this status. A failure must have the documented envelope.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        let (what, sent) = (&self.what, &self.sent);
        assert_eq!(self.status, status, "{what} {sent}\n{:#}", self.body);
        if status >= 400 {
            assert_failure(what, status, &self.body);
        }
        self.body
    }

    /// The body of a refusal with this status and code.
    #[track_caller]
    pub fn refused(self, status: u16, code: Code) -> Value {
        assert_eq!(self.body["code"], code.name(), "{} {}: {} {:#}", self.what, self.sent, self.status, self.body);
        self.expect(status)
    }

    /// `data` of a success with this status and these words.
    #[track_caller]
    pub fn data(self, status: u16, message: &str) -> Value {
        let what = self.what.clone();
        let mut body = self.expect(status);
        let (said, code) = (body["message"].take(), body["status_code"].take());
        assert_eq!((body["status"].take(), code, said), (json!("success"), json!(status), json!(message)), "{what}");
        assert!(body.get("data").is_some(), "{what}: no data");
        body["data"].take()
    }

    /// A success that documents no data.
    #[track_caller]
    pub fn done(self, status: u16, message: &str) {
        let what = self.what.clone();
        let body = self.expect(status);
        assert!(body["data"].is_null(), "{what}: {:#}", body["data"]);
        assert_eq!(body["status"], "success", "{what}");
        assert_eq!((&body["status_code"], &body["message"]), (&json!(status), &json!(message)), "{what}");
    }
}
