//! A client for one server on the network: it contacts that server's host and no other, and reads no more than it may.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse};
use sse_stream::{Sse, SseStream};
use tokio::sync::Notify;

use super::bounds::Bounds;
use super::depth::limit_depth;

/// How often a server may redirect from one of its addresses to another.
const MAX_REDIRECTS: usize = 3;

/// Of what a server says about a fault, this much is passed on.
const MAX_SAID: usize = 500;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";

/// Why a request got no usable answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{why}")]
pub(super) struct HttpFault {
    /// As reported to the gate: `denied`, `redirect`, `flood` or `ended`.
    pub(super) kind: &'static str,
    pub(super) why: String,
}

impl HttpFault {
    fn new(kind: &'static str, why: impl ToString) -> Self {
        Self { kind, why: why.to_string() }
    }
}

impl From<HttpFault> for StreamableHttpError<HttpFault> {
    fn from(fault: HttpFault) -> Self {
        Self::Client(fault)
    }
}

/// The client. Clones share everything.
#[derive(Clone)]
pub(super) struct HttpClient {
    connections: Connections,
    bounds: Arc<Bounds>,
    /// The first thing that went wrong in a way that ends the connection.
    lost: Arc<Mutex<Option<HttpFault>>>,
    is_lost: Arc<Notify>,
}

#[derive(Clone)]
enum Connections {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Encrypted(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl HttpClient {
    /// For the server at a URL. The certificates of the operating system are read only where they are needed.
    pub(super) fn new(url: &Uri, bounds: Arc<Bounds>) -> io::Result<Self> {
        let client = Client::builder(TokioExecutor::new());
        let connections = if url.scheme() == Some(&http::uri::Scheme::HTTPS) {
            let connector = HttpsConnectorBuilder::new().with_native_roots()?.https_only().enable_http1().build();
            Connections::Encrypted(client.build(connector))
        } else {
            Connections::Plain(client.build(HttpConnector::new()))
        };
        Ok(Self { connections, bounds, lost: Arc::default(), is_lost: Arc::default() })
    }

    /// The longest message that is read.
    pub(super) fn max_message_bytes(&self) -> usize {
        self.bounds.limits.message_bytes
    }

    /// Waits until the server is known to be gone.
    pub(super) async fn lost(&self) -> HttpFault {
        loop {
            let notified = self.is_lost.notified();
            if let Some(fault) = self.fault() {
                return fault;
            }
            notified.await;
        }
    }

    /// What ended the connection, where something has.
    pub(super) fn fault(&self) -> Option<HttpFault> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lose(&self, fault: HttpFault) -> HttpFault {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| fault.clone());
        self.is_lost.notify_waiters();
        fault
    }

    /// Sends a request, and follows a server that moved within its own host.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, HttpFault> {
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::new(Full::new(body.clone()));
            (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method.clone(), at.clone(), headers.clone());
            let sent = match &self.connections {
                Connections::Plain(client) => client.request(request).await,
                Connections::Encrypted(client) => client.request(request).await,
            };
            let response = sent.map_err(|fault| self.lose(HttpFault::new("ended", reason(&fault))))?;
            let status = response.status();
            if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                return Err(self.lose(HttpFault::new("denied", format!("HTTP {status}"))));
            }
            let Some(location) = response.headers().get(LOCATION).filter(|_| status.is_redirection()) else {
                return Ok(response);
            };
            let target = location.to_str().ok().and_then(|location| moved(&at, location));
            let keeps_request = method == Method::GET || matches!(status.as_u16(), 307 | 308);
            match target {
                Some(target) if is_same_origin(&target, url) && keeps_request => at = target,
                target => {
                    let to = target.map_or_else(|| "nowhere".to_owned(), |target| target.to_string());
                    return Err(self.lose(HttpFault::new("redirect", format!("HTTP {status} to {to}"))));
                }
            }
        }
        Err(self.lose(HttpFault::new("redirect", "it redirects too many times")))
    }

    /// The events of an answer.
    pub(super) fn events(&self, response: Response<Incoming>) -> BoxStream<'static, Result<Sse, SseError>> {
        let (client, mut pending) = (self.clone(), 0_usize);
        let pieces = response.into_body().into_data_stream().map(move |piece| {
            let piece = piece.map_err(HttpFault::from_body)?;
            // Events end with an empty line; one that never does must not grow for ever.
            let ends = |end: &&[u8]| piece.windows(end.len()).any(|window| window == *end);
            let has_end = [&b"\n\n"[..], b"\n\r\n", b"\r\r"].iter().any(ends);
            pending = if has_end { piece.len() } else { pending + piece.len() };
            if client.bounds.take(piece.len()) && client.bounds.may_grow_to(pending) {
                Ok(piece)
            } else {
                Err(client.lose(HttpFault::new("flood", "")))
            }
        });
        let limited = |event: Sse| Sse { data: event.data.map(|data| limited(&data)), ..event };
        SseStream::from_bytes_stream(pieces).map(move |event| event.map(limited)).boxed()
    }

    /// A whole answer, if it is not too long.
    pub(super) async fn body(&self, response: Response<Incoming>) -> Result<Bytes, HttpFault> {
        let limit = self.max_message_bytes();
        match Limited::new(response.into_body(), limit).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(fault) if fault.downcast_ref::<http_body_util::LengthLimitError>().is_some() => {
                Err(self.lose(HttpFault::new("flood", format!("an answer is longer than {} MiB", limit >> 20))))
            }
            Err(fault) => Err(self.lose(HttpFault::new("ended", fault))),
        }
    }
}

