//! The address of a server on the network.

use std::fmt;

/// An `http` or `https` URL, with its host kept separately, because the host decides who is contacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    is_encrypted: bool,
    /// The host, in lower case, without the brackets of an IPv6 address.
    host: String,
    port: Option<u16>,
    /// Path and query.
    rest: String,
}

impl Address {
    /// Parses a URL. Only what every reader of URLs understands alike is accepted, so that the host that is checked is the host
    /// that is contacted.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (scheme, after) = url.split_once("://").ok_or("must be a URL such as https://example.com/mcp")?;
        let is_encrypted = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err("must begin with https:// or http://".to_owned()),
        };
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) || url.contains(['\\', '"', '<', '>', '^', '`', '{', '}', '|']) {
            return Err("has a character that has to be percent-encoded".to_owned());
        }
        if url.contains('#') {
            return Err("has a fragment (`#`), which no server sees; leave it out".to_owned());
        }
        let end = after.find(['/', '?']).unwrap_or(after.len());
        let (authority, rest) = after.split_at_checked(end).unwrap_or((after, ""));
        if authority.contains('@') {
            return Err("holds a user name or password; put credentials into `headers`, as a reference to a setting".to_owned());
        }
        let (host, port) = host_and_port(authority).ok_or("does not name a host")?;
        Ok(Self { is_encrypted, host, port, rest: if rest.is_empty() { "/".to_owned() } else { rest.to_owned() } })
    }

    /// Normalizes a host from a list of allowed ones, `host` or `host:port`, to the form that [`has_host`](Self::has_host) takes.
    pub fn host(written: &str) -> Option<String> {
        let (host, port) = host_and_port(written)?;
        Some(display_authority(&host, port))
    }

    /// Whether it leads to a host of that form. A host without a port allows every port.
    pub fn has_host(&self, host: &str) -> bool {
        host == display_authority(&self.host, None) || host == display_authority(&self.host, Some(self.port()))
    }

    /// Whether traffic to it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Whether it leads to this machine.
    pub fn is_loopback(&self) -> bool {
        let ip = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }

    /// The host, with the port if one is written.
    pub fn authority(&self) -> String {
        display_authority(&self.host, self.port)
    }

    fn port(&self) -> u16 {
        self.port.unwrap_or(if self.is_encrypted { 443 } else { 80 })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(out, "{scheme}://{}{}", self.authority(), self.rest)
    }
}

fn display_authority(host: &str, port: Option<u16>) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
}

fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some("")).filter(|_| port != ":")?)
        }
        None => match authority.split_once(':') {
            Some((_, "")) => return None,
            Some((host, port)) => (host, port),
            None => (authority, ""),
        },
    };
    let port = match port {
        "" => None,
        port => Some(port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok())??),
    };
    let host = host.to_ascii_lowercase();
    (host.contains(':') || is_name(&host)).then_some((host, port))
}

/// Whether a host is a name, or an IPv4 address in its usual form. Other forms, such as `0x7f.1`, are read as addresses by some
/// programs.
fn is_name(host: &str) -> bool {
    let labels: Vec<&str> = host.strip_suffix('.').unwrap_or(host).split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_numeric = |label: &&&str| label.starts_with("0x") || label.bytes().all(|byte| byte.is_ascii_digit());
    let looks_like_address = labels.last().as_ref().is_some_and(is_numeric);
    host.len() <= 253 && labels.iter().all(is_label) && (!looks_like_address || host.parse::<std::net::Ipv4Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for (url, expected) in [
            ("https://Example.com/mcp", Some("https://example.com/mcp")),
            ("http://127.0.0.1:3001/sse?a=b", Some("http://127.0.0.1:3001/sse?a=b")),
            ("HTTP://[::1]:80", Some("http://[::1]:80/")),
            ("https://example.com?x", Some("https://example.com?x")),
            ("https://user@example.com/", None),
            ("https://example.com\\@evil.com/", None),
            ("https://exa mple.com/", None),
            ("https://example.com/#x", None),
            ("ftp://example.com/", None),
            ("https:///mcp", None),
            ("https://:80/", None),
            ("https://a:/", None),
            ("https://a:+1/", None),
            ("https://a:99999/", None),
            ("http://0x7f.1/", None),
            ("http://2130706433/", None),
            ("http://127.1/", None),
            ("http://[::1/", None),
            ("http://[::1]x/", None),
            ("http://ex\u{e4}mple.com/", None),
            ("example.com", None),
        ] {
            assert_eq!(Address::parse(url).ok().map(|address| address.to_string()).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn hosts() {
        let at = |url: &str, host: &str| Address::parse(url).unwrap().has_host(&Address::host(host).unwrap());
        assert!(at("https://example.com/", "EXAMPLE.com"));
        assert!(at("https://example.com/", "example.com:443"));
        assert!(at("http://[::1]:8/", "[::1]"));
        assert!(!at("https://example.com:8443/", "example.com:443"));
        assert!(!at("https://sub.example.com/", "example.com"));
        assert_eq!(Address::host("https://example.com"), None);
        for (url, is_loopback) in
            [("http://localhost/", true), ("http://127.9.9.9/", true), ("http://[::1]/", true), ("http://10.0.0.1/", false)]
        {
            assert_eq!(Address::parse(url).unwrap().is_loopback(), is_loopback, "{url}");
        }
    }
}
