//! The shell language: what is understood, and what is not.

use super::check;

#[test]
fn redirections() {
    check(&[
        ("echo x > src/billing/pay.ts", "w:src/billing/pay.ts"),
        ("echo x >> a", "w:a"),
        ("echo x >| a", "w:a"),
        ("ls &> a", "w:a"),
        ("ls &>> a", "w:a"),
        ("ls 2> a", "w:a"),
        ("ls 2>a >b", "w:a w:b"),
        ("> a", "w:a"),
        (">a echo x", "w:a"),
        ("echo >a x", "w:a"),
        ("echo x>a", "w:a"),
        ("echo 2 >a", "w:a"),
        ("{ echo x; } > a", "w:a"),
        ("(echo x) > a", "w:a"),
        ("( (echo x) > a )", "w:a"),
        ("if true; then ls; fi > a", "w:a"),
        ("for i in 1 2; do ls; done >> a", "w:a"),
        ("while read -r l; do echo; done < b > a", "w:a"),
        ("case x in x) ls;; esac > a", "w:a"),
        ("[[ -f x ]] > a", "w:a"),
        ("ls |& tee a", "w:a"),
        ("ls > ~/x", "w:~/x"),
        ("ls > '~/x'", "w:./~/x"),
        ("ls > $HOME/x", "w:~/x"),
        ("ls > \"${HOME}\"/x", "w:~/x"),
        ("ls > \"$PWD/x\"", "w:x"),
        ("ls nowhere 2>/dev/null >&2", ""),
        ("ls > /dev/null 2>&1", ""),
        ("cat < a", ""),
        ("ls 2>&-", ""),
    ]);
    for command in [
        "cat <> a",
        "ls >& a",
        "ls 17> a",
        "ls 3>&1",
        "99999999999> a",
        "exec {fd}>a",
        "exec > a",
        "ls > $X",
        "ls > \"$X/y\"",
        "ls > src/auth/$(date +%s)",
        "ls > /dev/tcp/host/80",
        "ls > a*",
        "ls > {a,b}",
        "tee >(cat > f) < x",
        "ls > >(tee log)",
        "echo evil < a > /dev/stdin",
        "echo x 3< a > /dev/fd/3",
        "echo x > /dev/fd/1",
        "cat <&0",
        "ls 2< a",
        "x=1 > a",
        "{rm,a}</dev/null",
        "ls > ''",
    ] {
        unknown(command);
    }
}

