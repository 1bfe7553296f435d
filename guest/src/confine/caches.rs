//! Opens caches of tools in the home folder, without which builds fail.
//!
//! Other builds, confined or not, use what is in a cache, so a hostile command can plant something there. `"caches": false` in
//! the settings keeps caches closed. Never listed: folders with programs that others run (`~/.cargo/bin`, `~/.rustup`,
//! `~/.local/bin`) and settings of tools (`~/.npmrc`, `~/.cargo/config.toml`, `~/.gradle/init.d`).

use super::Context;
use super::opening::GrantCollector;
use crate::ports::{FileKind, Question, Root};

const CACHE: &str = "it is a cache of tools";

/// Paths below the home folder, each with the programs for which it is created if it does not exist.
const CACHES: &[(&str, &[&str])] = &[
    // The conventional folder for caches: pip, uv, go-build, yarn, deno, pre-commit, ccache, Playwright, …
    (".cache", &["go", "pip", "pip3", "uv", "yarn", "deno", "pre-commit", "bazel", "npx", "playwright"]),
    // The same on macOS.
    ("Library/Caches", &[]),
    // npm: packages, logs, packages fetched by `npx`.
    (".npm", &["npm", "npx"]),
    // Cargo: crates, sources from git, and the locks on both.
    (".cargo/registry", &["cargo"]),
    (".cargo/git", &["cargo"]),
    (".cargo/.package-cache", &[]),
    (".cargo/.package-cache-mutate", &[]),
    (".cargo/.global-cache", &[]),
    // Go: modules and their checksums.
    ("go/pkg", &["go"]),
    // pnpm, Yarn, Bun: packages.
    (".local/share/pnpm/store", &["pnpm"]),
    (".pnpm-store", &[]),
    (".yarn/berry", &[]),
    (".bun/install/cache", &["bun"]),
    // Gradle, Maven, Ivy, sbt: packages.
    (".gradle/caches", &[]),
    (".gradle/native", &[]),
    (".gradle/.tmp", &[]),
    (".m2/repository", &["mvn", "mvnw"]),
    (".ivy2/cache", &[]),
    (".sbt/boot", &[]),
    // NuGet, Composer, Dart, Hex: packages.
    (".nuget/packages", &["dotnet"]),
    (".local/share/NuGet", &[]),
    (".composer/cache", &[]),
    (".pub-cache/hosted", &[]),
    (".hex/packages", &[]),
    // Headers for native Node modules.
    (".node-gyp", &[]),
    // Terraform providers.
    (".terraform.d/plugin-cache", &[]),
];

/// What agent programs keep in `.cache` and run from there.
const AGENTS: &[&str] = &[".cache/opencode", ".cache/claude-cli-nodejs", ".cache/claude", ".cache/codex", ".cache/copilot"];

/// Caches in `.cache` that are opened individually if an agent program keeps something there too.
const IN_CACHE: &[&str] = &[
    ".cache/bazel",
    ".cache/bazelisk",
    ".cache/ccache",
    ".cache/coursier",
    ".cache/composer",
    ".cache/Cypress",
    ".cache/deno",
    ".cache/electron",
    ".cache/fontconfig",
    ".cache/go-build",
    ".cache/golangci-lint",
    ".cache/gopls",
    ".cache/huggingface",
    ".cache/matplotlib",
    ".cache/ms-playwright",
    ".cache/node",
    ".cache/node-gyp",
    ".cache/pdm",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/prisma",
    ".cache/puppeteer",
    ".cache/pypoetry",
    ".cache/ruff",
    ".cache/sccache",
    ".cache/staticcheck",
    ".cache/typescript",
    ".cache/torch",
    ".cache/turbo",
    ".cache/uv",
    ".cache/yarn",
    ".cache/zig",
];

/// Opens the caches.
pub(super) fn open(opening: &mut GrantCollector<'_>, context: &Context<'_>) {
    let question = |path: &&str| Question { root: Root::Home, path: (*path).to_owned(), digest: false };
    let paths = CACHES.iter().map(|(path, _)| path).chain(AGENTS);
    let facts = context.ports.workspace.inspect(&paths.map(question).collect::<Vec<_>>());
    let has_agent = facts.iter().skip(CACHES.len()).any(|facts| facts.kind != FileKind::Missing);
    for ((path, programs), facts) in CACHES.iter().zip(facts) {
        let Some(real) = facts.real_path else { continue };
        let is_run = || programs.iter().any(|program| context.footprint.programs.contains(*program));
        match facts.kind {
            FileKind::Directory if *path == ".cache" && has_agent => {
                let parts: Vec<String> = IN_CACHE.iter().map(|path| format!("~/{path}")).collect();
                opening.open_places(&parts.iter().map(String::as_str).collect::<Vec<_>>(), CACHE);
            }
            FileKind::Directory => opening.open_outside(&real, path, CACHE, false),
            FileKind::Missing if is_run() => opening.open_outside(&real, path, CACHE, true),
            FileKind::File => opening.open_place(&format!("~/{path}"), CACHE),
            _ => {}
        }
    }
}
