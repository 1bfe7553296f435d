//! Landlock: a thread restricts itself, and every program that it executes or starts inherits the restrictions.
//!
//! All changes to file systems that Landlock can control are restricted; reading and executing are not. Landlock cannot control
//! changes of mode, owner, times and extended attributes; see `docs/threats.md`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};

use super::{Capability, Kind, Plan, opened, terminal};

/// In earlier versions a file can be truncated without permission to write, so nothing can be guaranteed.
const NEEDED: ABI = ABI::V3;

/// The latest version that this was tested with. Features of later versions are not used.
const KNOWN: ABI = ABI::V7;

/// The access rights that apply to files.
fn file_access_rights() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate
}

fn supports_abi(abi: ABI) -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset.handle_access(AccessFs::from_write(abi)).and_then(Ruleset::create).is_ok()
}

/// What this kernel can restrict.
pub(super) fn capability() -> Capability {
    if supports_abi(NEEDED) {
        Capability::Trees
    } else if supports_abi(ABI::V1) {
        Capability::None("the kernel is older than Linux 6.2, whose Landlock does not restrict truncating files")
    } else {
        Capability::None("the kernel has no Landlock, or it is disabled")
    }
}

/// Restricts the calling thread. Returns the folder for temporary files, if there is one.
pub(super) fn restrict(plan: &Plan) -> io::Result<Option<PathBuf>> {
    let temporary = opened::make(plan);
    let mut ruleset = ruleset(plan.network).map_err(io::Error::other)?;
    for grant in &plan.grants {
        // A folder of another user with this name is not granted.
        if plan.temporary.as_deref() == Some(&grant.path) && temporary.is_none() {
            continue;
        }
        // Paths that do not exist, or have become links since the gate looked, are not granted.
        let Ok(place) = opened::find(&grant.path) else { continue };
        ruleset = add(ruleset, place.as_fd(), access(&grant.path, grant.kind)).map_err(io::Error::other)?;
    }
    for stream in [io::stdout().as_fd(), io::stderr().as_fd()].into_iter().filter(is_file_to_write) {
        ruleset = add(ruleset, stream, AccessFs::WriteFile.into()).map_err(io::Error::other)?;
    }
    let status = ruleset.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(io::Error::other("the kernel did not apply the restrictions"));
    }
    terminal::protect()?;
    Ok(temporary)
}

fn ruleset(network: bool) -> Result<RulesetCreated, landlock::RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(KNOWN))?
        // A daemon that listens there could do what the command itself may not do.
        .scope(Scope::AbstractUnixSocket)?;
    let ruleset = if network { ruleset } else { ruleset.handle_access(AccessNet::from_all(KNOWN))? };
    ruleset.create()
}

/// The access rights of a grant.
fn access(path: &Path, kind: Kind) -> BitFlags<AccessFs> {
    let device = if path.starts_with("/dev") { AccessFs::IoctlDev.into() } else { BitFlags::EMPTY };
    match kind {
        Kind::File => file_access_rights() | device,
        // No devices can be created, and only granted devices can be controlled.
        Kind::Tree => (AccessFs::from_write(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)) | device,
    }
}

fn add(
    ruleset: RulesetCreated,
    place: BorrowedFd<'_>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    // If a folder was granted as a file, or the reverse, it has changed since the gate looked: only the fitting rights are
    // granted.
    let is_folder = fstat(place).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let access = match (is_folder, access.contains(AccessFs::MakeReg)) {
        (true, true) => access,
        (false, true) => access & (file_access_rights() | AccessFs::IoctlDev),
        (false, false) => access,
        (true, false) => return Ok(ruleset),
    };
    ruleset.add_rule(PathBeneath::new(place, access))
}

/// Whether a stream is a file that the command can write to already: opening it again through `/dev/stdout` gives no new access.
fn is_file_to_write(stream: &BorrowedFd<'_>) -> bool {
    let is_file = fstat(stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    is_file && fcntl_getfl(stream).is_ok_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR))
}
