//! The thread that runs all connections of a gate to MCP servers.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::connection::{self, Order, Report};

enum PoolMessage {
    Connect { connection: u64, transport: Value },
    Order { connection: u64, order: Order },
    Disconnect { connection: u64 },
}

/// The connections of one gate. Dropping it ends them, and waits until their servers are gone.
pub(super) struct Pool {
    messages: Option<UnboundedSender<PoolMessage>>,
    thread: Option<JoinHandle<()>>,
}

impl Pool {
    /// Starts the thread. Servers that are programs run in `folder`.
    pub(super) fn start(folder: PathBuf, report: Report) -> io::Result<Self> {
        let (messages, received) = unbounded_channel();
        let thread = thread::Builder::new().name("tollgate-mcp".to_owned()).spawn(move || keep(received, folder, &report))?;
        Ok(Self { messages: Some(messages), thread: Some(thread) })
    }

    pub(super) fn connect(&self, connection: u64, transport: Value) {
        self.send(PoolMessage::Connect { connection, transport });
    }

    pub(super) fn send_order(&self, connection: u64, order: Order) {
        self.send(PoolMessage::Order { connection, order });
    }

    pub(super) fn disconnect(&self, connection: u64) {
        self.send(PoolMessage::Disconnect { connection });
    }

    fn send(&self, message: PoolMessage) {
        // If the thread has ended, its connections have ended too, and the gate gives up on them when their time is up.
        if let Some(messages) = &self.messages {
            let _ = messages.send(message);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(mut messages: UnboundedReceiver<PoolMessage>, folder: PathBuf, report: &Report) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() else { return };
    let folder: Arc<std::path::Path> = folder.into();
    runtime.block_on(async {
        let (mut open, mut tasks) = (HashMap::new(), JoinSet::new());
        while let Some(message) = messages.recv().await {
            while tasks.try_join_next().is_some() {}
            match message {
                PoolMessage::Connect { connection, transport } => {
                    let (orders, received) = unbounded_channel();
                    open.retain(|_, orders: &mut UnboundedSender<Order>| !orders.is_closed());
                    open.insert(connection, orders);
                    let (folder, report) = (Arc::clone(&folder), Arc::clone(report));
                    tasks.spawn(async move { connection::run(connection, transport, &folder, report, received).await });
                }
                PoolMessage::Order { connection, order } => {
                    let _ = open.get(&connection).map(|orders: &UnboundedSender<Order>| orders.send(order));
                }
                PoolMessage::Disconnect { connection } => drop(open.remove(&connection)),
            }
        }
        // All servers are told to end first, and then all are waited for.
        open.clear();
        while tasks.join_next().await.is_some() {}
    });
    runtime.shutdown_background();
}
