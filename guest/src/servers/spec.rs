//! How an MCP server is reached: one entry of `mcpServers`, in the user's settings, the workspace's, or the manifest of an extension.
//!
//! ```json
//! {
//!   "files": {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "${settings.token}"}, "cwd": "sub/folder"},
//!   "wiki": {"type": "http", "url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${settings.token}"}},
//!   "older": {"type": "sse", "url": "http://127.0.0.1:3001/sse"}
//! }
//! ```
//!
//! | key | what |
//! | --- | --- |
//! | `type` | `stdio`, `http` (streamable HTTP) or `sse`; if it is missing, `command` means `stdio` and `url` means `http` |
//! | `command`, `args`, `env`, `cwd` | the program, its arguments, variables it is given, and the folder it runs in, relative to the workspace |
//! | `url`, `headers` | where the server is, and what is sent along with every request |
//! | `allowedHosts` | the hosts that may be contacted, as `host` or `host:port` |
//! | `connectTimeoutMs`, `callTimeoutMs` | how long connecting and one call may take |
//! | `confine` | whether the kernel restricts what the program may change |
//! | `disabled` | whether it is not used |
//!
//! `${settings.KEY}` in a value of `env` or `headers` stands for a setting; see [`resolve`](super::resolve). Other keys are not
//! read here.

use serde_json::Value;

use super::address::Address;
use super::secret;

/// Default time limit for connecting.
pub const CONNECT_TIMEOUT_MS: u32 = 10_000;

/// Default time limit for one call.
pub const CALL_TIMEOUT_MS: u32 = 60_000;

/// The range in which a timeout can be set.
const TIMEOUTS_MS: std::ops::RangeInclusive<u64> = 100..=3_600_000;

/// Maximum length of a server's name.
const MAX_NAME: usize = 64;

/// Maximum number of arguments, variables, headers or hosts; more are a mistake.
const MAX_ITEMS: usize = 256;

/// Maximum length of a text; longer ones are a mistake.
const MAX_TEXT: usize = 16 << 10;

/// Who declares a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerSource {
    /// `mcpServers` in the user's own settings.
    User,
    /// `mcpServers` in the workspace's settings.
    Workspace,
    /// The manifest of the extension with this name.
    Extension(String),
}

impl std::fmt::Display for ServerSource {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User => out.write_str("user"),
            Self::Workspace => out.write_str("workspace"),
            Self::Extension(name) => write!(out, "extension {name}"),
        }
    }
}

/// How messages get to a server. Values of variables and headers may contain references to settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program, over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments. No shell reads them.
        args: Vec<String>,
        /// The variables it is given, besides the few that it inherits.
        env: Vec<(String, String)>,
        /// The folder it runs in, relative to the workspace; `None` means the workspace.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http(Endpoint),
    /// HTTP with server-sent events, the transport of earlier versions of the protocol.
    Sse(Endpoint),
}

/// A server on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address.
    pub address: Address,
    /// What is sent along with every request.
    pub headers: Vec<(String, String)>,
}

/// One MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// Its name: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long connecting may take.
    pub connect_timeout_ms: u32,
    /// How long one call may take.
    pub call_timeout_ms: u32,
    /// The hosts that may be contacted: `host` or `host:port`, in lower case.
    pub allowed_hosts: Vec<String>,
    /// Whether the kernel restricts what its program may change.
    pub confine: bool,
    /// Whether it is not used.
    pub disabled: bool,
    /// Who declares it.
    pub source: ServerSource,
}

impl ServerSpec {
    /// Parses one entry of `mcpServers`. The error names the key that is wrong, and says what it must be.
    pub fn parse(name: &str, entry: &Value, source: ServerSource) -> Result<Self, String> {
        check_name(name)?;
        if !entry.is_object() {
            return Err("it must be an object with `command` or `url`".to_owned());
        }
        let mut allowed_hosts = texts(entry, "allowedHosts")?;
        for host in &mut allowed_hosts {
            *host = Address::host(host).ok_or_else(|| {
                format!(
                    "`allowedHosts` names `{}`, which is not a host; write `example.com` or `example.com:8443`",
                    printable(host)
                )
            })?;
        }
        let transport = transport(entry)?;
        let spec = Self {
            name: name.to_owned(),
            transport,
            connect_timeout_ms: timeout(entry, "connectTimeoutMs")?.unwrap_or(CONNECT_TIMEOUT_MS),
            call_timeout_ms: timeout(entry, "callTimeoutMs")?.unwrap_or(CALL_TIMEOUT_MS),
            allowed_hosts,
            confine: flag(entry, "confine")?,
            disabled: flag(entry, "disabled")?,
            source,
        };
        if spec.confine && spec.endpoint().is_some() {
            return Err("`confine` is only for servers with a `command`, and this one has a `url`; leave one out".to_owned());
        }
        spec.check_host()?;
        Ok(spec)
    }