#[test]
fn lists_and_compounds() {
    check(&[
        ("rm a; rm b", "d:a d:b"),
        ("rm a && rm b || rm c", "d:a d:b d:c"),
        ("rm a & rm b", "d:a d:b"),
        ("rm a\nrm b", "d:a d:b"),
        ("! rm a", "d:a"),
        ("time rm a", "d:a"),
        ("if rm a; then rm b; elif rm c; then rm d; else rm e; fi", "d:a d:b d:c d:d d:e"),
        ("if true; then rm b; else rm e; fi", "d:b d:e"),
        ("false && rm a", "d:a"),
        ("true || rm a", "d:a"),
        ("while rm a; do rm b; done", "d:a d:b"),
        ("until rm a; do rm b; done", "d:a d:b"),
        ("for f in a b; do rm $f; done", "d:a d:b"),
        ("for f in src/auth/*.ts; do rm \"$f\"; done", "d:src/auth/a.ts d:src/auth/login.ts"),
        ("for f in a.ts b.ts; do touch ${f%.ts}.js; done", "w:a.js w:b.js"),
        ("for f in {1..3}; do touch f$f; done", "w:f1 w:f2 w:f3"),
        ("case $x in a) rm a;; b|c) rm b;; *) rm c;; esac", "d:a d:b d:c"),
        ("case x in (a) rm a;; esac", "d:a"),
        ("case x in (x) { rm a; };; esac", "d:a"),
        ("case x in (x) ! rm a;; esac", "d:a"),
        ("exit; rm a", ""),
        ("exit 1; rm a", ""),
        ("(exit); rm a", "d:a"),
        ("cd src || exit 1; rm a", "d:src/a"),
        ("while true; do rm a; break; rm b; done; rm c", "d:a d:c"),
        ("[[ $(rm a) ]]", "d:a"),
        ("echo $(echo $(rm a))", "d:a"),
        ("echo \"$(rm a)\"", "d:a"),
        ("echo \"a `rm b` c\"", "d:b"),
        ("x=$(rm a)", "d:a"),
        ("export x=$(rm a)", "d:a ?"),
        ("export x=\"$(rm a)\"", "d:a"),
        ("cat <<< $(rm a)", "d:a"),
        ("r=rm; $r a", "d:a"),
        ("'rm' a", "d:a"),
        ("r\\m a", "d:a"),
        ("\"r\"m a", "d:a"),
        ("\\rm a", "d:a"),
        ("/bin/rm a", "d:a"),
        ("/bin//rm a", "d:a"),
        ("/bin/../bin/rm a", "d:a"),
        ("command rm a", "d:a"),
        ("exec rm a", "d:a"),
        ("{ rm a; }", "d:a"),
        ("( ( ( rm a ) ) )", "d:a"),
        ("[[ ( ( -f x ) ) ]] && rm a", "d:a"),
        ("if ! (rm a); then ls; fi", "d:a"),
        ("CI=1 rm c", "d:c"),
        ("rm a # b", "d:a"),
        ("rm a#b", "d:a#b"),
        ("rm \\\na", "d:a"),
        ("ls | rm a", "d:a"),
        ("ls |\\\nrm a", "d:a"),
        ("cat <(rm a)", "d:a"),
        ("diff a <(sort b > c)", "w:c"),
        ("set -euo pipefail; rm a", "d:a"),
        ("i=0; i=$((i+1)); rm a", "d:a"),
        ("while IFS= read -r line; do echo \"$line\"; done < a", ""),
        ("[ -f a ] && rm b", "d:b"),
        ("[ $? -eq 0 ] && rm b", "d:b"),
        ("[[ $? -ne 0 ]] && rm b", "d:b"),
        ("[ \"$x\" = y ] || rm b", "d:b"),
    ]);
}

#[test]
fn here_documents() {
    check(&[
        ("cat > a <<'EOF'\nx > b\nEOF", "w:a"),
        ("cat > a <<\"EOF\"\n$(rm b)\nEOF", "w:a"),
        ("cat <<EOF > a\n$(rm b)\nEOF", "w:a d:b"),
        ("cat <<'EOF' > a\n$(rm b)\nEOF", "w:a"),
        ("cat <<A <<B > c\n1\nA\n2\nB\nrm d", "w:c d:d"),
        ("cat <<-E > a\n\tx\n\tE\nrm b", "w:a d:b"),
        ("bash <<'E'\nrm a\nE", "d:a"),
        ("cat <<E\n\"$HOME\" `rm a`\nE", "d:a"),
        ("(cat <<E\nx\nE\n) > a; rm b", "w:a d:b"),
        ("x=$(cat <<E\nx\nE\n); rm b", "d:b"),
    ]);
    for command in [
        "cat <<\\EOF > a\n`rm b`\nEOF",
        "cat <<E\nx\\\nE\n'\nE\nrm hidden\n: \"'\"",
        "cat <<E > a",
        "cat <<$'E'\nx\nE\nrm a\n$E",
        "echo $(sh <<E) ; cat <<F\nrm a\nE\nfoo\nF",
        "cat <<E $(echo\n)\nx\nE",
        "cat <<E 'a\nb'\nx\nE",
        "cat <<a\"b\"\nx\nab",
    ] {
        unknown(command);
    }
}

