//! The HTTP transport of earlier versions of the protocol: messages from the server arrive as events of one stream, and messages
//! to the server are posted to an address that the first event names.

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Uri};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinHandle;

use super::http::{HttpClient, HttpFault, endpoint};

/// The number of received messages that may be waiting to be processed.
const WAITING: usize = 64;

/// A connection over this transport.
pub(super) struct SseTransport {
    client: HttpClient,
    target: Uri,
    headers: HeaderMap,
    messages: Receiver<RxJsonRpcMessage<RoleClient>>,
    reader: JoinHandle<()>,
}

impl SseTransport {
    /// Opens the stream, and waits for the address to which messages are posted.
    pub(super) async fn connect(client: HttpClient, url: &Uri, headers: HeaderMap) -> Result<Self, HttpFault> {
        let fault = |why: &str| HttpFault { kind: "ended", why: why.to_owned() };
        let mut asked = headers.clone();
        asked.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = client.send(Method::GET, url, asked, Bytes::new()).await?;
        if !response.status().is_success() {
            return Err(fault(&format!("HTTP {}", response.status())));
        }
        let mut events = client.events(response);
        let target = loop {
            let event = events.next().await.ok_or_else(|| fault("the stream ended before it named an address for messages"))?;
            let event = event.map_err(|why| client.fault().unwrap_or_else(|| fault(&why.to_string())))?;
            if event.event.as_deref() == Some("endpoint") {
                let said = event.data.unwrap_or_default();
                let refused = || HttpFault { kind: "redirect", why: format!("it asks for messages to be sent to {said}") };
                break endpoint(url, &said).ok_or_else(refused)?;
            }
        };
        let (sender, messages) = channel(WAITING);
        let reader = tokio::spawn(async move {
            while let Some(Ok(event)) = events.next().await {
                let is_message = event.event.as_deref().is_none_or(|name| name == "message");
                let message = event.data.filter(|_| is_message).and_then(|data| serde_json::from_str(&data).ok());
                if let Some(message) = message
                    && sender.send(message).await.is_err()
                {
                    return;
                }
            }
        });
        Ok(Self { client, target, headers, messages, reader })
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = HttpFault;

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = Result<(), HttpFault>> + Send + 'static {
        let (client, target, mut headers) = (self.client.clone(), self.target.clone(), self.headers.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        async move {
            let body = serde_json::to_vec(&message).map_err(|why| HttpFault { kind: "ended", why: why.to_string() })?;
            let response = client.send(Method::POST, &target, headers, body.into()).await?;
            let status = response.status();
            // The body is read so that the connection can be reused.
            let body = client.body(response).await?;
            if status.is_success() {
                return Ok(());
            }
            let said: String = String::from_utf8_lossy(&body).chars().filter(|c| !c.is_control()).take(200).collect();
            Err(HttpFault { kind: "ended", why: format!("HTTP {status}: {said}") })
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), HttpFault> {
        self.reader.abort();
        self.messages.close();
        Ok(())
    }
}
