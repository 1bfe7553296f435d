//! Commands are generated, predicted, and run for real: every change must have been predicted, unless the prediction said that it
//! could not know.

#![cfg(unix)]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;

use crate::dice::{Dice, check};
use tollgate_guest::call::shell::footprint;
use tollgate_guest::effects::path::lexical;
use tollgate_guest::effects::{Access, Footprint};
use tollgate_guest::ports::memory::Memory;
use tollgate_guest::ports::{Question, Workspace};

const FILES: &[(&str, &str)] = &[
    ("a.txt", "one\ntwo\n"),
    ("b.txt", "two\nthree\n"),
    ("c.md", "four\n"),
    ("list.txt", "a.txt\nb.txt\n"),
    ("dir1/c.txt", "five\n"),
    ("dir1/sub/d.txt", "six\n"),
    ("dir2/e.txt", "seven\n"),
    ("dir2/a.txt", "eight\n"),
];
const FOLDERS: &[&str] = &["empty", "dir1/hollow"];
const LINKS: &[(&str, &str)] = &[("dir1", "link"), ("../dir2/e.txt", "dir1/e.lnk")];

/// Generates commands.
struct Composer<'d>(&'d mut Dice);

impl Composer<'_> {
    fn below(&mut self, sides: usize) -> usize {
        self.0.below(sides)
    }

    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        self.0.pick(choices)
    }

    fn file(&mut self) -> String {
        self.of(&[
            "a.txt",
            "b.txt",
            "c.md",
            "dir1/c.txt",
            "dir1/sub/d.txt",
            "dir2/e.txt",
            "'a.txt'",
            "\"b.txt\"",
            "./a.txt",
            "dir1/../b.txt",
            "link/c.txt",
            "$PWD/a.txt",
            "dir{1,2}/c.txt",
            "*.md",
            "dir?/c.txt",
            "new.txt",
            "\"${F:-a.txt}\"",
            "$F",
            "dir1/e.lnk",
            "link/../c.md",
            "$HOME/h.txt",
            "~/h.txt",
            "\"sp ace\"",
        ])
        .to_owned()
    }

    fn new_file(&mut self) -> String {
        self.of(&[
            "new.txt",
            "n2.txt",
            "dir1/n.txt",
            "dir2/n.txt",
            "link/n.txt",
            "dir1/sub/../n3",
            "\"x y\"",
            "../out.txt",
            "${F}.bak",
            "empty/n",
            "dir1/hollow/n",
        ])
        .to_owned()
    }

    fn folder(&mut self) -> String {
        self.of(&["dir1", "dir2", "dir1/sub", "empty", "link", "dir1/", ".", "dir1/..", "nowhere", "dir[12]", "made", "\"$D\""])
            .to_owned()
    }

    fn simple(&mut self) -> String {
        let (file, other, new, folder) = (self.file(), self.file(), self.new_file(), self.folder());
        match self.below(60) {
            0 => format!("echo x > {new}"),
            1 => format!("echo x >> {file}"),
            2 => format!("echo x >| {file}"),
            3 => format!("ls {file} &> {new}"),
            4 => format!("ls nothing 2> {new}"),
            5 => format!("cat {file} > {new} 2>&1"),
            6 => format!("rm {file}"),
            7 => format!("rm -f {file} {other}"),
            8 => format!("rm -rf {folder}"),
            9 => format!("cp {file} {new}"),
            10 => format!("cp {file} {folder}"),
            11 => format!("cp {file} {other} {folder}"),
            12 => format!("cp -r {folder} {new}"),
            13 => format!("cp -t {folder} {file}"),
            14 => format!("mv {file} {new}"),
            15 => format!("mv {file} {folder}"),
            16 => format!("mv {folder} moved"),
            17 => format!("mkdir -p {folder}/deep/er"),
            18 => "mkdir made".to_owned(),
            19 => format!("touch {new}"),
            20 => format!("touch {file}"),
            21 => format!("ln -s {file} {new}"),
            22 => format!("ln {file} {new}"),
            23 => format!("ln -sf ../{file} {folder}"),
            24 => format!("tee {new} < {file}"),
            25 => format!("echo y | tee -a {file} {new}"),
            26 => format!("sed -i s/o/0/ {file}"),
            27 => format!("sed -i.bak s/o/0/ {file}"),
            28 => format!("sed -n '/o/w {new}' {file}").replace('"', ""),
            29 => format!("sed -n -e p -i {file} {other}"),
            30 => format!("dd if={file} of={new} 2>/dev/null"),
            31 => format!("truncate -s 1 {file}"),
            32 => format!("sort -o {new} {file}"),
            33 => format!("sort {file} -o {file}"),
            34 => format!("uniq {file} {new}"),
            35 => format!("install -m 600 {file} {new}"),
            36 => format!("install -D {file} made/x/y"),
            37 => format!("chmod 600 {file}"),
            38 => format!("chmod -R go-r {folder}"),
            39 => format!("tar czf {new} {folder} 2>/dev/null"),
            40 => format!("tar cf t.tar {folder} && mkdir -p made && tar xf t.tar -C made"),
            41 => format!("gzip {file}"),
            42 => format!("gzip -k {file} && gunzip -f {file}.gz"),
            43 => format!("find {folder} -name '*.txt' -delete"),
            44 => format!("find {folder} -type f -exec rm {{}} \\;"),
            45 => format!("find {folder} -type f -exec sed -i s/e/3/ {{}} +"),
            46 => format!("find {folder} -name '*.txt' -exec cp {{}} made \\;"),
            47 => format!("perl -pi -e 's/o/0/' {file}"),
            48 => format!("awk '{{print > \"awked\"}}' {file}"),
            49 => format!("split -l 1 {file} part-"),
            50 => format!("ls {file} | xargs rm -f"),
            51 => format!("echo {file} | xargs -I{{}} touch {{}}.x"),
            52 => format!("rmdir {folder}"),
            53 => format!("unlink {file}"),
            54 => format!("shred -u {file}"),
            55 => format!("cat > {new} <<E\ntext $(echo x > sub-{})\nE", self.below(3)),
            56 => format!("diff <(cat {file}) <(echo x > {new})"),
            57 => format!("F={file}"),
            58 => format!("D={folder}"),
            _ => format!("cat {file} | tr a b | sort > {new}"),
        }
    }

    fn noise(&mut self) -> String {
        let length = 2 + self.below(12);
        let piece = |composer: &mut Self| match composer.below(3) {
            0 => composer.of(&[
                "touch n1",
                "echo x > n2",
                "rm a.txt",
                "cat c.md",
                "echo ok",
                ":",
                "x=n3",
                "touch $x",
                "cd dir1",
                "echo y >> n4",
            ]),
            1 => composer.of(&[" ", "\n", "; ", " && ", " || ", " | ", " & ", "\n", "; ", ";;", " "]),
            _ => composer.of(&[
                "(",
                ")",
                "{ ",
                "; }",
                "$(",
                ")",
                "`",
                "'",
                "\"",
                "\\",
                "#",
                "((",
                "))",
                "$((",
                "${x:-",
                "}",
                "if ",
                " then ",
                " fi",
                "case a in ",
                "a) ",
                " esac",
                "while false; do ",
                " done",
                "for i in a b; do ",
                "[[ ",
                " ]]",
                "! ",
                "<<E\n",
                "\nE\n",
                "<<'E'\n",
                "<<-E\n",
                "\tE\n",
                "<<<",
                ">",
                ">&2",
                "f() { ",
                "f",
                "$'",
                "\\\n",
                "@(",
                "=",
                "a=(",
                "~",
                "*",
                "time ",
                "function g ",
                "g",
                "<(",
                ">(",
                "$",
                "2>",
                "&>",
                "else ",
                "do ",
                "done",
                "[ ",
                " ]",
                "=~ ",
            ]),
        };
        let text: String = (0..length).map(|_| piece(self)).collect();
        text
    }

    fn nested(&mut self) -> String {
        let depth = self.below(4);
        self.command(depth)
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(3) == 0 {
            return self.simple();
        }
        let (one, two, folder) = (self.command(depth - 1), self.command(depth - 1), self.folder());
        let quoted = one.replace('\'', "'\\''");
        match self.below(32) {
            0 => format!("cd {folder} && {one}"),
            1 => format!("cd {folder}; {one}"),
            2 => format!("cd {folder} || {one}; {two}"),
            3 => format!("({one}\n{two})"),
            4 => format!("(cd {folder}; {one}\n); {two}"),
            5 => format!("{{ {one}\n{two}\n}}"),
            6 => format!("{{ {one}\n}} > {}", self.new_file()),
            7 => format!("if {one}\nthen {two}\nelse touch else\nfi"),
            8 => format!("for F in a.txt b.txt; do {one}\ndone"),
            9 => format!("for F in *.txt; do {one}\ndone"),
            10 => format!("for D in dir*; do {one}\ndone"),
            11 => format!("while read -r F; do {one}\ndone < list.txt"),
            12 => format!("f() {{ {one}\n}}; f; {two}"),
            13 => format!("f() {{ rm -f \"$1\"; }}; f {}", self.file()),
            14 => format!("{one}\n{two}"),
            15 => format!("true && {one}"),
            16 => format!("false || {one}"),
            17 => format!("test -f a.txt && {one}"),
            18 => format!("! {one}"),
            19 => format!("bash -c '{quoted}'"),
            20 => format!("eval '{quoted}'"),
            21 => format!("echo \"$({one}\n)\" > /dev/null"),
            22 => format!("case $F in a*) {one}\n;; *) {two}\n;; esac"),
            23 => format!("pushd {folder} > /dev/null; {one}\npopd > /dev/null; {two}"),
            24 => format!("{one} &\nwait"),
            25 => format!("set -- a.txt 'b.txt'; rm \"$2\"; {one}"),
            26 => format!("bash <<'END'\n{one}\nEND"),
            27 => format!("cd {folder} && cd - > /dev/null && {one}"),
            28 => format!("env X=1 bash -c '{quoted}'"),
            29 => format!("echo '{quoted}' | sh"),
            30 => format!("A=(a.txt dir2/e.txt); rm -f \"${{A[@]}}\"; {one}"),
            _ => format!("until {one}\ndo break; done; {two}"),
        }
    }
}