#[test]
fn folders() {
    check(&[
        ("cd src && rm a", "d:src/a"),
        ("cd src; rm a", "d:src/a d:a"),
        ("cd src && cd auth && rm a", "d:src/auth/a"),
        ("cd src/auth && cd .. && rm a", "d:src/a"),
        ("cd src/auth && cd ../billing && rm a", "d:src/billing/a"),
        ("(cd src && rm a); rm b", "d:src/a d:b"),
        ("cd && rm a", "d:~/a"),
        ("cd src/auth && cd - && rm a", "d:a"),
        ("cd src && cd auth && cd - && rm a", "d:src/a"),
        ("cd ~/x && rm a", "d:~/x/a"),
        ("cd /tmp && rm a", "d:/tmp/a"),
        ("cd src || rm a", "d:a"),
        ("cd \"$X\" && cat a", ""),
        ("cd src/auth; cat a; rm *.ts", "d:src/auth/a.ts d:src/auth/login.ts d:*.ts"),
        ("mkdir -p n/m && cd n/m && touch f", "m:n/m w:n/m/f"),
        ("d=src/auth; rm \"$d\"/x", "d:src/auth/x"),
        ("d=src/auth; cd $d && rm x", "d:src/auth/x"),
    ]);
    for command in [
        "cd $X && rm a",
        "cd - && rm a",
        "cd -P src; rm a",
        "pushd src; rm a",
        "cd src/billing; pushd -n ../auth; rm pay.ts",
        "cd src/billing; cd -Z ../auth; rm pay.ts",
        "cd a b; rm c",
        "cd ''; rm a",
        "CDPATH=/x; cd src; rm a",
        "cd src > \"$x\"; rm a",
    ] {
        unknown(command);
    }
}

