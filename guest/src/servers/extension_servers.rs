//! The MCP servers of extensions, and the values of the settings they refer to, as a trait.

use super::spec::ServerSpec;

/// The active extensions.
pub trait ExtensionServers {
    /// A number that changes whenever what they provide may have changed.
    fn revision(&self) -> u64;

    /// Their servers, and why some are left out.
    fn servers(&self) -> (Vec<ServerSpec>, Vec<String>);

    /// Checks that an extension may start something; the error says why not: it is not what a person has approved.
    fn verify(&self, extension: &str) -> Result<(), String>;

    /// The value of a setting of an extension; `None` if it is not set.
    fn setting(&self, extension: &str, key: &str) -> Option<String>;
}
