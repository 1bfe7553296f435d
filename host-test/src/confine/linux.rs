//! Landlock: a thread restricts itself, and every program that it becomes or starts inherits that.
//!
//! Held are all changes to file systems that Landlock knows, so reading and running stay free. It does not know changes of mode, owner,
//! times and extended attributes; see `docs/threats.md`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};

use super::{Capability, Kind, Plan, opened, terminal};

/// Before this version a file can be emptied without a right to write to it, so nothing is held for certain.
const NEEDED: ABI = ABI::V3;

/// The latest version that this was tried with. What later ones add is not used unseen.
const KNOWN: ABI = ABI::V7;

/// What a rule about a file can say.
fn of_file() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate
}

fn has(abi: ABI) -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset.handle_access(AccessFs::from_write(abi)).and_then(Ruleset::create).is_ok()
}

/// What this kernel can hold a command to.
pub(super) fn capability() -> Capability {
    if has(NEEDED) {
        Capability::Trees
    } else if has(ABI::V1) {
        Capability::None("the kernel is older than Linux 6.2, and its Landlock lets a command empty any file")
    } else {
        Capability::None("the kernel has no Landlock, or it is switched off")
    }
}

/// Restricts the calling thread. Returns the folder for temporary files, where there is one.
pub(super) fn restrict(plan: &Plan) -> io::Result<Option<PathBuf>> {
    let temporary = opened::make(plan);
    let mut ruleset = ruleset(plan.network).map_err(io::Error::other)?;
    for grant in &plan.grants {
        // Somebody else's folder under the name of ours is not granted.
        if plan.temporary.as_deref() == Some(&grant.path) && temporary.is_none() {
            continue;
        }
        // What is not there, or has become a link since the gate looked, is not granted.
        let Ok(place) = opened::find(&grant.path) else { continue };
        ruleset = add(ruleset, place.as_fd(), access(&grant.path, grant.kind)).map_err(io::Error::other)?;
    }
    for stream in [io::stdout().as_fd(), io::stderr().as_fd()].into_iter().filter(is_file_to_write) {
        ruleset = add(ruleset, stream, AccessFs::WriteFile.into()).map_err(io::Error::other)?;
    }
    let status = ruleset.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(io::Error::other("the kernel did not take the restrictions"));
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
        // A daemon that listens there would do for the command what it may not do itself.
        .scope(Scope::AbstractUnixSocket)?;
    let ruleset = if network { ruleset } else { ruleset.handle_access(AccessNet::from_all(KNOWN))? };
    ruleset.create()
}

/// What a grant comes to.
fn access(path: &Path, kind: Kind) -> BitFlags<AccessFs> {
    let device = if path.starts_with("/dev") { AccessFs::IoctlDev.into() } else { BitFlags::EMPTY };
    match kind {
        Kind::File => of_file() | device,
        // No devices are made, and none is spoken to but those that are granted.
        Kind::Tree => (AccessFs::from_write(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)) | device,
    }
}

fn add(
    ruleset: RulesetCreated,
    place: BorrowedFd<'_>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    // A folder that is granted as a file, or the reverse, has changed since the gate looked: what fits is granted.
    let is_folder = fstat(place).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let access = match (is_folder, access.contains(AccessFs::MakeReg)) {
        (true, true) => access,
        (false, true) => access & (of_file() | AccessFs::IoctlDev),
        (false, false) => access,
        (true, false) => return Ok(ruleset),
    };
    ruleset.add_rule(PathBeneath::new(place, access))
}

/// Whether a stream is a file that the command can write to already: opening it again by `/dev/stdout` gives it nothing new.
fn is_file_to_write(stream: &BorrowedFd<'_>) -> bool {
    let is_file = fstat(stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    is_file && fcntl_getfl(stream).is_ok_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR))
}