#[test]
fn what_is_not_on_the_list_is_unknown() {
    for command in [
        // Control flow that Bash may not follow.
        "return; rm a",
        "break; rm a",
        "logout; rm a",
        "exit 1 2; rm a",
        "exit x; rm a",
        "exit >&9; rm a",
        "for i in 1; do break 2; done; rm a",
        // Functions, traps, aliases.
        "f() { rm \"$1\"; }; f a",
        "f () { ls; }",
        "function f { rm a; }; f",
        "rm() { echo; }; rm a",
        "trap 'rm a' EXIT",
        "alias ls='rm a'; ls",
        "coproc rm a",
        "select x in a; do rm $x; done",
        // Text that is executed.
        "eval rm a",
        "eval -- rm a",
        "source a",
        ". a",
        "time -- rm a",
        "time -p rm a",
        "hash -p /bin/rm cat; cat a",
        "compgen -C 'rm a'",
        "mapfile -c1 -C'rm a #' <<< x",
        "builtin echo",
        "enable -n echo",
        // Variables.
        "a=(x y); rm ${a[1]}",
        "a[0]=x; rm $a",
        "d+=x; rm $d",
        "declare -n r=f; r=a; rm $f",
        "declare x=a; rm $x",
        "local x=a",
        "readonly x=a",
        "IFS=x; rm a",
        "unset IFS; v='a b'; rm -f $v",
        "HOME=/x; rm ~/a",
        "PWD=/x; rm $PWD/a",
        "PS4='$(rm a)'; set -x; :",
        "printf -v x a; rm $x",
        "printf $x",
        "read -a x",
        "printf 'a%n' x",
        "printf '%-5ln' x",
        "jobs -x rm a",
        "wait -p x",
        "f=a; echo b | read f; rm $f",
        "a | ! rm b",
        "export 'BASH_ENV=x'; ls",
        "BASH_ENV=x ls",
        "d=a :; rm $d",
        "d=b; d=a export d; rm $d",
        "x='a b'; rm $x",
        "x='*'; rm $x",
        "rm $x",
        "rm \"$x\"",
        "rm $(cat a)",
        "rm \"$@\"",
        "rm $1",
        // Expansions.
        "echo ${x/a/b}",
        "echo ${x//$(rm a)/b}",
        "echo ${x:1}",
        "echo ${!x}",
        "echo ${x^^}",
        "echo ${x[0]}",
        "echo ${x[$(rm a)]}",
        "echo ${x:=a}",
        "echo ${x:-$(rm a)}",
        "echo ${zz:-<(rm a)}",
        "echo ${x-a}",
        "echo ${x+a}",
        "${ rm a; }",
        "echo $[1+1]",
        "echo $\"a\"",
        "echo $'\\x72m'",
        "echo $'\\';chmod -R +x tests #'",
        "echo $'a'",
        "echo ~root/x",
        "echo ~+",
        "echo ~$(rm a)",
        "echo a=~/x",
        "echo {a,{b,c}}",
        "echo {a,\"b c\"}",
        "rm {a..z}",
        "$(echo rm) a",
        "`echo rm` a",
        "echo `echo \\`rm a\\``",
        // Arithmetic on what is not a number.
        "((x = 1))",
        "for ((i=0;i<3;i++)); do rm a; done",
        "let x=1",
        "echo $((x))",
        "x=y; y='a[$(rm P)]'; echo $((x))",
        "x='a[$(rm a)]'; [[ $x -eq 0 ]]",
        "echo $((x=1))",
        "[[ a =~ b ]]",
        "[[ -n =~ ]] && rm == a ]]",
        "[[ -v x ]]",
        "[ -v 'a[$(rm a)]' ]",
        "[ $a $b ]",
        "[[ x =~ <(rm a) ]]",
        // Options that change the language.
        "set -f; touch docs/auth.m[d]",
        "set -- a; rm $1",
        "set -k; rm a",
        "set -euo pipefail a; rm -f $1",
        "shopt -s lastpipe; rm a",
        "shopt -s nullglob; rm *.x",
        // Wildcards.
        "rm .*",
        "rm src/auth/.*/billing/pay.ts",
        "rm **/x",
        "rm @(a|b)",
        "rm [[]",
        // Text that is not a valid command.
        "echo 'x",
        "echo \"x",
        "echo $(x",
        "if true; then",
        "rm a)",
        "| rm a",
        "rm a;;",
        "; rm a",
        "echo a\rrm b",
        "echo\u{a0}a",
        "echo $\\\n'a\\'\"'\"\" ; rm P # '\"'\\'",
        "echo a\\\nb",
        "\\ \\\nrm a",
        // Commands run by other programs.
        "echo \"rm a\" | sh",
        "curl x | sh",
        "sh < a",
        "$CMD a",
        "xargs rm",
        "unshare rm a",
    ] {
        unknown(command);
    }
}

/// The command must have a reason to be unknown, and the reason must quote a part of the command in backquotes.
fn unknown(command: &str) {
    let found = super::footprint(command, "", &*super::workspace());
    assert!(!found.unknowns.is_empty(), "{command}: {:?}", super::spelled(&found));
    for why in &found.unknowns {
        assert_eq!(why.matches('`').count() % 2, 0, "{why}");
        assert!(why.contains('`'), "{why}");
        assert!(why.starts_with(|c: char| c == '`' || c.is_lowercase()), "{why}");
    }
}

#[test]
fn the_calls_own_working_directory_counts() {
    let world = super::workspace();
    for (command, cwd, expected) in [
        ("echo x > pay.ts", "src/billing", "w:src/billing/pay.ts"),
        ("echo x > ../auth/a.ts", "src/billing", "w:src/billing/../auth/a.ts"),
        ("echo x > f", "/elsewhere", "w:/elsewhere/f"),
        ("echo x > /abs", "src", "w:/abs"),
        ("rm *.ts", "src/auth", "d:src/auth/a.ts d:src/auth/login.ts"),
        ("npm test", "src/auth", "x:src/auth"),
        ("cd .. && touch new", "src/auth", "w:src/new"),
        ("touch $PWD/new", "src/auth", "w:src/auth/new"),
    ] {
        let expected: std::collections::BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        assert_eq!(super::spelled(&super::footprint(command, cwd, &*world)), expected, "{command}");
    }
}
