//! Environment variables that the listed programs obey.
//!
//! An unexamined variable may change what a program does: where it finds its configuration, what it runs, what it writes. So
//! there are two lists, and a variable on neither list is safe only if no program sees it.

/// Whether a variable may be set for a listed program, or be exported, without changing anything but what is displayed or decided
/// inside the program. `value` is `None` if it is only known when the command runs.
pub(in crate::call::shell) fn is_harmless(name: &str, value: Option<&str>) -> bool {
    match name {
        // Programs that display text: the only pager that runs nothing.
        "PAGER" | "GIT_PAGER" | "GH_PAGER" | "MANPAGER" | "SYSTEMD_PAGER" | "BAT_PAGER" => matches!(value, Some("cat" | "")),
        // An editor that does nothing.
        "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR" => matches!(value, Some("true" | ":")),
        name => is_harmless_variable(name),
    }
}

/// Whether a variable is harmless, whatever its value.
pub(in crate::call::shell) fn is_harmless_variable(name: &str) -> bool {
    /// The kind of run: build tools and tests read these as words to compare with.
    const RUN: &[&str] = &["CI", "NODE_ENV", "RAILS_ENV", "RACK_ENV", "APP_ENV", "FLASK_ENV", "MIX_ENV", "DEBUG", "VERBOSE"];
    /// The amount of output.
    const LOGGING: &[&str] = &["RUST_LOG", "RUST_BACKTRACE", "LOG_LEVEL", "LOGLEVEL", "GIT_TERMINAL_PROMPT"];
    /// The appearance of output.
    const DISPLAY: &[&str] =
        &["FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "TERM", "COLUMNS", "LINES", "CARGO_TERM_COLOR"];
    /// Language and time zone. `LC_…` is recognised by its prefix.
    const LOCALE: &[&str] = &["LANG", "LANGUAGE", "TZ"];
    /// Where a local server listens.
    const NETWORK: &[&str] = &["PORT", "HOST"];
    /// Switches of Python that load nothing.
    const PYTHON: &[&str] = &["PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED"];
    /// Switches that only prevent something.
    const REFUSALS: &[&str] = &[
        "DO_NOT_TRACK",
        "DEBIAN_FRONTEND",
        "HUSKY",
        "NEXT_TELEMETRY_DISABLED",
        "DOTNET_CLI_TELEMETRY_OPTOUT",
        "GIT_OPTIONAL_LOCKS",
    ];
    const LOCALE_CATEGORIES: &[&str] = &[
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_MESSAGES",
        "LC_MONETARY",
        "LC_NUMERIC",
        "LC_TIME",
        "LC_NAME",
        "LC_PAPER",
        "LC_ADDRESS",
        "LC_MEASUREMENT",
        "LC_TELEPHONE",
        "LC_IDENTIFICATION",
    ];
    [RUN, LOGGING, DISPLAY, LOCALE, NETWORK, PYTHON, REFUSALS, LOCALE_CATEGORIES].iter().any(|group| group.contains(&name))
}

/// Whether a variable determines where programs write, whatever else they are asked to do. Even a program whose effects are not
/// judged is then explicitly told what to write.
pub(in crate::call::shell) fn names_an_output(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "COVERAGE_FILE",
        "GCOV_PREFIX",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "HISTFILE",
        "LLVM_PROFILE_FILE",
        "NODE_COMPILE_CACHE",
        "NODE_REDIRECT_WARNINGS",
        "NODE_REPL_HISTORY",
        "NODE_V8_COVERAGE",
        "PYTHONPYCACHEPREFIX",
        "PYTHON_HISTORY",
        "SSLKEYLOGFILE",
    ];
    NAMES.contains(&name) || name.starts_with("GIT_TRACE")
}

