//! The MCP servers of extensions, and the values of the settings they refer to, as a trait.

use super::spec::ServerSpec;

/// The extensions that are active.
pub trait ExtensionServers {
    /// Changes whenever they may bring something else.
    fn revision(&self) -> u64;

    /// Their servers, and why some are left out.
    fn servers(&self) -> (Vec<ServerSpec>, Vec<String>);

    /// Why an extension may not start anything: it is not what a person has approved.
    fn verify(&self, extension: &str) -> Result<(), String>;

    /// The value of a setting of an extension; none if it is not set.
    fn setting(&self, extension: &str, key: &str) -> Option<String>;
}
