//! Commands are run as they are and with what is known appended to them, in real shells: their output and exit status must be the
//! same, byte for byte.

#![cfg(unix)]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

/// A note that would do harm wherever it is not a comment.
const NOTE: &str = "# Auth\n\n$(touch harm) `touch harm`\nEOF\n'\"\\\n); touch harm; exit 7\r\ntouch harm\u{2028}touch harm\u{85}touch harm\n\\\n!! ${x?harm} \
                    <<EOF\nlast\\";

/// Commands to which comments are appended.
const AUGMENTED: &[&str] = &[
    "ls [[auth]]",
    "cat a.txt '[[auth]]'",
    "cd dir && grep -n '[[auth]]' b.txt",
    "sh -c 'exit 7 # [[auth]]'",
    "no-such-program [[auth]]",
    "echo [[auth]]",
    "echo '[[auth]]' \"[[auth]]\" [[auth]]",
    "test [[auth]]",
    "[ -n [[auth]] ]",
    "printf '%s\\n' [[auth]] b c",
    "printf '%s' [[auth]]",
    "echo [[auth]]; false",
    "false; echo $? [[auth]]",
    "true && echo [[auth]] || echo no",
    "false || echo [[auth]]",
    "echo [[auth]] | cat",
    "echo [[auth]] | tr a-z A-Z | rev",
    "echo [[auth]] |\n  cat",
    "cat a.txt nowhere [[auth]] 2>&1 | sort",
    "grep -n two a.txt [[auth]] | head -1",
    "cat <<EOF\n[[auth]]\nEOF",
    "cat <<EOF\n[[auth]]\nEOF\n",
    "cat <<'EOF'\n[[auth]] $HOME `x`\nEOF",
    "cat <<-EOF\n\t[[auth]]\n\tEOF",
    "cat <<A <<B\none\nA\n[[auth]]\nB",
    "cat <<EOF | wc -c\n[[auth]]\nEOF",
    "cat <<EOF && echo after [[auth]]\nin\nEOF",
    "if cat <<EOF; then echo yes; fi\n[[auth]]\nEOF",
    "cat <<< '[[auth]]'",
    "echo a \\\n  b \\\n  [[auth]]",
    "echo 'several\nlines [[auth]]\nin quotes'",
    "echo \"a \\\"quoted\\\" [[auth]] \\\\\"",
    "echo \"$(echo [[auth]])\"",
    "echo `echo [[auth]]`",
    "echo $(( 1 + 2 )) [[auth]]",
    "x=[[auth]]; echo \"$x\"",
    "x=[[auth]]",
    "export X=[[auth]]; printenv X | cat",
    "set -u; echo $NOPE [[auth]]",
    "set -e; false; echo [[auth]]",
    "set -eo pipefail; false | cat; echo [[auth]]",
    "set -x; echo [[auth]]",
    "for f in *.txt; do echo \"$f\" [[auth]]; done",
    "for f in a b\ndo\n  echo $f [[auth]]\ndone",
    "i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i [[auth]]; done",
    "until true; do :; done; echo [[auth]]",
    "while read -r line; do echo \"> $line\"; done < a.txt; echo [[auth]]",
    "if [ -f a.txt ]; then echo [[auth]]; else echo no; fi",
    "if [[ -f a.txt ]]; then echo '[[auth]]'; fi",
    "case [[auth]] in a*) echo a;; *) echo other;; esac",
    "{ echo [[auth]]; ls; }",
    "( cd dir && ls; echo [[auth]] )",
    "(exit 4); echo $? [[auth]]",
    "exit 3 # [[auth]]",
    "exit 3 [[auth]]",
    "cd nowhere; echo [[auth]]",
    "echo [[auth]]; cd nowhere",
    "nosuchprogram; echo [[auth]]",
    "nosuchprogram [[auth]] > out",
    "cd dir && pwd | sed 's,.*/,,' # [[auth]]",
    "echo [[auth]] > out; cat out | cat",
    "echo [[auth]] >> out 2>/dev/null; wc -l < out",
    "cat < nowhere # [[auth]]",
    "echo [[auth]] >&2",
    "! grep -q [[auth]] a.txt",
    "sleep 0 & wait; echo [[auth]]",
    "trap 'echo bye $? [[auth]]' EXIT; echo hello",
    "trap 'nosuchprogram' EXIT; echo [[auth]]",
    "trap 'echo caught' ERR; false; echo [[auth]]",
    "echo $LINENO; echo [[auth]]\necho $LINENO",
    "echo \"$BASH_COMMAND\" [[auth]]",
    "trap 'echo \"[$BASH_COMMAND]\"' DEBUG; echo [[auth]]; true",
    "echo {a,b}-[[auth]]",
    "echo [[auth]] # with a comment",
    "# a comment first [[auth]]\necho a",
    "echo [[auth]]\n# a comment last",
    "echo [[auth]]\n\n\n",
    "echo [[auth]];",
    "  echo [[auth]]  ",
    "eval 'echo [[auth]]'; true",
    "eval \"cd nowhere\"; echo [[auth]]",
    "find . -name '*.txt' | sort | xargs -n1 echo [[auth]]",
    "awk '{ print NR \": [[auth]] \" $0 }' a.txt | head -2",
    "sed -n '/[[:alpha:]]/p' a.txt | head -1; echo '[[auth]]'",
    "echo '#!/bin/sh' > run; echo 'echo [[auth]] $0' >> run; sh ./run | cat",
    "printf 'a\\0b [[auth]]' | od -c | head -2",
    "read -r x <<< '[[auth]] y'; echo \"$x\"",
    "echo ünï [[auth]] → 日本",
    "echo a;echo b;echo [[auth]]",
    "true &&\ntrue &&\necho [[auth]]",
    "echo $(cat <<EOF\n[[auth]] inside\nEOF\n)",
    "diff <(echo a) <(echo [[auth]]) | cat",
    "echo '<!-- Knowledge Graph Context -->' [[auth]]",
    "echo $0 $# [[auth]]",
    "let 'x = 3'; echo $x [[auth]]",
    "for f in *.txt; do wc -l \"$f\"; done; echo [[auth]]",
    "if [ -f a.txt ]; then echo [[auth]]; else echo no; fi",
    "while read -r line; do echo \"$line [[auth]]\"; done < a.txt",
    "cat a.txt | grep -c one; echo '[[auth]]'",
    "mkdir -p x/y && cd x/y && echo [[auth]] > z && cat z",
    "{ echo a; echo [[auth]]; } | sort",
];