/// Everything below a folder: the kind of each entry and what it contains.
fn snapshot(root: &Path) -> BTreeMap<String, String> {
    fn visit(at: &Path, name: &str, seen: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(at).into_iter().flatten().flatten() {
            let path = entry.path();
            let own = entry.file_name().to_string_lossy().into_owned();
            let name = if name.is_empty() { own } else { format!("{name}/{own}") };
            let about = fs::symlink_metadata(&path).unwrap();
            let mode = about.permissions().mode();
            let what = if about.is_symlink() {
                format!("link {}", fs::read_link(&path).unwrap().display())
            } else if about.is_dir() {
                visit(&path, &name, seen);
                format!("folder {mode:o}")
            } else {
                format!("file {mode:o} {:?} {:?}", about.modified().unwrap(), fs::read(&path).unwrap_or_default())
            };
            seen.insert(name, what);
        }
    }
    let mut seen = BTreeMap::new();
    visit(root, "", &mut seen);
    seen
}

fn lay_out(root: &Path) {
    for (path, text) in FILES {
        let path = root.join("ws").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for folder in FOLDERS {
        fs::create_dir_all(root.join("ws").join(folder)).unwrap();
    }
    for (target, path) in LINKS {
        symlink(target, root.join("ws").join(path)).unwrap();
    }
    fs::create_dir_all(root.join("home")).unwrap();
}

fn mirrored() -> Rc<Memory> {
    let world = Memory::new();
    FILES.iter().for_each(|(path, text)| world.write(path, text));
    FOLDERS.iter().for_each(|folder| world.mkdir(folder));
    LINKS.iter().for_each(|(target, path)| world.symlink(target, path));
    world
}

/// A path with `.` and `..` resolved, below the sandbox: `ws` is the workspace, `home` the home folder.
fn placed(path: &str) -> String {
    let path = match path.strip_prefix('~') {
        Some(rest) => format!("home{rest}"),
        None => format!("ws/{path}"),
    };
    lexical(&path).join("/")
}

/// Where each touch leads: as text, and as the workspace resolves it.
fn reached(found: &Footprint, world: &Memory) -> Vec<(String, Access)> {
    let mut out = Vec::new();
    for touch in found.touches.iter().filter(|touch| touch.access != Access::Read) {
        out.push((placed(&touch.path), touch.access));
        if !touch.path.starts_with('~') {
            let facts = world.inspect(&[Question::project(touch.path.clone())]).pop().unwrap();
            for path in [facts.real_path, facts.entry_path].into_iter().flatten() {
                let path = match path.strip_prefix('/') {
                    Some(outside) => outside.to_owned(),
                    None => placed(&path),
                };
                out.push((path, touch.access));
            }
        }
    }
    out
}

fn covers(at: &str, access: Access, path: &str) -> bool {
    let below = at.is_empty() || path.strip_prefix(at).is_some_and(|rest| rest.starts_with('/'));
    match access {
        Access::Read | Access::Execute => false,
        Access::WriteTree | Access::DeleteTree | Access::Alias => at == path || below,
        // The parent folders are created with it.
        Access::MakeFolder => at == path || at.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')),
        Access::Write | Access::Attributes | Access::Delete => at == path,
    }
}

/// The seed; another one can be set, to find what the usual one does not.
fn seed() -> u64 {
    std::env::var("SHELL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2026)
}

#[test]
fn what_changes_was_predicted() {
    let halves: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let half = |seed| scope.spawn(move || predict(seed, 700, 60, |composer| composer.nested()));
        [half(seed()), half(seed() + 1_000_000)].into_iter().map(|half| half.join().unwrap()).collect()
    });
    let known: usize = halves.iter().map(|(known, _)| known).sum();
    let changed: usize = halves.iter().map(|(_, changed)| changed).sum();
    assert!(known >= 500, "{known} commands were predicted in full");
    assert!(changed >= 300, "{changed} commands changed something");
}

