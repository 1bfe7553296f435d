//! Build tools, the network, interpreters, schedulers, and Tollgate's own command.

use std::collections::BTreeSet;

use super::super::programs::names;
use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::super::reader::input::StandardInput;
use super::super::reader::state::ShellState;
use super::super::{control_in, footprint, footprint_of_words};
use super::{check, check_words, spelled, workspace};
use crate::digest::Digest;
use crate::state::OwnProgram;

fn check_all(commands: &[&str], expected: &str) {
    check_words(&commands.iter().map(|command| (*command, expected)).collect::<Vec<_>>());
}

/// Compares rows whose words may contain blanks.
fn check_argv(rows: &[(&[&str], &str)]) {
    let world = workspace();
    for (argv, expected) in rows {
        let words: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let found = footprint_of_words(&words, "", &*world);
        let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        assert_eq!(spelled(&found), expected, "{argv:?} {:?}", found.unknowns);
    }
}

#[test]
fn every_name_has_one_row() {
    let mut seen = BTreeSet::new();
    let twice: Vec<&str> = names().filter(|name| !seen.insert(*name)).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn questions_need_nothing() {
    check_all(
        &[
            "python3 --version",
            "node -v",
            "cargo --version",
            "rustc --version",
            "npm --version",
            "npm ls",
            "npm config get registry",
            "pip list",
            "docker ps",
            "docker compose ps",
            "gh pr view 3",
            "bash --version",
            "curl --version",
            "crontab -l",
            "systemctl status nginx",
            "gcc --version",
            "java -version",
        ],
        "",
    );
}

#[test]
fn tools_run_where_they_stand() {
    check_all(
        &[
            "npm test",
            "npm install",
            "npm ci",
            "npm run build -- --watch",
            "npm run lint",
            "npm run watch",
            "yarn run gcc -o x",
            "yarn",
            "yarn test",
            "pnpm install --frozen-lockfile",
            "bun test",
            "bun install",
            "npx jest",
            "npx --yes create-thing",
            "npx tsc --noEmit",
            "npx playwright test",
            "cargo build --release",
            "cargo test -p x",
            "cargo clippy --all-targets -- -D warnings",
            "cargo fmt --all",
            "cargo run",
            "cargo tree",
            "make -j4",
            "make",
            "make test",
            "go test ./...",
            "go build ./...",
            "go vet ./...",
            "go mod tidy",
            "pytest -q",
            "pytest tests/test_x.py -k name -x",
            "python3 -m pytest",
            "python -m pytest -q tests",
            "python3 -m http.server",
            "python3 -m venv .venv",
            "uv run pytest",
            "poetry run pytest -q",
            "poetry install",
            "pip install -r requirements.txt",
            "bundle exec rspec",
            "mypy src",
            "ruff check .",
            "ruff check src",
            "ruff format --check .",
            "black --check .",
            "eslint src",
            "eslint . --ext .ts",
            "prettier --check .",
            "tsc --noEmit",
            "tsc -p tsconfig.json",
            "docker run --rm x",
            "docker build -t x .",
            "docker compose up -d",
            "docker-compose down",
            "kubectl apply -f x.yaml",
            "terraform plan",
            "terraform fmt -check",
            "aws s3 ls",
            "gh pr create --fill",
            "gh api repos/x/y",
            "gcc -c a.c",
            "mvn test",
            "gradle build",
            "dotnet test",
            "composer install",
            "brew install jq",
            "ssh host rm -rf /",
            "psql -c select",
            "psql -c \\dt",
            "redis-cli ping",
            "deno run x.ts",
            "deno test",
            "node --test",
            "claude -p hello",
            "open README.md",
            "code .",
            "mix test",
            "swift build",
            "nx test app",
            "turbo run build",
            "vite build",
        ],
        "x:.",
    );
    check_words(&[("npm --prefix web test", "x:. x:web"), ("make -C sub all", "x:. x:sub"), ("go -C sub test", "x:. x:sub")]);
}

#[test]
fn outputs_in_plain_sight() {
    check_words(&[
        ("gcc -o src/billing/x a.c", "x:. w:src/billing/x"),
        ("gcc -Wall -shared -osrc/billing/x a.c", "x:. w:src/billing/x"),
        ("rustc a.rs -o out", "x:. w:out"),
        ("rustc --out-dir out a.rs", "x:. W:out"),
        ("rustc --print cfg=src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("go build -o bin/x ./cmd", "x:. W:bin/x"),
        ("go test -coverprofile=c.out ./...", "x:. w:c.out"),
        ("go test -exec rm ./...", "x:. ?"),
        ("tsc --outDir dist", "x:. W:dist"),
        ("npx tsc --outFile src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("esbuild a.ts --bundle --outfile=src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("cargo build --target-dir out", "x:. W:out"),
        ("cargo new src/billing/x", "x:. W:src/billing/x"),
        ("pip list --log src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("pip install -t src/billing x", "x:. W:src/billing"),
        ("npm install --cache src/billing", "x:. W:src/billing"),
        ("npm ls --logs-dir=src/billing", "x:. W:src/billing"),
        ("pytest --basetemp=src/billing", "x:. D:src/billing"),
        ("pytest --junitxml=report.xml", "x:. w:report.xml"),
        ("jest --outputFile=src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("docker cp c:/x src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("docker cp src/auth/a.ts c:/x", "x:."),
        ("docker save -o img.tar x", "x:. w:img.tar"),
        ("kubectl cp pod:/x src/billing", "x:. W:src/billing"),
        ("aws s3 cp s3://b/x src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("aws s3 sync src s3://b/x", "x:."),
        ("terraform plan -out=src/billing/plan", "x:. w:src/billing/plan"),
        ("sqlite3 src/billing/x.db select", "x:. w:src/billing/x.db"),
        ("sqlite3 -readonly src/billing/x.db .tables", "x:."),
        ("sqlite3 :memory: .shell", "x:. ?"),
        ("psql -o src/billing/pay.ts -c select", "x:. w:src/billing/pay.ts"),
        ("psql -c \\!rm", "x:. ?"),
        ("scp host:x src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("scp -r host:x docs", "x:. W:docs"),
        ("scp README.md host:y", "x:."),
        ("ssh -o ProxyCommand=rm host", "x:. ?"),
        ("ffmpeg -i a.mp4 src/billing/x.mp4", "x:. w:src/billing/x.mp4"),
        ("make --eval=x", "x:. ?"),
        ("cmake -E rm src/billing/pay.ts", "x:. ?"),
        ("cmake -B build", "x:."),
        ("gh pr checkout 3", "x:. ?"),
        ("gh release download v1", "x:. ?"),
        ("gh release download v1 -D out", "x:. W:out"),
        ("protoc --go_out=src/billing x.proto", "x:. W:src/billing"),
        ("poetry run gcc -o src/billing/pay.ts a.c", "x:. w:src/billing/pay.ts"),
    ]);
}

#[test]
fn formatters() {
    check_words(&[
        ("prettier --write src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("prettier -w src", "x:. W:src"),
        ("prettier --write src/**/*.ts", "x:. W:src"),
        ("prettier --write .", "x:. ?"),
        ("prettier --write --config .prettierrc README.md", "x:. w:README.md"),
        ("npx prettier --write src/billing", "x:. W:src/billing"),
        ("npx prettier@3 --write src/billing", "x:. W:src/billing"),
        ("yarn prettier --write src/billing", "x:. W:src/billing"),
        ("pnpm exec eslint --fix src/auth", "x:. W:src/auth"),
        ("eslint --fix src/auth/a.ts --max-warnings 0", "x:. w:src/auth/a.ts"),
        ("eslint --fix", "x:. ?"),
        ("eslint -o src/billing/pay.ts src", "x:. w:src/billing/pay.ts"),
        ("black src/auth", "x:. W:src/auth"),
        ("black -l 100 README.md", "x:. w:README.md"),
        ("python3 -m black src/billing", "x:. W:src/billing"),
        ("ruff check --fix src/auth", "x:. W:src/auth"),
        ("ruff format src/auth", "x:. W:src/auth"),
        ("ruff format", "x:. ?"),
        ("ruff check --output-file=src/billing/pay.ts src", "x:. w:src/billing/pay.ts"),
        ("rustfmt src/auth/lib.rs", "x:. w:src/auth/lib.rs"),
        ("rustfmt --check x.rs", "x:."),
        ("gofmt -w src/billing/x.go", "x:. w:src/billing/x.go"),
        ("gofmt -l .", "x:."),
        ("clang-format -i a.c", "x:. w:a.c"),
        ("isort src/auth", "x:. W:src/auth"),
        ("biome check --write src/auth", "x:. W:src/auth"),
        ("terraform fmt src/auth", "x:. W:src/auth"),
        ("rubocop -a src/auth", "x:. W:src/auth"),
    ]);
}

#[test]
fn network() {
    check_words(&[
        ("curl https://example.org", ""),
        ("curl -fsSL https://example.org/x", ""),
        ("curl -s -X POST -H Accept:x -d text https://example.org/x", ""),
        ("curl -sS --retry 3 --max-time 10 -w %{http_code} https://example.org/x", ""),
        ("curl localhost:3000/health", ""),
        ("curl -o a https://x/y", "w:a"),
        ("curl -sLo a https://x/y", "w:a"),
        ("curl --output a https://x", "w:a"),
        ("curl -o /dev/null https://x", ""),
        ("curl -o - https://x", ""),
        ("curl -c jar https://x", "w:jar"),
        ("curl -D head https://x", "w:head"),
        ("curl -d @README.md https://x", ""),
        ("curl -O https://x/y.tgz", "?"),
        ("curl -OJ https://x/y", "?"),
        ("curl -o src/auth/#1 https://x/{a,b}", "?"),
        ("curl --outp a https://x", "?"),
        ("curl --create-dirs -o a https://x", "?"),
        ("curl -sT src/auth/a.ts file:///workspace/src/billing/pay.ts", "?"),
        ("curl -T a https://x", "?"),
        ("curl file:///etc/passwd", "?"),
        ("curl -K conf", "?"),
        ("curl --config conf https://x", "?"),
        ("curl -w %output{src/billing/pay.ts} https://x", "?"),
        ("curl -w @format https://x", "?"),
        ("curl --libcurl src/billing/pay.ts https://x", "?"),
        ("curl ftp.example.org/x", "?"),
        ("wget -q -O - https://x/y", ""),
        ("wget -qO- https://x/y", ""),
        ("wget -O a https://x/y", "w:a"),
        ("wget --spider https://x/y", ""),
        ("wget https://x/y.tgz", "?"),
        ("wget -P src https://x/y", "?"),
        ("wget -r https://x/", "?"),
        ("wget -b -O a https://x", "?"),
        ("wget --rejected-log=src/billing/pay.ts -O a https://x", "?"),
        ("wget -i list -O a", "?"),
        ("http GET example.org", "x:."),
        ("nc -l 8080", "?"),
        ("socat - EXEC:rm", "?"),
    ]);
}

#[test]
fn interpreters() {
    check_words(&[
        ("bash script.sh a b", "x:script.sh"),
        ("bash -x ./script.sh", "x:./script.sh"),
        ("sh -eu script.sh", "x:script.sh"),
        ("bash -n script.sh", ""),
        ("bash -euo pipefail script.sh", "x:script.sh"),
        ("python script.py --flag", "x:script.py"),
        ("python3 -u -W ignore script.py", "x:script.py"),
        ("node x.js", "x:x.js"),
        ("node --inspect -r ts-node/register x.ts", "x:x.ts"),
        ("node --check x.js", ""),
        ("npx tsx x.ts", "x:. x:x.ts"),
        ("ruby x.rb", "x:x.rb"),
        ("perl x.pl", "x:x.pl"),
        ("php artisan migrate", "x:artisan"),
        ("lua x.lua", "x:x.lua"),
        ("python3 -m json.tool a.json", "x:."),
        ("python3 -m json.tool --indent 2 src/auth/a.json src/billing/pay.ts", "x:. w:src/billing/pay.ts"),
        ("perl -pi -e s/1/2/ src/auth/a.ts", "w:src/auth/a.ts"),
        ("perl -i.bak -pe s/a/b/g src/auth/a.ts", "w:src/auth/a.ts w:src/auth/a.ts.bak"),
        ("perl -0777 -i -pe s/a/b/ f", "w:f"),
        ("perl -pe s/a/b/ README.md", ""),
        ("perl -i -pe s/a/$x/ f", "w:f ?"),
        ("perl -ne print README.md", "?"),
        ("perl -pe s/a/b/e README.md", "?"),
        ("perl -ne s|^|$h{unlink}| src/auth/a.ts", "?"),
        ("perl -e unlink", "?"),
        ("perl -MFoo x.pl", "?"),
        ("perl -d x.pl", "?"),
    ]);
    check_all(
        &[
            "bash",
            "sh",
            "bash -i",
            "bash -s",
            "bash -",
            "bash /dev/stdin",
            "bash /dev/fd/3",
            "bash /dev/tty",
            "bash /proc/self/fd/0",
            "bash +n src/auth/evil.sh",
            "bash -noprofile src/auth/evil.sh",
            "bash -login src/auth/evil.sh",
            "bash -nv src/auth/evil.sh",
            "bash -oc history x",
            "bash -euoc pipefail x",
            "bash -init-file src/auth/evil.sh",
            "bash --init-file src/auth/evil.sh",
            "bash --rcfile src/auth/evil.sh",
            "bash -O extglob -c ls",
            "bash --posix -c ls",
            "fish -c ls",
            "pwsh -c ls",
            "cmd /c dir",
            "python3",
            "python3 -",
            "python3 -i",
            "python3 -c x",
            "python3 -Ic x",
            "python3.11 -c x",
            "python3 /dev/stdin",
            "node",
            "node -",
            "node -e x",
            "node -p x",
            "node --eval=x",
            "node -pe x",
            "ruby -e x",
            "ruby -ne x",
            "php -r x",
            "lua -e x",
            "Rscript -e x",
            "ts-node -e x",
            "osascript -e x",
        ],
        "?",
    );
    check_all(&["deno eval x", "deno", "bun -e x"], "x:. ?");
}

#[test]
fn text_given_to_a_shell_is_read() {
    // The syntax of the text does not matter here: only that it is passed on, and that nothing else is recorded.
    let world = workspace();
    for argv in [
        ["bash", "-c", "ls"].as_slice(),
        &["bash", "-lc", "ls"],
        &["sh", "-ec", "ls"],
        &["bash", "-euxo", "pipefail", "-c", "ls"],
        &["bash", "-o", "pipefail", "-c", "ls", "name", "arg"],
        &["zsh", "-lc", "ls"],
        &["bash", "--norc", "--noprofile", "-c", "ls"],
    ] {
        let words: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let found = footprint_of_words(&words, "", &*world);
        assert!(found.unknowns.iter().all(|why| !why.contains("option")), "{argv:?} {:?}", found.unknowns);
    }
}

#[test]
fn schedulers_users_and_devices() {
    check_all(
        &[
            "at now",
            "batch",
            "crontab file",
            "crontab -e",
            "systemd-run rm x",
            "systemctl restart x",
            "tmux new-session -d x",
            "screen -dm x",
            "launchctl load x",
            "mount a b",
            "umount a",
            "losetup x y",
            "mkfs x",
            "chroot / ls",
            "unshare rm x",
            "setpriv rm x",
            "linux32 rm x",
            "runuser -u root -- rm x",
            "su -c x",
            "sudo git status",
            "sudo -i",
            "doas git log",
        ],
        "?",
    );
    check_words(&[("sudo -u me make", "x:. ?")]);
}

#[test]
fn tollgate_is_a_persons_to_command() {
    check_all(
        &[
            "tollgate --version",
            "tollgate --help",
            "tollgate intents list",
            "tollgate intents check",
            "tollgate trace",
            "tollgate trace list --json",
            "tollgate --workspace . trace verify",
            "tollgate trace export",
            "tollgate trace map",
            "tollgate init --help",
            "tollgate help init",
            "tollgate doctor",
            "tollgate hooks list",
            "tollgate hooks show x",
            "tollgate hooks history",
            "tollgate concepts",
            "tollgate augment",
        ],
        "",
    );
    check_all(
        &[
            "tollgate hooks approve x --yes",
            "tollgate hooks revoke x",
            "tollgate hooks run x",
            "tollgate hooks import",
            "tollgate init",
            "tollgate init --undo --yes",
            "tollgate --workspace . init",
            "tollgate intents select INT-001",
            "tollgate intents drop",
            "tollgate trace revert 1",
            "tollgate trace archive",
            "tollgate trace verify --yes",
            "tollgate eval",
            "tollgate hook claude-code",
            "tollgate watch",
            "tollgate mcp-serve",
            "tollgate tools allow x read",
            "tollgate unheard-of",
            "/usr/local/bin/tollgate init",
        ],
        "x:. !",
    );
    check_words(&[
        ("./node_modules/.bin/tollgate init --undo", "x:./node_modules/.bin/tollgate x:. !"),
        ("/opt/tg/tollgate hooks list", "x:/opt/tg/tollgate"),
        ("npx tollgate hooks approve x", "x:. !"),
        ("npx -y tollgate@1.2 init", "x:. !"),
        ("npx tollgate trace list", "x:."),
        ("bunx tollgate init", "x:. !"),
        ("pnpm dlx tollgate init", "x:. !"),
        ("pnpm exec tollgate init", "x:. !"),
        ("yarn tollgate init", "x:. !"),
        ("npm exec -- tollgate init", "x:. !"),
        ("bun x tollgate init", "x:. !"),
        ("node node_modules/tollgate/dist/cli.js init", "x:node_modules/tollgate/dist/cli.js x:. !"),
        ("cargo run -p tollgate -- init --undo", "x:. !"),
        ("cargo run -p tollgate -- trace list", "x:."),
        ("cargo uninstall tollgate", "x:. !"),
        ("npm uninstall tollgate", "x:. !"),
        ("npm rm -g tollgate", "x:. !"),
        ("pnpm remove tollgate", "x:. !"),
        ("yarn remove tollgate", "x:. !"),
        ("bun un tollgate", "x:. !"),
        ("claude mcp remove tollgate", "x:. !"),
        ("claude mcp add x y", "x:. !"),
        ("claude config set x y", "x:. !"),
        ("claude mcp list", ""),
        ("codex mcp remove x", "x:. !"),
        ("gemini extensions disable tollgate", "x:. !"),
        ("gemini hooks disable x", "x:. !"),
        ("sudo tollgate init", "x:. ! ?"),
    ]);
}

#[test]
fn a_copy_of_the_program_is_known_by_its_digest() {
    let world = workspace();
    let (own, other) = ("a".repeat(2 << 20), "b".repeat(2 << 20));
    world.write("src/auth/helper", &own);
    world.write("src/auth/other", &other);
    world.write("src/auth/small", "a");
    let program = OwnProgram { size: own.len() as u64, digest: Digest::of(own.as_bytes()) };
    program.keep(&world.ports()).unwrap();
    for (command, expected) in [
        ("src/auth/helper init --undo --yes", "x:src/auth/helper x:. !"),
        ("src/auth/helper trace list", "x:src/auth/helper"),
        ("src/auth/other init", "x:src/auth/other"),
        ("src/auth/small init", "x:src/auth/small"),
        ("src/auth/none init", "x:src/auth/none"),
    ] {
        let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        assert_eq!(spelled(&footprint(command, "", &*world)), expected, "{command}");
    }
}

#[test]
fn texts_that_spell_out_a_persons_command() {
    for (text, expected) in [
        ("os.system('tollgate init --undo')", Some("tollgate init")),
        ("run([\"/usr/bin/tollgate\", \"hooks\", \"approve\", \"x\"])", Some("tollgate hooks approve")),
        ("tollgate --workspace . trace archive", Some("tollgate trace archive")),
        ("TOLLGATE.EXE init", Some("tollgate init")),
        ("tollgate trace list", None),
        ("tollgate hooks are approved by a person", None),
        ("the tollgate is open; init later", None),
        ("tollgates init", None),
        ("tollgate", None),
        ("", None),
    ] {
        assert_eq!(control_in(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn no_variable_hides_what_governs_the_gate() {
    let world = workspace();
    let mut reader = ShellReader::new(&*world);
    let mut state = ShellState::new("");
    state.influence = Some("HOME".into());
    let argv = ["tollgate", "init", "--undo"].map(Arg::known);
    reader.run_program(&argv, &state, &StandardInput::Inherited);
    assert_eq!(spelled(&reader.footprint()), BTreeSet::from(["!".to_owned(), "?".to_owned(), "x:.".to_owned()]));
}

#[test]
fn an_answer_under_the_influence_of_a_variable_is_a_run() {
    let world = workspace();
    let mut reader = ShellReader::new(&*world);
    let mut state = ShellState::new("");
    state.influence = Some("npm_config_node_options".into());
    reader.run_program(&["npm", "ls"].map(Arg::known), &state, &StandardInput::Inherited);
    assert_eq!(spelled(&reader.footprint()), BTreeSet::from(["x:.".to_owned()]));
}

#[test]
fn files_in_the_workspace_that_a_program_obeys() {
    let world = workspace();
    world.write("src/auth/rust-toolchain.toml", "[toolchain]\npath = 'evil'\n");
    for (cwd, expected) in [("", ""), ("src/billing", ""), ("src/auth", "x:src/auth")] {
        let argv: Vec<String> = ["cargo", "--version"].map(str::to_owned).to_vec();
        let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        assert_eq!(spelled(&footprint_of_words(&argv, cwd, &*world)), expected, "in `{cwd}`");
    }
}

#[test]
fn values_with_blanks() {
    check_argv(&[
        (&["git", "commit", "-m", "rm -rf /"], "x:."),
        (&["sqlite3", "src/auth/x.db", "attach 'src/billing/y.db' as y"], "x:. w:src/auth/x.db ?"),
        (&["perl", "-pe", "s/a/b/", "rm src/billing/pay.ts|"], "?"),
        (&["perl", "-pi", "-e", "s/old name/new name/g;", "src/auth/a.ts"], "w:src/auth/a.ts"),
        (&["curl", "-H", "Accept: application/json", "https://example.org"], ""),
        (&["claude", "-p", "remove the mcp config"], "x:."),
        (&["psql", "-c", "\\copy x to 'y'"], "x:. ?"),
    ]);
}

#[test]
fn what_programs_are_told_to_write() {
    check(&[
        ("openssl version", ""),
        ("openssl rand -hex 8", "x:."),
        ("openssl rand -out k", "x:. w:k"),
        ("openssl req -new --keyout k -out c", "x:. w:k w:c"),
        ("openssl rand -out k$x", "x:. ?"),
        ("openssl", "x:. ?"),
        ("openssl ca -in c", "x:. ?"),
        ("ssh-keygen -lf k", "x:."),
        ("ssh-keygen -qN '' -fk", "x:. w:k w:k.pub w:k.old"),
        ("ssh-keygen -G m", "x:. ?"),
        ("gpg -o k --export", "x:. w:k"),
        ("gpg --verify a.sig a", "x:."),
        ("gpg -c a", "x:. ?"),
        ("gpg -ab a", "x:. w:a.asc w:a.gpg w:a.sig"),
        ("gpg --attribute-fi -", "x:. ?"),
        ("pip config set a.b c", "x:. ?"),
        ("npm config delete x", "x:. ?"),
        ("python3 -m venv env", "x:. W:env"),
        ("python3 -m pdb a.py", "x:. ?"),
        ("cc -M -MFE a.c", "x:. w:E"),
        ("cc -Wp,-MD,d -Wl,-Map=m -oa a.c", "x:. w:d w:m w:a"),
        ("cc -Wl,-rpath,lib a.c -o a", "x:. w:a"),
        ("cc @args", "x:. ?"),
        ("npm exe -c 'rm a'", "x:. d:a"),
        ("npm exec --call='rm a'", "x:. d:a"),
        ("npx -c 'rm a'", "x:. d:a"),
        ("npx jest -c rm.config", "x:."),
        ("top -bn1", "x:."),
        ("valgrind --log-file=s ls", "x:. w:s"),
        ("valgrind rm a", "x:. d:a"),
        ("ctags c", "x:. w:tags"),
        ("ctags -f src/auth/tags c", "x:. w:src/auth/tags"),
        ("export PYTHONPYCACHEPREFIX=g; export A=b; pip install x", "x:. ?"),
        ("env A=b NODE_V8_COVERAGE=g npm test", "x:. ?"),
        ("LLVM_PROFILE_FILE=g cargo test", "x:. ?"),
        ("echo x > src/auth/package.json; cd src/auth && npm t", "w:src/auth/package.json x:src/auth x:src/auth/package.json"),
        (
            "echo x > src/auth/package.json; npm --prefix src/auth t",
            "w:src/auth/package.json x:. x:src/auth x:src/auth/package.json",
        ),
        ("echo x > Makefile; make", "w:Makefile x:. x:Makefile"),
    ]);
}