/// The data of an event, without what is nested too deeply.
fn limited(data: &str) -> String {
    String::from_utf8_lossy(&limit_depth(data.as_bytes())).into_owned()
}

impl HttpFault {
    fn from_body(fault: hyper::Error) -> Self {
        Self::new("ended", reason(&fault))
    }
}

/// What went wrong, down to the operating system's own words.
fn reason(fault: &dyn std::error::Error) -> String {
    let mut last = fault;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// Where a redirection leads.
fn moved(from: &Uri, location: &str) -> Option<Uri> {
    let scheme = from.scheme_str()?;
    let authority = from.authority()?;
    let url = if location.contains("://") {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    url.parse().ok()
}

/// Whether two addresses have the same scheme, host and port.
pub(super) fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    let has_no_user = |uri: &Uri| uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    let same_host = one.host().zip(other.host()).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other));
    same_host && one.scheme() == other.scheme() && port(one) == port(other) && has_no_user(one)
}

/// Where a server says that messages go, if that is at its own address.
pub(super) fn endpoint(base: &Uri, said: &str) -> Option<Uri> {
    moved(base, said.trim()).filter(|target| is_same_origin(target, base))
}

/// The headers of every request, as the gate orders them.
pub(super) fn headers(order: Option<&serde_json::Map<String, serde_json::Value>>) -> HeaderMap {
    let pair = |(name, value): (&String, &serde_json::Value)| {
        let mut value = HeaderValue::from_str(value.as_str()?).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
    };
    order.into_iter().flatten().filter_map(pair).collect()
}

fn is_of_type(response: &Response<Incoming>, kind: &str) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|found| found.as_bytes().starts_with(kind.as_bytes()))
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn request_headers(custom: HashMap<HeaderName, HeaderValue>, session: Option<&str>) -> HeaderMap {
    let mut headers: HeaderMap = custom.into_iter().collect();
    if let Some(session) = session {
        put(&mut headers, HeaderName::from_static(SESSION), session);
    }
    headers
}

fn address(url: &str) -> Result<Uri, HttpFault> {
    url.parse().map_err(|fault| HttpFault::new("ended", fault))
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFault;

    async fn post_message(
        &self,
        url: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<HttpFault>> {
        let mut headers = request_headers(custom, session.as_deref());
        put(&mut headers, ACCEPT, &format!("{JSON}, {EVENTS}"));
        put(&mut headers, CONTENT_TYPE, JSON);
        let response = self.send(Method::POST, &address(&url)?, headers, serde_json::to_vec(&message)?.into()).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        if status.is_success() && is_of_type(&response, EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response), session));
        }
        let body = self.body(response).await?;
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        match serde_json::from_slice::<ServerJsonRpcMessage>(&limit_depth(&body)) {
            Ok(answer) if is_request => Ok(StreamableHttpPostResponse::Json(answer, session)),
            _ if status.is_success() && !is_request => Ok(StreamableHttpPostResponse::Accepted),
            _ => {
                let said: String = String::from_utf8_lossy(&body).chars().filter(|c| !c.is_control()).take(MAX_SAID).collect();
                Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {said}").into()))
            }
        }
    }

    async fn delete_session(
        &self,
        url: Arc<str>,
        session: Arc<str>,
        _auth: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpError<HttpFault>> {
        let headers = request_headers(custom, Some(&session));
        self.send(Method::DELETE, &address(&url)?, headers, Bytes::new()).await?;
        Ok(())
    }

    async fn get_stream(
        &self,
        url: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<HttpFault>> {
        let mut headers = request_headers(custom, session.as_deref());
        put(&mut headers, ACCEPT, EVENTS);
        if let Some(last) = last_event {
            put(&mut headers, HeaderName::from_static("last-event-id"), &last);
        }
        let response = self.send(Method::GET, &address(&url)?, headers, Bytes::new()).await?;
        match response.status() {
            status if status.is_success() && is_of_type(&response, EVENTS) => Ok(self.events(response)),
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_host_is_gone_to() {
        let base: Uri = "https://a.example/mcp/x".parse().unwrap();
        for (location, expected) in [
            ("/other?q", Some("https://a.example/other?q")),
            ("y", Some("https://a.example/mcp/y")),
            ("https://A.example:443/z", Some("https://A.example:443/z")),
            ("//a.example/z", Some("https://a.example/z")),
            ("http://a.example/z", None),
            ("https://b.example/z", None),
            ("//b.example/z", None),
            ("https://a.example:8443/z", None),
            ("https://a.example@b.example/z", None),
            ("https://b@a.example/z", None),
            ("not a url", None),
        ] {
            assert_eq!(endpoint(&base, location).map(|uri| uri.to_string()).as_deref(), expected, "{location}");
        }
    }
}