    /// The server's address; `None` for a program.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match &self.transport {
            Transport::Stdio { .. } => None,
            Transport::Http(endpoint) | Transport::Sse(endpoint) => Some(endpoint),
        }
    }

    /// `stdio`, `http` or `sse`.
    pub fn kind(&self) -> &'static str {
        match self.transport {
            Transport::Stdio { .. } => "stdio",
            Transport::Http(_) => "http",
            Transport::Sse(_) => "sse",
        }
    }

    /// The program with its arguments, or the address, for people to read. Values of variables and headers are left out.
    pub fn target(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, args, .. } => {
                std::iter::once(command).chain(args).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            Transport::Http(endpoint) | Transport::Sse(endpoint) => endpoint.address.to_string(),
        }
    }

    /// The settings that the server's variables and headers refer to.
    pub fn settings(&self) -> Vec<&str> {
        let values = match &self.transport {
            Transport::Stdio { env, .. } => env,
            Transport::Http(endpoint) | Transport::Sse(endpoint) => &endpoint.headers,
        };
        let mut keys: Vec<&str> = values.iter().flat_map(|(_, value)| secret::keys(value)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Checks that the server's host is allowed. An address in the user's or the workspace's settings already names its host. An
    /// extension says separately what it contacts, so that this can be shown before the extension is approved.
    fn check_host(&self) -> Result<(), String> {
        let Some(Endpoint { address, .. }) = self.endpoint() else { return Ok(()) };
        let is_named = self.allowed_hosts.iter().any(|host| address.has_host(host));
        let must_be_named = matches!(self.source, ServerSource::Extension(_)) || !self.allowed_hosts.is_empty();
        if must_be_named && !is_named {
            return Err(format!("`url` leads to `{}`, which `allowedHosts` does not name; add it there", address.authority()));
        }
        if !address.is_encrypted() && !address.is_loopback() && !is_named {
            return Err(format!(
                "`url` leads to `{}` without encryption; use https, or name the host in `allowedHosts` to send everything in the clear",
                address.authority()
            ));
        }
        Ok(())
    }
}

fn transport(entry: &Value) -> Result<Transport, String> {
    let has = |key: &str| entry.get(key).is_some_and(|value| !value.is_null());
    let kind = match text(entry, "type")? {
        Some(kind) => kind,
        None if has("command") => "stdio",
        None => "http",
    };
    match kind {
        "stdio" => {
            let command = text(entry, "command")?
                .filter(|command| !command.is_empty())
                .ok_or("`command` is missing: the program to start")?;
            let env = pairs(entry, "env", |name| !name.is_empty() && !name.contains(['=', '\0']))?;
            if has("url") {
                return Err("it has both `command` and `url`; leave one out".to_owned());
            }
            let cwd = text(entry, "cwd")?.map(str::to_owned);
            Ok(Transport::Stdio { command: command.to_owned(), args: texts(entry, "args")?, env, cwd })
        }
        "http" | "streamable-http" | "streamableHttp" | "sse" => {
            let url = text(entry, "url")?.ok_or("it has neither `command` nor `url`; specify how to reach the server")?;
            let is_token = |name: &str| {
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
            };
            let endpoint = Endpoint {
                address: Address::parse(url).map_err(|why| format!("`url` {why}"))?,
                headers: pairs(entry, "headers", is_token)?,
            };
            Ok(if kind == "sse" { Transport::Sse(endpoint) } else { Transport::Http(endpoint) })
        }
        other => Err(format!("`type` cannot be `{}`; use `stdio`, `http` or `sse`", printable(other))),
    }
}

/// Checks a name, which becomes part of names of tools, of files and of messages.
fn check_name(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
        return Err(format!(
            "a server cannot be named `{}`; use at most {MAX_NAME} letters, digits, `_`, `-` and `.`",
            printable(name)
        ));
    }
    Ok(())
}

/// A file may contain anything; what is shown of it is short and has no control characters.
fn printable(text: &str) -> String {
    text.chars().take(MAX_NAME).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn text<'e>(entry: &'e Value, key: &str) -> Result<Option<&'e str>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_TEXT && !text.contains('\0') => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` must be a string of at most {MAX_TEXT} bytes")),
    }
}