/// Pieces of the grammar in any order: most of it is nonsense, and what Bash makes of the rest must not surprise.
#[test]
fn what_noise_changes_was_predicted() {
    let rounds = std::env::var("SHELL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1200);
    let (known, changed) = predict(seed(), rounds, 40, |composer| composer.noise());
    assert!(changed >= 20, "{changed} of {known} commands changed something");
}

/// Generates commands, predicts them and runs them. Returns how many were predicted in full, and how many of those changed
/// something.
fn predict(seed: u64, rounds: u32, longest: usize, next: fn(&mut Composer<'_>) -> String) -> (usize, usize) {
    let sandbox = tempfile::tempdir().unwrap();
    let world = mirrored();
    let (round, known, changed) = (Cell::new(0), Cell::new(0), Cell::new(0));
    check(seed, rounds, longest, |dice| {
        let command = next(&mut Composer(dice));
        round.set(round.get() + 1);
        let found = footprint(&command, "", &*world);
        if !found.unknowns.is_empty() || found.touches.iter().any(|touch| touch.access == Access::Execute) {
            return;
        }
        known.set(known.get() + 1);
        let missed = run(&command, &found, &world, &sandbox.path().join(round.get().to_string()));
        changed.set(changed.get() + usize::from(missed.is_some()));
        let missed = missed.unwrap_or_default();
        assert!(missed.is_empty(), "{command}\n  missed {missed:?}\n  found {:?}", found.touches);
    });
    (known.get(), changed.get())
}

/// Runs a command in a folder of its own. Returns changes that were not predicted; `None` if nothing changed.
fn run(command: &str, found: &Footprint, world: &Memory, root: &Path) -> Option<Vec<String>> {
    lay_out(root);
    let before = snapshot(root);
    Command::new("bash")
        .args(["-c", command])
        .current_dir(root.join("ws"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", root.join("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let after = snapshot(root);
    fs::remove_dir_all(root).ok();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed: Vec<&String> = names.into_iter().filter(|name| before.get(*name) != after.get(*name)).collect();
    let reached = reached(found, world);
    let is_covered = |path: &str| reached.iter().any(|(at, access)| covers(at, *access, path));
    (!changed.is_empty()).then(|| changed.into_iter().filter(|path| !is_covered(path)).cloned().collect())
}