/// Commands that are left as they are, because comments would be noticed or would not be comments.
const PLAIN: &[&str] = &[
    "kill -TERM $$; echo [[auth]]",
    "sh -c 'kill -9 $$' > out; echo $? [[auth]]",
    "sh -c 'kill -9 $$ # [[auth]]' > out",
    "sh -c 'kill -9 $$ # [[auth]]'",
    "cd dir && sh -c 'kill -9 $$ # [[auth]]'",
    "cat <<EOF\n[[auth]]",
    "echo [[auth]] \\",
    "echo '[[auth]]",
    "echo [[auth]] &&",
    "if true; then echo [[auth]]",
    "#!/bin/sh\necho [[auth]]",
    "set -v; echo [[auth]]",
    "set -o verbose\necho [[auth]]",
    "echo $BASH_EXECUTION_STRING [[auth]]",
    "tr '\\0' '\\n' < /proc/self/cmdline; echo [[auth]]",
    "echo [[auth]]\r\necho b\r\n",
    // Constructs that the gate does not read.
    "echo $'tab\\t[[auth]]\\n'",
    "cat <<\"E F\"\n[[auth]]\nE F",
    "x='[[auth]]'; echo ${x#*a} ${#x} ${x:2:4}",
    "unset NOPE; echo ${NOPE:-[[auth]]}",
    "echo ${NOPE?[[auth]] is missing}",
    "f() { echo \"f $1\"; return 3; }; f [[auth]]; echo $?",
    "f() {\n  ls dir # [[auth]]\n}\nf | cat",
    "ls nowhere dir 2>/dev/null | cat; echo ${PIPESTATUS[0]} [[auth]]",
    "declare -a l=(a [[auth]] c); echo ${l[1]} ${#l[@]}",
    "arr=([[auth]]\n b); echo ${arr[@]}",
    "time -p true 2>/dev/null; echo [[auth]]",
    "shopt -s extglob; echo @(a|b).txt [[auth]]",
    "select x in a b; do echo $x [[auth]]; break; done < a.txt; true",
];