fn texts(entry: &Value, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` must be a list of at most {MAX_ITEMS} strings");
    let mut texts = Vec::new();
    match entry.get(key) {
        None | Some(Value::Null) => {}
        Some(Value::Array(items)) if items.len() <= MAX_ITEMS => {
            for item in items {
                let item = item.as_str().filter(|item| item.len() <= MAX_TEXT && !item.contains('\0')).ok_or_else(wrong)?;
                texts.push(item.to_owned());
            }
        }
        Some(_) => return Err(wrong()),
    }
    Ok(texts)
}

fn pairs(entry: &Value, key: &str, is_name: impl Fn(&str) -> bool) -> Result<Vec<(String, String)>, String> {
    let written = match entry.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(written)) if written.len() <= MAX_ITEMS => written,
        Some(_) => return Err(format!("`{key}` must be an object of at most {MAX_ITEMS} strings")),
    };
    let mut pairs = Vec::new();
    for (name, value) in written {
        if !is_name(name) {
            return Err(format!("`{key}` has an invalid name: `{}`", printable(name)));
        }
        let is_plain = |value: &&str| value.len() <= MAX_TEXT && !value.contains(['\0', '\r', '\n']);
        let value = value.as_str().filter(is_plain).ok_or_else(|| format!("`{key}.{name}` must be a string of one line"))?;
        secret::check(value).map_err(|why| format!("`{key}.{name}` {why}"))?;
        pairs.push((name.clone(), value.to_owned()));
    }
    Ok(pairs)
}

fn timeout(entry: &Value, key: &str) -> Result<Option<u32>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(written) => {
            let number =
                written.as_u64().filter(|number| TIMEOUTS_MS.contains(number)).and_then(|number| u32::try_from(number).ok());
            let range = (TIMEOUTS_MS.start(), TIMEOUTS_MS.end());
            number.map(Some).ok_or_else(|| format!("`{key}` must be a number of milliseconds from {} to {}", range.0, range.1))
        }
    }
}

fn flag(entry: &Value, key: &str) -> Result<bool, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("`{key}` must be true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn entries_that_can_be_used() {
        let parse = |entry: Value, source| ServerSpec::parse("s", &entry, source).unwrap();
        let spec = parse(
            json!({"command": "npx", "args": ["-y", "x"], "env": {"K": "${settings.k}"}, "trust": true}),
            ServerSource::User,
        );
        assert_eq!((spec.kind(), spec.target().as_str(), spec.settings()), ("stdio", "npx -y x", vec!["k"]));
        assert_eq!((spec.connect_timeout_ms, spec.call_timeout_ms, spec.confine), (10_000, 60_000, false));
        let url = "https://a.example/mcp";
        assert_eq!(parse(json!({"url": url, "headers": {"X-A": "b"}}), ServerSource::Workspace).kind(), "http");
        assert_eq!(parse(json!({"type": "sse", "url": "http://localhost:1/sse"}), ServerSource::User).kind(), "sse");
        let named = json!({"url": url, "allowedHosts": ["A.example"], "connectTimeoutMs": 500, "disabled": true});
        let spec = parse(named, ServerSource::Extension("e".to_owned()));
        assert_eq!((spec.allowed_hosts.join(" ").as_str(), spec.connect_timeout_ms, spec.disabled), ("a.example", 500, true));
        parse(json!({"url": "http://intern.example/", "allowedHosts": ["intern.example"]}), ServerSource::User);
    }

    #[test]
    fn faults_name_the_key_and_the_remedy() {
        let url = "https://a.example/mcp";
        for (name, entry, source, said) in [
            ("", json!({"command": "x"}), ServerSource::User, "cannot be named ``"),
            ("a\u{1b}[2J", json!({"command": "x"}), ServerSource::User, "cannot be named `a\u{fffd}[2J`"),
            ("s", json!([]), ServerSource::User, "must be an object"),
            ("s", json!({}), ServerSource::User, "neither `command` nor `url`"),
            ("s", json!({"command": "x", "url": url}), ServerSource::User, "both `command` and `url`"),
            ("s", json!({"command": 1}), ServerSource::User, "`command` must be a string"),
            ("s", json!({"command": ""}), ServerSource::User, "`command` is missing"),
            ("s", json!({"command": "x", "args": "y"}), ServerSource::User, "`args` must be a list"),
            ("s", json!({"command": "x", "args": [1]}), ServerSource::User, "`args` must be a list"),
            ("s", json!({"command": "x", "env": {"A=B": "c"}}), ServerSource::User, "`env` has an invalid name: `A=B`"),
            ("s", json!({"command": "x", "env": {"A": 1}}), ServerSource::User, "`env.A` must be a string"),
            ("s", json!({"command": "x", "env": {"A": "${env.B}"}}), ServerSource::User, "`env.A` has an invalid reference"),
            ("s", json!({"type": "ws", "url": url}), ServerSource::User, "`type` cannot be `ws`"),
            ("s", json!({"url": "ftp://a"}), ServerSource::User, "`url` must begin with https://"),
            ("s", json!({"url": url, "headers": {"A B": "c"}}), ServerSource::User, "`headers` has an invalid name"),
            (
                "s",
                json!({"url": url, "headers": {"A": "b\r\nC: d"}}),
                ServerSource::User,
                "`headers.A` must be a string of one line",
            ),
            ("s", json!({"url": "http://a.example/"}), ServerSource::User, "without encryption"),
            ("s", json!({"url": url}), ServerSource::Extension("e".to_owned()), "`allowedHosts` does not name"),
            ("s", json!({"url": url, "allowedHosts": ["b.example"]}), ServerSource::User, "`allowedHosts` does not name"),
            ("s", json!({"url": url, "allowedHosts": ["*"]}), ServerSource::User, "is not a host"),
            ("s", json!({"command": "x", "connectTimeoutMs": 1}), ServerSource::User, "`connectTimeoutMs` must be a number"),
            ("s", json!({"command": "x", "confine": "yes"}), ServerSource::User, "`confine` must be true or false"),
            ("s", json!({"url": url, "confine": true}), ServerSource::User, "`confine` is only for servers"),
        ] {
            let fault = ServerSpec::parse(name, &entry, source).unwrap_err();
            assert!(fault.contains(said), "{entry}: {fault}");
        }
    }
}