/// Whether a variable belongs to the shell itself, in Bash, dash or zsh: assigning it changes what later text means, or the
/// variable does not keep the assigned value.
pub(in crate::call::shell) fn belongs_to_shell(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "CDPATH",
        "CHILD_MAX",
        "COPROC",
        "DIRSTACK",
        "ENV",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "EXECIGNORE",
        "FCEDIT",
        "FIGNORE",
        "FPATH",
        "FUNCNAME",
        "FUNCNEST",
        "GLOBIGNORE",
        "GLOBSORT",
        "GROUPS",
        "HOME",
        "HOSTNAME",
        "HOSTTYPE",
        "IFS",
        "IGNOREEOF",
        "INPUTRC",
        "INSIDE_EMACS",
        "KEYTIMEOUT",
        "LINENO",
        "MACHTYPE",
        "MAIL",
        "MAILCHECK",
        "MAILPATH",
        "MAPFILE",
        "NULLCMD",
        "OLDPWD",
        "OPTARG",
        "OPTERR",
        "OPTIND",
        "OSTYPE",
        "PIPESTATUS",
        "POSIXLY_CORRECT",
        "PPID",
        "PROMPT",
        "PROMPT_COMMAND",
        "PROMPT_DIRTRIM",
        "PS0",
        "PS1",
        "PS2",
        "PS3",
        "PS4",
        "PWD",
        "RANDOM",
        "READNULLCMD",
        "REPLY",
        "RPROMPT",
        "SECONDS",
        "SHELL",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "TIMEFORMAT",
        "TMOUT",
        "UID",
        "ZDOTDIR",
        "_",
        "argv",
        "auto_resume",
        "cdpath",
        "fignore",
        "fpath",
        "histchars",
        "mailpath",
        "manpath",
        "module_path",
        "options",
        "path",
        "pipestatus",
        "prompt",
        "psvar",
        "status",
        "watch",
    ];
    const BEGINNINGS: &[&str] = &["BASH", "COMP_", "EPOCH", "HIST", "READLINE_", "ZSH"];
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a variable must not be assigned even without `export`, because it may be exported already and listed programs obey it.
pub(in crate::call::shell) fn may_influence(name: &str) -> bool {
    /// Where programs search, and what they run.
    const PROGRAMS: &[&str] = &[
        "TMPDIR",
        "TMP",
        "TEMP",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "MANPAGER",
        "MANPATH",
        "MANOPT",
        "MANROFFOPT",
        "MANSECT",
        "MORE",
        "BROWSER",
        "TERMINFO",
        "TERMINFO_DIRS",
        "TERMCAP",
        "USER",
        "LOGNAME",
        "USERPROFILE",
        "APPDATA",
        "TAPE",
        "RSYNC_RSH",
        "CVS_RSH",
        "RSH",
        "ZIPOPT",
        "UNZIP",
        "ZIPINFO",
        "GZIP",
        "BZIP",
        "BZIP2",
        "AWKPATH",
        "AWKLIBPATH",
        "VIMINIT",
        "EXINIT",
        "MYVIMRC",
        "CURL_HOME",
        "WGETRC",
        "GCONV_PATH",
        "LOCPATH",
        "NLSPATH",
        "HOSTALIASES",
        "RESOLV_HOST_CONF",
        "GETCONF_DIR",
        "MALLOC_TRACE",
        "CC",
        "CXX",
        "AR",
        "LD",
        "MAKEFILES",
        "MFLAGS",
        "CFLAGS",
        "LDFLAGS",
        "GOPATH",
        "GOROOT",
        "GOBIN",
        "GOENV",
        "CLASSPATH",
        "JAVA_HOME",
        "DISPLAY",
        "VIRTUAL_ENV",
        "ENVOY",
        "PREFIX",
        "DESTDIR",
        "BUNDLE_GEMFILE",
        "SSH_ASKPASS",
        "PASSWORD_STORE_DIR",
        "POSIX2_VERSION",
        "_POSIX2_VERSION",
        "BLOCK_SIZE",
        "BLOCKSIZE",
        "COMMAND_MODE",
        "LS_COLORS",
        "JQ_LIBRARY_PATH",
        "SIMPLE_BACKUP_SUFFIX",
        "VERSION_CONTROL",
        "QUOTING_STYLE",
    ];
    /// Families, by their prefix.
    const BEGINNINGS: &[&str] = &[
        "LC_",
        "LD_",
        "DYLD_",
        "GLIBC_",
        "MALLOC_",
        "GIT_",
        "SSH_",
        "GPG_",
        "GNUPG",
        "XDG_",
        "NODE_",
        "NPM_",
        "npm_",
        "YARN_",
        "PNPM_",
        "BUN_",
        "DENO_",
        "NVM_",
        "VOLTA_",
        "PYTHON",
        "PYENV",
        "PIP_",
        "UV_",
        "POETRY_",
        "VIRTUALENV",
        "CONDA_",
        "PERL",
        "RUBY",
        "GEM_",
        "BUNDLE_",
        "CARGO",
        "RUST",
        "GO111",
        "GOFLAGS",
        "GOPROXY",
        "GOCACHE",
        "JAVA_",
        "_JAVA",
        "JDK_",
        "MAVEN_",
        "GRADLE_",
        "SBT_",
        "DOTNET_",
        "PHP_",
        "PHPRC",
        "COMPOSER_",
        "LUA_",
        "TCL",
        "DOCKER_",
        "KUBE",
        "AWS_",
        "MAKEFLAGS",
        "MAKELEVEL",
        "CMAKE_",
        "PKG_CONFIG",
        "XZ_",
        "ZSTD_",
        "TAR_",
        "LESS",
        "BAT_",
        "RIPGREP_",
        "FZF_",
        "GREP_",
        "RSYNC_",
        "CURL_",
        "WGET",
        "OPENSSL_",
        "SSL_",
        "VIM",
        "EMACS",
        "AWK",
        "SUDO_",
        "DOAS_",
        "QT_",
        "GTK_",
        "TOLLGATE",
        "PRETTIER_",
        "ESLINT_",
        "JEST_",
        "PLAYWRIGHT_",
        "CYPRESS_",
        "ELECTRON_",
        "STRACE_",
        "VSCODE_",
        "CLAUDE",
    ];
    /// Families, by their suffix.
    const ENDINGS: &[&str] =
        &["_OPTIONS", "OPTS", "_OPT", "_FLAGS", "_CONFIG", "_HOME", "_PATH", "_RSH", "_EDITOR", "_PAGER", "_PROGRAM"];
    name == "PATH"
        || PROGRAMS.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_variables() {
        for (name, value, expected) in [
            ("CI", Some("1"), true),
            ("RUST_LOG", None, true),
            ("LC_ALL", Some("C"), true),
            ("LC_", Some("C"), false),
            ("GIT_PAGER", Some("cat"), true),
            ("GIT_PAGER", Some("rm x"), false),
            ("GIT_PAGER", None, false),
            ("PAGER", Some(""), true),
            ("GIT_EDITOR", Some("true"), true),
            ("PATH", Some("/bin"), false),
            ("LD_PRELOAD", Some(""), false),
            ("GIT_TRACE", Some("x"), false),
            ("FOO", Some("x"), false),
        ] {
            assert_eq!(is_harmless(name, value), expected, "{name} {value:?}");
        }
    }

    #[test]
    fn influential_variables() {
        let influential = "PATH HOME IFS ENV BASH_ENV PS4 PROMPT_COMMAND CDPATH GLOBIGNORE SHELLOPTS POSIXLY_CORRECT LD_PRELOAD \
             DYLD_INSERT_LIBRARIES GIT_DIR GREP_OPTIONS JAVA_TOOL_OPTIONS RUBYOPT PERL5OPT NODE_OPTIONS PYTHONPATH npm_config_cache \
             CARGO_HOME RUSTC TAR_OPTIONS ZIPOPT XZ_OPT LESSOPEN OLDPWD PWD RANDOM LINENO SECONDS HISTFILE FUNCNAME DIRSTACK GROUPS \
             UID EUID PPID TMPDIR EDITOR PAGER OPTIND REPLY BASHOPTS MAKEFLAGS _ GZIP";
        for name in influential.split_whitespace() {
            assert!(may_influence(name) || belongs_to_shell(name), "{name}");
        }
        for name in ["x", "d", "file", "FILE", "DIR", "NAME", "i", "version", "OUT", "TARGET"] {
            assert!(!may_influence(name) && !belongs_to_shell(name), "{name}");
        }
    }
}