struct Ran {
    status: String,
    out: String,
    err: String,
}

fn run(shell: &str, command: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    fs::create_dir(folder.path().join("dir")).unwrap();
    fs::write(folder.path().join("dir/b.txt"), "four\n").unwrap();
    let output = Command::new(shell)
        .args(["-c", command])
        .current_dir(folder.path())
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!folder.path().join("harm").exists(), "{shell}: a note's text ran: {command}");
    let status = format!("{:?} {:?}", output.status.code(), output.status.signal());
    // When Bash reports a process that a signal ended, it gives its number.
    let digits = |text: &str| {
        text.split_whitespace().filter(|word| !word.bytes().all(|byte| byte.is_ascii_digit())).collect::<Vec<_>>().join(" ")
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(folder.path().to_str().unwrap(), "/folder");
    let err = text(&output.stderr);
    let err = if err.contains("Killed") { digits(&err) } else { err };
    Ran { status, out: text(&output.stdout), err }
}

fn ask(gate: &mut Gate, command: &str) -> Value {
    let line = json!({"op": "augment", "session": "s", "tool": "bash", "args": {"command": command}});
    serde_json::from_str(&perform(gate, line.to_string().as_bytes())).unwrap()
}

fn augmented(gate: &mut Gate, command: &str) -> (String, Value) {
    let answer = ask(gate, command);
    assert_eq!(answer["concepts"], json!(["auth"]), "{command}: {answer}");
    (answer["args"]["command"].as_str().unwrap().to_owned(), answer)
}

fn gate() -> Gate {
    let world = Memory::new();
    world.write(".tollgate/concepts/auth.md", NOTE);
    Gate::new(world.ports())
}

#[test]
fn commands_run_as_they_would_have() {
    let mut gate = gate();
    assert!(AUGMENTED.len() >= 100, "{}", AUGMENTED.len());
    let mut faults = Vec::new();
    for command in AUGMENTED {
        let (after, answer) = augmented(&mut gate, command);
        if !after.starts_with(command)
            || !after.ends_with("\n# <!-- End Knowledge Graph Context -->")
            || answer["additional_context"] != Value::Null
        {
            faults.push(format!("not augmented: {command}"));
            continue;
        }
        for shell in ["bash", "sh"] {
            let (plain, with) = (run(shell, command), run(shell, &after));
            for (what, one, other) in
                [("status", &plain.status, &with.status), ("stdout", &plain.out, &with.out), ("stderr", &plain.err, &with.err)]
            {
                if one != other {
                    faults.push(format!("{shell}: {command}\n  {what} {one:?}\n  became {other:?}"));
                }
            }
        }
        let twice = ask(&mut gate, &after);
        assert_eq!((&twice["args"]["command"], &twice["skipped"]), (&json!(after), &json!("no_concepts")), "{command}");
    }
    assert!(faults.is_empty(), "{} of {}\n{}", faults.len(), AUGMENTED.len(), faults.join("\n"));
}

#[test]
fn what_would_notice_is_left_alone() {
    let mut gate = gate();
    for command in PLAIN {
        let (after, answer) = augmented(&mut gate, command);
        assert_eq!(after, *command);
        assert!(answer["additional_context"].as_str().unwrap().contains("## [[auth]]"), "{command}");
    }
}

/// What the test above would find if comments were put before a command, or after any command.
#[test]
fn the_comparison_can_fail() {
    assert_ne!(run("bash", "cd nowhere").err, run("bash", "# a\ncd nowhere").err);
    assert_ne!(run("bash", "sh -c 'kill -9 $$'").status, run("bash", "sh -c 'kill -9 $$'\n# a").status);
    assert_ne!(run("bash", "cat <<EOF\na").out, run("bash", "cat <<EOF\na\n# b").out);
}
