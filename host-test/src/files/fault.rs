//! Maps errors of the operating system to faults of the contract.

use std::io::{self, ErrorKind};

use crate::bindings::tollgate::hooks::workspace::Fault;

/// Why a file could not be read or written.
#[derive(Debug)]
pub(crate) struct FileError {
    /// What the guest gets.
    pub(crate) fault: Fault,
    /// What is logged.
    pub(crate) message: String,
}

impl From<Fault> for FileError {
    fn from(fault: Fault) -> Self {
        Self { fault, message: String::new() }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        let fault = match error.kind() {
            ErrorKind::NotFound => Fault::Missing,
            ErrorKind::AlreadyExists => Fault::Exists,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Fault::Denied,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Fault::Full,
            ErrorKind::ResourceBusy | ErrorKind::WouldBlock => Fault::Busy,
            ErrorKind::FileTooLarge => Fault::TooLarge,
            _ => Fault::Other,
        };
        Self { fault, message: error.to_string() }
    }
}
