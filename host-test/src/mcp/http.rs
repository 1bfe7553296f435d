//! An HTTP client for one MCP server. It contacts only that server's host, and limits how much it reads.

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

/// At most this many redirects are followed.
const MAX_REDIRECTS: usize = 3;

/// The length limit of an error message from a server.
const MAX_MESSAGE_CHARS: usize = 500;

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

/// An HTTP client for one server. Clones share everything.
#[derive(Clone)]
pub(super) struct HttpClient {
    connections: Connections,
    bounds: Arc<Bounds>,
    /// The first fault that ends the connection.
    fault: Arc<Mutex<Option<HttpFault>>>,
    fault_recorded: Arc<Notify>,
}

#[derive(Clone)]
enum Connections {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Encrypted(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl HttpClient {
    /// Creates a client for the server at a URL. The operating system's certificates are only read if they are needed.
    pub(super) fn new(url: &Uri, bounds: Arc<Bounds>) -> io::Result<Self> {
        let client = Client::builder(TokioExecutor::new());
        let connections = if url.scheme() == Some(&http::uri::Scheme::HTTPS) {
            let connector = HttpsConnectorBuilder::new().with_native_roots()?.https_only().enable_http1().build();
            Connections::Encrypted(client.build(connector))
        } else {
            Connections::Plain(client.build(HttpConnector::new()))
        };
        Ok(Self { connections, bounds, fault: Arc::default(), fault_recorded: Arc::default() })
    }

    /// The size limit of a message, in bytes.
    pub(super) fn max_message_bytes(&self) -> usize {
        self.bounds.limits.message_bytes
    }

    /// Waits until the server is known to be gone.
    pub(super) async fn wait_for_fault(&self) -> HttpFault {
        loop {
            let notified = self.fault_recorded.notified();
            if let Some(fault) = self.fault() {
                return fault;
            }
            notified.await;
        }
    }

    /// The fault that ended the connection, if there was one.
    pub(super) fn fault(&self) -> Option<HttpFault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn record_fault(&self, fault: HttpFault) -> HttpFault {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| fault.clone());
        self.fault_recorded.notify_waiters();
        fault
    }

    /// Sends a request, and follows redirects within the server's own origin.
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
            let response = sent.map_err(|fault| self.record_fault(HttpFault::new("ended", innermost_message(&fault))))?;
            let status = response.status();
            if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                return Err(self.record_fault(HttpFault::new("denied", format!("HTTP {status}"))));
            }
            let Some(location) = response.headers().get(LOCATION).filter(|_| status.is_redirection()) else {
                return Ok(response);
            };
            let target = location.to_str().ok().and_then(|location| resolve_redirect(&at, location));
            let keeps_request = method == Method::GET || matches!(status.as_u16(), 307 | 308);
            match target {
                Some(target) if is_same_origin(&target, url) && keeps_request => at = target,
                target => {
                    let to = target.map_or_else(|| "nowhere".to_owned(), |target| target.to_string());
                    return Err(self.record_fault(HttpFault::new("redirect", format!("HTTP {status} to {to}"))));
                }
            }
        }
        Err(self.record_fault(HttpFault::new("redirect", "it redirects too many times")))
    }

    /// Reads the events of a streamed answer.
    pub(super) fn events(&self, response: Response<Incoming>) -> BoxStream<'static, Result<Sse, SseError>> {
        let (client, mut pending) = (self.clone(), 0_usize);
        let pieces = response.into_body().into_data_stream().map(move |piece| {
            let piece = piece.map_err(HttpFault::from_body)?;
            // An event ends with an empty line. An event that never ends must not grow forever.
            let ends = |end: &&[u8]| piece.windows(end.len()).any(|window| window == *end);
            let has_end = [&b"\n\n"[..], b"\n\r\n", b"\r\r"].iter().any(ends);
            pending = if has_end { piece.len() } else { pending + piece.len() };
            if client.bounds.count_message(piece.len()) && client.bounds.may_grow_to(pending) {
                Ok(piece)
            } else {
                Err(client.record_fault(HttpFault::new("flood", "")))
            }
        });
        let limit_event = |event: Sse| Sse { data: event.data.map(|data| limit_event_depth(&data)), ..event };
        SseStream::from_bytes_stream(pieces).map(move |event| event.map(limit_event)).boxed()
    }

    /// Reads a whole answer; fails if it is too long.
    pub(super) async fn body(&self, response: Response<Incoming>) -> Result<Bytes, HttpFault> {
        let limit = self.max_message_bytes();
        match Limited::new(response.into_body(), limit).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(fault) if fault.downcast_ref::<http_body_util::LengthLimitError>().is_some() => {
                Err(self.record_fault(HttpFault::new("flood", format!("an answer is longer than {} MiB", limit >> 20))))
            }
            Err(fault) => Err(self.record_fault(HttpFault::new("ended", fault))),
        }
    }
}

/// The data of an event, with values that are nested too deeply replaced.
fn limit_event_depth(data: &str) -> String {
    String::from_utf8_lossy(&limit_depth(data.as_bytes())).into_owned()
}

impl HttpFault {
    fn from_body(fault: hyper::Error) -> Self {
        Self::new("ended", innermost_message(&fault))
    }
}

/// The message of the innermost error, such as that of the operating system.
fn innermost_message(fault: &dyn std::error::Error) -> String {
    let mut last = fault;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// Resolves the target of a redirect.
fn resolve_redirect(from: &Uri, location: &str) -> Option<Uri> {
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

/// The address to which a server wants messages to be sent, if it has the server's own origin.
pub(super) fn endpoint(base: &Uri, said: &str) -> Option<Uri> {
    resolve_redirect(base, said.trim()).filter(|target| is_same_origin(target, base))
}

/// The headers of every request, as specified by the gate.
pub(super) fn parse_headers(order: Option<&serde_json::Map<String, serde_json::Value>>) -> HeaderMap {
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

fn insert_header(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn request_headers(custom: HashMap<HeaderName, HeaderValue>, session: Option<&str>) -> HeaderMap {
    let mut headers: HeaderMap = custom.into_iter().collect();
    if let Some(session) = session {
        insert_header(&mut headers, HeaderName::from_static(SESSION), session);
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
        insert_header(&mut headers, ACCEPT, &format!("{JSON}, {EVENTS}"));
        insert_header(&mut headers, CONTENT_TYPE, JSON);
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
                let said: String =
                    String::from_utf8_lossy(&body).chars().filter(|c| !c.is_control()).take(MAX_MESSAGE_CHARS).collect();
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
        insert_header(&mut headers, ACCEPT, EVENTS);
        if let Some(last) = last_event {
            insert_header(&mut headers, HeaderName::from_static("last-event-id"), &last);
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
